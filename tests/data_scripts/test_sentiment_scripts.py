"""The scripts of SST-2 and SST-5, which read the same trees."""

from __future__ import annotations

from collections import Counter

import pytest

from data_scripts import corpus, sst2, sst5
from data_scripts.fetch import fetch
from dicebook.corpora.trees import NEUTRAL

TREES = "(4 (3 Very) (3 good))\n(2 (2 A) (2 film))\n(1 (2 Too) (1 long))\n"


@pytest.fixture
def raw(tmp_path):
    for number, name in enumerate(("train", "dev", "test")):
        (tmp_path / f"trees_{name}.txt").write_text(TREES + "(0 (0 Bad) (2 .))\n" * number)
    return tmp_path


def test_sst5(raw):
    splits = sst5.convert(raw, 0, Counter())
    assert splits["train"]["label"] == [4, 2, 1]
    assert splits["validation"]["label"] == [4, 2, 1, 0]
    assert splits["test"]["sentence"][-1] == "Bad ."
    assert len(splits["test"]) == 5


def test_sst2_leaves_out_and_counts_neutral_sentences(raw):
    repairs: Counter[str] = Counter()
    splits = sst2.convert(raw, 0, repairs)
    assert splits["train"]["label"] == [1, 0]
    assert splits["test"]["label"] == [1, 0, 0, 0]
    assert repairs == {NEUTRAL: 3}


def test_the_dev_trees_at_hand_are_the_declared_ones(real_corpus, tmp_path):
    """Their hash is checked on the way; the counts are the published ones."""
    mirror = str(real_corpus("sst").parent)
    fetch(sst5.FILES[1], tmp_path, mirror=mirror, folders=("sst5", "sst"), progress=False)
    for script, expected in ((sst5, 1101), (sst2, 872)):
        (tmp_path / "trees_train.txt").write_text(TREES)
        (tmp_path / "trees_test.txt").write_text(TREES)
        dev = script.convert(tmp_path, 0, Counter())["validation"]
        assert len(dev) == expected == script.RECIPE.published["validation"]["sentences"]


def test_without_all_files_nothing_is_written(real_corpus, tmp_path, capsys):
    argv = ["--out", str(tmp_path), "--mirror", str(real_corpus("sst").parent), "--quiet"]
    if (real_corpus("sst") / "trees_train.txt").exists():
        pytest.skip("all trees are at hand")
    assert corpus.main(sst2.RECIPE, argv) == 1
    assert "trees_train.txt: not found" in capsys.readouterr().err
    assert not list(tmp_path.glob("sst2/*.jsonl"))
