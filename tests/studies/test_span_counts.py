"""The commands of studies/spans.py on a corpus of a few sentences."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dicelab.records import runs
from studies import spans
from studies.evidence.tasks import Row, Task

ROWS = [
    Row(["Ada", "met", "Grace", "Hopper"], ["B-PER", "O", "B-PER", "I-PER"], 0),
    Row(["in", "Oslo"], ["O", "B-LOC"], 1),
]


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where ``--count`` is to write, with a record of an earlier time."""
    out = tmp_path / "spans.jsonl"
    monkeypatch.setattr(sys, "argv", ["x", "--count", "--corpora", "wnut17", "--out", str(out)])
    counts = tmp_path / "span_counts.jsonl"
    counts.write_text('{"parameters": {}, "metrics": {"of": "an earlier time"}}\n')
    return counts


def test_the_spans_of_a_pool_are_counted(counted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(spans.tasks.TASKS, "wnut17", Task("wnut17", "tags", lambda: (ROWS, [])))
    spans.main()
    (record,) = runs.read_records(counted)
    assert record["parameters"]["corpus"] == "wnut17"
    found = record["metrics"]
    assert found["types"] == 2
    assert found["words"] == {"all": 6, "in entities": 4}
    assert found["max_width"] == 2
    assert found["spans"] == [6, 4]  # of one word and of two
    assert found["entities"] == [2, 1]


def test_a_count_that_fails_leaves_the_old_record(
    counted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = counted.read_text()
    monkeypatch.setenv("DICEBOOK_DATA", str(counted.parent / "nothing"))
    with pytest.raises(FileNotFoundError, match="wnut17"):
        spans.main()
    assert counted.read_text() == old
    assert [path.name for path in counted.parent.iterdir()] == [counted.name]
