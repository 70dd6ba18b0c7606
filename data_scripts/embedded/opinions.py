"""The embedded corpus of sentiment."""

from __future__ import annotations

from typing import Any

from datasets import Dataset, DatasetDict

from data_scripts.embedded import sentiment_en as source
from data_scripts.embedded.arguments import check, labels, rows
from data_scripts.embedded.draw import Draw
from data_scripts.embedded.grammar import Grammar, Labelled, text_of
from data_scripts.embedded.names import SPLITS, Split, of_split
from dicelab.corpora.forms import to_dataset

UNDECIDED = 0.04
"""Share of the sentences that do not tell their label."""


class _Opinions:
    """Writes sentences of either sentiment."""

    def __init__(self, split: Split, draw: Draw) -> None:
        self._draw = draw
        good, bad = of_split(source.GOOD, split), of_split(source.BAD, split)
        self._grammars = {1: self._grammar(1, good, bad), 0: self._grammar(0, bad, good)}

    def sentence(self, label: int) -> str:
        """Write a sentence whose sentiment is the label's."""
        draw = self._draw
        templates = source.OPEN if draw.chance(UNDECIDED) else source.SENTENCES
        filled = self._grammars[label].fill(draw.pick(templates), draw)
        return text_of(filled, "en")

    def _grammar(self, label: int, same: tuple[str, ...], other: tuple[str, ...]) -> Grammar:
        def leaf(slot: str) -> Labelled:
            if slot == "counter":
                return self._grammars[1 - label].fill("{clause}", self._draw)
            return [(self._draw.pick(same if slot == "same" else other), "")]

        return Grammar(source.RULES, leaf)


def sentiment(size: int = 3000, imbalance: float = 1.5, seed: int = 0) -> DatasetDict:
    """Make a corpus of opinions: label 1 speaks well of its subject, label 0 badly.

    Words of praise and of blame are as common under either label, for half of the clauses turn them
    round ("not dull", "anything but lovely"), some only seem to ("not only lovely but"), and many
    sentences hold a clause of the other side that does not count ("although ..."). No sentence of
    validation or test stands in an earlier split.

    Args:
        size: sentences of train; validation and test have a third of it each.
        imbalance: sentences of label 0 per sentence of label 1, exact up to rounding, from 0.01.
        seed: seed of the generator.

    Returns:
        Rows of the form of sentences: ``sentence`` and ``label``.

    Raises:
        CorpusError: an argument is not what was expected.
    """
    check("en", size, imbalance, seed, lowest=0.01)
    splits: dict[str, Dataset] = {}
    known: set[str] = set()
    for split in SPLITS:
        draw = Draw(f"sentiment en {split} {seed}")
        opinions = _Opinions(split, draw)
        drawn = labels(rows(split, size), imbalance, draw)
        written = []
        for label in drawn:
            sentence = opinions.sentence(label)
            while sentence in known:  # no sentence of an earlier split, word for word
                sentence = opinions.sentence(label)
            written.append(sentence)
        known.update(written)
        columns: dict[str, list[Any]] = {"sentence": written, "label": drawn}
        splits[split] = to_dataset(columns, task="sentences")
    return DatasetDict(splits)
