"""Whole models: their plan, its branches, and a run of a tiny encoder from end to end."""

from __future__ import annotations

import multiprocessing
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
from studies.whole_models.__main__ import main as command_line
from studies.whole_models.corpora import CORPORA, NO, YES, Row
from studies.whole_models.runs import LENGTHS, Run, append, finished


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


def _found(
    task: str, best: dict[tuple[str, int], float], known: list[dict[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """Records of a search in which a rate is best, 8e-5 unless another is given."""
    return [
        {
            **run._asdict(),
            "length": length,
            "validation": {"tuned": {"f1": -abs(run.rate - best.get((run.arm, length), 8e-5))}},
        }
        for run in whole.searches(task, known or ())
        for length in run.lengths
    ]


def test_short_and_long_runs_have_the_rate_of_their_search() -> None:
    known = _found("crossner_politics", {("dice", 64): 32e-5})
    runs = [r for r in whole.finals("crossner_politics", known) if r.seed == 2]
    assert [(r.arm, r.rate, r.lengths) for r in runs] == [
        ("ce_start", 8e-5, LENGTHS),
        ("ce", 8e-5, LENGTHS),
        ("wce", 8e-5, LENGTHS),
        ("dice_start", 8e-5, LENGTHS),
        ("dice", 32e-5, (16, 32, 64)),
        ("dice", 8e-5, (128, 256)),
    ]


def test_equal_scores_choose_the_lowest_rate() -> None:
    known = _found("crossner_politics", {})
    for record in known:
        if record["rate"] > 4e-5 and record["arm"] == "ce":
            record["validation"]["tuned"]["f1"] = -1e-5  # level from the second rate on
    assert whole.chosen_rate("crossner_politics", known, "ce", 64) == 8e-5


def test_a_rate_is_chosen_by_the_mean_of_the_searchs_draws() -> None:
    known = _found("crossner_politics", {})
    for record in known:
        if (record["arm"], record["length"], record["seed"]) == ("ce", 64, 1000):
            record["validation"]["tuned"]["f1"] = float(record["rate"] == 32e-5)
    assert whole.chosen_rate("crossner_politics", known, "ce", 64) == 32e-5
    unfinished = [r for r in known if (r["arm"], r["seed"]) != ("ce", 1001)]
    with pytest.raises(ValueError, match="crossner_politics, ce: expected a search that is over"):
        whole.chosen_rate("crossner_politics", unfinished, "ce", 64)


def test_an_edge_moves_by_two_and_twice_at_most() -> None:
    task, known = "goemotions_fear", []  # type: tuple[str, list[dict[str, Any]]]
    first = sorted(whole.RATES["yes or no"])
    tried = []
    for _ in range(4):
        known = _found(task, {("dice", 64): 1e-6, ("wce", 256): 1.0, ("ce", 256): 5e-6}, known)
        tried.append({arm: whole.rates_of(task, arm, known) for arm in ("dice", "wce", "ce")})
    assert [found["ce"] for found in tried] == [
        [first[0] / 2, *first],
        *[[2.5e-6, 5e-6, *first]] * 3,
    ]
    low, high = [[2.5e-6, 5e-6, *first]], [[*first, 32e-5, 64e-5]]
    assert [found["dice"] for found in tried] == [[5e-6, *first], *low * 3]
    assert [found["wce"] for found in tried] == [[*first, 32e-5], *high * 3]
    assert len(whole.missing(whole.searches(task, known), known)) == 0
    assert whole.chosen_rate(task, known, "dice", 64) == 2.5e-6


def test_arms_about_batches_are_tried_at_one_length_of_one_corpus() -> None:
    arms = {task: whole.arms_of(task) for task in CORPORA}
    assert not any(arm in whole.OF_BATCHES for arm in (*arms["mrpc"], *arms["wnut17"]))
    assert "dice_both" not in arms["wnut17"]
    assert set(arms["goemotions_fear"]) == set(whole.EVERY)
    plan = whole.searches("goemotions_fear")
    assert {r.lengths for r in plan if r.arm == "dice_two"} == {(256,)}


def test_a_process_takes_some_runs_of_one_draw() -> None:
    plan = whole.searches("mrpc")
    found = whole.pieces(plan)
    assert [run for piece in found for run in piece] == plan
    assert all(len({run.seed for run in piece}) == 1 for piece in found)
    assert max(map(len, found)) == whole.PIECE


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
@pytest.mark.parametrize(
    ("task", "arm"), [(task, arm) for task in CORPORA for arm in whole.arms_of(task)]
)
def test_a_final_is_scored_as_the_chapters_score_it(
    task: str, arm: str, tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[whole.Draw, Any]] = []
    real = whole._scores

    def scores(draw: whole.Draw, model: Any, *, final: bool) -> Any:
        seen.append((draw, model))
        return real(draw, model, final=final)

    monkeypatch.setattr(whole, "_scores", scores)
    records = list(whole.run_one(Run("final", task, arm, 0, 3e-3, (30, 60)), encoder="tiny"))
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


@pytest.mark.slow
def test_dice_is_over_the_classes_that_its_arm_says(tiny: None, monkeypatch: Any) -> None:
    losses = {}

    def finished(model: Any, batches: Any, loss: Any, *args: Any) -> Any:
        losses[arm] = loss
        return iter(())

    monkeypatch.setattr(whole, "finished", finished)
    for arm in ("dice_start", "dice_both"):
        assert not list(
            whole.run_one(Run("search", "goemotions_fear", arm, 0, 1e-3, (16,)), encoder="tiny")
        )
    x = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.5]])
    y = torch.tensor([0, 1, 0])
    p = x.softmax(-1)
    of_class = [
        1 - (2 * p[y == c, c].sum() + 1) / ((p[:, c] ** 2).sum() + (y == c).sum() + 1)
        for c in (0, 1)
    ]
    assert losses["dice_start"](x, y).item() == pytest.approx(of_class[1].item(), rel=1e-5)
    assert losses["dice_both"](x, y).item() == pytest.approx(float(sum(of_class)) / 2, rel=1e-5)


