"""What the README and the recipes promise: commands that exist, code that runs."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import papermill
import pytest
import torch
import yaml
from sklearn.metrics import f1_score
from transformers import BertModel, pipeline

from dicelab.__main__ import main
from dicelab.extras import install_command
from dicelab.fit.data import read
from dicelab.fit.options import Options
from dicelab.training.tiny import tiny_config, train_wordpiece
from tests.checkout import ROOT, blocks


def commands(path: str) -> list[list[str]]:
    """The shell commands of a page, comments left out."""
    lines = [line for block in blocks(path, "sh") for line in block.splitlines()]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


README = commands("README.md")
PEERS = ("lightning", "sentence_transformers")
PAPERMILL = [words for words in README if words[0] == "papermill"]


def notebook(words: list[str]) -> str:
    """The chapter that a command of papermill runs."""
    return next(word for word in words if word.endswith(".ipynb"))


def parameters(words: list[str]) -> dict[str, str]:
    """What the command passes by -p."""
    return {words[i + 1]: words[i + 2] for i, word in enumerate(words) if word == "-p"}


def test_every_command_is_of_a_kind_that_is_checked_here() -> None:
    assert {words[0] for words in README} == {"dicebook", "git", "make", "papermill", "pip"}


@pytest.mark.parametrize("page", ["README.md", "docs/recipes.md"])
def test_the_package_is_installed_from_where_it_is(page: str) -> None:
    found = [line for b in blocks(page, "sh") for line in b.splitlines() if line.startswith("pip")]
    assert found
    assert set(found) <= {install_command(of) for of in ("", "train", "book", "fit")}


def test_the_clone_is_of_the_repository() -> None:
    (words,) = (words for words in README if words[0] == "git")
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert words[:3] == ["git", "clone", urls["Repository"]]
    assert f"]({urls['Homepage']})" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("words", [w for w in README if w[0] == "make"], ids=shlex.join)
def test_make_target_exists(words: list[str]) -> None:
    question = subprocess.run(
        ["make", "--dry-run", *words[1:]], cwd=ROOT, capture_output=True, text=True
    )
    assert question.returncode == 0, question.stderr


@pytest.mark.parametrize("words", [w for w in README if w[0] == "dicebook"], ids=shlex.join)
def test_dicebook_takes_these_arguments(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with suppress(SystemExit):
        main([*words[1:3], "--help"])
    shown = capsys.readouterr().out
    assert shown.startswith("usage: dicebook")
    for option in (word for word in words[3:] if word.startswith("--")):
        assert option in shown


@pytest.mark.parametrize("words", PAPERMILL, ids=shlex.join)
def test_papermill_parameters_are_the_chapters(words: list[str]) -> None:
    known = papermill.inspect_notebook(ROOT / notebook(words))
    assert set(parameters(words)) <= set(known)


TRAINS = [pytest.param(f"docs/{page}.md", marks=pytest.mark.slow) for page in ("recipes", "tasks")]


@pytest.fixture
def files_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds what the README's example reads: an encoder of its name, two tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (code,) = blocks("README.md", "python")
    (encoder,) = re.findall(r'encoder = "(.+)"', code)
    rows = {
        name: [(f"row {i} {'ab'[i % 9 == 0]}", int(i % 9 == 0)) for i in range(90)]
        for name in ("train", "validation")
    }
    for name, table in rows.items():
        lines = ["text,label", *(f"{text},{label}" for text, label in table)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    tokenizer = train_wordpiece((text for text, _ in rows["train"]), max_length=16, vocab_size=60)
    tokenizer.save_pretrained(encoder)
    BertModel(tiny_config(tokenizer)).save_pretrained(encoder)
    return tmp_path


def test_the_example_of_the_readme_keeps_a_model_that_decides_as_tuned(
    files_of_the_readme: Path,
) -> None:
    (code,) = blocks("README.md", "python")
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    tuned, found, validation = names["tuned"], names["found"], names["data"]["validation"]
    wanted = (torch.from_numpy(found.predictions) + tuned.bias).argmax(-1).tolist()
    assert tuned.after == pytest.approx(f1_score(found.label_ids, wanted))
    assert tuned.after > 0
    classify = pipeline("text-classification", str(files_of_the_readme / "kept"), device="cpu")
    assert [one["label"] for one in classify(validation["text"][:])] == [
        f"LABEL_{label}" for label in wanted
    ]


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


@pytest.mark.parametrize("page", ["README.md", "index.md"])
def test_files_of_the_forms_that_are_shown_are_read(page: str, tmp_path: Path) -> None:
    tagged, table = blocks(page, "text")
    header, *rows = table.splitlines()
    sentences = tagged.strip().split("\n\n")
    forms = {
        "tagging": "\n\n".join(f"{s}\n{i}\tO" for i in range(15) for s in sentences) + "\n",
        "sentences": "\n".join([header, *(f"{i} {row}" for i in range(15) for row in rows)]) + "\n",
    }
    for task, text in forms.items():
        file = tmp_path / f"{task}.tsv"
        file.write_text(text)
        found = read(Options(source=str(file)))
        assert (found.task, set(found.splits)) == (task, {"train", "validation", "test"})
