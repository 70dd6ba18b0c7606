"""The playground page: its numbers are the package's, and its controls do something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from watched import PATIENCE, WIDE

from dicebook import make_loss

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:alpha=")]
SETTINGS: list[dict[str, Any]] = [
    {"loss": "ce"},
    {"loss": "wce", "weight": 19},
    {"loss": "fl", "gamma": 1.5},
    {"loss": "dl", "smooth": 1},
    {"loss": "dl", "smooth": 0.3, "squared": False},
    {"loss": "dl", "smooth": 1, "level": "example"},
    {"loss": "dl", "smooth": 1, "level": "example", "squared": False},
    {"loss": "tl", "smooth": 1, "fp": 0.3, "fn": 0.7},
    {"loss": "tl", "smooth": 1, "fp": 0.9, "fn": 0.1, "level": "example"},
    {"loss": "tl", "smooth": 2, "fp": 0.2, "fn": 0.4, "squared": False, "level": "example"},
    {"loss": "dsc", "smooth": 1, "alpha": 0.1},
    {"loss": "dsc", "smooth": 1, "alpha": 1, "squared": False, "level": "example"},
]


def ours(setting: dict[str, Any]) -> torch.nn.Module:
    """The package's loss of a setting of the page."""
    names = {"fp": "fp_weight", "fn": "fn_weight"}
    options = {names.get(k, k): v for k, v in setting.items() if k not in ("loss", "batch", "bias")}
    if "weight" in options:
        options["weight"] = torch.tensor([1.0, options["weight"]], dtype=torch.float64)
    return make_loss(f"binary_{setting['loss']}", **options)


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{site}docs/playground.html")
    page.wait_for_selector("[data-play=playground][data-ready]")
    yield page
    context.close()


def test_values_and_slopes_are_those_of_the_package(page: Page) -> None:
    generator = torch.Generator().manual_seed(0)
    for setting in SETTINGS:
        for scale in (1, 8):
            x = scale * torch.randn(40, generator=generator, dtype=torch.float64)
            y = (torch.rand(40, generator=generator) < 0.2).double()
            arguments = [x.tolist(), y.tolist(), setting]
            theirs = page.evaluate("([x, y, o]) => playground.loss(x, y, o)", arguments)
            leaf = x.clone().requires_grad_()
            value = ours(setting)(leaf, y)
            (slope,) = torch.autograd.grad(value, leaf)
            assert theirs["value"] == pytest.approx(value.item(), abs=1e-6), setting
            assert theirs["slope"] == pytest.approx(slope.tolist(), abs=1e-6), setting


@pytest.mark.parametrize("batch", [400, 48])
@pytest.mark.parametrize("setting", [SETTINGS[0], SETTINGS[3], SETTINGS[9]])
def test_the_model_is_trained_as_torch_trains_it(page, setting, batch):
    setting = setting | {"batch": batch, "bias": -1.0}
    path = page.evaluate("o => playground.train(o).path", setting)
    data = page.evaluate("() => playground.data(playground.DEFAULTS.share)")
    orders = page.evaluate("() => Array.from({ length: 60 }, (_, k) => playground.order(k))")
    x, y = (torch.tensor(data[name], dtype=torch.float64) for name in "xy")
    assert y.sum() == 20
    w = torch.zeros((), dtype=torch.float64, requires_grad=True)
    b = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([w, b], lr=0.3)
    loss, places = ours(setting), []
    for step in range(200):
        chosen = torch.arange(400)
        if batch < 400:
            places = places if len(places) >= batch else orders.pop(0)
            chosen, places = torch.tensor(places[:batch]), places[batch:]
        if step < 40:  # later a rounding error may have grown
            assert (path[step]["w"], path[step]["b"]) == pytest.approx((w.item(), b.item()), 1e-6)
        optimizer.zero_grad()
        loss(w * x[chosen] + b, y[chosen]).backward()
        optimizer.step()
    assert path[200]["w"] == pytest.approx(w.item(), rel=1e-3)


def test_controls_change_the_pictures_and_the_address(page: Page) -> None:
    says = page.locator(".play-says")
    expect(says).to_contain_text("F1 0.513 at threshold 0.5")
    assert page.locator(".play svg").count() == 3
    page.locator("#playground-squared").select_option("false")
    batch = page.locator("#playground-batch")
    batch.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(says).to_contain_text("The model finds no positive at threshold 0.5")
    assert re.search(r"#loss=dl&squared=false&batch=16$", page.url)
    expect(page.locator("#playground-alpha")).to_be_hidden()
    page.locator("#playground-loss").select_option("dsc")
    expect(page.locator("#playground-alpha")).to_be_visible()


def test_a_link_into_the_page_sets_it_and_nonsense_does_not_break_it(page: Page) -> None:
    page.evaluate("() => { location.hash = 'loss=dsc&alpha=1&squared=false&bias=2' }")
    expect(page.locator("#playground-alpha")).to_have_value("1")
    expect(page.locator(".play-says")).to_contain_text("F1 0.077 at threshold 0.5")
    page.evaluate("() => { location.hash = 'loss=none&level=x&alpha=abc&other=1' }")
    expect(page.locator("#playground-loss")).to_have_value("dl")
