"""`dicebook fit` beside what else one would type, a section of the page of records."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from dicelab.records import runs
from studies import own_data

TITLES = {
    "sst2_03": "Stanford Sentiment Treebank, 3% positive",
    **{f"goemotions_{label}": f"GoEmotions, is it {label}?" for label in own_data.LABELS},
    "mrpc": "Microsoft Research Paraphrase Corpus",
    "crossner_politics": "CrossNER, politics",
    "wnut17": "WNUT 2017",
}
METHODS = {
    "fit": "`fit`",
    "minute": "its first minute",
    "words": "words",
    "embeddings": "embeddings",
    "setfit": "SetFit",
    "trainer": "Trainer",
}
OURS = ("minute", "fit")
PEERS = tuple(method for method in METHODS if method not in OURS)
PAGE = """\
## Is fit behind what else you could type?

`dicebook fit` is held against four things that a careful person might type in its place, on
{corpora} corpora and {draws} draws of each. Every method gets the rows of a draw and nothing else.
All scores are F1 on the test rows, in percent: of the entities, or of the positive class.

- *Its first minute*: what `fit` has kept before it fine-tunes anything, its best linear model.
- *Words*: scikit-learn's TF-IDF of words and pairs of words with a logistic regression. Penalty and
  class weight are chosen by cross-validation, then `TunedThresholdClassifierCV` tunes the
  threshold. Of tags, a conditional random field on words, their shapes and their neighbours.
- *Embeddings*: the same on sentence embeddings of all-MiniLM-L6-v2, the encoder of `fit`.
- *SetFit*: its defaults with {setfit} steps, and its own decision. It reads no pairs and no tags.
- *Trainer*: the `Trainer` of transformers with its defaults, decided at argmax.

`fit` trains cross entropy for {steps} steps, with one learning rate and one seed. If it keeps the
fine-tuned model, alone or in the mean, it trains it again on train and validation together. This
is about what it plans by itself for ten to fifteen minutes of two slow cores. A number of steps can
be repeated anywhere, a number of minutes cannot. SetFit gets as many steps. All peers learn from
train and validation together.

We changed how `fit` chooses once, when we knew most of its scores below. Before, a linear model was
scored on the rows that its threshold was tuned on, and one standard error was enough to keep it
without the fine-tuned model. We tried the new rule on seven draws that share no row with the test
rows. It chose otherwise in three of them, and F1 rose in all three.

Our aim was that no peer is ahead of `fit` by more than 1 point on average, that none is ahead by
more than 3 points on a corpus, and that `fit` is ahead of the Trainer's defaults by 5 points on
average. {state}

The labels of GoEmotions are about the same comments, so they are one source. In the second table,
the mean is over corpora. Its last but one column has the mean over sources, each of them the mean
of its corpora, with its 95% interval.

`python -m tools.pages` writes this section from the records.
"""


def page(folder: Path) -> str:
    """The section.

    Args:
        folder: The folder of the study's records, ``results/own_data``; it need not be there.

    Returns:
        Markdown.
    """
    scores = own_data.table(runs.read_records(folder) if folder.is_dir() else [])
    planned = {
        method: own_data.DRAWS * sum(method in c.methods for c in own_data.CORPORA.values())
        for method in METHODS
    }
    counts = {
        method: int(scores[method].notna().sum()) if method in scores else 0 for method in METHODS
    }
    progress = ", ".join(
        f"{METHODS[method]} {counts[method]} of {planned[method]}" for method in METHODS
    )
    missing = (
        f"**Not all of it has run.** Draws that are done: {progress}. "
        "`python -m studies.own_data` runs what is missing."
    )
    text = PAGE.format(
        corpora=len(own_data.CORPORA),
        draws=own_data.DRAWS,
        steps=own_data.STEPS,
        setfit=own_data.SETFIT_STEPS,
        state=_reached(scores) if counts == planned else missing,
    )
    if scores.empty:
        return text
    parts = [text, runs.markdown(_rows(scores)), runs.markdown(_summary(scores))]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _reached(scores: pd.DataFrame) -> str:
    """Whether the aim is reached, and how often the Trainer is ahead all the same."""
    gaps = {peer: own_data.gaps(scores, peer) for peer in PEERS}
    kept = all(of_peer.mean() >= -1 and of_peer.min() >= -3 for of_peer in gaps.values())
    verdict = "is reached" if kept and gaps["trainer"].mean() >= 5 else "is not reached"
    ahead = int((scores["trainer"] > scores["fit"]).sum())
    return (
        f"By the means in the second table, this {verdict}.\n"
        f"In {ahead} of {len(scores)} draws, the Trainer scored higher than `fit`."
    )


def _rows(scores: pd.DataFrame) -> list[dict[str, str]]:
    """A row a draw: the F1 of each method."""
    return [
        {
            "corpus": TITLES[corpus],
            "draw": str(draw + 1),
            **{METHODS[name]: _cell(row[name]) for name in scores},
        }
        for (corpus, draw), row in scores.iterrows()
    ]


def _cell(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1f}"


def _summary(scores: pd.DataFrame) -> list[dict[str, str]]:
    """``fit`` and its first minute minus each peer."""
    rows = []
    for method in OURS:
        for peer in PEERS:
            if peer not in scores or method not in scores:
                continue
            gaps = own_data.gaps(scores, peer, method)
            if gaps.empty:
                continue
            rows.append(
                {
                    "difference": f"{METHODS[method]} minus {METHODS[peer]}",
                    "corpora": str(len(gaps)),
                    "mean": f"{gaps.mean():.1f}",
                    "sources": str(len(of_sources := own_data.by_source(gaps))),
                    "over sources": str(runs.interval(of_sources.tolist())),
                    "the lowest of a corpus": f"{gaps.min():.1f}, {TITLES[str(gaps.idxmin())]}",
                }
            )
    return rows
