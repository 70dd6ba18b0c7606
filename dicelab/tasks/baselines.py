"""What a corpus gives away without a model: the commonest answer, and a dictionary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from datasets import Dataset, DatasetDict
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from dicelab.corpora.tags import spans
from dicelab.tasks import pairs, reading, tagging, thresholds

LONGEST = 8  # words of an entity, or characters of a word, in the dictionary of the paper's tables

Scores = dict[str, float]


def commonest_tag(train: Dataset) -> str:
    """The most frequent tag of some rows of ``tags``."""
    return Counter(chain.from_iterable(train["tags"][:])).most_common(1)[0][0]


def tags_by_dictionary(train: Dataset, split: Dataset) -> list[list[str]]:
    """Each word has the tag that it has most often in train, an unknown one the commonest of all.

    Args:
        train: rows of ``tokens`` and ``tags``, one plain tag a word.
        split: rows of ``tokens``.

    Returns:
        The tags of each row of ``split``.
    """
    rows = zip(train["tokens"][:], train["tags"][:], strict=True)
    usual = _most_frequent(chain.from_iterable(zip(*row, strict=True) for row in rows))
    default = commonest_tag(train)
    return [[usual.get(token, default) for token in tokens] for tokens in split["tokens"][:]]


def entities_by_dictionary(
    train: Dataset, split: Dataset, *, default: str = "O", longest: int | None = None
) -> list[list[str]]:
    """Each stretch of words that is an entity somewhere in train is one, the longest first.

    Args:
        train: rows of ``tokens`` and ``tags``.
        split: rows of ``tokens``.
        default: the tag of a word of no entity.
        longest: words of the longest stretch that is looked up; None for no bound.

    Returns:
        IOB2 tags of each row of ``split``; an entity has the type that it has most often in train.
    """
    known = _most_frequent(
        (tuple(tokens[span.start : span.end]), span.type)
        for tokens, tags in zip(train["tokens"][:], train["tags"][:], strict=True)
        for span in spans(tags)
    )
    widest = max(map(len, known), default=0)
    widest = widest if longest is None else min(widest, longest)
    return [_matched(tokens, known, widest, default) for tokens in split["tokens"][:]]


def of_tags(corpus: DatasetDict, *, by_word: bool) -> dict[str, Scores]:
    """Scores on the test split of the commonest tag, and of a dictionary of the training split.

    Args:
        corpus: rows of ``tokens`` and ``tags``.
        by_word: one plain tag a word, as for English parts of speech: each word gets the tag that
            it has most often in training, an unknown one the commonest. Otherwise the tags are
            IOB2: the longest entry that matches is taken, from left to right.
    """
    train, test = corpus["train"], corpus["test"]
    score = tagging.score_words if by_word else tagging.score
    commonest = commonest_tag(train)
    if by_word:
        predicted = tags_by_dictionary(train, test)
    else:
        predicted = entities_by_dictionary(train, test, default=commonest, longest=LONGEST)
    most = [[commonest] * len(tokens) for tokens in test["tokens"]]
    return {"majority": score(test["tags"], most), "dictionary": score(test["tags"], predicted)}


def of_labels(corpus: DatasetDict) -> dict[str, Scores]:
    """Scores on the test split of the commonest label, and of words alone.

    For sentences that is a naive Bayes classifier of their words, for pairs a threshold on the
    share of the words that they have in common, with the best F1 in training.
    """
    train, test = corpus["train"], corpus["test"]
    gold, train_labels = list(test["label"]), list(train["label"])
    if "sentence" in train.column_names:
        words = CountVectorizer(token_pattern=r"\S+")
        counts = words.fit_transform(train["sentence"][:])
        model = MultinomialNB().fit(counts, train_labels)
        predicted = model.predict(words.transform(test["sentence"][:])).tolist()
    else:
        least = thresholds.best_f1(_overlap(train), train_labels, sum(train_labels))
        predicted = (_overlap(test) > least).astype(int).tolist()
    # F1 is of label 1 of two: the least that says anything is to say it always.
    most = [1 if max(train_labels) == 1 else int(np.bincount(train_labels).argmax())] * len(gold)
    return {"majority": pairs.score(gold, most), "dictionary": pairs.score(gold, predicted)}


def _overlap(split: Any) -> np.ndarray:
    rows = zip(split["sentence1"], split["sentence2"], strict=True)
    sets = [(set(a.lower().split()), set(b.lower().split())) for a, b in rows]
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in sets])


def of_questions(corpus: DatasetDict, *, all_of: bool, language: str) -> dict[str, Scores]:
    """Scores on the test split of a reader that is always silent."""
    gold = corpus["test"]["answers"][:]
    silent: Any = [[] if all_of else reading.Answer("", 0.0) for _ in gold]
    return {"majority": reading.score(silent, gold, all_of=all_of, language=language)}


def _most_frequent(pairs: Iterable[tuple[Any, str]]) -> dict[Any, str]:
    counts: defaultdict[Any, Counter[str]] = defaultdict(Counter)
    for key, value in pairs:
        counts[key][value] += 1
    return {key: values.most_common(1)[0][0] for key, values in counts.items()}


def _matched(
    tokens: Sequence[str], known: Mapping[tuple[str, ...], str], widest: int, default: str
) -> list[str]:
    tags: list[str] = []
    while (start := len(tags)) < len(tokens):
        for size in range(min(widest, len(tokens) - start), 0, -1):
            kind = known.get(tuple(tokens[start : start + size]))
            if kind is not None:
                tags += [f"B-{kind}", *[f"I-{kind}"] * (size - 1)]
                break
        else:
            tags.append(default)
    return tags
