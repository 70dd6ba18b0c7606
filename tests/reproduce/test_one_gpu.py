"""The walks to Table 7 and to Table 5: their commands are commands, their numbers the grid's."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib

import pytest

from dicelab.corpora.registry import CORPORA
from dicelab.records import paper
from reproduce import estimate, grid
from tests.checkout import ROOT, blocks

PAGE = "docs/reproduce.md"
TEXT = " ".join((ROOT / PAGE).read_text(encoding="utf-8").split())
MAKE = sorted({line for b in blocks(PAGE, "sh") for line in b.splitlines() if line[:5] == "make "})


def block_with(part: str) -> list[str]:
    """The commands of the first block of the page that holds these words."""
    return next(block for block in blocks(PAGE, "sh") if part in block).splitlines()


def estimated(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the estimate of a command of the page says."""
    pairs = (word.split("=") for word in shlex.split(command)[2:])
    arguments = [
        f"--{name.lower()}={value}".replace("--loss=", "--losses=") for name, value in pairs
    ]
    assert estimate.main([*arguments, "--speed", "5000"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", MAKE)
def test_a_command_with_make_has_its_target_and_hands_its_settings_on(command: str) -> None:
    words = shlex.split(command, comments=True)
    given = [*words[1:], "--dry-run", "--old-file=.venv/ready", "--old-file=env"]
    done = subprocess.run(["make", *given], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, value in (word.split("=", 1) for word in words[2:] if "=" in word):
        assert value in done.stdout, name


def test_the_walk_to_table_7_is_that_of_its_four_runs(capsys: pytest.CaptureFixture[str]) -> None:
    walk, without_a_gpu, *_ = blocks(PAGE, "sh")
    *_, data, of_runs, reproduced = walk.splitlines()
    assert data == ".venv/bin/dicebook data mrpc --out data"
    assert "Table 7, profile paper: 4 runs" in estimated(of_runs, capsys)
    rows = [
        paper.table(7).row("mrpc", b, loss) for b in ("BERT", "XLNet") for loss in ("ce", "dsc")
    ]
    ce, dsc, of_xlnet, other = (row.printed["f1"] for row in rows if row)
    printed = f"{ce} for BERT with cross entropy and {dsc} with self-adjusting dice, {of_xlnet} and"
    assert f"The paper prints {printed} {other} for XLNet." in TEXT
    jobs = grid.only(grid.jobs(7, "paper"), ["mrpc"], ["ce", "dsc"])
    minutes = 60 * estimate.cost(jobs, estimate.assumed).hours
    assert f"about {minutes:.0f} minutes for the four runs" in TEXT
    pip, laptop = without_a_gpu.splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert pip.split()[-1] in project["optional-dependencies"]["encoder"]
    assert laptop == reproduced.replace("paper", "laptop")
    small = grid.only(grid.jobs(7, "laptop", ["mrpc"]), ["mrpc"], ["ce", "dsc"])
    assert {job.parameters["seed"] for job in small} == {0, 1, 2}


def test_the_corpora_of_the_laptop_table_are_those_it_names() -> None:
    commands = block_with("data wnut17")
    named = re.findall(r"^\.venv/bin/dicebook data (\S+) --out data$", "\n".join(commands), re.M)
    assert set(named) == {job.parameters["corpus"] for job in grid.jobs(5, "laptop")}
    assert set(named) <= set(CORPORA)
