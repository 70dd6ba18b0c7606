"""A thin layer over transformers.Trainer: one loss, one seed, resumable, measured."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import io
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import psutil
import torch
from datasets import Dataset, DatasetDict, Value
from safetensors import safe_open
from safetensors.torch import load_model as load_weights
from safetensors.torch import save_model as save_weights
from transformers import (
    EarlyStoppingCallback,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)
from transformers.trainer import DEFAULT_PROGRESS_CALLBACK
from transformers.trainer_pt_utils import LengthGroupedSampler

from dicebook.decision import start_at_prior
from dicebook.diagnosis.watchdog import Watchdog
from dicebook.losses import TrainerLoss, log_ratio_weights, make_loss
from dicelab.atomic import atomic, foreign, write_json
from dicelab.own_loss import own_loss
from dicelab.training.callbacks import (
    WARM,
    Aim,
    Clock,
    Lines,
    MarkComplete,
    SaveByTime,
    StopAfter,
    StopWhenAsked,
)
from dicelab.training.checkpoints import alone_in, first_process, last_whole, room_in
from dicelab.training.devices import device_of as device_of
from dicelab.training.devices import precision_of as precision_of
from dicelab.training.encoders import quiet
from dicelab.training.experiment import Experiment, ParameterError

PARAMETERS = "parameters.json"
FIRST = 3  # steps whose losses a chapter prints, so that another machine can compare
WRITTEN = ("record.json", "report.html")  # what a chapter leaves beside its runs
# A record depends on none: a run may go on in another folder's copy or on another device.
NOT_COMPARED = {"output_dir", "device", "threads", "gradient_checkpointing"}

Scores = dict[str, float]
Counts = torch.Tensor | Sequence[int] | Sequence[Sequence[int]]


class NotFinite(RuntimeError):
    """The training loss became NaN or infinite."""


class RowLoss(abc.ABC):
    """A loss whose items are the rows of a batch, not the labels other than -100.

    Called with ``num_items_in_batch``, the number of rows in the whole optimiser step, it must give
    each micro-batch's part, so that the parts of a step add up to the loss of all its rows.
    """

    @abc.abstractmethod
    def __call__(
        self, outputs: Any, labels: torch.Tensor, num_items_in_batch: torch.Tensor | None = None
    ) -> torch.Tensor:
        """What a micro-batch adds to the loss of the step; None: the loss of the batch alone."""

    def reset(self) -> None:  # noqa: B027 - most keep nothing
        """Forget the micro-batches of a step that was never finished."""


@dataclass(frozen=True)
class Trained:
    """A trained model and what was seen on the way.

    Attributes:
        model: the model of the epoch with the best validation score.
        history: one entry an epoch: ``epoch``, ``step``, ``loss`` (mean training loss since the
            last entry) and ``validation_...``, the loss and the scores there.
        logits: for ``"validation"`` and ``"test"``, in the order of the split's rows.
        measured: ``device``, ``seconds`` of training (over all resumed parts),
            ``seconds_per_step`` and ``tokens_per_second`` (non-padding sub-words), both without the
            first ten steps if twenty were made, and ``peak_memory_bytes`` (of the GPU if one is
            used, else of the process).
        first_losses: the losses of the first three steps, by which another machine sees whether it
            repeats a run; empty if the run went on from a checkpoint.
    """

    model: Any
    history: list[dict[str, float]]
    logits: dict[str, Any]
    measured: dict[str, Any]
    first_losses: list[float] = dataclasses.field(default_factory=list)


def train(
    experiment: Experiment,
    *,
    build_model: Callable[[], Any],
    splits: DatasetDict,
    collator: Any,
    tokenizer: PreTrainedTokenizerBase,
    compute_loss: Callable[..., torch.Tensor],
    evaluate: Callable[[Any, Dataset], Scores],
    counts: Counts | None = None,
    best: str = "f1",
    arguments: Mapping[str, Any] | None = None,
    stop: Callable[[], bool] | None = None,
    last: int | None = None,
    aim: Aim | None = None,
) -> Trained:
    """Train a model with a loss; keep the epoch that is best on the validation split.

    A :class:`dicebook.diagnosis.watchdog.Watchdog` says after an epoch if the model stays at one
    class. Batches are grouped by length. On a GPU with bf16, training runs in bf16 autocast. With
    ``experiment.output_dir`` set, each epoch leaves a checkpoint, a long one every twenty minutes,
    and the same call goes on from the last complete one.

    Args:
        experiment: the parameters; it must name a single loss.
        build_model: makes the model, called once, right after seeding.
        splits: encoded ``train``, ``validation`` and ``test``, of a corpus that
            :func:`dicelab.training.sampling.sample` has cut to the experiment's sizes.
        collator: pads a list of rows to a batch with ``labels``.
        tokenizer: saved beside the model in every checkpoint.
        compute_loss: from the model's outputs, the batch's ``labels`` and ``num_items_in_batch``
            to a scalar; :class:`dicebook.losses.trainer.TrainerLoss` makes one from a loss.
            Gradients accumulate exactly for these and for a :class:`RowLoss`.
        evaluate: from the logits of a split and the split to scores.
        counts: training examples of each class, ``[C]``; or negatives and positives of each logit,
            ``[L, 2]``. The bias of the output layer starts at their log prior if
            ``experiment.start`` is ``"prior"``; see :func:`dicebook.decision.start_at_prior`.
        best: the score that chooses the epoch.
        arguments: arguments of ``transformers.TrainingArguments`` that replace the usual ones, such
            as ``weight_decay`` and ``lr_scheduler_type``.
        stop: asked after each epoch; True ends the training there.
        last: the epoch to end after and to keep, instead of the best one; the validation split is
            not scored before. The learning rate falls as in a run of all epochs.
        aim: decides after each epoch how many there are to be, at most the experiment's.

    Returns:
        The model of the best epoch, with its logits on the validation and test splits. The test
        split is predicted once, at the end.

    Raises:
        ParameterError: if ``output_dir`` holds a run with other parameters, or if gradients are
            to be accumulated for another loss, or if the splits are larger than the experiment's
            sizes, or if training is to start at the prior and ``counts`` or the model's bias is
            missing.
        NotFinite: if the training loss is NaN or infinite.
    """
    exact = isinstance(compute_loss, TrainerLoss)
    if experiment.gradient_accumulation > 1 and not isinstance(compute_loss, TrainerLoss | RowLoss):
        raise ParameterError(
            "parameter 'gradient_accumulation': expected 1, got "
            f"{experiment.gradient_accumulation}; the loss is neither a TrainerLoss nor a RowLoss, "
            "so the parts of a step may not add up to it"
        )
    if experiment.start == "prior" and counts is None:
        raise ParameterError("parameter 'start': 'prior' needs the counts of the classes, got none")
    _check_sizes(experiment, splits)
    if isinstance(compute_loss, RowLoss):
        compute_loss.reset()
    unscored = {} if last is None else {"eval_strategy": "no", "load_best_model_at_end": False}
    device = device_of(experiment)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    with quiet(), threads_of_torch(experiment.threads), _run_folder(experiment) as folder:
        set_seed(experiment.seed)
        model = build_model()
        if experiment.start == "prior" and counts is not None:
            _start_at_prior(model, counts)
        if experiment.gradient_checkpointing:
            old = model.gradient_checkpointing_enable  # the name in earlier versions
            getattr(model, "activation_checkpointing_enable", old)()
        watchdog = Watchdog(compute_loss)
        trainer = _Trainer(
            watchdog,
            model=model,
            args=_arguments(experiment, folder, best, exact, {**unscored, **(arguments or {})}),
            train_dataset=_with_length(splits["train"]),
            eval_dataset=splits["validation"],
            data_collator=collator,
            processing_class=tokenizer,
            compute_loss_func=compute_loss,
            compute_metrics=lambda output: evaluate(output.predictions, splits["validation"]),
            callbacks=[
                *_callbacks(experiment, compute_loss, best),
                watchdog.callback(lambda text: print(f"  watchdog: {text}")),
                *([] if stop is None else [StopWhenAsked(stop)]),
                *([] if last is None else [StopAfter(last)]),
                *([] if aim is None else [aim]),
            ],
        )
        for callback in (DEFAULT_PROGRESS_CALLBACK, PrinterCallback):
            trainer.remove_callback(callback)
        trainer.train(resume_from_checkpoint=last_whole(folder))
        trainer.compute_metrics = None  # it scores the validation split, whatever is predicted
        logits = {
            name: trainer.predict(splits[name]).predictions for name in ("validation", "test")
        }
        return Trained(
            model=trainer.model,
            history=_history(
                trainer.state.log_history, by_step=trainer.args.logging_strategy == "steps"
            ),
            logits=logits,
            measured=_measured(trainer),
            first_losses=[float(loss) for loss in trainer.first],
        )


def build_loss(
    experiment: Experiment, name: str, counts: Sequence[int], *, binary: bool = False
) -> Any:
    """One of an experiment's losses, with its options.

    Weighted cross entropy without a ``weight`` among its options gets the paper's weights,
    ``lg((n - n_t) / n_t + 1)``, from the counts (Equation 2).

    Args:
        experiment: the parameters.
        name: one of ``experiment.losses``.
        counts: training examples of each class; negatives and positives of a binary loss.
        binary: take the binary form, for decisions of yes or no; a loss of the reader's own is
            taken as it is.

    Raises:
        ValueError: if the loss has no such option, naming those it has; if there is no such module.
    """
    options = experiment.options_of(name)
    if ":" in name:
        return own_loss(name, options)
    if name == "wce" and "weight" not in options:
        options["weight"] = log_ratio_weights(torch.as_tensor(counts))
    return make_loss(f"binary_{name}" if binary else name, **options)


def _start_at_prior(model: torch.nn.Module, counts: Counts) -> None:
    try:
        start_at_prior(model, counts)
    except ValueError as error:
        raise ParameterError(
            f"parameter 'start': 'prior' cannot be had here: {error}. Or choose 'zero'."
        ) from None


def _callbacks(
    experiment: Experiment, compute_loss: Callable[..., torch.Tensor], best: str
) -> list[TrainerCallback]:
    callbacks = [
        Clock(),
        SaveByTime(),
        _StopOnNaN(),
        MarkComplete(bool(experiment.output_dir)),
        Lines(best),
    ]
    if experiment.early_stopping:
        callbacks.append(EarlyStoppingCallback(experiment.early_stopping))
    loss = getattr(compute_loss, "loss", None)
    if isinstance(loss, torch.nn.Module):
        # A warm start wants to know the step, and what another run left is dropped.
        exact = compute_loss if isinstance(compute_loss, TrainerLoss) else TrainerLoss(loss)
        callbacks.append(exact.callback())
    return callbacks


def _arguments(
    experiment: Experiment, folder: Path, best: str, exact: bool, overrides: Mapping[str, Any]
) -> TrainingArguments:
    device = device_of(experiment)
    precision = precision_of(experiment.precision, device)
    usual: dict[str, Any] = {
        "output_dir": str(folder),
        "num_train_epochs": experiment.epochs,
        "max_steps": experiment.max_steps,
        "per_device_train_batch_size": experiment.batch_size,
        "gradient_accumulation_steps": experiment.gradient_accumulation,
        "torch_compile": experiment.compile,
        # TrainerLoss divides by the labels of all processes; other losses are means of each.
        "average_tokens_across_devices": exact,
        "per_device_eval_batch_size": 4 * experiment.batch_size,
        "learning_rate": experiment.learning_rate,
        "weight_decay": 0.01,
        "warmup_steps": WARM,
        "seed": experiment.seed,
        "bf16": precision == "bf16",
        "fp16": precision == "fp16",
        "use_cpu": device.type == "cpu",
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "logging_strategy": "epoch",
        "logging_nan_inf_filter": False,
        "save_total_limit": 2,
        "save_only_model": not experiment.output_dir,  # from a temporary folder nobody goes on
        "load_best_model_at_end": True,
        "metric_for_best_model": best,
        "greater_is_better": True,
        "restore_callback_states_from_checkpoint": True,
        "include_num_input_tokens_seen": "non_padding",
        "report_to": "tensorboard" if experiment.tensorboard else "none",
        "disable_tqdm": True,
        # The collators choose the columns, and the losses are computed outside of the models.
        "remove_unused_columns": False,
        "label_names": ["labels"],
    }
    return _OneCard(**{**usual, **overrides})


class _OneCard(TrainingArguments):
    """Of several visible cards a process takes the first: torchrun starts one process a card.

    The Trainer's own way, DataParallel, splits each batch, and a loss of the whole batch with it.
    """

    @property
    def n_gpu(self) -> int:
        """At most one."""
        return min(1, super().n_gpu)


def _check_sizes(experiment: Experiment, splits: DatasetDict) -> None:
    for name, split in splits.items():
        parameter = "train_size" if name == "train" else "eval_size"
        size = getattr(experiment, parameter)
        # In these tasks several rows make up an example; the column numbers the examples.
        parts = [c for c in ("question", "sentence") if split.features.get(c) == Value("int64")]
        examples = len(set(split[parts[0]])) if parts else len(split)
        if 0 < size < examples:
            raise ParameterError(
                f"parameter {parameter!r}: expected at most {size} examples in split {name!r}, got "
                f"{examples}; encode sample(corpus, experiment), of dicelab.training.sampling"
            )


@contextlib.contextmanager
def threads_of_torch(threads: int) -> Iterator[None]:
    """So many threads of torch on the CPU within the block; 0 leaves them as they are."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _with_length(split: Dataset) -> Dataset:
    # The trainer groups batches by this column; without it, it would read every row twice.
    return split.add_column("length", [len(ids) for ids in split["input_ids"]])


