"""The forms in which people bring data: each is read right, or refused in one sentence."""

from __future__ import annotations

import csv
import gzip
import io
import json
import pathlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from hypothesis import example, given
from hypothesis import strategies as st
from mutated_files import written

from dicelab.corpora.cells import Asked
from dicelab.corpora.columns import choose
from dicelab.corpora.containers import read_table
from dicelab.corpora.containers.folders import table_of
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.files import read_texts, read_words
from dicelab.corpora.labels import label_reader
from dicelab.fit.data import Data, class_counts, read
from dicelab.fit.options import FitError, Options
from dicelab.tasks.raw_text import Sentence

N = 40
TEXTS = [
    f"the parcel number {i} came {'late' if i % 4 == 0 else 'on time'}, well" for i in range(N)
]
POSITIVE = [int(i % 4 == 0) for i in range(N)]
NAMES = ["bad" if is_positive else "good" for is_positive in POSITIVE]
RECORDS = [{"text": text, "label": label} for text, label in zip(TEXTS, POSITIVE, strict=True)]
SETS = [
    [name for n, name in ((2, "late"), (3, "rude"), (5, "lost")) if i % n == 0] for i in range(N)
]
HOT = [[int(name in of) for name in ("late", "rude", "lost")] for of in SETS]
SENTENCE = ["Ana", "Lee", "saw", "Oslo", "once"]
TAGS = ["B-PER", "I-PER", "O", "B-LOC", "O"]
TAGGED = [([*SENTENCE, f"w{i}"], [*TAGS, "O"]) for i in range(N)]
SPANS = [[0, 7, "PER"], [12, 16, "LOC"]]


def table(rows: list[list[Any]], sign: str = ",", **how: Any) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=sign, lineterminator="\n", **how).writerows(rows)
    return out.getvalue()


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"text": TEXTS, **columns})


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def column_file(sign: str = "\t", **respelt: str) -> str:
    """A token a line, with some tags of another spelling."""
    rows = [
        "\n".join(
            f"{token}{sign}{respelt.get(tag.replace('-', '_'), tag)}"
            for token, tag in zip(*row, strict=True)
        )
        for row in TAGGED
    ]
    return "\n\n".join(rows) + "\n"


