"""The heads of ``dicebook try``: linear models on frozen MiniLM, trained on chapters' corpora.

    python tools/heads.py            # writes dicelab/records/data/heads/08, 09, 11, 13 and 21

The corpora have to be there (``dicebook data ud_en_ewt`` and so on). A head is weights, names of
labels and a threshold; of the corpora's text it holds nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dicelab.atomic import write_json
from dicelab.fit.candidates import MOST_WORDS, PENALTY, columns_of
from dicelab.fit.features import Embeddings
from dicelab.fit.inputs import Inputs, prepare
from dicelab.fit.keeping import INFO
from dicelab.fit.linear import Linear, Pool, search, trained
from dicelab.fit.options import Options
from dicelab.fit.problems import Problem, Tagging
from dicelab.fit.tagger import States
from dicelab.metrics.intervals import interval
from dicelab.records.kept import kept_folder
from dicelab.training.saving import replaced

KEPT = kept_folder() / "heads"
CORPORA = {"08": "ud_en_ewt", "09": "wnut17", "11": "qqp_wang", "13": "sst2", "21": "goemotions"}
MOST_ROWS = 8_000


def of_texts(inputs: Inputs) -> tuple[Linear, np.ndarray, Problem, np.ndarray, Any]:
    """A head on the mean of a text's states: model, bias, task, out-of-fold scores, rows."""
    problem = inputs.problem
    pool = Pool.of(problem, 5, 0, MOST_ROWS)
    frozen = Embeddings.of_encoder(inputs.encoder, inputs.tokenizer, inputs.max_length, "cpu")
    vectors = frozen.fit(columns_of(problem, pool.rows))
    best = search(problem, pool, frozen, vectors, vectors[:0])
    return best.model, best.bias, problem, best.scores, pool.rows


def of_words(inputs: Inputs) -> tuple[Linear, np.ndarray, Problem, np.ndarray, Any]:
    """The same of words, on their states and those of their neighbours."""
    problem = inputs.problem
    assert isinstance(problem, Tagging)
    splits = problem.data.splits
    rows = np.random.default_rng(0).permutation(len(splits["train"]))
    lengths = np.array([len(splits["train"][int(i)]["tokens"]) for i in rows])
    sample = splits["train"].select(rows[np.cumsum(lengths) <= MOST_WORDS].tolist())
    words, held = sample["tokens"][:], splits["validation"]
    frozen = States.of_encoder(inputs.encoder, inputs.tokenizer, inputs.max_length, "cpu")
    gold = problem.gold(sample)
    model = Linear([frozen], *trained(problem, frozen.fit(words), gold, PENALTY, None))
    scores = problem.with_starts(model.logits(held["tokens"][:]), held["tokens"][:])
    return model, problem.tuned(scores, held), problem, scores, held


def head(chapter: str, out: Path = KEPT) -> str:
    """Train and keep a chapter's head; its test score, as text."""
    options = Options(source=CORPORA[chapter], encoder="minilm", max_length=64)
    inputs = prepare(options)
    tags = isinstance(inputs.problem, Tagging)
    model, bias, problem, scores, rows = (of_words if tags else of_texts)(inputs)
    test = inputs.problem.splits["test"]
    data = inputs.data.splits["test"]
    tested = model.logits(data["tokens"][:] if tags else columns_of(inputs.problem, data))
    if isinstance(problem, Tagging):
        tested = problem.with_starts(tested, data["tokens"][:])
    counts = problem.counts(test, problem.decide(tested, bias))
    score = f"test {problem.goal.name} {interval(counts, problem.goal)}"
    info = {
        "task": inputs.data.task,
        "labels": problem.labels,
        "columns": inputs.data.columns,
        "max_length": inputs.max_length,
        "kind": "linear",
        "features": model.features[0].name,
        "valid": isinstance(problem, Tagging) and problem.entities,
        "calibration": problem.calibration(scores, rows),
        "bias": bias.tolist(),
        "corpus": CORPORA[chapter],
        "score": score,
    }
    with replaced(out / chapter) as folder:
        Linear((), model.coef, (model.intercept + bias).astype(np.float32)).save(folder)
        model.features[0].save(folder, encoder=False)
        write_json(folder / INFO, info)
    return score


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("chapters", nargs="*", help="their numbers (default: all that have one)")
    for chapter in parser.parse_args(arguments).chapters or sorted(CORPORA):
        print(f"{chapter} {CORPORA[chapter]}: {head(chapter)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
