"""Exact match and F1 of answers, as the corpora's official scorers count them.

English follows SQuAD's scorer (Rajpurkar et al., 2016): lower case, no punctuation, no articles,
F1 over the bag of words. Chinese follows CMRC 2018's: no punctuation, F1 over the longest common
run of characters and of Latin words. Where several answers are all asked for (Quoref), the rules
are those of DROP's scorer, which Quoref's calls: answers are aligned one to one first, a hyphen
parts words, numbers are compared as numbers, and F1 is that of sets of words.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ENGLISH_PUNCTUATION = set(string.punctuation)
_CHINESE_PUNCTUATION = set("-:_*^/\\~`+=，。：？！“”；’《》…·、「」（）－～『』")
_PIECE = re.compile(r"[\u4e00-\u9fa5]|[^\W\u4e00-\u9fa5]+|[^\w\s]")


def normalize_english(text: str) -> str:
    """Lower case, without punctuation and articles, single spaces."""
    text = "".join(c for c in text.lower() if c not in _ENGLISH_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def normalize_chinese(text: str) -> str:
    """Lower case, without the punctuation that CMRC 2018's scorer drops."""
    return "".join(c for c in text.lower().strip() if c not in _CHINESE_PUNCTUATION)


def split_chinese(text: str) -> list[str]:
    """Chinese characters one by one, other runs as words, after :func:`normalize_chinese`."""
    return _PIECE.findall(normalize_chinese(text))


def words(text: str, language: str = "en") -> list[str]:
    """The words whose overlap F1 counts, after normalisation; in Chinese characters, too."""
    return split_chinese(text) if language == "zh" else normalize_english(text).split()


def exact_match(gold: str, predicted: str, language: str = "en") -> float:
    """1 if the two answers are the same after normalisation, else 0."""
    if language == "zh":
        return float(normalize_chinese(gold) == normalize_chinese(predicted))
    return float(normalize_english(gold) == normalize_english(predicted))


def token_f1(gold: str, predicted: str, language: str = "en") -> float:
    """F1 of the overlap of two answers, from 0 to 1; two empty answers agree fully."""
    gold_tokens, predicted_tokens = words(gold, language), words(predicted, language)
    if language == "zh":
        common = _longest_common_run(gold_tokens, predicted_tokens)
    else:
        common = (Counter(gold_tokens) & Counter(predicted_tokens)).total()
    if not gold_tokens or not predicted_tokens:
        return float(gold_tokens == predicted_tokens)
    return 2 * common / (len(gold_tokens) + len(predicted_tokens))


def best_of(gold: Sequence[str], predicted: str, language: str = "en") -> tuple[float, float]:
    """Exact match and F1 against alternatives, of which any one is right.

    Args:
        gold: the alternatives; none means that the question has no answer.
        predicted: the predicted answer; empty for "no answer".
        language: ``"en"`` or ``"zh"``.
    """
    answers = [text for text in gold if language == "zh" or normalize_english(text)] or [""]
    return (
        max(exact_match(text, predicted, language) for text in answers),
        max(token_f1(text, predicted, language) for text in answers),
    )


def all_of(gold: Sequence[str], predicted: Sequence[str]) -> tuple[float, float]:
    """Exact match and F1 against several answers, all of which are asked for.

    Answers are paired so that the sum of the pairs' F1 is largest; what stays alone counts 0. A
    pair counts 0 if the gold answer has numbers and shares none with the predicted one.

    Args:
        gold: the correct answers; none means that the question has no answer.
        predicted: the predicted answers.

    Returns:
        Exact match, 0 or 1, and F1 from 0 to 1, rounded to two decimals as the official one is.
    """
    if not gold or not predicted:
        same = float(len(gold) == len(predicted))
        return same, same
    gold_words, predicted_words = ([_words(text) for text in t] for t in (gold, predicted))
    exact = {tuple(w) for w in gold_words} == {tuple(w) for w in predicted_words}
    exact = exact and len(gold) == len(predicted)
    f1 = np.array([[_set_f1(set(g), set(p)) for p in predicted_words] for g in gold_words])
    pairs = linear_sum_assignment(f1, maximize=True)
    return float(exact), round(float(f1[pairs].sum() / max(f1.shape)), 2)


def _words(text: str) -> list[str]:
    """An answer's words as DROP's scorer counts them."""
    tokens = []
    for piece in re.split("[ -]", text.lower()):
        number = _number(piece)
        tokens += normalize_english(piece).split() if number is None else [str(number)]
    # Punctuation may have hidden a number: "$5" and "5" are the same.
    return [w if (n := _number(w)) is None else str(n) for w in tokens]


def _set_f1(gold: set[str], predicted: set[str]) -> float:
    numbers = {word for word in gold if _number(word) is not None}
    if numbers and not numbers & predicted:
        return 0.0
    if not gold or not predicted:
        return float(gold == predicted)
    return 2 * len(gold & predicted) / (len(gold) + len(predicted))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _longest_common_run(first: Sequence[str], second: Sequence[str]) -> int:
    longest, row = 0, [0] * (len(second) + 1)
    for token in first:
        previous, row = row, [0] * (len(second) + 1)
        for j, second_token in enumerate(second):
            if token == second_token:
                row[j + 1] = previous[j] + 1
                longest = max(longest, row[j + 1])
    return longest
