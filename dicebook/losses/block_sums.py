"""The sums ``Σ q·y`` and ``Σ q``, block by block, with a gradient in closed form.

Left to autograd, a dice loss keeps five or six tensors of the logits' size alive. Here only what
its gradient starts from is kept, or nothing if that is taken again from the logits; and where many
tensors are needed on the way, a block of rows needs them and not all of them at once.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Sums = tuple[Tensor, Tensor]

_CACHED = 3 * 2**15  # as many float32 numbers stay in a core's cache from one operation to the next
_ROWS = 2**10  # fewer are not worth a block of their own


@dataclass(frozen=True)
class Form(ABC):
    """How a block is summed.

    Attributes:
        alpha: The exponent of ``q = (1 − p)^alpha · p``.
        squared: Whether the second sum is of squares.
        blocks: The fewest blocks; more than 1 if one of all rows would take too much memory.
        keeps_basis: Whether the basis is a tensor, kept for the backward pass; if not, it is taken
            twice.
    """

    alpha: float
    squared: bool
    blocks: ClassVar[int] = 1
    keeps_basis: ClassVar[bool] = False

    @abstractmethod
    def basis(self, logits: Tensor, kept: Tensor | None) -> Any:
        """What sums and gradient start from; ``q`` is 0 where a row does not count."""

    @abstractmethod
    def sums(self, basis: Any, target: Tensor) -> Sums:
        """Both sums of a block, ``[C]`` each."""

    @abstractmethod
    def gradient(self, basis: Any, target: Tensor, overlap: Tensor, predicted: Tensor) -> Tensor:
        """From the gradients of both sums to that of the block's logits.

        Args:
            basis: Of the block.
            target: Of the block.
            overlap: ``[C]``, the gradient of the first sum.
            predicted: ``[C]``, that of the second; times 2, from the square, if ``squared``.
        """


def block_sums(form: Form, logits: Tensor, target: Tensor, kept: Tensor | None) -> Sums:
    """The sums of all rows.

    Args:
        form: How they are summed.
        logits: ``[N, ...]``, any floating dtype.
        target: ``[N, ...]``, as the form takes it.
        kept: None or ``[N]`` bool: the rows that count. Whatever the others hold is not read.

    Returns:
        Both, ``[C]`` each, float32 or float64, differentiable in ``logits``.
    """
    rows = _rows_per_block(logits, form.blocks)
    overlap, predicted = _BlockSums.apply(logits, target, kept, form, rows)[:2]
    return overlap, predicted


class _BlockSums(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        logits: Tensor, target: Tensor, kept: Tensor | None, form: Form, rows: int | None
    ) -> tuple[Tensor, ...]:
        sums, bases = [], []
        for x, y, counted in _blocks(rows, logits, target, kept):
            basis = form.basis(x, counted)
            sums.append(form.sums(basis, y))
            if form.keeps_basis:
                bases.append(basis)
        overlap, predicted = sums[0] if len(sums) == 1 else map(_total, zip(*sums, strict=True))
        # What a custom function keeps for its backward pass has to be among its outputs.
        return overlap, predicted, *bases

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        logits, target, kept, ctx.form, ctx.rows = inputs
        ctx.shape, ctx.dtype = logits.shape, logits.dtype
        starts = output[2:] if ctx.form.keeps_basis else (logits, kept)
        ctx.save_for_backward(target, *starts)
        ctx.mark_non_differentiable(*output[2:])
        ctx.set_materialize_grads(False)  # or the bases would get zeros of their size

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        overlap, predicted = gradients[:2]
        if overlap is None:
            if predicted is None:
                return None, None, None, None, None
            overlap = torch.zeros_like(predicted)
        elif predicted is None:
            predicted = torch.zeros_like(overlap)
        form, rows = ctx.form, ctx.rows
        if form.squared:
            predicted = 2 * predicted
        bases = _bases_again(ctx)
        basis, y = next(bases)
        of_block = form.gradient(basis, y, overlap, predicted)
        if rows is None:
            return of_block.to(ctx.dtype), None, None, None, None
        gradient = of_block.new_zeros(ctx.shape, dtype=ctx.dtype)
        first, *others = gradient.split(rows)
        first.add_(of_block)  # twice as fast as copying a transposed tensor
        del basis, of_block
        for block, (basis, y) in zip(others, bases, strict=True):
            block.add_(form.gradient(basis, y, overlap, predicted))
        return gradient, None, None, None, None


def _bases_again(ctx: Any) -> Iterator[tuple[Any, Tensor]]:
    target, *starts = ctx.saved_tensors
    if ctx.form.keeps_basis:
        yield from zip(starts, (y for (y,) in _blocks(ctx.rows, target)), strict=True)
    else:
        for y, x, counted in _blocks(ctx.rows, target, *starts):
            yield ctx.form.basis(x, counted), y


def _total(of_blocks: tuple[Tensor, ...]) -> Tensor:
    return torch.stack(of_blocks).sum(dim=0)


def _blocks(rows: int | None, *tensors: Tensor | None) -> Iterable[tuple[Any, ...]]:
    if rows is None:
        return [tensors]
    return zip(*(repeat(None) if x is None else x.split(rows) for x in tensors), strict=False)


def _rows_per_block(logits: Tensor, blocks: int) -> int | None:
    """None for all in one block."""
    if torch.compiler.is_compiling():  # fuses the steps, and needs neither blocks nor a loop
        return None
    rows = logits.shape[0]
    if rows < _ROWS * blocks:
        blocks = 1
    if logits.is_cpu:
        # Of fewer than six, the one at work would weigh too much beside the whole.
        cached = logits.numel() // (_CACHED * torch.get_num_threads())
        blocks = max(blocks, cached if cached >= 6 else 1)
    return None if blocks == 1 else -(-rows // blocks)


# torch asks for the signature at every call, which costs as much as a sum of a thousand numbers.
setattr(_BlockSums.forward, "__signature__", inspect.signature(_BlockSums.forward))  # noqa: B010
