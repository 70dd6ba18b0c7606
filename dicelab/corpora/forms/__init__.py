"""The forms in which people keep labelled text: each has a witness and a reader.

A witness looks at the first rows of a table and returns the columns that prove the form by what
they hold, or None; a name alone proves nothing. A reader makes of the table one of texts and
labels, or of ``tokens`` and ``tags``. What no witness proves is a table with columns.
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import NamedTuple

from dicelab.corpora.cells import LOOK, Asked, Table
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms import (
    fasttext,
    lists,
    prodigy,
    refused,
    spans,
    studio,
    token_rows,
)
from dicelab.corpora.forms.sample import Sample

#: What leaves a table of texts, labels or spans, in which another form may be found.
EXPORTS: tuple[ModuleType, ...] = (fasttext, studio, prodigy)
#: In the order in which they are looked for.
FORMS = (*EXPORTS, lists, spans, token_rows, refused)


class Found(NamedTuple):
    """A form that a table was proved to have, and the columns that prove it."""

    form: ModuleType
    proof: tuple[str, ...]

    def read(self, table: Table, asked: Asked) -> Table:
        """The table read in this form; an error where it has not the columns."""
        if not {*self.proof} <= {*table.names}:
            lists = (", ".join(names) for names in (self.proof, table.names))
            raise CorpusError("{}: expected the columns {}, got {}".format(table.path, *lists))
        return self.form.read(table, self.proof, asked)


def find(table: Table, asked: Asked) -> list[Found]:
    """The forms that a table proves, one within another; none for a table with columns."""
    found: list[Found] = []
    table = replace(table, rows=table.rows[:LOOK])
    while not table.tagged and all(one.form in EXPORTS for one in found):
        sample = Sample(table, asked)
        done = [one.form for one in found]
        proofs = ((form, form.witness(sample)) for form in FORMS if form not in done)
        form, proof = next((pair for pair in proofs if pair[1] is not None), (None, None))
        if form is None or proof is None:
            break
        found.append(Found(form, proof))
        table = found[-1].read(table, asked) if form in EXPORTS else table
    return found
