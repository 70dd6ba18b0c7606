"""The bias of the output layer: where training starts, and where a decision is made.

A classifier's last layer adds one number to each logit. Set to the log prior before training, it
spares the model the steps in which it would learn how frequent each class is. Chapter 02 says why.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["output_layer", "start_at_prior"]


def start_at_prior(
    model: nn.Module, counts: Tensor | Sequence[int] | Sequence[Sequence[int]]
) -> Tensor:
    """Set the bias of a model's output layer to the log prior, before training.

    A model whose weights say nothing yet then gives each class its share of the training labels.
    Without this it gives all classes the same, and with a rare class the first steps go into
    learning that it is rare.

    Args:
        model: a model of transformers (token or sequence classification, several labels, question
            answering), any other module whose last linear layer of the right size gives the
            logits, or that ``nn.Linear`` itself.
        counts: how often each class occurs in the training labels. Its shape says what the logits
            are:

            - ``[C]`` for C logits under a softmax: the bias becomes ``log(counts / sum(counts))``;
            - ``[2]``, negatives and positives, for a single logit: the log-odds of the positives;
            - ``[L, 2]``, negatives and positives of each logit, where each logit is a decision of
              its own (several labels, the start and the end of an answer): the log-odds of each.

            A count of 0 is taken as one half, so that the bias stays finite.

    Returns:
        The bias, a copy of shape ``[C]``, ``[1]`` or ``[L]``.

    Raises:
        ValueError: if ``counts`` has another shape, negative numbers or nothing but zeros; if the
            model has no linear layer of that size, or one without a bias.

    Examples:
        >>> start_at_prior(nn.Linear(8, 3), [90, 9, 1])
        tensor([-0.1054, -2.4079, -4.6052])
        >>> start_at_prior(nn.Linear(8, 1), [75, 25])
        tensor([-1.0986])
    """
    counted = torch.as_tensor(counts, dtype=torch.float64)
    pairs = counted.ndim == 2 and counted.shape[1] == 2
    if not pairs and (counted.ndim != 1 or len(counted) < 2):
        raise ValueError(
            f"counts: expected shape [C], [2] or [L, 2], got {list(counted.shape)}; give how often "
            "each class occurs, or negatives and positives of each logit"
        )
    if bool((counted < 0).any()) or bool((counted.sum(-1) == 0).any()):
        raise ValueError("counts: expected numbers of 0 or more, of which some are above 0")
    logs = counted.clamp_min(0.5).log()
    if pairs:
        layer, bias = output_layer(model, len(counted)), logs[:, 1] - logs[:, 0]
    elif len(counted) == 2 and not _has(model, 2):
        layer, bias = output_layer(model, 1), (logs[1:] - logs[:1])
    else:
        layer, bias = output_layer(model, len(counted)), logs - counted.sum().log()
    with torch.no_grad():
        layer.bias.copy_(bias)
    return layer.bias.detach().clone()


def output_layer(model: nn.Module, outputs: int) -> nn.Linear:
    """The last linear layer of a model that has as many outputs as there are logits.

    Args:
        model: the model, or the layer itself.
        outputs: the number of logits.

    Raises:
        ValueError: if there is no such layer, or it has no bias.
    """
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    fitting = [layer for layer in linear if layer.out_features == outputs]
    if not fitting:
        last = f"its last has {linear[-1].out_features}" if linear else "it has none at all"
        raise ValueError(
            f"expected a linear layer with {outputs} outputs in {type(model).__name__}, but "
            f"{last}; give the counts of all its classes, or the layer itself"
        )
    if fitting[-1].bias is None:
        raise ValueError(
            f"expected an output layer with a bias in {type(model).__name__}, got one without; "
            "replace it by nn.Linear(..., bias=True) before training"
        )
    return fitting[-1]


def _has(model: nn.Module, outputs: int) -> bool:
    return any(isinstance(m, nn.Linear) and m.out_features == outputs for m in model.modules())
