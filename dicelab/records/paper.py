"""The paper's printed tables as data: Tables 1 and 3 to 10, every cell as it stands in print.

The numbers are those of the final (ACL 2020) version. The arXiv version 2 prints the same numbers
in these tables; only the last column of Table 8 has another heading (there "+ positive & negative",
"+ positive & +negative" in the final text). Table 2 holds formulas and is chapter 07.

A cell is kept as printed, because how many digits a number has says how far it was rounded:
``row.bounds("f1")`` is the interval of what it can have been before. Nothing is corrected here;
chapter 15 does the sums.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from dicelab.corpora.registry import CORPORA

CELLS = (
    "negatives",
    "positives",
    "ratio",
    "precision",
    "recall",
    "f1",
    "em",
    "accuracy",
    "delta",
    "delta_em",
)
_TITLES = {
    1: "Negative and positive examples",
    3: "Part of speech, Chinese",
    4: "Part of speech, English",
    5: "Named entities",
    6: "Machine reading",
    7: "Paraphrases",
    8: "QQP imbalanced to different extents",
    9: "Sentiment, scored by accuracy",
    10: "Tversky's weights (beta = 1 - alpha)",
}
_SUFFIXES = {"K": 1e3, "M": 1e6}


@dataclass(frozen=True)
class Row:
    """One row of a table for one corpus.

    Attributes:
        table: The table's number.
        corpus: The corpus, by the name that `dicelab.corpora.load` takes.
        variant: What else the column or row says: the training set in Table 8, ``"alpha = 0.1"``
            and so on in Table 10; else empty.
        model: The model as printed, such as ``"BERT-MRC+DSC"``; empty in Tables 1 and 10.
        source: The work cited for the row, as printed; empty for the paper's own rows.
        backbone: The model without the loss. In Table 3 the rows ``BERT+FL`` and so on have the
            backbone ``BERT-Tagger``, with which the paper compares them.
        loss: The paper's loss by `dicebook.make_loss`'s name: ``"ce"`` for the backbones as they
            are, ``"fl"``, ``"dl"``, ``"dsc"``, ``"tl"``; empty for other cited systems.
        printed: The cells that are printed, as text, by the names in ``CELLS``. Scores are in
            percent; ``delta`` and ``delta_em`` are the bracketed gains in F1 and EM.
    """

    table: int
    corpus: str
    variant: str
    model: str
    source: str
    backbone: str
    loss: str
    printed: Mapping[str, str]

    def value(self, cell: str) -> float | None:
        """A cell as a number, ``"170K"`` as 170,000; None where nothing is printed.

        Args:
            cell: One of ``CELLS``.

        Raises:
            ValueError: There is no cell of that name in any table.
        """
        if cell not in CELLS:
            raise ValueError(f"unknown cell {cell!r}; expected one of {', '.join(CELLS)}")
        text = self.printed.get(cell)
        if text is None:
            return None
        return float(text.rstrip("KM")) * _SUFFIXES.get(text[-1], 1)

    def bounds(self, cell: str) -> tuple[float, float]:
        """Between which numbers a cell can have lain before it was rounded for print.

        Args:
            cell: One of ``CELLS``, printed in this row.

        Returns:
            The value minus and plus half a unit of its last digit.

        Raises:
            ValueError: The row does not print that cell.
        """
        value = self.value(cell)
        if value is None:
            raise ValueError(f"Table {self.table}, {self.corpus}, {self.model}: no {cell} printed")
        text = self.printed[cell]
        digits = len(text.rstrip("KM").partition(".")[2])
        half = 0.5 * 10**-digits * _SUFFIXES.get(text[-1], 1)
        return value - half, value + half

    @property
    def corpus_title(self) -> str:
        """The corpus as a reader knows it."""
        return CORPORA[self.corpus].paper

    @property
    def precision(self) -> float | None:
        """Printed precision, %."""
        return self.value("precision")

    @property
    def recall(self) -> float | None:
        """Printed recall, %."""
        return self.value("recall")

    @property
    def f1(self) -> float | None:
        """Printed F1, %."""
        return self.value("f1")

    @property
    def accuracy(self) -> float | None:
        """Printed accuracy, %."""
        return self.value("accuracy")

    @property
    def delta(self) -> float | None:
        """The bracketed gain in F1 over the row of the same backbone with cross entropy."""
        return self.value("delta")


@dataclass(frozen=True)
class Table:
    """A table of the paper.

    Attributes:
        number: Its number in the paper.
        title: What it is about, in our words.
        rows: Its rows, in print order, corpus by corpus.
    """

    number: int
    title: str
    rows: tuple[Row, ...]

    def row(self, corpus: str, backbone: str, loss: str, variant: str = "") -> Row | None:
        """The row of one model, trained with one loss on one corpus.

        Args:
            corpus: The corpus, by name.
            backbone: The model without the loss, such as ``"BERT-MRC"``; empty in Table 10.
            loss: The loss, by `dicebook.make_loss`'s name.
            variant: The column or row within a corpus in Tables 8 and 10.

        Returns:
            The row, or None where the paper prints none.
        """
        key = (corpus, backbone, loss, variant)
        rows = [r for r in self.rows if (r.corpus, r.backbone, r.loss, r.variant) == key]
        return rows[0] if rows else None

    def baseline(self, row: Row) -> Row:
        """The row that a row's deltas are gains over: same backbone, cross entropy.

        Raises:
            ValueError: The table has no such row.
        """
        base = self.row(row.corpus, row.backbone, "ce", row.variant)
        if base is None:
            raise ValueError(f"Table {self.number}: no cross-entropy row for {row.model!r}")
        return base


@functools.cache
def tables() -> dict[int, Table]:
    """All tables by number: 1 and 3 to 10."""
    rows: dict[int, list[Row]] = {number: [] for number in _TITLES}
    text = resources.files("dicelab.records").joinpath("paper_tables.tsv").read_text("utf-8")
    for line in csv.DictReader(text.splitlines(), delimiter="\t"):
        row = Row(
            table=int(line["table"]),
            corpus=line["corpus"],
            variant=line["variant"],
            model=line["model"],
            source=line["source"],
            backbone=line["backbone"],
            loss=line["loss"],
            printed={cell: line[cell] for cell in CELLS if line[cell] not in ("", "-")},
        )
        rows[row.table].append(row)
    return {number: Table(number, _TITLES[number], tuple(rows[number])) for number in rows}


def table(number: int) -> Table:
    """One table.

    Args:
        number: 1, or 3 to 10.

    Raises:
        ValueError: The paper has no such table of numbers.
    """
    if number not in _TITLES:
        numbers = ", ".join(map(str, _TITLES))
        raise ValueError(f"expected the number of a table, {numbers}; got {number!r}")
    return tables()[number]
