"""What a loss costs: time, memory, operations, and its share of a training step.

Everything runs on one thread, one call of each loss after the other, each time in another order, so
that whatever else the machine does meets all of them alike. Time is the thread's CPU time: on a
busy machine it leaves out the waiting.

    python benchmarks/losses.py --quick                  # a look, a minute
    python benchmarks/losses.py --out DIR                # the table, losses.json and losses.png
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import platform
import random
import statistics
import sys
import time
import types
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from dicebook.losses import functional as L
from dicelab.atomic import atomic, write_json

LossFunction = Callable[[Tensor, Tensor], Tensor]
# A batch of 32 sentences of 128 sub-words, with the labels of CoNLL 2003, UD and XPOS tags.
SHAPES = [(4096, 9), (4096, 17), (8192, 50), (65536, 9)]
VOCABULARY = (1024, 50257)  # the logits of a language model, in a tenth of the repetitions
COMPILED = (65536, 9)  # the shape for which losses are also compiled
BINARY_SHAPE = (128, 512)
BASELINE = "cross entropy (torch)"
STEP = (8, 128)  # sentences and sub-words of the training step


def naive(kind: str, ignore_index: int | None = None) -> LossFunction:
    """A loss as one would write it down: exact only where no probability is near 0 or 1."""

    def loss(x: Tensor, y: Tensor) -> Tensor:
        kept = None if ignore_index is None else (y != ignore_index).to(x.dtype)
        y = y if kept is None else y.clamp(min=0)
        p = torch.softmax(x, dim=-1)
        if kind == "focal":
            p = p.gather(-1, y[:, None]).squeeze(-1)
            each = -((1 - p) ** 2 * p.log())
            return each.mean() if kept is None else (each * kept).sum() / kept.sum()
        gold = F.one_hot(y, x.shape[-1]).to(p.dtype)
        if kept is not None:
            p, gold = p * kept[:, None], gold * kept[:, None]
        q = (1 - p) ** 0.1 * p if kind == "self-adjusting dice" else p
        if kind == "Tversky":
            TP, FP, FN = (q * gold).sum(0), (q**2 * (1 - gold)).sum(0), ((1 - q) ** 2 * gold).sum(0)
            return (1 - (TP + 1) / (TP + 0.5 * FP + 0.5 * FN + 1)).mean()
        return (1 - (2 * (q * gold).sum(0) + 1) / ((q**2).sum(0) + gold.sum(0) + 1)).mean()

    return loss


KINDS = ("focal", "dice", "Tversky", "self-adjusting dice")
NAIVE = {f"naive {kind}": naive(kind) for kind in KINDS}


def ours() -> dict[str, LossFunction]:
    """dicebook's losses at set level, as they come."""
    return {
        "dicebook cross entropy": L.cross_entropy,
        "dicebook focal": L.focal,
        "dicebook dice": L.dice,
        "dicebook Tversky": functools.partial(L.dice, fp_weight=0.5, fn_weight=0.5),
        "dicebook self-adjusting dice": functools.partial(L.dice, alpha=0.1),
    }


def compiled() -> dict[str, LossFunction]:
    """What `torch.compile` makes of the plain formulas and of ours.

    Also of the plain formulas with labels that do not count, which ours always look for.
    """
    masked = {f"naive {kind}, ignore_index": naive(kind, ignore_index=-100) for kind in KINDS}
    return {
        f"{name}, compiled": torch.compile(loss, fullgraph=True)
        for name, loss in {**ours(), **NAIVE, **masked}.items()
    }


def peers() -> dict[str, LossFunction]:
    """The losses of other packages, over the whole batch, where installed."""
    found: dict[str, LossFunction] = {}
    if importlib.util.find_spec("monai"):
        from monai.losses import DiceLoss as Monai

        options: dict[str, Any] = {"softmax": True, "to_onehot_y": True, "batch": True}
        linear, squared = Monai(**options), Monai(squared_pred=True, **options)
        found["MONAI dice, linear"] = lambda x, y: linear(x.t()[None], y[None, None])
        found["MONAI dice, squared"] = lambda x, y: squared(x.t()[None], y[None, None])
    spec = importlib.util.find_spec("segmentation_models_pytorch")
    if spec and spec.submodule_search_locations:
        # Its losses need torch alone; the package's own __init__ would also want torchvision.
        package = types.ModuleType("segmentation_models_pytorch")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules.setdefault("segmentation_models_pytorch", package)
        from segmentation_models_pytorch.losses import DiceLoss as Smp

        smp = Smp("multiclass", smooth=1.0)
        found["segmentation-models-pytorch dice"] = lambda x, y: smp(
            x.t()[None, :, :, None], y[None, :, None]
        )
    if importlib.util.find_spec("kornia"):
        from kornia.losses import dice_loss

        found["kornia dice"] = lambda x, y: dice_loss(
            x.t()[None, :, :, None], y[None, :, None], average="macro"
        )
    return found


