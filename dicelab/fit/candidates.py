"""The models of the first minute: tried before any fine-tuning, and kept unless it is ahead."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dicelab.fit.calibration import stacked
from dicelab.fit.features import Columns, Embeddings, Frozen, Words
from dicelab.fit.inputs import Inputs
from dicelab.fit.linear import Linear, Pool, search, trained
from dicelab.fit.problems import Problem, Tagging
from dicelab.fit.tagger import Crf, States

NAMES = {
    "words": "linear model on words",
    "embeddings": "linear model on embeddings",
    "words+embeddings": "sum of linear models on words and on embeddings",
    "crf": "conditional random field",
    "states": "linear model on frozen states",
    "crf+states": "sum of a conditional random field and a linear model on frozen states",
}
#: They cost as much to serve as the sum that they are part of, so they are not kept alone.
PARTS = ("embeddings", "states")
MOST_WORDS = 30_000  # that a tagger learns from
#: Weights of the L1 and the L2 norm of a conditional random field, the usual ones first.
PENALTIES = ((0.1, 0.1), (0.01, 0.1), (0.5, 0.01), (0.1, 1.0))
PENALTY = 10.0  # scikit-learn's C of a linear model on states
LEAST_ROWS = 1_000  # with fewer, embeddings of a larger file are not worth their time


@dataclass(frozen=True)
class Candidate:
    """A model of the first minute.

    Attributes:
        name: one of ``NAMES``.
        pool: the rows that it was chosen by, out of fold, and trained on.
        scores: out-of-fold scores of these rows, shape ``[rows, labels]``.
        bias: the decision that is best for these scores.
        value: the goal's score of these rows with this decision.
        test: scores of the test split by the model that is trained on the whole pool.
        setting: penalties and class weight.
        seconds: that it took.
        model: the model; the mean of two has none.
    """

    name: str
    pool: Pool
    scores: np.ndarray
    bias: np.ndarray
    value: float
    test: np.ndarray
    setting: dict[str, Any]
    seconds: float
    model: Linear | Crf | None = None


def columns_of(problem: Problem, rows: Any) -> Columns:
    """The text columns of some rows."""
    return [rows[name][:] for name in problem.text_columns]


def candidates(
    inputs: Inputs,
    *,
    folds: int,
    seed: int,
    device: str,
    seconds: float | None,
    note: Callable[[str], None],
) -> Iterator[Candidate]:
    """Each model of texts as soon as it is trained.

    Args:
        inputs: sentences, pairs or labels, and the encoder whose frozen vectors are taken.
        folds: how many folds the cross-validation has.
        seed: draws the folds, and the rows where there are many.
        device: where the encoder runs.
        seconds: for all of them; None does not look at the clock.
        note: takes a sentence about what was left out.
    """
    began, problem = time.monotonic(), inputs.problem
    pool = Pool.of(problem, folds, seed)

    def made(name: str, pool: Pool, features: list[Any], vectors: Any, test: Any) -> Candidate:
        started = time.monotonic()
        best = search(problem, pool, features, vectors)
        setting = {"penalty": best.penalty, "weight": best.weight}
        tested, took = best.model.of_vectors(test), time.monotonic() - started
        return Candidate(
            name, pool, best.scores, best.bias, best.value, tested, setting, took, best.model
        )

    test = columns_of(problem, problem.data.splits["test"])
    columns = columns_of(problem, pool.rows)
    words = Words.of(columns)
    of_words = made("words", pool, [words], words(columns), words(test))
    yield of_words

    frozen = Embeddings.of_encoder(inputs.encoder, inputs.tokenizer, inputs.max_length, device)
    places = np.arange(len(pool.gold))
    if seconds is not None:
        most = _affordable(problem, frozen, test, seconds - (time.monotonic() - began))
        if most < min(len(pool.gold), LEAST_ROWS):
            note(
                "Embeddings of these texts would take too long; give more --minutes for a model "
                "on embeddings."
            )
            return
        if most < len(pool.gold):
            places, pool = pool.part(most, seed)
            columns = columns_of(problem, pool.rows)
            note(f"Embeddings are those of {most:,} rows of train and validation, for the time.")
    plain = frozen.plain(columns)
    frozen.fit(plain)
    of_vectors = made("embeddings", pool, [frozen], frozen.scaled(plain), frozen(test))
    yield of_vectors
    yield _sum_of(problem, of_words, of_vectors, places)


def _sum_of(problem: Problem, words: Candidate, other: Candidate, places: np.ndarray) -> Candidate:
    """Both models' logits with a slope each, learned from the scores that are out of fold."""
    started, pool = time.monotonic(), other.pool
    parts = [words.scores[places], other.scores]
    scores = np.zeros_like(other.scores)
    for fold in range(pool.folds.max() + 1):
        held = pool.folds == fold
        slopes, _ = stacked([part[~held] for part in parts], pool.gold[~held])
        scores[held] = np.tensordot(slopes, [part[held] for part in parts], 1)
    slopes, _ = stacked(parts, pool.gold)
    first, second = words.model, other.model
    assert isinstance(first, Linear)
    assert isinstance(second, Linear)
    model = Linear(
        [*first.features, *second.features],
        np.hstack([slopes[0] * first.coef, slopes[1] * second.coef]).astype(np.float32),
        (slopes[0] * first.intercept + slopes[1] * second.intercept).astype(np.float32),
    )
    bias = problem.tuned(scores, pool.rows)
    return Candidate(
        "words+embeddings",
        pool,
        scores,
        bias,
        problem.value(scores, bias, pool.rows),
        np.tensordot(slopes, [words.test, other.test], 1).astype(np.float32),
        {"slopes": slopes.tolist()},
        time.monotonic() - started,
        model,
    )


