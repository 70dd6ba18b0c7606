"""The contract of the experiment chapters, checked on chapter 09 as its reader runs it.

And the parameter `language`, which chapters 09 and 10 alone have.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from dicelab.corpora import CorpusError
from dicelab.tasks.entity_queries import query
from dicelab.training import callbacks
from dicelab.training.experiment import ParameterError
from tests.tiny_backbones import save_backbone

pytestmark = pytest.mark.slow

# Section 9.10 trains two more taggers, which no parameter shortens and no record holds.
ASIDE = "starts = {start: f1_after_passes(start)"
SMALL = {"encoder": "tiny", "train_size": 32, "eval_size": 16, "reader_epochs": 0}
SHORT = {"loss": "dl", "epochs": 2, **SMALL}


def record(folder: Path, loss: str) -> dict[str, object]:
    """A record without what differs from run to run."""
    found = json.loads((folder / loss / "record.json").read_text(encoding="utf-8"))
    del found["measured"], found["parameters"]["output_dir"]
    return found


def execute(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str = "09_named_entities",
    **parameters: object,
) -> dict[str, Any]:
    """A chapter's code in this process, until it ends or raises; the names that it leaves."""
    monkeypatch.chdir(root)
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    chapter = nbformat.read(root / "notebooks" / f"{name}.ipynb", as_version=4)
    namespace: dict[str, Any] = {}
    for cell in chapter.cells:
        if cell.cell_type != "code" or ASIDE in cell.source:
            continue
        exec(cell.source, namespace)
        if "parameters" in cell.metadata.get("tags", []):
            namespace.update(parameters)
    return namespace


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"los": "dsc"}, "unknown parameter 'los'. Did you mean 'loss'? Valid parameters: corpus,"),
        ({"loss": "dise"}, "parameter 'loss': expected one of ce, wce, fl, dl, tl, dsc"),
        ({"loss": "nowhere:Loss"}, "no module 'nowhere', here or installed"),
        ({"corpus": "wnut7"}, "unknown corpus 'wnut7': expected a file, a folder, or"),
        ({"corpus": "conll03"}, "run: dicebook data conll03 --out"),
        ({"encoder": "/nowhere"}, "'minilm', a local folder with a model"),
        ({"language": "fr"}, "parameter 'language': expected one of auto, en, zh, got 'fr'"),
    ],
)
def test_a_wrong_parameter_ends_in_one_clear_error(
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    parameters: dict[str, object],
    message: str,
) -> None:
    folder = tmp_path / "run"
    with pytest.raises((ParameterError, ValueError, CorpusError), match=re.escape(message)):
        execute(root, monkeypatch, **parameters, output_dir=str(folder))
    assert not folder.exists()


