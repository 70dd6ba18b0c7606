"""One command for a machine with a GPU: does everything here run on it, and what does it cost?

    python -m reproduce.gpu                       # or: make gpu
    python -m reproduce.gpu --device cpu          # to try this script out

Seven steps: what the device is; every system on an embedded corpus, for a moment, beside the same
run on the CPU; what each loss costs alone, and what as part of a training step; what a step of an
encoder costs, by its sub-words; two rows of Table 7 with the batch of a step whole and in parts;
and a table of the profile `laptop`. Each is noted in ``OUT/record.json`` as it ends, whether well
or not. The first five need no network and no corpora, the sixth MRPC as `dicebook data` leaves it
and a pretrained encoder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch.utils.benchmark import Timer

from dicebook import make_loss
from dicelab.corpora.loading import data_folder
from dicelab.records import runs
from reproduce import estimate, grid, systems
from reproduce.cards import cards, driver, why_none

ROOT = Path(__file__).resolve().parents[1]
#: A table and system for each way to train.
SYSTEMS = [(3, "tagger"), (5, "tagger"), (5, "mrc"), (6, "choice"), (6, "decisions"), (9, "pairs")]
LOSSES = ("ce", "wce", "fl", "dl", "tl", "dsc")
SHAPE = (4096, 9)  # sub-words of 32 sentences, labels of CoNLL 2003
STEP = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12}  # MiniLM's
COMPILED = ("ce, torch", "ce", "dl", "dsc")
COMPILED_STEPS = ("ce, torch", "dl")
TABLES = (9, 4, 7)  # of the profile laptop, the first whose corpora are there
SIZES = ("bert-base-cased", "bert-large-cased")
INPUTS, LENGTH = (8, 32, 128, 512), 64  # of the step speed
PART = 4  # pairs of a part: OntoNotes 5.0's focal script has that few sentences
PARTED = {"max_steps": 50, "eval_size": 100}  # of which ten warm up
#: Of a step's loss, whole and in parts. Sums in another order differ in the last digit of fp32, and
#: AdamW makes more of it from step to step.
CLOSE = 1e-3

Step = Callable[[argparse.Namespace], dict[str, Any]]


def device(args: argparse.Namespace) -> dict[str, Any]:
    """What the device is."""
    info: dict[str, Any] = {"device": args.device, "torch": torch.__version__}
    if args.device == "cuda":
        facts = torch.cuda.get_device_properties(0)
        info |= {
            "name": facts.name,
            "gigabytes": round(facts.total_memory / 1e9, 1),
            "capability": f"{facts.major}.{facts.minor}",
            "cards": cards(),
            "cuda": str(torch.version.cuda),
            "driver": driver(),
            "bf16": torch.cuda.is_bf16_supported(including_emulation=False),
        }
    return info


def smoke(args: argparse.Namespace) -> dict[str, Any]:
    """Every system with cross entropy and dice, on the device and on the CPU."""
    rows = []
    for table, system in SYSTEMS:
        for loss in ("ce", "dl"):
            jobs = (job.parameters for job in grid.jobs(table, "smoke"))
            job = next(j for j in jobs if j["system"] == system)
            job = {**job, "loss": loss, "loss_options": {}}
            cpu = systems.run({**job, "device": "cpu", "precision": "fp32"})
            cpu_loss = cpu["history"][-1]["validation_loss"]
            row = {"corpus": job["corpus"], "system": system, "loss": loss}
            for precision in ("fp32", "auto"):
                record = systems.run({**job, "device": args.device, "precision": precision})
                measured, last = record["measured"], record["history"][-1]["validation_loss"]
                row |= {
                    f"validation loss, {precision}": last,
                    f"minus the CPU's, {precision}": last - cpu_loss,
                    f"seconds, {precision}": measured["seconds"],
                    f"peak memory, MB, {precision}": measured["peak_memory_bytes"] / 1e6,
                }
            rows.append(row)
    return {"rows": rows}


def losses(args: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of forward and backward of each loss, as it is and compiled.

    The ratios are to torch's own cross entropy.
    """
    logits = torch.randn(SHAPE, device=args.device, requires_grad=True)
    target = torch.randint(SHAPE[1], SHAPE[:1], device=args.device)
    work: dict[str, Any] = {"logits": logits, "target": target}
    statement = "loss(logits, target).backward()"
    rows: list[dict[str, Any]] = []
    for name, loss in _timed(args.device).items():
        work["loss"] = loss
        rows.append({"loss": name, "milliseconds": _milliseconds(statement, work, args.seconds)})
        if args.compile and name in COMPILED:
            work["loss"] = torch.compile(loss)
            compiled = _milliseconds(statement, work, args.seconds)
            rows[-1]["milliseconds, compiled"] = compiled
    for row in rows:
        row["ratio"] = row["milliseconds"] / rows[0]["milliseconds"]
    return {"shape": list(SHAPE), "rows": rows}


