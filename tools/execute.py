"""Execute chapters by papermill: the script ``NN_name.py`` becomes ``NN_name.ipynb`` with outputs.

Each in a fresh kernel of one thread that works in the project's root; the same script gives the
same bytes. `make notebooks` and `make book` call this for the chapters that are stale, several at a
time. With other parameters a chapter is run by papermill's own command.

What the chapter's prose says is checked by ``checks/NN_name.py``: each cell, named by a section,
runs at the end of that section, and is no part of the notebook that is written.

    python tools/execute.py 03_dice_and_f1 --out DIR
    python tools/execute.py 03_dice_and_f1 --out DIR --weave    # as it stands, checks between
    python tools/execute.py 08_part_of_speech --run --device cuda    # an experiment

An experiment trains for up to an hour. Its lines are shown as they come; what it has trained
stays in ``_build/run``, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import logging
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError

from dicelab.atomic import atomic

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"

# Without these a kernel's outputs would differ from run to run or from terminal to terminal.
QUIET = {
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
# What the built pages read: tags, and the captions and the words for pictures of myst-nb.
KEPT = ("tags", "mystnb")
STYLED = re.compile(r"\bT_[0-9a-f]{5}(?=_|\b)")  # what pandas calls a table, by chance


PROGRESS = re.compile(r"(\s*step \d+ of \d+\n)+")  # what `train` says each minute


CHECK = "check"
ADDED = {CHECK, "injected-parameters"}
CALL = "__import__('dicelab.claims').claims.check({!r}, globals())"


class ChapterError(Exception):
    """A chapter could not be executed; the message says which one and where."""


def with_checks(notebook: nbformat.NotebookNode, checks: Path) -> nbformat.NotebookNode:
    """A chapter with its checks in it.

    Args:
        notebook: The chapter; changed in place.
        checks: Its file of checks; there may be none. The title of a cell, ``# %% 5.3``, is the
            beginning of a heading of the chapter; the cell goes to the end of what this heading
            opens, before the next heading of any level, and gets the tag ``check``. What stands
            above the first title, the imports, is put before each.

    Raises:
        ChapterError: A title is the beginning of no heading, or of several.
    """
    if not checks.exists():
        return notebook
    # Of each heading the place of the last cell before the next one.
    headings, ends = [""], [-1]
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            for heading in re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE):
                headings.append(heading)
                ends.append(place)
        ends[-1] = place
    added: list[tuple[int, nbformat.NotebookNode]] = []
    imports, *code = (cell for cell in jupytext.read(checks).cells if cell.cell_type == "code")
    for check in code:
        title = check.metadata.get("title", "")
        matches = [i for i, h in enumerate(headings) if title and f"{h} ".startswith(f"{title} ")]
        if len(matches) != 1:
            raise ChapterError(
                f"{checks}: expected cells named by a section of the chapter, such as "
                f"`# %% {headings[-1].split()[0]}`, found `# %% {title}`, the beginning of "
                f"{len(matches)} headings"
            )
        source = f"{imports.source}\n\n{check.source}"
        call = CALL.format(f"# %% {title}\n{source}")
        cell = nbformat.v4.new_code_cell(call, metadata={"tags": [CHECK]})
        added.append((ends[matches[0]], cell))
    for place, cell in sorted(added, key=lambda pair: pair[0])[::-1]:
        notebook.cells.insert(place + 1, cell)
    return notebook


def texts(notebook: nbformat.NotebookNode) -> list[tuple[str, str, dict[str, Any]]]:
    """What a script and its notebook have in common: kind, text and kept metadata of each cell."""
    return [
        (cell.cell_type, cell.source, {name: cell.metadata.get(name) for name in KEPT})
        for cell in notebook.cells
    ]


def check_not_edited(script: Path) -> None:
    """Check that no edits are in the notebook alone, where executing would overwrite them.

    Raises:
        ChapterError: The notebook's cells are not the script's, and it is the newer of the two.
    """
    notebook = script.with_suffix(".ipynb")
    if not notebook.exists() or notebook.stat().st_mtime <= script.stat().st_mtime:
        return
    if texts(nbformat.read(notebook, as_version=4)) != texts(jupytext.read(script)):
        notebook_path, script_path = (os.path.relpath(path) for path in (notebook, script))
        raise ChapterError(
            f"{notebook_path} was edited after {script_path}, and executing would lose its "
            f"edits. Take them into the script:\n  jupytext --sync {notebook_path}\n"
            "or drop them: --force"
        )


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Drop what was added, and what changes from run to run; ids follow from the texts."""
    notebook.cells = [c for c in notebook.cells if not ADDED & set(c.metadata.get("tags", []))]
    code = (c for c in notebook.cells if c.cell_type == "code" and c.execution_count)
    names: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if not PROGRESS.fullmatch(o.get("text", ""))]
    for count, cell in enumerate(code, start=1):
        for counted in (cell, *cell.outputs):
            if "execution_count" in counted:
                counted.execution_count = count
            if "text/html" in counted.get("data", {}):
                counted.data["text/html"] = STYLED.sub(
                    lambda match: names.setdefault(match[0], f"T_{len(names) + 1}"),
                    counted.data["text/html"],
                )
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": notebook.metadata.kernelspec, "language_info": {"name": "python"}}
    )
    counts: dict[str, int] = {}
    for cell in notebook.cells:
        metadata = {name: cell.metadata[name] for name in KEPT if cell.metadata.get(name)}
        cell.metadata = nbformat.from_dict(metadata)
        key = hashlib.sha256(f"{cell.cell_type}:{cell.source}".encode()).hexdigest()[:8]
        counts[key] = counts.get(key, 0) + 1
        cell.id = key if counts[key] == 1 else f"{key}-{counts[key]}"
    return notebook


