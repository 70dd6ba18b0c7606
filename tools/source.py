"""Write where pip finds dicebook into chapters, pages and messages: python tools/source.py SOURCE.

SOURCE is a repository, `git+https://github.com/you/dicebook` or with a tag `...@v0.1.0`, or `index`
once the package index has the package. See SOURCE in dicelab/extras.py. As committed, the first
cell of a chapter names no address, and says how to install from a clone; this lets it install.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from dicelab.extras import SOURCE, install_command

ROOT = Path(__file__).parents[1]
EXTRAS = ("", "train", "fit", "book", "encoder")
#: What the first cell of a chapter runs without an address.
NO_ADDRESS = '''"""print("dicebook is missing: in a clone, run pip install '.[book]'")"""'''
VALID = re.compile(r"git\+https://[\w./-]+(@[\w.-]+)?")


def write(source: str, root: Path = ROOT) -> list[str]:
    """Replace the commands of pip in the files that git knows.

    Args:
        source: as ``SOURCE`` of dicelab.extras: empty for the package index.
        root: the checkout.

    Returns:
        The names of the files that changed.
    """
    changed = []
    listed = ["git", "ls-files", "*.py", "*.md", "*.ipynb"]
    for name in subprocess.check_output(listed, cwd=root, text=True).splitlines():
        text = old = (root / name).read_text(encoding="utf-8")
        for extra in EXTRAS:
            text = text.replace(install_command(extra, SOURCE), install_command(extra, source))
        if name.startswith("notebooks/"):
            for spelt in (str, lambda code: json.dumps(code)[1:-1]):  # in a script, in a notebook
                text = text.replace(spelt(NO_ADDRESS), spelt(installs(source)))
        if name == "dicelab/extras.py":
            text = text.replace(f'SOURCE = "{SOURCE}"', f'SOURCE = "{source}"')
        if text != old:
            (root / name).write_text(text, encoding="utf-8")
            changed.append(name)
    return changed


def installs(source: str) -> str:
    """What takes the place of ``NO_ADDRESS``."""
    return f'"%{install_command("book", source)}"'


def main(arguments: list[str]) -> int:
    """The command line."""
    source = arguments[0] if arguments else ""
    if source != "index" and not VALID.fullmatch(source):
        print(f"expected git+https://..., or index; got {source!r}", file=sys.stderr)
        return 2
    print("\n".join(write("" if source == "index" else source)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
