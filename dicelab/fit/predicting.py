"""What a kept model says of a new file.

Plain transformers says the same of a fine-tuned one, but decodes no valid tags of entities.
"""

from __future__ import annotations

import csv
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from safetensors import SafetensorError
from scipy.special import expit, softmax
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

from dicelab.corpora.cells import Asked
from dicelab.corpora.files import read_texts, read_words
from dicelab.fit.keeping import FINE_TUNED, INFO, LINEAR
from dicelab.fit.linear import Linear
from dicelab.fit.options import FitError
from dicelab.tasks.outputs import outputs_of
from dicelab.tasks.raw_text import Sentence
from dicelab.tasks.valid_tags import valid_tags
from dicelab.tasks.windows import owned, windows, word_lengths
from dicelab.training.devices import device_of
from dicelab.training.encoders import from_pretrained, pad


class Model:
    """A kept model, ready to decide.

    Args:
        folder: what ``dicebook fit`` left under ``model``.
        device: ``"cpu"``, ``"cuda"``, or ``"auto"``.

    Raises:
        FitError: the folder holds no such model, or a damaged one.
    """

    def __init__(self, folder: str | Path, device: str = "auto") -> None:
        folder = Path(folder)
        if (folder / "model" / INFO).is_file():
            folder = folder / "model"
        if not (folder / INFO).is_file():
            raise FitError(
                f"{folder}: expected a model that dicebook fit kept (with {INFO}), found none"
            )
        try:
            self._load(folder, str(device_of(device)))
        except (OSError, KeyError, ValueError, SafetensorError) as error:
            raise FitError(
                f"{folder}: expected a whole model that dicebook fit kept, got a damaged one; fit "
                f"again, or copy the folder anew. The cause: {error}"
            ) from error

    def _load(self, folder: Path, place: str) -> None:
        self.info: dict[str, Any] = json.loads((folder / INFO).read_text(encoding="utf-8"))
        kind = (
            AutoModelForTokenClassification
            if self.info["task"] == "tagging"
            else AutoModelForSequenceClassification
        )
        self.linear: Linear | None = None
        self.model: Any = None
        if self.info.get("kind") == "linear":
            self.linear = Linear.load(folder, self.info["features"], place)
            self.labels: list[str] = self.info["labels"]
            return
        if self.info.get("kind") == "mean":
            self.linear = Linear.load(folder / LINEAR, self.info["features"], place)
            folder = folder / FINE_TUNED
        self.model = from_pretrained(kind, str(folder)).to(place).eval()
        self.tokenizer = from_pretrained(AutoTokenizer, str(folder))
        names = self.model.config.id2label
        self.labels = [names[i] for i in range(self.model.config.num_labels)]

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of :meth:`predict_proba`."""
        return np.array(self.labels, dtype=object)

    def predict(self, rows: Sequence[Any]) -> np.ndarray:
        """The decision of each row, as scikit-learn's classifiers give it.

        Args:
            rows: texts; of pairs, tuples of two texts; of tagging, lists of words.

        Returns:
            One label a row; of several labels a row, yes and no for each, shape ``[rows, labels]``;
            of tagging a list of tags a row. Dtype object, or bool.
        """
        if self.info["task"] == "tagging":
            decisions = np.empty(len(rows), dtype=object)
            for number, tags in enumerate(self.words(rows)):
                decisions[number] = tags
            return decisions
        logits = self.logits(*_columns_of(rows, self.info["task"]))
        return logits > 0 if self.info["task"] == "labels" else self.classes_[logits.argmax(-1)]

    def predict_proba(self, rows: Sequence[Any]) -> np.ndarray:
        """The calibrated probability of each label, without the threshold.

        Args:
            rows: texts, or tuples of two texts.

        Returns:
            Shape ``[rows, labels]``, in the order of :attr:`classes_`.

        Raises:
            TypeError: the model tags words; :meth:`tagged` gives each word's probability.
        """
        if self.info["task"] == "tagging":
            raise TypeError("predict_proba: expected a model of texts, got a tagger; use tagged")
        return self._probabilities(self.logits(*_columns_of(rows, self.info["task"])))

    def logits(self, texts: Sequence[str], second: Sequence[str] | None = None) -> np.ndarray:
        """The logits of texts or pairs, with the threshold in them. Shape ``[rows, labels]``."""
        columns = [list(texts)] if second is None else [list(texts), list(second)]
        if self.linear is None:
            return self._text_logits(columns)
        self.cut = self.linear.cut(columns)
        return self._with_linear(self.linear, columns, self._text_logits)

    def _text_logits(self, columns: Sequence[Sequence[str]]) -> np.ndarray:
        encoded = self.tokenizer(*columns, truncation=True)
        self.cut = sum(bool(encoding.overflowing) for encoding in encoded.encodings)
        return np.array(self._logits(encoded))

    def _with_linear(
        self, linear: Linear, rows: Any, fine_tuned: Callable[[Any], np.ndarray]
    ) -> np.ndarray:
        """The logits of a linear model, or the mean of both where there is a fine-tuned one."""
        logits = linear.logits(rows)
        if self.model is None:
            return logits
        mean = (fine_tuned(rows) + logits) / 2
        return np.asarray(mean + np.asarray(self.info["offset"]), dtype=np.float32)

    def words(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """A tag for each word of each sentence."""
        return [[tag for tag, _ in row] for row in self.tagged(sentences)]

    def tagged(self, sentences: Sequence[Sequence[str]]) -> list[list[tuple[str, float]]]:
        """A tag and its probability for each word; long sentences are read in windows.

        Entities are the most likely valid tags: an ``I-`` continues an entity of its type.
        """
        if not any(sentences):
            return [[] for _ in sentences]
        if self.linear is None:
            logits = self._word_logits(sentences)
        else:
            logits = self._with_linear(self.linear, sentences, self._word_logits)
        lengths = np.array([len(words) for words in sentences])
        valid = self.info.get("valid", False)
        best = valid_tags(logits, lengths, self.labels) if valid else logits.argmax(-1)
        p = np.take_along_axis(self._probabilities(logits), best[:, None], -1)[:, 0]
        pairs = iter(zip([self.labels[i] for i in best], p.tolist(), strict=True))
        return [[next(pairs) for _ in words] for words in sentences]

    def _word_logits(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Logits ``[words, labels]``; those of a word that is cut off are sure of label 0."""
        limit = self.info["max_length"]
        room = limit - self.tokenizer.num_special_tokens_to_add()
        pieces = []  # the sentence, the words that are read, those that are answered for
        lengths = self.tokenizer(
            [list(words) for words in sentences], is_split_into_words=True, verbose=False
        )["input_ids"]
        for number, words in enumerate(sentences):
            read = [(0, len(words))]
            if len(lengths[number]) > limit:
                read = windows(word_lengths(self.tokenizer, words), room)
            pieces += [(number, *ranges) for ranges in zip(read, owned(read), strict=True)]
        encoded = self.tokenizer(
            [list(sentences[n][start:stop]) for n, (start, stop), _ in pieces],
            is_split_into_words=True,
            truncation=True,
        )
        # A word's place in its row must be its place in the batch.
        logits = self._logits(encoded, padding_side="right")
        starts = np.cumsum([0, *map(len, sentences)])
        of_words = np.full((starts[-1], len(self.labels)), -1e4, dtype=np.float32)
        of_words[:, 0] = 1e4
        for piece, (number, (start, _), (first, last)) in enumerate(pieces):
            words = encoded.word_ids(piece)
            for place, (before, word) in enumerate(zip([None, *words], words, strict=False)):
                begins = word is not None and word != before
                if begins and first <= start + word < last:
                    of_words[starts[number] + start + word] = logits[piece][place]
        return of_words

    def texts(
        self, texts: Sequence[str], second: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """The label of each text, or of each pair, and its calibrated probability.

        Of several labels those above their thresholds, joined by ``|``, with the probability of
        the least sure of them; of none, that of the surest of those that were not said. A text
        without a word has no label.
        """
        columns = [list(texts)] if second is None else [list(texts), list(second)]
        logits = self.logits(*columns)
        answers = []
        for row, parts in zip(logits, zip(*columns, strict=True), strict=True):
            p = self._probabilities(row)
            if not all(part.strip() for part in parts):
                answers.append(("", float("nan")))
            elif self.info["task"] == "labels":
                positive = row > 0
                chosen = [name for name, said in zip(self.labels, positive, strict=True) if said]
                answers.append(("|".join(chosen), float(p[positive].min() if chosen else p.max())))
            else:
                best = int(row.argmax())
                answers.append((self.labels[best], float(p[best])))
        return answers

    cut = 0  # texts of the last call that were longer than those of training

    def _probabilities(self, logits: np.ndarray) -> np.ndarray:
        """What the logits say without the threshold, as often right as they say on validation."""
        fitted = self.info.get("calibration") or {}
        plain = logits - np.asarray(self.info.get("bias", 0.0))
        margins = fitted.get("scale", 1.0) * plain + np.asarray(fitted.get("shift", 0.0))
        p = expit(margins) if self.info["task"] == "labels" else softmax(margins, axis=-1)
        return np.asarray(p)

    def _logits(self, encoded: Any, padding_side: str | None = None) -> list[np.ndarray]:
        rows = [
            {name: encoded[name][i] for name in encoded} for i in range(len(encoded["input_ids"]))
        ]
        order = np.argsort([len(row["input_ids"]) for row in rows], kind="stable")
        (outputs,) = outputs_of(
            self.model,
            [rows[i] for i in order],
            lambda batch: pad(self.tokenizer, batch, padding_side=padding_side),
            ["logits"],
            32,
        )
        back = np.argsort(order)
        return [outputs[i] for i in back]


def cost(model: Model, folder: Path, rows: Sequence[Any]) -> tuple[int, float]:
    """What a kept model costs: its bytes, and seconds for 1,000 rows, measured on some.

    Args:
        model: the model.
        folder: where it lies.
        rows: as :meth:`Model.predict` takes them.
    """
    started = time.perf_counter()
    model.predict(rows)
    seconds = time.perf_counter() - started
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return size, 1000 * seconds / max(1, len(rows))


def _columns_of(rows: Sequence[Any], task: str) -> list[list[str]]:
    if isinstance(rows, str):
        raise TypeError("expected a sequence of rows, got one text; put it into a list")
    if task != "pairs":
        return [list(rows)]
    return [[row[place] for row in rows] for place in (0, 1)]


def predict(
    folder: str | Path,
    path: str | Path,
    out: TextIO,
    *,
    asked: Asked | None = None,
    device: str = "auto",
    say: Callable[[str], None] = lambda line: None,
) -> int:
    """Predict a file: a token, its tag and a probability a line, or a row for each text.

    Every text of the file has its row, in its order; an empty one has no label.

    Args:
        folder: the folder of the model, or of the fit.
        path: whatever ``dicebook fit`` reads, all splits of a folder too, or a text a line. For a
            tagger also tokens in the first column, with blank lines between sentences.
        out: where the predictions go.
        asked: the columns of the text or of the pair; by default those that the model was trained
            on. And how the file is to be read.
        device: see :class:`Model`.
        say: takes a line about how the file was read, and one about what was cut.

    Returns:
        How many rows were predicted.

    Raises:
        FitError: the folder holds no model.
        CorpusError: the file is not what it should be.
    """
    model = Model(folder, device)
    asked = asked or Asked()
    path = Path(path)
    trained_on = model.info["columns"]
    if model.info["task"] == "tagging":
        read, said = read_words(path, asked, trained_on.get("text"))
        say("\n".join(said))
        sentences = [Sentence.of(row).words if isinstance(row, str) else row for row in read]
        for words, tags in zip(sentences, model.tagged(sentences), strict=True):
            for word, (tag, p) in zip(words, tags, strict=True):
                out.write(f"{word}\t{tag}\t{p:.4f}\n")
            out.write("\n")
        return len(sentences)
    names = ("text", "text2") if model.info["task"] == "pairs" else ("text",)
    rows, said = read_texts(path, asked, [trained_on[name] for name in names])
    say("\n".join(said))
    columns = [list(column) for column in zip(*rows, strict=True)]
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(["label", "probability", *names])
    answers = model.texts(*columns)
    if model.cut:
        limit = model.info["max_length"]
        say(f"{model.cut} of {len(rows)} texts were cut at {limit} sub-words, as in training.")
    for row, (label, p) in zip(rows, answers, strict=True):
        writer.writerow(
            [label, "" if math.isnan(p) else f"{p:.4f}", *(text.replace("\r", " ") for text in row)]
        )
    return len(rows)
