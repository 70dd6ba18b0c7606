"""Write the embedded corpora: ``python -m data_scripts.embedded [NAME ...] [--check]``.

The files go to ``dicelab/corpora/embedded``, one a corpus: JSON lines with their split, in gzip.
The lines depend on the generators, on ``VERSION`` and on Faker's lists of names alone. The bytes of
a file also depend on the zlib that packed it; so a file whose lines are right stays as it is.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import dicelab.corpora.embedded as packaged
from data_scripts.embedded import NAMES, load
from data_scripts.embedded.card import table
from dicelab.atomic import atomic

FOLDER = Path(packaged.__file__).parent


def lines(name: str) -> bytes:
    """The JSON lines of a corpus, as its file holds them before it is packed."""
    rows = ({"split": split, **row} for split, data in load(name).items() for row in data.to_list())
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def main(argv: Sequence[str] | None = None) -> int:
    """Write the files; with ``--check`` write nothing, and return 1 if any would change."""
    parser = argparse.ArgumentParser(prog="python -m data_scripts.embedded")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all of them")
    parser.add_argument("--check", action="store_true", help="only say which would change")
    parser.add_argument("--card", action="store_true", help="print the table of sizes and ratios")
    options = parser.parse_args(argv)
    if options.card:
        print(table())
        return 0
    changed = 0
    for name in options.names or NAMES:
        path, content = FOLDER / f"{name}.jsonl.gz", lines(name)
        same = path.exists() and gzip.decompress(path.read_bytes()) == content
        changed += not same
        print(f"{name}: {'as it was' if same else 'differs' if options.check else 'written'}")
        if not same and not options.check:
            with atomic(path) as temporary:
                temporary.write_bytes(gzip.compress(content, 9, mtime=0))
    return int(options.check and changed > 0)


if __name__ == "__main__":
    sys.exit(main())
