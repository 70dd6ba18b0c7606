"""The span study with all layers trained: batches, losses, counts, and a run in small."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from dicebook import BinaryDiceLoss, make_loss
from dicelab.corpora.tags import Span
from dicelab.records import runs
from studies import spans
from studies import spans_all_layers as study
from studies.evidence.tasks import Row


def test_a_pass_has_every_sentence_once_beside_its_like() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 4 * study.BATCH)
    first, second = (list(islice(study.batches(lengths, s), 4)) for s in (0, 1))
    assert sorted(np.concatenate(first).tolist()) == list(range(len(lengths)))
    spread = [np.ptp(lengths[batch]) for batch in first]
    assert max(spread) < np.ptp(lengths) / 2
    assert any((a != b).any() for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("arm", "loss"),
    [
        ("bce_prior", make_loss("binary_ce")),
        ("focal_25", make_loss("binary_fl", gamma=2.0, weight=[0.75, 0.25])),
        ("dice_set", BinaryDiceLoss(smooth=1.0)),
    ],
)
def test_the_losses_are_the_library_s_on_what_counts(arm: str, loss: torch.nn.Module) -> None:
    torch.manual_seed(0)
    logits, labels = torch.randn(2, 3, 2, 4), torch.randint(0, 2, (2, 3, 2, 4))
    labels[:, 2, 1] = -100
    found = study.loss_of(arm, logits, labels, torch.zeros(4))
    torch.testing.assert_close(found, loss(logits, labels))


def test_counts_by_block_make_the_score() -> None:
    gold = [[Span("A", 0, 1)] if i % 2 else [] for i in range(40)]
    said = [[Span("A", 0, 1 + (i < 20))] for i in range(40)]
    found = study.counted(gold, said)
    assert found["predicted"] == [2] * spans.BLOCKS
    assert found["found"] == [0] * 10 + [1] * 10
    assert found["f1"] == pytest.approx(200 * 10 / (40 + 20), abs=1e-3)


def test_a_run_is_recorded_and_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Row(["Ada", "met", f"B{i}"], ["B-PER", "O", "B-PER"], i) for i in range(60)]
    small = {"ENCODER": "tiny", "STEPS": 2, "BATCH": 4, "SENTENCES": 12, "TUNE": 6}
    for name, value in small.items():
        monkeypatch.setattr(study, name, value)
    monkeypatch.setattr(study, "read", lambda: (rows, rows[:20]))
    out = tmp_path / "kept.jsonl"
    given = ["x", "--draws", "0", "--arms", "bce_prior", "dice_set", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", given)
    study.main()
    kept = runs.read_records(out)
    assert [r["parameters"]["loss"] for r in kept] == ["bce_prior", "dice_set"]
    assert sum(kept[0]["metrics"]["gold"]) == 40
    assert kept[0]["metrics"]["train"] == {"positive": 24, "decisions": 36}
    study.main()
    assert runs.read_records(out) == kept
