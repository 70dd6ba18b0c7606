"""What a kept model says of a new file; plain transformers says the same."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch
from scipy.special import expit, softmax
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.text import read_lines
from dicelab.fit import tables
from dicelab.fit.data import TAGGED
from dicelab.fit.keeping import TOLD
from dicelab.fit.options import FitError
from dicelab.tasks.outputs import outputs_of
from dicelab.tasks.raw_text import Sentence
from dicelab.training.encoders import pad, quiet


class Model:
    """A kept model, ready to decide.

    Args:
        folder: what ``dicebook fit`` left under ``model``.
        device: ``"cpu"``, ``"cuda"``, or ``"auto"``.

    Raises:
        FitError: the folder holds no such model.
    """

    def __init__(self, folder: str | Path, device: str = "auto") -> None:
        folder = Path(folder)
        if (folder / "model" / TOLD).is_file():
            folder = folder / "model"
        if not (folder / TOLD).is_file():
            raise FitError(
                f"{folder}: expected a model that dicebook fit kept (with {TOLD}), found none"
            )
        self.told: dict[str, Any] = json.loads((folder / TOLD).read_text(encoding="utf-8"))
        kind = (
            AutoModelForTokenClassification
            if self.told["task"] == "tagging"
            else AutoModelForSequenceClassification
        )
        cuda = device != "cpu" and torch.cuda.is_available()
        with quiet():
            self.model = kind.from_pretrained(folder).to("cuda" if cuda else "cpu").eval()
            self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.labels = [self.model.config.id2label[i] for i in range(self.model.config.num_labels)]

    def words(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """A tag for each word of each sentence; ``O``, or the first tag, where one was cut off."""
        encoded = self.tokenizer(
            [list(words) for words in sentences], is_split_into_words=True, truncation=True
        )
        # A word's place in its row must be its place in the batch.
        logits = self._logits(encoded, padding_side="right")
        found = []
        for number, words in enumerate(sentences):
            tags: list[str | None] = [None] * len(words)
            for place, word in enumerate(encoded.word_ids(number)):
                if word is not None and tags[word] is None:
                    tags[word] = self.labels[int(logits[number][place].argmax())]
            found.append([tag or self.labels[0] for tag in tags])
        return found

    def texts(
        self, texts: Sequence[str], second: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """The label of each text, or of each pair, and the probability that the model gives it.

        Of several labels those above one half, joined by ``|``, with the surest one's probability.
        """
        both = [list(texts)] if second is None else [list(texts), list(second)]
        logits = self._logits(self.tokenizer(*both, truncation=True))
        found = []
        for row in logits:
            if self.told["task"] == "labels":
                p = expit(row)
                chosen = [n for n, one in zip(self.labels, p, strict=True) if one > 0.5]
                found.append(("|".join(chosen), float(p.max())))
            else:
                p = softmax(row)
                found.append((self.labels[int(p.argmax())], float(p.max())))
        return found

    def _logits(self, encoded: Any, padding_side: str | None = None) -> list[np.ndarray]:
        rows = [
            {name: encoded[name][i] for name in encoded} for i in range(len(encoded["input_ids"]))
        ]
        order = np.argsort([len(row["input_ids"]) for row in rows], kind="stable")
        (found,) = outputs_of(
            self.model,
            [rows[i] for i in order],
            lambda some: pad(self.tokenizer, some, padding_side=padding_side),
            ["logits"],
            32,
        )
        back = np.argsort(order)
        return [found[i] for i in back]


def predict(
    folder: str | Path,
    path: str | Path,
    out: TextIO,
    *,
    text: str | None = None,
    text2: str | None = None,
    delimiter: str | None = None,
    device: str = "auto",
) -> int:
    """Predict a file: a token and its tag a line, or a row with label, probability and text.

    Args:
        folder: of the model, or of the fit.
        path: tokens in the first column and blank lines between sentences, or raw text with a
            sentence a line; a table; for sentences also a text a line.
        out: where the predictions go.
        text: the column of the text; by default the one that the model was trained on.
        text2: of a pair's second text.
        delimiter: between columns.
        device: see :class:`Model`.

    Returns:
        How many rows were predicted.

    Raises:
        FitError: the folder holds no model.
        CorpusError: the file is not what it should be.
    """
    model = Model(folder, device)
    path = Path(path)
    if model.told["task"] == "tagging":
        return _predict_words(model, path, out)
    rows = _texts(model, path, text, text2, delimiter)
    columns = [list(column) for column in zip(*rows, strict=True)]
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    names = ["text"] if len(columns) == 1 else ["text", "text2"]
    writer.writerow(["label", "probability", *names])
    for row, (label, p) in zip(rows, model.texts(*columns), strict=True):
        writer.writerow([label, f"{p:.4f}", *row])
    return len(rows)


def _predict_words(model: Model, path: Path, out: TextIO) -> int:
    lines = read_lines(path)
    tagged = path.suffix.lower() in TAGGED
    blank = [number for number, line in enumerate(lines) if not line.strip()]
    spaces = any(" " in line.strip() and "\t" not in line for line in lines)
    sentences: list[list[str]] = [[]]
    if tagged or (blank and not spaces):
        for line in lines:
            if not line.strip():
                sentences.append([])
            elif not line.startswith("-DOCSTART-"):
                sentences[-1].append(line.split("\t" if "\t" in line else None)[0])
    else:
        sentences = [Sentence.of(line).words for line in lines]
    sentences = [words for words in sentences if words]
    if not sentences:
        raise CorpusError.at(path, 0, "expected sentences, got none")
    for words, tags in zip(sentences, model.words(sentences), strict=True):
        for word, tag in zip(words, tags, strict=True):
            out.write(f"{word}\t{tag}\n")
        out.write("\n")
    return len(sentences)


def _texts(
    model: Model, path: Path, text: str | None, text2: str | None, delimiter: str | None
) -> list[list[str]]:
    columns = model.told["columns"]
    pairs = model.told["task"] == "pairs"
    plain = path.suffix.lower() in (".txt", "") and text is None and delimiter is None
    if plain and not pairs:
        lines = read_lines(path)
        if not any("\t" in line for line in lines[:50]):
            found = [[line] for line in lines if line.strip()]
            if not found:
                raise CorpusError.at(path, 0, "expected a text a line, got none")
            return found
    wanted = [text or columns["text"]]
    if pairs:
        wanted.append(text2 or columns["text2"])
    table = tables.read_table(path, delimiter=delimiter, wanted=wanted)
    names = {name.lower() for name in table.names}
    if text is None and not {one.lower() for one in wanted} <= names:
        # Other names than in training: what the header and the columns say.
        chosen = tables.choose(table, task=model.told["task"], labelled=False).texts
    else:
        given = dict(zip(("text", "text2"), wanted, strict=False))
        chosen = tables.choose(table, labelled=False, **given).texts
    if len(chosen) != len(wanted):
        raise CorpusError(f"{path}: expected {len(wanted)} columns of text, got {len(chosen)}")
    if table.bad:
        raise CorpusError(table.bad[0])
    places = [table.names.index(name) for name in chosen]
    return [
        [
            tables.text_of(table, line, row[place], name)
            for place, name in zip(places, chosen, strict=True)
        ]
        for line, row in table.rows
    ]
