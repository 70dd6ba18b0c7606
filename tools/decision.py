"""Draw the guide's decision: python -m tools.decision (writes _static/decision-*.png)."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt

from dicelab.figures import use_style
from tools.answer import COLOURS

ROOT = Path(__file__).resolve().parent.parent
# A question, the answer that ends the way there, and what to do then.
STEPS = (
    ("Are you scored\nby accuracy?", "yes", "cross entropy,\nargmax"),
    (
        "Can you tune\na threshold on\nvalidation data?",
        "yes",
        "cross entropy, output\nbias at the log prior,\nthreshold tuned",
    ),
    (
        "Far fewer positives\nin training than\nin use?",
        "yes",
        "class weights, strength\nsearched on validation\ndata; argmax",
    ),
    (
        "A yes-or-no\nquestion, or\nrare positives?",
        "yes",
        "class weights, searched;\nor dice loss, positives\nin each batch; argmax",
    ),
    ("Tags", "", "cross entropy, output\nbias at the log prior,\nargmax"),
)


def described() -> str:
    """The picture in words."""
    ways = (f"{' '.join(q.split())} {answer}: {' '.join(do.split())}" for q, answer, do in STEPS)
    return "; else ".join(ways).replace("Tags :", "tags:") + "."


def draw(colours: tuple[str, str, str], out: Path) -> None:
    """Questions from top to bottom, and to the right of each what to do."""
    paper, ink, line = colours
    use_style()
    figure, ax = plt.subplots(figsize=(4.7, 5.4), facecolor=paper)
    ax.set(xlim=(0, 10), ylim=(-len(STEPS) + 0.45, 0.55))
    ax.axis("off")
    box = {"boxstyle": "round,pad=0.45", "facecolor": paper, "edgecolor": line}
    end = box | {"edgecolor": "#009E73", "linewidth": 1.8}
    arrow = {"arrowstyle": "-|>", "color": ink, "shrinkA": 0, "shrinkB": 0}
    for row, (question, answer, do) in enumerate(STEPS):
        y = -row
        ax.text(2.3, y, question, ha="center", va="center", color=ink, bbox=box)
        ax.text(7.7, y, do, ha="center", va="center", color=ink, bbox=end)
        ax.annotate("", (5.25, y), (4.4, y), arrowprops=arrow)
        ax.text(4.8, y + 0.06, answer, ha="center", va="bottom", color=ink, fontsize=10)
        if row:
            ax.annotate("", (2.3, y + 0.33), (2.3, y + 0.67), arrowprops=arrow)
            ax.text(2.45, y + 0.5, "no", va="center", color=ink, fontsize=10)
    figure.savefig(out, facecolor=paper, metadata={"Description": described(), "Software": None})
    plt.close(figure)


def main() -> int:
    """Draw it for light pages and for dark ones."""
    for name, colours in COLOURS.items():
        draw(colours, ROOT / "_static" / f"decision-{name}.png")
    print(described())
    return 0


if __name__ == "__main__":
    sys.exit(main())
