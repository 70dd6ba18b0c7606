"""The walks to Table 7 and to Table 5, word by word; only the training is a stand-in's."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dicelab.corpora.registry import CORPORA
from dicelab.records import runs
from reproduce import estimate, gpu, grid
from tests.checkout import blocks, copy_to
from tests.reproduce.conftest import RUNNER

pytest.importorskip("snakemake")

PAGE = "docs/reproduce.md"
SENTENCE = "-DOCSTART- -X- -X- O\n\nBerlin NNP I-NP I-LOC\nwaits VBZ I-VP O\n\n"


def text(root: Path) -> str:
    """The page without its line ends."""
    return " ".join((root / PAGE).read_text(encoding="utf-8").split())


def block_with(part: str) -> list[str]:
    """The commands of the first block of the page that holds these words."""
    return next(block for block in blocks(PAGE, "sh") if part in block).splitlines()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What `git clone` and `make env` leave, with the runs replaced, and the licensed files."""
    folder = tmp_path / "dicebook"
    copy_to(folder)
    for words in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "runner.py").write_text(RUNNER)
    (folder / "conll2003").mkdir()
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (folder / "conll2003" / name).write_text(SENTENCE)
    return folder


def follow(clone: Path, command: str) -> str:
    """What a command of the page prints, on a machine with one card."""
    environment = os.environ | {
        "CUDA_VISIBLE_DEVICES": "0",
        "RUNNER": "runner",
        "TMPDIR": str(clone.parent),
    }
    environment.pop("DICEBOOK_DATA", None)
    words = shlex.split(command)
    if words[0] == "make":
        words.insert(1, "--old-file=.venv/ready")  # it is there
    done = subprocess.run(
        words,
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def changed(clone: Path) -> str:
    """The tracked files that are no longer as they were cloned, and what git would add."""
    asked = ["git", "ls-files", "--modified", "--deleted", "--others", "--exclude-standard"]
    return subprocess.run(asked, cwd=clone, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_walk_to_table_7_can_be_followed(
    root: Path,
    clone: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    walk, without_a_gpu, *_ = blocks(PAGE, "sh")
    made, gpu_command, data, estimated, reproduced = walk.splitlines()
    assert follow(clone, f"{made} --dry-run")
    assert "reproduce.gpu" in follow(clone, f"{gpu_command} DEVICE=cpu --dry-run")
    corpora = Path(os.environ.get("DICEBOOK_CORPORA", "nowhere"))
    if (corpora / "mrpc").is_dir():  # in place of the network
        monkeypatch.setenv("DICEBOOK_MIRROR", str(corpora.resolve()))
        assert "5,801" in follow(clone, data)
    else:
        assert data == ".venv/bin/dicebook data mrpc --out data"
        (clone / "data" / "mrpc").mkdir(parents=True)
        (clone / "data" / "mrpc" / "card.json").touch()
    (wanted,) = [shlex.split(estimated)[2:]]
    arguments = [f"--{name.lower()}={value}" for name, value in (w.split("=") for w in wanted)]
    arguments = [a.replace("--loss=", "--losses=") for a in arguments]
    assert estimate.main([*arguments, "--speed", "5000"]) == 0
    assert "Table 7, profile paper: 4 runs" in capsys.readouterr().out
    assert follow(clone, f"{estimated} --dry-run")
    before = changed(clone)
    follow(clone, reproduced)
    assert changed(clone) == before, "a table goes to runs/, which git does not track"
    records = runs.read_records(clone / "runs/reproduced/paper/table7.jsonl")
    assert {(r["parameters"]["backbone"], r["parameters"]["loss"]) for r in records} == {
        (backbone, loss) for backbone in ("BERT", "XLNet") for loss in ("ce", "dsc")
    }
    said = text(root)
    table = (clone / "runs/reproduced/paper/table7.md").read_text()
    printed = (
        "The paper prints 88.0 for BERT with cross entropy and 88.92 with self-adjusting dice, 89.2"
    )
    assert f"{printed} and 89.78 for XLNet." in said
    assert all(f1 in table for f1 in ("88.0", "88.92", "89.2", "89.78"))
    jobs = grid.only(grid.jobs(7, "paper"), ["mrpc"], ["ce", "dsc"])
    minutes = 60 * estimate.cost(jobs, estimate.assumed).hours
    assert f"about {minutes:.0f} minutes for the four runs" in said
    pip, laptop = without_a_gpu.splitlines()
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert pip.split()[-1] in project["optional-dependencies"]["encoder"]
    assert laptop == reproduced.replace("paper", "laptop")
    small = grid.only(grid.jobs(7, "laptop", ["mrpc"]), ["mrpc"], ["ce", "dsc"])
    assert {job.parameters["seed"] for job in small} == {0, 1, 2}


@pytest.mark.slow
def test_the_walk_ends_in_the_table(root: Path, clone: Path) -> None:
    said = text(root)
    _, corpus, _, paper, default = block_with("conll03 --source")
    # The made-up files do not have the published numbers of sentences; no word but this is added.
    follow(clone, f"{corpus} --accept-counts")
    follow(clone, paper)
    records = runs.read_records(clone / "runs/reproduced/paper/table5.jsonl")
    assert len(records) == 5
    assert "Five runs" in said
    followed = Path(re.findall(r"`tail -f (\S+)`", said)[0])
    assert (clone / followed).is_file()
    made = (clone / "runs/reproduced/paper/table5.md").read_text()
    assert [f1 for f1 in re.findall(r"\b9\d\.\d+", said) if f1 not in made] == []
    assert "corpora=conll03" in follow(clone, f"{default} --dry-run")
    jobs = grid.only(grid.jobs(5), ["conll03"])
    searches = {job.searched for job in jobs}
    assert f"{len(searches)} searches of three rates and {len(jobs)} runs" in said


def test_what_the_walk_asks_for_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    of_gpu, _, estimated, *_ = map(shlex.split, block_with("conll03 --source"))
    assert set(of_gpu[2].removeprefix("ONLY=").split()) <= set(gpu.STEPS)
    pairs = (word.split("=") for word in estimated[2:])
    arguments = [f"--{name.lower()}={value}" for name, value in pairs]
    assert estimate.main([*arguments, "--speed", "5000"]) == 0
    assert "Table 5, profile paper: 5 runs" in capsys.readouterr().out


def test_the_corpora_of_the_laptop_table_are_those_it_names() -> None:
    commands = block_with("data wnut17")
    named = re.findall(r"^\.venv/bin/dicebook data (\S+) --out data$", "\n".join(commands), re.M)
    assert set(named) == {job.parameters["corpus"] for job in grid.jobs(5, "laptop")}
    assert set(named) <= set(CORPORA)
