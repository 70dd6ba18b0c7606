"""The numbers that a chapter's checks claim stand in its text."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import jupytext
import pytest

from dicelab.training.experiment import Experiment
from tools.execute import checks_of

CHAPTERS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("[0-9][0-9]_*.py"))


def claimed(source: str) -> list[str]:
    """The words of each call of `claim`: its first argument, a plain string."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    claims = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "claim"]
    return [ast.literal_eval(call.args[0]) for call in claims]


def numbers(text: str) -> set[str]:
    """The numbers of a text as they are printed."""
    return set(re.findall(r"[−-]?\d*[.,]?\d+", text))


@pytest.mark.parametrize("script", CHAPTERS, ids=lambda path: path.stem)
def test_claimed_numbers_stand_together_in_the_text(script: Path) -> None:
    cells = jupytext.read(script).cells
    texts = [numbers(cell.source) for cell in cells if cell.cell_type == "markdown"]
    claiming = [c.source for c in cells if c.cell_type == "code" and "claim(" in c.source]
    if (checks := checks_of(script)).exists():
        assert claiming == [], f"claims belong into {checks}"
        claiming = [checks.read_text(encoding="utf-8")]
    for source in claiming:
        for words in claimed(source):
            assert any(numbers(words) <= text for text in texts), (
                f"no text of {script.stem} has the numbers of {words!r}"
            )


def parameters_and_printed(script: Path) -> tuple[Experiment, Experiment] | None:
    """The experiment of the cell of parameters, and the one whose outputs the text is about."""
    codes = [cell for cell in jupytext.read(script).cells if cell.cell_type == "code"]
    about = [re.search(r"^printed = (Experiment\(.*?^\))", c.source, re.M | re.S) for c in codes]
    if not any(about):
        return None
    (cell,) = [c for c in codes if "parameters" in c.metadata.get("tags", [])]
    values: dict[str, object] = {}
    exec(cell.source, values)
    names = {item.name for item in fields(Experiment)} & values.keys()
    (found,) = filter(None, about)
    return Experiment(**{n: values[n] for n in names}), eval(found[1], {"Experiment": Experiment})


@pytest.mark.parametrize("script", CHAPTERS, ids=lambda path: path.stem)
def test_claims_are_about_the_parameters_as_they_stand(script: Path) -> None:
    found = parameters_and_printed(script)
    if found is None:
        pytest.skip("says nothing that depends on parameters")
    assert found[0] == found[1]


def test_claimed_words_are_read_off_the_code() -> None:
    assert claimed('x = 1\nclaim("a " "b", x > 0)\nclaim("c", True)') == ["a b", "c"]
    assert numbers("is −.25 points, of 2,000 or 17.4") == {"−.25", "2,000", "17.4"}
