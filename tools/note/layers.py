"""The numbers of the second protocol's Stage B2, all layers trained, from its records."""

from __future__ import annotations

from pathlib import Path

from dicelab.claims import claim
from dicelab.records.decided import DrawEffect
from dicelab.records.speed import ARMS, faster, read_corpora, scores
from tools.note.words import interval, signed

# As the text's braces call a corpus.
BRACES = {
    "crossner_politics": "politics",
    "wnut17": "wnut",
    "mrpc": "mrpc",
    "goemotions_fear": "fear",
}
OF_BATCHES = ("dice_two", "dice_128")  # two positives at least in each batch; batches of 128


def numbers(folder: Path) -> dict[str, str]:
    """What braces of the text stand for.

    Args:
        folder: The records.

    Raises:
        AssertionError: A sentence does not hold for the records.
    """
    corpora = read_corpora(folder)

    def minus(task: str, arm: str, baseline: str) -> DrawEffect:
        effect = faster(corpora[task], arm, baseline, "tuned")
        assert effect is not None
        return effect

    values: dict[str, str] = {}
    for task, braces in BRACES.items():
        for name, arm, baseline in (
            ("layers", "dice_start", "ce_start"),
            ("near", "dice", "ce"),
            ("start", "ce_start", "ce"),
            ("dice_start", "dice_start", "dice"),
        ):
            e, key = minus(task, arm, baseline), f"{name}_{braces}"
            values |= {key: signed(e.mean).removeprefix("+"), f"{key}_in": interval(e.low, e.high)}
    for task in ("crossner_politics", "wnut17"):
        same = minus(task, "dice_start", "ce_start")
        claim("we cannot tell dice from cross entropy", same.low < 0 < same.high)
        claim("the start is worth points to cross entropy", minus(task, "ce_start", "ce").low > 2)
        claim("and from near 0 dice is ahead", minus(task, "dice", "ce").low > 2)
    for task in ("mrpc", "goemotions_fear"):
        claim("dice is behind from the prior", minus(task, "dice_start", "ce_start").high < 0)
    fear = corpora["goemotions_fear"]
    ends = {arm: scores(fear, arm, "tuned")[1][:, -1].mean() for arm in (*ARMS, *OF_BATCHES)}
    argmax = scores(fear, "ce_start", "argmax")[1]
    claim("cross entropy from the prior calls nothing at argmax", bool((argmax == 0).all()))
    claim(
        "either remedy is enough",
        ends["dice"] < 5,
        min(ends[arm] for arm in ("dice_start", *OF_BATCHES)) > 60,
    )
    longest = [r for r in fear if r["kind"] == "final" and r["arm"] in ARMS and r["length"] == 256]
    empty = [r["empty"] for r in longest]
    return values | {
        "empty_least": f"{100 * min(empty):.0f}",
        "empty_most": f"{100 * max(empty):.0f}%",
        "last_step": str(scores(fear, "dice", "tuned")[0][-1]),
        **{f"fear_{arm}": f"{f1:.1f}" for arm, f1 in ends.items()},
    }


def spent(folder: Path) -> list[tuple[str, int, float]]:
    """What it is, its runs, and the hours of a core beside the GPU.

    Args:
        folder: The records.
    """
    of_run = {
        (r["task"], r["arm"], r["kind"], r["seed"], r["rate"]): r["seconds"]
        for records in read_corpora(folder).values()
        for r in records
    }
    hours = sum(of_run.values()) / 3600
    return [("all layers, on a GPU", len(of_run), hours)]
