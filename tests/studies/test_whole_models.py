"""Whole models: their plan, its branches, and a run of a tiny encoder from end to end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dicelab.records.analysis import read
from dicelab.tasks import pairs, tagging
from studies.whole_models import runs as whole
from studies.whole_models.corpora import CORPORA, NO, YES, Row
from studies.whole_models.runs import Run, append, finished


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


def test_only_what_has_no_record_is_run(tmp_path: Path) -> None:
    plan = whole.searches("crossner_politics")
    path = whole.file_of(tmp_path, "crossner_politics")
    append(path, [{**plan[0]._asdict(), "length": 64}])
    left = whole.missing(plan, read(path))
    assert len(left) == len(plan)
    assert left[0].lengths == (256,)
    append(path, [{**plan[0]._asdict(), "length": 256}])
    assert whole.missing(plan, read(path)) == plan[1:]


def _made_up(task: str, seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(80):
        yes = bool(rng.random() < 0.3)
        if task == "goemotions_fear":
            rows.append(Row(["so scared" if yes else "all good"], YES if yes else NO))
        elif task == "mrpc":
            rows.append(Row(["we saw", "we saw" if yes else "go on"], YES if yes else NO))
        else:
            words, tags = ["we", "saw"], ["O", "O"]
            if yes:
                words, tags = [*words, "Ann", "Lee"], [*tags, "B-PER", "I-PER"]
            rows.append(Row(words, tags))
    return rows


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "_parts", lambda task: (_made_up(task, 0), _made_up(task, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("task", CORPORA)
def test_a_final_is_scored_as_the_chapters_score_it(
    task: str, tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[whole.Draw, Any]] = []
    real = whole._scores

    def scores(draw: whole.Draw, model: Any, *, final: bool) -> Any:
        seen.append((draw, model))
        return real(draw, model, final=final)

    monkeypatch.setattr(whole, "_scores", scores)
    records = list(
        whole.run_one(Run("final", task, "dice_start", 0, 3e-3, (30, 60)), encoder="tiny")
    )
    assert [(r["length"], r["steps"]) for r in records] == [(30, 36), (60, 72)]
    draw, model = seen[-1]
    split, logits = draw.encoded.splits["test"], draw.logits(model, "test")
    for how in ("argmax", "tuned"):
        told, shifted = records[-1]["test"][how], logits.copy()
        shifted[..., 0] += records[-1]["validation"][how]["threshold"]
        if draw.room is pairs:
            expected = pairs.score(split["labels"], pairs.decode(shifted))
        else:
            found = tagging.decode(shifted, split, draw.encoded.labels)
            expected = tagging.score(split["tags"], found)
        assert told["f1"] == pytest.approx(expected["f1"], abs=0.001)
    assert sum(records[-1]["gold"]) == records[-1]["test"]["argmax"]["gold"]
    assert records[-1]["device"] == "cpu"


@pytest.mark.slow
def test_a_search_never_reads_the_test_part(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    real = whole.Draw.logits

    def logits(self: whole.Draw, model: Any, name: str) -> np.ndarray:
        assert name != "test"
        return real(self, model, name)

    monkeypatch.setattr(whole.Draw, "logits", logits)
    (record,) = whole.run_one(
        Run("search", "goemotions_fear", "dice", 1000, 1e-3, (16,)), encoder="tiny"
    )
    assert "test" not in record


@pytest.mark.slow
def test_the_bias_starts_at_the_log_prior(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = {}

    def finished(model: Any, *args: Any) -> Any:
        starts[arm] = model.classifier.bias.detach().clone()
        return iter(())

    monkeypatch.setattr(whole, "finished", finished)
    for arm in ("ce", "dice", "ce_start", "dice_start", "dice_both"):
        assert not list(
            whole.run_one(Run("search", "goemotions_fear", arm, 0, 1e-3, (16,)), encoder="tiny")
        )
    yes = np.array([row.tags == YES for row in _made_up("goemotions_fear", 0)])
    train = yes[np.random.default_rng([17, 0]).permutation(80)[:56]]
    share = (train.sum() + 0.5) / (len(train) + 1)
    for arm in ("ce_start", "dice_start", "dice_both"):
        assert starts[arm][1].item() == pytest.approx(np.log(share), abs=1e-5)
    for arm in ("ce", "dice"):
        assert abs(starts[arm][1].item()) < 0.5


def test_a_run_killed_in_the_middle_of_a_line_leaves_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    append(path, [{"a": 1}])
    with path.open("ab") as file:
        file.write(b'{"a": 2')
    assert read(path) == [{"a": 1}]
    append(path, [{"a": 3}])
    assert read(path) == [{"a": 1}, {"a": 3}]


@pytest.mark.parametrize(
    ("name", "folder", "positive"),
    [("wnut17", "wnut17", 3890), ("goemotions_fear", "goemotions", 764)],
)
def test_the_positives_of_real_corpora(
    name: str, folder: str, positive: int, real_corpus, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DICEBOOK_DATA", str(tmp_path))
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "raw").symlink_to(real_corpus(folder))
    parts = CORPORA[name][1]()
    assert sum(t.startswith("B-") for part in parts for row in part for t in row.tags) == positive
