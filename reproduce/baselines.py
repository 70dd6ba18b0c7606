"""What a corpus gives away without a model: the majority's answer, and a dictionary."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from datasets import DatasetDict
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from dicelab.tasks import pairs, reading, tagging, thresholds
from dicelab.tasks.dictionary import commonest_tag, entities_by_dictionary, tags_by_dictionary

LONGEST = 8  # words of an entity, or characters of a word, in the dictionary

Scores = dict[str, float]


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
    most = [Counter(train_labels).most_common(1)[0][0]] * len(gold)
    if max(train_labels) == 1:  # F1 is of label 1: the least that says anything is to say it always
        most = [1] * len(gold)
    return {"majority": pairs.score(gold, most), "dictionary": pairs.score(gold, predicted)}


def _overlap(split: Any) -> np.ndarray:
    pairs = zip(split["sentence1"], split["sentence2"], strict=True)
    sets = [(set(a.lower().split()), set(b.lower().split())) for a, b in pairs]
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in sets])


def of_questions(corpus: DatasetDict, *, all_of: bool, language: str) -> dict[str, Scores]:
    """Scores on the test split of a reader that is always silent."""
    gold = corpus["test"]["answers"][:]
    silent: Any = [[] if all_of else reading.Answer("", 0.0) for _ in gold]
    return {"majority": reading.score(silent, gold, all_of=all_of, language=language)}
