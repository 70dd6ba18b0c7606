"""Chapters 08 to 11 on a GPU: real corpora, a real encoder, bf16, and no network.

    python benchmarks/gpu.py --encoder minilm
    python benchmarks/gpu.py --encoder FOLDER --only 09 11 --set epochs=4 --set loss=ce,dsc

Each chapter is one papermill run; its executed notebook, checkpoints and records stay below
``--out``, and the same command goes on after a kill. Ends with a table of F1, speed and memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import torch
import yaml

from dicelab.corpora.loading import EMBEDDED, data_folder
from dicelab.records import runs

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = {
    "08": ("08_part_of_speech", "ud_en_ewt"),
    "09": ("09_named_entities", "wnut17"),
    "10": ("10_reading", "squad11"),
    "11": ("11_paraphrases", "mrpc"),
}
SETTINGS = {
    "loss": "ce,fl,dl,dsc",
    "loss_options": {"dl": {"squared": True}, "dsc": {"squared": True, "alpha": 0.1}},
    "epochs": 4,
    "learning_rate": 5e-5,
    "batch_size": 32,
    "max_length": 256,
}


def run(number: str, given: argparse.Namespace) -> Path:
    """Execute a chapter; returns the folder of its records."""
    chapter, corpus = CHAPTERS[number]
    folder: Path = given.out / chapter
    folder.mkdir(parents=True, exist_ok=True)
    parameters = {
        **SETTINGS,
        "corpus": corpus,
        "encoder": given.encoder,
        "device": given.device,
        "precision": given.precision,
        **({"reader_epochs": 2} if number == "09" else {}),
        **{name: yaml.safe_load(value) for name, value in map(_pair, given.set)},
        "output_dir": str(folder),
    }
    print(f"{chapter} on {parameters['corpus']}", flush=True)
    command = [sys.executable, "-m", "papermill", "--cwd", str(Path.cwd())]
    command += [str(ROOT / "notebooks" / f"{chapter}.ipynb"), str(folder / f"{chapter}.ipynb")]
    for name, value in parameters.items():
        command += ["-y", yaml.safe_dump({name: value}, default_flow_style=True).strip()]
    subprocess.run(command, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    return folder


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def table(out: Path, folders: list[Path]) -> pd.DataFrame:
    """What the runs reached, one row a run; a chapter may train a loss more than once."""
    rows = []
    for folder in folders:
        for path in sorted(folder.rglob("record.json")):
            (record,) = runs.read_records(path)
            measured = record["measured"]
            rows.append(
                {
                    "run": path.parent.relative_to(out).as_posix(),
                    "loss": runs.loss_label(record),
                    "test F1": round(record["metrics"]["test"]["f1"], 1),
                    "seconds": round(measured["seconds"]),
                    "sub-words a second": round(measured["tokens_per_second"]),
                    "peak memory, GB": round(measured["peak_memory_bytes"] / 1e9, 2),
                    "device": measured["device"],
                }
            )
    return pd.DataFrame(rows)


def main() -> int:
    """Check that everything is there, run the chapters, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", required=True, help="minilm, or a folder with a model")
    parser.add_argument("--only", nargs="+", choices=CHAPTERS, default=list(CHAPTERS))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--out", type=Path, default=Path("runs/gpu"))
    given = parser.parse_args()
    wrong = []
    if given.device == "cuda" and not torch.cuda.is_available():
        wrong.append("no CUDA device is there; --device cpu --precision fp32 tries the script out")
    named = given.encoder in ("tiny", "minilm")
    if not named and not (Path(given.encoder) / "config.json").is_file():
        wrong.append(f"expected a folder with config.json for --encoder, got {given.encoder!r}")
    wrong += [f"expected NAME=VALUE, got {text!r}" for text in given.set if "=" not in text]
    chosen = dict(map(_pair, given.set)).get("corpus")
    for corpus in [chosen] if chosen else [CHAPTERS[number][1] for number in given.only]:
        places = (Path(corpus), data_folder() / corpus)
        if corpus not in EMBEDDED and not any(place.exists() for place in places):
            wrong.append(f"{corpus} is missing: dicebook data {corpus} --out data")
    if wrong:
        print("\n".join(f"error: {text}" for text in wrong), file=sys.stderr)
        return 2
    folders = [run(number, given) for number in given.only]
    print(table(given.out, folders).to_string(index=False))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
