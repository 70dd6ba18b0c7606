"""Parts of a corpus: every class in proportion, the same for a seed, wherever the rows stand."""

from __future__ import annotations

from collections import Counter

from datasets import Dataset, DatasetDict
from hypothesis import given, settings
from hypothesis import strategies as st

from dicelab.training.experiment import Experiment
from dicelab.training.sampling import sample


def corpus(labels: list[int]) -> DatasetDict:
    rows = Dataset.from_dict({"row": list(range(len(labels))), "label": labels})
    return DatasetDict(train=rows, validation=rows, test=rows)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(1, 70), st.integers(0, 9))
def test_every_class_keeps_its_share(labels: list[int], size: int, seed: int) -> None:
    drawn = sample(corpus(sorted(labels)), Experiment(corpus="x", train_size=size, seed=seed))
    assert drawn["test"]["label"] == sorted(labels)
    found, whole = Counter(drawn["train"]["label"]), Counter(labels)
    assert found.total() == min(size, len(labels))
    assert drawn["train"]["row"] == sorted(set(drawn["train"]["row"]))
    for label, count in whole.items():
        assert abs(found[label] - count * found.total() / len(labels)) <= 1


def test_the_seed_draws() -> None:
    sorted_rows = corpus([0] * 300 + [1] * 100)
    one, same, other = (
        sample(sorted_rows, Experiment(corpus="x", train_size=40, eval_size=20, seed=seed))
        for seed in (0, 0, 1)
    )
    assert one["train"]["row"] == same["train"]["row"] != other["train"]["row"]
    assert one["validation"]["row"] != other["validation"]["row"]
    assert sum(one["train"]["label"]) == 10
    assert [len(one[name]) for name in ("train", "validation", "test")] == [40, 20, 20]
    # Not the first of each class.
    assert set(one["train"]["row"]) != {*range(30), *range(300, 310)}


def test_rows_without_a_class_are_drawn_too() -> None:
    rows = Dataset.from_dict({"tokens": [[str(n)] for n in range(50)]})
    drawn = sample(DatasetDict(train=rows, test=rows), Experiment(corpus="x", train_size=10))
    assert len(drawn["train"]) == 10
    assert drawn["train"]["tokens"] != rows["tokens"][:10]
    assert len(drawn["test"]) == 50
