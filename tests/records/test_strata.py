"""Groups of tasks, on made-up sizes and on the records that come with the book."""

from __future__ import annotations

from pathlib import Path

import pytest

from dicelab.records import analysis, strata
from dicelab.records.analysis import Evidence

RECORDS = Path(__file__).parents[2] / "results" / "evidence"


def _runs(form: str, train: int, test: int) -> Evidence:
    sizes = {"train": {"rows": 100, "positive": train}, "test": {"rows": 100, "positive": test}}
    return Evidence(tasks={"one": {"form": form, "sizes": sizes}})


@pytest.mark.parametrize(
    ("form", "train", "test", "name"),
    [
        ("tags", 10, 12, strata.TAGS),
        ("sentences", 10, 14, strata.DECISIONS),
        ("sentences", 10, 16, strata.SHIFTED),
        ("sentences", 30, 10, strata.SHIFTED),
    ],
)
def test_a_stratum_is_form_and_shift(form: str, train: int, test: int, name: str) -> None:
    assert strata.stratum(_runs(form, train, test), "one") == name


def test_shifted_tags_are_refused() -> None:
    with pytest.raises(ValueError, match="expected tags with the same share"):
        strata.stratum(_runs("tags", 2, 10), "one")


def test_the_tasks_of_the_first_protocol() -> None:
    runs = Evidence.read(RECORDS)
    of = {t: strata.stratum(runs, t) for t in runs.tasks}
    assert {t for t, name in of.items() if name == strata.SHIFTED} == {
        *("qqp_02", "qqp_30", "sst2_02", "sst2_30"),
    }
    assert {t for t, name in of.items() if name == strata.DECISIONS} == {
        *("mrpc", "qqp_10", "sst2_10", "squad11_sentences"),
    }
    two = [analysis.effect(runs, analysis.PRIMARY, t) for t in ("qqp_10", "mrpc", "wnut17")]
    grouped = strata.by_stratum(runs, [e for e in two if e])
    assert [e.task for e in grouped[strata.TAGS]] == ["wnut17"]
    means = [e.mean for e in grouped[strata.DECISIONS]]
    assert len(means) == 2
    assert means == sorted(means)
