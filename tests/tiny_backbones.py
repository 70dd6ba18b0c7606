"""Folders with tiny random encoders and fast tokenizers of the architectures the tasks support."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import (
    AutoModel,
    BertConfig,
    BertTokenizer,
    DebertaV2Config,
    DebertaV2Tokenizer,
    ModernBertConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaTokenizer,
    XLNetConfig,
    XLNetTokenizer,
)

SIZE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 70,
    "initializer_range": 0.1,
}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
LENGTH = {"model_max_length": 64}


def _bert(texts: Sequence[str]) -> tuple[Any, Any]:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted({c for text in texts for c in text if c != " "})
    pieces = [*special, *letters, *(f"##{c}" for c in letters)]
    words = sorted({word for text in texts for word in text.split()} - set(pieces))
    vocabulary = {piece: i for i, piece in enumerate([*pieces, *words])}
    tokenizer = BertTokenizer(vocab=vocabulary, do_lower_case=False, **LENGTH)
    return tokenizer, BertConfig(vocab_size=len(tokenizer), **SIZE, **NO_DROPOUT)


def _byte_pairs(texts: Sequence[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _roberta(texts: Sequence[str]) -> tuple[Any, Any]:
    trained = json.loads(_byte_pairs(texts).to_str())["model"]
    merges = [tuple(pair) for pair in trained["merges"]]
    tokenizer = RobertaTokenizer(vocab=trained["vocab"], merges=merges, **LENGTH)
    return tokenizer, RobertaConfig(vocab_size=len(tokenizer), **SIZE, **NO_DROPOUT)


def _modernbert(texts: Sequence[str]) -> tuple[Any, Any]:
    trained = _byte_pairs(texts)
    trained.post_processor = TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained,
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_input_names=["input_ids", "attention_mask"],
        **LENGTH,
    )
    special = {"pad_token_id": 1, "cls_token_id": 0, "sep_token_id": 2}
    ends = {"bos_token_id": 0, "eos_token_id": 2}
    return tokenizer, ModernBertConfig(vocab_size=len(tokenizer), **SIZE, **special, **ends)


def _unigrams(texts: Sequence[str], special: list[str], unknown: str) -> list[tuple[str, float]]:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=special, unk_token=unknown, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return [tuple(entry) for entry in json.loads(tokenizer.to_str())["model"]["vocab"]]


def _xlnet(texts: Sequence[str]) -> tuple[Any, Any]:
    special = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
    tokenizer = XLNetTokenizer(vocab=_unigrams(texts, special, "<unk>"), **LENGTH)
    size = {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 64, "initializer_range": 0.1}
    return tokenizer, XLNetConfig(
        vocab_size=len(tokenizer), dropout=0.0, pad_token_id=tokenizer.pad_token_id, **size
    )


def _deberta(texts: Sequence[str]) -> tuple[Any, Any]:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = DebertaV2Tokenizer(vocab=_unigrams(texts, special, "[UNK]"), **LENGTH)
    version3 = {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "type_vocab_size": 0,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "position_buckets": 16,
    }
    return tokenizer, DebertaV2Config(vocab_size=len(tokenizer), **SIZE, **NO_DROPOUT, **version3)


BACKBONES = {
    "bert": _bert,
    "roberta": _roberta,
    "xlnet": _xlnet,
    "deberta-v3": _deberta,
    "modernbert": _modernbert,
}


def save_backbone(name: str, texts: Sequence[str], folder: Path) -> str:
    """A folder with an encoder of this architecture, drawn at random, and its tokenizer."""
    tokenizer, config = BACKBONES[name](texts)
    torch.manual_seed(1)
    AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
