"""The linear models of a fit: tried before any fine-tuning, told as they end, kept if they win."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from dicelab.atomic import atomic, write_json
from dicelab.fit.features import Columns, Embeddings, Words
from dicelab.fit.linear import Linear, Pool, Searched, joined, search
from dicelab.fit.problems import Problem

NAMES = {
    "words": "linear model on words",
    "embeddings": "linear model on embeddings",
    "words+embeddings": "linear model on words and embeddings",
}
LEAST_ROWS = 1_000  # with fewer, embeddings of a larger file are not worth their time


@dataclass(frozen=True)
class Candidate:
    """A linear model that may be kept.

    Attributes:
        name: of ``NAMES``.
        pool: the rows that it was chosen by, out of fold, and trained on.
        scores: out-of-fold scores of these rows, shape ``[rows, labels]``.
        bias: the decision that is best for these scores.
        value: the goal's score of these rows with this decision.
        test: scores of the test split by the model that is trained on the whole pool.
        setting: penalty and class weight.
        seconds: that it took.
        model: the model; None where the candidate was read from an earlier part of the fit.
    """

    name: str
    pool: Pool
    scores: np.ndarray
    bias: np.ndarray
    value: float
    test: np.ndarray
    setting: dict[str, Any]
    seconds: float
    model: Linear | None = None

    def save(self, folder: Path) -> None:
        """Write all but the model."""
        folder.mkdir(parents=True, exist_ok=True)
        with atomic(folder / f"{self.name}.npz") as path, path.open("wb") as file:
            np.savez_compressed(file, scores=self.scores, test=self.test, bias=self.bias)
        told = {"rows": len(self.pool.gold), "value": self.value, "seconds": self.seconds}
        write_json(folder / f"{self.name}.json", {**told, **self.setting})

    @classmethod
    def load(cls, name: str, folder: Path, pool_of: Callable[[int], Pool]) -> Candidate | None:
        """What an earlier part of the fit saved; None where there is nothing."""
        path = folder / f"{name}.json"
        if not path.is_file():
            return None
        told = json.loads(path.read_text(encoding="utf-8"))
        with np.load(folder / f"{name}.npz") as kept:
            scores, test, bias = (np.asarray(kept[key]) for key in ("scores", "test", "bias"))
        setting = {key: told[key] for key in ("penalty", "weight")}
        pool = pool_of(told["rows"])
        return cls(name, pool, scores, bias, told["value"], test, setting, told["seconds"])


def columns_of(problem: Problem, rows: Any) -> Columns:
    """The text columns of some rows."""
    return [rows[name][:] for name in problem.text_columns]


def candidates(
    problem: Problem,
    encoder: str,
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
    *,
    folds: int,
    seed: int,
    device: str,
    folder: Path,
    seconds: float | None,
    note: Callable[[str], None],
) -> Iterator[Candidate]:
    """Each linear model as soon as it is trained, or as it was read from the folder.

    Args:
        problem: of sentences, pairs or labels.
        encoder: whose frozen vectors are taken.
        tokenizer: the encoder's.
        max_length: sub-words after which a text is cut.
        folds: of the cross-validation.
        seed: of the folds, and of the rows that are drawn where there are many.
        device: of the encoder.
        folder: where candidates are saved.
        seconds: for all of them; None does not look at the clock.
        note: takes a sentence about what was left out.
    """
    began = time.monotonic()
    pools: dict[int, Pool] = {}

    def pool_of(most: int) -> Pool:
        if most not in pools:
            pools[most] = Pool.of(problem, folds, seed, most)
        return pools[most]

    def made(name: str, pool: Pool, features: list[Any], vectors: Any, test: Any) -> Candidate:
        started = time.monotonic()
        found: Searched = search(problem, pool, features, vectors)
        one = Candidate(
            name,
            pool,
            found.scores,
            found.bias,
            found.value,
            found.model.of_vectors(test),
            {"penalty": found.penalty, "weight": found.weight},
            time.monotonic() - started,
            found.model,
        )
        one.save(folder)
        return one

    known = {name: Candidate.load(name, folder, pool_of) for name in NAMES}
    if all(known.values()):
        yield from (one for one in known.values() if one is not None)
        return
    pool = Pool.of(problem, folds, seed)
    pools[len(pool.gold)] = pool
    test = columns_of(problem, problem.data.splits["test"])
    words = Words.of(columns_of(problem, pool.rows))
    of_test = words(test)
    yield made("words", pool, [words], words(columns_of(problem, pool.rows)), of_test)

    frozen = Embeddings.of_encoder(encoder, tokenizer, max_length, device)
    if seconds is not None:
        most = _affordable(problem, frozen, test, seconds - (time.monotonic() - began))
        if most < min(len(pool.gold), LEAST_ROWS):
            note(
                "Embeddings of these texts would take too long; give more --minutes for a model "
                "on embeddings."
            )
            return
        if most < len(pool.gold):
            pool = pool_of(most)
            note(f"Embeddings are those of {most:,} rows of train and validation, for the time.")
    columns = columns_of(problem, pool.rows)
    plain = frozen.plain(columns)
    frozen.fit(plain)
    vectors, tested = frozen.scaled(plain), frozen(test)
    yield made("embeddings", pool, [frozen], vectors, tested)
    both = joined([words(columns), vectors])
    yield made("words+embeddings", pool, [words, frozen], both, joined([of_test, tested]))


def _affordable(problem: Problem, frozen: Embeddings, test: Columns, seconds: float) -> int:
    """How many rows of the pool can be embedded, beside those of test, in so many seconds."""
    rows = problem.data.splits["train"]
    places = np.linspace(0, len(rows) - 1, min(192, len(rows))).astype(int)
    some = columns_of(problem, rows.select(places))
    frozen.plain([column[:4] for column in some])  # the first call sets things up
    started = time.monotonic()
    frozen.plain(some)
    each = (time.monotonic() - started) / len(places)
    return int(seconds / each) - len(test[0])
