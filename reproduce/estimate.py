"""What a table costs on this machine: its speed is measured for a moment, not assumed.

python -m reproduce.estimate --table 9 --profile laptop
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoModel, BertConfig, XLNetConfig

from dicelab.corpora.loading import data_folder
from dicelab.corpora.registry import CORPORA
from dicelab.training.trainer import precision_of
from reproduce import grid, memory

#: Sub-words of BERT-MRC's question for each type of entity.
QUESTION = 12
#: What `gpu/speed.json` of the records has of an H100, with random weights and no loss of ours. A
#: step takes at least its launches, however small: seconds for a base and a large encoder.
LAUNCHES = {"base": 0.048, "large": 0.095}
#: Sub-words a second of BERT-large where the card has enough to do, in bf16 and in fp32; another
#: encoder's follow from the products of its matrices.
FULL = {"bf16": 113_000.0, "fp32": 22_000.0}
CARD = 85.0  # gigabytes of that card
RECOMPUTING = 4 / 3  # one more pass forward, beside two backward and one forward
BUSY = {"cpu": 1024, "cuda": 32_768}  # sub-words of a step above which none is faster for each
SCORING = 1.3  # training and the scoring of validation and test, to training alone


class Cost(NamedTuple):
    """What some jobs cost: runs, hours on one device, gigabytes of checkpoints at a time."""

    runs: int
    hours: float
    gigabytes: float


class Shape(NamedTuple):
    """What tells how fast a job trains: encoder, frozen layers, inputs, their length, precision."""

    encoder: str
    frozen: int
    batch: int
    length: int
    precision: str = "auto"


def shape_of(job: grid.Job) -> Shape:
    """A job's encoder, how many of its layers are frozen, its batch and an input's usual length."""
    parameters = job.parameters
    return Shape(
        parameters["encoder"],
        parameters["habits"].get("frozen_layers", 0),
        parameters["batch_size"] // division_of(job).parts,
        min(parameters["max_length"], _length(job)),
        parameters.get("precision", "auto"),
    )


def division_of(job: grid.Job, card: float = CARD) -> memory.Division:
    """How the batch of a job's step is divided on a card, its longest input as long as may be.

    Args:
        job: the job.
        card: gigabytes of the card.
    """
    parameters = job.parameters
    return memory.divided(
        memory.SIZES[parameters["encoder"]],
        parameters["batch_size"],
        parameters["max_length"],
        memory.USED * card,
        whole=memory.is_whole(parameters["system"], parameters["loss"]),
        half=parameters.get("precision") != "fp32",
    )


def _length(job: grid.Job) -> int:
    """Sub-words of an input, as the corpus has them."""
    name, mrc = job.parameters["corpus"], job.parameters["system"] == "mrc"
    return CORPORA[name].subwords + QUESTION * mrc


def million_tokens(job: grid.Job) -> float:
    """The sub-words that a job trains on, in millions."""
    parameters = job.parameters
    corpus = CORPORA[parameters["corpus"]]
    train_size = parameters.get("train_size") or 0
    known = corpus.examples or train_size
    examples = min(known, train_size or known) * (
        corpus.types if parameters["system"] == "mrc" else 1
    )
    return examples * _length(job) * parameters["epochs"] / 1e6


def cost(jobs: Sequence[grid.Job], speed: Callable[[Shape], float]) -> Cost:
    """What jobs cost, searches for learning rates included.

    Args:
        jobs: the jobs.
        speed: from a shape to the sub-words that it trains on in a second.
    """
    seconds, searched = 0.0, set()
    for job in jobs:
        once = million_tokens(job) * 1e6 * SCORING / speed(shape_of(job))
        once *= RECOMPUTING if division_of(job).recompute else 1
        seconds += once
        if job.searched and job.searched not in searched:
            searched.add(job.searched)
            seconds += once / 2 * len(job.parameters["rates"])
    # A run keeps two checkpoints of weights and optimiser, and leaves none.
    sizes = (memory.SIZES[job.parameters["encoder"]] for job in jobs)
    largest = max((size.millions for size in sizes), default=0)
    return Cost(len(jobs), seconds / 3600, 2 * 12 * largest / 1e3)


def assumed(shape: Shape) -> float:
    """The sub-words a second that are taken for granted on a GPU, see `LAUNCHES` and `FULL`."""
    layers, width, *_ = memory.SIZES[shape.encoder]
    large = memory.SIZES["bert-large-cased"]
    products = large.layers * large.width**2 / (layers * width**2)
    full = FULL["fp32" if shape.precision == "fp32" else "bf16"] * products
    tokens = shape.batch * shape.length
    return tokens / max(LAUNCHES["large" if width > 768 else "base"], tokens / full)


def minutes(job: grid.Job, *, search: bool = False) -> int:
    """The minutes to ask of a cluster for a job, or for its search: thrice what is assumed."""
    one_run = replace(job, parameters={**job.parameters, "rates": []})
    hours = cost([one_run], assumed).hours * (len(job.parameters["rates"]) / 2 if search else 1)
    return max(60, round(3 * 60 * hours))


def measured(shape: Shape, *, device: str = "", seconds: float = 8.0) -> float:
    """The sub-words that this machine trains on in a second, measured on random weights.

    Args:
        shape: that of the jobs; the output of frozen layers is kept and costs next to nothing. Of a
            batch so many inputs are taken as keep a device busy, `BUSY`.
        device: ``"cuda"`` or ``"cpu"``; empty: a GPU if there is one.
        seconds: for how long, after a step to warm up, and three on a GPU.
    """
    layers, width, *_ = memory.SIZES[shape.encoder]
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    config: Any = BertConfig(
        hidden_size=width,
        num_hidden_layers=layers - shape.frozen,
        num_attention_heads=max(2, width // 64),
        intermediate_size=4 * width,
    )
    if "xlnet" in shape.encoder:
        config = XLNetConfig(d_model=width, n_layer=layers, n_head=width // 64, d_inner=4 * width)
    with place:  # drawing a large one's weights on a CPU takes seconds
        model = AutoModel.from_config(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    inputs = min(shape.batch, max(1, BUSY[place.type] // shape.length))
    ids = torch.randint(1000, 20_000, (inputs, shape.length), device=place)
    kind = precision_of(shape.precision, place)
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(kind)

    def step() -> None:
        with torch.autocast(place.type, dtype, enabled=dtype is not None):
            hidden = model(input_ids=ids).last_hidden_state
        hidden.float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if place.type == "cuda":
            torch.cuda.synchronize()

    for _ in range(3 if place.type == "cuda" else 1):
        step()
    start, steps = time.perf_counter(), 0
    while steps == 0 or time.perf_counter() - start < seconds:
        step()
        steps += 1
    return steps * ids.numel() / (time.perf_counter() - start)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", type=int, required=True)
    parser.add_argument("--profile", default="default")
    parser.add_argument("--corpora", default="", help="only these, with commas between")
    parser.add_argument("--losses", default="", help="only these, with commas between")
    parser.add_argument("--speed", type=float, default=None, help="sub-words a second, if known")
    args = parser.parse_args(arguments)
    try:
        corpora, losses = (t.split(",") if t else [] for t in (args.corpora, args.losses))
        jobs = grid.only(grid.jobs(args.table, args.profile, corpora), corpora, losses)
    except grid.GridError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    shapes = dict.fromkeys(map(shape_of, jobs))
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "the CPU"
    speeds = {each: args.speed or measured(each) for each in shapes}
    for (name, frozen, batch, length, _), speed in speeds.items():
        how = "as given" if args.speed else f"measured on {device}"
        part = f", {frozen} layers frozen" if frozen else ""
        inputs = f"{batch} inputs of {length} sub-words"
        print(f"{name}{part}, {inputs}: {speed:,.0f} sub-words a second, {how}")
    total = cost(jobs, lambda shape: speeds[shape])
    print(
        f"Table {args.table}, profile {args.profile}: {total.runs} runs, about {total.hours:.1f} "
        f"hours one after the other, {total.gigabytes:.1f} GB of checkpoints for each run at a time"
    )
    data = Path(data_folder())
    if absent := grid.missing(jobs, data):
        print(f"Not in {data}:\n{grid.how_to_get(absent, data)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
