"""Does a loss leave the majority class? A toy tagger, trained from a standing start.

A loss can be sound in every batch and still not train: a model soon says the most frequent class
everywhere, the gradient of the rare ones fades with their probability, and Adam goes on dividing
by the large gradients it remembers. The toy is the smallest found that shows it as pretrained
encoders do. What it takes:

- the counts of a corpus: many rare classes beside a very frequent one. With two or five classes
  every dice loss gets away;
- tokens that have much in common. Each is its class's vector plus noise plus a *larger* vector
  shared by all, as the outputs of a pretrained encoder are; "less of every rare class" is then one
  short way and "more of this one" a long one. A bias and one feature a class do not show it;
- a layer that all classes share, and a normalisation, before the linear one;
- few steps: 90 of AdamW with warm-up and decay, batches of 600 tokens, clipping at norm 1.

With the counts of WNUT 2017 it ends as training MiniLM there did: linear dice, linear
self-adjusting dice and Tversky at F1 0, ``absent="skip"`` alone at 0; squared dice, dice without
the majority class, and cross entropy train. It says which losses are in danger, not which F1 they
will have; a longer run or another encoder may get away where the toy does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from dicebook.diagnosis.probe import LossRaised, first_line
from dicebook.diagnosis.report import NOTE, OK, PROBLEM, Finding

NAME = "standing start"
_STEPS, _WARM_UP, _TOKENS, _WIDTH = 90, 9, 600, 32
_RATE = 0.005
_SHARED = 2.0  # how much longer the shared vector is than that of a class, in the mean
_LEFT = 5.0  # an F1 that says: it has left the majority class
_SEEDS = (0, 1, 2)
REMEDY = (
    "three that work: squared denominators (squared=True); a smoothing that is small beside the "
    "gold examples of a class (smooth=1e-4); or the majority class left out of the mean "
    "(classes=[the others], absent='keep')"
)


def standing_start(
    loss: Callable[..., Tensor], counts: Sequence[int] | Tensor, *, binary: bool
) -> Finding:
    """Train the toy with a loss; a problem if it finds nothing and cross entropy does.

    Args:
        loss: Called with logits ``[N, C]`` and labels ``[N]``, or ``[N]`` and ``[N]`` if binary.
        counts: How often each class occurs in the training corpus; negatives and positives if
            binary.
        binary: One logit a token, instead of one for each class.

    Returns:
        The best F1 of three seeds, in percent, over the classes other than the most frequent. A
        loss that finds something with the first needs no other.

    Raises:
        ValueError: There are fewer than two counts, a negative one, or one class only.
    """
    shares = torch.as_tensor(counts, dtype=torch.float32).cpu()
    wrong = shares.ndim != 1 or bool((shares < 0).any()) or int((shares > 0).sum()) < 2
    if wrong or (binary and len(shares) != 2):
        expected = "two counts, of negatives and positives" if binary else "a count for each class"
        raise ValueError(f"expected {expected}, at least two above 0; got {shares.tolist()}")
    share = float(shares.max() / shares.sum())
    f1 = _best(loss, shares, binary)
    steps = f"a toy with these counts ({share:.1%} in the majority class), after {_STEPS} steps"
    if f1 >= _LEFT:
        text = f"{steps}: F1 {f1:.0f} on the other classes"
        return Finding(NAME, OK, f1, text)
    reference = F.binary_cross_entropy_with_logits if binary else F.cross_entropy
    usual = _best(reference, shares, binary)
    text = f"does not leave the majority class: {steps}, has F1 {f1:.0f} on the others"
    if usual < _LEFT:
        return Finding(NAME, NOTE, f1, f"{text}; nor does cross entropy, so this says little")
    return Finding(NAME, PROBLEM, f1, f"{text}, with cross entropy {usual:.0f}", REMEDY)


def _best(loss: Callable[..., Tensor], shares: Tensor, binary: bool) -> float:
    best = 0.0
    for seed in _SEEDS:
        best = max(best, _f1(loss, shares, binary, seed))
        if best >= _LEFT:
            break
    return best


def _f1(loss: Callable[..., Tensor], shares: Tensor, binary: bool, seed: int) -> float:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator) / math.sqrt(_WIDTH)

    classes, outputs = len(shares), 1 if binary else len(shares)
    centres = draw(classes, _WIDTH) + _SHARED * draw(_WIDTH)

    def batch(tokens: int) -> tuple[Tensor, Tensor]:
        labels = torch.multinomial(shares, tokens, True, generator=generator)
        return centres[labels] + draw(tokens, _WIDTH), labels

    shared, head = draw(_WIDTH, _WIDTH) / math.sqrt(3), 0.1 * draw(outputs, _WIDTH)
    weights = [shared, torch.zeros(_WIDTH), head, torch.zeros(outputs)]
    scale = [torch.ones(_WIDTH), torch.zeros(_WIDTH)]
    parameters = [weight.requires_grad_() for weight in (*weights, *scale)]

    def logits(x: Tensor) -> Tensor:
        hidden = F.layer_norm(x + x @ weights[0] + weights[1], (_WIDTH,), scale[0], scale[1])
        out = hidden @ weights[2].T + weights[3]
        return out.squeeze(-1) if binary else out

    optimizer = torch.optim.AdamW(parameters, lr=_RATE)
    for step in range(_STEPS):
        x, labels = batch(_TOKENS)
        rate = min((step + 1) / _WARM_UP, (_STEPS - step) / (_STEPS - _WARM_UP))
        optimizer.param_groups[0]["lr"] = _RATE * rate
        optimizer.zero_grad()
        try:
            value = loss(logits(x), labels.float() if binary else labels)
        except Exception as error:
            raise LossRaised(f"{type(error).__name__}: {first_line(error)}") from error
        if not (value.requires_grad and math.isfinite(value.detach())):
            return 0.0
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    x, labels = batch(4000)
    with torch.no_grad():
        out = logits(x)
    predicted = (out > 0).long() if binary else out.argmax(-1)
    majority = int(shares.argmax())
    hits = int(((predicted == labels) & (labels != majority)).sum())
    named = int((predicted != majority).sum() + (labels != majority).sum())
    return 200 * hits / max(1, named)