def test_a_loss_of_the_reader_s_own_enters_the_chapter(root, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import torch\n\n\nclass Scaled(torch.nn.CrossEntropyLoss):\n"
        "    def __init__(self, by=1.0):\n        super().__init__()\n        self.by = by\n\n"
        "    def forward(self, logits, labels):\n"
        "        return self.by * super().forward(logits.flatten(0, -2), labels.flatten())\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    short = {"loss": "ce,mine:Scaled", "epochs": 1, "max_steps": 3, **SMALL}
    execute(root, monkeypatch, **short, output_dir=str(tmp_path / "run"))
    theirs, ours = (record(tmp_path / "run", name) for name in ("mine:Scaled", "ce"))
    assert theirs["parameters"]["loss"] == "mine:Scaled"
    assert theirs["metrics"] == ours["metrics"]


def test_a_killed_run_goes_on_and_ends_with_the_same_record(root, tmp_path, monkeypatch):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    execute(root, monkeypatch, **SHORT, output_dir=str(undisturbed))

    saved, saves = callbacks.MarkComplete.on_save, []

    def save_and_die_at_first(*given: Any, **more: Any) -> None:
        saved(*given, **more)
        if given[1].output_dir == str(killed / "dl"):
            saves.append(given[2].global_step)
        if len(saves) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(callbacks.MarkComplete, "on_save", save_and_die_at_first)
    with pytest.raises(KeyboardInterrupt):
        execute(root, monkeypatch, **SHORT, output_dir=str(killed))
    assert not (killed / "dl" / "record.json").exists()
    # As a kill in the middle of writing leaves it: a checkpoint without its mark.
    (killed / "dl" / "checkpoint-999").mkdir()
    (killed / "dl" / "checkpoint-999" / "model.safetensors").write_bytes(b"half")

    execute(root, monkeypatch, **SHORT, output_dir=str(killed))
    assert saves == [1, 2], "the second pass alone was left"
    assert record(killed, "dl") == record(undisturbed, "dl")

    other = "holds a run with other parameters (seed: 0 then, 1 now)"
    with pytest.raises(ParameterError, match=re.escape(other)):
        execute(root, monkeypatch, **SHORT, seed=1, output_dir=str(killed))


SHORTEST = {"loss": "dl", "epochs": 1, "max_steps": 2, "batch_size": 4, "max_length": 48}


def test_chinese_entities_are_asked_for_in_chinese(root, tmp_path, monkeypatch):
    own = tmp_path / "own.conll"
    rows = [(c, "B-PER" if c == "小" else "I-PER" if c == "明" else "O") for c in "昨天小明来了"]
    lines = "".join(f"{character}\t{tag}\n" for character, tag in rows)
    own.write_text("".join(f"{lines}{n}\tO\n\n" for n in range(30)), encoding="utf-8")
    question = query("PER", "zh")
    encoder = save_backbone("bert", ["昨天小明来了", question], tmp_path / "encoder")
    short = {**SHORTEST, "reader_epochs": 1, "encoder": encoder, "corpus": str(own)}
    left = execute(root, monkeypatch, **short, language="zh", output_dir=str(tmp_path / "run"))
    first = left["asked"].splits["train"][0]["input_ids"]
    read = left["reader_tokenizer"].decode(first, skip_special_tokens=True)
    assert read.replace(" ", "") == f"{question}昨天小明来了".replace(" ", "")
    assert record(tmp_path / "run" / "reader", "dl")["parameters"]["language"] == "zh"


def test_chinese_answers_are_scored_by_character(root, tmp_path, monkeypatch):
    own, context = tmp_path / "own.json", "我在北京大学读书"
    answer = {"text": "北京大学", "answer_start": 2}
    paragraphs = [
        {
            "context": f"{context}{n}年",
            "qas": [{"id": str(n), "question": "在哪里？", "answers": [answer]}],
        }
        for n in range(30)
    ]
    text = json.dumps({"data": [{"paragraphs": paragraphs}]}, ensure_ascii=False)
    own.write_text(text, encoding="utf-8")
    short = {**SHORTEST, "by_choice": False, "corpus": str(own), "language": "zh"}
    short["encoder"] = "tiny"
    left = execute(root, monkeypatch, "10_reading", **short, output_dir=str(tmp_path / "run"))

    # A reader that is sure of 大学, at each question.
    windows = left["encoded"].splits["test"]
    shape = (len(windows), 48)
    starts, ends = np.full(shape, -9.0), np.full(shape, -9.0)
    for row, window in enumerate(windows):
        first, places = window["context_span"][0], [tuple(pair) for pair in window["offsets"]]
        starts[row, first + places.index((4, 5))] = 9
        ends[row, first + places.index((5, 6))] = 9
    scores = left["scores_at"](0.0, (starts, ends), "test", as_choice=False)
    # 大学 of 北京大学: a precision of 1, a recall of 2/4.
    assert scores == pytest.approx({"exact_match": 0, "f1": 200 / 3})
    assert record(tmp_path / "run", "dl")["parameters"]["language"] == "zh"
