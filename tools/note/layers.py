"""The numbers of the second protocol's Stage B2, all layers trained, from its records."""

from __future__ import annotations

from pathlib import Path

from dicelab.claims import claim
from dicelab.records.analysis import read
from dicelab.records.decided import Effect
from dicelab.records.speed import ARMS, faster, read_corpora, scores
from tools.note.words import interval, signed

# As the text's braces call a corpus.
BRACES = {
    "crossner_politics": "politics",
    "wnut17": "wnut",
    "mrpc": "mrpc",
    "goemotions_fear": "fear",
}
BATCH = 32


def numbers(folder: Path) -> dict[str, str]:
    """What braces of the text stand for.

    Args:
        folder: The records.

    Raises:
        AssertionError: A sentence does not hold for the records.
    """
    corpora = read_corpora(folder)

    def less(task: str, arm: str, other: str) -> Effect:
        found = faster(corpora[task], arm, other, "tuned")
        assert found is not None
        assert found.draws == 6
        return found

    found: dict[str, str] = {}
    for task, braces in BRACES.items():
        dice, start = less(task, "dice", "ce_start"), less(task, "ce_start", "ce")
        near = less(task, "dice", "ce")
        for name, e in (
            (f"layers_{braces}", dice),
            (f"layers_{braces}_near", near),
            (f"start_{braces}", start),
        ):
            found |= {name: signed(e.mean).removeprefix("+"), f"{name}_in": interval(e.low, e.high)}
        if task != "goemotions_fear":
            claim("dice is not told from cross entropy from the prior", dice.low < 0 < dice.high)
        if task in ("crossner_politics", "wnut17"):
            claim("A start at the prior gives cross entropy the head start", start.low > 2)
    ends = {arm: scores(corpora["goemotions_fear"], arm, "tuned")[1][:, -1].mean() for arm in ARMS}
    claim(
        "dice learned almost nothing, cross entropy the label",
        ends["dice"] < 5,
        ends["ce_start"] > 50,
    )
    near_0 = scores(corpora["goemotions_fear"], "ce", "tuned")[1][:, -1]
    claim("most runs of cross entropy fail as well", (near_0 < 10).mean() > 0.5)
    of_search = [
        r["validation"]["tuned"]["f1"]
        for r in corpora["goemotions_fear"]
        if (r["kind"], r["arm"]) == ("search", "dice")
    ]
    claim("seven learning rates", len(of_search) == 2 * 7)
    (size,) = {
        (r["sizes"]["train"]["rows"], r["sizes"]["train"]["positive"])
        for r in read(folder / "goemotions_fear.jsonl")
        if r["kind"] == "task"
    }
    rates = {r["rate"] for r in corpora["mrpc"] if r["kind"] == "final"}
    claim("the lowest of the seven won for every loss", rates == {1e-4})
    return found | {
        "empty": f"{100 * (1 - size[1] / size[0]) ** BATCH:.0f}%",
        "last_step": str(scores(corpora["goemotions_fear"], "dice", "tuned")[0][-1]),
        "fear_dice_best": f"{max(of_search):.1f}",
        **{f"fear_{arm.removeprefix('ce_')}": f"{f1:.1f}" for arm, f1 in ends.items()},
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
    return [("second protocol, all layers, on a GPU", len(of_run), hours)]
