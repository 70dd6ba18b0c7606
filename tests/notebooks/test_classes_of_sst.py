"""How far from balanced the classes of section 13.4 are, from the treebank itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from dicelab.corpora.trees import read_trees


def test_the_largest_class_of_sst5_has_twice_the_sentences_of_the_smallest(
    real_corpus: Callable[[str], Path],
) -> None:
    file = real_corpus("sst") / "trees_train.txt"
    five = Counter(row["label"] for row in read_trees(file)).values()
    two = Counter(row["label"] for row in read_trees(file, classes=2)).values()
    assert len(five) == 5
    assert 1.9 < max(five) / min(five) < 2.3
    assert len(two) == 2
    assert max(two) / min(two) < 1.2
