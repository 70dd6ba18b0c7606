"""``python -m studies.whole_models``: what has no record yet of Stage B2, or of other settings."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import torch

from studies.raw import RawError
from studies.whole_models import runs
from studies.whole_models.corpora import CORPORA


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.whole_models", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/whole_models"))
    parser.add_argument("--only", default="", help="corpora, with commas between; default: all")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--workers", type=int, default=1, help="processes of one thread each")
    parser.add_argument(
        "--encoder", default="minilm", help="a folder; another one wants its own --folder"
    )
    parser.add_argument("--lengths", default="", help="of the finals, in steps, with commas")
    parser.add_argument("--searched", default="", help="the lengths that choose a rate")
    parser.add_argument("--arms", default="", help="with commas; default: all")
    parser.add_argument("--draws", type=int, default=runs.DRAWS, help="of the finals")
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: no CUDA device is here")
    if given.workers < 1:
        parser.error(f"--workers: expected 1 or more, got {given.workers}")
    only = _some(parser, "--only", given.only, CORPORA)
    settings = runs.Settings(
        given.encoder,
        _lengths(given.lengths) or runs.LENGTHS,
        _lengths(given.searched) or runs.SEARCHED,
        tuple(_some(parser, "--arms", given.arms, runs.EVERY)) if given.arms else (),
        given.draws,
    )
    if settings != runs.PROTOCOL and given.folder == parser.get_default("folder"):
        parser.error("other settings than the protocol's: expected a --folder of their own")
    torch.set_num_threads(1)  # a seed gives the same scores however many cores there are
    try:
        runs.run(only, given.folder, settings, device=given.device, workers=given.workers)
    except (FileNotFoundError, RawError) as error:
        parser.exit(1, f"{error}\n")


def _some(
    parser: argparse.ArgumentParser, option: str, text: str, known: Iterable[str]
) -> list[str]:
    given = [name for name in text.split(",") if name]
    if unknown := set(given) - set(known):
        parser.error(f"{option}: expected some of {', '.join(known)}, got {', '.join(unknown)}")
    return given or list(known)


def _lengths(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(n) for n in text.split(",") if n))


if __name__ == "__main__":
    main()
