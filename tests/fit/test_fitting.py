"""A whole fit of every task: what it keeps decides alike everywhere, and survives a kill."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from bs4 import BeautifulSoup
from scipy.special import expit, log_softmax, softmax
from sklearn.metrics import f1_score
from transformers import Trainer, pipeline

from dicelab.__main__ import main
from dicelab.corpora.containers import read_table
from dicelab.fit.fitting import Fit
from dicelab.fit.options import FitError, Options
from dicelab.fit.predicting import Model, predict
from dicelab.fit.training import Run, head_of
from dicelab.training.checkpoints import alone_in
from tests.fit import made_up
from tests.fit.made_up import MAKERS, fitted

pytestmark = pytest.mark.slow


def options(folder: Path, task: str, **more: object) -> Options:
    return made_up.options(folder, task, **{"losses": ("ce", "dl"), "seeds": 2, **more})


@pytest.fixture(scope="module", params=list(MAKERS))
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fit:
    folder = tmp_path_factory.mktemp(request.param)
    task = request.param
    # Of two tasks, the model that is kept was trained again on train and validation together.
    refit = task in ("tagging", "rare")
    return fitted(options(folder, task), refit=refit)


def rows(one: Fit) -> pd.DataFrame:
    return pd.read_csv(one.folder / "predictions.tsv", sep="\t", keep_default_na=False, quoting=0)


def test_the_pipeline_of_transformers_decides_as_predict_does(one: Fit) -> None:
    found = rows(one)
    folder = str(one.folder / "model")
    model = Model(folder, "cpu")
    texts = one.problem.row_texts(one.problem.splits["test"])
    if one.inputs.data.task == "tagging":
        tokens = one.inputs.data.splits["test"]["tokens"][:]
        said = [" ".join(tags) for tags in model.predict(tokens)]
        tagger = pipeline("token-classification", folder, ignore_labels=[], device="cpu")
        for text, words, tags in zip(texts, tokens, said, strict=True):
            starts = np.cumsum([0, *(len(word) + 1 for word in words)])[:-1]
            first = {piece["start"]: piece["entity"] for piece in reversed(tagger(text))}
            assert tags == " ".join(first[start] for start in starts)
    elif one.inputs.data.task == "labels":
        said = model.texts(texts)[0]
        classifier = pipeline("text-classification", folder, top_k=None, device="cpu")
        for text, mine in zip(texts, said, strict=True):
            theirs = [p["label"] for p in classifier([text])[0] if p["score"] > 0.5]
            assert set(mine.split("|")) - {""} == set(theirs)
    else:
        test = one.inputs.data.splits["test"]
        both = [test[column][:] for column in one.problem.text_columns]
        said = model.texts(*both)[0]
        classifier = pipeline("text-classification", folder, device="cpu")
        for parts, mine in zip(zip(*both, strict=True), said, strict=True):
            given = dict(zip(("text", "text_pair"), parts, strict=False))
            (theirs,) = [classifier(given)]
            theirs = theirs[0] if isinstance(theirs, list) else theirs
            assert theirs["label"] == mine
    # What was scored as the test's result is what is said now, by either.
    assert said == found["predicted"].astype(str).tolist()


def test_the_score_in_the_record_is_that_of_the_predictions(one: Fit) -> None:
    record = json.loads((one.folder / "record.json").read_text(encoding="utf-8"))
    found = rows(one)
    told = record["metrics"]["test_tuned"]
    if one.inputs.data.background and not one.inputs.data.entities:
        gold, said = (" ".join(found[c]).split(" ") for c in ("gold", "predicted"))
        looked_for = [tag for tag in one.inputs.data.labels if tag != "O"]
        expected = f1_score(gold, said, labels=looked_for, average="micro")
        assert told["f1"] == pytest.approx(100 * expected)
        assert "accuracy" not in told
    elif one.inputs.data.task == "tagging":
        from seqeval.metrics import f1_score as entity_f1
        from seqeval.scheme import IOB2

        gold, said = ([line.split(" ") for line in found[c]] for c in ("gold", "predicted"))
        expected = entity_f1(gold, said, mode="strict", scheme=IOB2)
        assert told["f1"] == pytest.approx(100 * expected)
    elif one.inputs.data.task == "labels":
        gold, said = (
            [
                [label in cell.split("|") for label in one.inputs.data.labels]
                for cell in found[column]
            ]
            for column in ("gold", "predicted")
        )
        expected = f1_score(gold, said, average="macro", zero_division=0)
        assert told["macro-f1"] == pytest.approx(100 * expected)
    else:
        positive = one.inputs.data.labels[1]
        gold, said = (found[column].astype(str) for column in ("gold", "predicted"))
        assert told["f1"] == pytest.approx(100 * f1_score(gold, said, pos_label=positive))
    assert told[one.problem.goal.metric] > 0
    assert record["metrics"]["floors"]


def test_the_threshold_is_in_the_bias_and_nowhere_else(one: Fit) -> None:
    told = json.loads((one.folder / "model" / "dicebook.json").read_text(encoding="utf-8"))
    kept = Model(one.folder, "cpu")
    split = one.problem.splits["test"]
    from dicelab.fit.training import scores_of

    shifted = scores_of(one.inputs, kept.model, split)
    moved = (shifted - one.result.kept.test)[:, : len(told["bias"])]
    np.testing.assert_allclose(moved, np.broadcast_to(told["bias"], moved.shape), atol=2e-4)
    assert head_of(kept.model).bias is not None
    zero = np.zeros(len(told["bias"]))
    np.testing.assert_array_equal(
        one.problem.decide(shifted, zero),
        one.problem.decide(one.result.kept.test, one.result.run.bias),
    )


def test_predict_has_a_row_for_each_text(one: Fit, tmp_path: Path) -> None:
    texts = ["Ada saw it", "", "the old, old tree", "a\tb"]
    rows = [{"id": n, "text": text} for n, text in enumerate(texts)]
    files = {
        "new.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "new.json": json.dumps(rows),
        "new.csv": pd.DataFrame(rows).to_csv(index=False),
        "new.tsv": pd.DataFrame(rows).to_csv(index=False, sep="\t"),
        "new.txt": "\n".join(texts) + "\n",
        "new.md": "\n".join(texts),
    }
    if one.inputs.data.task == "pairs":
        pytest.skip("texts alone")
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8", newline="")
        out, said = io.StringIO(), []
        assert predict(one.folder, tmp_path / name, out, device="cpu", say=said.append) == 4
        assert said[0].startswith(f"{name}: utf-8, ")
        if one.inputs.data.task == "tagging":
            words = [line.split("\t") for line in out.getvalue().splitlines()]
            assert [word[0] for word in words][:5] == ["Ada", "saw", "it", "", ""]
            assert all(0 < float(word[2]) <= 1 for word in words if word != [""])
        else:
            (tmp_path / "out.tsv").write_text(out.getvalue(), encoding="utf-8", newline="")
            found = read_table(tmp_path / "out.tsv")
            assert found.column("text") == texts
            assert [row[0] == row[1] == "" for _, row in found.rows].count(True) == 1
            assert ("id" in found.names) == (not name.endswith((".txt", ".md")))


def test_the_probabilities_are_right_as_often_as_they_say(one: Fit) -> None:
    told = json.loads((one.folder / "model" / "dicebook.json").read_text(encoding="utf-8"))
    split = one.problem.splits["validation"]
    scores = one.result.run.validation[:, : len(one.problem.labels)]
    gold = one.problem.gold(split)
    z = told["calibration"]["scale"] * scores + np.array(told["calibration"]["shift"])
    before, after = scores, z
    if one.inputs.data.task == "labels":
        likelihoods = [np.log(expit(np.where(gold, x, -x))).mean() for x in (before, after)]
        assert expit(z).mean(0) == pytest.approx(gold.mean(0), abs=0.05)
    else:
        likelihoods = [
            np.take_along_axis(log_softmax(x, -1), gold[:, None], 1).mean() for x in (before, after)
        ]
        shares = np.bincount(gold, minlength=z.shape[1]) / len(gold)
        assert softmax(z, -1).mean(0) == pytest.approx(shares, abs=0.05)
    assert likelihoods[1] >= likelihoods[0] - 1e-9


def test_a_reader_that_has_seen_enough_ends_predict_quietly(one: Fit, tmp_path: Path) -> None:
    if one.inputs.data.task != "sentences":
        pytest.skip("one task is enough")
    (tmp_path / "new.txt").write_text("Ada saw the old tree\n" * 5000, encoding="utf-8")
    command = f"{sys.executable} -m dicelab predict {one.folder} {tmp_path / 'new.txt'}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} --device cpu 2> {tmp_path / 'err'} | head -1"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "predicted\tp(hit)\ttext\n")
    assert (
        tmp_path / "err"
    ).read_text() == "new.txt: utf-8, a text a line, no header (--header).\n"


def test_more_minutes_may_be_given_to_a_fit(tmp_path: Path) -> None:
    asked = {"minutes": 1, "losses": None, "seeds": 3}
    first = options(tmp_path, "sentences", **asked)
    Fit(first).read()
    Fit(replace(first, minutes=5)).read()
    with pytest.raises(FitError, match=r"minutes: 5 then, 1 now"):
        Fit(first)
    with pytest.raises(FitError, match="seeds: 3 then, 2 now"):
        Fit(replace(first, minutes=9, seeds=2))


def test_a_file_that_is_not_read_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("text,label\na,1\n")
    for name in ("none.csv", "bad.csv"):
        assert main(["fit", str(tmp_path / name), "--out", str(tmp_path / "out")]) == 1
        assert not (tmp_path / "out").exists()


def test_no_tagged_word_is_cut_unasked(tmp_path: Path) -> None:
    source = tmp_path / "my"
    source.mkdir()
    for part in ("train", "validation", "test"):
        MAKERS["tagging"](source / f"{part}.conll")
    # Longer than every sentence of train, which the length could be taken from.
    long = "\n".join(["the\tO"] * 60 + ["Ada\tB-PER"])
    with (source / "test.conll").open("a", encoding="utf-8") as file:
        file.write(f"\n{long}\n")
    one = Fit(Options(source=str(source), out=str(tmp_path / "out"), encoder="tiny", device="cpu"))
    one.read()
    assert max(map(len, one.inputs.data.splits["test"]["tokens"][:])) == 61
    assert sum(one.inputs.cut.values()) == 0


def test_the_report_is_one_page_that_loads_nothing(one: Fit) -> None:
    source = (one.folder / "report.html").read_text(encoding="utf-8")
    page = BeautifulSoup(source, "html.parser")
    outside = [tag.get(key, "#") for tag in page.find_all() for key in ("src", "href")]
    assert all(target.startswith("#") for target in outside)
    assert "url(http" not in source
    assert "@import" not in source
    pictures = [picture["aria-label"] for picture in page.find_all("svg")]
    assert len(pictures) == 2 - (one.inputs.data.task == "tagging")
    assert all(len(alt) > 20 for alt in pictures)
    repeated = any(len(arm.runs) > 1 for arm in one.result.arms.values())
    assert (">seeds</th>" in source) == repeated
    text = page.get_text(" ")
    for words in ("Kept:", "floor", "Score by class", "errors", "The data", "Versions"):
        assert words in text
    ids = re.findall(r'\bid="([^"]+)"', source)
    assert len(ids) == len(set(ids))
    targets = re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', source)
    assert set(targets) <= set(ids)


def test_that_a_model_was_trained_again_is_said(one: Fit) -> None:
    source = (one.folder / "report.html").read_text(encoding="utf-8")
    again, result = ", again on train and validation</td>", one.result
    assert (again in source) == result.refitted == result.record["refitted"]
    assert ("Fine-tuning was repeated" in " ".join(result.verdict)) == result.refitted
    if result.refitted:
        assert result.run is not None
        before = result.run.folder.with_name(result.run.run.name)
        assert not (before / "model").exists()
        with np.load(before / "test.npz") as arrays:
            assert (arrays["scores"] != result.fine_tuned.test).any()


def test_a_fit_that_is_asked_again_trains_nothing(one: Fit) -> None:
    before = json.loads((one.folder / "record.json").read_text(encoding="utf-8"))
    stamps = {p: p.stat().st_mtime_ns for p in one.folder.rglob("run.json")}
    again = fitted(one.options, refit=one.result.refitted)
    assert {p: p.stat().st_mtime_ns for p in one.folder.rglob("run.json")} == stamps
    after = json.loads((again.folder / "record.json").read_text(encoding="utf-8"))
    for name in ("metrics", "bias", "finals", "search", "difference", "verdict"):
        assert after[name] == before[name]


class Killed(BaseException):
    """What nothing in a fit is prepared for."""


def test_a_kill_loses_an_epoch_at_most_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = options(tmp_path, "sentences", losses=("ce",), out=str(tmp_path / "a"))
    whole = fitted(first, 3, refit=True)
    killed = replace(first, out=str(tmp_path / "b"))
    save, train, saved, resumed = Trainer._save_checkpoint, Trainer.train, [], []

    def saves_and_dies(self: Trainer, *given: Any, **more: Any) -> None:
        save(self, *given, **more)
        saved.append(1)
        if len(saved) == 8:  # two whole runs of three passes, and two of the last one
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_save_checkpoint", saves_and_dies)
        with pytest.raises(Killed):
            fitted(killed, 3, refit=True)
    assert (tmp_path / "b" / "runs" / Run("ce", 2e-3, 0).name / "run.json").exists()

    def looks(self: Trainer, resume_from_checkpoint: object = None) -> object:
        resumed.append(resume_from_checkpoint)
        return train(self, resume_from_checkpoint=resume_from_checkpoint)

    monkeypatch.setattr(Trainer, "train", looks)
    again = fitted(killed, 3, refit=True)
    assert len(resumed) == 1, "both runs were kept, what was learned from all rows went on"
    assert "checkpoint-" in str(resumed[0])
    assert again.result.scores("ce") == whole.result.scores("ce")
    np.testing.assert_array_equal(again.result.fine_tuned.test, whole.result.fine_tuned.test)
    assert not list((tmp_path / "b").rglob("checkpoint-*"))


def test_threads_that_wait_for_one_another_are_not_used() -> None:
    from dicelab.fit.plan import _threads

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        # Seconds of a step with one thread and with two.
        for alone, many, expected in ((1.0, 12.0, 1), (1.0, 0.6, 0), (0.01, 0.009, 0)):
            seconds = {1: alone, 2: many}
            assert _threads(lambda told=seconds: told[torch.get_num_threads()]) == expected
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_machine_that_becomes_slow_gets_fewer_runs_and_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The planned passes of two losses take far longer than what was probed.
    monkeypatch.setattr(Fit, "spent", lambda one: 0.0 if not one.number else 1e4)
    one = fitted(options(tmp_path, "sentences", seeds=3, out=str(tmp_path / "fit")))
    assert [str(done.run) for done in one.result.searched] == ["ce, rate 0.002, seed 0"]
    assert len(one.result.searched[0].history) == 1 < one.result.plan.epochs
    assert one.result.notes[0].startswith("ce, rate 0.002, seed 0: stopped after 1 of ")
    assert "The time did not suffice for dice." in one.result.notes
    assert (tmp_path / "fit" / "model" / "model.safetensors").exists()
    assert "did not suffice" in (tmp_path / "fit" / "report.html").read_text(encoding="utf-8")


def test_two_fits_do_not_share_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with alone_in(tmp_path):
        assert main(["fit", "embedded-entities-en", "--out", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "another run is at work in" in told.err
    assert told.err.count("\n") == 1
    with alone_in(tmp_path):
        pass
