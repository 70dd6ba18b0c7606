"""What can be wrong with a file, a folder or an option ends in one sentence that says what."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from dicelab.__main__ import main
from dicelab.corpora.errors import CorpusError
from dicelab.fit.data import read
from dicelab.fit.options import FitError, Options
from dicelab.fit.plan import SHORTEST, Speed, plan
from dicelab.fit.problems import problem_of
from tests.fit import made_up

ROWS = "".join(f"some text number {i}\t{'ab'[i % 3 == 0]}\n" for i in range(60))
TAGGED = "Ada\tB-PER\nsaw\tO\n\n" * 40


def text(content: str, name: str = "my.tsv") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_text(content, encoding="utf-8")
        return path

    return write


def labelled(label: Callable[[int], object], rows: int = 60) -> Callable[[Path], Path]:
    return text(HEAD + "".join(f"a text {i}\t{label(i)}\n" for i in range(rows)))


def raw(content: bytes, name: str = "my.tsv") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def folder(**files: str) -> Callable[[Path], Path]:
    def write(place: Path) -> Path:
        for name, content in files.items():
            (place / f"{name}.tsv").write_text(content, encoding="utf-8")
        return place

    return write


def table(rows: dict[str, list[object]]) -> Callable[[Path], Path]:
    def write(place: Path) -> Path:
        parquet.write_table(pyarrow.table(rows), place / "my.parquet")
        return place / "my.parquet"

    return write


HEAD = "text\tlabel\n"
MANY = {"text": [f"a text {i}" for i in range(60)], "label": [i % 2 for i in range(60)]}
LINES = [json.dumps({"text": f"a text {i}", "label": "ab"[i % 2]}) for i in range(60)]
SQUAD = json.dumps({"version": "1.1", "data": []})

#: What writes a file, what is said of it, and options, if there are some.
BAD: dict[str, tuple[Any, ...]] = {
    "an empty file": (text(""), "my.tsv: expected rows of text and label, got an empty file"),
    "a header alone": (text(HEAD), "expected rows of text and label, got none"),
    "no such file": (lambda place: place / "none.tsv", "expected a file, a folder, hub:NAME"),
    "another encoding": (
        raw((HEAD + ROWS).encode() + "Zürich\tb\n".encode("latin-1")),
        "my.tsv:62: expected text in column 'text', got byte 0xfc, which is not utf-8 (--encoding)",
    ),
    "an encoding that is none": (
        text(HEAD + ROWS),
        "--encoding: expected an encoding such as utf-8 or cp1252, got 'latin-one'",
        {"encoding": "latin-one"},
    ),
    "an empty text": (text(HEAD + ROWS + "\tb\n"), "my.tsv:62: expected text in column 'text'"),
    "an empty label": (
        text(HEAD + ROWS + "a b c\t\n"),
        "my.tsv:62: expected a label in column 'label', got none",
    ),
    "null for a text": (
        table({**MANY, "text": [*MANY["text"][:59], None]}),
        "my.parquet:60: expected text in column 'text', got none",
    ),
    "a number for a text": (
        table({"text": list(range(60)), "label": MANY["label"]}),
        "my.parquet:1: expected text in column 'text', got 0",
    ),
    "a label for every row": (
        labelled(lambda i: f"id{i}", 1500),
        "expected a label of at most 1000 kinds, got ",
        {"label": "label"},
    ),
    "no parquet": (raw(b"PAR1 nothing", "my.parquet"), "expected a parquet file"),
    "broken JSON": (
        text("\n".join([*LINES, '{"text": ']), "my.jsonl"),
        "my.jsonl:61: expected a JSON object, got ",
    ),
    "an unknown column": (
        text(HEAD + ROWS),
        "--label: expected one of the columns 'text', 'label', got 'flag'",
        {"label": "flag"},
    ),
    "columns that say nothing": (
        text("p\tq\n" + "".join(f"x{i}\ty{i}\n" for i in range(40))),
        "the columns are '1', '2'. Say it with ",
    ),
    "a second text that is none": (
        text(HEAD + ROWS),
        "expected two columns of text for pairs, got 'text' alone; say the other with --text2",
        {"task": "pairs"},
    ),
    "test with other columns": (
        folder(train=HEAD + ROWS, test="body\tflag\na b\ta\n" * 9),
        "expected the columns of ",
        {"text": "text", "label": "label"},
    ),
    "no positives in validation": (
        folder(train=HEAD + ROWS, dev=HEAD + "some text\ta\n" * 9, test=HEAD + ROWS),
        "expected rows labelled 'b' in validation, got none",
        {"positive": "b"},
    ),
    "a folder without train": (folder(test=HEAD), "expected a file whose name says train"),
    "an empty folder": (folder(), "such as train.tsv, got nothing"),
    "questions": (text(SQUAD, "my.json"), "train on them with chapter 10"),
    "mixed tag schemes": (
        text(TAGGED + "Lima\tLOC\n\n", "my.conll"),
        "my.conll:121: expected a tag such as O, B-PER or I-PER, got 'LOC'",
    ),
    "a name for a tag's column": (
        text(TAGGED, "my.conll"),
        "a tagged file has no header; expected a column's number from 1, got 'tag'",
        {"label": "tag"},
    ),
    "a positive class that is none": (
        text(HEAD + ROWS),
        "--positive: expected 'a' or 'b', got 'c'",
        {"positive": "c"},
    ),
    "a positive class of three": (
        labelled(lambda i: i % 3),
        "--positive: expected two classes, got 3",
        {"positive": "1"},
    ),
    "yes-or-no columns with another value": (
        text("text\tp\tq\n" + "a b c\t1\t0\n" * 30 + "a b\t2\t0\n"),
        "my.tsv:32: expected 0 or 1 in column 'p', got '2'",
        {"label": "p,q"},
    ),
    "several labels of a pair": (
        text("text1\ttext2\tlabel\n" + "a b\tc d\tx|y\na b\tc d\tx\na b\tc d\ty\n" * 20),
        "expected one text a row with several labels, got pairs",
        {"task": "labels", "text": "text1", "text2": "text2", "label_separator": "|"},
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data(case: str, tmp_path: Path) -> None:
    write, words, *options = BAD[case]
    with pytest.raises((CorpusError, FitError)) as found:
        read(Options(source=str(write(tmp_path)), **dict(*options)))
    message = str(found.value)
    assert words in message
    assert "expected" in message or "train on them" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"minutes": 0}, "--minutes: expected a number above 0, got 0"),
        ({"minutes": float("nan")}, "--minutes: expected a number above 0, got nan"),
        ({"metric": "auc"}, "--metric: expected one of f1, macro-f1, accuracy, f2"),
        ({"at_recall": 1.5}, "--at-recall: expected a share above 0 and below 1, got 1.5"),
        ({"at_recall": 0.9, "at_precision": 0.9}, "expected one of --at-recall"),
        ({"losses": ("dce",)}, "--losses: expected some of ce, wce, fl, dl, tl, dsc, eq6"),
        ({"losses": ("dl", "dice")}, "--losses: expected different losses"),
        ({"header": "maybe"}, "--header: expected one of yes, no"),
        ({"rates": (2.0,)}, "--rates: expected numbers above 0 and at most 1, got 2.0"),
        ({"delimiter": "||"}, "--delimiter: expected one character, got '||'"),
    ],
)
def test_bad_options(given: dict[str, object], words: str) -> None:
    with pytest.raises(FitError, match=r"^(?!.*\n)") as found:
        Options(**given)  # type: ignore[arg-type]
    assert words in str(found.value)


def test_a_metric_that_the_task_has_not(tmp_path: Path) -> None:
    tagged = Options(source=str(made_up.tagged(tmp_path / "my.conll")), metric="accuracy")
    with pytest.raises(FitError, match="expected f1, macro-f1 or f2 for tags, got accuracy"):
        problem_of(read(tagged), tagged)
    path = labelled(lambda i: i % 3)(tmp_path)
    three = Options(source=str(path), at_recall=0.9)
    with pytest.raises(FitError, match="expected two classes, got 3"):
        problem_of(read(three), three)


def test_too_few_minutes_says_how_many_there_should_be(tmp_path: Path) -> None:
    options = made_up.options(tmp_path, "sentences", minutes=0.5)
    problem = problem_of(read(options), options)
    problem.splits = problem.data.splits
    with pytest.raises(FitError, match=r"--minutes: expected about \d+ or more .* got 0.5"):
        plan(problem, Speed(10.0, 0.1, 1.0, 10), (1e-3,), options, spent=0.0)


def test_who_asks_for_no_minutes_gets_a_short_run_on_a_slow_machine(tmp_path: Path) -> None:
    options = made_up.options(tmp_path, "sentences")
    problem = problem_of(read(options), options)
    problem.splits = problem.data.splits
    slow, fast = (
        plan(problem, Speed(step, 0.1, 1.0, 10), (1e-3,), options, spent=30.0)
        for step in (100.0, 0.001)
    )
    assert slow.steps >= SHORTEST
    assert 10 < slow.minutes < 1.2 * (30 + slow.seconds) / 60
    assert fast.minutes == 10


def test_the_command_says_one_sentence_and_leaves_no_trace_of_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = made_up.sentences(tmp_path / "my.tsv")
    for words, expected in (
        (["fit", str(tmp_path / "none.tsv")], "expected a file, a folder"),
        (["predict", str(tmp_path), str(source)], "expected a model that dicebook fit kept"),
        (
            ["fit", str(source), "--label", "flag", "--losses", "os:none"],
            "--losses: module 'os' has no 'none'; expected MODULE:NAME",
        ),
    ):
        more = ["--out", str(tmp_path / "out"), "--encoder", "tiny"]
        assert main([*words, *(more if words[0] == "fit" else [])]) == 1
        told = capsys.readouterr()
        assert expected in told.err
        assert told.err.startswith("dicebook: ")
        assert told.err.count("\n") == 1
    assert not (tmp_path / "out" / "runs").exists()  # said before anything was trained


def test_a_folder_that_is_called_like_a_corpus_is_not_mistaken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mrpc").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICEBOOK_DATA", str(tmp_path / "data"))
    with pytest.raises(CorpusError, match=r"dicebook data mrpc .* say \./mrpc"):
        read(Options(source="mrpc"))


def test_a_file_where_the_folder_should_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = made_up.sentences(tmp_path / "my.tsv")
    assert main(["fit", str(source), "--label", "flag", "--out", str(source)]) == 1
    assert "expected a place to read and write, got: File exists" in capsys.readouterr().err


def test_nothing_of_the_owners_is_touched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = made_up.sentences(tmp_path / "my.tsv"), tmp_path / "out"
    (out / "model").mkdir(parents=True)
    own = {out / "model" / "own.bin": b"mine", out / "report.html": b"mine too"}
    for path, content in own.items():
        path.write_bytes(content)
    told = ["fit", str(source), "--label", "flag", "--encoder", "tiny"]
    assert main([*told, "--out", str(out)]) == 1
    expected = "expected a new or an empty folder, or that of an earlier fit, found 'model'"
    assert expected in capsys.readouterr().err
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == own


def test_predictions_are_written_over_predictions_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def predict(model: str, path: str, out: Any, **more: Any) -> int:
        out.write("predicted\tp(hit)\ttext\nhit\t0.9000\tAda\n")
        return 1

    monkeypatch.setattr("dicelab.fit.predict", predict)
    source, notes, new = (tmp_path / name for name in ("my.tsv", "notes.txt", "new.tsv"))
    source.write_text("text\nAda\n")
    notes.write_text("my notes\n")
    for out, expected in ((source, "another file than the input"), (notes, "something else")):
        before = out.read_bytes()
        assert main(["predict", "model", str(source), "--out", str(out)]) == 1
        assert expected in capsys.readouterr().err
        assert out.read_bytes() == before
    for _ in range(2):  # new, and over earlier predictions
        assert main(["predict", "model", str(source), "--out", str(new)]) == 0
    new.write_text("Ada\tB-PER\t0.9876\n")
    assert main(["predict", "model", str(source), "--out", str(new)]) == 0


def test_a_full_disk_is_said_before_anything_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = made_up.sentences(tmp_path / "my.tsv")
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=0))
    told = ["fit", str(source), "--label", "flag", "--encoder", "tiny"]
    assert main([*told, "--out", str(tmp_path / "out")]) == 1
    assert "MB of free disk for the models under way, found 0 MB" in capsys.readouterr().err
    assert not (tmp_path / "out" / "runs").exists()
