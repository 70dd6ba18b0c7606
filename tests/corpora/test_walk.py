"""The walk from a file to the rows of a task: container, form, columns."""

from __future__ import annotations

import csv
import json
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutated_files import written

from dicelab.corpora.cells import Asked
from dicelab.corpora.drawing import draw
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.files import Contents, read_source, read_texts, read_words

N = 60
TEXTS = [f"the parcel number {i} came late, well" for i in range(N)]
CLASSES = [("good", "bad")[i % 3 == 0] for i in range(N)]
WORDS = [["Ana", "Lee", "saw", "Oslo", f"w{i}"] for i in range(N)]
TAGS = [["B-PER", "I-PER", "O", "B-LOC", "O"]] * N
SPANS = [[[0, 7, "PER"], [12, 16, "LOC"]]] * N
TABLES: dict[str, dict[str, list[Any]]] = {
    "usual names": {"text": TEXTS, "label": CLASSES},
    "own names": {"kommentar": TEXTS, "klasse": CLASSES},
    "several": {"text": TEXTS, "topics": [["late", "rude"][: 1 + i % 2] for i in range(N)]},
    "lists": {"words": WORDS, "ner_tags": TAGS},
    "spans": {"text": list(map(" ".join, WORDS)), "spans": SPANS},
}
USUAL = (
    *("meta", "metadata", "annotations", "entities", "extra", "spans", "labels", "tags", "label"),
    *("tokens", "data", "answers", "answer", "accept", "options", "cats", "intent", "class", "id"),
    *("relations", "comments", "result", "completions", "predictions", "paragraphs", "qas"),
    *("ner", "category", "info", "attributes", "split", "context", "messages", "status"),
)
ADDED = (
    {},
    [],
    None,
    {"user": 1},
    [{"user": 1}],
    [{"id": 1, "score": 0.5}],
    "{}",
    {"a": {}},
    {"b": 1, "c": 0},
)


def lines(columns: dict[str, list[Any]], path: Path) -> Path:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def outcome(path: Path, asked: Asked) -> tuple[Any, ...]:
    found = read_source(path, asked)
    return found.task, found.columns, found.rows


@given(
    case=st.sampled_from(sorted(TABLES)),
    name=st.sampled_from(USUAL),
    cell=st.sampled_from(ADDED),
    kind=st.sampled_from(["jsonl", "csv"]),
    front=st.booleans(),
    said=st.booleans(),
)
@written(100)
def test_a_column_that_proves_nothing_changes_nothing(
    case: str, name: str, cell: Any, kind: str, front: bool, said: bool, tmp_path: Path
) -> None:
    table = TABLES[case]
    if name in table:
        return
    added = {name: [cell] * N}
    both = {**added, **table} if front else {**table, **added}
    paths = []
    for number, columns in enumerate((table, both)):
        path = tmp_path / f"{number}.{kind}"
        if kind == "csv":
            pd.DataFrame(columns).to_csv(path, index=False)
        else:
            lines(columns, path)
        paths.append(path)
    text, label = list(table)
    asked = Asked(text=text, label=label) if said else Asked()
    assert outcome(paths[1], asked) == outcome(paths[0], asked)


@pytest.mark.parametrize("name", ["entities", "annotations", "spans", "paragraphs"])
def test_what_was_asked_for_goes_before_what_is_proved(name: str, tmp_path: Path) -> None:
    proofs: dict[str, Any] = {"paragraphs": [{"qas": [{"question": "Who?"}]}]}
    columns = {"text": list(map(" ".join, WORDS)), "intent": CLASSES}
    columns[name] = [proofs.get(name, SPANS[0])] * N
    path = lines(columns, tmp_path / "a.jsonl")
    found = read_source(path, Asked(text="text", label="intent"))
    assert (found.task, found.columns["label"]) == ("sentences", "intent")
    if name != "paragraphs":
        assert read_source(path, Asked()).task == "tagging"


