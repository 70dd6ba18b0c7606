"""Prose bound to its values: a chapter that says more than it computed cannot be executed.

A file in ``notebooks/checks`` repeats the words of a chapter and holds them against values::

    claim("Half of 0.521 is 0.261, and the best threshold is 0.260",
          {"0.521": best_f1, "0.261": best_f1 / 2, "0.260": threshold})
    claim("the gain is above zero", gain.low > 0)

A test finds the numbers of the words in the chapter's text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def claim(words: str, *evidence: object) -> None:
    """Check that words of the text hold.

    Args:
        words: The words as they stand in the text; line breaks may differ.
        *evidence: What must be true: conditions (a bool of Python, NumPy or torch), and mappings,
            none of them empty, from a number as the words print it to the value that was computed.
            A value must round to its number: "0.52" stands for 0.515 to 0.525, "85%" for 0.845 to
            0.855, "1,563" for 1563; "−" is a minus.

    Raises:
        AssertionError: Some evidence does not hold. The message quotes the words, what they print
            and what was computed.
        TypeError: Evidence is neither a condition nor a mapping, or there is none, or none in it.
        ValueError: A number does not stand in the words, or is none.
    """
    if not evidence:
        raise TypeError(f"claim without evidence: “{words}”")
    failures = []
    for place, item in enumerate(evidence, 1):
        if isinstance(item, Mapping) and not item:
            raise TypeError(f"claim with an empty mapping as evidence: “{words}”")
        if isinstance(item, Mapping):
            failures += [
                f"the text prints {printed}, computed {float(value):.6g}"
                for printed, value in item.items()
                if not _rounds_to(float(value), printed, words)
            ]
        elif isinstance(item, bool) or str(getattr(item, "dtype", "")).endswith("bool"):
            if not item:
                failures.append(f"condition {place} of {len(evidence)} is false")
        else:
            raise TypeError(f"expected conditions or mappings, got {item!r}: “{words}”")
    assert not failures, f"the text claims “{words}”, but {'; '.join(failures)}"


def check(source: str, names: Mapping[str, object]) -> None:
    """Run a chapter's checks among its names, and leave the chapter as it is.

    Args:
        source: Python code.
        names: The chapter's names. What the code binds is forgotten, and torch's generators of
            random numbers go on where they were.

    Raises:
        AssertionError: A check does not hold.
    """
    import torch

    with torch.random.fork_rng():
        exec(source, dict(names))


def _rounds_to(value: float, printed: Any, words: str) -> bool:
    whole = rf"(?<![\d.,−]){re.escape(str(printed))}(?![.,]?\d)"  # 0.52 does not stand in −0.521
    if not isinstance(printed, str) or not re.search(whole, words):
        raise ValueError(f"{printed!r} does not stand in “{words}”")
    digits = printed.replace("−", "-").replace(",", "").removesuffix("%")
    unit = 100 if printed.endswith("%") else 1
    step = 10.0 ** -len(digits.partition(".")[2])
    return abs(unit * value - float(digits)) <= step / 2 + 1e-9
