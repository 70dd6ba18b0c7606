"""The linear models of a fit: tried before any fine-tuning, and kept if they win."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dicelab.atomic import atomic, write_json
from dicelab.fit.features import Columns, Embeddings, Frozen, Words
from dicelab.fit.inputs import Inputs
from dicelab.fit.linear import Linear, Pool, Searched, joined, search, trained
from dicelab.fit.problems import Problem, Tagging
from dicelab.fit.tagger import Shapes, States

NAMES = {
    "words": "linear model on words",
    "embeddings": "linear model on embeddings",
    "words+embeddings": "linear model on words and embeddings",
    "shapes": "linear model on words and their shapes",
    "shapes+states": "linear model on words, their shapes and frozen states",
}
MOST_WORDS = 30_000  # that a tagger learns from
PENALTY = 10.0  # scikit-learn's C of a tagger
LEAST_ROWS = 1_000  # with fewer, embeddings of a larger file are not worth their time


@dataclass(frozen=True)
class Candidate:
    """A linear model that may be kept.

    Attributes:
        name: one of ``NAMES``.
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
        fields = {"rows": len(self.pool.gold), "value": self.value, "seconds": self.seconds}
        write_json(folder / f"{self.name}.json", {**fields, **self.setting})

    @classmethod
    def load(cls, name: str, folder: Path, pool_of: Callable[[int], Pool]) -> Candidate | None:
        """What an earlier part of the fit saved; None where there is nothing."""
        path = folder / f"{name}.json"
        if not path.is_file():
            return None
        fields = json.loads(path.read_text(encoding="utf-8"))
        with np.load(folder / f"{name}.npz") as arrays:
            scores, test, bias = (np.asarray(arrays[key]) for key in ("scores", "test", "bias"))
        setting = {key: fields[key] for key in ("penalty", "weight")}
        pool = pool_of(fields["rows"])
        value, seconds = fields["value"], fields["seconds"]
        return cls(name, pool, scores, bias, value, test, setting, seconds)


OF_TEXTS, OF_WORDS = tuple(NAMES)[:3], tuple(NAMES)[3:]


def saved(names: Sequence[str], folder: Path, pool_of: Callable[[int], Pool]) -> list[Candidate]:
    """All candidates that an earlier part of the fit saved; none unless it saved each of them."""
    known = [Candidate.load(name, folder, pool_of) for name in names]
    loaded = [candidate for candidate in known if candidate is not None]
    return loaded if len(loaded) == len(names) else []


def columns_of(problem: Problem, rows: Any) -> Columns:
    """The text columns of some rows."""
    return [rows[name][:] for name in problem.text_columns]


