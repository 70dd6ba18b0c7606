"""The tasks of Stage A2: those of the first protocol, and a stratum with rare positives.

Spans are yes-or-no tasks, too: each run of up to ``WIDTH`` words is one example, and it is positive
if it is an entity. Their features come from those of the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from studies import raw
from studies.evidence import tasks as first
from studies.evidence.tasks import NO, YES, Data, Parts, Row

WIDTH = 8  # the longest span, in words
SPAN_POOL = 2500  # sentences of a pool of spans
RARE_CAPS = 40_000, 16_000
ENTITIES = ("wnut17", "wikigold", "crossner_science")
EMOTIONS = (
    "surprise",
    "disgust",
    "fear",
    "remorse",
    "embarrassment",
    "nervousness",
    "relief",
    "grief",
)
# Sentences of one source: Universal NER annotates UD English EWT, and CrossNER is one project.
SOURCES = {"uner_en_ewt": "ud_en_ewt"} | {f"crossner_{d}": "crossner" for d in raw.DOMAINS}


@dataclass(frozen=True)
class Task:
    """One task of Stage A2.

    Attributes:
        source: The random effect of the analysis; tasks of one source share it.
        stratum: ``"tags"``, ``"yes or no"`` or ``"rare"``.
        form: What a row of features stands for: ``"tags"``, ``"text"``, ``"pair"`` or ``"spans"``.
        base: The task of the first protocol whose draws, and of spans whose words, it takes.
        emotion: Of GoEmotions, the label against the rest.
    """

    source: str
    stratum: str
    form: str
    base: first.Task
    emotion: str = ""


def _goemotions() -> Parts:
    """Without their labels: train is the pool; the test part of this study is dev and test."""
    pool, test = (
        [Row((row["sentence"],), NO, i) for i, row in enumerate(rows)]
        for rows in (raw.goemotions("train"), raw.goemotions("dev") + raw.goemotions("test"))
    )
    return pool, test


def _all() -> dict[str, Task]:
    found = {
        name: Task(
            SOURCES.get(task.corpus, task.corpus),
            "tags" if task.kind == "tags" else "yes or no",
            task.kind,
            task,
        )
        for name, task in first.TASKS.items()
        # The only file at hand is rebuilt, and a tenth of its answers' places are guesses.
        if task.corpus != "squad11"
    }
    for name in ENTITIES:
        base = replace(first.TASKS[name], caps=RARE_CAPS)
        found[f"spans_{name}"] = Task(found[name].source, "rare", "spans", base)
    base = first.Task("goemotions", "text", _goemotions, caps=RARE_CAPS)
    for emotion in EMOTIONS:
        found[f"goemotions_{emotion}"] = Task("goemotions", "rare", "text", base, emotion)
    return found


TASKS = _all()


def spans_of(words: int) -> np.ndarray:
    """First word and the word after the last of every span of a sentence, ``[S, 2]``."""
    return np.array(
        [(a, b) for a in range(words) for b in range(a + 1, min(a + WIDTH, words) + 1)],
        dtype=np.int64,
    ).reshape(-1, 2)


def entities_of(tags: Sequence[str]) -> set[tuple[int, int]]:
    """The entities of a tagged sentence, by first word and the word after the last."""
    found, start = set(), -1
    for i, tag in enumerate([*tags, "O"]):
        if start >= 0 and tag != f"I-{tags[start][2:]}":
            found.add((start, i))
            start = -1
        if tag.startswith("B-"):
            start = i
    return found


def _span_row(row: Row) -> Row:
    """The same sentence with a tag a span."""
    gold = entities_of(row.tags)
    tags = ["B-yes" if (a, b) in gold else "O" for a, b in spans_of(len(row.texts)).tolist()]
    return replace(row, tags=tags)


def labelled(name: str) -> Parts:
    """The pool and the test part of a task, with its tags; no features are needed."""
    task = TASKS[name]
    pool, test = task.base.read()
    if task.form == "spans":
        return [_span_row(row) for row in _thinned(pool)], [_span_row(row) for row in test]
    if task.emotion:
        rows = [raw.goemotions(part) for part in ("train", "dev", "test")]
        pool_rows, test_rows = rows[0], rows[1] + rows[2]
        return tuple(  # type: ignore[return-value]
            [
                replace(row, tags=YES if task.emotion in told["labels"] else NO)
                for row, told in zip(part, of_part, strict=True)
            ]
            for part, of_part in ((pool, pool_rows), (test, test_rows))
        )
    return pool, test


def _thinned(pool: Sequence[Row]) -> list[Row]:
    """At most ``SPAN_POOL`` sentences, the same ones for every draw."""
    kept = np.sort(np.random.default_rng(0).permutation(len(pool))[:SPAN_POOL])
    return [pool[i] for i in kept]


def load(name: str) -> Data:
    """A task's features, from the cache or made anew, and its labels."""
    task = TASKS[name]
    if task.form != "spans" and not task.emotion:
        return first.load(name)
    parts = task.base.read()
    if task.form == "spans":
        values = first._features(task.base.corpus, "tags", parts)
        width = values.shape[1] // 4  # of the last layer
        ends = np.cumsum([len(row.texts) for row in [*parts[0], *parts[1]]])
        kept = np.sort(np.random.default_rng(0).permutation(len(parts[0]))[:SPAN_POOL])
        chosen = [*kept.tolist(), *range(len(parts[0]), len(ends))]
        starts = ends - [len(row.texts) for row in [*parts[0], *parts[1]]]
        sentences = [values[starts[i] : ends[i], -width:].astype(np.float32) for i in chosen]
        features = _reduced(sentences, len(kept))
    else:
        values = first._features("goemotions", "text", parts)
        features = first._principal(values, len(parts[0]))
    pool, test = labelled(name)
    rows = [*pool, *test]
    lengths = [len(row.tags) for row in rows]
    labels = np.array([int(tag != "O") for row in rows for tag in row.tags])
    sentence = np.repeat(np.arange(len(rows)), lengths)
    group = np.repeat([row.group for row in rows], lengths)
    in_pool = sum(lengths[: len(pool)])
    test_rows = np.arange(in_pool, len(labels))
    names = ["O", "B-yes"]
    return Data(features, labels, sentence, group, names, in_pool, test_rows, None)