PAIRS = list(zip(TEXTS, POSITIVE, strict=True))
NAMED_PAIRS = list(zip(TEXTS, NAMES, strict=True))
SEVERAL_PAIRS = list(zip(TEXTS, SETS, strict=True))
HEADED = [["text", "label"], *PAIRS]
COLUMNS = dict(zip(("late", "rude", "lost"), zip(*HOT, strict=True), strict=True))
#: The name of a file, and what it holds.
CLASSES: dict[str, tuple[str, str | bytes]] = {
    "a list of objects": ("a.json", json.dumps(RECORDS)),
    "lines named .json": ("a.json", lines(RECORDS)),
    "objects under a key": ("a.json", json.dumps({"version": 1, "examples": RECORDS})),
    "pandas' columns": ("a.json", frame(label=POSITIVE).to_json()),
    "pandas' table": ("a.json", frame(label=POSITIVE).to_json(orient="table")),
    "pandas' CSV with its index": ("a.csv", frame(klasse=POSITIVE).to_csv()),
    "pandas' CSV without": ("a.csv", frame(label=POSITIVE).to_csv(index=False)),
    "numbers as floats": ("a.csv", frame(label=[float(y) for y in POSITIVE]).to_csv(index=False)),
    "semicolons": ("a.csv", table(HEADED, ";")),
    "Excel's sep=": ("a.csv", "sep=;\n" + table(HEADED, ";")),
    "no header": ("a.tsv", table(PAIRS, "\t")),
    "a header that has a comma": ("a.csv", table([["text (short, raw)", "label"], *PAIRS], ";")),
    "a comma at the end of each line": ("a.csv", table([["text", "label", ""], *([*row, ""] for row in PAIRS)])),
    "names that say nothing, and empty columns": ("spam.csv", table([["v1", "v2", "", ""], *([y, t, "", ""] for t, y in PAIRS)])),
    "a table of Markdown": ("a.md", "| text | label |\n|:---|---|\n" + "".join(f"| {t} | {y} |\n" for t, y in PAIRS)),
    "a date, a user and an address beside the text": ("a.csv", table([[y, f"Mon Apr 06 22:{i:02}:45 PDT 2009", f"user{i}", f"https://x.org/{i:040}", t] for i, (t, y) in enumerate(PAIRS)])),
    "backslashes before quotes": ("a.csv", "text,label\n" + "".join(f'"{t} \\"no\\"",{y}\n' for t, y in PAIRS)),
    "CRLF": ("a.tsv", table(HEADED, "\t").replace("\n", "\r\n")),
    "UTF-16": ("a.tsv", table(HEADED, "\t").encode("utf-16")),
    "UTF-16 without its mark": ("a.csv", table(HEADED).encode("utf-16-le")),
    "gzip": ("a.csv.gz", gzip.compress(table(HEADED).encode())),
    "a trailing sign": ("a.csv", "text;label\n" + "".join(f"{t};{y};\n" for t, y in PAIRS)),
    "a title above the table": ("a.tsv", "Export of 3 May\n" + table(HEADED, "\t")),
    "an id called label": ("a.csv", table([["text", "label", "target"], *([t, i, y] for i, (t, y) in enumerate(PAIRS))])),
    "a list of one label or none": ("a.jsonl", lines([{"text": t, "label": y, "id": i} for i, (t, y) in enumerate(PAIRS)])),
}  # fmt: skip
NAMED: dict[str, tuple[str, str | bytes]] = {
    "fastText": ("a.txt", "".join(f"__label__{n} {t}\n" for t, n in NAMED_PAIRS)),
    "Label Studio's small JSON": ("a.json", json.dumps([{"id": i, "text": t, "sentiment": n} for i, (t, n) in enumerate(NAMED_PAIRS)])),
    "Label Studio's JSON": (
        "a.json",
        json.dumps(
            [
                {
                    "id": i,
                    "data": {"text": t},
                    "annotations": [{"result": [{"value": {"choices": [n]}, "type": "choices"}]}],
                }
                for i, (t, n) in enumerate(NAMED_PAIRS)
            ]
        ),
    ),
    "a first row whose label is called title": ("a.tsv", "".join(f"{t}\t{n}\n" for t, n in NAMED_PAIRS)),
    "labels in two cases": ("a.csv", table([["text", "label"], *([t, n.upper() if i == 7 else f"{n} "] for i, (t, n) in enumerate(NAMED_PAIRS))])),
}  # fmt: skip
SEVERAL: dict[str, tuple[str, str]] = {
    "a list of names": ("a.jsonl", lines([{"text": t, "labels": of} for t, of in SEVERAL_PAIRS])),
    "a list of 0 and 1": ("a.jsonl", lines([{"text": t, "labels": of} for t, of in zip(TEXTS, HOT, strict=True)])),
    "a list of 0 and 1 as text": ("a.csv", frame(labels=HOT).to_csv(index=False)),
    "numpy's list of 0 and 1": ("a.csv", frame(labels=[f"[{' '.join(map(str, of))}]" for of in HOT]).to_csv(index=False)),
    "columns of 0 and 1": ("a.csv", frame(**COLUMNS).to_csv(index=False)),
    "columns of yes and no": ("a.csv", frame(**{n: [["no", "yes"][y] for y in of] for n, of in COLUMNS.items()}).to_csv(index=False)),
    "Label Studio's choices": ("a.csv", table([["id", "text", "choice"], *([i, t, json.dumps({"choices": of}) if len(of) != 1 else of[0]] for i, (t, of) in enumerate(SEVERAL_PAIRS))])),
    "fastText's several": ("a.txt", "".join(f"{' '.join(f'__label__{n}' for n in of or ['none'])} {t}\n" for t, of in SEVERAL_PAIRS)),
}  # fmt: skip
ENTITIES: dict[str, tuple[str, str]] = {
    "two columns": ("a.tsv", column_file()),
    "the tag first": ("a.conll", "\n".join("\t".join(line.split("\t")[::-1]) for line in column_file().split("\n"))),
    "BILOU": ("a.tsv", column_file(I_PER="L-PER", B_LOC="U-LOC")),
    "IOBES": ("a.tsv", column_file(I_PER="E-PER", B_LOC="S-LOC")),
    "IOB1": ("a.tsv", column_file(B_PER="I-PER", B_LOC="I-LOC")),
    "underscores": ("a.tsv", column_file(B_PER="B_PER", I_PER="I_PER", B_LOC="B_LOC")),
    "suffixes": ("a.tsv", column_file(B_PER="PER-B", I_PER="PER-I", B_LOC="LOC-B")),
    "lower case": ("a.tsv", column_file(B_PER="b-PER", I_PER="i-PER", B_LOC="b-LOC", O="o")),
    "breaks that have spaces": ("a.tsv", column_file().replace("\n\n", "\n \n")),
    "a header": ("a.tsv", "word\ttag\n" + column_file()),
    "comments and four columns": ("a.conll", "".join(f"# id {i}\tdomain=en\n" + "".join(f"{t} _ _ {g}\n" for t, g in zip(*row, strict=True)) + "\n" for i, row in enumerate(TAGGED))),
    "GermEval": ("a.tsv", "".join(f"#\thttp://{i}\n" + "".join(f"{n}\t{t}\t{g}\tO\n" for n, (t, g) in enumerate(zip(*row, strict=True), 1)) + "\n" for i, row in enumerate(TAGGED))),
    "comments beside hashtags": (
        "a.tsv",
        "# id 1\n" + column_file() + "\n# id 2\n#win\tO\n#\tO\n",
    ),
    "a token a row": ("a.csv", table([["Sentence #", "Word", "Tag"], *([f"Sentence: {i}" if not n else "", t, g] for i, row in enumerate(TAGGED) for n, (t, g) in enumerate(zip(*row, strict=True)))])),
    "a token a row with ids": ("a.csv", table([["sentence_id", "words", "labels"], *([i, t, g] for i, row in enumerate(TAGGED) for t, g in zip(*row, strict=True))])),
    "lists": ("a.jsonl", lines([{"id": i, "tokens": t, "ner_tags": g} for i, (t, g) in enumerate(TAGGED)])),
    "tags between spaces": ("a.csv", table([["text", "labels"], *([" ".join(t), " ".join(g)] for t, g in TAGGED)])),
    "doccano": ("a.jsonl", lines([{"id": i, "text": " ".join(t), "label": SPANS} for i, (t, _) in enumerate(TAGGED)])),
    "Prodigy": ("a.jsonl", lines([{"text": " ".join(t), "spans": [{"start": a, "end": b, "label": g} for a, b, g in SPANS], "answer": "accept"} for t, _ in TAGGED])),
    "Label Studio": ("a.json", json.dumps([{"data": {"text": " ".join(t)}, "annotations": [{"result": [{"value": {"start": a, "end": b, "labels": [g]}} for a, b, g in SPANS]}]} for t, _ in TAGGED])),
    "Label Studio's small": ("a.json", json.dumps([{"text": " ".join(t), "label": [{"start": a, "end": b, "text": "x", "labels": [g]} for a, b, g in SPANS]} for t, _ in TAGGED])),
    "spaCy": ("a.json", json.dumps([[" ".join(t), {"entities": SPANS}] for t, _ in TAGGED])),
}  # fmt: skip


