"""The contract of an experiment chapter: its parameters, checked before anything else runs."""

from __future__ import annotations

import difflib
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

LOSSES = ("ce", "wce", "fl", "dl", "tl", "dsc")
Device = Literal["auto", "cpu", "cuda", "mps"]
DEVICES = get_args(Device)


class ParameterError(Exception):
    """A parameter of an experiment has a wrong name, type or value."""


def _number(value: Any) -> Any:
    """YAML 1.1, which papermill speaks, reads 2e-5 (no dot) as a string."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


# A description is what an error says was expected.
AtLeastOne = Annotated[int, Field(ge=1, description="a whole number of at least 1")]
Count = Annotated[int, Field(ge=0, description="a whole number of at least 0")]
Switch = Annotated[bool, Field(description="True or False")]
Text = Annotated[str, Field(description="a text")]


@dataclass(frozen=True, kw_only=True, config=ConfigDict(strict=True, extra="forbid"))
class Experiment:
    """What one execution of an experiment chapter does.

    Every chapter that trains declares these names in its cell tagged ``parameters``, so that
    ``papermill -p NAME VALUE`` sets them, and reads them back with :meth:`from_namespace`.

    Args:
        corpus: a name known to :func:`dicelab.corpora.loading.load`, or a path to the reader's
            own file.
        encoder: ``"tiny"`` (a small BERT built from its config, its WordPiece vocabulary trained
            on the corpus), ``"minilm"`` (all-MiniLM-L6-v2, pretrained on English, see
            :func:`dicelab.training.encoders.minilm_folder`), a local folder, or the name of a
            model on the Hugging Face hub.
        loss: one of ``ce, wce, fl, dl, tl, dsc``; or ``MODULE:NAME``, a class or a function of the
            reader's own that takes logits and labels; or several of them separated by commas; each
            is trained in turn, all else equal.
        loss_options: keyword arguments of the loss, or a mapping from a loss's name to its keyword
            arguments; with several losses only the latter. Names that are not in ``loss`` wait.
        start: the bias of the output layer before training. ``"prior"``: the log prior, so that the
            untrained model gives each class its share of the training labels; log-odds where each
            logit is a decision of its own. ``"zero"``: as the model comes, near 0. Chapters 02 and
            09 show what it changes.
        seed: seeds initialisation, data order and dropout.
        epochs: passes over the training split.
        max_steps: optimiser steps after which training ends early; -1 leaves it to ``epochs``.
        batch_size: training examples per device and step.
        learning_rate: peak of AdamW's linear schedule with warm-up.
        max_length: sub-words per example, special tokens included.
        train_size: training examples (sentences, pairs, questions) used; 0 uses all. They are drawn
            by the seed, each class in proportion where examples have one label; see
            :func:`dicelab.training.sampling.sample`.
        eval_size: examples used of the validation split and of the test split, drawn likewise; 0
            uses all.
        gradient_accumulation: batches that make up one optimiser step. Set-level losses are those
            of the whole step.
        gradient_checkpointing: recompute activations in the backward pass: less memory, more time.
        compile: run the model through ``torch.compile``.
        early_stopping: epochs without a better validation score after which training ends; 0 trains
            on.
        tensorboard: write curves for TensorBoard into ``output_dir``.
        device: ``"auto"`` (CUDA where there is one), ``"cpu"``, ``"cuda"`` or ``"mps"``.
        threads: threads of torch on the CPU; 0 leaves torch's choice, which is one for each core,
            or what ``OMP_NUM_THREADS`` says. Where several runs share a machine, take cores divided
            by runs: with more, the threads of the runs wait for each other.
        precision: ``"auto"`` (bf16 on a GPU that has it, else fp32), ``"fp32"``, ``"bf16"``,
            ``"fp16"``.
        output_dir: folder of checkpoints and records; the same command resumes there after a
            kill. Empty: a temporary folder, removed at the end.

    Raises:
        ParameterError: naming the parameter, what was expected and what came.
    """

    corpus: Annotated[str, Field(min_length=1, description="a corpus name or a path")]
    encoder: Annotated[
        str, Field(min_length=1, description="'tiny', 'minilm', a folder or a hub name")
    ] = "tiny"
    loss: Annotated[
        str,
        Field(
            description=f"one of {', '.join(LOSSES)}, or MODULE:NAME, or several joined by commas"
        ),
    ] = "ce"
    loss_options: Annotated[
        dict[str, Any], Field(description="a mapping of options, or of losses to options")
    ] = Field(default_factory=dict)
    start: Annotated[Literal["prior", "zero"], Field(description="'prior' or 'zero'")] = "prior"
    seed: Annotated[
        int, Field(ge=0, lt=2**32, description="a whole number from 0 to 2**32 - 1")
    ] = 0
    epochs: AtLeastOne = 4
    max_steps: Annotated[int, Field(ge=-1, description="-1 or at least 1")] = -1
    batch_size: AtLeastOne = 32
    learning_rate: Annotated[
        float,
        BeforeValidator(_number),
        Field(gt=0, le=1, description="a number above 0 and at most 1"),
    ] = 2e-4
    max_length: AtLeastOne = 128
    train_size: Annotated[int, Field(ge=0, description="0 (all) or a positive whole number")] = 0
    eval_size: Annotated[int, Field(ge=0, description="0 (all) or a positive whole number")] = 0
    gradient_accumulation: AtLeastOne = 1
    gradient_checkpointing: Switch = False
    compile: Switch = False
    early_stopping: Count = 0
    tensorboard: Switch = False
    device: Annotated[Device, Field(description=f"one of {', '.join(DEVICES)}")] = "auto"
    threads: Count = 0
    precision: Annotated[
        Literal["auto", "fp32", "bf16", "fp16"], Field(description="one of auto, fp32, bf16, fp16")
    ] = "auto"
    output_dir: Text = ""

    @model_validator(mode="wrap")
    @classmethod
    def _one_clear_error(cls, arguments: Any, validate: Any) -> Any:
        try:
            return validate(arguments)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = str(first["loc"][0])
            if first["type"] == "unexpected_keyword_argument":
                raise _unknown(name, [item.name for item in fields(cls)]) from None
            if first["type"] == "missing":
                raise ParameterError(f"parameter {name!r} is missing: {_expected(name)}") from None
            raise _wrong(name, _expected(name), first["input"]) from None

    def __post_init__(self) -> None:
        names = self.losses
        if not names or len(set(names)) < len(names) or not all(map(_is_loss, names)):
            raise _wrong("loss", _expected("loss"), self.loss)
        if self.max_steps == 0:
            raise _wrong("max_steps", _expected("max_steps"), 0)
        if len(names) > 1 and not self._options_are_by_loss:
            expected = f"a mapping from {', '.join(LOSSES)} to options, for there are {len(names)}"
            raise _wrong("loss_options", f"{expected} losses", self.loss_options)

    @classmethod
    def from_namespace(
        cls, namespace: Mapping[str, Any], *, also: Collection[str] = ()
    ) -> Experiment:
        """The experiment that a chapter's parameters describe.

        Call it right below the cell tagged ``parameters``, when above it only modules, classes and
        functions are bound: any other name in ``namespace`` that is no parameter is refused, which
        catches a misspelt ``-p`` (papermill itself only warns).

        Args:
            namespace: the chapter's ``globals()``.
            also: parameters of the chapter's own, which it checks itself.

        Raises:
            ParameterError: for a name that is no parameter, a missing ``corpus``, or a value of
                the wrong type or range.
        """
        valid = [*(item.name for item in fields(cls)), *also]
        values = {name: value for name, value in namespace.items() if _is_parameter(name, value)}
        for name in values:
            if name not in valid:
                raise _unknown(name, valid)
        return cls(**{name: value for name, value in values.items() if name not in also})

    @property
    def losses(self) -> list[str]:
        """The names in ``loss``, in order."""
        return [name.strip() for name in self.loss.split(",") if name.strip()]

    @property
    def _options_are_by_loss(self) -> bool:
        return all(
            _is_loss(key) and isinstance(value, Mapping) for key, value in self.loss_options.items()
        )

    def options_of(self, loss: str) -> dict[str, Any]:
        """The keyword arguments that ``loss_options`` gives to one of :attr:`losses`."""
        if self._options_are_by_loss:
            return dict(self.loss_options.get(loss, {}))
        return dict(self.loss_options)

    def only(self, loss: str) -> Experiment:
        """The same experiment with one of its losses."""
        return replace(self, loss=loss, loss_options=self.options_of(loss))


def _is_parameter(name: str, value: object) -> bool:
    # What IPython itself puts into a fresh namespace is no parameter, nor is what was imported.
    builtin = name.startswith("_") or name in {"In", "Out", "exit", "quit", "open", "get_ipython"}
    return not builtin and not isinstance(value, (types.ModuleType, types.FunctionType, type))


def _is_loss(name: str) -> bool:
    module, _, own = name.rpartition(":")
    return name in LOSSES or all(part.isidentifier() for part in [*module.split("."), own])


def _expected(name: str) -> str:
    # What pydantic keeps of a dataclass has no public name.
    pydantic_fields: Mapping[str, Any] = vars(Experiment)["__pydantic_fields__"]
    return str(pydantic_fields[name].description)


def _unknown(name: str, valid: Sequence[str]) -> ParameterError:
    close = difflib.get_close_matches(name, valid, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ParameterError(f"unknown parameter {name!r}.{hint} Valid parameters: {', '.join(valid)}")


def _wrong(name: str, expected: str, got: object) -> ParameterError:
    return ParameterError(
        f"parameter {name!r}: expected {expected}, got {got!r} ({type(got).__name__})"
    )
