"""A trained model in a folder of its own: saved whole or not at all, with a card, and loaded."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerBase
from transformers.utils import logging

from dicebook.reproduce.runs import versions
from dicebook.training.encoders import from_pretrained
from dicebook.training.experiment import Experiment, ParameterError

CARD = "README.md"
NOT_SHOWN = {"corpus", "encoder", "loss", "loss_options", "output_dir", "tensorboard"}
PIPELINES = {
    "ForTokenClassification": "token-classification",
    "ForSequenceClassification": "text-classification",
    "ForQuestionAnswering": "question-answering",
    "ForQuestionAnsweringSimple": "question-answering",
}


def save(
    model: Any,
    tokenizer: PreTrainedTokenizerBase,
    folder: Path | str,
    *,
    experiment: Experiment,
    metrics: Mapping[str, Mapping[str, float]],
) -> Path:
    """Save a trained model, its tokenizer and a card that says where they come from.

    The folder is what ``save_pretrained`` writes: weights as safetensors, the config with the
    labels, the tokenizer. It appears in one step, once all of it is on the disk.

    Args:
        model: a model of one of the tasks.
        tokenizer: its tokenizer.
        folder: where to; a model that was saved there before is replaced.
        experiment: the parameters the model was trained with; of folders on this machine the card
            shows the last name only.
        metrics: scores by split, such as ``{"test": {"f1": 48.1}}``.

    Returns:
        The folder.

    Raises:
        FileExistsError: if there is something else than a model.
        ParameterError: if the experiment names several losses.
    """
    folder = Path(folder)
    if folder.exists() and not _may_be_replaced(folder):
        raise FileExistsError(f"{folder}: expected a new folder, or one with a model to replace")
    card = model_card(model, experiment, metrics)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
        new, old = Path(scratch) / "new", Path(scratch) / "old"
        new.mkdir()
        bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            model.save_pretrained(new)
        finally:
            if bars:
                logging.enable_progress_bar()
        tokenizer.save_pretrained(new)
        (new / CARD).write_text(card, encoding="utf-8")
        for path in new.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        if folder.exists():
            os.replace(folder, old)
        try:
            os.replace(new, folder)
        except BaseException:
            if old.exists():
                shutil.move(old, folder)
            raise
    return folder


def load(
    auto_class: Any, trained: Any, tokenizer: PreTrainedTokenizerBase | None = None
) -> tuple[Any, PreTrainedTokenizerBase]:
    """A trained model and its tokenizer, for use.

    Args:
        auto_class: the class whose ``from_pretrained`` reads the folder.
        trained: a folder that :func:`save` wrote, a name on the Hugging Face hub, or a model.
        tokenizer: the model's tokenizer; of a folder or a name it is loaded from there.

    Returns:
        The model, unchanged if it came as one, and the tokenizer.

    Raises:
        EncoderError: if there is no model.
        ValueError: if a model comes without its tokenizer.
    """
    if isinstance(trained, (str, Path)):
        if tokenizer is None:
            tokenizer = from_pretrained(AutoTokenizer, str(trained))
        return from_pretrained(auto_class, str(trained)).eval(), tokenizer
    if tokenizer is None:
        raise ValueError("expected the tokenizer beside the model; got the model alone")
    return trained, tokenizer


def model_card(
    model: Any, experiment: Experiment, metrics: Mapping[str, Mapping[str, float]]
) -> str:
    """The card of a trained model, in Markdown with the hub's metadata.

    Args:
        model: the model; its class tells the hub's pipeline.
        experiment: see :func:`save`.
        metrics: see :func:`save`.

    Raises:
        ParameterError: if the experiment names several losses.
    """
    if len(experiment.losses) != 1:
        raise ParameterError(
            f"parameter 'loss': expected the one this model was trained with, got "
            f"{experiment.loss!r}; see Experiment.only"
        )
    name = type(model).__name__
    tags = [tag for ending, tag in PIPELINES.items() if name.endswith(ending)]
    head = ["library_name: transformers", "tags: [dicebook]"]
    head += [f"pipeline_tag: {tag}" for tag in tags]
    options = experiment.options_of(experiment.loss)
    about = {
        "model": f"`{name}`",
        "encoder": f"`{_shown(experiment.encoder)}`",
        "corpus": f"`{_shown(experiment.corpus)}`",
        "loss": f"`{experiment.loss}`",
        "loss options": f"`{options}`" if options else "the defaults",
    }
    rest = {k: v for k, v in vars(experiment).items() if k not in NOT_SHOWN}
    lines = ["---", *head, "---", "", f"# {_shown(experiment.corpus)}, trained with dicebook", ""]
    lines += _table(("", ""), about.items())
    for split, scores in metrics.items():
        lines += ["", f"## Scores: {split}", ""]
        lines += _table(("score", "value"), ((k, f"{v:.2f}") for k, v in scores.items()))
    lines += ["", "## Parameters", "", *_table(("parameter", "value"), rest.items())]
    lines += ["", "## Versions", "", *_table(("package", "version"), versions().items()), ""]
    return "\n".join(lines)


def _table(head: tuple[str, str], rows: Any) -> list[str]:
    return [f"| {a} | {b} |" for a, b in (head, ("---", "---"), *rows)]


def _shown(name: str) -> str:
    return Path(name).name if Path(name).exists() or Path(name).is_absolute() else name


def _may_be_replaced(folder: Path) -> bool:
    return folder.is_dir() and ((folder / "config.json").is_file() or not any(folder.iterdir()))
