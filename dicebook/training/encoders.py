"""Tokenizers and encoders by name: "tiny", a local folder, or a model of the Hugging Face hub."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import (
    AutoConfig,
    AutoTokenizer,
    BertConfig,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging

TINY = "tiny"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# These mark a word's start by the space before it; words given one by one have none.
BYTE_LEVEL = {"roberta", "longformer", "bart", "modernbert", "gpt2", "deberta"}
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


class EncoderError(ValueError):
    """An encoder's name leads to no usable model."""


def load_tokenizer(
    encoder: str, texts: Iterable[str], *, max_length: int = 512, vocab_size: int = 2000
) -> PreTrainedTokenizerBase:
    """The tokenizer of an encoder.

    Args:
        encoder: see :class:`dicebook.training.experiment.Experiment`.
        texts: training texts, read only for ``"tiny"``, whose vocabulary is trained on them.
        max_length: longest sequence, in sub-words.
        vocab_size: size of the tiny vocabulary.

    Returns:
        A fast tokenizer; word alignment needs one.

    Raises:
        EncoderError: if the folder or the hub has no usable fast tokenizer.
    """
    if encoder == TINY:
        return _train_wordpiece(texts, max_length=max_length, vocab_size=vocab_size)
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
        encoder: see :class:`dicebook.training.experiment.Experiment`.
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
    inputs = [{name: row[name] for name in INPUTS if name in row} for row in rows]
    return dict(tokenizer.pad(inputs, padding_side=padding_side, return_tensors="pt"))


def tiny_config(tokenizer: PreTrainedTokenizerBase, **config: Any) -> BertConfig:
    """A two-layer BERT of width 128: 0.7 million parameters, trains in seconds on a CPU."""
    return BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=max(64, tokenizer.model_max_length),
        pad_token_id=tokenizer.pad_token_id,
        **config,
    )


def _train_wordpiece(
    texts: Iterable[str], *, max_length: int, vocab_size: int
) -> PreTrainedTokenizerBase:
    normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    splitter = pre_tokenizers.BertPreTokenizer()
    words: Counter[str] = Counter()
    for text in texts:
        normal = normalizer.normalize_str(text)
        words.update(word for word, _ in splitter.pre_tokenize_str(normal))
    vocabulary = _wordpiece_vocabulary(words, vocab_size)
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=max_length,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def _wordpiece_vocabulary(words: Counter[str], vocab_size: int) -> dict[str, int]:
    # The trainer numbers pieces such as "##e" in the order of a hash table, so that two runs
    # differ. Given all single characters beforehand, as special tokens, it is deterministic.
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for position, character in enumerate(word):
            characters["##" * (position > 0) + character] += count
    frequent = sorted(characters, key=lambda piece: (-characters[piece], piece))
    known = [*SPECIAL_TOKENS, *frequent[: vocab_size - len(SPECIAL_TOKENS)]]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size, min_frequency=2, special_tokens=known, show_progress=False
    )
    scratch = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    scratch.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    scratch.train_from_iterator(
        (word for word, count in sorted(words.items()) for _ in range(count)), trainer
    )
    return scratch.get_vocab()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    # A new head on a pretrained encoder is what every task here wants; no report of it is needed.
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def from_pretrained(auto_class: Any, encoder: str, **options: Any) -> Any:
    """What a class's ``from_pretrained`` gives, or one clear error.

    Args:
        auto_class: a class with ``from_pretrained``.
        encoder: a local folder or a name on the Hugging Face hub.
        **options: passed on.

    Raises:
        EncoderError: if the folder or the hub has nothing usable.
    """
    folder = Path(encoder)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise EncoderError(f"encoder {encoder!r}: the folder holds no model (no config.json)")
    try:
        with _quiet():
            return auto_class.from_pretrained(encoder, **options)
    except (OSError, ValueError, KeyError) as error:
        where = "the folder" if folder.is_dir() else "the Hugging Face hub (is it reachable?)"
        raise EncoderError(
            f"encoder {encoder!r}: {where} gave no usable {auto_class.__name__}; expected 'tiny', "
            f"a local folder with a model, or a model's name on the hub. The cause: {error}"
        ) from error
