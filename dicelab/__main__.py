"""The command ``dicebook``, also ``python -m dicelab``: what one asks for without a notebook."""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import dicebook
from dicelab import fit_command
from dicelab.extras import MissingExtra
from dicelab.own_loss import own_loss


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line.

    Args:
        arguments: by default the command's.

    Returns:
        0; 1 where a loss has a problem, or after one clear sentence on stderr.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words[:1] == ["data"]:  # its options are those of a corpus's script
            return data(words[1:])
        args = _parser().parse_args(words)
        return int(args.run(args))
    except BrokenPipeError:
        # Who reads has seen enough; what Python would still write at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("\ndicebook: stopped", file=sys.stderr)
        return 130
    except (MissingExtra, OSError, ValueError) as error:
        print(f"dicebook: {error}", file=sys.stderr)
        return 1


def data(words: Sequence[str]) -> int:
    """Run the script of a corpus with its own options; without a name, list the corpora."""
    from dicelab.corpora.registry import CORPORA

    name, rest = (words[0], words[1:]) if words and words[0][0] != "-" else ("", words)
    # In a wheel the scripts lie inside this package, in a checkout beside it.
    scripts = "dicelab.data_scripts" if find_spec("dicelab.data_scripts") else "data_scripts"
    if not name:
        import_module(f"{scripts}.__main__").main()
        return 0
    prepared = {corpus.name: corpus.script for corpus in CORPORA.values() if corpus.script}
    if name not in {*prepared, "augment_pairs", "imbalance"}:
        raise ValueError(f"no script prepares {name!r}; corpora: {', '.join(prepared)}")
    script, *fixed = prepared.get(name, name).split()
    module = import_module(f"{scripts}.{script}")
    try:
        if hasattr(module, "main"):
            return int(module.main([*fixed, *rest]))
        recipes = getattr(module, "RECIPES", None) or [module.RECIPE]
        (recipe,) = (recipe for recipe in recipes if recipe.name == name)
        return int(import_module(f"{scripts}.corpus").main(recipe, rest))
    except SystemExit as stop:  # of argparse
        return int(stop.code or 0)


def diagnose(args: argparse.Namespace) -> int:
    """Print what is wrong with a loss of ours, or with one in a module that can be imported."""
    import torch  # here, so that the other commands answer at once

    options = dict(_option(text) for text in args.option)
    module, _, name = args.loss.rpartition(":")
    loss = own_loss(args.loss, options) if module else dicebook.make_loss(name, **options)
    batch: tuple[torch.Tensor, ...] = ()
    if args.binary or name.startswith("binary_"):
        generator = torch.Generator().manual_seed(0)
        batch = torch.randn(512, generator=generator), torch.arange(512) % 8 // 7
    counts = args.counts or (None if batch else [900, 60, 40])
    report = dicebook.diagnose(loss, *batch, counts=counts)
    print(report)
    return 0 if report.ok else 1


def try_out(args: argparse.Namespace) -> int:
    """Print what a chapter's head says of a text."""
    from dicelab import trying  # here, so that the other commands answer at once

    print(trying.answer(args.chapter, args.text))
    return 0


def paper(args: argparse.Namespace) -> int:
    """Print a table of the paper, every cell as it stands in print."""
    from dicelab.records.paper import CELLS, table

    printed_table = table(args.table)
    cells = [cell for cell in CELLS if any(cell in row.printed for row in printed_table.rows)]
    lines = [["corpus", "model", *cells]]
    for row in printed_table.rows:
        corpus = f"{row.corpus} {row.variant}".strip()
        lines.append([corpus, row.model, *(row.printed.get(cell, "") for cell in cells)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(f"Table {printed_table.number}. {printed_table.title}")
    for line in lines:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())
    return 0


def _option(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dicebook",
        description="Losses for data in which the interesting class is rare. Check a loss, fit a "
        "model to your own file, prepare a corpus, or look up a table of the paper.",
    )
    parser.add_argument("--version", action="version", version=f"dicebook {dicebook.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    commands.add_parser("data", help="prepare a corpus; without a name, list them")

    check = commands.add_parser("diagnose", help="check by small experiments whether a loss trains")
    check.add_argument("loss", help="such as dsc or binary_dl; or MODULE:NAME, a loss of your own")
    check.add_argument(
        "-o",
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the loss, such as alpha=0.1; may be repeated",
    )
    check.add_argument("--counts", type=int, nargs="+", help="how often each class occurs")
    check.add_argument(
        "--binary",
        action="store_true",
        help="the loss MODULE:NAME takes one logit for each example, [N]",
    )
    check.set_defaults(run=diagnose)

    tried = commands.add_parser(
        "try",
        help="tag or classify a sentence as a chapter does",
        description="Chapter 08 tags parts of speech, and chapter 09 entities. Chapter 11 says "
        "whether two questions ask the same, 13 whether a sentence is praise or blame, and 21 "
        "which feelings it shows. The encoder is MiniLM (dicebook[encoder]).",
    )
    tried.add_argument("chapter", help="08, 09, 11, 13 or 21")
    tried.add_argument("text", nargs="+", help="a text; for chapter 11 two of them")
    tried.set_defaults(run=try_out)

    printed = commands.add_parser("paper", help="print a table of the paper")
    printed.add_argument("table", type=int, help="its number, 1 or 3 to 10")
    printed.set_defaults(run=paper)
    fit_command.add_commands(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