def taggers(
    inputs: Inputs,
    *,
    seed: int,
    device: str,
    seconds: float | None,
    note: Callable[[str], None],
) -> Iterator[Candidate]:
    """Each model of tags: trained on train, decided by validation, then trained on both.

    Args:
        inputs: tagged sentences, and the encoder whose frozen states are taken.
        seed: draws the sentences where there are many.
        device: where the encoder runs.
        seconds: for all of them; None does not look at the clock.
        note: takes a sentence about what was left out.
    """
    began, problem = time.monotonic(), inputs.problem
    assert isinstance(problem, Tagging)
    splits, labels = problem.data.splits, len(problem.labels)
    held = splits["validation"]
    gold = problem.gold(held)
    pool = Pool(held, gold, np.arange(len(gold)), np.zeros(len(gold), dtype=np.int64))
    words = {
        name: [list(tokens) for tokens in split["tokens"][:]] for name, split in splits.items()
    }
    order = np.random.default_rng(seed).permutation(len(words["train"]))
    lengths = np.array([len(words["train"][i]) for i in order])
    drawn = np.sort(order[np.cumsum(lengths) <= max(MOST_WORDS, lengths[0])])
    tags = {name: problem.by_sentence(problem.gold(split), split) for name, split in splits.items()}
    words["train"] = [words["train"][i] for i in drawn]
    tags["train"] = [tags["train"][i] for i in drawn]
    # A tag that train lacks cannot be learned, so its sentence is left out of the last training.
    usable = [
        place for place, row in enumerate(tags["validation"]) if np.all(np.array(row) < labels)
    ]
    both = {
        part: [*of["train"], *(of["validation"][place] for place in usable)]
        for part, of in (("words", words), ("tags", tags))
    }

    def candidate(
        name: str, scores: np.ndarray, test: np.ndarray, setting: dict[str, Any], model: Any
    ) -> Candidate:
        scores, test = (
            problem.with_starts(logits, words[split])
            for logits, split in ((scores, "validation"), (test, "test"))
        )
        bias = problem.tuned(scores, held)
        value, took = problem.value(scores, bias, held), time.monotonic() - started
        return Candidate(name, pool, scores, bias, value, test, setting, took, model)

    def value_of(logits: np.ndarray) -> float:
        scores = problem.with_starts(logits, words["validation"])
        return problem.value(scores, problem.tuned(scores, held), held)

    def time_left(again: float) -> bool:
        """Whether so many more seconds, and as many for the last training, are a fifth of all."""
        return seconds is None or time.monotonic() - began + 2.5 * again < seconds / 5

    started, best = time.monotonic(), None
    for number, penalties in enumerate(PENALTIES):
        crf = Crf.trained(words["train"], tags["train"], labels, penalties)
        logits = crf.logits(words["validation"])
        value = value_of(logits)
        if best is None or value > best[0]:
            best = value, penalties, logits
        if not time_left((time.monotonic() - started) / (number + 1)):
            break
    assert best is not None
    _, penalties, of_crf = best
    crf = Crf.trained(both["words"], both["tags"], labels, penalties)
    crf_test = crf.logits(words["test"])
    yield candidate("crf", of_crf, crf_test, {"penalties": list(penalties)}, crf)

    started = time.monotonic()
    states = States.of_encoder(inputs.encoder, inputs.tokenizer, inputs.max_length, device)
    if seconds is not None:
        sample = words["train"][:: max(1, len(words["train"]) // 64)]
        each = _seconds_of(states, sample, sample[:1]) / len(sample)
        if each * sum(map(len, words.values())) > seconds - (time.monotonic() - began):
            note("Frozen states of these words would take too long; give more --minutes for them.")
            return
    plain = {name: states.plain(sentences) for name, sentences in words.items()}
    states.fit(plain["train"])
    vectors = {name: states.scaled(values) for name, values in plain.items()}
    right = np.concatenate(tags["train"])
    model = Linear([states], *trained(problem, vectors["train"], right, PENALTY, None))
    of_states = model.of_vectors(vectors["validation"])
    in_labels = gold < labels
    fit_vectors = np.concatenate([vectors["train"], vectors["validation"][in_labels]])
    right = np.concatenate([right, gold[in_labels]])
    model = Linear([states], *trained(problem, fit_vectors, right, PENALTY, None))
    states_test = model.of_vectors(vectors["test"])
    yield candidate("states", of_states, states_test, {"penalty": PENALTY}, model)
    # The shift would be a threshold for each tag, which follows the few entities of validation.
    slopes, _ = stacked([of_crf, of_states], gold)
    scores, test = (
        np.tensordot(slopes, parts, 1).astype(np.float32)
        for parts in ([of_crf, of_states], [crf_test, states_test])
    )
    setting = {"slopes": slopes.tolist()}
    yield candidate("crf+states", scores, test, setting, crf.beside(model, slopes))


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