def step(args: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of a training step with each loss, as it is and compiled as a whole."""
    from transformers import BertConfig, BertForTokenClassification

    width = STEP["hidden_size"]
    sizes = {**STEP, "intermediate_size": 4 * width, "num_labels": SHAPE[1]}
    model = BertForTokenClassification(BertConfig.from_dict(sizes)).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
    # On a CPU that many sub-words would take minutes; there it only shows that it runs.
    shape = (32, SHAPE[0] // 32) if args.device == "cuda" else (1, 8)
    ids = torch.randint(1000, 20_000, shape, device=args.device)
    target = torch.randint(SHAPE[1], (ids.numel(),), device=args.device)

    def forward(loss: Callable[..., torch.Tensor]) -> torch.Tensor:
        with torch.autocast(args.device, torch.bfloat16):
            logits = model(input_ids=ids).logits
        return loss(logits.flatten(0, 1), target)

    def train(run: Callable[..., torch.Tensor], loss: Callable[..., torch.Tensor]) -> None:
        run(loss).backward()
        optimizer.step()
        optimizer.zero_grad()

    rows: list[dict[str, Any]] = []
    for name, loss in _timed(args.device).items():
        work: dict[str, Any] = {"train": train, "run": forward, "loss": loss}
        taken = _milliseconds("train(run, loss)", work, args.seconds)
        rows.append({"loss": name, "milliseconds": taken})
        if args.compile and name in COMPILED_STEPS:
            work["run"] = torch.compile(forward)
            compiled = _milliseconds("train(run, loss)", work, args.seconds)
            rows[-1]["milliseconds, compiled"] = compiled
    for row in rows:
        row["more than cross entropy"] = row["milliseconds"] - rows[0]["milliseconds"]
    return {"inputs": list(shape), **STEP, "rows": rows}


def _timed(device: str) -> dict[str, Callable[..., torch.Tensor]]:
    made: dict[str, Callable[..., torch.Tensor]] = {"ce, torch": torch.nn.functional.cross_entropy}
    for name in LOSSES:
        options: dict[str, Any] = {"weight": torch.ones(SHAPE[1])} if name == "wce" else {}
        made[name] = make_loss(name, **options).to(device)
    return made


def _milliseconds(statement: str, work: dict[str, Any], seconds: float) -> float:
    timer = Timer(statement, globals=work)
    timer.timeit(3)  # a compiled one is compiled here
    return 1e3 * timer.blocked_autorange(min_run_time=seconds).median


def speed(args: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of a training step of an encoder with random weights, by its sub-words."""
    rows = []
    for encoder in args.sizes:
        for precision in ("bf16", "fp32"):
            for inputs in INPUTS if args.device == "cuda" else INPUTS[:1]:
                shape = estimate.Shape(encoder, 0, inputs, LENGTH, precision)
                a_second = estimate.measured(shape, device=args.device, seconds=args.seconds)
                rows.append(
                    {
                        "encoder": encoder,
                        "precision": precision,
                        "sub-words a step": inputs * LENGTH,
                        "milliseconds": 1e3 * inputs * LENGTH / a_second,
                        "sub-words a second": a_second,
                    }
                )
    return {"rows": rows}


def batch(args: argparse.Namespace) -> dict[str, Any]:
    """MRPC's rows of Table 7 with cross entropy and dice, a step's batch whole and in parts of 4.

    The losses of all steps must agree, for which dropout is off; the speeds need not.
    """
    data = data_folder()
    jobs = grid.only(grid.jobs(7, "paper"), ["mrpc"], ["ce", "dsc"])
    if grid.missing(jobs, data):
        return {"left out": f"MRPC is not in {data}; DICEBOOK_DATA names another folder"}
    bert_jobs = [job.parameters for job in jobs if job.parameters["backbone"] == "BERT"]
    rows: list[dict[str, Any]] = []
    for job in bert_jobs:
        whole: list[float] = []
        rows_a_step = job["batch_size"] * job.get("gradient_accumulation", 1)
        for part in (rows_a_step, PART):
            record = systems.run(
                {
                    **job,
                    **PARTED,
                    "encoder": args.encoder,
                    "device": args.device,
                    "batch_size": part,
                    "gradient_accumulation": rows_a_step // part,
                    "habits": {
                        "dropout": 0.0,
                        "attention_dropout": 0.0,
                        "training": {
                            **job["habits"]["training"],
                            "logging_strategy": "steps",
                            "logging_steps": 1,
                        },
                    },
                }
            )
            step_losses = [entry["loss"] for entry in record["history"]]
            whole = whole or step_losses
            apart = [abs(a - b) / abs(b) for a, b in zip(step_losses, whole, strict=True)]
            measured = record["measured"]
            rows.append(
                {
                    "loss": job["loss"],
                    "pairs a step": rows_a_step,
                    "parts": rows_a_step // part,
                    "first loss": step_losses[0],
                    "last loss": step_losses[-1],
                    "from the whole, first": apart[0],
                    "from the whole, most": max(apart),
                    "milliseconds a step": 1e3 * measured["seconds_per_step"],
                    "sub-words a second": measured["tokens_per_second"],
                    "peak memory, MB": measured["peak_memory_bytes"] / 1e6,
                    "losses": step_losses,
                }
            )
    most = max(row["from the whole, most"] for row in rows)
    ended = "well" if most < CLOSE else "badly"
    precision = bert_jobs[0]["precision"]
    return {"ended": ended, "allowed": CLOSE, "precision": precision, "rows": rows}


def table(args: argparse.Namespace) -> dict[str, Any]:
    """A table of the profile laptop, as `make reproduce` makes it."""
    tables = [args.table] if args.table else TABLES
    data = data_folder()
    available = [n for n in tables if not grid.missing(grid.jobs(n, args.profile), data)]
    if not available:
        return {
            "left out": f"the corpora of Tables {', '.join(map(str, tables))} are not in {data}"
        }
    out = args.out / "tables"
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "reproduce" / "Snakefile"]
    command += ["--cores", str(os.cpu_count() or 1), "--keep-going", "--rerun-incomplete"]
    command += ["--config", f"table={available[0]}", f"profile={args.profile}", f"out={out}"]
    command += ["gpus=0"] if args.device == "cpu" else []
    subprocess.run(list(map(str, command)), check=True)
    records = runs.read_records(out / f"table{available[0]}.jsonl")
    devices = sorted({record["measured"]["device"] for record in records})
    seconds = sum(record["measured"]["seconds"] for record in records)
    made = str(out / f"table{available[0]}.md")
    return {
        "table": available[0],
        "runs": len(records),
        "on": devices,
        "seconds": seconds,
        "made": made,
    }


