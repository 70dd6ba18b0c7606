"""What the paper's released scripts say, `scripts.toml`, as settings of a job."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# A script's loss for each of ours; its one dice script trains what the paper calls DSC.
LOSSES = {"ce": "ce", "fl": "focal", "dl": "dice", "dsc": "dice", "tl": "dice"}
# Whose settings a loss without a script gets: those of the nearest loss.
NEAREST = {"ce": ("focal", "dice"), "focal": ("ce", "dice"), "dice": ()}
SCHEDULES = {"linear": "linear", "onecycle": "linear", "polydecay": "polynomial"}


@dataclass(frozen=True)
class Script:
    """A script; the fields are those of `scripts.toml`."""

    corpus: str
    loss: str
    path: str
    commit: str
    encoder: str
    batch: int
    accumulate: int
    epochs: int
    length: int
    lr: float
    schedule: str
    warmup: float
    decay: float
    dropout: float
    precision: int
    gpus: int = 1
    stride: int | None = None
    weights: tuple[float, ...] = ()
    answerable: float = 0.0
    gamma: float | None = None
    smooth: float | None = None
    ohem: float | None = None
    alpha: float | None = None
    square: bool | None = None
    differs: str = ""

    @property
    def name(self) -> str:
        """Path and commit."""
        return f"{self.path} at {self.commit[:7]}"

    @property
    def settings(self) -> dict[str, Any]:
        """Parameters of an experiment."""
        return {
            "learning_rate": self.lr,
            # Of a whole step: `reproduce.memory` divides it where it does not fit.
            "batch_size": self.batch * self.accumulate * self.gpus,
            "epochs": self.epochs,
            "max_length": self.length,
            # Their 16 bits are those of half precision; ours those that the device is best at.
            "precision": {16: "auto", 32: "fp32"}[self.precision],
        }

    @property
    def habits(self) -> dict[str, Any]:
        """What goes beyond an experiment's parameters, see `reproduce.systems`."""
        training: dict[str, Any] = {
            "warmup_steps": self.warmup,
            "weight_decay": self.decay,
            "lr_scheduler_type": SCHEDULES[self.schedule],
            "adam_epsilon": 1e-6,  # the default of their parser, which no script changes
        }
        if self.schedule == "polydecay":  # their code lets it end at a quarter of the rate
            training["lr_scheduler_kwargs"] = {"lr_end": self.lr / 4, "power": 1.0}
        habits: dict[str, Any] = {"training": training, "dropout": self.dropout}
        if self.weights:
            habits |= {"weights": list(self.weights), "answerable": self.answerable}
            habits["masked"] = self.loss != "dice"  # theirs counts question and padding, too
        if self.weights or self.stride:
            habits["head_layers"] = 2  # of starts, ends and answerable
        return habits | ({"stride": self.stride} if self.stride else {})

    def options(self, loss: str) -> dict[str, Any]:
        """Options of one of our losses; none of a loss that the script does not train."""
        if LOSSES[loss] != self.loss or loss == "tl":
            return {}
        if self.loss == "focal":
            return {"gamma": self.gamma}
        if self.loss == "ce":
            return {}
        options = {"smooth": self.smooth, "squared": self.square}
        if loss == "dsc":
            options["alpha"] = self.alpha
        return options | ({"ohem_ratio": self.ohem} if self.ohem else {})


@cache
def scripts() -> dict[tuple[str, str], Script]:
    """All scripts by corpus and their name of the loss."""
    rows = tomllib.loads(Path(__file__).with_name("scripts.toml").read_text("utf-8"))["script"]
    rows = [Script(**{**row, "weights": tuple(row.get("weights", ()))}) for row in rows]
    return {(script.corpus, script.loss): script for script in rows}


def script_of(corpus: str, system: str, backbone: str, loss: str) -> tuple[Script | None, str]:
    """The script whose settings a job has, and in words how it stands to the job.

    Args:
        corpus: what the paper's row is of.
        system: one of `reproduce.systems.SYSTEMS`.
        backbone: the model without the loss, as printed.
        loss: one of ours.

    Returns:
        The script of this corpus and loss, or the nearest; None where there is none of this corpus
        and system.
    """
    if system == "tagger":
        return None, "none was released for a tagger"
    script_loss = LOSSES[loss]
    made_of = "qqp" if corpus.startswith("qqp_") else corpus
    tried = [(made_of, script_loss), *((made_of, nearest) for nearest in NEAREST[script_loss])]
    if corpus == "squad20":  # of its own there is the one of cross entropy
        tried.insert(1, ("squad11", script_loss))
    script = next((scripts()[key] for key in tried if key in scripts()), None)
    if script is None:
        return None, "none was released for this corpus"
    notes = []
    if script.corpus != corpus:
        notes.append(f"it is of {script.corpus}")
    if script.loss != script_loss:
        notes.append(f"none was released for {loss}, it is that of {script.loss}")
    elif loss == "dl":
        notes.append("without its exponent")
    elif loss == "tl":
        notes.append("its dice replaced by Tversky's loss")
    if backbone == "XLNet":
        notes.append("it is of BERT")
    trains_by = "choice" if script.loss == "ce" else "decisions"
    if system in ("choice", "decisions") and system != trains_by:
        notes.append(f"it does not train by {system}")
    return script, "; ".join([*notes, *filter(None, [script.differs])])
