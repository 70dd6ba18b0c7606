r"""Write where dicebook is found into pages, metadata, chapters: make repository TO=you/dicebook.

As committed, no file names an address: pip installs from a clone, and a comment marks each place
that waits for one. Run again, it writes another address. With ``index`` behind it, pip takes the
package from the package index: python -m tools.source you/dicebook index
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from dicelab.extras import install_command

ROOT = Path(__file__).parents[1]
EXTRAS = ("train", "fit", "book", "encoder")
#: What the first cell of a chapter runs without an address.
NO_ADDRESS = '''"""print("dicebook is missing: in a clone, run pip install '.[book]'")"""'''
ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*")
README = "[[tool.hatch.metadata.hooks.fancy-pypi-readme.substitutions]]"
# Of each file the marks, and what takes their place.
PLACES = {
    "README.md": {
        "<!-- `make repository` writes the badge here. -->": """\
[![Tests](https://github.com/{to}/actions/workflows/tests.yml/badge.svg)](https://github.com/{to}/actions/workflows/tests.yml)
"""
    },
    "CITATION.cff": {
        "# `make repository` writes repository-code and url here.": """\
repository-code: https://github.com/{to}
url: https://{owner}.github.io/{name}/"""
    },
    "pyproject.toml": {
        "# `make repository` writes [project.urls] here.": """\
[project.urls]
Homepage = "https://{owner}.github.io/{name}/"
Documentation = "https://{owner}.github.io/{name}/docs/api.html"
Repository = "https://github.com/{to}"
Issues = "https://github.com/{to}/issues"
Changelog = "https://github.com/{to}/blob/main/CHANGELOG.md\"""",
        "# `make repository` writes here where the links and pictures of the README lead.": f"""\
{README}
pattern = '!\\[(.+?)\\]\\((?!https://)(\\S+?)\\)'
replacement = '![\\1](https://github.com/{{to}}/raw/main/\\2)'

{README}
pattern = '(?<!!)\\[(.+?)\\]\\((?!https://)(\\S+?)\\)'
replacement = '[\\1](https://github.com/{{to}}/blob/main/\\2)'

{README}
pattern = '(src|srcset)="(?!https://)(\\S+?)"'
replacement = '\\1="https://github.com/{{to}}/raw/main/\\2"'""",
    },
    "_config.yml": {
        "      # `make repository` writes the links to the repository here.": """\
      repository_url: https://github.com/{to}
      repository_branch: main
      path_to_docs: ""
      use_repository_button: true
      use_edit_page_button: true
      use_issues_button: true
      launch_buttons:
        notebook_interface: jupyterlab
        colab_url: https://colab.research.google.com
        binderhub_url: https://mybinder.org""",
        "    # `make repository` writes ogp_site_url here.": """\
    ogp_site_url: https://{owner}.github.io/{name}/""",
        '      # `make repository` writes here what "Suggest edit" opens.': """\
      edit_page_provider_name: GitHub
      edit_page_url_template: >-
        https://github.com/{to}/edit/main/{{{{ file_name | replace(".ipynb", ".py") }}}}""",
    },
}


def write(to: str, root: Path = ROOT, *, index: bool = False) -> list[str]:
    """Write an address everywhere.

    Args:
        to: the repository, such as ``"you/dicebook"``.
        root: the checkout.
        index: let pip take the package from the package index, not from the repository.

    Returns:
        The names of the files that changed.
    """
    owner, name = to.split("/")
    here = re.search(
        r'^Repository = "https://github.com/(.*)"', _read(root, "pyproject.toml"), re.M
    )
    source = "index" if index else f"git+https://github.com/{to}"
    was_source = re.search(r'^SOURCE = "(.*)"', _read(root, "dicelab/extras.py"), re.M)
    assert was_source
    from_where = was_source[1].replace(here[1], to) if here else was_source[1]
    new = {extra: install_command(extra, source) for extra in EXTRAS}
    changed = []
    listed = subprocess.check_output(["git", "ls-files"], cwd=root, text=True).splitlines()
    for file in listed:
        if file == "tools/source.py" or Path(file).suffix in (".png", ".parquet", ".safetensors"):
            continue
        try:
            text = old = _read(root, file)
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        if here:
            before, was = here[1].split("/")
            text = text.replace(f"github.com/{here[1]}", f"github.com/{to}")
            text = text.replace(f"{before}.github.io/{was}", f"{owner}.github.io/{name}")
        for mark, block in PLACES.get(file, {}).items():
            text = text.replace(mark, block.format(to=to, owner=owner, name=name))
        if file.startswith("notebooks/"):
            for spelt in (str, lambda code: json.dumps(code)[1:-1]):  # in a script, in a notebook
                text = text.replace(spelt(NO_ADDRESS), spelt(installs(source)))
        if file.endswith((".md", ".ipynb")) or file.startswith("notebooks/"):
            for extra in EXTRAS:
                text = text.replace(install_command(extra, from_where), new[extra])
        if file == "dicelab/extras.py":
            text = text.replace(f'SOURCE = "{from_where}"', f'SOURCE = "{source}"')
        if text != old:
            (root / file).write_text(text, encoding="utf-8")
            changed.append(file)
    return changed


def installs(source: str) -> str:
    """What takes the place of ``NO_ADDRESS``."""
    return f'"%{install_command("book", source)}"'


def _read(root: Path, file: str) -> str:
    return (root / file).read_text(encoding="utf-8")


def main(arguments: list[str]) -> int:
    """The command line."""
    to, *rest = arguments or [""]
    if not ADDRESS.fullmatch(to) or rest not in ([], ["index"]):
        print(
            f"expected owner/name, got {to!r}; say: make repository TO=you/dicebook",
            file=sys.stderr,
        )
        return 2
    print("\n".join(write(to, index=bool(rest))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
