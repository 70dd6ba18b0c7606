"""The contract of an experiment chapter: its parameters, checked before anything else runs."""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

LOSSES = ("ce", "wce", "fl", "dl", "tl", "dsc")
DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("auto", "fp32", "bf16", "fp16")


class ParameterError(ValueError):
    """A parameter of an experiment has a wrong name, type or value."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What one execution of an experiment chapter does.

    Every chapter that trains declares these names in its cell tagged ``parameters``, so that
    ``papermill -p NAME VALUE`` sets them, and reads them back with :meth:`from_namespace`.

    Args:
        corpus: a name known to :func:`dicebook.corpora.loading.load`, or a path to the reader's
            own file.
        encoder: ``"tiny"`` (a small BERT built from its config, its WordPiece vocabulary trained
            on the corpus), ``"minilm"`` (all-MiniLM-L6-v2, pretrained on English, see
            :func:`dicebook.training.encoders.minilm_folder`), a local folder, or the name of a
            model on the Hugging Face hub.
        loss: one of ``ce, wce, fl, dl, tl, dsc``, or several of them separated by commas; each is
            trained in turn, all else equal.
        loss_options: keyword arguments of the loss, or a mapping from a loss's name to its keyword
            arguments; with several losses only the latter. Names that are not in ``loss`` wait.
        seed: seeds initialisation, data order and dropout.
        epochs: passes over the training split.
        max_steps: optimiser steps after which training ends early; -1 leaves it to ``epochs``.
        batch_size: training examples per device and step.
        learning_rate: peak of AdamW's linear schedule with warm-up.
        max_length: sub-words per example, special tokens included.
        train_size: training examples used, drawn from the front; 0 uses all.
        gradient_accumulation: batches that make up one optimiser step. Set-level losses are those
            of the whole step.
        gradient_checkpointing: recompute activations in the backward pass: less memory, more time.
        compile: run the model through ``torch.compile``.
        early_stopping: epochs without a better validation score after which training ends; 0 trains
            on.
        tensorboard: write curves for TensorBoard into ``output_dir``.
        device: ``"auto"`` (CUDA where there is one), ``"cpu"`` or ``"cuda"``.
        precision: ``"auto"`` (bf16 on a GPU that has it, else fp32), ``"fp32"``, ``"bf16"``,
            ``"fp16"``.
        output_dir: folder of checkpoints and records; the same command resumes there after a
            kill. Empty: a temporary folder, removed at the end.

    Raises:
        ParameterError: naming the parameter, what was expected and what came.
    """

    corpus: str
    encoder: str = "tiny"
    loss: str = "ce"
    loss_options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    epochs: int = 4
    max_steps: int = -1
    batch_size: int = 32
    learning_rate: float = 2e-4
    max_length: int = 128
    train_size: int = 0
    gradient_accumulation: int = 1
    gradient_checkpointing: bool = False
    compile: bool = False
    early_stopping: int = 0
    tensorboard: bool = False
    device: str = "auto"
    precision: str = "auto"
    output_dir: str = ""

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for item in dataclasses.fields(self):
            value = _as_type(item.name, getattr(self, item.name), hints[item.name])
            object.__setattr__(self, item.name, value)
        self._check_values()

    def _check_values(self) -> None:
        for name in ("epochs", "batch_size", "max_length", "gradient_accumulation"):
            _check(name, getattr(self, name) >= 1, "a whole number of at least 1", self)
        _check("seed", 0 <= self.seed < 2**32, "a whole number from 0 to 2**32 - 1", self)
        _check("max_steps", self.max_steps == -1 or self.max_steps >= 1, "-1 or at least 1", self)
        _check("early_stopping", self.early_stopping >= 0, "0 (never) or a number of epochs", self)
        _check("train_size", self.train_size >= 0, "0 (all) or a positive whole number", self)
        _check("learning_rate", 0 < self.learning_rate <= 1, "a number above 0 and at most 1", self)
        _check("corpus", self.corpus != "", "a corpus name or a path", self)
        _check("encoder", self.encoder != "", "'tiny', 'minilm', a folder or a hub name", self)
        _check("device", self.device in DEVICES, f"one of {', '.join(DEVICES)}", self)
        _check("precision", self.precision in PRECISIONS, f"one of {', '.join(PRECISIONS)}", self)
        names = self.losses
        known = all(name in LOSSES for name in names) and len(set(names)) == len(names) > 0
        _check("loss", known, f"one of {', '.join(LOSSES)}, or several joined by commas", self)
        if len(names) > 1:
            expected = f"a mapping from {', '.join(LOSSES)} to options, for there are {len(names)}"
            _check("loss_options", self._options_are_by_loss, f"{expected} losses", self)

    @classmethod
    def from_namespace(
        cls, namespace: Mapping[str, Any], *, also: Collection[str] = ()
    ) -> Experiment:
        """The experiment that a chapter's parameters describe.

        Call it right below the cell tagged ``parameters``, before any other name is bound: a name
        in ``namespace`` that is no parameter is refused, which catches a misspelt ``-p``
        (papermill itself only warns).

        Args:
            namespace: the chapter's ``globals()``.
            also: parameters of the chapter's own, which it checks itself.

        Raises:
            ParameterError: for a name that is no parameter, a missing ``corpus``, or a value of
                the wrong type or range.
        """
        valid = [*(item.name for item in dataclasses.fields(cls)), *also]
        given = {name: value for name, value in namespace.items() if _is_parameter(name, value)}
        for name in given:
            if name not in valid:
                close = difflib.get_close_matches(name, valid, n=1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                raise ParameterError(
                    f"unknown parameter {name!r}.{hint} Valid parameters: {', '.join(valid)}"
                )
        if "corpus" not in given:
            raise ParameterError("parameter 'corpus' is missing: a corpus name or a path")
        return cls(**{name: value for name, value in given.items() if name not in also})

    @property
    def losses(self) -> list[str]:
        """The names in ``loss``, in order."""
        return [name.strip() for name in self.loss.split(",") if name.strip()]

    @property
    def _options_are_by_loss(self) -> bool:
        return all(
            key in LOSSES and isinstance(value, Mapping) for key, value in self.loss_options.items()
        )

    def options_of(self, loss: str) -> dict[str, Any]:
        """The keyword arguments that ``loss_options`` gives to one of :attr:`losses`."""
        if self._options_are_by_loss:
            return dict(self.loss_options.get(loss, {}))
        return dict(self.loss_options)

    def only(self, loss: str) -> Experiment:
        """The same experiment with one of its losses."""
        return dataclasses.replace(self, loss=loss, loss_options=self.options_of(loss))


def _is_parameter(name: str, value: object) -> bool:
    # What IPython itself puts into a fresh namespace is no parameter.
    builtin = name.startswith("_") or name in {"In", "Out", "exit", "quit", "open", "get_ipython"}
    return not builtin and not isinstance(value, (types.ModuleType, type))


def _as_type(name: str, value: Any, expected: Any) -> Any:
    origin = typing.get_origin(expected) or expected
    if origin is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if origin is dict and isinstance(value, Mapping):
        return dict(value)
    if origin is float and isinstance(value, str):
        # YAML 1.1, which papermill speaks, reads 2e-5 (no dot) as a string.
        try:
            return float(value)
        except ValueError:
            pass
    if not isinstance(value, origin) or (isinstance(value, bool) and origin is not bool):
        raise ParameterError(
            f"parameter {name!r}: expected {getattr(origin, '__name__', origin)}, "
            f"got {value!r} ({type(value).__name__})"
        )
    return value


def _check(name: str, holds: bool, expected: str, experiment: Experiment) -> None:
    if not holds:
        raise ParameterError(
            f"parameter {name!r}: expected {expected}, got {getattr(experiment, name)!r}"
        )
