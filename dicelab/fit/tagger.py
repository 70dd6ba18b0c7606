"""Taggers that take seconds: a conditional random field, alone or with an encoder's states."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file
from sklearn.feature_extraction.text import CountVectorizer

from dicelab.fit.features import Frozen
from dicelab.fit.linear import Linear

Sentences = Sequence[Sequence[str]]
WEIGHTS, TERMS = "crf.safetensors", "terms.json"


@dataclass(frozen=True)
class Crf:
    """A conditional random field on words, their beginnings and ends, shapes and neighbours.

    python-crfsuite trains it; its weights are kept as safetensors and JSON, from which the
    probability of each word's tags follows without it.

    Attributes:
        terms: what is known of a word.
        coef: their weights, shape ``[terms, labels]``.
        transitions: the weight of a label after another, shape ``[labels, labels]``.
        bias: added to the log probabilities, shape ``[labels]``.
        scale: the factor of the log probabilities.
        states: a linear model on a frozen encoder's states, whose logits are added.
    """

    terms: list[str]
    coef: np.ndarray
    transitions: np.ndarray
    bias: np.ndarray
    scale: float = 1.0
    states: Linear | None = None

    @cached_property
    def vectorizer(self) -> CountVectorizer:
        """Which terms each word has."""
        vocabulary = {term: place for place, term in enumerate(self.terms)}
        how: dict[str, Any] = {"analyzer": list, "binary": True, "dtype": np.float32}
        return CountVectorizer(vocabulary=vocabulary, **how)

    @classmethod
    def trained(
        cls,
        sentences: Sentences,
        tags: Sequence[Sequence[int]],
        labels: int,
        penalties: tuple[float, float],
    ) -> Crf:
        """Learn from tagged sentences.

        Args:
            sentences: their words.
            tags: the number of each word's label.
            labels: how many labels there are.
            penalties: the weights of the L1 and of the L2 norm.
        """
        import pycrfsuite

        trainer = pycrfsuite.Trainer(verbose=False)
        for words, numbers in zip(sentences, tags, strict=True):
            if len(words):
                rows = [terms_of(words, place) for place in range(len(words))]
                trainer.append(rows, [str(number) for number in numbers])
        trainer.set_params({"c1": penalties[0], "c2": penalties[1], "max_iterations": 100})
        with tempfile.TemporaryDirectory() as folder:
            path, tagger = str(Path(folder) / "crf"), pycrfsuite.Tagger()
            trainer.train(path)
            tagger.open(path)
            found = tagger.info()
            tagger.close()
        terms = sorted({term for term, _ in found.state_features})
        place = {term: number for number, term in enumerate(terms)}
        coef = np.zeros((len(terms), labels), dtype=np.float32)
        transitions = np.zeros((labels, labels), dtype=np.float32)
        for (term, label), weight in found.state_features.items():
            coef[place[term], int(label)] = weight
        for (first, second), weight in found.transitions.items():
            transitions[int(first), int(second)] = weight
        return cls(terms, coef, transitions, np.zeros(labels, dtype=np.float32))

    def logits(self, sentences: Sentences) -> np.ndarray:
        """The log probability of each label of each word. Shape ``[words, labels]``, float32."""
        words = [terms_of(row, place) for row in sentences for place in range(len(row))]
        scores = np.asarray(self.vectorizer.transform(words) @ self.coef, dtype=np.float64)
        ends = np.cumsum([len(row) for row in sentences])[:-1]
        of_words = [log_marginals(part, self.transitions) for part in np.split(scores, ends)]
        logits = self.scale * np.maximum(np.concatenate(of_words), -30) + self.bias
        if self.states is not None:
            logits = logits + self.states.logits(sentences)
        return np.asarray(logits, dtype=np.float32)

    def beside(self, states: Linear, slopes: np.ndarray) -> Crf:
        """The sum of both models' logits, each with its slope."""
        weights = (
            (slopes[1] * part).astype(np.float32) for part in (states.coef, states.intercept)
        )
        scaled = Linear(states.features, *weights)
        bias = (slopes[0] * self.bias).astype(np.float32)
        return replace(self, bias=bias, scale=float(slopes[0]), states=scaled)

    def shifted(self, bias: np.ndarray) -> Crf:
        """The same with a bias added to each logit."""
        return replace(self, bias=(self.bias + bias).astype(np.float32))

    def save(self, folder: Path) -> None:
        """Write weights and terms, as safetensors and JSON."""
        (folder / TERMS).write_text(json.dumps(self.terms), encoding="utf-8")
        arrays = {"coef": self.coef, "transitions": self.transitions, "bias": self.bias}
        save_file({**arrays, "scale": np.array([self.scale])}, folder / WEIGHTS)
        if self.states is not None:
            self.states.save(folder)

    @classmethod
    def load(cls, folder: Path, features: str, device: str) -> Crf:
        """Read what :meth:`save` wrote; ``features`` is ``"crf"`` or ``"crf+states"``."""
        terms = json.loads((folder / TERMS).read_text(encoding="utf-8"))
        arrays = load_file(folder / WEIGHTS)
        _, _, beside = features.partition("+")
        states = Linear.load(folder, beside, device) if beside else None
        scale = float(arrays.pop("scale")[0])
        return cls(terms, **arrays, scale=scale, states=states)


