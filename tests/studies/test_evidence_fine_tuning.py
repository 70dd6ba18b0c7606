"""Stage B of the evidence: its plan, its draws, and a run of a tiny encoder from end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dicelab.tasks import pairs, tagging
from studies.evidence import records, stage_b
from studies.evidence.stage_b import Run
from studies.evidence.tasks import NO, YES, Row


def _rows(seed: int, task: str) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(60):
        if task == "mrpc":
            yes = bool(rng.random() < 0.4)
            rows.append(
                Row(("the cat sat", "a dog ran" if yes else "the cat"), YES if yes else NO, i)
            )
            continue
        words, tags = [], []
        for _ in range(6):
            if rng.random() < 0.3:
                words += ["Ann", "Lee"]
                tags += ["B-PER", "I-PER"]
            else:
                words.append(str(rng.choice(["we", "saw", "it"])))
                tags.append("O")
        rows.append(Row(words, tags, i))
    return rows


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A tiny encoder, made-up rows, and the logits of the last run."""
    seen: dict[str, Any] = {}

    def train(*args: Any, **options: Any) -> Any:
        seen["logits"] = real(*args, **options)
        seen["splits"] = options["splits"]
        return seen["logits"]

    real = stage_b.train
    monkeypatch.setattr(stage_b, "train", train)
    monkeypatch.setattr(stage_b, "ENCODER", "tiny")
    monkeypatch.setattr(stage_b, "_parts", lambda task: (_rows(0, task), _rows(1, task)))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("task", ["wnut17", "mrpc"])
def test_a_final_is_scored_as_the_chapters_score_it(
    task: str, tiny: dict[str, Any], tmp_path: Path
) -> None:
    wanted = Run("final", task, "dice", 30, 3, 0, 2e-3)
    stage_b.run_one((wanted, tmp_path))
    (record,) = records.read(stage_b.file_of(tmp_path, task))
    assert record["sentences"] == 30
    split, logits = tiny["splits"]["test"].select(range(9, 69)), tiny["logits"].logits["test"][9:]
    if task == "mrpc":
        expected = pairs.score(split["labels"], pairs.decode(logits))
    else:
        labels = ["O", "B-PER", "I-PER"]
        expected = tagging.score(split["tags"], tagging.decode(logits, split, labels))
    assert record["test"]["argmax"]["f1"] == pytest.approx(expected["f1"], abs=0.001)
    assert record["test"]["tuned"]["f1"] > 70
    assert len(record["history"]) == 3


@pytest.mark.slow
def test_a_search_never_sees_the_test_part(tiny: dict[str, Any], tmp_path: Path) -> None:
    stage_b.run_one((Run("search", "mrpc", "ce", 20, 1, 1000, 1e-3), tmp_path))
    (record,) = records.read(stage_b.file_of(tmp_path, "mrpc"))
    assert len(tiny["splits"]["test"]) == 9
    assert "test" not in record


def test_halves_and_training_share_no_sentence(tiny: dict[str, Any]) -> None:
    splits, second = stage_b.splits_of(Run("final", "wnut17", "ce", 0, 1, 3, 1e-4))
    small, _ = stage_b.splits_of(Run("final", "wnut17", "dsc", 10, 1, 3, 1e-4))
    assert [len(part) for part in splits.values()] == [42, 9, 69]
    assert second == 9
    assert small["train"]["tokens"] == splits["train"]["tokens"][:10]
    pool = [row.texts for row in _rows(0, "wnut17")]
    parts = [*splits["train"]["tokens"], *splits["validation"]["tokens"]]
    parts += splits["test"]["tokens"][:9]
    assert sorted(map(list, pool)) == sorted(parts)


def test_the_rate_is_the_best_on_average_and_the_lowest_among_equals() -> None:
    def found(rate: float, *values: float) -> list[dict[str, Any]]:
        blank = {"kind": "search", "arm": "ce", "rate": rate}
        return [{**blank, "validation": {"tuned": {"f1": v}}} for v in values]

    known = [*found(1e-4, 40, 42), *found(2e-4, 60, 10), *found(4e-4, 41, 41)]
    known += [*found(8e-4, 0, 0), *found(16e-4, 0, 0)]
    assert stage_b.chosen_rate(known, "ce") == 1e-4


def test_the_plan_begins_with_all_sentences_and_keeps_pairs_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"wnut17": 4000, "crossner_politics": 741, "mrpc": 4000}  # 518 to train on: no 1,000
    monkeypatch.setattr(stage_b, "_parts", lambda task: ([None] * sizes[task], []))
    for task in stage_b.CORPORA:
        for run in stage_b.searches([task]):
            told = {**run._asdict(), "validation": {"tuned": {"f1": 1.0}}}
            records.append(stage_b.file_of(tmp_path, task), [told])
    plan = list(stage_b.finals(stage_b.CORPORA, tmp_path))
    assert len(plan) == len(set(plan)) == (12 + 8 + 12) * 8 * 4
    assert {(run.size, run.passes) for run in plan[:96]} == {(stage_b.ALL, 4)}
    assert [run.arm for run in plan[:4]] == list(stage_b.LOSSES)
    assert len(stage_b.searches(stage_b.CORPORA)) == 3 * 4 * 10
    with pytest.raises(ValueError, match="expected some of wnut17"):
        stage_b.run(["sst2"], tmp_path)
