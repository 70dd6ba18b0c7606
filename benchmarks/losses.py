"""What a loss costs in time, beside those of other packages, and its share of a training step.

Everything runs on one thread, one call of each loss after the other, each time in another order, so
that whatever else the machine does meets all of them alike. Time is the thread's CPU time: on a
busy machine it leaves out the waiting.

    python -m benchmarks.losses --quick                  # a look, a minute
    python -m benchmarks.losses --out DIR                # the table, and losses.json
"""

from __future__ import annotations

import argparse
import functools
import platform
import random
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.beside import dice_of_others, versions
from dicebook.losses import functional as L
from dicelab.atomic import write_json

LossFunction = Callable[[Tensor, Tensor], Tensor]
# A batch of 32 sentences of 128 sub-words, with the labels of CoNLL 2003, UD and XPOS tags.
SHAPES = [(4096, 9), (4096, 17), (8192, 50), (65536, 9)]
VOCABULARY = (1024, 50257)  # the logits of a language model, in a tenth of the repetitions
BINARY_SHAPE = (128, 512)
BASELINE = "cross entropy (torch)"
STEP = (8, 128)  # sentences and sub-words of the training step


def ours() -> dict[str, LossFunction]:
    """dicebook's losses at set level, as they come."""
    return {
        "dicebook cross entropy": L.cross_entropy,
        "dicebook focal": L.focal,
        "dicebook dice": L.dice,
        "dicebook Tversky": functools.partial(L.dice, fp_weight=0.5, fn_weight=0.5),
        "dicebook self-adjusting dice": functools.partial(L.dice, alpha=0.1),
    }


def seconds(loss: LossFunction, x: Tensor, y: Tensor) -> float:
    """CPU seconds of one forward and backward pass."""
    leaf = x.clone().requires_grad_()
    started = time.thread_time()
    loss(leaf, y).backward()
    return time.thread_time() - started


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


def measure(repetitions: int) -> list[dict[str, float | str]]:
    """All shapes."""
    generator = torch.Generator().manual_seed(0)
    rows: list[dict[str, float | str]] = []
    losses = {BASELINE: F.cross_entropy, **ours(), **dice_of_others()}
    for n, c in (*SHAPES, VOCABULARY):
        x = torch.randn(n, c, generator=generator)
        y = torch.randint(c, (n,), generator=generator)
        if (n, c) == VOCABULARY:
            alone = {BASELINE: F.cross_entropy, **ours()}
            rows += interleaved(alone, x, y, max(1, repetitions // 10))
        else:
            rows += interleaved(losses, x, y, repetitions)
    x = torch.randn(BINARY_SHAPE, generator=generator)
    y = (torch.rand(BINARY_SHAPE, generator=generator) < 0.1).float()
    binary: dict[str, LossFunction] = {
        "binary cross entropy (torch)": F.binary_cross_entropy_with_logits,
        "dicebook binary dice": L.binary_dice,
        "dicebook binary self-adjusting dice": functools.partial(L.binary_dice, alpha=0.1),
    }
    return rows + interleaved(binary, x, y, repetitions)


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
    """Milliseconds and ratios as a Markdown table, one column a shape."""
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    cells = {(row["loss"], row["shape"]): row for row in rows}
    head = ["", *map(str, shapes)]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name in dict.fromkeys(row["loss"] for row in rows):
        line = [str(name)]
        for shape in shapes:
            row = cells.get((name, shape))
            text = "{milliseconds:.2f} ms, {ratio:.2f}"
            line.append(text.format(**row) if row else "")
        lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines)


def environment() -> dict[str, str]:
    """What the numbers depend on."""
    found = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
    }
    return found | versions()


def main() -> None:
    """Measure, print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10 repetitions in place of 100")
    parser.add_argument("--repetitions", type=int, help="how often each loss runs")
    parser.add_argument("--out", type=Path, help="folder for losses.json")
    arguments = parser.parse_args()
    repetitions = arguments.repetitions or (10 if arguments.quick else 100)
    if repetitions < 1:
        parser.error(f"--repetitions must be at least 1; got {repetitions}")
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="alpha=")
    rows, step = measure(repetitions), share_of_a_step(repetitions)
    about = environment()
    print(
        "Milliseconds, multiples of cross entropy's time; "
        f"medians of {repetitions}; {', '.join(' '.join(item) for item in about.items())}\n"
    )
    print(table(rows))
    whole = step["step of BERT-base"]
    print(f"\nOf a step of BERT-base with {STEP[0]} sentences of {STEP[1]}, {whole:.0f} ms:")
    for name, value in list(step.items())[1:]:
        print(f"  {name}: {value:.2f} ms, {100 * value / whole:.3f}%")
    if arguments.out:
        record = {"environment": about, "repetitions": repetitions, "rows": rows, "step": step}
        write_json(arguments.out / "losses.json", record)


if __name__ == "__main__":
    main()
