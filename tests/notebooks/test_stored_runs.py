"""The stored experiments: their prose has the numbers of their outputs, their losses repeat."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from transformers import TrainerCallback

from dicelab import chapters
from dicelab.__main__ import main
from dicelab.corpora.registry import CORPORA
from dicelab.records import searched
from dicelab.training import trainer
from dicelab.training.encoders import has_minilm
from tests.notebooks.test_contract import execute

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NAMES = list(chapters.settings())
NUMBER = re.compile(r"(?<![\w.,])[−-]?\d[\d,]*(?:\.\d+)?(?:%|(?![\w]))")
# What is no result: code, formulas, links with their texts, citations, and what numbers something.
NO_RESULT = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\[[^\]]*\]\([^)]*\)|\{cite\}|\([\w-]+\)=|"
    r"\b(?:[Ss]ections?|[Cc]hapters?|[Ff]igures?|[Tt]ables?|Eqs?\.|Exercise) [\d.]+(?: and [\d.]+)?"
    r"|^#+ .*?$|^\*\*\d+.*?\*\*|<[^>]*>",
    re.DOTALL | re.MULTILINE,
)
# `74.3<!-- the paper, Table 3 -->`: a number of elsewhere says whose it is.
ELSEWHERE = re.compile(r"[−-]?[\d.,]+%?<!--.*?-->", re.DOTALL)


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def outputs(notebook: nbformat.NotebookNode) -> list[str]:
    """The texts that a chapter printed."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            html = _Text()
            html.feed(output.get("data", {}).get("text/html", ""))
            texts += [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
            texts.append(" ".join(html.words))
    return texts


def values(text: str) -> list[float]:
    found = re.findall(r"[−-]?\d[\d,]*\.?\d*(?:e-?\d+)?", text)
    return [float(n.rstrip(",").replace(",", "").replace("−", "-")) for n in found]


def unprinted(notebook: nbformat.NotebookNode) -> list[str]:
    """The numbers of a chapter's prose that are in no output, so rounded, and are not marked."""
    known = {abs(v) for text in outputs(notebook) for v in values(text)}
    code = [c.source for c in notebook.cells if c.cell_type == "code"]
    known |= {abs(v) for source in code for v in values(source)}
    missing = []
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        prose = NO_RESULT.sub(" ", ELSEWHERE.sub(" ", cell.source))
        for printed in NUMBER.findall(prose):
            digits = printed.rstrip("%").replace(",", "").replace("−", "-")
            half = 0.5 * 10.0 ** -len(digits.partition(".")[2]) + 1e-9
            value = abs(float(digits))
            scales = (1, 100) if printed.endswith("%") else (1,)
            if value > 2 and not any(abs(s * k - value) <= half for k in known for s in scales):
                missing.append(printed)
    return missing


@pytest.mark.parametrize("chapter", NAMES)
def test_a_number_in_prose_stands_in_an_output(chapter: str) -> None:
    assert unprinted(nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)) == []


def test_a_number_of_nowhere_is_found() -> None:
    printed = nbformat.v4.new_output("stream", text="F1 74.26, 1,234 words, 12%")
    code = nbformat.v4.new_code_cell("look", outputs=[printed])
    says = "74.3 (not 74.4), as section 8.4 says; 12% of 1,234 words; 9.1<!-- Table 3 -->."
    prose = nbformat.v4.new_markdown_cell(says)
    assert unprinted(nbformat.v4.new_notebook(cells=[code, prose])) == ["74.4"]


@pytest.mark.slow
@pytest.mark.skipif(not has_minilm(), reason="MiniLM is not here")
@pytest.mark.parametrize("chapter", NAMES)
def test_the_first_losses_are_those_that_are_stored(
    chapter: str,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    real_corpus: Callable[[str], Path],
) -> None:
    corpus = chapters.settings()[chapter]["run"]["corpus"]
    raw = tmp_path / "data" / corpus / "raw"
    raw.mkdir(parents=True)
    for file in real_corpus(corpus).iterdir():
        (raw / file.name).symlink_to(file)
    assert corpus in CORPORA
    if main(["data", corpus, "--out", str(tmp_path / "data")]):
        pytest.skip(f"the files of {corpus!r} are not those that were published")
    monkeypatch.setenv("DICEBOOK_DATA", str(tmp_path / "data"))
    short: dict[str, Any] = {"eval_size": 8, "device": "cpu"}
    if "kept(" in (NOTEBOOKS / f"{chapter}.py").read_text(encoding="utf-8"):
        short["max_steps"] = 3  # of the chapter's own loop, which does not change the schedule
    if "steps" in chapters.settings()[chapter]["run"]:
        short["steps"] = 3  # of another model, whose losses are not printed
    callbacks = trainer._callbacks
    monkeypatch.setattr(trainer, "_callbacks", lambda *given: [*callbacks(*given), AfterThree()])
    execute(root, monkeypatch, chapter, **short)
    stored = outputs(nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4))
    again = first_losses([capsys.readouterr().out])
    assert again
    assert again == pytest.approx(first_losses(stored), rel=1e-3, abs=1e-4)


def test_on_eight_tasks_dice_finds_no_more_entities_than_cross_entropy_that_we_could_tell() -> None:
    tasks = ["wnut17", "wikigold", "uner_en_ewt"]
    tasks += [f"crossner_{f}" for f in ("ai", "literature", "music", "politics", "science")]
    gaps = searched.gaps(searched.read_tasks(), {task: task for task in tasks})
    found = {(arm, task, how): e for task, of in gaps.items() for (arm, how), e in of.items()}
    assert len(found) == 32
    assert {effect.searches for effect in found.values()} == {5}
    away = [place for place, effect in found.items() if not effect.low < 0 < effect.high]
    assert away == [("dice_start", "crossner_literature", "tuned")]
    assert found[away[0]].mean == pytest.approx(-2.5, abs=0.05)
    near = [effect.mean for (arm, *_), effect in found.items() if arm == "dice"]
    assert max(map(abs, near)) < 1.55


class AfterThree(TrainerCallback):
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop = state.global_step >= 3


def first_losses(texts: list[str]) -> dict[str, float]:
    """The three losses that a chapter prints at its end, by loss."""
    lines = re.findall(r"(.+): \d+ s on .*first losses ([\d. ]+)", "\n".join(texts))
    return {
        f"{name}, step {step}": loss
        for name, numbers in lines
        for step, loss in enumerate(values(numbers), 1)
    }