def checks_of(script: Path) -> Path:
    """The file of a chapter's checks."""
    return script.parent / "checks" / script.name


def weave(script: Path, out: Path) -> None:
    """Write the chapter as it is executed, with its checks in it, which pytest's nbval runs.

    Args:
        script: The chapter's script, beside its notebook.
        out: Folder of the result.
    """
    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    nbformat.write(with_checks(notebook, checks_of(script)), out / f"{script.stem}.ipynb")


def execute(script: Path, out: Path, device: str | None = None) -> float:
    """Execute one chapter into ``out/NAME.ipynb``.

    Args:
        script: The chapter's script.
        out: Folder of the result.
        device: Where an experiment trains; None executes the chapter as it stands.

    Returns:
        Seconds of wall time, the kernel's start included.

    Raises:
        ChapterError: A cell failed.
    """
    partial = ROOT / "_build" / "failed" / f"{script.stem}.ipynb"
    partial.parent.mkdir(parents=True, exist_ok=True)
    kept = {"device": device, "output_dir": str(ROOT / "_build" / "run" / script.stem)}
    if device:
        os.environ["DICEBOOK_RUN"] = "1"  # its own corpus and encoder, or none
    start = time.perf_counter()
    try:
        executed = papermill.execute_notebook(
            with_checks(clean(jupytext.read(script)), checks_of(script)),
            partial,
            parameters=kept if device else {},
            cwd=ROOT,
            progress_bar=False,
            log_output=bool(device),
            coalesce_streams=True,
            extra_arguments=["--Application.log_level=50"],
        )
    except PapermillExecutionError as error:
        raise ChapterError(
            f"{script.stem} failed in cell {error.cell_index + 1} (In [{error.exec_count}]): "
            f"{error.ename}: {error.evalue}\n"
            f"as far as it came: {partial.relative_to(ROOT)}\n\n{_text(error.source)}"
        ) from None
    with atomic(out / f"{script.stem}.ipynb") as path:
        nbformat.write(clean(executed), path)
    partial.unlink()
    return time.perf_counter() - start


def carry(script: Path) -> None:
    """Take a script's prose into its notebook, whose outputs stay.

    Raises:
        ChapterError: The code has changed, so that the outputs are not of this script.
    """
    path = script.with_suffix(".ipynb")
    new, stored = jupytext.read(script), nbformat.read(path, as_version=4)
    code = [[c for c in part.cells if c.cell_type == "code"] for part in (new, stored)]
    if [c.source for c in code[0]] != [c.source for c in code[1]]:
        raise ChapterError(
            f"{script.stem} has other code than its stored run; "
            f"run: make run CHAPTER={script.stem[:2]}"
        )
    for cell, of in zip(*code, strict=True):
        cell.outputs, cell.execution_count = of.outputs, of.execution_count
    new.metadata = stored.metadata
    with atomic(path) as temporary:
        nbformat.write(clean(new), temporary)


def _text(source: str) -> str:
    """A failed cell as it is written: a check, or a cell of the chapter."""
    before, _, after = CALL.partition("{!r}")
    if not source.startswith(before):
        return source
    return str(ast.literal_eval(source.removeprefix(before).removesuffix(after)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Execute the named chapters; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="chapters, such as 01_imbalance")
    parser.add_argument("--out", type=Path, default=NOTEBOOKS, help="folder of the results")
    parser.add_argument("--weave", action="store_true", help="put the checks in, execute nothing")
    parser.add_argument("--carry", action="store_true", help="take the prose over, execute nothing")
    parser.add_argument("--run", action="store_true", help="train, and show its lines")
    parser.add_argument("--device", default="auto", help="of --run: auto, cpu, cuda or mps")
    parser.add_argument("--force", action="store_true", help="overwrite an edited notebook")
    options = parser.parse_args(arguments)
    out = options.out.resolve()
    chapters = sorted(path.stem for path in NOTEBOOKS.glob("[0-9][0-9]_*.py"))
    names = [Path(name).stem for name in options.names]
    if unknown := sorted(set(names) - set(chapters)):
        parser.error(f"no chapter {', '.join(unknown)}; there are: {', '.join(chapters)}")
    if options.run:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    for name, setting in QUIET.items():
        os.environ.setdefault(name, setting)

    failures = 0
    for script in (NOTEBOOKS / f"{name}.py" for name in names):
        try:
            if options.weave:
                weave(script, out)
                continue
            if options.carry:
                carry(script)
                continue
            if out == NOTEBOOKS and not options.force:
                check_not_edited(script)
            seconds = execute(script, out, options.device if options.run else None)
        except ChapterError as error:
            failures += 1
            print(f"error: {error}", file=sys.stderr, flush=True)
            continue
        print(f"{script.stem}: {seconds:.0f} s", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
