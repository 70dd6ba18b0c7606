"""The page that puts dicebook beside other packages says what is measured here."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest
import torch

from benchmarks import beside
from dicebook.losses import functional as L

PAGE = Path(__file__).parents[1] / "docs" / "beside.md"
#: The options of ours with which the definitions coincide.
SAME = {
    "MONAI dice, linear": {"squared": False, "smooth": 1e-5},
    "MONAI dice, squared": {"smooth": 1e-5},
    "segmentation-models-pytorch dice": {"squared": False, "smooth": 0.0},
}


def test_the_page_has_the_measured_rows() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measured = beside.measure()
    assert measured["dicebook dice"]["rows with label -100"] == "left out"
    page = PAGE.read_text(encoding="utf-8")
    for name, row in measured.items():
        assert f"| {name} | {' | '.join(row.values())} |" in page, (name, row)


@pytest.mark.parametrize("name", SAME)
def test_the_dice_loss_of_another_package_has_our_value_and_gradient(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As it was put there, without a spec, it could not be looked for again.
    monkeypatch.delitem(sys.modules, "segmentation_models_pytorch", raising=False)
    peer = beside.dice_of_others().get(name) or pytest.skip("not installed: make .venv/peers")
    x, y = torch.randn(32, 5, requires_grad=True), torch.randint(5, (32,))
    ours, theirs = L.dice(x, y, **SAME[name]), peer(x, y)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(*(torch.autograd.grad(value, x)[0] for value in (ours, theirs)))
