"""What a kept model says of new rows, and of a new file.

A model on words needs scikit-learn alone, a fine-tuned one torch and transformers: each imports
what it is made of, and nothing that training or the report needs.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from safetensors import SafetensorError

from dicelab.fit.calibration import probabilities
from dicelab.fit.errors import FitError

if TYPE_CHECKING:
    from dicelab.corpora.cells import Asked

#: What ``predict`` reads beside the config: the task, its columns, how long a text may be.
INFO = "dicebook.json"
#: The parts of a mean; plain transformers can load the first, and nothing above it.
FINE_TUNED, LINEAR = "fine_tuned", "linear"


class Model:
    """A kept model, ready to decide.

    Args:
        folder: what ``dicebook fit`` left under ``model``.
        device: ``"cpu"``, ``"cuda"``, or ``"auto"``; a model on words is on the CPU.

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
            self._load(folder, device)
        except (OSError, KeyError, ValueError, SafetensorError) as error:
            raise FitError(
                f"{folder}: expected a whole model that dicebook fit kept, got a damaged one; fit "
                f"again, or copy the folder anew. The cause: {error}"
            ) from error

    def _load(self, folder: Path, device: str) -> None:
        self.info: dict[str, Any] = json.loads((folder / INFO).read_text(encoding="utf-8"))
        self.linear: Any = None
        self.model: Any = None
        kind = self.info.get("kind")
        if kind in ("linear", "mean"):
            part = folder if kind == "linear" else folder / LINEAR
            features = self.info["features"]
            if features.startswith("crf"):
                from dicelab.fit.tagger import Crf as Simple
            else:
                from dicelab.fit.linear import Linear as Simple  # type: ignore[assignment]
            self.linear = Simple.load(part, features, device)
            self.labels: list[str] = self.info["labels"]
        if kind == "linear":
            return
        from transformers import AutoTokenizer

        from dicelab.training.devices import device_of
        from dicelab.training.encoders import from_pretrained

        part = folder / FINE_TUNED if kind == "mean" else folder
        self.model = classifier(part, self.info["task"]).to(device_of(device)).eval()
        self.tokenizer = from_pretrained(AutoTokenizer, str(part))
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
        decisions, _ = self.decided(rows)
        if self.info["task"] == "labels":
            return decisions
        said = self.classes_[decisions]
        if self.info["task"] != "tagging":
            return said
        by_sentence = np.empty(len(rows), dtype=object)
        for number, tags in enumerate(self._by_sentence(said, rows)):
            by_sentence[number] = tags
        return by_sentence

    def decided(self, rows: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Decisions as numbers, and the calibrated probabilities, from one pass of the model.

        Entities are the most likely valid tags: an ``I-`` continues an entity of its type. Long
        sentences are read in windows.

        Args:
            rows: as in :meth:`predict`.

        Returns:
            A class a row, or of tagging a word, shape ``[decisions]``, or yes and no for each of
            several labels, ``[rows, labels]``; and probabilities ``[decisions, labels]``, without
            the threshold.
        """
        if self.info["task"] != "tagging":
            logits = self.logits(*_columns_of(rows, self.info["task"]))
            decisions = logits > 0 if self.info["task"] == "labels" else logits.argmax(-1)
            return decisions, self._probabilities(logits)
        if not any(rows):
            return np.zeros(0, dtype=int), np.zeros((0, len(self.labels)))
        logits = self._with_linear(rows, self._word_logits)
        decisions = logits.argmax(-1)
        if self.info.get("valid", False):
            from dicelab.tasks.valid_tags import valid_tags

            decisions = valid_tags(logits, np.array([len(row) for row in rows]), self.labels)
        return decisions, self._probabilities(logits)

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
        return self.decided(rows)[1]

    def logits(self, texts: Sequence[str], second: Sequence[str] | None = None) -> np.ndarray:
        """The logits of texts or pairs, with the threshold in them. Shape ``[rows, labels]``."""
        columns = [list(texts)] if second is None else [list(texts), list(second)]
        self.cut = 0 if self.linear is None else self.linear.cut(columns)
        return self._with_linear(columns, self._text_logits)

    def _text_logits(self, columns: Sequence[Sequence[str]]) -> np.ndarray:
        encoded = self.tokenizer(*columns, truncation=True)
        self.cut = sum(bool(encoding.overflowing) for encoding in encoded.encodings)
        return np.array(self._logits(encoded))

    def _with_linear(self, rows: Any, fine_tuned: Callable[[Any], np.ndarray]) -> np.ndarray:
        """The logits of the fine-tuned model, of the linear one, or the mean of both."""
        if self.linear is None:
            return fine_tuned(rows)
        logits = self.linear.logits(rows)
        if self.model is None:
            return logits
        mean = (fine_tuned(rows) + logits) / 2
        return np.asarray(mean + np.asarray(self.info["offset"]), dtype=np.float32)

    def tagged(self, sentences: Sequence[Sequence[str]]) -> list[list[tuple[str, float]]]:
        """A tag and its calibrated probability for each word, see :meth:`decided`."""
        decisions, p = self.decided(sentences)
        sure = np.take_along_axis(p, decisions[:, None], -1)[:, 0].tolist()
        pairs = zip(self.classes_[decisions], sure, strict=True)
        return self._by_sentence(pairs, sentences)

    @staticmethod
    def _by_sentence(of_words: Iterable[Any], sentences: Sequence[Sequence[str]]) -> list[Any]:
        words = iter(of_words)
        return [list(islice(words, len(sentence))) for sentence in sentences]

    def _word_logits(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Logits ``[words, labels]``; those of a word that is cut off are sure of label 0."""
        from dicelab.tasks.windows import pieces

        encoded, of_rows = pieces(self.tokenizer, sentences, self.info["max_length"])
        # A word's place in its row must be its place in the batch.
        logits = self._logits(encoded, padding_side="right")
        starts = np.cumsum([0, *map(len, sentences)])
        of_words = np.full((starts[-1], len(self.labels)), -1e4, dtype=np.float32)
        of_words[:, 0] = 1e4
        for row, piece in zip(logits, of_rows, strict=True):
            words, positions = piece.held(starts)
            of_words[words] = row[positions]
        return of_words

    def texts(
        self, texts: Sequence[str], second: Sequence[str] | None = None
    ) -> tuple[list[str], np.ndarray]:
        """The decision of each text, or of each pair, as text, and its probabilities.

        Several labels are joined by ``|``. A text without a word has no label, and NaN.

        Returns:
            A decision a row, and the calibrated probabilities, shape ``[rows, labels]``.
        """
        columns = [texts] if second is None else [texts, second]
        rows = list(zip(*columns, strict=True))
        decisions, p = self.decided(texts if second is None else rows)
        if self.info["task"] == "labels":
            said = ["|".join(self.classes_[row]) for row in decisions]
        else:
            said = self.classes_[decisions].tolist()
        for place, parts in enumerate(rows):
            if not all(part.strip() for part in parts):
                said[place], p[place] = "", np.nan
        return said, p

    cut = 0  # texts of the last call that were longer than those of training

    def _probabilities(self, logits: np.ndarray) -> np.ndarray:
        """What the logits say without the threshold, as often right as they say on validation."""
        plain = logits - np.asarray(self.info.get("bias", 0.0))
        fitted = self.info.get("calibration") or {}
        return probabilities(plain, fitted, several=self.info["task"] == "labels")

    def _logits(self, encoded: Any, padding_side: str | None = None) -> list[np.ndarray]:
        from dicelab.tasks.outputs import logits_of, rows_of
        from dicelab.training.encoders import pad

        def collate(rows: list[dict[str, Any]]) -> Any:
            return pad(self.tokenizer, rows, padding_side=padding_side)

        return logits_of(self.model, rows_of(encoded), collate, 32)


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


def classifier(folder: Path, task: str) -> Any:
    """The fine-tuned model in a folder."""
    from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification

    from dicelab.training.encoders import from_pretrained

    tagging = task == "tagging"
    kind = AutoModelForTokenClassification if tagging else AutoModelForSequenceClassification
    return from_pretrained(kind, str(folder))


def _columns_of(rows: Sequence[Any], task: str) -> list[list[str]]:
    if isinstance(rows, str):
        raise TypeError("expected a sequence of rows, got one text; put it into a list")
    if task != "pairs":
        return [list(rows)]
    return [[row[place] for row in rows] for place in (0, 1)]


def probability_columns(labels: Sequence[str], p: np.ndarray, task: str) -> dict[str, list[str]]:
    """The columns of probabilities in a file: the positive class's of two, or each label's."""
    two = task != "labels" and len(labels) == 2
    return {
        f"p({label})": ["" if np.isnan(value) else f"{value:.4f}" for value in p[:, place]]
        for place, label in enumerate(labels)
        if place or not two
    }


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

    Every text of the file has its row, in its order, with all columns that it had; an empty one has
    no label. The probabilities are calibrated: that of the positive class, or one for each label.

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
    from dicelab.corpora.cells import Asked
    from dicelab.corpora.files import read_texts, read_words
    from dicelab.tasks.raw_text import Sentence

    model = Model(folder, device)
    asked = asked or Asked()
    path = Path(path)
    trained_on = model.info["columns"]
    if model.info["task"] == "tagging":
        read, said = read_words(path, asked, trained_on.get("text"))
        say("\n".join(said))
        sentences = [Sentence.of(row).words if isinstance(row, str) else row for row in read]
        for words, tags in zip(sentences, model.tagged(sentences), strict=True):
            for word, (tag, sure) in zip(words, tags, strict=True):
                out.write(f"{word}\t{tag}\t{sure:.4f}\n")
            out.write("\n")
        return len(sentences)
    names = ("text", "text2") if model.info["task"] == "pairs" else ("text",)
    wanted = [trained_on[name] for name in names]
    rows, said = read_texts(path, asked, wanted)
    say("\n".join(said))
    decisions, p = model.texts(*[list(column) for column in zip(*rows, strict=True)])
    if model.cut:
        limit = model.info["max_length"]
        say(f"{model.cut} of {len(rows)} texts were cut at {limit} sub-words, as in training.")
    own = _columns_of_file(path, replace(asked, known=tuple(wanted)), len(rows)) or {
        name: [row[place] for row in rows] for place, name in enumerate(names)
    }
    columns = {"predicted": decisions, **probability_columns(model.labels, p, model.info["task"])}
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow([*columns, *own])
    for row in zip(*columns.values(), *own.values(), strict=True):
        writer.writerow([str("" if cell is None else cell).replace("\r", " ") for cell in row])
    return len(rows)


def _columns_of_file(path: Path, asked: Asked, rows: int) -> dict[str, list[Any]] | None:
    """All columns of what was predicted, by name; None where its tables have other rows."""
    from dicelab.corpora.containers.folders import read_splits

    tables = list(read_splits(path, replace(asked, task="sentences", labelled=False), []).values())
    if sum(len(table.rows) for table in tables) != rows or not all(t.header for t in tables):
        return None
    return {
        name: [
            cell
            for t in tables
            for cell in (t.column(name) if name in t.names else [""] * len(t.rows))
        ]
        for name in dict.fromkeys(name for table in tables for name in table.names)
    }
