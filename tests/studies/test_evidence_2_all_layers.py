"""Stage B2: its plan, its branches, and a run of a tiny encoder from end to end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dicelab.tasks import pairs, tagging
from studies.evidence.records import append, read
from studies.evidence.tasks import NO, YES, Row
from studies.evidence_2 import stage_b
from studies.evidence_2.stage_b import LENGTHS, Run, finished


class Line(nn.Module):
    """Logits that are a parameter; with dropout, which must not tell branches from trunk."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1))
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.w + 0 * self.drop(x))


def _batches(step: int) -> dict[str, Tensor]:
    return {"x": torch.full((2,), float(step)), "labels": torch.zeros(2)}


def _falls(logits: Tensor, labels: Tensor) -> Tensor:
    return logits[0]  # a gradient of 1, so that AdamW moves by the rate


def test_a_branch_ends_where_its_rates_say() -> None:
    rate = 1e-3
    ends = {n: m.w.item() for n, m in finished(Line(), _batches, _falls, rate, (16, 32), 0)}
    for length, tail in ((16, 3), (32, 6)):
        trunk = sum(min(1.0, n / 10) for n in range(1, length + 1))
        falling = sum(1 - i / (tail + 1) for i in range(1, tail + 1))
        assert ends[length] == pytest.approx(-rate * (trunk + falling), rel=1e-3)


