"""The best sequence of tags in which every ``I-`` continues an entity of its type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

BATCH = 64  # sentences


def best_valid(scores: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """The valid IOB2 sequence with the highest sum of scores, by Viterbi's recursion.

    Args:
        scores: shape ``[sentences, words, len(labels)]``: logits or log-probabilities, with which
            the sequence is the same, since they differ by a number a word. ``-inf`` forbids a tag.
        labels: the tags, in the order of the scores.

    Returns:
        Indices of tags, shape ``[sentences, words]``.
    """
    inside, forbidden = _forbidden(labels)
    total, back = np.where(inside, -np.inf, scores[:, 0]), []
    for step in scores.transpose(1, 0, 2)[1:]:
        reached = np.where(forbidden, -np.inf, total[:, :, None])
        back.append(reached.argmax(1))
        total = reached.max(1) + step
    path = [total.argmax(1)]
    for pointers in reversed(back):
        path.append(np.take_along_axis(pointers, path[-1][:, None], 1)[:, 0])
    return np.stack(path[::-1], 1)


def valid_tags(scores: np.ndarray, lengths: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """The best valid tags of all words, sentence by sentence; see :func:`best_valid`.

    Args:
        scores: shape ``[words, len(labels)]``.
        lengths: the words of each sentence, in order. Shape ``[sentences]``.
        labels: IOB2 tags, ``O`` among them.

    Returns:
        Indices of tags. Shape ``[words]``.
    """
    starts = np.cumsum(lengths) - lengths
    best = np.asarray(scores.argmax(-1))
    inside, forbidden = _forbidden(labels)
    at_start = np.isin(np.arange(len(best)), starts[lengths > 0])
    broken = np.where(at_start, inside[best], forbidden[np.roll(best, 1), best])
    # Where the most likely tags are valid, no valid sequence has a larger sum.
    sentences = np.repeat(np.arange(len(lengths)), lengths)
    order = np.unique(sentences[broken])
    order = order[np.argsort(lengths[order], kind="stable")]
    for first in range(0, len(order), BATCH):
        batch = order[first : first + BATCH]
        n = lengths[batch]
        padded = np.full((len(batch), n.max(), len(labels)), -np.inf, dtype=np.float32)
        padded[..., list(labels).index("O")] = 0
        rows = np.repeat(np.arange(len(batch)), n)
        places = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        words = np.repeat(starts[batch], n) + places
        padded[rows, places] = scores[words]
        best[words] = best_valid(padded, labels)[rows, places]
    return best


def _forbidden(labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The tags that may not begin a sentence, and those that may not follow a tag.

    Returns:
        Bool, shapes ``[len(labels)]`` and ``[len(labels), len(labels)]``: the tag, its successor.
    """
    inside = np.array([label.startswith("I-") for label in labels])
    kind = np.array([label[2:] for label in labels])
    return inside, inside & (kind[:, None] != kind)
