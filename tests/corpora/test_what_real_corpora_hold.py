"""What real corpora hold: odd spaces within words, CRLF, byte order marks, offsets off.

Each property writes a file of one format with such things in it and reads it back whole.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutated_files import written

from dicelab.corpora import CorpusError, load, read_conll, read_pairs

#: Spaces and separators that are part of a word in some corpus: no-break, thin and ideographic
#: space, line and paragraph separator, next line, form feed; a joiner; a soft hyphen.
ODD = "\u00a0\u2009\u3000\u2028\u2029\u0085\x0c\u200d\u00ad"
words = st.text(st.sampled_from(ODD + "aB1#/'\"–科é"), min_size=1, max_size=6)
sentences = st.lists(st.lists(words, min_size=1, max_size=5), min_size=1, max_size=5)
ends = st.sampled_from(["\n", "\r\n"])
marks = st.sampled_from(["", "\ufeff"])


def save(path: Path, text: str, end: str, mark: str) -> Path:
    path.write_bytes((mark + text.replace("\n", end)).encode())
    return path


@given(rows=st.lists(words.filter(str.strip), min_size=1, max_size=5), end=ends, mark=marks)
@written(60)
def test_tables(tmp_path, rows, end, mark):
    text = "".join(f"{word}\t{word}\t{i % 2}\n" for i, word in enumerate(rows))
    path = save(tmp_path / "a.tsv", "sentence1\tsentence2\tlabel\n" + text, end, mark)
    data = read_pairs(path)
    assert data["sentence1"] == rows


def test_sorted_labels_leave_every_drawn_split_with_both(tmp_path):
    rows = [f"good {i}\t1" for i in range(300)] + [f"bad {i}\t0" for i in range(300)]
    (tmp_path / "mine.tsv").write_text("\n".join(rows))
    for split in load(tmp_path / "mine.tsv", task="sentences").values():
        assert 0.3 < sum(split["label"]) / len(split) < 0.7


@pytest.mark.parametrize(
    "names",
    [
        ("eng.train", "eng.testa", "eng.testb"),
        ("train.char.bmes", "dev.char.bmes", "test.char.bmes"),
        ("weiboNER.conll.train", "weiboNER.conll.dev", "weiboNER.conll.test"),
        ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"),
    ],
)
def test_the_names_that_people_have(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text(f"{name} O\nX B-X\n")
    (tmp_path / "README").write_text("notes")
    (tmp_path / "card.json").write_text("{}")
    found = load(tmp_path, task="tagging")
    assert [split["tokens"][0][0] for split in found.values()] == list(names)


def test_a_file_that_cannot_be_placed_is_told(tmp_path, capsys):
    (tmp_path / "train.conll").write_text("".join(f"a{i} O\nb B-X\n\n" for i in range(30)))
    for name in ("more.conll", "train_dev.txt"):
        (tmp_path / name).write_text("a O\n")
    assert sum(map(len, load(tmp_path, task="tagging").values())) == 30
    assert (
        "Left out, for the names say neither train, dev nor test: more" in capsys.readouterr().out
    )


def test_the_place_in_the_word_is_cut_off_as_in_weibo(tmp_path):
    (tmp_path / "a.conll").write_text("科0\tB-X\n技1\tI-X\n\n我0\tO\n", encoding="utf-8")
    repairs: Counter[str] = Counter()
    assert list(read_conll(tmp_path / "a.conll", repairs=repairs)["tokens"]) == [
        ["科", "技"],
        ["我"],
    ]
    assert repairs["places in the word cut off characters"] == 3


def test_label_first_and_an_id_last_as_in_wang_et_al(tmp_path):
    (tmp_path / "a.tsv").write_text('1\tIs "it?\tIt is?\t77\n0\tWho?\tWhy?\t78\n')
    assert read_pairs(tmp_path / "a.tsv")[0] == {
        "sentence1": 'Is "it?',
        "sentence2": "It is?",
        "label": 1,
    }
    (tmp_path / "test.tsv").write_text("id\tquestion1\tquestion2\n0\tWho?\tWhy?\n")
    with pytest.raises(CorpusError, match="GLUE's test sets have no labels: take its dev set"):
        read_pairs(tmp_path / "test.tsv")
