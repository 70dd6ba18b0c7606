"""Texts as fixed vectors: their words and characters, and what a frozen encoder makes of them.

A logistic regression on either is trained in seconds. Both are saved as JSON and safetensors.
"""

from __future__ import annotations

import abc
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: Words of two letters or more, and each Chinese character by itself.
WORD = r"(?u)[\u3400-\u9fff]|\b\w\w+\b"
MOST_TERMS = 50_000  # of each kind; those in the most rows are kept
BATCH = 64
KINDS: dict[str, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2), "token_pattern": WORD},
    "characters": {"ngram_range": (2, 5), "analyzer": "char_wb", "token_pattern": None},
}
USUAL: dict[str, Any] = {"sublinear_tf": True, "dtype": np.float32}

Columns = Sequence[Sequence[str]]  # one column of texts, or the two of pairs


@dataclass
class Words:
    """TF-IDF of words, pairs of words and sequences of two to five characters.

    Of a pair of texts: the products of both texts' weights, and the distances between them.

    Args:
        vectorizers: fitted ones, by kind.
    """

    name: ClassVar[str] = "words"
    vectorizers: dict[str, TfidfVectorizer]

    @classmethod
    def of(cls, columns: Columns) -> Words:
        """The terms of training texts that occur in at least two of them."""
        texts = [text for column in columns for text in column]
        vectorizers = {}
        for kind, how in KINDS.items():
            try:
                vectorizers[kind] = TfidfVectorizer(
                    min_df=2, max_features=MOST_TERMS, **how, **USUAL
                ).fit(texts)
            except ValueError:  # no term of this kind in two rows
                continue
        if not vectorizers:
            vectorizers["characters"] = TfidfVectorizer(**KINDS["characters"], **USUAL).fit(texts)
        return cls(vectorizers)

    def __call__(self, columns: Columns) -> csr_matrix:
        """Vectors of texts or pairs. Shape ``[rows, features]``."""
        parts = []
        for vectorizer in self.vectorizers.values():
            each = [vectorizer.transform(column) for column in columns]
            if len(each) == 2:
                each = [each[0].multiply(each[1]), abs(each[0] - each[1])]
            parts += each
        return hstack(parts).tocsr()

    def cut(self, columns: Columns) -> int:
        """How many texts are read in part: none."""
        return 0

    def save(self, folder: Path) -> None:
        """Write ``terms.json`` and ``idf.safetensors``."""
        terms = {
            kind: vectorizer.get_feature_names_out().tolist()
            for kind, vectorizer in self.vectorizers.items()
        }
        (folder / "terms.json").write_text(json.dumps(terms), encoding="utf-8")
        save_file({k: v.idf_ for k, v in self.vectorizers.items()}, folder / "idf.safetensors")

    @classmethod
    def load(cls, folder: Path, device: str) -> Words:
        """Read what :meth:`save` wrote."""
        terms = json.loads((folder / "terms.json").read_text(encoding="utf-8"))
        idf = load_file(folder / "idf.safetensors")
        vectorizers = {}
        for kind, known in terms.items():
            vectorizers[kind] = TfidfVectorizer(vocabulary=known, **KINDS[kind], **USUAL)
            vectorizers[kind].idf_ = idf[kind]
        return cls(vectorizers)


