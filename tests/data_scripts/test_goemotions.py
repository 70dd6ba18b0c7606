"""The script of GoEmotions."""

from __future__ import annotations

from collections import Counter

import pytest

from data_scripts import corpus, goemotions
from dicelab.corpora import CorpusError, load


@pytest.fixture
def raw(tmp_path):
    (tmp_path / "labels.txt").write_text("joy\nfear\nneutral")
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.tsv").write_text("So glad, but oh! \t0,1\tabc\nFine.\t2\tdef\n")
    return tmp_path


def test_numbers_become_names(raw):
    splits = goemotions.RECIPE.convert(raw, 0, Counter())
    assert splits["validation"].to_list() == [
        {"sentence": "So glad, but oh!", "labels": ["joy", "fear"]},
        {"sentence": "Fine.", "labels": ["neutral"]},
    ]


@pytest.mark.parametrize("line", ["Fine.\t3\tdef", "Fine.\t2", "Fine.\t\tdef", "Fine.\tx\tdef"])
def test_a_wrong_line_is_told(raw, line):
    (raw / "dev.tsv").write_text(f"Good.\t0\tabc\n{line}\n")
    with pytest.raises(CorpusError, match=r"dev\.tsv:2: expected comment, labels from 0 to 2"):
        goemotions.RECIPE.convert(raw, 0, Counter())


@pytest.mark.slow
def test_the_real_files_have_the_published_counts(real_corpus, tmp_path, capsys):
    mirror = str(real_corpus("goemotions").parent)
    argv = ["--out", str(tmp_path), "--mirror", mirror, "--quiet"]
    assert corpus.main(goemotions.RECIPE, argv) == 0
    assert "differs" not in capsys.readouterr().out
    loaded = load("goemotions", task="labels", root=tmp_path)
    # The oracle: the second column, counted as text.
    names = (real_corpus("goemotions") / "labels.txt").read_text().split()
    lines = (real_corpus("goemotions") / "train.tsv").read_text(encoding="utf-8").split("\n")
    numbers = Counter(n for line in lines if line for n in line.split("\t")[1].split(","))
    counted = Counter(label for row in loaded["train"]["labels"] for label in row)
    assert counted == {names[int(n)]: count for n, count in numbers.items()}
    assert (counted["neutral"], counted["grief"]) == (14219, 77)
