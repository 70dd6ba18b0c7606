"""The embedded corpus of many labels: letters to a town hall, and the topics they are about."""

from __future__ import annotations

from typing import Any

from datasets import Dataset, DatasetDict

from data_scripts.embedded import letters_en as source
from data_scripts.embedded.arguments import check, rows
from data_scripts.embedded.draw import Draw
from data_scripts.embedded.grammar import Grammar, Labelled, text_of
from data_scripts.embedded.names import SPLITS, Split, of_split
from dicelab.corpora.forms import to_dataset

FEINT = 0.3
"""Share of the letters with a sentence that names a topic and is not about it."""


class _Clerk:
    """Writes letters on given topics."""

    def __init__(self, split: Split, draw: Draw) -> None:
        self._draw = draw
        things = {topic: of_split(words, split) for topic, words in source.THINGS.items()}
        faults = {topic: of_split(words, split) for topic, words in source.FAULTS.items()}
        self._grammars = {
            topic: Grammar(source.RULES, self._leaf(things[topic], faults[topic]))
            for topic in source.TOPICS
        }

    def _leaf(self, things: tuple[str, ...], faults: tuple[str, ...]) -> Any:
        def leaf(slot: str) -> Labelled:
            return [(self._draw.pick(things if slot == "thing" else faults), "")]

        return leaf

    def letter(self, topics: list[str]) -> str:
        """A letter about some topics, in any order; about none it is a greeting."""
        draw = self._draw
        sentences = [self._sentence(topic, draw.pick(source.ABOUT)) for topic in topics]
        others = [topic for topic in source.TOPICS if topic not in topics]
        if others and draw.chance(FEINT):
            sentences.append(self._sentence(draw.pick(others), draw.pick(source.FEINTS)))
        if not sentences or draw.chance(0.2):
            sentences.append(draw.pick(source.OPEN))
        return " ".join(draw.shuffled(sentences))

    def _sentence(self, topic: str, template: str) -> str:
        return text_of(self._grammars[topic].fill(template, self._draw), "en")


def labels(size: int = 3000, imbalance: float = 9.0, seed: int = 0) -> DatasetDict:
    """Make a corpus of letters with any number of twelve topics, from common to very rare.

    The topics are drawn apart from each other, by the shares in ``letters_en.TOPICS``. Three
    letters in ten also name a topic that they are not about ("the bins are no trouble").

    Args:
        size: letters of train; validation and test have a third of it each.
        imbalance: topics that a letter is not about for each that it is about, exact up to
            rounding, from 4.
        seed: seed of the generator.

    Returns:
        Rows of the form of labels: ``sentence`` and ``labels``.

    Raises:
        CorpusError: an argument is not what was expected.
    """
    check("en", size, imbalance, seed, lowest=4.0)
    splits: dict[str, Dataset] = {}
    known: set[str] = set()
    for split in SPLITS:
        draw = Draw(f"labels en {split} {seed}")
        clerk = _Clerk(split, draw)
        written = []
        drawn = _topics(rows(split, size), imbalance, draw)
        for topics in drawn:
            letter = clerk.letter(topics)
            while topics and letter in known:  # no letter of an earlier split, word for word
                letter = clerk.letter(topics)
            written.append(letter)
        known.update(written)
        columns: dict[str, list[Any]] = {"sentence": written, "labels": drawn}
        splits[split] = to_dataset(columns, task="labels")
    return DatasetDict(splits)


def _topics(count: int, imbalance: float, draw: Draw) -> list[list[str]]:
    """The topics of each letter; every topic in its share of the letters, and at least one."""
    drawn: list[list[str]] = [[] for _ in range(count)]
    assigned = count * len(source.TOPICS) / (1 + imbalance)
    weight = assigned / sum(source.TOPICS.values())
    for topic, share in source.TOPICS.items():
        for row in draw.shuffled(range(count))[: max(1, min(count, round(weight * share)))]:
            drawn[row].append(topic)
    return [draw.shuffled(topics) for topics in drawn]