def seconds(loss: LossFunction, x: Tensor, y: Tensor) -> float:
    """CPU seconds of one forward and backward pass."""
    leaf = x.clone().requires_grad_()
    started = time.thread_time()
    loss(leaf, y).backward()
    return time.thread_time() - started


def peak_memory(loss: LossFunction, x: Tensor, y: Tensor) -> float:
    """Peak memory allocated by forward and backward, gradient included, over that of ``x``."""
    from torch.profiler import ProfilerActivity, profile

    leaf = x.clone().requires_grad_()
    loss(leaf, y).backward()
    leaf.grad = None
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        loss(leaf, y).backward()
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    live = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak / (x.numel() * x.element_size())


class _Counter(TorchDispatchMode):
    """Counts operations that compute: on a GPU each is a kernel or more. Views are free."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += not (func.is_view or "detach" in str(func))
        return func(*args, **(kwargs or {}))


def operations(loss: LossFunction, x: Tensor, y: Tensor) -> int:
    """How many operations forward and backward dispatch, views left out."""
    leaf = x.clone().requires_grad_()
    with _Counter() as counter:
        loss(leaf, y).backward()
    return counter.count


def interleaved(
    losses: dict[str, LossFunction], x: Tensor, y: Tensor, repetitions: int
) -> list[dict[str, float | str]]:
    """Median time of each loss, and median ratio to the first one's next to it."""
    times: dict[str, list[float]] = {name: [] for name in losses}
    order = random.Random(0)
    warm_up = min(5, repetitions)
    for repetition in range(repetitions + warm_up):
        for name in order.sample(list(losses), len(losses)):
            taken = seconds(losses[name], x, y)
            if repetition >= warm_up:
                times[name].append(taken)
    base = next(iter(times.values()))
    return [
        {
            "shape": "×".join(map(str, x.shape)),
            "loss": name,
            "milliseconds": round(1e3 * statistics.median(values), 4),
            "ratio": round(statistics.median(a / b for a, b in zip(values, base, strict=True)), 3),
        }
        for name, values in times.items()
    ]


def compare(
    losses: dict[str, LossFunction], x: Tensor, y: Tensor, repetitions: int
) -> list[dict[str, float | str]]:
    """The times of `interleaved`, peak memory and operations."""
    rows = interleaved(losses, x, y, repetitions)
    for row in rows:
        loss = losses[str(row["loss"])]
        row["peak_memory"] = round(peak_memory(loss, x, y), 2)
        row["operations"] = operations(loss, x, y)
    return rows


def measure_compiled(repetitions: int) -> list[dict[str, float | str]]:
    """The times of compiled losses, which are one kernel or two."""
    generator = torch.Generator().manual_seed(0)
    n, c = COMPILED
    x = torch.randn(n, c, generator=generator)
    y = torch.randint(c, (n,), generator=generator)
    return interleaved({BASELINE: F.cross_entropy, **compiled()}, x, y, repetitions)


