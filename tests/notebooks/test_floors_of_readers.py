"""The two rules beside the readers of section 10.9, on the same questions of SQuAD 1.1."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jupytext
import pytest

from dicelab.tasks import reading
from studies import first_try


def most_shared(row: dict[str, Any]) -> str:
    """The sentence that shares most words with the question, the first of equals."""
    asked = set(re.findall(r"\w+", row["question"].lower()))
    sentences = re.split(r"(?<=[.!?])\s+", row["context"])
    shared = [len(asked & set(re.findall(r"\w+", one.lower()))) for one in sentences]
    return sentences[shared.index(max(shared))]


def test_floors_of_readers(root: Path, real_corpus: Callable[[str], Path]) -> None:
    cells = jupytext.read(root / "notebooks" / "10_reading.py").cells
    (printed,) = (
        ast.literal_eval(node.body[-1].value)
        for cell in cells
        if cell.cell_type == "code" and "def floors" in cell.source
        for node in ast.parse(cell.source).body
        if isinstance(node, ast.FunctionDef) and node.name == "floors"
    )
    whole = first_try.squad11(real_corpus("squad11").parent)
    questions = first_try.drawn(whole, first_try.TASKS["squad11"], 0)
    for (rule, split), f1 in printed.items():
        rows = questions[split]
        texts = [row["context"] if rule == "paragraph" else most_shared(row) for row in rows]
        answers = [reading.Answer(text, 1.0) for text in texts]
        found = reading.score(answers, rows["answers"])["f1"]
        assert len(rows) == 100
        assert f1 == pytest.approx(found, abs=0.05)
