"""Which loss for a span model, at a hundred or two negatives for each positive?

    python -m studies.spans                   # every run that is not recorded yet
    python -m studies.spans --table           # what is recorded
    python -m studies.spans --count           # the corpora's negatives and positives by width

For every span of up to K words and every type: is it such an entity? The head is that of
``dicelab.tasks.spans`` on frozen features of all-MiniLM-L6. A draw splits the sentences of a
corpus's pool into some to train on, some to choose a trial by and some to tune the threshold on;
the test sentences are always the same. In every draw every remedy gets four trials with the same
learning rates and dropouts, and the search says whether its bias starts at 0 or at the log-odds of
the types. Three ways of deciding are chosen and scored for themselves: probability one half, a
tuned threshold, and the plug-in threshold. Corpora are those of the evidence, as ``dicebook data``
leaves them.
One record a draw and remedy is appended to the results; what is recorded there is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from dicelab.atomic import atomic
from dicelab.corpora.tags import spans as spans_of
from dicelab.records import runs
from dicelab.tasks import thresholds
from dicelab.tasks.spans import covering
from studies import decisions, frozen
from studies.decisions import Arm, Trial
from studies.evidence import tasks
from studies.evidence.heads import adamw

CORPORA = ("wnut17", "crossner_ai", "crossner_politics", "wikigold")
SHARES, MOST = (0.6, 0.2, 0.2), (2_000, 500, 500)  # of the pool's sentences
COMPONENTS, HIDDEN, BATCH, WARM_UP = 256, 64, 24, 20
TRIALS, STEPS, DRAWS, BLOCKS = 4, (75, 150), 10, 20
CANDIDATES = 6  # for each gold entity: how many of the likeliest spans are looked at
ARMS: dict[str, Arm] = {
    "bce": Arm(decisions.cross_entropy, start="zero"),
    "bce_prior": Arm(decisions.cross_entropy, start="prior"),
    "weighted": Arm(decisions.weighted, decisions.uniform(0.1, 1.0)),
    "focal_25": Arm(decisions.retina),
    "dice_element": Arm(decisions.element_dice),
    "dice_element_warm": Arm(decisions.element_dice, warm=STEPS[0]),
    "dice_set": Arm(decisions.dice((1, 2)), decisions.log_uniform(0.1, 10.0)),
    "dsc_set": Arm(decisions.dice((1, 2), alpha=0.1), decisions.log_uniform(0.1, 10.0)),
    "sampled": Arm(decisions.sampled, decisions.log_uniform(2.0, 50.0)),
}
WAYS = ("half", "tuned", "plug_in")


class Spans(NamedTuple):
    """All spans of some sentences: first word, last word, width less one ``[S]``; gold ``[S, T]``.

    ``missed`` are the gold entities that no span stands for; ``sentence`` numbers each span's.
    """

    start: Tensor
    end: Tensor
    width: Tensor
    gold: Tensor
    missed: int
    sentence: Tensor


class Data(NamedTuple):
    """A corpus: a vector a word, and all spans of up to K words, sentence by sentence.

    ``gold`` is the type of each span, or the number of types for none; the spans of sentence ``s``
    stand from ``first[s]`` to ``first[s + 1]``.
    """

    features: Tensor
    start: Tensor
    width: Tensor
    gold: Tensor
    first: np.ndarray
    missed: np.ndarray
    types: list[str]
    max_width: int
    pool: int

    def spans(self, sentences: np.ndarray) -> Spans:
        """All spans of some sentences, in words of the whole corpus."""
        lengths = self.first[sentences + 1] - self.first[sentences]
        shift = np.repeat(self.first[sentences] - np.cumsum(lengths) + lengths, lengths)
        index = torch.from_numpy(shift + np.arange(lengths.sum()))
        start, width = self.start[index], self.width[index]
        gold = F.one_hot(self.gold[index], len(self.types) + 1)[:, :-1].float()
        number = torch.from_numpy(np.repeat(np.arange(len(sentences)), lengths))
        missed = int(self.missed[sentences].sum())
        return Spans(start, start + width, width, gold, missed, number)


@cache
def corpus(name: str) -> Data:
    """A corpus as MiniLM sees it."""
    pool, test = tasks.TASKS[name].read()
    rows = [*pool, *test]
    lengths = [len(row.texts) for row in rows]
    values = frozen.words([row.texts for row in rows])
    features = frozen.principal(values, sum(lengths[: len(pool)]), COMPONENTS)
    known = [span for row in pool for span in spans_of(row.tags)]
    types = sorted({span.type for span in known})
    widest = covering(span.end - span.start for span in known)
    start, width, gold, missed, sizes = [], [], [], [], []
    for first, n, row in zip(np.cumsum([0, *lengths]), lengths, rows, strict=False):
        i, k = np.nonzero(np.arange(n)[:, None] + np.arange(widest) < n)
        place = {pair: p for p, pair in enumerate(zip(i.tolist(), k.tolist(), strict=True))}
        kinds = np.full(len(i), len(types))
        entities = spans_of(row.tags)
        for span in entities:
            index = place.get((span.start, span.end - span.start - 1))
            if index is not None and span.type in types:
                kinds[index] = types.index(span.type)
        start.append(first + i)
        width.append(k)
        gold.append(kinds)
        missed.append(len(entities) - int((kinds < len(types)).sum()))
        sizes.append(len(i))
    starts, widths, golds = (torch.from_numpy(np.concatenate(c)) for c in (start, width, gold))
    ends = np.cumsum([0, *sizes])
    return Data(features, starts, widths, golds, ends, np.array(missed), types, widest, len(pool))


def draw(pool: int, number: int) -> list[np.ndarray]:
    """Sentences of a pool: to train on, to choose a trial by, to tune the threshold on."""
    order = np.random.default_rng([47, number]).permutation(pool)
    cuts = (np.cumsum(SHARES)[:2] * pool).astype(int)
    return [part[:most] for part, most in zip(np.split(order, cuts), MOST, strict=True)]


State = list[Tensor]  # start and end [K, D, H], bias [K, 1, H], width [K, W, H], out, its bias


def train(
    arm: Arm, trials: Sequence[Trial], data: Data, rows: np.ndarray, seed: int
) -> list[State]:
    """A stack of span heads with AdamW: a short warm-up, then a constant learning rate.

    Returns:
        The weights of the stack at each of ``STEPS``.
    """
    decisions.seeded(seed)
    stream = torch.Generator().manual_seed(seed)
    k, width, classes = len(trials), data.features.shape[1], len(data.types)
    prior = decisions.log_prior(data.spans(rows).gold)
    shapes = [
        ((width, HIDDEN), 2 * width),
        ((width, HIDDEN), 2 * width),
        ((1, HIDDEN), 2 * width),
        ((data.max_width, HIDDEN), 2 * width),
        ((HIDDEN, classes), HIDDEN),
        ((1, classes), HIDDEN),
    ]
    state: Any = [
        ((torch.rand(shape, generator=stream) * 2 - 1) / fan**0.5).repeat(k, 1, 1)
        for shape, fan in shapes
    ]
    for i, trial in enumerate(trials):
        state[5][i] = prior if trial.start == "prior" else 0.0
    numbers = [[t.learning_rate, 1 - t.dropout, t.value] for t in trials]
    rate, keep, value = torch.tensor(numbers).view(-1, 3, 1, 1).unbind(1)
    first, second = ([torch.zeros_like(p) for p in state] for _ in range(2))
    snapshots: list[State] = []
    order = torch.empty(0, dtype=torch.long)
    for step in range(1, STEPS[-1] + 1):
        if len(order) < BATCH:
            order = torch.cat([order, torch.randperm(len(rows), generator=stream)])
        index, order = order[:BATCH], order[BATCH:]
        batch = data.spans(rows[index.numpy()])
        live = [p.detach().requires_grad_() for p in state]
        mask = (torch.rand(len(batch.start), HIDDEN, generator=stream) < keep) / keep
        logits = _logits(live, data.features, batch, mask)
        loss = decisions.cross_entropy if step <= arm.warm else arm.loss
        slopes = torch.autograd.grad(loss(logits, batch.gold, value, prior).sum(), live)
        state = adamw(state, slopes, first, second, rate * min(1.0, step / WARM_UP), step)
        if step in STEPS:
            snapshots.append([p.clone() for p in state])
    return snapshots


def _logits(state: Sequence[Tensor], features: Tensor, spans: Spans, mask: Any = 1.0) -> Tensor:
    """Logits ``[K, S, T]``: a word is projected once, a span is a sum."""
    start, end, bias, width, out, shift = state
    words, place = torch.unique(torch.cat([spans.start, spans.end]), return_inverse=True)
    starts, ends = place.split(len(spans.start))
    x = features[words]
    hidden = (x @ start)[:, starts] + (x @ end)[:, ends] + width[:, spans.width] + bias
    return (F.relu(hidden) * mask) @ out + shift


class Decoding(NamedTuple):
    """What greedy flat decoding keeps of the likeliest spans, from the most certain one down."""

    certainty: np.ndarray
    right: np.ndarray
    sentence: np.ndarray
    gold: int


def decode(logits: np.ndarray, spans: Spans) -> Decoding:
    """Greedy flat decoding without a threshold: a threshold takes from it and adds nothing.

    Args:
        logits: ``[S, T]``.
        spans: the spans. Of the likeliest of them there are ``CANDIDATES`` for each gold entity.
    """
    best, kind = logits.max(1), logits.argmax(1)
    gold = int(spans.gold.sum()) + spans.missed
    likeliest = np.argpartition(-best, min(CANDIDATES * gold, len(best) - 1))[: CANDIDATES * gold]
    order = likeliest[np.lexsort((likeliest, -best[likeliest]))]
    start, end = spans.start.numpy(), spans.end.numpy()
    taken = np.zeros(int(end.max()) + 2, dtype=bool)
    chosen = []
    for i in order:
        if not taken[start[i] : end[i] + 1].any():
            taken[start[i] : end[i] + 1] = True
            chosen.append(i)
    index = np.array(chosen, dtype=int)
    right = spans.gold.numpy()[index, kind[index]] > 0
    return Decoding(best[index], right, spans.sentence.numpy()[index], gold)


def f1(decoding: Decoding, threshold: float) -> float:
    """F1 in percent of what lies above a threshold."""
    above = decoding.certainty > threshold
    return 200 * float(decoding.right[above].sum()) / max(1, int(above.sum()) + decoding.gold)


def parameters_of(name: str, arm: str, number: int) -> dict[str, Any]:
    """What tells a run from the others."""
    return {
        "corpus": name,
        "encoder": "all-MiniLM-L6, frozen",
        "loss": arm,
        "seed": number,
        "trials": TRIALS,
        "steps": list(STEPS),
    }


def run(name: str, arm: str, number: int) -> dict[str, Any]:
    """Search, decide and test one remedy on one draw; the record."""
    data, began = corpus(name), time.process_time()
    rows, choose, tune = draw(data.pool, number)
    trials = [Trial.random(ARMS[arm], number, i) for i in range(TRIALS)]
    states = train(ARMS[arm], trials, data, rows, number)
    test = np.arange(data.pool, len(data.missed))
    spans = {
        part: data.spans(s) for part, s in (("choose", choose), ("tune", tune), ("test", test))
    }

    @cache
    def logits(part: str, step: int, trial: int) -> np.ndarray:
        trial_state = [p[trial : trial + 1] for p in states[step]]
        values: np.ndarray = _logits(trial_state, data.features, spans[part])[0].numpy()
        return values

    def threshold(way: str, part: str, place: tuple[int, int]) -> float:
        """Where a way cuts on a part; the tuned one is set on the part kept for it."""
        if way == "half":
            return 0.0
        if way == "plug_in":
            return thresholds.plug_in(logits(part, *place).ravel())
        decoding = decode(logits("tune", *place), spans["tune"])
        return thresholds.best_f1(decoding.certainty, decoding.right, decoding.gold)

    # A checkpoint before the end of a warm start is cross entropy's, not the remedy's.
    places = [(s, t) for s in range(len(STEPS)) for t in range(TRIALS) if STEPS[s] > ARMS[arm].warm]
    metrics: dict[str, Any] = {}
    history = []
    for way in WAYS:
        chosen = {
            p: f1(decode(logits("choose", *p), spans["choose"]), threshold(way, "choose", p))
            for p in places
        }
        best = max(places, key=lambda p: chosen[p])
        cut = threshold(way, "test", best)
        decoding = decode(logits("test", *best), spans["test"])
        above = decoding.certainty > cut
        block = decoding.sentence * BLOCKS // len(test)
        metrics[way] = {
            "f1": round(f1(decoding, cut), 3),
            "found": np.bincount(block[above & decoding.right], minlength=BLOCKS).tolist(),
            "predicted": np.bincount(block[above], minlength=BLOCKS).tolist(),
        }
        setting = {"steps": STEPS[best[0]], **vars(trials[best[1]]), "threshold": round(cut, 4)}
        history.append({"way": way, "validation": round(chosen[best], 3), **setting})
    by_sentence = spans["test"].gold.sum(1).numpy()
    blocks = spans["test"].sentence.numpy() * BLOCKS // len(test)
    metrics["gold"] = np.bincount(blocks, by_sentence, minlength=BLOCKS).astype(int).tolist()
    metrics["missed"] = spans["test"].missed
    drawn = data.spans(rows).gold
    metrics["train"] = {
        "sentences": len(rows),
        "positive": int(drawn.sum()),
        "decisions": drawn.numel(),
    }
    metrics["max_width"] = data.max_width
    return runs.make_record(
        chapter="studies/spans.py",
        parameters=parameters_of(name, arm, number),
        metrics=metrics,
        history=history,
        measured={"device": "cpu, 1 threads", "seconds": round(time.process_time() - began, 2)},
    )


def count(name: str) -> dict[str, Any]:
    """Negatives and positives of a corpus's pool, by word and by span of each width; a record."""
    pool, _ = tasks.TASKS[name].read()
    lengths = np.array([len(row.tags) for row in pool])
    known = [span for row in pool for span in spans_of(row.tags)]
    widths = np.array([span.end - span.start for span in known])
    widest = covering(widths.tolist())
    spans = [int(np.maximum(lengths - k, 0).sum()) for k in range(widest)]
    metrics = {
        "types": len({span.type for span in known}),
        "max_width": widest,
        "words": {"all": int(lengths.sum()), "in entities": int(widths.sum())},
        "spans": spans,
        "entities": np.bincount(widths, minlength=widest + 1)[1 : widest + 1].tolist(),
        "wider": int((widths > widest).sum()),
    }
    return runs.make_record(
        chapter="studies/spans.py",
        parameters={"corpus": name, "loss": "none", "seed": 0, "counted": "pool"},
        metrics=metrics,
        history=[],
        measured={},
    )


