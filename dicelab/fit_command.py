"""``dicebook fit`` and ``dicebook predict``: options to words, errors to one sentence."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from dicelab.atomic import atomic

EPILOG = """\
examples:
  dicebook fit                                   an embedded corpus, two minutes
  dicebook fit my.tsv --minutes 30 --out runs/my
  dicebook fit my/ --label flag --positive yes   a folder with train, dev, test
  dicebook predict runs/my/model new.txt

The same command goes on after a kill.
"""


def add_commands(commands: Any) -> None:
    """Add both commands to those of ``dicebook``."""
    fit = commands.add_parser(
        "fit",
        help="from a file of yours to a decision, a report and a model",
        description="Train on a file; choose loss, learning rate and threshold on validation.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fit.add_argument(
        "source",
        nargs="?",
        help="a file, a folder with train, dev and test, hub:NAME, or a corpus by name",
    )
    fit.add_argument("--out", help="all that it leaves; by default runs/NAME")
    fit.add_argument(
        "--minutes",
        type=float,
        help="how long it may take; by default 10, without a file 2, and more if need be",
    )
    fit.add_argument("--steps", type=int, help="of each run, whatever time that takes")
    fit.add_argument("--encoder", help="minilm, tiny, a folder, a name on the hub")
    fit.add_argument("--task", help="tagging, sentences, pairs or labels; else as the file is")
    _columns(fit)
    fit.add_argument("--label", help="column of the label; several by commas: yes or no each")
    fit.add_argument("--label-separator", help="between several labels in one cell")
    fit.add_argument("--positive", help="the class whose F1 counts, of two")
    fit.add_argument("--skip-bad", action="store_true", default=None, help="leave bad rows out")
    fit.add_argument("--metric", help="f1, macro-f1, accuracy or fbeta")
    fit.add_argument("--beta", type=float, help="of fbeta: above 1 a miss costs more")
    fit.add_argument("--at-recall", type=float, help="find this share, as precisely as it goes")
    fit.add_argument("--at-precision", type=float, help="be right so often, find what it goes")
    fit.add_argument("--decide", help="tuned (the threshold) or argmax")
    fit.add_argument("--losses", help="by commas: ce,wce,dl (default), fl, tl, dsc, MODULE:NAME")
    fit.add_argument("--rates", help="learning rates by commas, the same for each arm")
    fit.add_argument("--seeds", type=int, help="seeds in the finals (3)")
    fit.add_argument("--batch-size", type=int, help="rows in a step (32)")
    fit.add_argument("--max-length", type=int, help="sub-words in a row")
    fit.add_argument("--seed", type=int, help="the first seed (0)")
    fit.add_argument("--device", help="auto, cpu or cuda")
    fit.set_defaults(run=run_fit)

    predict = commands.add_parser(
        "predict", help="what a fitted model says of a new file, as plain transformers would"
    )
    predict.add_argument("model", help="the folder model/ of a fit")
    predict.add_argument("file", help="a text a line, tokens a line, or a table")
    predict.add_argument("--out", help="a file; by default the screen")
    _columns(predict)
    predict.add_argument("--device", default="auto", help="auto, cpu or cuda")
    predict.set_defaults(run=run_predict)


def _columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text", help="column of the text, by name or number from 1")
    parser.add_argument("--text2", help="column of a pair's second text")
    parser.add_argument("--delimiter", help="between columns")


def run_fit(given: argparse.Namespace) -> int:
    """Fit as the command line says."""
    from dicelab.fit import FitError, Options, fit
    from dicelab.training.experiment import ParameterError

    told = {
        name: value for name, value in vars(given).items() if value is not None and name != "run"
    }
    try:
        if "losses" in told:
            told["losses"] = tuple(told["losses"].replace(" ", "").split(","))
        if "rates" in told:
            told["rates"] = tuple(float(rate) for rate in told["rates"].split(","))
    except ValueError:
        raise FitError(f"--rates: expected numbers by commas, got {told['rates']!r}") from None
    name = Path(told.get("source", "fit").replace("hub:", "")).stem or "fit"
    told.setdefault("out", f"runs/{name}")
    try:
        fit(Options(**told), lambda line: print(line, flush=True))
    except ParameterError as error:
        raise FitError(str(error)) from None
    except OSError as error:
        raise FitError(
            f"{error.filename or told['out']}: expected to read and write there; "
            f"{error.strerror or error}"
        ) from None
    except KeyboardInterrupt:
        print("\ndicebook: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def run_predict(given: argparse.Namespace) -> int:
    """Predict as the command line says."""
    from dicelab.fit import predict

    told = {"text": given.text, "text2": given.text2, "delimiter": given.delimiter}
    if given.out is None:
        predict(given.model, given.file, sys.stdout, device=given.device, **told)
        return 0
    try:
        with atomic(given.out) as path, path.open("w", encoding="utf-8", newline="") as file:
            rows = predict(given.model, given.file, file, device=given.device, **told)
    except OSError as error:
        raise ValueError(f"{given.out}: expected to write there; {error.strerror}") from None
    print(f"{rows} rows in {given.out}")
    return 0
