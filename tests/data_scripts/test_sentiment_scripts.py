"""The scripts of SST-2 and SST-5, which read the same trees."""

from __future__ import annotations

from collections import Counter

import pytest

from data_scripts import corpus, sst2, sst5
from dicelab.corpora import CorpusError, load
from dicelab.corpora.trees import NEUTRAL

TREES = "(4 (3 Very) (3 good))\n(2 (2 A) (2 film))\n(1 (2 Too) (1 long))\n"


@pytest.fixture
def raw(tmp_path):
    for number, name in enumerate(("train", "dev", "test")):
        (tmp_path / f"trees_{name}.txt").write_text(TREES + "(0 (0 Bad) (2 .))\n" * number)
    return tmp_path


def test_sst5(raw):
    splits = sst5.RECIPE.convert(raw, 0, Counter())
    assert splits["train"]["label"] == [4, 2, 1]
    assert splits["validation"]["label"] == [4, 2, 1, 0]
    assert splits["test"]["sentence"][-1] == "Bad ."
    assert len(splits["test"]) == 5


def test_sst2_leaves_out_and_counts_neutral_sentences(raw):
    repairs: Counter[str] = Counter()
    splits = sst2.RECIPE.convert(raw, 0, repairs)
    assert splits["train"]["label"] == [1, 0]
    assert splits["test"]["label"] == [1, 0, 0, 0]
    assert repairs == {NEUTRAL: 3}


def test_the_archive_of_the_treebank_is_read_as_it_unpacks(raw):
    (raw / "trees").mkdir()
    for name in ("train", "dev", "test"):
        (raw / f"trees_{name}.txt").rename(raw / "trees" / f"{name}.txt")
    assert sst5.RECIPE.convert(raw, 0, Counter())["validation"]["label"] == [4, 2, 1, 0]
    (raw / "trees" / "dev.txt").unlink()
    with pytest.raises(CorpusError, match=r"expected trees_dev\.txt or dev\.txt in"):
        sst5.RECIPE.convert(raw, 0, Counter())


@pytest.mark.parametrize("script", [sst2, sst5])
def test_the_trees_at_hand_have_the_published_counts(real_corpus, script, tmp_path, capsys):
    """Three trees of train hold a no-break space within a word."""
    argv = ["--out", str(tmp_path), "--mirror", str(real_corpus("sst").parent), "--quiet"]
    assert corpus.main(script.RECIPE, argv) == 0
    assert "differs" not in capsys.readouterr().out
    loaded = load(script.RECIPE.name, task="sentences", root=tmp_path)
    assert {split: len(rows) for split, rows in loaded.items()} == {
        split: counts["sentences"] for split, counts in script.RECIPE.published.items()
    }
    # The oracle: the first digit of each line of the trees.
    if script is sst5:
        lines = (real_corpus("sst") / "trees_train.txt").read_text(encoding="utf-8").split("\n")
        assert loaded["train"]["label"] == [int(line[1]) for line in lines if line]
        assert sum("\u00a0" in sentence for sentence in loaded["train"]["sentence"]) == 3