def kept(
    experiment: Experiment, model: torch.nn.Module, fit: Callable[[], list[float]]
) -> dict[str, Any]:
    """Train a model by a loop of the reader's own, or take what the same command left.

    Args:
        experiment: the parameters; it must name a single loss. With ``output_dir`` set, the weights
            are written into its folder of this loss once ``fit`` has ended.
        model: the model, at its start; it holds the trained weights afterwards.
        fit: trains the model, prints how far it is, and returns the loss of each step.

    Returns:
        The ``losses`` that ``fit`` returned, its ``seconds``, and the ``printed`` text, which is
        printed again where an earlier command trained.

    Raises:
        ParameterError: if ``output_dir`` holds a run with other parameters, or files of another
            owner.
    """
    with _run_folder(experiment) as folder:
        weights = folder / "trained.safetensors"
        if weights.exists():
            with safe_open(weights, framework="pt") as file:
                history: dict[str, Any] = json.loads(file.metadata()["history"])
            load_weights(model, weights)
            print(history["printed"], end="")
            return history
        began, shown = time.perf_counter(), _Shown(sys.stdout)
        with contextlib.redirect_stdout(shown):
            losses = fit()
        history = {"losses": losses, "seconds": time.perf_counter() - began}
        history["printed"] = shown.getvalue()
        with atomic(weights) as temporary:
            save_weights(model, str(temporary), metadata={"history": json.dumps(history)})
        return history


