"""Records, intervals and tests over seeds."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dicelab.records import runs

SCORES = st.floats(0, 100).map(lambda x: round(x, 2))


def test_a_record_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a" / "record.json"
    runs.write_json(path, {"f1": 40.0})
    with pytest.raises(ValueError, match="JSON"):
        runs.write_json(path, {"f1": float("nan")})
    assert json.loads(path.read_text()) == {"f1": 40.0}
    assert [item.name for item in path.parent.iterdir()] == ["record.json"]


def test_a_kill_before_the_rename_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    runs.write_json(path, 1)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        runs.write_json(path, 2)
    assert path.read_text() == "1\n"
    assert list(tmp_path.iterdir()) == [path]


def test_records_are_read_from_files_and_folders(tmp_path: Path) -> None:
    record = runs.make_record(chapter="09", parameters={}, metrics={}, history=[], measured={})
    runs.write_json(tmp_path / "one" / "record.json", record)
    runs.append_record(tmp_path / "many.jsonl", record)
    runs.append_record(tmp_path / "many.jsonl", record)
    (tmp_path / "one" / "checkpoint-4").mkdir()
    (tmp_path / "one" / "checkpoint-4" / "config.json").write_text("{}")
    assert len(runs.read_records(tmp_path)) == 3
    assert runs.read_records(tmp_path / "many.jsonl") == [record, record]
    assert record["versions"]["torch"].startswith("2.")


def test_a_broken_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text('{"parameters": {}, "metrics": {}}\n{"par')
    with pytest.raises(ValueError, match=r"many\.jsonl:2: expected a JSON record"):
        runs.read_records(tmp_path)
    (tmp_path / "many.jsonl").write_text("[]")
    with pytest.raises(ValueError, match="expected a record with 'parameters'"):
        runs.read_records(tmp_path)
    with pytest.raises(FileNotFoundError, match="no such record"):
        runs.read_records(tmp_path / "none")


def test_the_interval_is_students() -> None:
    # Five scores, t(.975, 4) = 2.776445: the table's value, not scipy's.
    scores = [40.1, 39.5, 41.0, 40.4, 38.9]
    half = 2.776445 * np.std(scores, ddof=1) / 5**0.5
    found = runs.interval(scores)
    assert found.mean == pytest.approx(np.mean(scores))
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half))
    assert runs.interval([1.0]).high == float("inf")
    with pytest.raises(ValueError, match="no NaN"):
        runs.interval([1.0, float("nan")])


@given(st.lists(st.tuples(SCORES, SCORES), min_size=2, max_size=7))
def test_the_paired_test_counts_sign_flips(pairs: list[tuple[float, float]]) -> None:
    first, second = zip(*pairs, strict=True)
    differences = np.subtract(first, second)
    flips = itertools.product([-1, 1], repeat=len(pairs))
    means = np.array([np.mean(differences * np.array(flip)) for flip in flips])
    tolerance = 1e-9
    expected = np.mean(np.abs(means) >= abs(differences.mean()) - tolerance)
    assert runs.paired_test(first, second) == pytest.approx(min(1.0, expected), abs=1e-9)


def test_the_paired_test_needs_pairs() -> None:
    with pytest.raises(ValueError, match="equally long"):
        runs.paired_test([1.0], [1.0])


def recorded(loss: str, seed: int, f1: float, **parameters: object) -> dict:
    settings = dict.fromkeys(runs.SETTINGS, 1) | {"encoder": "/models/tiny", "loss_options": {}}
    return {
        "parameters": {**settings, "loss": loss, "seed": seed, **parameters},
        "metrics": {"test": {"f1": f1}},
    }


def test_losses_are_compared_on_the_seeds_they_share() -> None:
    ce = [recorded("ce", seed, f1) for seed, f1 in enumerate([40.0, 42.0, 44.0])]
    dsc = [recorded("dsc", s, f1, loss_options={"alpha": 0.1}) for s, f1 in [(2, 45.0), (0, 40.0)]]
    found = runs.over_seeds([*ce, *dsc])
    assert list(found) == ["ce", "dsc, alpha=0.1"]
    assert found["ce"].mean == runs.interval([40.0, 42.0, 44.0])
    assert found["ce"].gain is None
    assert found["ce"].p_value is None
    other = found["dsc, alpha=0.1"]
    assert other.scores == {2: 45.0, 0: 40.0}
    assert other.gain == runs.interval([0.0, 1.0])
    assert other.p_value == runs.paired_test([40.0, 45.0], [40.0, 44.0])
    assert runs.over_seeds(dsc)["dsc, alpha=0.1"].gain is None
    with pytest.raises(ValueError, match="ce: seed 0 is recorded twice"):
        runs.over_seeds([*ce, ce[0]])


@pytest.mark.parametrize(
    ("loss", "options", "name"),
    [
        ("ce", {}, "cross entropy"),
        ("dl", {"smooth": 100.0, "squared": False}, "dice, smooth 100, linear"),
        ("dsc", {"alpha": 0.01, "squared": True}, "self-adjusting dice, α 0.01"),
        ("tl", {"fp_weight": 0.3, "fn_weight": 0.7, "squared": False}, "Tversky 0.3/0.7, linear"),
        ("mine:Loss", {}, "mine:Loss"),
    ],
)
def test_a_loss_is_named_as_a_reader_knows_it(loss: str, options: dict, name: str) -> None:
    assert runs.loss_name({"parameters": {"loss": loss, "loss_options": options}}) == name


def test_only_equal_settings_are_compared_and_no_record_is_dropped() -> None:
    few = [recorded("ce", 0, 1.0, epochs=9)]
    many = [recorded("ce", 0, 2.0), recorded("fl", 0, 3.0, encoder="/elsewhere/tiny")]
    (common, first), (_, second) = runs.comparable([*few, *many])
    assert (first, second) == (many, few)
    assert (common["encoder"], common["epochs"]) == ("tiny", 1)
    assert runs.comparable([]) == []