def span_features(words: np.ndarray) -> np.ndarray:
    """First word, last word, mean of the words, and the width: ``[S, 3 D + WIDTH]``."""
    spans = spans_of(len(words))
    if not len(spans):
        return np.zeros((0, 3 * words.shape[1] + WIDTH), np.float32)
    total = np.concatenate([np.zeros((1, words.shape[1]), np.float32), words.cumsum(0)])
    a, b = spans.T
    mean = (total[b] - total[a]) / (b - a)[:, None].astype(np.float32)
    wide = np.eye(WIDTH, dtype=np.float32)[b - a - 1]
    return np.concatenate([words[a], words[b - 1], mean, wide], axis=1)


def _reduced(sentences: Sequence[np.ndarray], pool: int) -> torch.Tensor:
    """Principal components of the spans, as `first._principal` has them, some sentences at a time.

    Mean, scale and axes are those of every ``k``-th sentence of the pool, some 20,000 spans.
    """
    counts = [len(spans_of(len(words))) for words in sentences[:pool]]
    every = max(1, sum(counts) // 20_000)
    sample = torch.from_numpy(
        np.concatenate([span_features(words) for words in sentences[:pool:every]])
    )
    mean, scale = sample.mean(0), sample.std(0) + 1e-6
    standard = (sample - mean) / scale
    vectors = torch.linalg.eigh(standard.T @ standard / len(standard)).eigenvectors
    axes = vectors[:, -min(first.COMPONENTS, sample.shape[1]) :]
    one = (standard @ axes).std()
    parts = [
        ((torch.from_numpy(span_features(words)) - mean) / scale) @ axes / one
        for words in sentences
    ]
    return torch.cat(parts)
