"""A trained model in a folder of its own, with a card that says where it comes from."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import ModelCard, ModelCardData
from transformers import PreTrainedTokenizerBase

from dicelab.training.experiment import Experiment, ParameterError

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
    """Save a trained model, its tokenizer and its card.

    The folder is what ``save_pretrained`` writes: weights as safetensors, the config with the
    labels, the tokenizer. It appears in one step, once all of it is written.

    Args:
        model: a model of one of the tasks.
        tokenizer: its tokenizer.
        folder: where to; it must be new or empty.
        experiment: the parameters the model was trained with.
        metrics: scores by split, such as ``{"test": {"f1": 48.1}}``.

    Returns:
        The folder.

    Raises:
        FileExistsError: if the folder holds something.
        ParameterError: if the experiment names several losses.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder}: expected a new or an empty folder")
    card = model_card(model, experiment, metrics)
    with replaced(folder) as whole:
        model.save_pretrained(whole)
        tokenizer.save_pretrained(whole)
        card.save(whole / "README.md")
    return folder


@contextlib.contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """A folder to write into, which takes the place of ``folder`` when the block ends well."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
        whole = Path(scratch) / "model"
        whole.mkdir()
        yield whole
        # safetensors writes for the owner alone; who serves the model may be another of the group.
        readable = whole.stat().st_mode & 0o666
        for file in whole.rglob("*"):
            if file.is_file():
                file.chmod(readable)
        if folder.exists():
            folder.rename(Path(scratch) / "old")
        whole.rename(folder)


def card_of(text: str, pipeline: str | None, library: str = "transformers") -> ModelCard:
    """A model's card: the hub's metadata and a text in Markdown.

    Args:
        text: the body of the card.
        pipeline: the hub's name of the task.
        library: what reads the model.
    """
    data = ModelCardData(library_name=library, tags=["dicebook"], pipeline_tag=pipeline)
    return ModelCard(f"---\n{data.to_yaml()}\n---\n\n{text}")


def model_card(
    model: Any, experiment: Experiment, metrics: Mapping[str, Mapping[str, float]]
) -> ModelCard:
    """The card of a trained model, with the hub's metadata.

    Args:
        model: the model; its class tells the hub's pipeline.
        experiment: see :func:`save`; of folders on this machine the card shows the last name only.
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
    pipeline = next((tag for end, tag in PIPELINES.items() if name.endswith(end)), None)
    parameters = asdict(experiment.only(experiment.loss))
    del parameters["output_dir"]
    for key in ("corpus", "encoder"):
        path = Path(parameters[key])
        parameters[key] = path.name if path.exists() or path.is_absolute() else parameters[key]
    parameters |= {"torch": torch.__version__, "transformers": transformers.__version__}
    rows = [f"| {key} | `{value}` |" for key, value in parameters.items()]
    for split, scores in metrics.items():
        rows += [f"| {split} {key} | {value:.2f} |" for key, value in scores.items()]
    table = "\n".join(["| name | value |", "| --- | --- |", *rows, ""])
    return card_of(f"# {parameters['corpus']}, trained with dicebook\n\n{table}", pipeline)