class Net(nn.Module):
    """A net that learns a sum."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(dropout), nn.Linear(8, 1))

    def forward(self, x: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.net(x))


def _sums(step: int) -> dict[str, Tensor]:
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(step))
    return {"x": x, "labels": x.sum(1, keepdim=True)}


def test_the_trunk_does_not_notice_its_branches() -> None:
    ends = [dict(finished(Net(0.5), _sums, nn.MSELoss(), 1e-2, n, 3)) for n in ((5, 10, 20), (20,))]
    for one, other in zip(*(end[20].parameters() for end in ends), strict=True):
        assert torch.equal(one, other)


def test_a_branch_goes_on_as_one_run_with_a_schedule_would() -> None:
    (ended,) = (m for _, m in finished(Net(0.0), _sums, nn.MSELoss(), 1e-2, (10,), 0))
    model = Net(0.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
    rates = [n / 10 for n in range(1, 11)] + [2 / 3, 1 / 3]
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: rates[min(n, 11)])
    for number in range(1, 13):
        batch = _sums(number)
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(batch["x"]).logits
        nn.functional.mse_loss(logits.float(), batch["labels"]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    for one, other in zip(ended.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def _found(task: str, best: dict[tuple[str, int], float]) -> list[dict[str, Any]]:
    return [
        {
            **run._asdict(),
            "length": length,
            "validation": {"tuned": {"f1": float(run.rate == best.get((run.arm, length), 2e-4))}},
        }
        for run in stage_b.searches(task)
        for length in run.lengths
    ]


def test_short_and_long_runs_have_the_rate_of_their_search() -> None:
    known = _found("crossner_politics", {("dice", 64): 8e-4})
    runs = [r for r in stage_b.finals("crossner_politics", known) if r.seed == 2]
    assert [(r.arm, r.rate, r.lengths) for r in runs] == [
        ("ce", 2e-4, LENGTHS),
        ("ce_start", 2e-4, LENGTHS),
        ("wce", 2e-4, LENGTHS),
        ("dice", 8e-4, (16, 32, 64)),
        ("dice", 2e-4, (128, 256, 512)),
    ]


def test_equal_scores_choose_the_lowest_rate() -> None:
    known = _found("crossner_politics", {("ce", 64): 0.0})
    assert stage_b.chosen_rate(known, "ce", 64) == min(stage_b.RATES)


def test_only_what_has_no_record_is_run(tmp_path: Path) -> None:
    plan = stage_b.searches("crossner_politics")
    path = stage_b.file_of(tmp_path, "crossner_politics")
    append(path, [{**plan[0]._asdict(), "length": 64}])
    left = stage_b.missing(plan, read(path))
    assert len(left) == len(plan)
    assert left[0].lengths == (256,)
    append(path, [{**plan[0]._asdict(), "length": 256}])
    assert stage_b.missing(plan, read(path)) == plan[1:]


def _made_up(task: str, seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(80):
        yes = bool(rng.random() < 0.3)
        if task == "goemotions_fear":
            rows.append(Row(("so scared" if yes else "all good",), YES if yes else NO, i))
        elif task == "mrpc":
            rows.append(Row(("we saw", "we saw" if yes else "go on"), YES if yes else NO, i))
        else:
            words, tags = ["we", "saw"], ["O", "O"]
            if yes:
                words, tags = [*words, "Ann", "Lee"], [*tags, "B-PER", "I-PER"]
            rows.append(Row(words, tags, i))
    return rows


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_b, "ENCODER", "tiny")
    monkeypatch.setattr(stage_b, "_parts", lambda task: (_made_up(task, 0), _made_up(task, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("task", stage_b.CORPORA)
@pytest.mark.parametrize("arm", stage_b.ARMS)
def test_a_final_is_scored_as_the_chapters_score_it(
    task: str, arm: str, tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[stage_b.Draw, Any]] = []
    real = stage_b._scores

    def scores(draw: stage_b.Draw, model: Any, *, final: bool) -> Any:
        seen.append((draw, model))
        return real(draw, model, final=final)

    monkeypatch.setattr(stage_b, "_scores", scores)
    records = list(stage_b.run_one(Run("final", task, arm, 0, 3e-3, (30, 60))))
    assert [(r["length"], r["steps"]) for r in records] == [(30, 36), (60, 72)]
    draw, model = seen[-1]
    split, logits = draw.encoded.splits["test"], draw.logits(model, "test")
    if draw.room is pairs:
        expected = pairs.score(split["labels"], pairs.decode(logits))
    else:
        found = tagging.decode(logits, split, draw.encoded.labels)
        expected = tagging.score(split["tags"], found)
    assert records[-1]["test"]["argmax"]["f1"] == pytest.approx(expected["f1"], abs=0.001)
    assert records[-1]["test"]["tuned"]["f1"] > 90
    assert sum(records[-1]["gold"]) == records[-1]["test"]["argmax"]["gold"]
    assert records[-1]["device"] == "cpu"


@pytest.mark.slow
def test_a_search_never_reads_the_test_part(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    real = stage_b.Draw.logits

    def logits(self: stage_b.Draw, model: Any, name: str) -> np.ndarray:
        assert name != "test"
        return real(self, model, name)

    monkeypatch.setattr(stage_b.Draw, "logits", logits)
    (record,) = stage_b.run_one(Run("search", "goemotions_fear", "dice", 1000, 1e-3, (16,)))
    assert "test" not in record


@pytest.mark.slow
def test_the_bias_starts_at_the_log_prior(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = {}

    def finished(model: Any, *args: Any) -> Any:
        starts[arm] = model.classifier.bias.detach().clone()
        return iter(())

    monkeypatch.setattr(stage_b, "finished", finished)
    for arm in ("ce", "ce_start"):
        assert not list(stage_b.run_one(Run("search", "goemotions_fear", arm, 0, 1e-3, (16,))))
    yes = np.array([row.tags == YES for row in _made_up("goemotions_fear", 0)])
    train = yes[np.random.default_rng([17, 0]).permutation(80)[:56]]
    share = (train.sum() + 0.5) / (len(train) + 1)
    assert starts["ce_start"][1].item() == pytest.approx(np.log(share), abs=1e-5)
    assert abs(starts["ce"][1].item()) < 0.5


def test_a_draw_shares_no_sentence(tiny: None) -> None:
    draw = stage_b.Draw("crossner_politics", 3)
    assert [len(part) for part in draw.corpus.values()] == [56, 12, 12, 80]
    batches = draw.batches(5)
    ids = [batches(step)["input_ids"] for step in (1, 2)]
    again = draw.batches(5)
    assert torch.equal(again(2)["input_ids"], ids[1])
    assert len(ids[0]) == stage_b.BATCH


def test_of_wnut_a_thousand_sentences_are_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_b, "ENCODER", "tiny")
    row = Row(["we", "saw", "Ann"], ["O", "O", "B-PER"], 0)
    monkeypatch.setattr(stage_b, "_parts", lambda task: ([row] * 2000, [row] * 10))
    assert len(stage_b.Draw("wnut17", 0).corpus["train"]) == 1000
    assert len(stage_b.Draw("crossner_politics", 0).corpus["train"]) == 1400


def test_what_a_run_recorded_is_not_run_again_by_any_worker(tmp_path: Path) -> None:
    plan = stage_b.searches("mrpc")
    path = stage_b.file_of(tmp_path, "mrpc")
    scores = {"tuned": {"f1": 50.0}}
    for run in plan:
        append(path, [{**run._asdict(), "length": n, "validation": scores} for n in run.lengths])
    finals = list(stage_b.finals("mrpc", read(path)))
    for run in finals:
        append(path, [{**run._asdict(), "length": n} for n in run.lengths])
    before = path.read_bytes()
    stage_b.run(["mrpc"], tmp_path, workers=2)
    assert path.read_bytes() == before