def table(records: Sequence[dict[str, Any]], name: str) -> pd.DataFrame:
    """Mean test F1 of each remedy on a corpus, by how it decides."""
    frame = pd.DataFrame(
        [
            {"loss": r["parameters"]["loss"], **{w: r["metrics"][w]["f1"] for w in WAYS}}
            for r in records
            if r["parameters"]["corpus"] == name
        ]
    )
    return frame.groupby("loss").mean().reindex([arm for arm in ARMS if arm in set(frame["loss"])])


def main() -> None:
    """Run what is not yet recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--table", action="store_true", help="print what is recorded")
    parser.add_argument("--out", type=Path, default=Path("results/spans.jsonl"))
    parser.add_argument("--count", action="store_true", help="write results/span_counts.jsonl")
    options = parser.parse_args()
    if options.count:
        counts = options.out.with_name("span_counts.jsonl")
        with atomic(counts) as temporary:
            for name in options.corpora:
                runs.append_record(temporary, count(name))
        return
    known = runs.read_records(options.out) if options.out.exists() else []
    if options.table:
        for name in dict.fromkeys(r["parameters"]["corpus"] for r in known):
            print(name, table(known, name).round(2), sep="\n")
        return
    recorded = [record["parameters"] for record in known]
    for name in options.corpora:
        for number in range(options.draws):
            for arm in options.arms:
                if parameters_of(name, arm, number) not in recorded:
                    record = run(name, arm, number)
                    runs.append_record(options.out, record)
                    scores = {way: record["metrics"][way]["f1"] for way in WAYS}
                    seconds = record["measured"]["seconds"]
                    print(f"{name}, draw {number}, {arm}: {scores}, {seconds} s", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