class _Shown(io.StringIO):
    """What is printed, kept while it is shown."""

    def __init__(self, screen: Any) -> None:
        super().__init__()
        self.screen = screen

    def write(self, text: str) -> int:
        self.screen.write(text)
        self.screen.flush()
        return super().write(text)


@contextlib.contextmanager
def _run_folder(experiment: Experiment) -> Iterator[Path]:
    """The folder of a run: the reader's own, checked to be of this run, or a temporary one."""
    if not experiment.output_dir:
        with tempfile.TemporaryDirectory(prefix="dicebook-") as temporary:
            yield Path(temporary)
        return
    root = Path(experiment.output_dir)
    folder = root / experiment.loss
    if first_process():
        name = foreign(folder, PARAMETERS)
        if not any(root.glob(f"*/{PARAMETERS}")):
            name = name or next((n for n in WRITTEN if (root / n).exists()), None)
        if name:
            raise ParameterError(
                f"parameter 'output_dir': expected nothing in the way of this run, or an earlier "
                f"run, found {name!r} in {root}; choose another folder"
            )
    with alone_in(folder):
        _check_parameters(experiment, folder)
        yield folder


def _check_parameters(experiment: Experiment, folder: Path) -> None:
    """Check that a folder is new or of this run, and write the parameters into it."""
    now = dataclasses.asdict(experiment)
    if (folder / PARAMETERS).exists():
        try:
            before = json.loads((folder / PARAMETERS).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ParameterError(
                f"parameter 'output_dir': {folder / PARAMETERS} is damaged ({error}), so that "
                "nobody can say which run is there. Choose another folder, or delete this one."
            ) from None
        changed = [
            f"{name}: {before.get(name)!r} then, {value!r} now"
            for name, value in now.items()
            if name not in NOT_COMPARED and before.get(name) != value
        ]
        if changed:
            raise ParameterError(
                f"parameter 'output_dir': {folder} holds a run with other parameters "
                f"({'; '.join(changed)}). Choose another folder, or delete this one."
            )
    write_json(folder / PARAMETERS, now)


class _Trainer(Trainer):
    """Groups the batches of a whole step by length, however the step is divided.

    The Trainer's own grouping knows the batch of one process only, so that two processes would
    see other steps than one process with twice the batch. Of a :class:`RowLoss` the items are
    counted in rows.
    """

    def __init__(self, watchdog: Watchdog, **options: Any) -> None:
        super().__init__(**options)
        self.watchdog = watchdog
        self.watched: bool | None = None
        self.first: list[torch.Tensor] = []

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """The Trainer's own; a training batch is shown to the watchdog."""
        labels = inputs["labels"]
        loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        if model.training and self.state.global_step == len(self.first) < FIRST:
            self.first.append(loss.detach())
        if model.training and labels is not None:
            if self.watched is None:  # once, for looking at labels waits for a GPU
                # Reading may mark more than the logits' classes; labels of a RowLoss are places.
                classes = bool((labels >= self.watchdog.ignore_index).all())
                self.watched = classes and not isinstance(self.compute_loss_func, RowLoss)
            if self.watched:
                self.watchdog.observe(_logits(outputs), labels, loss)
        return (loss, outputs) if return_outputs else loss

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        weights = sum(p.numel() * p.element_size() for p in model.parameters())
        with room_in(
            Path(str(self.args.output_dir)), 3 * weights
        ):  # AdamW keeps two numbers of each
            super()._save_checkpoint(model, trial)

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> Any:
        if isinstance(self.compute_loss_func, RowLoss):
            return torch.tensor(sum(len(b["labels"]) for b in batch_samples), device=device)
        return super()._get_num_items_in_batch(batch_samples, device)

    def _get_train_sampler(self, train_dataset: Any = None) -> LengthGroupedSampler:
        args = self.args
        step = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        split: Any = self.train_dataset
        return _Sampler(self, step, lengths=split["length"][:])


class _Sampler(LengthGroupedSampler):
    """Its order can be drawn again, for a run that goes on in the middle of a pass."""

    def __init__(self, trainer: Trainer, step: int, lengths: list[int]) -> None:
        super().__init__(step, lengths=lengths)
        self.trainer = trainer

    def __iter__(self) -> Iterator[int]:
        # Resuming replaces the callback by the one in the checkpoint.
        callbacks = self.trainer.callback_handler.callbacks
        next(c for c in callbacks if isinstance(c, SaveByTime)).draw()
        return cast(Iterator[int], super().__iter__())


def _logits(outputs: Any) -> torch.Tensor:
    if "logits" in outputs:
        return cast(torch.Tensor, outputs["logits"])
    return torch.stack([outputs["start_logits"], outputs["end_logits"]], dim=-1)


class _StopOnNaN(TrainerCallback):
    """Ends a run whose loss is no number, instead of training on to a useless model."""

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any
    ) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            raise NotFinite(f"the training loss is {loss} at step {state.global_step}")


