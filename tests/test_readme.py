"""What the README and the recipes promise: commands that exist, code that runs."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from sklearn.metrics import f1_score

from dicelab.__main__ import main
from dicelab.extras import install_command
from tests.checkout import ROOT, blocks


def commands(path: str) -> list[list[str]]:
    """The shell commands of a page, comments left out."""
    lines = [line for block in blocks(path, "sh") for line in block.splitlines()]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


README = commands("README.md")
PEERS = ("lightning", "sentence_transformers")


def test_every_command_is_of_a_kind_that_is_checked_here() -> None:
    assert {words[0] for words in README} == {"dicebook", "make", "pip"}


@pytest.mark.parametrize("page", ["README.md", "docs/recipes.md"])
def test_the_package_is_installed_from_where_it_is(page: str) -> None:
    found = [line for b in blocks(page, "sh") for line in b.splitlines() if line.startswith("pip")]
    assert found
    assert set(found) <= {install_command(of) for of in ("", "train", "book", "fit")}


@pytest.mark.parametrize("words", [w for w in README if w[0] == "make"], ids=shlex.join)
def test_make_target_exists(words: list[str]) -> None:
    question = subprocess.run(
        ["make", "--dry-run", *words[1:]], cwd=ROOT, capture_output=True, text=True
    )
    assert question.returncode == 0, question.stderr


@pytest.mark.parametrize("words", [w for w in README if w[0] == "dicebook"], ids=shlex.join)
def test_dicebook_takes_these_arguments(words, capsys):
    with suppress(SystemExit):
        main([*words[1:3], "--help"])
    shown = capsys.readouterr().out
    assert shown.startswith("usage: dicebook")
    for option in (word for word in words[3:] if word.startswith("--")):
        assert option in shown


TRAINS = [pytest.param(f"docs/{page}.md", marks=pytest.mark.slow) for page in ("recipes", "tasks")]


def test_the_example_of_the_readme_decides_as_tuned() -> None:
    (code,) = blocks("README.md", "python")
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    tuned, gold = names["tuned"], names["y"][3000:]
    assert tuned.after > tuned.before + 0.05
    decided = names["model"](names["x"][3000:]).argmax(-1)
    assert tuned.after == pytest.approx(f1_score(gold, decided))


@pytest.mark.parametrize("page", TRAINS)
def test_python_blocks_run(page: str) -> None:
    code = [block for block in blocks(page, "python") if not block.startswith("# train.py")]
    assert code
    absent = [name for name in PEERS if importlib.util.find_spec(name) is None]
    names: dict[str, object] = {"__name__": "page"}
    skipped = []
    for number, block in enumerate(code, start=1):
        if any(re.search(rf"^(?:import|from) {name}\b", block, re.MULTILINE) for name in absent):
            skipped.append(number)
            continue
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    if skipped:
        pytest.skip(f"all blocks ran but {skipped}, which need {absent}: make .venv/peers")


@pytest.mark.slow
def test_script_of_the_recipes_runs_under_torchrun(tmp_path: Path) -> None:
    (script,) = (b for b in blocks("docs/recipes.md", "python") if b.startswith("# train.py"))
    (tmp_path / "train.py").write_text(script)
    ((_, *arguments),) = (w for w in commands("docs/recipes.md") if w[0] == "torchrun")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]


def test_links_lead_somewhere() -> None:
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        prose = re.sub(r"`[^`]*`", "", (ROOT / page).read_text())
        links = re.findall(r"\]\(([^)#]+)\)", prose)
        for link in links:
            assert link.startswith("https://") or (ROOT / link).exists(), f"{page}: {link}"


def test_citation_names_the_software_and_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == __import__("dicebook").__version__
    assert citation["references"][0]["doi"] in (ROOT / "references.bib").read_text()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110
