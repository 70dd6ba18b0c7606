"""What one asks of a fit: its options, checked before anything else runs."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from dicebook.losses.modules import EQUATIONS
from dicelab.corpora.cells import Asked
from dicelab.fit.errors import FitError as FitError
from dicelab.training.experiment import DEVICES, LOSSES, Device

TASKS = ("tagging", "sentences", "pairs", "labels")
METRICS = ("f1", "macro-f1", "accuracy", "f2")
ARMS = ("ce", "wce", "dl")
#: Other names of the losses, as ``make_loss`` has them.
SYNONYMS = {
    "cross_entropy": "ce",
    "focal": "fl",
    "dice": "dl",
    "tversky": "tl",
    "self_adjusting_dice": "dsc",
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a fit is asked for.

    Args:
        source: a file, a folder with a file a split, a corpus by name, or ``hub:NAME``.
        out: the folder of all that it leaves.
        task: one of ``TASKS``; None takes it from the form of the file.
        text: the column of the text, by name or by number from 1; of the tokens in tagged files.
        text2: the column of a pair's second text.
        label: the column of the label; several, separated by commas, are yes-or-no labels.
        delimiter: between columns; None takes it from the file.
        label_separator: between several labels in one cell.
        encoding: how the files are encoded; None finds out.
        header: ``"yes"`` or ``"no"``: whether the first line names the columns; None finds out.
        positive: the class whose F1 counts, of two; of tags, the tag or the type of entity.
        skip_bad: leave out rows that cannot be read, and count them.
        encoder: as for a chapter: ``"tiny"``, ``"minilm"``, a folder, a name on the hub. None
            takes ``"minilm"`` where it is installed, else ``"tiny"``.
        minutes: how long the whole may take. None takes ten, or two for an embedded corpus, and
            more where not even short runs fit.
        losses: names of losses as ``make_loss`` takes them, without ``binary_``, or
            ``MODULE:NAME``. None compares :attr:`arms` where there is time, and trains the first of
            them alone where there is not.
        linear: whether the models of the first minute are tried; without them the model that is
            kept is one that transformers alone can load.
        metric: ``"f1"``, ``"macro-f1"``, ``"accuracy"``, or F-beta such as ``"f2"`` and ``"f0.5"``:
            above 1 a miss costs more than a false alarm. None takes what is usual for the task.
        at_recall: decide so that this share of the positives is found.
        at_precision: decide so that this share of what is found is right.
        texts: whether the report, the record and the predictions show rows of the file.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
        steps: how many steps a run has, so that it is the same on every machine; None takes them
            from the minutes. This and what follows is for studies, and no option of the command.
        rates: learning rates tried for each arm; None takes three that suit the encoder.
        seeds: how many seeds the finals have.
        batch_size: rows in a step; None takes 32, or fewer where steps are cheap and time is short.
        max_length: sub-words in a row; None takes what cuts one row in a hundred, at most 256, and
            256 for tagged sentences. Words that are cut off are decided as ``O``.
        seed: draws the splits, and is the first seed of the finals.

    Raises:
        FitError: for a value that no fit can have.
    """

    source: str = "embedded-entities-en"
    out: str = "runs/fit"
    task: str | None = None
    text: str | None = None
    text2: str | None = None
    label: str | None = None
    delimiter: str | None = None
    label_separator: str | None = None
    encoding: str | None = None
    header: str | None = None
    positive: str | None = None
    skip_bad: bool = False
    encoder: str | None = None
    minutes: float | None = None
    losses: tuple[str, ...] | None = None
    linear: bool = True
    metric: str | None = None
    at_recall: float | None = None
    at_precision: float | None = None
    texts: bool = True
    device: Device = "auto"
    steps: int | None = None
    rates: tuple[float, ...] | None = None
    seeds: int = 3
    batch_size: int | None = None
    max_length: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of("task", self.task, (None, *TASKS))
        if self.metric is not None and not re.fullmatch(
            r"f[1-9]\d*(\.\d+)?|f0\.\d*[1-9]", self.metric
        ):
            _one_of("metric", self.metric, METRICS)
        _one_of("header", self.header, (None, "yes", "no"))
        _one_of("device", self.device, DEVICES)
        for name in ("minutes", "seeds", "batch_size", "max_length", "steps"):
            value = getattr(self, name)
            if value is not None:
                _above(name, value, 3 if name == "max_length" else 0)
        for name in ("at_recall", "at_precision"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise FitError(
                    f"--{name.replace('_', '-')}: expected a share above 0 and below 1, got {value}"
                )
        if self.at_recall is not None and self.at_precision is not None:
            raise FitError("expected one of --at-recall and --at-precision, got both")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise FitError(f"--delimiter: expected one character, got {self.delimiter!r}")
        if self.losses is not None:
            self._check_losses(tuple(SYNONYMS.get(loss, loss) for loss in self.losses))
        for rate in self.rates or ():
            if not 0 < rate <= 1:
                raise FitError(f"--rates: expected numbers above 0 and at most 1, got {rate}")

    def _check_losses(self, losses: tuple[str, ...]) -> None:
        object.__setattr__(self, "losses", losses)
        if not losses or len(set(losses)) < len(losses):
            raise FitError(f"--losses: expected different losses, got {' '.join(losses)!r}")
        for loss in losses:
            if loss not in (*LOSSES, *EQUATIONS) and ":" not in loss:
                known = ", ".join((*LOSSES, *EQUATIONS, *SYNONYMS))
                raise FitError(f"--losses: expected some of {known}, or MODULE:NAME, got {loss!r}")

    @property
    def beta(self) -> float:
        """That of F-beta: 2 of ``"f2"``, and 1 of any other metric."""
        found = re.fullmatch(r"f([\d.]+)", self.metric or "")
        return float(found[1]) if found else 1.0

    @property
    def arms(self) -> tuple[str, ...]:
        """The losses that are compared where there is time."""
        return ARMS if self.losses is None else self.losses

    @property
    def asked(self) -> Asked:
        """What the reader of files is to know."""
        names = ("task", "text", "text2", "label", "label_separator", "encoding", "delimiter")
        header = None if self.header is None else self.header == "yes"
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        return Asked(header=header, skip_bad=self.skip_bad, **given)

    def fixed(self) -> dict[str, Any]:
        """What must not change when a fit goes on: all but where and on which device."""
        fields = asdict(self)
        for name in ("out", "device"):
            del fields[name]
        return {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}


def _one_of(name: str, value: object, valid: tuple[object, ...]) -> None:
    if value not in valid:
        names = ", ".join(str(item) for item in valid if item is not None)
        raise FitError(f"--{name}: expected one of {names}, got {value!r}")


def _above(name: str, value: float, least: float) -> None:
    if not value > least or value == float("inf"):
        option = name.replace("_", "-")
        raise FitError(f"--{option}: expected a number above {least}, got {value}")
