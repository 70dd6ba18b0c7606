"""Words in their sentences as fixed vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, DatasetDict
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from transformers import AutoConfig

from dicelab.fit.features import MOST_TERMS, Frozen
from dicelab.tasks import tagging
from dicelab.training.encoders import TINY, from_pretrained

Sentences = Sequence[Sequence[str]]


class Shapes:
    """A word, its first and last letters and its shape, and those of its neighbours.

    Args:
        vectorizer: a fitted one.
    """

    name = "shapes"

    def __init__(self, vectorizer: CountVectorizer) -> None:
        self.vectorizer = vectorizer

    @classmethod
    def of(cls, sentences: Sentences) -> Shapes:
        """The terms that at least two words of training sentences have."""
        terms = [_terms(words, place) for words in sentences for place in range(len(words))]
        return cls(_vectorizer(min_df=min(2, len(terms)), max_features=MOST_TERMS).fit(terms))

    def __call__(self, sentences: Sentences) -> csr_matrix:
        """Vectors of all words. Shape ``[words, features]``."""
        terms = [_terms(words, place) for words in sentences for place in range(len(words))]
        return self.vectorizer.transform(terms) / np.sqrt(20, dtype=np.float32)

    def save(self, folder: Path) -> None:
        """Write ``terms.json``."""
        terms = self.vectorizer.get_feature_names_out().tolist()
        (folder / "terms.json").write_text(json.dumps(terms), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, device: str) -> Shapes:
        """Read what :meth:`save` wrote."""
        terms = json.loads((folder / "terms.json").read_text(encoding="utf-8"))
        return cls(_vectorizer(vocabulary=terms))


def _vectorizer(**options: Any) -> CountVectorizer:
    return CountVectorizer(analyzer=_same, binary=True, dtype=np.float32, **options)


def _same(terms: list[str]) -> list[str]:
    return terms


def _terms(words: Sequence[str], place: int) -> list[str]:
    terms = []
    for offset in (-2, -1, 0, 1, 2):
        in_sentence = 0 <= place + offset < len(words)
        word = words[place + offset] if in_sentence else ""
        low = word.lower()
        terms.append(f"{offset} word {low}")
        if abs(offset) < 2:
            shape = re.sub(r"\d", "0", re.sub(r"[^\W\d_]", _letter, word))
            shape = re.sub(r"(.)\1+", r"\1", shape)
            terms.append(f"{offset} shape {shape}")
            for size in (2, 3):
                terms += [f"{offset} start {low[:size]}", f"{offset} end {low[-size:]}"]
    return terms


def _letter(match: re.Match[str]) -> str:
    return "X" if match.group().isupper() else "x"


class States(Frozen):
    """A frozen encoder's states in its middle layer, at a word's first sub-word and its neighbours.

    The middle layer knows more about entities than the last one, so the model is the lower half.
    """

    name = "states"

    @classmethod
    def config_of(cls, encoder: str) -> dict[str, Any]:
        """Half of the layers; all of ``"tiny"``."""
        if encoder == TINY:
            return {}
        layers = getattr(from_pretrained(AutoConfig, encoder), "num_hidden_layers", None)
        return {"num_hidden_layers": (layers + 1) // 2} if layers else {}

    def plain(self, rows: Sentences) -> np.ndarray:
        """Vectors of all words before the shift and the scale. Shape ``[words, features]``."""
        tokens = [list(words) for words in rows]
        tags = [["O"] * len(words) for words in tokens]
        corpus = DatasetDict(train=Dataset.from_dict({"tokens": tokens, "tags": tags}))
        split = tagging.encode(corpus, self.tokenizer, max_length=self.max_length).splits["train"]
        starts = np.concatenate([[0], np.cumsum([len(words) for words in tokens])])
        encoded = split.to_list()
        vectors: Any = None
        for number, values in self.states(encoded):
            if vectors is None:  # a word that no window holds keeps zeros
                vectors = np.zeros((starts[-1], values.shape[-1]), dtype=np.float32)
            row = encoded[number]
            place = np.array(row["first_subword"], dtype=np.int64)
            held = np.flatnonzero(place >= 0)
            vectors[starts[row["sentence"]] + row["first_word"] + held] = values[place[held]]
        return _with_neighbours(vectors, starts)


def _with_neighbours(vectors: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Each vector, that of the word before and that of the word after; zeros beyond a sentence."""
    before, after = np.zeros_like(vectors), np.zeros_like(vectors)
    before[1:], after[:-1] = vectors[:-1], vectors[1:]
    edges = np.unique(starts)
    before[edges[:-1]] = 0
    after[edges[1:] - 1] = 0
    return np.hstack([vectors, before, after])
