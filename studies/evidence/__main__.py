"""``python -m studies.evidence features|a|b``: extract the features, or run a stage."""

from __future__ import annotations

import argparse
from pathlib import Path


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.evidence")
    parser.add_argument("what", choices=("features", "a", "b"))
    parser.add_argument("--folder", type=Path, default=Path("results/evidence"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default="", help="tasks (a) or corpora (b), with commas between")
    given = parser.parse_args()
    only = [name for name in given.only.split(",") if name]
    if given.what == "b":
        from studies.evidence import stage_b

        stage_b.run(only, given.folder, given.workers)
    else:
        from studies.evidence import stage_a, tasks

        unknown = set(only) - set(tasks.TASKS)
        if unknown:
            parser.error(f"--only: expected some of {', '.join(tasks.TASKS)}, got {unknown}")
        names = only or list(tasks.TASKS)
        if given.what == "features":
            tasks.extract_all(names)
        else:
            stage_a.run(names, given.folder, given.workers)


if __name__ == "__main__":
    main()
