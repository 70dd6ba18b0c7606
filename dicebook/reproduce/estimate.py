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
#: Training examples, and sub-words of one: roughly, by each corpus's own counts.
SIZES = {
    "ctb5": (18_085, 45),
    "ctb6": (23_416, 48),
    "ud_zh": (3_997, 40),
    "wsj": (38_219, 29),
    "wsj_sample": (3_131, 29),
    "ud_en_ewt": (12_544, 25),
    "ritter": (551, 27),
    "conll03": (14_041, 19),
    "ontonotes5": (59_924, 23),
    "msra": (45_000, 46),
    "ontonotes4_zh": (15_650, 32),
    "wnut17": (3_394, 28),
    "crossner_politics": (200, 60),
    "uner_zh_gsd": (3_997, 40),
    "uner_en_ewt": (1_000, 18),
    "squad11": (87_599, 171),
    "squad20": (130_319, 171),
    "quoref": (19_399, 464),
    "mrpc": (3_301, 54),
    "qqp": (327_462, 30),
    "qqp_wang": (5_000, 30),
    **{f"qqp_{name}": (458_477, 30) for name in ("plus_positive", "plus_negative", "plus_both")},
    "qqp_original": (363_871, 30),
    "qqp_minus_negative": (269_165, 30),
    **{f"mrpc_{name}": (4_914, 54) for name in ("plus_positive", "plus_negative", "plus_both")},
    "mrpc_original": (3_669, 54),
    "mrpc_minus_positive": (2_424, 54),
    "sst2": (6_920, 25),
    "sst5": (8_544, 25),
}
#: Types of entities: BERT-MRC asks a question of some twelve sub-words for each.
TYPES = {
    "conll03": 4,
    "ontonotes5": 18,
    "msra": 3,
    "ontonotes4_zh": 4,
    "wnut17": 6,
    "crossner_politics": 9,
    "uner_zh_gsd": 3,
    "uner_en_ewt": 3,
}
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
    examples, length = SIZES.get(given["corpus"], (given.get("train_size") or 64, 40))
    examples = min(examples, given.get("train_size") or examples)
    if given["system"] == "mrc":
        types = TYPES.get(given["corpus"], 4)
        examples, length = examples * types, length + QUESTION
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
