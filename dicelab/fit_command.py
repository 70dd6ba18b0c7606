"""``dicebook fit``, ``predict`` and ``evaluate``: options to words, errors to one sentence."""

from __future__ import annotations

import argparse
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dicelab.atomic import atomic

if TYPE_CHECKING:
    from dicelab.corpora.cells import Asked

EPILOG = """\
examples:
  dicebook fit                                   an embedded corpus, two minutes
  dicebook fit my.tsv --minutes 30 --out runs/my
  dicebook fit my.tsv --minutes 1                linear models alone, no fine-tuning
  dicebook fit my/ --label flag --positive yes   a folder with train, dev, test
  dicebook predict runs/my/model new.txt
  dicebook evaluate runs/my/model labelled.tsv

The first usable model is in OUT/model within about a minute, and a better one replaces it.
Stop at any time: the same command goes on from there.
"""


def add_commands(commands: Any) -> None:
    """Add the commands to those of ``dicebook``."""
    fit = commands.add_parser(
        "fit",
        help="train on your own file, and write a report and a model",
        description="Train linear models on words and on frozen embeddings, then fine-tune the\n"
        "encoder. Choose model, loss, learning rate and threshold on rows that are not test.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fit.add_argument(
        "source",
        nargs="?",
        help="a file, a folder with train, dev and test files, hub:NAME, or the name of a corpus",
    )
    fit.add_argument("--out", help="folder for the model and the report (default: runs/NAME)")
    fit.add_argument(
        "--minutes",
        type=float,
        help="time limit; may be raised later for the same folder (default: 10; 2 without a file)",
    )
    fit.add_argument("--encoder", help="minilm, tiny, a folder, or a model name on the hub")
    fit.add_argument(
        "--task", help="tagging, sentences, pairs or labels (default: detect from the file)"
    )
    _columns(fit)
    fit.add_argument(
        "--label", help="label column; several, separated by commas, are yes-or-no labels"
    )
    fit.add_argument("--label-separator", help="separator between several labels in one cell")
    fit.add_argument(
        "--positive", help="class whose F1 is measured: one of two classes, a tag, an entity type"
    )
    fit.add_argument(
        "--metric", help="f1, macro-f1, accuracy, f2 or f0.5; in f2, recall counts more"
    )
    fit.add_argument(
        "--at-recall", type=float, help="keep recall at or above this value, maximise precision"
    )
    fit.add_argument(
        "--at-precision", type=float, help="keep precision at or above this value, maximise recall"
    )
    fit.add_argument(
        "--losses",
        help="losses to compare, separated by commas: ce, wce, fl, dl, tl, dsc, eq6 to eq12, "
        "or MODULE:NAME (default: ce,wce,dl, or ce alone where time is short)",
    )
    fit.add_argument(
        "--no-linear",
        dest="linear",
        action="store_false",
        default=None,
        help="fine-tune only, so that transformers alone can load the model",
    )
    fit.add_argument(
        "--no-texts",
        dest="texts",
        action="store_false",
        default=None,
        help="leave the texts of the file out of report, record and predictions",
    )
    fit.add_argument("--device", help="auto, cpu, cuda or mps (default: auto)")
    fit.set_defaults(run=run_fit)

    predict = commands.add_parser("predict", help="predict a new file with a fitted model")
    predict.add_argument("model", help="the folder of a fit, or model/ in it")
    predict.add_argument("file", help="a table, a text a line, or a token a line; - is stdin")
    predict.add_argument("--out", help="file to write (default: the screen)")
    _columns(predict)
    predict.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default: auto)")
    predict.set_defaults(run=run_predict)

    scored = commands.add_parser("evaluate", help="score a fitted model on a labelled file")
    scored.add_argument("model", help="the folder of a fit, or model/ in it")
    scored.add_argument("file", help="whatever fit reads; of a folder the test split")
    _columns(scored)
    scored.add_argument("--label", help="label column; several, separated by commas")
    scored.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default: auto)")
    scored.set_defaults(run=run_evaluate)


def _columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text", help="text column, by name or by number from 1")
    parser.add_argument("--text2", help="column of the second text of a pair")
    parser.add_argument("--delimiter", help="character between columns (default: detect)")
    parser.add_argument("--encoding", help="encoding of the file, such as cp1252 (default: utf-8)")
    parser.add_argument(
        "--header", choices=("yes", "no"), help="whether line 1 names the columns (default: detect)"
    )
    parser.add_argument(
        "--skip-bad",
        action="store_true",
        default=None,
        help="leave out rows that cannot be read, and count them",
    )


