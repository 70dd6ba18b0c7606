"""The models of the first minute: tried before any fine-tuning, and kept unless it is ahead."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dicelab.fit.calibration import stacked
from dicelab.fit.features import Columns, Embeddings, Frozen, Words
from dicelab.fit.inputs import Inputs
from dicelab.fit.linear import Candidate, Linear, Pool, search, trained
from dicelab.fit.options import Options
from dicelab.fit.problems import Problem, Tagging
from dicelab.fit.tagger import Crf, States
from dicelab.training.devices import device_of

NAMES = {
    "words": "linear model on words",
    "embeddings": "linear model on embeddings",
    "words+embeddings": "sum of linear models on words and on embeddings",
    "crf": "conditional random field",
    "states": "linear model on frozen states",
    "crf+states": "sum of a conditional random field and a linear model on frozen states",
}
FOLDS = 5  # of the cross-validation; equal texts are in one
#: They cost as much to serve as the sum that they are part of, so they are not kept alone.
PARTS = ("embeddings", "states")
MOST_WORDS = 30_000  # that a tagger learns from
#: Weights of the L1 and the L2 norm of a conditional random field, the usual ones first.
PENALTIES = ((0.1, 0.1), (0.01, 0.1), (0.5, 0.01), (0.1, 1.0))
PENALTY = 10.0  # scikit-learn's C of a linear model on states
LEAST_ROWS = 1_000  # with fewer, embeddings of a larger file are not worth their time


def columns_of(problem: Problem, rows: Any) -> Columns:
    """The text columns of some rows."""
    return [rows[name][:] for name in problem.text_columns]


def candidates(
    inputs: Inputs, options: Options, seconds: float | None, note: Callable[[str], None]
) -> Iterator[Candidate]:
    """Each model of the first minute as soon as it is trained.

    Models of texts are chosen by out-of-fold scores of train and validation together; those of tags
    are trained on train, decided by validation, then trained on both.

    Args:
        inputs: the data, and the encoder whose frozen vectors are taken.
        options: for the seed that draws folds, and rows where there are many, and for the device.
        seconds: for all of them; None does not look at the clock.
        note: takes a sentence about what was left out.
    """
    tags = isinstance(inputs.problem, Tagging)
    return (_of_tags if tags else _of_texts)(inputs, options, seconds, note)


def _of_texts(
    inputs: Inputs, options: Options, seconds: float | None, note: Callable[[str], None]
) -> Iterator[Candidate]:
    began, problem = time.monotonic(), inputs.problem
    pool = Pool.of(problem, FOLDS, options.seed)
    test = columns_of(problem, problem.data.splits["test"])
    columns = columns_of(problem, pool.rows)
    words = Words.of(columns)
    of_words = search(problem, pool, words, words(columns), words(test))
    yield of_words

    encoder = inputs.encoder, inputs.tokenizer, inputs.max_length, str(device_of(options.device))
    frozen = Embeddings.of_encoder(*encoder)
    places = np.arange(len(pool.gold))
    if seconds is not None:
        left, train = seconds - (time.monotonic() - began), problem.data.splits["train"]
        spread = np.linspace(0, len(train) - 1, min(192, len(train))).astype(int)
        sample = columns_of(problem, train.select(spread))
        each = _seconds_of(frozen, sample, [column[:4] for column in sample]) / len(spread)
        most = int(left / each) - len(test[0])
        if most < min(len(pool.gold), LEAST_ROWS):
            note(
                "Embeddings of these texts would take too long; give more --minutes for a model "
                "on embeddings."
            )
            return
        if most < len(pool.gold):
            places = np.sort(np.random.default_rng(options.seed).permutation(len(places))[:most])
            pool = pool.select(places)
            columns = columns_of(problem, pool.rows)
            note(f"Embeddings are those of {most:,} rows of train and validation, for the time.")
    of_vectors = search(problem, pool, frozen, frozen.fit(columns), frozen(test))
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
    model = Linear(
        [*first.features, *second.features],
        np.hstack([slopes[0] * first.coef, slopes[1] * second.coef]).astype(np.float32),
        (slopes[0] * first.intercept + slopes[1] * second.intercept).astype(np.float32),
    )
    decision = problem.best_decision(scores, pool.rows)
    test = np.tensordot(slopes, [words.test, other.test], 1).astype(np.float32)
    setting, took = {"slopes": slopes.tolist()}, time.monotonic() - started
    return Candidate("words+embeddings", pool, scores, *decision, test, setting, took, model)


def _of_tags(
    inputs: Inputs, options: Options, seconds: float | None, note: Callable[[str], None]
) -> Iterator[Candidate]:
    began, problem = time.monotonic(), inputs.problem
    assert isinstance(problem, Tagging)
    splits, labels = problem.data.splits, len(problem.labels)
    held = splits["validation"]
    gold = problem.gold(held)
    pool = Pool.of_one_fold(held, gold)
    words = {
        name: [list(tokens) for tokens in split["tokens"][:]] for name, split in splits.items()
    }
    order = np.random.default_rng(options.seed).permutation(len(words["train"]))
    lengths = np.array([len(words["train"][i]) for i in order])
    drawn = np.sort(order[np.cumsum(lengths) <= max(MOST_WORDS, lengths[0])])
    tags = {name: problem.by_sentence(problem.gold(split), split) for name, split in splits.items()}
    words["train"] = [words["train"][i] for i in drawn]
    tags["train"] = [tags["train"][i] for i in drawn]
    # A tag that train lacks cannot be learned, so its sentence is left out of the last training.
    usable = [place for place, row in enumerate(tags["validation"]) if max(row) < labels]
    both = [[*of["train"], *(of["validation"][i] for i in usable)] for of in (words, tags)]

    def candidate(
        name: str, scores: np.ndarray, test: np.ndarray, setting: dict[str, Any], model: Any
    ) -> Candidate:
        scores, test = (
            problem.with_starts(logits, words[split])
            for logits, split in ((scores, "validation"), (test, "test"))
        )
        decision, took = problem.best_decision(scores, held), time.monotonic() - started
        return Candidate(name, pool, scores, *decision, test, setting, took, model)

    def time_left(again: float) -> bool:
        """Whether so many more seconds, and as many for the last training, are a fifth of all."""
        return seconds is None or time.monotonic() - began + 2.5 * again < seconds / 5

    started, best = time.monotonic(), None
    for number, penalties in enumerate(PENALTIES):
        crf = Crf.trained(words["train"], tags["train"], labels, penalties)
        logits = crf.logits(words["validation"])
        _, value = problem.best_decision(problem.with_starts(logits, words["validation"]), held)
        if best is None or value > best[0]:
            best = value, penalties, logits
        if not time_left((time.monotonic() - started) / (number + 1)):
            break
    assert best is not None
    _, penalties, of_crf = best
    crf = Crf.trained(both[0], both[1], labels, penalties)
    crf_test = crf.logits(words["test"])
    yield candidate("crf", of_crf, crf_test, {"penalties": list(penalties)}, crf)

    started = time.monotonic()
    encoder = inputs.encoder, inputs.tokenizer, inputs.max_length, str(device_of(options.device))
    states = States.of_encoder(*encoder)
    if seconds is not None:
        sample = words["train"][:: max(1, len(words["train"]) // 64)]
        each = _seconds_of(states, sample, sample[:1]) / len(sample)
        if each * sum(map(len, words.values())) > seconds - (time.monotonic() - began):
            note("Frozen states of these words would take too long; give more --minutes for them.")
            return
    vectors = {"train": states.fit(words["train"])}
    vectors |= {name: states(words[name]) for name in ("validation", "test")}
    learned, right, known = vectors["train"], np.concatenate(tags["train"]), gold < labels
    model = Linear([states], *trained(problem, learned, right, PENALTY, None))
    of_states = model.of_vectors(vectors["validation"])
    learned = np.concatenate([learned, vectors["validation"][known]])
    right = np.concatenate([right, gold[known]])
    model = Linear([states], *trained(problem, learned, right, PENALTY, None))
    states_test = model.of_vectors(vectors["test"])
    yield candidate("states", of_states, states_test, {"penalty": PENALTY}, model)
    # The shift would be a threshold for each tag, which follows the few entities of validation.
    slopes, _ = stacked([of_crf, of_states], gold)
    scores, test = (
        np.tensordot(slopes, parts, 1).astype(np.float32)
        for parts in ([of_crf, of_states], [crf_test, states_test])
    )
    both_models = crf.beside(model, slopes)
    yield candidate("crf+states", scores, test, {"slopes": slopes.tolist()}, both_models)


def _seconds_of(frozen: Frozen, sample: Any, few: Any) -> float:
    """How long a frozen encoder takes for some rows; the first call, for a few, sets things up."""
    frozen.plain(few)
    started = time.monotonic()
    frozen.plain(sample)
    return time.monotonic() - started
