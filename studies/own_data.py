"""Does ``dicebook fit`` choose as well as a grid of eighteen settings, on five corpora?

    python -m studies.own_data                # every draw that is not recorded yet
    python -m studies.own_data --table        # what is recorded

A draw takes rows to train on and to choose by from a corpus's training and development parts, and
rows to score from its test part, and writes them as a user would have them: a folder with a file a
split. Then six losses with three learning rates are trained, one seed each, with the functions of
``dicelab.fit``; and a fit with its defaults chooses among its three losses, trains two of them with
three seeds, and keeps one model. All runs are equally long: a number of steps, not of minutes. With
``--minutes`` the length would follow from what else the machine does, the grid's runs would not be
as long as the fit's, and nobody could repeat the table. A hundred steps are a quarter of those
after which a plan stops giving a run more time, the shortest run that it takes before it leaves out
seeds and learning rates to make runs longer. The nine settings of the grid that the fit searches,
too, are trained once and used by both.

The corpora are those that ``dicebook data`` prepares, under ``$DICEBOOK_DATA``. One record a run
is appended to ``results/own_data/CORPUS.jsonl``, and one with the loss ``fit`` when a draw is done;
what is recorded there is not run again. A killed run goes on from its last pass in ``--work``.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from dicelab.fit.fitting import Fit
from dicelab.fit.options import Options
from dicelab.fit.training import Done, Run, drop_models, run
from dicelab.records import runs
from dicelab.training.checkpoints import alone_in
from dicelab.training.encoders import quiet
from dicelab.training.experiment import LOSSES
from studies import raw

STEPS, DRAWS = 100, 3
LABEL, POSITIVES = "remorse", 0.03
Rows = list[dict[str, Any]]
Parts = Callable[[np.random.Generator], tuple[Rows, Rows]]


@dataclass(frozen=True)
class Corpus:
    """Where a draw comes from.

    Attributes:
        parts: the pool and the test rows; what must be drawn for them is drawn here.
        sizes: rows to train on, to choose by and, at most, to test on.
    """

    parts: Parts
    sizes: tuple[int, int, int]


def _tagged(name: str) -> Parts:
    return lambda rng: (raw.tagged(name, ("train", "dev")), raw.tagged(name, ("test",)))


def _mrpc(rng: np.random.Generator) -> tuple[Rows, Rows]:
    return raw.mrpc("train"), raw.mrpc("test")


def _one_label(rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Whether a comment of GoEmotions has one rare label."""

    def told(part: str) -> Rows:
        return [
            {"sentence": row["sentence"], "label": int(LABEL in row["labels"])}
            for row in raw.goemotions(part)
        ]

    return told("train") + told("dev"), told("test")


def _sst2(rng: np.random.Generator) -> tuple[Rows, Rows]:
    return thinned(raw.sst2("train") + raw.sst2("dev"), rng), thinned(raw.sst2("test"), rng)


def thinned(rows: Rows, rng: np.random.Generator) -> Rows:
    """All negative rows, and so many positive ones that their share is ``POSITIVES``."""
    positive = np.array([row["label"] == 1 for row in rows])
    keep = round(POSITIVES / (1 - POSITIVES) * int((~positive).sum()))
    kept = set(rng.permutation(np.flatnonzero(positive))[:keep].tolist())
    return [row for number, row in enumerate(rows) if row["label"] == 0 or number in kept]


#: Those whose draws take the least time first.
CORPORA = {
    "sst2_03": Corpus(_sst2, (1_600, 1_000, 1_000)),
    f"goemotions_{LABEL}": Corpus(_one_label, (3_200, 1_600, 6_000)),
    "crossner_politics": Corpus(_tagged("crossner_politics"), (400, 300, 1_000)),
    "wnut17": Corpus(_tagged("wnut17"), (1_600, 600, 1_500)),
    "mrpc": Corpus(_mrpc, (1_600, 500, 1_000)),
}


def draw(name: str, number: int) -> dict[str, Rows]:
    """The rows of a draw, by split.

    Args:
        name: of ``CORPORA``.
        number: from 0.
    """
    corpus, rng = CORPORA[name], np.random.default_rng([47, number])
    pool, test = corpus.parts(rng)
    first, second, third = corpus.sizes
    order = rng.permutation(len(pool))[: first + second].tolist()
    tested = sorted(rng.permutation(len(test))[:third].tolist())
    return {
        "train": [pool[i] for i in order[:first]],
        "validation": [pool[i] for i in order[first:]],
        "test": [test[i] for i in tested],
    }