def run_fit(args: argparse.Namespace) -> int:
    """Fit as the command line says."""
    from safetensors import SafetensorError

    from dicelab.fit import FitError, Options, fit
    from dicelab.fit.pipeline import usual_folder
    from dicelab.training.experiment import ParameterError

    options = {
        name: value for name, value in vars(args).items() if value is not None and name != "run"
    }
    if "losses" in options:
        options["losses"] = tuple(options["losses"].replace(" ", "").split(","))
    for name in ("delimiter", "label_separator"):
        if name in options:
            options[name] = options[name].replace("\\t", "\t")
    options.setdefault("out", usual_folder(options.get("source", "fit")))
    asked = _Interrupt()
    try:
        fit(Options(**options), asked.say)
    except ParameterError as error:
        raise FitError(str(error)) from None
    except SafetensorError as error:
        raise FitError(
            f"{options['out']}: expected to read and write models there, got: {error}; is the disk "
            "full? The same command goes on from here"
        ) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FitError(
            f"{error.filename or options['out']}: expected a place to read and write, got: "
            f"{error.strerror or error}; choose another --out"
        ) from None
    except KeyboardInterrupt:
        folder = Path(options["out"]) / "model"
        best = f"; the best model so far is in {folder}" if folder.is_dir() else ""
        print(f"\ndicebook: stopped{best}; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


class _Interrupt:
    """Ctrl-C, also where a library swallows it: then the next line for the reader ends the fit."""

    def __init__(self) -> None:
        self.pressed = False
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._press)

    def _press(self, *_: Any) -> None:
        self.pressed = True
        raise KeyboardInterrupt

    def say(self, line: str) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        print(line, flush=True)


def run_predict(args: argparse.Namespace) -> int:
    """Predict as the command line says."""
    return _with_model(_predict, args)


def run_evaluate(args: argparse.Namespace) -> int:
    """Evaluate as the command line says."""
    return _with_model(_evaluate, args)


def _with_model(run: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    from dicelab.training.experiment import ParameterError

    try:
        return run(args)
    except ParameterError as error:
        raise ValueError(str(error)) from None


def _asked(args: argparse.Namespace) -> Asked:
    from dicelab.corpora.cells import Asked

    return Asked(
        text=args.text,
        text2=args.text2,
        label=getattr(args, "label", None),
        delimiter=args.delimiter and args.delimiter.replace("\\t", "\t"),
        encoding=args.encoding,
        header=None if args.header is None else args.header == "yes",
        skip_bad=bool(args.skip_bad),
    )


def _evaluate(args: argparse.Namespace) -> int:
    from dicelab.fit.evaluating import evaluate

    evaluate(args.model, args.file, asked=_asked(args), device=args.device)
    return 0


def _predict(args: argparse.Namespace) -> int:
    from dicelab.fit import predict

    settings: dict[str, Any] = {
        "asked": _asked(args),
        "device": args.device,
        "say": lambda line: print(line, file=sys.stderr, flush=True),
    }
    if args.file == "-":
        with tempfile.TemporaryDirectory() as folder:
            args.file = str(Path(folder) / "stdin")
            Path(args.file).write_bytes(sys.stdin.buffer.read())
            return _predict(args)
    if args.out is None:
        predict(args.model, args.file, sys.stdout, **settings)
        sys.stdout.flush()
        return 0
    _check_out(Path(args.out), Path(args.file))
    try:
        with atomic(args.out) as path, path.open("w", encoding="utf-8", newline="") as file:
            rows = predict(args.model, args.file, file, **settings)
    except OSError as error:
        raise ValueError(f"{args.out}: expected a place to write, got: {error.strerror}") from None
    print(f"{rows} rows in {args.out}")
    return 0


def _check_out(out: Path, source: Path) -> None:
    """Refuse to write over anything but earlier predictions."""
    if not out.exists():
        return
    if source.exists() and out.samefile(source):
        raise ValueError(f"--out {out}: expected another file than the input")
    if out.is_dir() or not _predictions(out):
        raise ValueError(
            f"--out {out}: expected a new file, or one of earlier predictions, found something "
            "else; choose another name"
        )


def _predictions(path: Path) -> bool:
    """Whether a file is empty, or begins as predictions of texts or of words do."""
    with path.open(encoding="utf-8", errors="replace") as file:
        line = file.readline(10_000)
    of_word = re.fullmatch(r"[^\t]*\t[^\t]+\t[01]\.\d{4}", line.rstrip("\n"))
    return not line or line.startswith("predicted\tp(") or of_word is not None