def measure(repetitions: int) -> list[dict[str, float | str]]:
    """All shapes."""
    generator = torch.Generator().manual_seed(0)
    rows: list[dict[str, float | str]] = []
    losses = {BASELINE: F.cross_entropy, **ours(), **NAIVE, **peers()}
    for n, c in (*SHAPES, VOCABULARY):
        x = torch.randn(n, c, generator=generator)
        y = torch.randint(c, (n,), generator=generator)
        if (n, c) == VOCABULARY:
            alone = {BASELINE: F.cross_entropy, **ours(), **NAIVE}
            rows += compare(alone, x, y, max(1, repetitions // 10))
        else:
            rows += compare(losses, x, y, repetitions)
    x = torch.randn(BINARY_SHAPE, generator=generator)
    y = (torch.rand(BINARY_SHAPE, generator=generator) < 0.1).float()
    binary: dict[str, LossFunction] = {
        "binary cross entropy (torch)": F.binary_cross_entropy_with_logits,
        "dicebook binary dice": L.binary_dice,
        "dicebook binary self-adjusting dice": functools.partial(L.binary_dice, alpha=0.1),
    }
    return rows + compare(binary, x, y, repetitions)


def share_of_a_step(repetitions: int) -> dict[str, float]:
    """Milliseconds of a step of BERT-base with random weights, and of each loss on its logits."""
    from transformers import BertConfig, BertForTokenClassification
    from transformers.utils import logging

    logging.set_verbosity_error()
    torch.manual_seed(0)
    model = BertForTokenClassification(BertConfig.from_dict({"num_labels": 9}))
    optimizer = torch.optim.AdamW(model.parameters())
    ids, labels = torch.randint(1000, 20_000, STEP), torch.randint(9, STEP)
    steps = []
    for _ in range(3):
        started = time.thread_time()
        logits = model(input_ids=ids).logits
        F.cross_entropy(logits.reshape(-1, 9), labels.reshape(-1)).backward()
        optimizer.step()
        optimizer.zero_grad()
        steps.append(time.thread_time() - started)
    found = {"step of BERT-base": 1e3 * min(steps)}
    flat, targets = logits.detach().reshape(-1, 9), labels.reshape(-1)
    for name, loss in {BASELINE: F.cross_entropy, **ours()}.items():
        taken = [seconds(loss, flat, targets) for _ in range(repetitions)]
        found[name] = 1e3 * statistics.median(taken)
    return {name: round(value, 4) for name, value in found.items()}


def table(rows: list[dict[str, float | str]]) -> str:
    """Milliseconds, ratios and memory as a Markdown table, one column a shape."""
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    cells = {(row["loss"], row["shape"]): row for row in rows}
    head = ["", *map(str, shapes), "operations"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name in dict.fromkeys(row["loss"] for row in rows):
        line = [str(name)]
        for shape in shapes:
            row = cells.get((name, shape))
            text = "{milliseconds:.2f} ms, {ratio:.2f} ({peak_memory:.1f})"
            line.append(text.format(**row) if row else "")
        line.append(str(next(row["operations"] for row in rows if row["loss"] == name)))
        lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines)


def picture(rows: list[dict[str, float | str]], path: Path) -> None:
    """One panel a shape, one bar a loss: milliseconds."""
    import matplotlib.pyplot as plt

    shapes = list(dict.fromkeys(row["shape"] for row in rows))[: len(SHAPES)]
    figure, axes = plt.subplots(2, 2, figsize=(9, 8), sharey=True, layout="constrained")
    for axis, shape in zip(axes.flat, shapes, strict=True):
        chosen = [row for row in rows if row["shape"] == shape][::-1]
        colours = ["#0072b2" if "dicebook" in str(row["loss"]) else "#999999" for row in chosen]
        values = [row["milliseconds"] for row in chosen]
        bars = axis.barh([row["loss"] for row in chosen], values, color=colours)
        axis.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
        axis.margins(x=0.15)
        axis.set_title(f"{str(shape).replace('×', ' examples × ')} classes", fontsize=10)
    figure.supxlabel("milliseconds of forward and backward, one thread")
    with atomic(path) as partial:
        figure.savefig(partial, dpi=130, facecolor="white", format="png")


def environment() -> dict[str, str]:
    """What the numbers depend on."""
    found = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
    }
    for name in ("torch", "monai", "segmentation-models-pytorch", "kornia"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def main() -> None:
    """Measure, print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10 repetitions in place of 100")
    parser.add_argument("--repetitions", type=int, help="how often each loss runs")
    parser.add_argument("--out", type=Path, help="folder for losses.json and losses.png")
    arguments = parser.parse_args()
    repetitions = arguments.repetitions or (10 if arguments.quick else 100)
    if repetitions < 1:
        parser.error(f"--repetitions must be at least 1; got {repetitions}")
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="alpha=")
    rows, step = measure(repetitions), share_of_a_step(repetitions)
    about = environment()
    print(
        "Milliseconds, multiples of cross entropy's time (peak memory in multiples of the logits); "
        f"medians of {repetitions}; {', '.join(' '.join(item) for item in about.items())}\n"
    )
    print(table(rows))
    of_compiled = measure_compiled(repetitions)
    print(f"\nCompiled, {'×'.join(map(str, COMPILED))}, in multiples of cross entropy's time:")
    for row in of_compiled[1:]:
        print(f"  {row['loss']}: {row['milliseconds']:.2f} ms, {row['ratio']:.2f}")
    whole = step["step of BERT-base"]
    print(f"\nOf a step of BERT-base with {STEP[0]} sentences of {STEP[1]}, {whole:.0f} ms:")
    for name, value in list(step.items())[1:]:
        print(f"  {name}: {value:.2f} ms, {100 * value / whole:.3f}%")
    if arguments.out:
        record = {"environment": about, "repetitions": repetitions, "rows": rows, "step": step}
        record["compiled"] = of_compiled
        write_json(arguments.out / "losses.json", record)
        picture(rows, arguments.out / "losses.png")


if __name__ == "__main__":
    main()