def log_marginals(scores: np.ndarray, transitions: np.ndarray) -> np.ndarray:
    """The log probability of each label of each word, by the forward and backward sums.

    Args:
        scores: of the words of a sentence, shape ``[words, labels]``.
        transitions: shape ``[labels, labels]``.
    """
    ahead, back = scores.copy(), np.zeros_like(scores)
    for place in range(1, len(scores)):
        ahead[place] += np.logaddexp.reduce(ahead[place - 1][:, None] + transitions, axis=0)
    for place in range(len(scores) - 2, -1, -1):
        after = scores[place + 1] + back[place + 1]
        back[place] = np.logaddexp.reduce(transitions + after, axis=1)
    total = ahead + back
    return np.asarray(total - np.logaddexp.reduce(total, axis=1, keepdims=True))


def terms_of(words: Sequence[str], place: int) -> list[str]:
    """What is known of a word: itself, its shape and ends, and those of its neighbours."""
    terms = ["bias"]
    for offset in (-2, -1, 0, 1, 2):
        in_sentence = 0 <= place + offset < len(words)
        word = words[place + offset] if in_sentence else ""
        low = word.lower()
        terms.append(f"{offset} word {low}")
        if abs(offset) < 2:
            shape = re.sub(r"[^\W\d_]", lambda letter: "xX"[letter.group().isupper()], word)
            shape = re.sub(r"(.)\1+", r"\1", re.sub(r"\d", "0", shape))
            terms.append(f"{offset} shape {shape}")
            for size in (2, 3):
                terms += [f"{offset} start{size} {low[:size]}", f"{offset} end{size} {low[-size:]}"]
    return terms


class States(Frozen):
    """A frozen encoder's states in its middle layer, at a word's first sub-word and its neighbours.

    The middle layer knows more about entities than the last one, so the model is the lower half.
    """

    name = "states"

    @classmethod
    def config_of(cls, encoder: str) -> dict[str, Any]:
        """Half of the layers; all of ``"tiny"``."""
        from transformers import AutoConfig

        from dicelab.training.encoders import TINY, from_pretrained

        if encoder == TINY:
            return {}
        layers = getattr(from_pretrained(AutoConfig, encoder), "num_hidden_layers", None)
        return {"num_hidden_layers": (layers + 1) // 2} if layers else {}

    def plain(self, rows: Sentences) -> np.ndarray:
        """Vectors of all words before the shift and the scale. Shape ``[words, features]``."""
        from dicelab.tasks.outputs import rows_of
        from dicelab.tasks.windows import pieces

        encoded, of_rows = pieces(self.tokenizer, rows, self.max_length)
        starts = np.cumsum([0, *map(len, rows)])
        vectors: Any = None
        for number, values in self.states(rows_of(encoded)):
            if vectors is None:  # a word that no window holds keeps zeros
                vectors = np.zeros((starts[-1], values.shape[-1]), dtype=np.float32)
            words, positions = of_rows[number].held(starts)
            vectors[words] = values[positions]
        before, after = np.zeros_like(vectors), np.zeros_like(vectors)
        before[1:], after[:-1] = vectors[:-1], vectors[1:]
        edges = np.unique(starts)
        before[edges[:-1]], after[edges[1:] - 1] = 0, 0  # beyond a sentence
        return np.hstack([vectors, before, after])