STEPS: dict[str, Step] = {
    "device": device,
    "smoke": smoke,
    "losses": losses,
    "step": step,
    "speed": speed,
    "batch": batch,
    "table": table,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps, print what they found, write the record; 1 if a step failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--table", type=int, help=f"instead of the first there is of {TABLES}")
    parser.add_argument("--profile", default="laptop", help="of the table")
    parser.add_argument(
        "--encoder",
        default=os.environ.get("DICEBOOK_ENCODER", "minilm"),
        help="of the step batch; default: what DICEBOOK_ENCODER says, else minilm",
    )
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="encoders of the step speed")
    parser.add_argument("--seconds", type=float, default=1.0, help="for which each speed is timed")
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="in no form")
    parser.add_argument("--out", type=Path, default=Path("runs/gpu"))
    args = parser.parse_args(arguments)
    if args.device == "cuda" and not torch.cuda.is_available():
        print(f"error: {why_none()}. --device cpu tries the script out.", file=sys.stderr)
        return 2
    record: dict[str, Any] = {"versions": runs.versions(), "steps": {}}
    for name in args.only:
        print(f"== {name}", flush=True)
        start = time.perf_counter()
        try:
            result: dict[str, Any] = {"ended": "well", **STEPS[name](args)}
        except Exception as error:  # the next step may tell more
            result = {"ended": "badly", "error": repr(error), "trace": traceback.format_exc()}
            print(result["trace"], file=sys.stderr)
        record["steps"][name] = {**result, "wall seconds": round(time.perf_counter() - start, 1)}
        runs.write_json(args.out / "record.json", record)
        _show(result)
    bad = [name for name, result in record["steps"].items() if result["ended"] == "badly"]
    outcome = f"failed: {', '.join(bad)}" if bad else "all went well"
    print(f"{args.out / 'record.json'}: {outcome}")
    return 1 if bad else 0


def _show(result: dict[str, Any]) -> None:
    rows = result.get("rows")
    if rows:
        print(
            pd.DataFrame(rows)
            .drop(columns="losses", errors="ignore")
            .round(6)
            .to_string(index=False),
            flush=True,
        )
    else:
        facts = {k: v for k, v in result.items() if k != "trace"}
        print("\n".join(f"{key}: {value}" for key, value in facts.items()), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