def data(folder: Path, name: str, content: str | bytes, **more: Any) -> Data:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(Options(source=str(path), **more))


def rows(found: Data, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(
        row
        for split in found.splits.values()
        for row in zip(*(split[c][:] for c in columns), strict=True)
    )


def texts(found: Data) -> list[str]:
    return [text for (text,) in rows(found, "sentence")]


@pytest.mark.parametrize("case", CLASSES)
def test_two_classes(case: str, tmp_path: Path) -> None:
    name, content = CLASSES[case]
    found = data(tmp_path, name, content, skip_bad=case == "a title above the table")
    assert (found.task, found.labels) == ("sentences", ["0", "1"])
    expected = [f'{t} "no"' if "backslashes" in case else t for t in TEXTS]
    assert rows(found, "sentence", "label") == sorted(zip(expected, POSITIVE, strict=True))
    assert found.preview[0].startswith(f"{name} (train): ")
    assert found.preview[1].startswith("Row 1: ")


@pytest.mark.parametrize("case", NAMED)
def test_classes_with_names(case: str, tmp_path: Path) -> None:
    found = data(tmp_path, *NAMED[case])
    assert (found.task, found.labels) == ("sentences", ["good", "bad"])
    assert len(texts(found)) == N


@pytest.mark.parametrize("case", SEVERAL)
def test_several_labels(case: str, tmp_path: Path) -> None:
    found = data(tmp_path, *SEVERAL[case])
    assert found.task == "labels"
    labels = [label for label in found.labels if label != "none"]
    if "list of 0 and 1" in case:
        assert labels == ["labels_1", "labels_2", "labels_3"]
        order = dict(zip(labels, ("late", "rude", "lost"), strict=True))
    else:
        assert sorted(labels) == ["late", "lost", "rude"]
        order = {label: label for label in labels}
    said = {
        text: {order[n] for n, held in zip(found.labels, of, strict=True) if held and n in order}
        for text, of in rows(found, "sentence", "labels")
    }
    assert said == dict(zip(TEXTS, map(set, SETS), strict=True))


@pytest.mark.parametrize("case", ENTITIES)
def test_entities(case: str, tmp_path: Path) -> None:
    found = data(tmp_path, *ENTITIES[case])
    assert (found.task, found.entities) == ("tagging", True)
    assert found.labels == ["O", "B-LOC", "B-PER", "I-PER"]
    more = [(["#win", "#"], ["O", "O"])] if "hashtags" in case else []
    assert rows(found, "tokens", "tags") == sorted([*TAGGED, *more])


@pytest.mark.parametrize(
    ("respelt", "labels", "background"),
    [
        ({"B_PER": "ERR", "I_PER": "ERR", "B_LOC": "ERR"}, ["O", "ERR"], "O"),
        ({"B_PER": "1", "I_PER": "1", "B_LOC": "0", "O": "0"}, ["0", "1"], "0"),
        ({"B_PER": "PER", "I_PER": "PER", "B_LOC": "LOC"}, ["O", "LOC", "PER"], "O"),
        ({"B_PER": "B", "I_PER": "I", "B_LOC": "B"}, ["O", "B-ENTITY", "I-ENTITY"], "O"),
        ({"B_PER": "NNP", "I_PER": "NNP", "B_LOC": "IN", "O": "VB"}, ["IN", "NNP", "VB"], None),
    ],
)
def test_tags_without_a_prefix(
    respelt: dict[str, str], labels: list[str], background: str | None, tmp_path: Path
) -> None:
    found = data(tmp_path, "a.tsv", column_file(**respelt))
    assert (found.task, found.labels, found.background) == ("tagging", labels, background)


def test_spans_that_overlap_or_divide_a_word_are_counted(tmp_path: Path) -> None:
    marked = [[0, 3, "PER"], [0, 7, "PER"], [12, 16, "LOC"]]
    made = [{"text": f"Ana Lee saw Oslo {i}", "label": marked} for i in range(N)]
    made[0]["label"] = [*marked[:2], [12, 14, "LOC"]]
    found = data(tmp_path, "a.jsonl", lines(made))
    tokens, tags = next(row for row in rows(found, "tokens", "tags") if "Os" in row[0])
    assert tokens[:5] == ["Ana", "Lee", "saw", "Os", "lo"]
    assert tags[:5] == ["B-PER", "I-PER", "O", "B-LOC", "O"]
    assert f"{N} spans that overlap another one are left out." in found.notes
    assert "1 words are divided where a span begins or ends within them." in found.notes


SPLIT = ["train" if i % 4 else ("dev", "test")[i % 8 == 0] for i in range(N)]
MIXED = [str(i % 3 % 2) for i in range(N)]


@pytest.mark.parametrize("header", [True, False])
def test_a_column_of_splits(header: bool, tmp_path: Path) -> None:
    body = [list(row) for row in zip(map(str.upper, SPLIT), TEXTS, MIXED, strict=True)]
    content = table([["set", "text", "label"]] * header + body)
    found = data(tmp_path, "a.csv", content)
    assert {n: len(s) for n, s in found.splits.items()} == {
        "train": SPLIT.count("train"),
        "validation": SPLIT.count("dev"),
        "test": SPLIT.count("test"),
    }
    assert any("says which rows are train" in note for note in found.notes)


def test_splits_in_one_object(tmp_path: Path) -> None:
    for made in (RECORDS, [[text, name] for text, name in NAMED_PAIRS]):
        parts = {"train": made, "val": made[:9], "test": made[9:]}
        found = data(tmp_path, "a.json", json.dumps(parts))
        sizes = {name: len(split) for name, split in found.splits.items()}
        assert sizes == {"train": N, "validation": 9, "test": 31}
    assert found.labels == ["good", "bad"]


def folder(place: Path, **files: str) -> str:
    place.mkdir()
    for name, content in files.items():
        (place / f"{name}.csv").write_text(content, encoding="utf-8")
    return str(place)


def test_a_test_file_without_labels_is_left_out(tmp_path: Path) -> None:
    train = frame(label=MIXED).to_csv(index=False)
    for n, bare in enumerate(({"id": range(N)}, {"label": [-1] * N}, {"label": [None] * N})):
        test = frame(**bare).to_csv(index=False)
        found = read(Options(source=folder(tmp_path / str(n), train=train, test=test)))
        assert any("left out" in note for note in found.notes)
        assert sum(map(len, found.splits.values())) == N


def test_a_class_that_train_lacks_counts_as_an_error(tmp_path: Path) -> None:
    train = frame(label=["abc"[i % 3] for i in range(N)]).to_csv(index=False)
    test = frame(label=["abcd"[i % 4] for i in range(N)]).to_csv(index=False)
    found = read(Options(source=folder(tmp_path / "a", train=train, dev=train, test=test)))
    assert (found.labels, found.unseen) == (["a", "b", "c"], ["d"])
    assert class_counts(found)["test"] == {"a": 10, "b": 10, "c": 10, "d": 10}
    assert any("Train has no row labelled 'd' (10), but test has" in n for n in found.notes)


CHOSEN = [{"text": t, "label": n} for t, n in NAMED_PAIRS]
#: Files that were read as something else, or with another number of rows, before.
EXPORTS: dict[str, tuple[str, str]] = {
    "nested under data": ("a.json", json.dumps({"meta": {"v": 1}, "data": {"items": CHOSEN}})),
    "Prodigy's choices": (
        "a.jsonl",
        lines([{"text": t, "options": [], "accept": [n], "answer": "accept"} for t, n in NAMED_PAIRS]
              + [{"text": "rejected", "options": [], "accept": ["bad"], "answer": "reject"}]),
    ),
    "decimal commas": ("a.csv", "text;label\n" + "".join(f"{t};{int(n == 'bad')},0\n" for t, n in NAMED_PAIRS)),
    "two annotators of Label Studio": ("a.json", json.dumps([{"data": {"text": t}, "annotations": [{"result": [{"value": {"choices": [c]}}]} for c in (n, "good")]} for t, n in NAMED_PAIRS])),
}  # fmt: skip


@pytest.mark.parametrize("case", EXPORTS)
def test_exports_of_other_tools(case: str, tmp_path: Path) -> None:
    found = data(tmp_path, *EXPORTS[case])
    assert found.labels == (["0", "1"] if case == "decimal commas" else ["good", "bad"])
    assert rows(found, "sentence", "label") == sorted(PAIRS)
    if "annotators" in case:
        assert f"{N} texts have several annotations, of which the first is taken." in found.notes


def test_a_label_that_was_rejected_in_prodigy_is_none(tmp_path: Path) -> None:
    made = [{"text": t, "label": "LATE", "answer": "accept" if y else "reject"} for t, y in PAIRS]  # fmt: skip
    found = data(tmp_path, "a.jsonl", lines(made))
    assert found.labels == ["not LATE", "LATE"]
    assert rows(found, "sentence", "label") == sorted(PAIRS)


def test_labels_between_hashes_as_in_doccano(tmp_path: Path) -> None:
    found = data(tmp_path, "a.csv", frame(label=["#".join(of) or "none" for of in SETS]).to_csv())
    assert set(found.labels) == {"late", "rude", "lost", "none"}


def test_datasets_keeps_the_names_of_its_classes(tmp_path: Path) -> None:
    features = Features({"text": Value("string"), "label": ClassLabel(names=["good", "bad"])})
    made = Dataset.from_dict({"text": TEXTS, "label": POSITIVE}, features=features)
    made.to_parquet(tmp_path / "a.parquet")
    made.save_to_disk(tmp_path / "one")
    DatasetDict({"train": made, "test": made}).save_to_disk(tmp_path / "both")
    for name in ("a.parquet", "one", "both"):
        found = read(Options(source=str(tmp_path / name)))
        assert found.labels == ["good", "bad"]
        if name != "both":
            assert rows(found, "sentence", "label") == sorted(PAIRS)
    assert len(found.splits["test"]) == N


def test_a_sheet_of_excel(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    frame(klasse=NAMES).to_excel(tmp_path / "a.xlsx", index=False)
    found = read(Options(source=str(tmp_path / "a.xlsx")))
    assert rows(found, "sentence", "label") == sorted(PAIRS)


#: What is refused with the lines that convert it: the file, and the task of what they make.
CONVERTED: dict[str, tuple[str, str, str]] = {
    "GLiNER": ("a.json", json.dumps([{"tokenized_text": t, "ner": [[0, 1, "PER"], [3, 3, "LOC"]]} for t, _ in TAGGED]), "tagging"),
    "chats": ("a.jsonl", lines([{"messages": [{"role": "user", "content": t}, {"role": "assistant", "content": n}]} for t, n in NAMED_PAIRS]), "sentences"),
    "objects": ("a.jsonl", lines([{"text": t, "annotations": [{"user": 1, "label": n}]} for t, n in NAMED_PAIRS]), "sentences"),
    "a folder of texts for each class": ("", "", "sentences"),
}  # fmt: skip


@pytest.mark.parametrize("case", CONVERTED)
def test_the_lines_of_a_refusal_make_a_file_that_is_read(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, content, task = CONVERTED[case]
    path = tmp_path / "mine" / name
    for number, (text, label) in enumerate(NAMED_PAIRS if not name else []):
        (path / label).mkdir(parents=True, exist_ok=True)
        (path / label / f"{number}_7.txt").write_text(text)
    if name:
        path.parent.mkdir()
        path.write_text(content)
    with pytest.raises(CorpusError, match="In pandas") as found:
        read(Options(source=str(path)))
    code = re.sub("FILE|FOLDER", repr(str(path)), str(found.value).partition("In pandas")[2])
    monkeypatch.chdir(tmp_path)
    exec(code.partition(": ")[2], {"pandas": pd, "pathlib": pathlib})
    (made,) = (place for place in tmp_path.iterdir() if place.is_file())
    read_as = read(Options(source=str(made)))
    assert read_as.task == task
    if task == "tagging":
        assert rows(read_as, "tokens", "tags") == sorted(TAGGED)
    else:
        assert read_as.labels == ["good", "bad"]
        assert rows(read_as, "sentence", "label") == sorted(PAIRS)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "– “déjà vu”"),
        ("cp1250", "őrült későn"),
        ("cp1251", "товар пришёл быстро"),
        ("gb18030", "东西很好送得很快"),
        ("shift_jis", "とてもよい品物です"),
    ],
)
def test_another_encoding_is_shown_and_not_guessed(
    encoding: str, text: str, tmp_path: Path
) -> None:
    body = table([["text", "label"], *([f"{text} {i}", n] for i, n in enumerate(NAMES))])
    with pytest.raises(
        CorpusError, match=r"a\.csv:2: expected utf-8 text.* its word reads"
    ) as found:
        data(tmp_path, "a.csv", body.encode(encoding))
    assert "say with --encoding which it is, or save it as UTF-8" in str(found.value)
    assert encoding not in ("cp1252", "gb18030") or text.split()[0].strip("“”") in str(found.value)
    assert len(texts(data(tmp_path, "a.csv", body.encode(encoding), encoding=encoding))) == N