def _history(logs: list[dict[str, float]], *, by_step: bool) -> list[dict[str, float]]:
    """An entry an epoch; a loss that was logged within one, at a checkpoint, goes into its mean."""
    history: dict[int, dict[str, float]] = {}
    before, total, first = 0, 0.0, 0  # the step of the last loss, the sum since the step `first`
    for log in logs:
        step = int(log["step"])
        entry = history.setdefault(step, {"step": log["step"], "epoch": log["epoch"]})
        if "loss" in log:
            total += log["loss"] * (step - before)
            entry["loss"] = log["loss"] if before == first else total / (step - first)
            before = step
        evaluated = {
            name.replace("eval_", "validation_"): value
            for name, value in log.items()
            if name.startswith("eval_") and not name.endswith(("_runtime", "_per_second"))
        }
        if evaluated or by_step:
            entry |= evaluated
            first, total = step, 0.0
    return [
        entry
        for entry in history.values()
        if "loss" in entry and (by_step or "validation_loss" in entry)
    ]


def peak_memory() -> int:
    """The most memory that this process has held, in bytes; on macOS what it holds now."""
    held = psutil.Process().memory_info()
    if hasattr(held, "peak_wset"):  # Windows
        return int(held.peak_wset)
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
        return int(peak) * 1024
    return int(held.rss)


def _measured(trainer: Trainer) -> dict[str, Any]:
    # Resuming replaces the callback by the one in the checkpoint.
    clock = next(c for c in trainer.callback_handler.callbacks if isinstance(c, Clock))
    device = trainer.args.device
    if device.type == "cuda":
        name, memory = torch.cuda.get_device_name(device), torch.cuda.max_memory_allocated(device)
    else:
        name = f"cpu, {torch.get_num_threads()} threads"
        memory = peak_memory()
    step, tokens = clock.steady(trainer.state)
    return {
        "device": name,
        "seconds": round(clock.seconds, 2),
        "seconds_per_step": round(step, 5),
        "tokens_per_second": round(tokens, 1),
        "peak_memory_bytes": int(memory),
    }