def shifted(text: str, start: int, end: int, way: str) -> list[int]:
    if way == "UTF-16":
        return [len(text[:place].encode("utf-16-le")) // 2 for place in (start, end)]
    first, last = {"inclusive": (0, -1), "from 1": (1, 1)}[way]
    return [start + first, end + last]


@pytest.mark.parametrize("way", ["UTF-16", "inclusive", "from 1"])
def test_places_that_count_otherwise_are_read_right_and_said(way: str, tmp_path: Path) -> None:
    texts = [f"\U0001f600\U0001f389 {' '.join(words)}" for words in WORDS]
    spans = [
        [[*shifted(text, 3, 10, way), "PER"], [*shifted(text, 15, 19, way), "LOC"]]
        for text in texts
    ]
    path = lines({"text": texts, "label": spans}, tmp_path / "a.jsonl")
    found = read_source(path, Asked())
    assert [row["tokens"][2:] for row in found.rows["train"]] == WORDS
    assert [row["tags"] for row in found.rows["train"]] == [["O", "O", *row] for row in TAGS]
    assert any("began or ended within a word; they are read as" in note for note in found.notes)


def test_places_that_fit_nothing_are_refused_with_an_example(tmp_path: Path) -> None:
    spans = [[[1, 5, "PER"], [13, 15, "LOC"]]] * N
    path = lines({"text": TABLES["spans"]["text"], "label": spans}, tmp_path / "a.jsonl")
    with pytest.raises(
        CorpusError, match="expected spans that begin and end with words, got 'na L'"
    ):
        read_source(path, Asked())


def test_a_span_with_two_labels_is_no_span_with_the_first(tmp_path: Path) -> None:
    spans = [*SPANS[1:], [[0, 7, "PER"], [0, 7, "NAME"]]]
    path = lines({"text": TABLES["spans"]["text"], "label": spans}, tmp_path / "a.jsonl")
    with pytest.raises(
        CorpusError, match=":60: expected one label for each span, got NAME and PER"
    ):
        read_source(path, Asked())
    assert len(read_source(path, Asked(skip_bad=True)).rows["train"]) == N - 1


def test_webannos_places_are_no_words(tmp_path: Path) -> None:
    body = ""
    for number, row in enumerate(WORDS, 1):
        body += f"#Text={' '.join(row)}\n"
        for place, (word, tag) in enumerate(zip(row, TAGS[0], strict=True), 1):
            body += f"{number}-{place}\t0-1\t{word}\t{tag}\t\n"
        body += "\n"
    path = tmp_path / "a.tsv"
    path.write_text(body)
    found = read_source(path, Asked(text="3"))
    assert [row["tokens"] for row in found.rows["train"]] == WORDS
    path.write_text("#FORMAT=WebAnno TSV 3.3\n#T_SP=custom.Ents|value\n\n\n" + body)
    for read in (read_source, lambda path, asked: read_words(path, asked, None)):
        with pytest.raises(CorpusError, match=r"got WebAnno's TSV; export it as CoNLL 2002"):
            read(path, Asked())


@pytest.mark.parametrize(
    ("one", "other"),
    [("late", "late\u200b"), ("r\u00e9clamation", "re\u0301clamation"), ("ok", "\ufeffOK")],
)
def test_labels_that_look_alike_are_one(one: str, other: str, tmp_path: Path) -> None:
    labels = [(one, other, "fine")[i % 3] for i in range(N)]
    for columns in (
        {"text": TEXTS, "label": labels},
        {"text": TEXTS, "labels": [[n, "x"] for n in labels]},
    ):
        found = read_source(lines(columns, tmp_path / "a.jsonl"), Asked())
        held = {str(row["label"]) for row in found.rows["train"]}
        assert len(held) == 2
        assert any("all are read as" in note for note in found.notes)


@given(rare=st.integers(0, 200), several=st.booleans(), seed=st.integers(0, 5))
@written(60)
def test_draws_keep_their_sizes_whatever_the_strata(rare: int, several: bool, seed: int) -> None:
    labels = [f"own{i // (1 if several else 2)}" if i < rare else "usual" for i in range(400)]
    rows = [{"sentence": f"text {i}", "label": [n] if several else n} for i, n in enumerate(labels)]
    notes: list[str] = []
    splits = draw({"train": rows}, seed, notes)
    for name in ("validation", "test"):
        assert abs(len(splits[name]) - 60) <= 2
    if rare > 100:
        assert sum(row["label"] not in ("usual", ["usual"]) for row in splits["test"]) > 0.05 * rare
    assert f"{len(splits['test']) / 400:.0%}" in notes[0]


@given(
    cells=st.lists(
        st.text(st.sampled_from('ab ,;"\n'), min_size=1, max_size=12).filter(str.strip),
        min_size=4,
        max_size=12,
    )
)
@written(80)
def test_predict_counts_records_and_no_lines(cells: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [["body", "label"], *([f"Dear team\n\n{cell}\n\nregards", "good"] for cell in cells)]
        )
    rows, _ = read_texts(path, Asked(), ["body"])
    assert rows == [[f"Dear team\n\n{cell}\n\nregards"] for cell in cells]


def test_predict_says_the_bad_row_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    body = "".join(f"{i},it came late,2024-05-0{i}\n" for i in range(1, 9))
    path.write_text("id,note,when\n" + body + "9,late, again,2024-05-09\n")
    with pytest.raises(CorpusError, match=r"a\.csv:10: expected 3 columns, as in line 1, got 4"):
        read_texts(path, Asked(), ["text"])
    rows, said = read_texts(path, Asked(skip_bad=True), ["text"])
    assert rows == [["it came late"]] * 8
    assert any(line.startswith("1 bad rows were left out.") for line in said)


def test_predict_reads_the_folders_that_fit_reads(tmp_path: Path) -> None:
    frame = pd.DataFrame(TABLES["usual names"])
    frame[:40].to_csv(tmp_path / "train.csv", index=False)
    frame[40:].to_csv(tmp_path / "test.csv", index=False)
    rows, said = read_texts(tmp_path, Asked(), ["text"])
    assert sorted(rows) == sorted([text] for text in TEXTS)
    assert len(said) == 2


@pytest.mark.parametrize("inner", ["", "data"])
def test_shards_are_one_split(inner: str, tmp_path: Path) -> None:
    folder = tmp_path / "clone" / inner
    folder.mkdir(parents=True)
    frame = pd.DataFrame(TABLES["usual names"])
    for number in range(2):
        name = f"train-{number:05}-of-00002.parquet"
        frame[30 * number : 30 * number + 30].to_parquet(folder / name)
    found = read_source(tmp_path / "clone", Asked())
    assert [row["sentence"] for row in found.rows["train"]] == TEXTS
    (folder / "train-00001-of-00002.parquet").unlink()
    with pytest.raises(CorpusError, match="expected 2 files as train-00000-of-00002"):
        read_source(tmp_path / "clone", Asked())


def test_sheets_are_splits_and_none_is_lost_in_silence(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame(TABLES["usual names"])
    with pd.ExcelWriter(tmp_path / "a.xlsx") as writer:
        pd.DataFrame({"Read me": ["labels by Ana"]}).to_excel(writer, sheet_name="About")
        frame[:40].to_excel(writer, sheet_name="train", index=False)
        frame[40:].to_excel(writer, sheet_name="test", index=False)
    found = read_source(tmp_path / "a.xlsx", Asked())
    assert {name: len(rows) for name, rows in found.rows.items()} == {"train": 40, "test": 20}
    assert any("left out: 'About' (1 rows)" in note for note in found.notes)


def test_binary_files_are_called_by_their_names(tmp_path: Path) -> None:
    packed = tmp_path / "a.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("train.csv", "text,label\n")
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(TEXTS))
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 4)
    for name, words in (("zip", "a zip with train.csv"), ("pkl", "a pickle"), ("bin", "another")):
        with pytest.raises(CorpusError, match=words) as found:
            read_source(tmp_path / f"a.{name}", Asked())
        assert "\n" not in str(found.value)
    pd.DataFrame(TABLES["usual names"]).to_feather(tmp_path / "a.feather")
    assert len(read_source(tmp_path / "a.feather", Asked()).rows["train"]) == N


