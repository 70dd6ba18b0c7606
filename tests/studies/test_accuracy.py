"""What studies/accuracy.py trains with, and that all that is planned was run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dicebook import BinaryDiceLoss, DiceLoss
from dicelab.records import runs
from studies import accuracy
from studies.evidence import heads


def test_dice_of_all_classes_and_of_the_positives_are_those_of_the_library() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, gold = torch.randn(1, 40, 2, generator=generator), torch.arange(40) % 2
    one_hot, value = torch.nn.functional.one_hot(gold, 2).float()[None], torch.ones(1, 1)
    of_all, positives = (
        arm.loss(logits, one_hot, value, None, slice(1, None)).item()
        for arm in (accuracy.OF_ALL["dice of all"], heads.ARMS["dice"])
    )
    assert abs(of_all - DiceLoss(smooth=1.0, squared=True)(logits[0], gold).item()) < 1e-6
    margin = logits[0, :, 1] - logits[0, :, 0]
    assert abs(positives - BinaryDiceLoss(smooth=1.0, squared=True)(margin, gold).item()) < 1e-6
    assert abs(of_all - positives) > 1e-3


def test_every_run_that_is_planned_is_recorded_once(root: Path) -> None:
    records = runs.read_records(root / "results" / "accuracy.jsonl")
    recorded = [{k: v for k, v in r["parameters"].items() if k != "train_size"} for r in records]
    planned = [
        accuracy.parameters_of(corpus, loss, classes, seed)
        for corpus in accuracy.CORPORA
        for loss, classes in accuracy.ARMS
        for seed in accuracy.SEEDS
        if classes != "positive" or corpus == "sst2"
    ]
    assert sorted(map(repr, recorded)) == sorted(map(repr, planned))


def test_sst5_is_read_from_what_its_command_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = tmp_path / "sst5" / "raw"
    raw.mkdir(parents=True)
    for part, degree in (("train", 4), ("dev", 0), ("test", 2)):
        (raw / f"trees_{part}.txt").write_text(f"({degree} (2 quite) (2 {part}))\n")
    monkeypatch.setenv("DICEBOOK_DATA", str(tmp_path))
    pool, test = accuracy.CORPORA["sst5"].read()
    assert [(row.texts, row.tags) for row in pool] == [
        (("quite train",), ["B-4"]),
        (("quite dev",), ["O"]),
    ]
    assert [(row.texts, row.tags) for row in test] == [(("quite test",), ["B-2"])]
    assert pool[0].group != pool[1].group
