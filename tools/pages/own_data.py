"""What ``dicebook fit`` chose against a grid of settings, a section of the page of records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dicelab.records import runs
from studies import own_data
from tools.pages import words

TITLES = {
    "sst2_03": "Stanford Sentiment Treebank, 3% positive",
    f"goemotions_{own_data.LABEL}": f"GoEmotions, is it {own_data.LABEL}?",
    "crossner_politics": "CrossNER, politics",
    "wnut17": "WNUT 2017",
    "mrpc": "Microsoft Research Paraphrase Corpus",
}
PAGE = """\
## Does fit choose well?

`dicebook fit` names a loss, a learning rate and a threshold. Would somebody with more patience have
done better? Here its choice is held against a grid of eighteen settings, six losses with three
learning rates, on five corpora and three draws of each. All runs are equally long, {steps} steps,
and all scores are F1 on the test rows, in percent: of the entities, or of the positive class. The
aim is to be within one point of *best on test* on average, and within three at worst.

**{done} of {all} draws are done.**{trained} `python -m studies.own_data` runs what is missing, and
`python -m tools.pages` writes this section from the records.
"""
COLUMNS = """
*Grid* is the setting that is best on validation at its tuned threshold, as anyone would choose it.
*At argmax* is the one that is best on validation without a threshold. *Best on test* is the highest
of the eighteen test scores: nobody can choose by it, and of eighteen numbers it is the luckiest.
*Behind* is how far the fit is below it. The test rows of the treebank hold {positives} positives,
so that each of its scores has a scatter of many points, whoever chose.
"""


def page(folder: Path) -> str:
    """The section.

    Args:
        folder: The folder of the study's records, ``results/own_data``; it need not be there.

    Returns:
        Markdown.
    """
    records = runs.read_records(folder) if folder.is_dir() else []
    draws = own_data.table(records)
    trained = [r for r in records if r["parameters"]["loss"] != "fit"]
    text = PAGE.format(
        steps=own_data.STEPS,
        done=len(draws),
        all=own_data.DRAWS * len(own_data.CORPORA),
        trained=f" The grid's {len(trained)} runs took {words.time(trained)} on "
        f"{words.device(trained)}."
        if trained
        else "",
    )
    if draws.empty:
        return text
    positives = round(own_data.POSITIVES * own_data.CORPORA["sst2_03"].sizes[2])
    columns = COLUMNS.format(positives=positives)
    return f"{text}{columns}\n{runs.markdown(_rows(draws))}\n\n{_summary(draws)}\n"


def _rows(draws: pd.DataFrame) -> list[dict[str, str]]:
    """A row a draw, in the order of the study."""
    place = {name: number for number, name in enumerate(own_data.CORPORA)}
    ordered = sorted(draws.to_dict("records"), key=lambda r: (place[r["corpus"]], r["draw"]))
    return [
        {
            "corpus": TITLES[row["corpus"]],
            "draw": str(row["draw"] + 1),
            "fit chose": runs.LOSS_NAMES[row["loss"]],
            "fit": f"{row['fit']:.1f}",
            "grid chose": runs.LOSS_NAMES[row["the grid's loss"]],
            "grid": f"{row['grid']:.1f}",
            "at argmax": f"{row['grid at argmax']:.1f}",
            "best on test": f"{row['best on test']:.1f}",
            "behind": f"{row['best on test'] - row['fit']:.1f}",
        }
        for row in ordered
    ]


def _summary(draws: pd.DataFrame) -> str:
    """The differences over the draws there are."""
    parts = []
    for title, column, other in (
        ("Less the grid's choice, the fit has", "fit", "grid"),
        ("Less the grid's choice at argmax, the fit has", "fit", "grid at argmax"),
        ("Less the best on test, the fit has", "fit", "best on test"),
        (
            "Less the best on test, the mean of a fit's seeds, not the one that it keeps, has",
            "fit, mean of seeds",
            "best on test",
        ),
    ):
        gaps: Sequence[float] = (draws[column] - draws[other]).tolist()
        parts.append(f"- {title} {runs.interval(gaps)} points; at worst {min(gaps):.1f}.")
    behind = draws["best on test"] - draws["fit"]
    parts.append(f"- {sum(behind > 3)} of {len(draws)} draws are more than three points behind.")
    reached = "reached" if behind.mean() <= 1 and behind.max() <= 3 else "not reached"
    verdict = f"By these draws the aim is {reached}."
    return "\n".join(["Over the draws that are done:", "", *parts, "", verdict])