def candidates(
    inputs: Inputs,
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
        inputs: sentences, pairs or labels, and the encoder whose frozen vectors are taken.
        folds: how many folds the cross-validation has.
        seed: draws the folds, and the rows where there are many.
        device: where the encoder runs.
        folder: where candidates are saved.
        seconds: for all of them; None does not look at the clock.
        note: takes a sentence about what was left out.
    """
    began, problem = time.monotonic(), inputs.problem
    pools: dict[int, Pool] = {}

    def pool_of(most: int) -> Pool:
        if most not in pools:
            pools[most] = Pool.of(problem, folds, seed, most)
        return pools[most]

    def made(name: str, pool: Pool, features: list[Any], vectors: Any, test: Any) -> Candidate:
        started = time.monotonic()
        best: Searched = search(problem, pool, features, vectors)
        return Candidate(
            name,
            pool,
            best.scores,
            best.bias,
            best.value,
            best.model.of_vectors(test),
            {"penalty": best.penalty, "weight": best.weight},
            time.monotonic() - started,
            best.model,
        )

    if known := saved(OF_TEXTS, folder, pool_of):
        yield from known
        return
    pool = Pool.of(problem, folds, seed)
    pools[len(pool.gold)] = pool
    test = columns_of(problem, problem.data.splits["test"])
    columns = columns_of(problem, pool.rows)
    words = Words.of(columns)
    of_pool, of_test = words(columns), words(test)
    yield made("words", pool, [words], of_pool, of_test)

    frozen = Embeddings.of_encoder(inputs.encoder, inputs.tokenizer, inputs.max_length, device)
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
            columns = columns_of(problem, pool.rows)
            of_pool = words(columns)
            note(f"Embeddings are those of {most:,} rows of train and validation, for the time.")
    plain = frozen.plain(columns)
    frozen.fit(plain)
    vectors, tested = frozen.scaled(plain), frozen(test)
    yield made("embeddings", pool, [frozen], vectors, tested)
    all_vectors = joined([of_pool, vectors])
    yield made("words+embeddings", pool, [words, frozen], all_vectors, joined([of_test, tested]))


def taggers(
    inputs: Inputs,
    *,
    seed: int,
    device: str,
    folder: Path,
    seconds: float | None,
    note: Callable[[str], None],
) -> Iterator[Candidate]:
    """Each linear tagger: trained on train, decided by validation, then trained on both.

    Args:
        inputs: tagged sentences, and the encoder whose frozen states are taken.
        seed: draws the sentences where there are many.
        device: where the encoder runs.
        folder: where candidates are saved.
        seconds: for all of them; None does not look at the clock.
        note: takes a sentence about what was left out.
    """
    began, problem = time.monotonic(), inputs.problem
    assert isinstance(problem, Tagging)
    splits = problem.data.splits
    held = splits["validation"]
    words_held = problem.gold(held)
    places = np.arange(len(words_held))
    pool = Pool(held, words_held, places, 0 * places)
    if known := saved(OF_WORDS, folder, lambda _: pool):
        yield from known
        return
    words = {
        name: [list(tokens) for tokens in split["tokens"][:]] for name, split in splits.items()
    }
    gold = {name: problem.gold(split) for name, split in splits.items()}
    order = np.random.default_rng(seed).permutation(len(words["train"]))
    lengths = np.array([len(words["train"][i]) for i in order])
    drawn = np.sort(order[np.cumsum(lengths) <= max(MOST_WORDS, lengths[0])])
    starts = np.cumsum([0, *map(len, words["train"])])
    gold["train"] = np.concatenate([gold["train"][starts[i] : starts[i + 1]] for i in drawn])
    words["train"] = [words["train"][i] for i in drawn]

    def made(name: str, features: list[Any], vectors: dict[str, Any]) -> Candidate:
        started = time.monotonic()

        def scored(model: Linear, split: str) -> np.ndarray:
            return problem.with_starts(model.of_vectors(vectors[split]), words[split])

        setting = {"penalty": PENALTY, "weight": None}
        model = Linear(features, *trained(problem, vectors["train"], gold["train"], PENALTY, None))
        scores = scored(model, "validation")
        bias = problem.tuned(scores, held)
        value = problem.value(scores, bias, held)
        in_labels = gold["validation"] < len(problem.labels)
        fit_vectors = joined([vectors["train"], vectors["validation"][in_labels]], rows=True)
        right = np.concatenate([gold["train"], gold["validation"][in_labels]])
        model = Linear(features, *trained(problem, fit_vectors, right, PENALTY, None))
        test, took = scored(model, "test"), time.monotonic() - started
        return Candidate(name, pool, scores, bias, value, test, setting, took, model)

    shapes = Shapes.of(words["train"])
    vectors = {name: shapes(sentences) for name, sentences in words.items()}
    yield made("shapes", [shapes], vectors)
    states = States.of_encoder(inputs.encoder, inputs.tokenizer, inputs.max_length, device)
    if seconds is not None:
        sample = words["train"][:: max(1, len(words["train"]) // 64)]
        each = _seconds_of(states, sample, sample[:1]) / len(sample)
        if each * sum(map(len, words.values())) > seconds - (time.monotonic() - began):
            note("Frozen states of these words would take too long; give more --minutes for them.")
            return
    plain = {name: states.plain(sentences) for name, sentences in words.items()}
    states.fit(plain["train"])
    all_vectors = {name: joined([vectors[name], states.scaled(plain[name])]) for name in words}
    yield made("shapes+states", [shapes, states], all_vectors)


def _affordable(problem: Problem, frozen: Embeddings, test: Columns, seconds: float) -> int:
    """How many rows of the pool can be embedded, beside those of test, in so many seconds."""
    rows = problem.data.splits["train"]
    places = np.linspace(0, len(rows) - 1, min(192, len(rows))).astype(int)
    sample = columns_of(problem, rows.select(places))
    each = _seconds_of(frozen, sample, [column[:4] for column in sample]) / len(places)
    return int(seconds / each) - len(test[0])


def _seconds_of(frozen: Frozen, sample: Any, few: Any) -> float:
    """How long a frozen encoder takes for some rows; the first call, for a few, sets things up."""
    frozen.plain(few)
    started = time.monotonic()
    frozen.plain(sample)
    return time.monotonic() - started