def of_table(folder: Path, head: list[list[str]], labels: list[str]) -> Contents:
    with (folder / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([*head, *zip(TEXTS, labels, strict=True)])
    return read_source(folder / "a.csv", Asked())


def test_odd_headers_and_labels_of_a_table(tmp_path: Path) -> None:
    ids = [["Q1", "Q2"], ["What came?", "Which kind?"], ['{"ImportId":"1"}', '{"ImportId":"2"}']]
    survey = of_table(tmp_path, ids, CLASSES)
    assert {row["label"] for row in survey.rows["train"]} == {"good", "bad"}
    hot = of_table(tmp_path, [["text", "label"]], [f"{i % 2}{i % 3 % 2}1" for i in range(N)])
    assert hot.task == "labels"
    assert hot.rows["train"][1]["label"] == ["label_1", "label_2", "label_3"]
    nan = of_table(tmp_path, [["text", "label"]], [("Nan", "Roti")[i % 2] for i in range(N)])
    assert {row["label"] for row in nan.rows["train"]} == {"Nan", "Roti"}
    stars = of_table(tmp_path, [["text", "stars"]], [str(i % 5) for i in range(N)])
    assert any("look like steps of a scale" in note for note in stars.notes)
    again = of_table(tmp_path, [["text", "label"]], CLASSES).rows["train"]
    with (tmp_path / "a.csv").open("a") as file:
        file.write("text,label\nanother one,good\n")
    found = read_source(tmp_path / "a.csv", Asked())
    assert len(found.rows["train"]) == len(again) + 1
    assert any("The header stands again in 1 lines, such as 62" in note for note in found.notes)


EXAMPLES = re.findall(
    r"\n\*\*([^*]+)\*\* \(([^)]*)\)|```(json|text)\n(.*?)```",
    (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


def test_the_page_of_forms_holds_what_it_says(tmp_path: Path) -> None:
    expected = ""
    seen = 0
    for _, tasks, kind, block in EXAMPLES:
        if not kind:
            expected = tasks
            continue
        rows = block.strip().split("\n")
        alone = "spans" in block or '"ner"' in block or "label" in rows[0]
        for made in [[row] for row in rows] if "start" in block and alone else [rows]:
            path = tmp_path / f"a.{'jsonl' if kind == 'json' else 'txt'}"
            path.write_text("\n".join(made * 30) + "\n")
            if block.startswith("["):
                path = tmp_path / "a.json"
                path.write_text(json.dumps(30 * json.loads(block)))
            found = read_source(path, Asked())
            assert found.task in expected or "by its" in expected
            wanted = {"tagging": "tags", "labels": "label"}.get(found.task, "label")
            assert len({str(row[wanted]) for row in found.rows["train"]}) >= 1
            seen += 1
    assert seen == 8
