"""The encoders of a table into the hub's cache, for machines without a network.

python -m reproduce.prefetch --table 5 --profile paper
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from huggingface_hub import snapshot_download

from dicelab.training.encoders import MINILM, REVISIONS, TINY, minilm_folder
from reproduce import grid

FILES = ["*.json", "*.txt", "*.model", "model.safetensors"]


def encoders(table: int, profile: str) -> list[str]:
    """The names of the pretrained encoders that a table's runs read."""
    names = {str(job.parameters["encoder"]) for job in grid.jobs(table, profile)}
    return sorted(names - {TINY})


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", type=int, required=True)
    parser.add_argument("--profile", default="default")
    args = parser.parse_args(arguments)
    try:
        names = encoders(args.table, args.profile)
    except grid.GridError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name in names:
        folder = (
            minilm_folder()
            if name == MINILM
            else snapshot_download(name, revision=REVISIONS.get(name), allow_patterns=FILES)
        )
        print(f"{name}: {folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
