"""Draw the cover picture: python tools/cover.py (writes _static/cover.png)."""

from pathlib import Path

import matplotlib.pyplot as plt
import torch

from dicebook import make_loss
from dicelab.figures import loss_curves, use_style

ALT = "Derivative of five losses against the predicted probability, for a positive and a negative."

LOSSES = {
    "CE": make_loss("binary_ce", reduction="none"),
    "FL": make_loss("binary_fl", reduction="none"),
    "DL": make_loss("binary_dl", level="example", reduction="none"),
    "TL": make_loss("binary_tl", squared=False, level="example", reduction="none"),
    "DSC": make_loss("binary_dsc", squared=False, level="example", reduction="none", alpha=1.0),
}


def derivatives(p: torch.Tensor, y: float) -> dict[str, torch.Tensor]:
    """Each loss's derivative with respect to the probability p, for label y."""
    curves = {}
    for name, loss in LOSSES.items():
        logit = torch.logit(p).requires_grad_()
        loss(logit, torch.full_like(p, y)).sum().backward()
        assert logit.grad is not None
        curves[name] = logit.grad / (p * (1 - p))
    return curves


def main() -> None:
    """Draw both labels side by side."""
    use_style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6))
    p = torch.linspace(0.005, 0.995, 199, dtype=torch.float64)
    for ax, y, title in ((left, 1.0, "a positive"), (right, 0.0, "a negative")):
        loss_curves(derivatives(p, y), p, ylabel="derivative of the loss", ax=ax)
        ax.axhline(0, color="black", linewidth=1)
        ax.set(title=title, ylim=(-3, 1.2) if y else (-1.2, 3))
        ax.get_legend().remove()
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    out = Path(__file__).resolve().parent.parent / "_static" / "cover.png"
    figure.savefig(out, metadata={"Description": ALT, "Software": None})


if __name__ == "__main__":
    main()