def test_a_batch_holds_the_positives_that_its_arm_asks_for(tiny: None) -> None:
    draw = whole.Draw("goemotions_fear", 3, "tiny")
    plain, two = (whole.EVERY[name] for name in ("dice", "dice_two"))
    rows = draw.rows["train"]
    few = plain._replace(batch=4)
    assert 0 < draw.empty(5, few, 50) < 1
    chosen, as_drawn = draw.chosen(5, two._replace(batch=4)), draw.chosen(5, few)
    for step in range(1, 51):
        found, before = chosen(step), as_drawn(step)
        positives = [row for row in found if rows[row]["labels"] == 1]
        assert len(found) == len(set(found)) == 4
        assert len(positives) >= 2
        if sum(rows[row]["labels"] == 1 for row in before) >= 2:
            assert found == before
        assert {row for row in before if rows[row]["labels"] == 1} <= set(found)
    assert draw.empty(5, two._replace(batch=4), 50) == 0
    assert len(draw.batches(5, whole.EVERY["ce_start_128"])(1)["labels"]) == 128


def test_a_draw_shares_no_sentence(tiny: None) -> None:
    draw = whole.Draw("crossner_politics", 3, "tiny")
    assert [len(part) for part in draw.corpus.values()] == [56, 12, 12, 80]
    plain = whole.ARMS["ce"]
    batches = draw.batches(5, plain)
    ids = [batches(step)["input_ids"] for step in (1, 2)]
    again = draw.batches(5, plain)
    assert torch.equal(again(2)["input_ids"], ids[1])
    assert len(ids[0]) == plain.batch


def test_other_settings_search_their_own_lengths_and_arms() -> None:
    settings = whole.Settings("base", (256, 2375), (256,), ("ce", "dice"), 3)
    known = _found("goemotions_fear", {})
    runs = list(whole.finals("goemotions_fear", known, settings))
    assert {(run.arm, run.lengths) for run in runs} == {("ce", (256, 2375)), ("dice", (256, 2375))}
    assert {run.seed for run in runs} == {0, 1, 2}
    assert not whole.missing(whole.searches("goemotions_fear", known, settings), known)


def test_of_wnut_a_thousand_sentences_are_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row(["we", "saw", "Ann"], ["O", "O", "B-PER"])
    monkeypatch.setattr(whole, "_parts", lambda task: ([row] * 2000, [row] * 10))
    assert len(whole.Draw("wnut17", 0, "tiny").corpus["train"]) == 1000
    assert len(whole.Draw("crossner_politics", 0, "tiny").corpus["train"]) == 1400


def test_what_a_run_recorded_is_not_run_again_by_any_worker(tmp_path: Path) -> None:
    plan = whole.searches("mrpc")
    path = whole.file_of(tmp_path, "mrpc")
    append(path, _found("mrpc", {}))
    assert not whole.missing(plan, read(path))
    finals = list(whole.finals("mrpc", read(path)))
    for run in finals:
        append(path, [{**run._asdict(), "length": n} for n in run.lengths])
    before = path.read_bytes()
    whole.run(["mrpc"], tmp_path, workers=2)
    assert path.read_bytes() == before


def test_a_run_killed_in_the_middle_of_a_line_leaves_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    append(path, [{"a": 1}])
    with path.open("ab") as file:
        file.write(b'{"a": 2')
    assert read(path) == [{"a": 1}]
    append(path, [{"a": 3}])
    assert read(path) == [{"a": 1}, {"a": 3}]


def _append(path: Path, worker: int) -> None:
    for i in range(20):
        append(path, [{"worker": worker, "i": i, "pad": "x" * 5000}])


def test_two_processes_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_append, args=(path, w)) for w in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(read(path)) == 40


def test_what_is_asked_wrongly_ends_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("DICEBOOK_DATA", str(tmp_path))
    for arguments, said in (
        (["--only", "x"], "--only: expected some of crossner_politics, "),
        (["--arms", "ce,x"], ", got x"),
        (["--lengths", "16"], "expected a --folder of their own"),
        (["--folder", str(tmp_path), "--only", "wnut17"], "dicebook data wnut17 --out"),
    ):
        monkeypatch.setattr("sys.argv", ["", *arguments])
        with pytest.raises(SystemExit):
            command_line()
        assert said in capsys.readouterr().err


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
