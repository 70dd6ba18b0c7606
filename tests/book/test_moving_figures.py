"""The chapters' moving figures: their numbers are the package's, and moving one changes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from scipy import stats
from sklearn.metrics import precision_recall_fscore_support

from dicebook import make_loss
from dicebook.losses.functional import binary_cross_entropy, binary_dice
from dicelab.toy import (
    best_threshold,
    f1_score,
    imbalanced_blobs,
    optimal_logits,
    train_from_starts,
    train_logistic,
)

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "_static"
CHAPTERS = sorted((ROOT / "notebooks").glob("0[2-7]_*.py"))
PROSE = {path.stem[:2]: re.sub(r"(?m)^# ?", "", path.read_text("utf-8")) for path in CHAPTERS}
PLACES = {"02": "threshold", "03": "smoothing", "04": "batches", "06": "starts"}
FIGURE = re.compile(r'<div class="play" data-play="(\w+)">.*?</div>', re.DOTALL)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:alpha=")]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of the chapters' figures alone, opened as a file."""
    figures = [found[0] for text in PROSE.values() for found in FIGURE.finditer(text)]
    scripts = [f'<script src="{path.as_uri()}"></script>' for path in STATIC.glob("*.js")]
    style = f'<link rel="stylesheet" href="{(STATIC / "play.css").as_uri()}">'
    html = "<!doctype html><meta charset=utf-8>" + style + "".join(scripts + figures)
    page = tmp_path_factory.mktemp("figures") / "page.html"
    page.write_text(html.replace("../_static", STATIC.as_uri()), encoding="utf-8")
    return page.as_uri()


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    for name in PLACES.values():
        page.wait_for_selector(f"[data-play={name}][data-ready]")
    yield page
    page.close()
    assert errors == []


def test_each_figure_stands_in_its_chapter() -> None:
    for chapter, text in PROSE.items():
        found = [figure[1] for figure in FIGURE.finditer(text)]
        assert found == ([PLACES[chapter]] if chapter in PLACES else []), chapter


def test_the_toy_is_the_package_s(page: Page) -> None:
    for seed, n in ((0, 2000), (1, 2000), (5, 400)):
        x, y = imbalanced_blobs(n, positive=0.1, separation=3.0, seed=seed)
        theirs = page.evaluate(
            "([n, seed]) => toy.blobs({ n, positive: 0.1, separation: 3, seed })", [n, seed]
        )
        assert theirs["y"] == y.tolist()
        np.testing.assert_allclose(np.array(theirs["x"]).T, x.numpy(), atol=1e-12)
    cut = page.evaluate("() => toy.bestThreshold([.1, .9, .4, .7, .2], [0, 1, 1, 0, 0])")
    scores, targets = torch.tensor([0.1, 0.9, 0.4, 0.7, 0.2]), torch.tensor([0, 1, 1, 0, 0])
    assert cut == pytest.approx(best_threshold(scores, targets)[0])


def test_scores_at_every_threshold(page: Page) -> None:
    (x, y), (x_test, y_test) = imbalanced_blobs(seed=0), imbalanced_blobs(seed=1)
    fit = train_logistic(binary_cross_entropy, x, y)
    chance = fit.predict(x_test).sigmoid()
    cuts = [k / 20 for k in range(1, 20)]
    theirs = page.evaluate(
        "cuts => { const f = figures.threshold();"
        " return { tuned: f.tuned, scores: f.scores, at: cuts.map(f.at) }; }",
        cuts,
    )
    np.testing.assert_allclose(theirs["scores"], fit.predict(x_test).numpy(), atol=1e-6)
    tuned = torch.tensor(best_threshold(fit.predict(x), y)[0]).sigmoid().item()
    assert theirs["tuned"] == pytest.approx(tuned, abs=1e-6)
    for cut, scores in zip(cuts, theirs["at"], strict=True):
        expected = precision_recall_fscore_support(
            y_test, chance > cut, average="binary", zero_division=0
        )
        found = [scores[name] for name in ("precision", "recall", "f1")]
        assert found == pytest.approx(expected[:3], abs=1e-6), cut


@pytest.mark.parametrize("gamma", [0.01, 0.1, 1.0, 10.0])
def test_loss_and_slope_for_every_smoothing(page: Page, gamma: float) -> None:
    theirs = page.evaluate(
        "g => { const f = figures.smoothing(g); return { ...f, curve: [0, 1].map(f.curve) }; }",
        gamma,
    )

    def loss_and_slope(p: list[float], label: float) -> tuple[list[float], list[float]]:
        chance = torch.tensor(p, dtype=torch.float64, requires_grad=True)
        values = binary_dice(
            chance.logit(),
            torch.full_like(chance, label),
            level="example",
            squared=False,
            smooth=gamma,
            reduction="none",
        )
        (slope,) = torch.autograd.grad(values.sum(), chance)
        return values.tolist(), slope.tolist()

    for label, curve in enumerate(theirs["curve"]):
        values, slopes = loss_and_slope([point["p"] for point in curve], float(label))
        assert [point["value"] for point in curve] == pytest.approx(values, abs=1e-6)
        assert [point["slope"] for point in curve] == pytest.approx(slopes, abs=1e-6)
    (_, dearest), (easy, half) = loss_and_slope([1e-12, 1 - 1e-12], 0.0)[0], (
        loss_and_slope([1e-12, 0.5], 0.0)[1]
    )  # fmt: skip
    assert theirs["negative"] == pytest.approx(easy, rel=1e-6)
    assert theirs["half"] == pytest.approx(half, abs=1e-6)
    assert theirs["dearest"] == pytest.approx(dearest, abs=1e-6)
    (slope,) = loss_and_slope([1e-12], 1.0)[1]
    assert theirs["positive"] == pytest.approx(-slope, abs=1e-6)


