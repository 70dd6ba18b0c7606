"""An encoder learns the embedded corpora; guessing and single words do not get that far.

It takes ten minutes and its answer changes only with the data: ask by ``pytest -m generator``.
"""

from __future__ import annotations

import re

import pytest
import tiny_encoder

from dicelab.corpora import EMBEDDED, embedded

RUNS = {
    "embedded-pos": (tiny_encoder.tagging, {"spans": False, "steps": 300, "rate": 2e-3}),
    "embedded-entities": (tiny_encoder.tagging, {"spans": True, "steps": 300, "rate": 2e-3}),
    "embedded-reading": (tiny_encoder.reading, {"steps": 500, "rate": 2e-3}),
    "embedded-paraphrases": (tiny_encoder.labelling, {"steps": 600, "rate": 1e-3}),
    "embedded-sentiment": (tiny_encoder.labelling, {"steps": 300, "rate": 1e-3}),
    "embedded-labels": (tiny_encoder.several, {"steps": 600, "rate": 1e-3}),
}


@pytest.mark.generator
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", EMBEDDED)
def test_a_tiny_encoder_is_clearly_better_than_both_baselines(name, root):
    score, options = RUNS[name.rpartition("-")[0]]
    majority, alone, tiny = score(embedded.load(name), **options)
    print(f"\n| `{name}` | {majority:.1f} | {alone:.1f} | {tiny:.1f} |")
    # Of a letter's topics single words tell most, and more than a short training learns.
    assert (majority if "labels" in name else max(majority, alone)) + 3 < tiny < 99.5
    card = (root / "dicelab" / "corpora" / "embedded" / "README.md").read_text(encoding="utf-8")
    printed = re.search(rf"\| `{name}` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", card, re.M)
    assert printed is not None, f"the card has no scores of {name}"
    # The baselines are the same everywhere; what a short training reaches is not.
    assert [float(x) for x in printed.groups()[:2]] == pytest.approx([majority, alone], abs=0.5)
    assert float(printed[3]) == pytest.approx(tiny, abs=8)
