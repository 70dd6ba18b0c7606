"""What a table costs on this machine: its speed is measured for a moment, not assumed.

python -m dicebook.reproduce.estimate --table 9 --profile laptop
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoModel, BertConfig, XLNetConfig

from dicebook.corpora.loading import data_folder
from dicebook.corpora.registry import CORPORA
from dicebook.reproduce import grid

#: Layers, width and millions of parameters of each encoder of the grid.
SHAPES = {
    "bert-base-cased": (12, 768, 108),
    "bert-base-chinese": (12, 768, 102),
    "bert-large-cased": (24, 1024, 334),
    "xlnet-large-cased": (24, 1024, 360),
    "minilm": (6, 384, 23),
    "tiny": (2, 128, 1),
}
#: Training examples of the sets that `data_scripts.augment_pairs` makes of MRPC.
AUGMENTED = {
    **dict.fromkeys(("mrpc_plus_positive", "mrpc_plus_negative", "mrpc_plus_both"), 4_914),
    "mrpc_original": 3_669,
    "mrpc_minus_positive": 2_424,
}
#: Sub-words of BERT-MRC's question for each type of entity.
QUESTION = 12
SCORING = 1.3  # training and the scoring of validation and test, to training alone


class Cost(NamedTuple):
    """What some jobs cost: runs, hours on one device, gigabytes of checkpoints at a time."""

    runs: int
    hours: float
    gigabytes: float


def encoder_of(job: grid.Job) -> tuple[str, int]:
    """A job's encoder, and how many of its layers are frozen."""
    return job.parameters["encoder"], job.parameters["habits"].get("frozen_layers", 0)


def million_tokens(job: grid.Job) -> float:
    """The sub-words that a job trains on, in millions."""
    given = job.parameters
    corpus = CORPORA["mrpc" if given["corpus"] in AUGMENTED else given["corpus"]]
    wanted = given.get("train_size") or 0
    known = AUGMENTED.get(given["corpus"], corpus.examples) or wanted
    examples, length = min(known, wanted or known), corpus.subwords
    if given["system"] == "mrc":
        examples, length = examples * corpus.types, length + QUESTION
    return examples * length * given["epochs"] / 1e6


def cost(jobs: Sequence[grid.Job], speed: Callable[[str, int], float]) -> Cost:
    """What jobs cost, searches for learning rates included.

    Args:
        jobs: the jobs.
        speed: from an encoder and how many of its layers are frozen to the sub-words that it trains
            on in a second.
    """
    seconds, searched = 0.0, set()
    for job in jobs:
        once = million_tokens(job) * 1e6 * SCORING / speed(*encoder_of(job))
        seconds += once
        if job.searched and job.searched not in searched:
            searched.add(job.searched)
            seconds += once / 2 * len(job.parameters["rates"])
    # A run keeps two checkpoints of weights and optimiser, and leaves none.
    largest = max((SHAPES[job.parameters["encoder"]][2] for job in jobs), default=0)
    return Cost(len(jobs), seconds / 3600, 2 * 12 * largest / 1e3)


def measured(
    encoder: str, frozen: int = 0, *, precision: str = "auto", seconds: float = 8.0
) -> float:
    """The sub-words that this machine trains on in a second, measured on random weights.

    Args:
        encoder: one of `SHAPES`.
        frozen: layers of it that are not trained; their output is kept and costs next to nothing.
        precision: ``"bf16"`` for autocast on the CPU; on a GPU it is used anyway.
        seconds: for how long, after one step to warm up.
    """
    layers, width, _ = SHAPES[encoder]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config: Any = BertConfig(
        hidden_size=width,
        num_hidden_layers=layers - frozen,
        num_attention_heads=max(2, width // 64),
        intermediate_size=4 * width,
    )
    if "xlnet" in encoder:
        config = XLNetConfig(d_model=width, n_layer=layers, n_head=width // 64, d_inner=4 * width)
    model = AutoModel.from_config(config).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    batch = 32 if device.type == "cuda" else 2 if width > 384 else 16
    ids = torch.randint(1000, 20_000, (batch, 128), device=device)
    bf16 = device.type == "cuda" or precision == "bf16"

    def step() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            hidden = model(input_ids=ids).last_hidden_state
        hidden.float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if device.type == "cuda":
            torch.cuda.synchronize()

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
    parser.add_argument("--speed", type=float, default=None, help="sub-words a second, if known")
    given = parser.parse_args(arguments)
    try:
        jobs = grid.jobs(given.table, given.profile)
        wanted = grid.of_corpora(jobs, [name for name in given.corpora.split(",") if name])
    except grid.GridError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    precision = wanted[0].parameters.get("precision", "auto")
    encoders = dict.fromkeys(map(encoder_of, wanted))
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "the CPU"
    speeds = {each: given.speed or measured(*each, precision=precision) for each in encoders}
    for (name, frozen), speed in speeds.items():
        how = "as given" if given.speed else f"measured on {device}"
        part = f", {frozen} layers frozen" if frozen else ""
        print(f"{name}{part}: {speed:,.0f} sub-words a second, {how}")
    total = cost(wanted, lambda *encoder: speeds[encoder])
    print(
        f"Table {given.table}, profile {given.profile}: {total.runs} runs, about {total.hours:.1f} "
        f"hours one after the other, {total.gigabytes:.1f} GB of checkpoints for each run at a time"
    )
    data = Path(data_folder())
    if absent := grid.missing(wanted, data):
        print(f"Not in {data}:\n{grid.how_to_get(absent, data)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
