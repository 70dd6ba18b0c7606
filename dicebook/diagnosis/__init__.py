"""Does this loss train? A check-up of any loss callable, by what it does and not by its code.

Most losses that do not train fail in one of a dozen ways, and each of them shows in the value or
the gradient of a small batch. `diagnose` tries them all. Chapter 16 of the book writes each failure
out in a few lines and cures it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from dicebook.diagnosis import checks
from dicebook.diagnosis.probe import LossRaised, Probe
from dicebook.diagnosis.report import NOTE, PROBLEM, Finding, Report
from dicebook.diagnosis.standing_start import standing_start

__all__ = ["Finding", "Report", "diagnose"]


def diagnose(
    loss: Callable[..., Tensor],
    logits: Tensor | None = None,
    targets: Tensor | None = None,
    *,
    counts: Sequence[int] | Tensor | None = None,
    ignore_index: int | None = -100,
) -> Report:
    """Check what a loss does with a batch, and whether a model trained with it gets anywhere.

    The loss is called some hundred times on rows ``[N, C]`` and ``[N]`` (binary: ``[N]`` and
    ``[N]``), with N up to 400,000 for the test of half precision, where ``N·C`` stays below 17
    million. With ``counts`` a toy tagger is
    trained from a standing start as well, in some seconds on the CPU. A focal loss with an exponent
    below 0 is a problem of saturation: its weight of a surely right example is infinite.

    Args:
        loss: Called as ``loss(logits, targets)``; returns a scalar. If it has a parameter named
            ``mask``, that is checked too. It may be a function, a module or a lambda around one
            that wants another layout.
        logits: A batch as the loss will see it, ``[..., C]``, or ``[...]`` for a binary loss. A
            real one from the start of training is best. Computed in float32 on its own device.
            None: random ones for ``counts``, and a loss over classes.
        targets: Class indices ``[...]``, or 0/1 of any dtype for a binary loss. At least two
            different ones. None if ``logits`` is.
        counts: How often each class occurs in the corpus the loss is meant for, ``[C]``;
            negatives and positives of a binary loss. None leaves the standing start out.
        ignore_index: The label that does not count; None if the loss need not know any. That a
            binary loss counts it is a problem if ``targets`` holds it, else a note.

    Returns:
        The report. An error that the loss raises is a finding, not an error of this function.

    Raises:
        TypeError: ``logits`` is no floating tensor.
        ValueError: Neither a batch nor counts, or one of ``logits`` and ``targets`` alone; the
            shapes do not belong together; or the targets or counts hold one class only.

    Example:
        >>> logits = torch.linspace(-2, 2, 128).reshape(64, 2)
        >>> targets = torch.arange(64) % 8 // 7
        >>> loss = CrossEntropyLoss()
        >>> diagnose(loss, logits, targets).ok
        True
        >>> upside_down = lambda *batch: -loss(*batch)
        >>> diagnose(upside_down, logits, targets).ok
        False
    """
    if (logits is None) != (targets is None) or (logits is None and counts is None):
        raise ValueError("expected logits and targets, or counts, or all three")
    if logits is None or targets is None:
        logits, targets = _batch_like(torch.as_tensor(counts))
    probe = Probe.of(loss, logits, targets, ignore_index)
    findings = [checks.check_call(probe)]
    if findings[0].verdict == PROBLEM and probe.binary and not targets.is_floating_point():
        probe = replace(probe, targets=probe.targets.float())
        called = checks.check_call(probe)
        text = f"{called.meaning}, which takes floating targets only"
        findings = [findings[0] if called.verdict == PROBLEM else replace(called, meaning=text)]
    if findings[0].verdict == PROBLEM:
        return Report(tuple(findings))
    random = checks.check_random(probe)
    if random is not None:
        findings.append(random)
        probe = replace(probe, seeded=True)
    for check in checks.ALL:
        if check is checks.check_half_precision and any(
            finding.name == "memory" and finding.verdict == PROBLEM for finding in findings
        ):
            continue
        name = check.__name__.removeprefix("check_").replace("_", " ")
        findings += _tried(name, partial(check, probe))
    if random is not None:  # noise can look like any other fault
        findings = [
            replace(finding, verdict=NOTE)
            if finding.verdict == PROBLEM and finding != random
            else finding
            for finding in findings
        ]
    if counts is not None:
        train = partial(standing_start, loss, counts, binary=probe.binary)
        findings += _tried("standing start", train)
    return Report(tuple(findings))


def _tried(name: str, check: Callable[[], Finding | None]) -> list[Finding]:
    try:
        finding = check()
    except LossRaised as error:
        return [Finding(name, PROBLEM, math.nan, f"the loss raised {error}")]
    return [] if finding is None else [finding]


def _batch_like(counts: Tensor) -> tuple[Tensor, Tensor]:
    """Random logits, and labels in the corpus's proportions with each class there at least once."""
    if counts.ndim != 1 or int((counts > 0).sum()) < 2 or bool((counts < 0).any()):
        raise ValueError(
            f"expected a count for each class, at least two above 0; got {counts.tolist()}"
        )
    generator = torch.Generator().manual_seed(0)
    present = counts.nonzero().flatten()
    drawn = torch.multinomial(counts.float().cpu(), 512, True, generator=generator)
    targets = torch.cat([present.cpu(), drawn])
    return torch.randn(len(targets), len(counts), generator=generator), targets
