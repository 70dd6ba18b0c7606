"""What else makes training fast: compiling, half precision, padding; and a run's own cost.

Each comparison takes turns, a few calls or steps each, so that whatever else the machine does
slows all of them. Prints ratios, and writes them where --out says.

    python benchmarks/scale.py --corpus wnut17 --encoder FOLDER --out scale.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers.trainer_pt_utils import LengthGroupedSampler

from dicebook import make_loss
from dicelab.atomic import write_json
from dicelab.corpora import load
from dicelab.records import runs
from dicelab.tasks import tagging
from dicelab.training.encoders import load_tokenizer

ROOT = Path(__file__).resolve().parents[1]


def ratios(taken: dict[str, list[float]]) -> dict[str, list[float]]:
    """Median, lowest and highest ratio to the first of them, round by round."""
    first = next(iter(taken.values()))
    found = {}
    for name, values in taken.items():
        of_rounds = [a / b for a, b in zip(values, first, strict=True)]
        found[name] = [statistics.median(of_rounds), min(of_rounds), max(of_rounds)]
    return found


def batches(
    split: Any, tokenizer: Any, batch_size: int, max_length: int | None
) -> Iterator[dict[str, Any]]:
    """Endless training batches; with a maximal length padded to it and not grouped."""
    collate = tagging.collator(tokenizer)
    length = [len(ids) for ids in split["input_ids"]]
    sampler = None if max_length else LengthGroupedSampler(batch_size, lengths=length)
    loader = DataLoader(
        split, batch_size, shuffle=sampler is None, sampler=sampler, collate_fn=collate
    )
    while True:
        for batch in loader:
            short = (max_length or 0) - batch["input_ids"].shape[1]
            if short > 0:
                values = {"input_ids": tokenizer.pad_token_id, "labels": -100}
                batch = {
                    name: torch.nn.functional.pad(t, (0, short), value=values.get(name, 0))
                    for name, t in batch.items()
                }
            yield batch


def train_step(model: Any, optimizer: Any, loss: Any, batch: dict[str, Any]) -> int:
    """One step; how many sub-words other than padding it saw."""
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    loss(model(**inputs).logits, batch["labels"]).backward()
    optimizer.step()
    optimizer.zero_grad()
    return int(batch["attention_mask"].sum())


def training(corpus: str, encoder: str, rounds: int, steps: int) -> dict[str, Any]:
    """Steps of a tagger: seconds for each sub-word that is no padding, relative to fp32."""
    data = load(corpus, task="tagging")
    texts = (" ".join(tokens) for tokens in data["train"]["tokens"])
    tokenizer = load_tokenizer(encoder, texts, max_length=128)
    encoded = tagging.encode(data, tokenizer, max_length=128)
    taken: dict[str, list[float]] = {}
    stepping = {}
    for name in ("fp32", "padded to 128", "bf16", "compiled"):
        torch.manual_seed(0)
        model = tagging.model(encoder, tokenizer, encoded.labels).train()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
        source = batches(
            encoded.splits["train"], tokenizer, 32, 128 if name == "padded to 128" else None
        )
        if name == "compiled":
            model = torch.compile(model, dynamic=True)
        stepping[name] = model, optimizer, source
        taken[name] = []
    loss = make_loss("ce")
    compiling = 0.0
    for number in range(rounds + 1):
        for name, (model, optimizer, source) in stepping.items():
            started, tokens = time.perf_counter(), 0
            for _ in range(steps):
                with torch.autocast("cpu", torch.bfloat16, enabled=name == "bf16"):
                    tokens += train_step(model, optimizer, loss, next(source))
            seconds = time.perf_counter() - started
            if number:
                taken[name].append(seconds / tokens)
            elif name == "compiled":
                compiling = seconds
            print(
                f"  round {number}, {name}: {tokens / seconds:.0f} sub-words a second", flush=True
            )
    return {"seconds of the first steps, compiled": compiling, "time": ratios(taken)}


def overhead() -> dict[str, float]:
    """Seconds that papermill, a kernel and the imports add to the training of one run."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"loss": "ce", "max_steps": 1, "train_size": 64, "output_dir": folder}
        options = [text for name, value in given.items() for text in ("-p", name, str(value))]
        chapter = ROOT / "notebooks" / "11_paraphrases.ipynb"
        papermill = [sys.executable, "-m", "papermill", "--no-progress-bar", "--cwd", str(ROOT)]
        started = time.perf_counter()
        subprocess.run(
            [*papermill, str(chapter), f"{folder}/out.ipynb", *options],
            check=True,
            capture_output=True,
        )
        whole = time.perf_counter() - started
        (record,) = runs.read_records(Path(folder))
    return {"run": whole, "training": record["measured"]["seconds"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="embedded-entities-en")
    parser.add_argument("--encoder", default="tiny")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3, help="training steps of each in a round")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", choices=("training", "overhead"), help="measure a part")
    given = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, Any] = {
        "machine": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}, "
        f"one thread of {os.cpu_count()}",
        "versions": runs.versions(),
        "corpus": given.corpus,
        "encoder": Path(given.encoder).name,
    }
    if given.only and given.out and given.out.exists():  # the rest stays as it was measured
        found |= json.loads(given.out.read_text(encoding="utf-8"))
    if given.only in (None, "training"):
        found["training"] = training(given.corpus, given.encoder, given.rounds, given.steps)
    if given.only in (None, "overhead"):
        found["run of the grid"] = overhead()
    print(json.dumps(found, indent=1))
    if given.out:
        write_json(given.out, found)


if __name__ == "__main__":
    main()