def write(splits: dict[str, Rows], folder: Path) -> Path:
    """The rows as a user has them: a file a split, tagged words or a table with a header."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        if "tokens" in rows[0]:
            lines = [
                "\n".join(
                    f"{word}\t{tag}" for word, tag in zip(r["tokens"], r["tags"], strict=True)
                )
                for r in rows
            ]
            (folder / f"{split}.conll").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
            continue
        names = [n for n in ("sentence", "sentence1", "sentence2", "label") if n in rows[0]]
        with (folder / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows([row[name] for name in names] for row in rows)
    return folder


def parameters_of(
    name: str, number: int, loss: str, rate: float | None, seed: int, steps: int, encoder: str
) -> dict[str, Any]:
    """What tells a run from the others."""
    return {
        "corpus": name,
        "draw": number,
        "encoder": encoder,
        "loss": loss,
        "learning_rate": rate,
        "seed": seed,
        "steps": steps,
    }


def scores_of(fit: Fit, done: Done) -> dict[str, dict[str, float]]:
    """F1 in percent on validation and test, at argmax and with the decision of validation."""
    found = {"validation": {"f1": done.argmax}, "validation_tuned": {"f1": done.value}}
    for part, bias in (("test", 0 * done.bias), ("test_tuned", done.bias)):
        found[part] = {"f1": fit.result.score_of(fit.test_counts(done, bias))}
    return {part: {"f1": round(score["f1"], 3)} for part, score in found.items()}


def run_draw(
    name: str,
    number: int,
    *,
    out: Path,
    work: Path,
    losses: Sequence[str] = LOSSES,
    steps: int = STEPS,
    encoder: str = "minilm",
    say: Callable[[str], None] = print,
) -> None:
    """The grid and the fit of one draw; what is not in the file of records is added to it.

    Args:
        name: of ``CORPORA``.
        number: of the draw.
        out: the file of records.
        work: folder of what is under way; each draw has one of its own there.
        losses: of the grid.
        steps: of every run.
        encoder: as for a fit.
        say: takes a line a run.
    """
    folder = work / f"{name}-{number}"
    source = write(draw(name, number), folder / "data")
    options = Options(
        source=str(source),
        out=str(folder / "fit"),
        encoder=encoder,
        steps=steps,
        seed=10 * number,
        device="cpu",
    )
    known = [r["parameters"] for r in runs.read_records(out)] if out.exists() else []

    def add(loss: str, rate: float | None, metrics: Any, history: Any, seconds: float) -> None:
        given = parameters_of(name, number, loss, rate, options.seed, steps, encoder)
        record = runs.make_record(
            chapter="studies/own_data.py",
            parameters=given,
            metrics=metrics,
            history=history,
            measured={"device": "cpu, 1 threads", "seconds": round(seconds, 1)},
        )
        runs.append_record(out, record)
        shown = ", ".join(f"{part} {score['f1']:.1f}" for part, score in metrics.items())
        say(f"{name}, draw {number}, {loss}, rate {rate}: {shown}; {seconds:.0f} s")

    with alone_in(Path(options.out)), quiet():
        fit = Fit(options, say)
        planned = fit.plan()
        for rate in planned.rates:
            for loss in losses:
                if parameters_of(name, number, loss, rate, options.seed, steps, encoder) in known:
                    continue
                done = run(
                    Run(loss, rate, options.seed),
                    fit.inputs,
                    planned,
                    options,
                    fit.folder / "runs",
                )
                add(loss, rate, scores_of(fit, done), done.history, done.seconds)
                drop_models([done])
        fit.search()
        arms, result = fit.finals(), fit.result
        kept, trained = result.run, [d for arm in arms.values() for d in arm.done]
        assert kept is not None
        metrics = scores_of(fit, kept)
        mean = float(np.mean(result.scores(result.kept)))
        metrics["test_tuned_mean"] = {"f1": round(mean, 3)}
        told = [{"loss": kept.run.arm, "learning_rate": kept.run.rate, "seed": kept.run.seed}]
        once = {done.run.name: done.seconds for done in (*result.searched, *trained)}
        add("fit", None, metrics, told, sum(once.values()))
        drop_models(trained)


def best(records: Iterable[dict[str, Any]], by: str) -> dict[str, Any]:
    """The setting of a grid with the best F1 in a part; of equals the first."""
    return max(records, key=lambda r: r["metrics"][by]["f1"])


def table(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """A row a finished draw: F1 on test of what the fit kept, and of the grid's choices.

    Beside the model that was kept stands the mean of all seeds of its loss.
    The grid's choice is the setting that is best on validation, as anyone would choose it; the best
    on test is one that nobody can choose, and of eighteen scores the luckiest.
    """
    rows = []
    for record in records:
        given = record["parameters"]
        if given["loss"] != "fit":
            continue
        same = ("corpus", "draw", "encoder", "steps")
        grid = [
            r
            for r in records
            if r["parameters"]["loss"] != "fit"
            and all(r["parameters"][key] == given[key] for key in same)
        ]
        chosen, plain = best(grid, "validation_tuned"), best(grid, "validation")
        rows.append(
            {
                "corpus": given["corpus"],
                "draw": given["draw"],
                "loss": record["history"][0]["loss"],
                "fit": record["metrics"]["test_tuned"]["f1"],
                "fit, mean of seeds": record["metrics"]["test_tuned_mean"]["f1"],
                "the grid's loss": chosen["parameters"]["loss"],
                "grid": chosen["metrics"]["test_tuned"]["f1"],
                "grid at argmax": plain["metrics"]["test"]["f1"],
                "best on test": best(grid, "test_tuned")["metrics"]["test_tuned"]["f1"],
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Run what is not yet recorded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--out", type=Path, default=Path("results/own_data"))
    parser.add_argument("--work", type=Path, default=Path("runs/own_data"))
    parser.add_argument("--table", action="store_true", help="print what is recorded, run nothing")
    given = parser.parse_args()
    if given.table:
        print(table(runs.read_records(given.out)).round(1).to_string())
        return
    for number in range(given.draws):
        for name in given.corpus:
            out = given.out / f"{name}.jsonl"
            known = runs.read_records(out) if out.exists() else []
            if any(
                (r["parameters"]["loss"], r["parameters"]["draw"]) == ("fit", number) for r in known
            ):
                continue
            began = time.monotonic()
            run_draw(name, number, out=out, work=given.work)
            print(f"{name}, draw {number}: {(time.monotonic() - began) / 60:.0f} min", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
