"""The embedded corpus of paraphrases."""

from __future__ import annotations

from typing import Any

from datasets import Dataset, DatasetDict

from data_scripts.embedded import paraphrases_en, paraphrases_zh
from data_scripts.embedded.arguments import check, labels, rows
from data_scripts.embedded.draw import Draw
from data_scripts.embedded.entity_tags import Mentions
from data_scripts.embedded.grammar import Grammar, Labelled, text_of
from data_scripts.embedded.names import SPLITS, Language
from dicelab.corpora.forms import to_dataset

_OTHER_NAME = 0.05  # of the negatives: the same said of somebody else
_FRAMED = 0.7  # of either label: the second sentence affirms or denies by a frame
_UNLIKE = 0.3  # of the other negatives: two places differ, not one


def paraphrases(
    language: Language = "en", size: int = 1200, imbalance: float = 1.7, seed: int = 0
) -> DatasetDict:
    """Make a corpus of pairs of sentences: label 1 if they say the same, else 0.

    Either label changes the words and their order. A paraphrase puts other words of the same
    meaning. In most pairs one sentence affirms or denies in a frame, and a frame that denies has
    the very words of one that affirms, in another order. The other negatives differ in one place or
    two, by a word of another meaning, or by the name.

    Args:
        language: ``"en"`` or ``"zh"``.
        size: pairs of train; validation and test have a third of it each.
        imbalance: pairs of label 0 per pair of label 1, exact up to rounding, from 0.01.
        seed: seed of the generator.

    Returns:
        Rows of the form of pairs: ``sentence1``, ``sentence2`` and ``label``.

    Raises:
        CorpusError: an argument is not what was expected.
    """
    check(language, size, imbalance, seed, lowest=0.01)
    splits: dict[str, Dataset] = {}
    train_mentions: dict[str, list[tuple[str, ...]]] = {}
    for split in SPLITS:
        draw = Draw(f"paraphrases {language} {split} {seed}")
        mentions = Mentions(language, split, draw, train_mentions)
        drawn = labels(rows(split, size), imbalance, draw)
        pairs = [_pair(language, bool(label), draw, mentions) for label in drawn]
        columns: dict[str, list[Any]] = {
            "sentence1": [first for first, _ in pairs],
            "sentence2": [second for _, second in pairs],
            "label": drawn,
        }
        splits[split] = to_dataset(columns, task="pairs")
        if split == "train":
            train_mentions = mentions.made
    return DatasetDict(splits)


def _pair(language: Language, same: bool, draw: Draw, mentions: Mentions) -> tuple[str, str]:
    source = paraphrases_en if language == "en" else paraphrases_zh
    # What is said: for each place a row of the contrasts and which of its two meanings.
    contrast_of = {place: draw.pick(contrasts) for place, contrasts in source.CONTRASTS.items()}
    meaning = {place: draw.below(2) for place in contrast_of}
    name = mentions.leaf("PER")

    def write(template: str, meaning: dict[str, int], name: Labelled) -> str:
        def leaf(slot: str) -> Labelled:
            if slot == "name":
                return name
            return [(word, "") for word in draw.pick(contrast_of[slot][meaning[slot]]).split()]

        return text_of(Grammar({}, leaf).fill(template, draw), language)

    first = write(draw.pick(source.FORMS), meaning, name)
    template, other_meaning, other_name = draw.pick(source.FORMS), dict(meaning), name
    if same:
        if draw.chance(_FRAMED):
            template = draw.pick(source.AFFIRM)
    elif draw.chance(_OTHER_NAME):
        while other_name == name:
            other_name = mentions.leaf("PER")
    elif draw.chance(_FRAMED):
        template = draw.pick(source.DENY)
    else:
        for place in draw.shuffled(tuple(contrast_of))[: 2 if draw.chance(_UNLIKE) else 1]:
            other_meaning[place] = 1 - meaning[place]
    pair = (first, write(template, other_meaning, other_name))
    return pair if draw.chance(0.5) else (pair[1], pair[0])
