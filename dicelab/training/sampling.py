"""A part of a corpus, drawn by the seed: for runs that must be short."""

from __future__ import annotations

import numpy as np
from datasets import Dataset, DatasetDict

from dicelab.training.experiment import Experiment


def sample(corpus: DatasetDict, experiment: Experiment) -> DatasetDict:
    """The part of a corpus that an experiment uses: its ``train_size`` and its ``eval_size``.

    Call it on a loaded corpus, before any task's ``encode``.

    Args:
        corpus: splits ``train``, ``validation``, ``test``. Where rows have a ``label``, each class
            keeps its share, to within one row; a corpus may come sorted by it.
        experiment: for its ``seed``, ``train_size`` and ``eval_size``.

    Returns:
        The same splits with at most so many rows each, in the order of the corpus.
    """
    sizes = {"train": experiment.train_size}
    return DatasetDict(
        {
            name: _draw(split, sizes.get(name, experiment.eval_size), experiment.seed)
            for name, split in corpus.items()
        }
    )


def _draw(split: Dataset, size: int, seed: int) -> Dataset:
    if not 0 < size < len(split):
        return split
    shuffled = np.random.default_rng(seed).permutation(len(split))
    labels = np.array(split["label"] if "label" in split.column_names else [0] * len(split))
    # The k-th drawn of a class of n stands at (k + 1/2) / n: whatever comes before a given place
    # holds every class in proportion.
    place = np.empty(len(split))
    for label in np.unique(labels):
        members = shuffled[labels[shuffled] == label]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    first = shuffled[np.argsort(place[shuffled], kind="stable")[:size]]
    return split.select(sorted(first.tolist()))
