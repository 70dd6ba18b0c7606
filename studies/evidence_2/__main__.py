"""``python -m studies.evidence_2`` and one of ``WHAT``: the digest of the plan, edges, runs."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from studies.evidence_2 import linear, runs, stage_b
from studies.evidence_2.tasks import TASKS
from studies.raw import RawError

WHAT = ("plan", "edges", "run", "extension", "linear", "all-layers")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.evidence_2")
    parser.add_argument("what", choices=WHAT)
    parser.add_argument(
        "--folder", type=Path, help="default: runs/evidence_2; of linear, results/evidence_2_linear"
    )
    parser.add_argument("--only", default="", help="tasks, with commas between; default: all")
    parser.add_argument(
        "--edges-moved", action="store_true", help="the rule about edges has been applied"
    )
    parser.add_argument("--pilot", action="store_true", help="of linear: three first searches")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of all-layers")
    parser.add_argument("--workers", type=int, default=1, help="processes of all-layers")
    parser.add_argument(
        "--encoder", default="minilm", help="of all-layers; another one wants its own --folder"
    )
    parser.add_argument("--lengths", default="", help="of its finals, in steps, with commas")
    parser.add_argument("--searched", default="", help="the lengths that choose a rate")
    parser.add_argument("--arms", default="", help="of all-layers, with commas; default: all")
    parser.add_argument("--draws", type=int, default=stage_b.DRAWS, help="of its finals")
    given = parser.parse_args()
    home = "results/evidence_2_linear" if given.what == "linear" else "runs/evidence_2"
    given.folder = given.folder or Path(home)
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: no CUDA device is here")
    if given.workers < 1:
        parser.error(f"--workers: expected 1 or more, got {given.workers}")
    known = list(stage_b.CORPORA if given.what == "all-layers" else TASKS)
    tasks = [name for name in given.only.split(",") if name] or known
    if unknown := set(tasks) - set(known):
        parser.error(f"--only: expected some of {', '.join(known)}, got {', '.join(unknown)}")
    try:
        _do(given, tasks)
    except (FileNotFoundError, RawError, RuntimeError) as error:
        parser.exit(1, f"{error}\n")


def _do(given: argparse.Namespace, tasks: list[str]) -> None:
    what, folder = given.what, given.folder
    if what == "plan":
        print(f"plan {runs.digest(tasks)}, code {runs.code()}, {len(tasks)} tasks")
    elif what == "edges":
        for arm in runs.EVERY:
            shares = runs.edges(folder, arm, runs.tasks_of(arm, tasks))
            print(arm, shares or "first search is not over")
    else:
        runs.set_threads()
        if what == "all-layers":
            settings = _settings(given)
            stage_b.run(tasks, folder, settings, device=given.device, workers=given.workers)
        elif what == "extension":
            runs.extend(tasks, folder)
        elif what == "linear":
            linear.run(tasks, folder, pilot=given.pilot)
        else:
            runs.run(tasks, folder, edges_moved=given.edges_moved or _rule_is_met(folder, tasks))


def _settings(given: argparse.Namespace) -> stage_b.Settings:
    def numbers(text: str, default: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(int(n) for n in text.split(",") if n)) or default

    arms = tuple(name for name in given.arms.split(",") if name)
    if unknown := set(arms) - set(stage_b.EVERY):
        raise RuntimeError(f"--arms: expected some of {', '.join(stage_b.EVERY)}, got {unknown}")
    lengths = numbers(given.lengths, stage_b.LENGTHS)
    searched = numbers(given.searched, stage_b.SEARCHED)
    settings = stage_b.Settings(given.encoder, lengths, searched, arms, given.draws)
    if settings != stage_b.PROTOCOL and given.folder == Path("runs/evidence_2"):
        raise RuntimeError("other settings than the protocol's: expected a --folder of their own")
    return settings


def _rule_is_met(folder: Path, tasks: list[str]) -> bool:
    """Whether the rule about edges need not be asked again: it is of all tasks together."""
    together = list(TASKS)
    if over := runs.over_the_rule(folder, together):
        raise RuntimeError("an edge has to move first: " + "; ".join(over))
    searched = all(runs.edges(folder, arm, together) for arm in runs.ARMS)
    return searched or len(tasks) < len(together)


if __name__ == "__main__":
    main()