REFUSED: dict[str, tuple[str, str | bytes, dict[str, Any], str]] = {
    "a header twice": ("a.csv", "text,label,label\n" + "a b,1,1\n" * 30, {}, "got two of that name; rename one"),
    "a hole in a column of 0 and 1": (
        "a.csv",
        frame(late=[None, *HOT_COLUMN[1:]] if (HOT_COLUMN := [of[0] for of in HOT]) else [], rude=[of[1] for of in HOT]).to_csv(index=False),
        {},
        "a.csv:2: expected a label in column 'late', got none (--skip-bad leaves bad rows out)",
    ),
    "N/A among numbers": (
        "a.csv",
        table([["text", "label"], *([t, "N/A" if i == 3 else y] for i, (t, y) in enumerate(PAIRS))]),
        {},
        "a.csv:5: expected a number in column 'label' as in other rows, got 'N/A'",
    ),
    "half of a surrogate pair": ("a.jsonl", '{"text": "a \\ud83d", "label": 0}\n' + lines(RECORDS), {}, "a.jsonl:1: expected text in column 'text', got a lone surrogate"),
    "a token that is a space": ("a.conll", column_file() + "\n \tO\n", {}, "expected a token, got none"),
    "a span beyond its text": (
        "a.jsonl",
        lines([*({"text": "Ana Lee", "label": [[0, 3, "PER"]]} for _ in range(N)), {"text": "Ana", "label": [[0, 9, "PER"]]}]),
        {},
        "a.jsonl:41: expected spans of start, end and label within the text, got [0, 9, 'PER']",
    ),
    "tokens in rows without sentences": (
        "a.csv",
        table([["word", "tag"], *([t, g] for row in TAGGED for t, g in zip(*row, strict=True))]).replace("word,tag", "word,x,tag").replace(",B", ",q,B").replace(",I", ",q,I").replace(",O", ",q,O"),
        {},
        "expected a column with the sentence's number",
    ),
    "one sentence": ("a.tsv", column_file().replace("\n\n", "\n"), {}, "expected at least 20 sentences to draw"),
    "three of a class": ("a.csv", frame(label=[int(i < 3) for i in range(N)]).to_csv(index=False), {}, "expected at least 4 rows labelled '1', so that train, validation and test have some, got 3"),
    "one text again and again": ("a.csv", "text,label\n" + "a b c,1\na b c,0\n" * 30, {}, "got 1 in 60 rows"),
    "one column": ("a.txt", "".join(f"DESC:manner {t}\n" for t in TEXTS).replace(",", ""), {}, "put a tab between them, or say with --delimiter"),
    "annotations of a form of their own": ("a.jsonl", lines([{"body": {"text": t}, "annotations": {"topic": "a"}} for t in TEXTS]), {}, "expected to tell which column is the"),
    "XML": ("a.xml", "<?xml version='1.0'?><text>good</text>", {}, "expected a table, got XML; write its rows as CSV"),
    "scores with fractions": (
        "a.tsv",
        "genre\tsentence1\tsentence2\tscore\n" + "".join(f"{'xy'[i % 2]}\t{t}\t{t} too\t{i / 7:.3f}\n" for i, t in enumerate(TEXTS)),
        {},
        "expected classes, got numbers with fractions in column 'score'",
    ),
    "no label for lack of agreement": (
        "a.jsonl",
        lines([{"gold_label": "-" if i == 4 else ["yes", "no"][i % 2], "sentence1": t, "sentence2": t} for i, t in enumerate(TEXTS)]),
        {},
        "a.jsonl:5: expected a label in column 'gold_label' as in other rows, got '-' (--skip-bad leaves bad rows out)",
    ),
    "brackets of CoNLL-2012": (
        "a.conll",
        "".join(f"bc/cctv {n} Ana NNP (PERSON*\nbc/cctv {n} Lee{n} NNP *)\nbc/cctv {n} ran VBD *\n\n" for n in range(N)),
        {},
        "a.conll: expected tags such as B-PERSON, I-PERSON and O, got the brackets",
    ),
    "entities without their places": (
        "a.jsonl",
        lines([{"text": t, "entities": [{"entity": "parcel", "type": "THING"}]} for t in TEXTS]),
        {},
        "Column 'entities' holds [{'entity': 'parcel', 'type': 'THING'}]: neither a label nor a span with a start",
    ),
    "indented objects one after another": (
        "a.json",
        "\n".join(json.dumps(row, indent=1) for row in RECORDS),
        {},
        "a.json:1: expected a JSON object, got {; write each object in one line, or all of them in one list",
    ),
    "no tags at all": ("a.csv", frame(label=POSITIVE).to_csv(index=False), {"task": "tagging"}, "expected a token a line"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    name, content, options, words = REFUSED[case]
    with pytest.raises((CorpusError, FitError)) as found:
        data(tmp_path, name, content, **options)
    assert words in str(found.value)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 600


@pytest.mark.parametrize("case", ["a.conll", "a.jsonl", "a.tsv", "a.csv"])
def test_bad_rows_of_any_form_are_left_out_and_counted(case: str, tmp_path: Path) -> None:
    content: str | bytes = {
        "a.conll": column_file() + "\noops\n\nAna\tB-PER\nsaw\tO\n",
        "a.jsonl": lines([{"tokens": ["a"], "tags": ["O", "O"]}, *({"tokens": t, "tags": g} for t, g in TAGGED)]),
        "a.tsv": table(HEADED, "\t").encode() + b"\xfcber uns\t1\n",
        "a.csv": frame(label=POSITIVE).to_csv(index=False) + '"open,1\n',
    }[case]  # fmt: skip
    with pytest.raises(CorpusError, match="--skip-bad"):
        data(tmp_path, case, content)
    found = data(tmp_path, case, content, skip_bad=True)
    assert sum(map(len, found.splits.values())) == N + (case == "a.conll")
    assert any(note.startswith("1 bad rows of train were left out.") for note in found.notes)


def test_what_was_asked_for_is_done(tmp_path: Path) -> None:
    content = "title\tquestion\n" + "".join(f"{t}\t{n}\n" for t, n in NAMED_PAIRS)
    path = tmp_path / "a.tsv"
    path.write_text(content, encoding="utf-8")
    assert len(read_table(path).rows) == N
    assert len(read_table(path, Asked(header=False)).rows) == N + 1
    path.write_text(content.replace("\t", "~"), encoding="utf-8")
    assert read_table(path, Asked(delimiter="~")).names == ["title", "question"]
    path.write_bytes("text\tlabel\nŻółw\t1\n".encode("cp1250"))
    assert read_table(path, Asked(encoding="cp1250")).rows[0][1] == ["Żółw", "1"]


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=12)
CELLS = st.tuples(WORDS.map(lambda text: f"a {text} b"), st.sampled_from(["ja", "nein", "x, y"]))
Write = Callable[[list[tuple[str, str]], Path], Path]


def by_csv(sign: str, header: bool, **how: Any) -> Write:
    def write(made: list[tuple[str, str]], place: Path) -> Path:
        body = table([list(row) for row in [("text", "label")] * header + made], sign, **how)
        path = place / ("a.tsv" if sign == "\t" else "a.csv")
        path.write_text(body, encoding="utf-8", newline="")
        return path

    return write


def by_pandas(name: str, **how: Any) -> Write:
    def write(made: list[tuple[str, str]], place: Path) -> Path:
        rows = pd.DataFrame(made, columns=["text", "label"])
        (rows.to_json if name.endswith("json") else rows.to_csv)(place / name, **how)
        return place / name

    return write


WRITERS: dict[str, Write] = {
    "commas": by_csv(",", True),
    "all quoted": by_csv(",", True, quoting=csv.QUOTE_ALL),
    "tabs": by_csv("\t", True),
    "commas, no header": by_csv(",", False),
    "pandas": by_pandas("a.csv"),
    "pandas, tabs": by_pandas("a.tsv", index=False, sep="\t"),
    "lines": by_pandas("a.json", orient="records", lines=True, force_ascii=False),
}


@pytest.mark.parametrize("how", WRITERS)
@given(made=st.lists(CELLS, min_size=3, max_size=8))
@written(15)
def test_rows_and_labels_come_back_unchanged(
    how: str, made: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = WRITERS[how](made, tmp_path)
    names = ("1", "2") if "no header" in how else ("text", "label")
    header = False if "no header" in how else None
    asked = Asked(text=names[0], label=names[1], task="sentences", header=header)
    found = table_of(path, asked)
    columns = choose(found, asked)
    label, _ = label_reader(found, columns.labels, asked)
    places = [found.names.index(name) for name in names]
    assert found.bad == []
    assert [
        (row[places[0]], label(found, line, [row[places[1]]])) for line, row in found.rows
    ] == made


@given(
    name=st.sampled_from(sorted({name for name, *_ in (*CLASSES.values(), *ENTITIES.values())})),
    case=st.sampled_from(
        [*CLASSES.values(), *NAMED.values(), *SEVERAL.values(), *ENTITIES.values()]
    ),
    edits=st.lists(
        st.tuples(st.integers(0, 3000), st.integers(0, 40), st.binary(max_size=3)), max_size=3
    ),
)
@example(name="a.csv", case=ENTITIES["Prodigy"], edits=[(460, 0, b"\x80")])
@written(100)
def test_a_damaged_file_of_any_name_ends_in_data_or_in_one_sentence(
    name: str, case: tuple[Any, ...], edits: list[tuple[int, int, bytes]], tmp_path: Path
) -> None:
    content = bytearray(case[1] if isinstance(case[1], bytes) else case[1].encode())
    for place, length, new in edits:
        content[place : place + length] = new
    try:
        said = f"{sum(map(len, data(tmp_path, name, bytes(content)).splits.values()))} rows"
    except (CorpusError, FitError) as error:
        said = str(error)
    assert "\n" not in said
    assert said[0] != "0"
    assert len(said) < 900


@pytest.mark.parametrize("case", {**CLASSES, **NAMED, **SEVERAL, **ENTITIES})
def test_predict_has_a_row_for_each_row_that_fit_read(case: str, tmp_path: Path) -> None:
    name, content = {**CLASSES, **NAMED, **SEVERAL, **ENTITIES}[case][:2]
    read_as = data(tmp_path, name, content, skip_bad=True)
    asked = Asked(skip_bad=True)
    rows = [row for split in read_as.splits.values() for row in split]
    if read_as.task == "tagging":
        found, _ = read_words(tmp_path / name, asked, read_as.columns.get("text"))
        words = [Sentence.of(row).words if isinstance(row, str) else row for row in found]
        assert sorted(words) == sorted(row["tokens"] for row in rows)
    else:
        found, _ = read_texts(tmp_path / name, asked, [read_as.columns["text"]])
        texts = [text for (text,) in found]
        assert sorted(texts) == sorted(row["sentence"] for row in rows)
