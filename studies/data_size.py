"""What do more labelled rows bring, to a linear model and to a fine-tuned one?

    python -m studies.data_size             # whatever is not recorded yet
    python -m studies.data_size --table     # what is recorded

`dicebook fit` as in ``studies.own_data``, on the same draws, with the first sixteenth, the first
quarter and all of their training and validation rows. The test rows are the same for all three.
Each run of an encoder has the same number of steps, so fewer rows are seen more often. A record
has the F1 on test of every model of the fit.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from dicelab.fit.options import Options
from dicelab.records import runs
from dicelab.training.trainer import device_of
from studies import own_data

CORPORA = ("wnut17",)
SHARES = (1 / 16, 1 / 4, 1.0)
STEPS, DRAWS = 100, 1
OUT = Path("runs/data_size.jsonl")


def parameters_of(corpus: str, number: int, share: float) -> dict[str, Any]:
    """What tells a record from the others."""
    rows = round(share * own_data.CORPORA[corpus].sizes[0])
    return {"corpus": corpus, "draw": number, "train_size": rows, "encoder": "minilm"}


def run(corpus: str, number: int, share: float, work: Path) -> dict[str, Any]:
    """A fit on a share of a draw's rows; the record."""
    began = time.monotonic()
    parameters = parameters_of(corpus, number, share)
    folder = work / f"{corpus}-{number}-{parameters['train_size']}"
    splits = own_data.draw(corpus, number)
    for name in ("train", "validation"):
        splits[name] = splits[name][: round(share * len(splits[name]))]
    options = Options(
        source=str(own_data.write(splits, folder / "data")),
        out=str(folder / "fit"),
        encoder="minilm",
        losses=("ce", "dl"),
        steps=STEPS,
        rates=(own_data.CORPORA[corpus].rate,),
        seeds=1,
        seed=10 * number,
    )
    _, chose = own_data.fit(options, print)
    return runs.make_record(
        chapter="studies/data_size.py",
        parameters=parameters,
        metrics={name: {"f1": score} for name, score in chose["of"].items()},
        history=[chose],
        measured={"device": str(device_of("auto")), "seconds": round(time.monotonic() - began, 1)},
    )


def table(records: list[dict[str, Any]]) -> pd.DataFrame:
    """F1 on test: a row a corpus, draw and number of rows, a column a model."""
    index = ["corpus", "draw", "train_size"]
    f1 = [{model: scores["f1"] for model, scores in r["metrics"].items()} for r in records]
    frame = pd.DataFrame([{**r["parameters"], **of} for r, of in zip(records, f1, strict=True)])
    return frame.set_index(index).drop(columns="encoder").sort_index()


def main() -> None:
    """Run what is not yet recorded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--table", action="store_true", help="print the kept records, run nothing")
    parser.add_argument("--work", type=Path, default=Path("runs/data_size"))
    args = parser.parse_args()
    if args.table:
        print(table(runs.kept_records("data_size")).round(1).to_string())
        return
    known = [record["parameters"] for record in (runs.read_records(OUT) if OUT.exists() else [])]
    for number in range(args.draws):
        for corpus in CORPORA:
            for share in SHARES:
                if parameters_of(corpus, number, share) not in known:
                    runs.append_record(OUT, run(corpus, number, share, args.work))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