@dataclass
class Frozen(abc.ABC):
    """Vectors of a frozen encoder's hidden states.

    They are shifted and scaled so that those of the training rows have mean 0 and mean squared
    length 1. A subclass says in ``plain`` which states make a vector.

    Args:
        model: the encoder, without a head.
        tokenizer: the encoder's.
        max_length: sub-words that it reads at once.
        shift: the mean of the training rows' vectors; None before it is known.
        scale: what vectors are divided by.
    """

    name: ClassVar[str]
    model: Any
    tokenizer: PreTrainedTokenizerBase
    max_length: int
    shift: np.ndarray | None = None
    scale: float = 1.0

    @classmethod
    def of_encoder(
        cls, encoder: str, tokenizer: PreTrainedTokenizerBase, max_length: int, device: str
    ) -> Self:
        """A frozen encoder by its name; the weights of ``"tiny"`` are drawn with seed 0."""
        import torch
        from transformers import AutoModel

        from dicelab.training.encoders import load_model, quiet

        torch.manual_seed(0)
        config = cls.config_of(encoder)
        with quiet():
            model = load_model(AutoModel, encoder, tokenizer, **config)
        return cls(model.to(device).eval(), tokenizer, max_length)

    @classmethod
    def config_of(cls, encoder: str) -> dict[str, Any]:
        """What differs from the encoder's own config."""
        return {}

    @abc.abstractmethod
    def plain(self, rows: Any) -> np.ndarray:
        """Vectors before the shift and the scale. Shape ``[vectors, features]``."""

    def states(self, rows: Sequence[dict[str, Any]]) -> Iterator[tuple[int, np.ndarray]]:
        """The last hidden states ``[length, width]`` of encoded rows, each with its row's number.

        Rows come by their length, and a row's states with those of its padding.
        """
        from dicelab.tasks.outputs import outputs_of
        from dicelab.training.encoders import pad

        order = np.argsort([len(row["input_ids"]) for row in rows], kind="stable")
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            (hidden,) = outputs_of(
                self.model,
                [rows[i] for i in batch],
                lambda part: pad(self.tokenizer, part),
                ["last_hidden_state"],
                BATCH,
            )
            yield from zip(batch.tolist(), hidden, strict=True)

    def fit(self, rows: Any) -> np.ndarray:
        """Take shift and scale from training rows; their vectors, as of a call."""
        plain = self.plain(rows)
        self.shift = plain.mean(0)
        self.scale = float(np.sqrt(plain.var(0).sum())) or 1.0
        return self._scaled(plain)

    def __call__(self, rows: Any) -> np.ndarray:
        """Vectors of rows. Shape ``[vectors, features]``."""
        return self._scaled(self.plain(rows))

    def _scaled(self, plain: np.ndarray) -> np.ndarray:
        assert self.shift is not None
        return np.asarray((plain - self.shift) / self.scale, dtype=np.float32)

    def save(self, folder: Path, *, encoder: bool = True) -> None:
        """Write the encoder to ``encoder/``, if wanted, and the scale to ``NAME.safetensors``."""
        assert self.shift is not None
        if encoder:
            self.tokenizer.model_max_length = self.max_length
            self.model.save_pretrained(folder / "encoder")
            self.tokenizer.save_pretrained(folder / "encoder")
        arrays = {"shift": self.shift, "scale": np.array([self.scale])}
        save_file(arrays, folder / f"{self.name}.safetensors")

    @classmethod
    def load(cls, folder: Path, device: str) -> Self:
        """Read what :meth:`save` wrote; a head that came without its encoder takes MiniLM."""
        from transformers import AutoModel, AutoTokenizer

        from dicelab.training.devices import device_of
        from dicelab.training.encoders import MINILM, from_pretrained, load_tokenizer

        place = str(device_of(device))
        arrays = load_file(folder / f"{cls.name}.safetensors")
        shift, scale = arrays["shift"], float(arrays["scale"][0])
        if not (folder / "encoder").is_dir():
            made = cls.of_encoder(MINILM, load_tokenizer(MINILM, (), max_length=512), 256, place)
            return cls(made.model, made.tokenizer, made.max_length, shift, scale)
        model = from_pretrained(AutoModel, str(folder / "encoder")).to(place).eval()
        tokenizer = from_pretrained(AutoTokenizer, str(folder / "encoder"))
        return cls(model, tokenizer, tokenizer.model_max_length, shift, scale)


class Embeddings(Frozen):
    """The mean of a frozen encoder's last hidden states over the sub-words of a text.

    Of a pair of texts ``u`` and ``v``: ``|u - v|`` and ``u * v``.
    """

    name = "embeddings"

    def plain(self, rows: Columns) -> np.ndarray:
        """Vectors of texts or pairs before the shift and the scale. Shape ``[rows, features]``."""
        means = [self._means(list(column)) for column in rows]
        if len(means) == 1:
            return means[0]
        u, v = (m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-9) for m in means)
        return np.hstack([abs(u - v), u * v])

    def cut(self, columns: Columns) -> int:
        """How many texts were longer than ``max_length`` sub-words."""
        texts = [text for column in columns for text in column]
        encoded = self.tokenizer(texts, truncation=True, max_length=self.max_length)
        return sum(bool(encoding.overflowing) for encoding in encoded.encodings)

    def _means(self, texts: list[str]) -> np.ndarray:
        from dicelab.tasks.outputs import rows_of

        rows = rows_of(self.tokenizer(texts, truncation=True, max_length=self.max_length))
        means: list[Any] = [None] * len(rows)
        for place, values in self.states(rows):
            means[place] = values[: len(rows[place]["input_ids"])].mean(0)
        return np.stack(means)