def test_expected_dice_of_every_batch(page: Page) -> None:
    options: dict[str, Any] = {"positive": 0.01, "separation": 3.0}
    x, y = imbalanced_blobs(400_000, **options, seed=99)
    honest = optimal_logits(x, **options).sigmoid()
    sizes = [4, 16, 256]
    theirs = page.evaluate(
        "sizes => { const f = figures.batches(); return { whole: f.whole, of: sizes.map(f.of) }; }",
        sizes,
    )
    cuts = np.linspace(0.02, 0.98, 33)
    assert theirs["whole"] == [
        pytest.approx([cut, f1_score(honest > cut, y)], abs=1e-6) for cut in cuts
    ]

    def expected(size: int, found: float, wrong: float) -> float:
        most = min(size, 60) + 1
        t, w = (values.ravel() for values in np.meshgrid(np.arange(most), np.arange(most)))
        t, w = t[t + w <= size], w[t + w <= size]
        counts = np.stack([t, w, size - t - w], -1)
        weight = stats.multinomial.pmf(counts, size, [found, wrong, 1 - found - wrong])
        return float((weight * (2 * t + 1) / (2 * t + w + 1)).sum())

    gold = y.bool()
    for size, figure in zip(sizes, theirs["of"], strict=True):
        for k in range(0, 33, 8):
            said = honest > cuts[k]
            rates = [v.double().mean().item() for v in (said & gold, said ^ gold)]
            assert figure["curve"][k][1] == pytest.approx(expected(size, *rates), abs=1e-6)
        assert figure["silence"] == pytest.approx(expected(size, 0.0, 0.01), abs=1e-6)
        pmf = stats.binom.pmf(np.arange(len(figure["positives"])), size, 0.01)
        assert figure["positives"] == pytest.approx(pmf.tolist(), abs=1e-6)


def test_the_map_and_its_runs(page: Page) -> None:
    (x, y), (x_test, y_test) = imbalanced_blobs(seed=0), imbalanced_blobs(seed=1)
    alphas, biases, table = page.evaluate("() => [figures.ALPHAS, figures.BIASES, figures.MAP]")
    for alpha, row in zip(alphas, table, strict=True):
        loss = make_loss("binary_dsc", squared=False, alpha=alpha, smooth=1)
        runs = train_from_starts({"dsc": loss}, biases=biases, seeds=[0], steps=120)
        for bias, f1 in zip(biases, row, strict=True):
            assert f1 == pytest.approx(runs["dsc", bias][0]["f1"], abs=1e-6)
            if (alpha, bias) not in ((1, 0.2), (0.1, 2), (0.1, 2.5), (0.01, 4.2)):
                continue
            fit = train_logistic(loss, x, y, bias=bias, steps=120, record_every=1)
            assert f1 == pytest.approx(f1_score(fit.predict(x_test) > 0, y_test), abs=1e-6)
            path = page.evaluate("([a, b]) => figures.starts()(a, b)", [alpha, bias])
            assert len(path) == 121
            for key, label in (("positive", 1), ("negative", 0)):
                mean = fit.logits.sigmoid()[:, y == label].mean(1)
                assert [point[key] for point in path] == pytest.approx(mean.tolist(), abs=1e-6)
            assert path[-1]["f1"] == pytest.approx(f1, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "control", "before", "keys", "after"),
    [
        ("threshold", "cut", "recall 0.380, F1 0.497", ["ArrowLeft"] * 13, "Threshold 0.37"),
        ("smoothing", "power", "γ = 1: the slope of a negative is 1.000", ["Home"], "100.000 at p"),
        ("batches", "power", "Batches of 16: 85.1%", ["End"], "Batches of 1024: 0.0%"),
        ("starts", "column", "test F1 is 0.54", ["ArrowRight"], "test F1 is 0.09"),
    ],
)
def test_moving_a_figure_changes_it(page, name, control, before, keys, after):
    figure = page.locator(f"[data-play={name}]")
    says = figure.locator(".play-says")
    expect(says).to_contain_text(before)
    pictures = figure.locator(".play-pictures")
    drawn = pictures.inner_html()
    figure.locator(f"#play-{name}-{control}").focus()
    for key in keys:
        page.keyboard.press(key)
    expect(says).to_contain_text(after)
    assert pictures.inner_html() != drawn


def test_without_scripts_a_picture_stands_there(browser: Browser, address: str) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address)
        pictures = page.locator(".play img")
        assert pictures.count() == len(PLACES)
        for picture in pictures.all():
            assert picture.get_attribute("alt")
            box = picture.bounding_box()
            assert box is not None
            assert box["width"] > 500
