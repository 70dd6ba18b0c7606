"""The encoder "tiny": a BERT that trains in seconds, its vocabulary learned from the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, PreTrainedTokenizerBase, PreTrainedTokenizerFast

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


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


def train_wordpiece(
    texts: Iterable[str], *, max_length: int, vocab_size: int
) -> PreTrainedTokenizerBase:
    """A cased WordPiece tokenizer, its vocabulary learned from texts, the same every time."""
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
