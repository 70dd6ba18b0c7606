"""Damaged copies of a good file, for the readers' fuzz tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from datasets import Dataset
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from dicelab.corpora import CorpusError, validate

_PIECES = [
    *(b"\n", b"\n\n", b"\r\n", b"\r", b"\t", b" ", b"\0", b"#", b"-DOCSTART- O\n", b"\xef\xbb\xbf"),
    *(b"\xff", b"\xc3", "é".encode(), "　".encode(), "\u2028".encode(), b"\x0b\x0c\x1c\x85"),
    *(b"(", b")", b"<", b">", b"*", b"-", b"_", b"1-2\t", b"2.1\t", b"99", b"B-", b"I-X", b'"'),
]


def mutated(good: str) -> st.SearchStrategy[bytes]:
    """The bytes of a file with some stretches cut, doubled, or replaced by awkward pieces."""
    data = good.encode()
    edit = st.tuples(
        st.integers(0, len(data)),
        st.integers(0, 12),
        st.one_of(st.sampled_from(_PIECES), st.binary(max_size=4)),
        st.booleans(),
    )

    def apply(edits: list[tuple[int, int, bytes, bool]]) -> bytes:
        out = data
        for start, length, piece, double in edits:
            cut = out[start : start + length]
            out = out[:start] + (cut + cut if double else piece) + out[start + length :]
        return out

    return st.one_of(st.lists(edit, max_size=4).map(apply), st.binary(max_size=80))


def written(examples: int) -> settings:
    """So many examples of a file, each written over the one before."""
    unlike = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=examples, deadline=None, suppress_health_check=unlike)


def outcome(read: Callable[[Path], Dataset], path: Path, task: str) -> str:
    """A reader's error, or "read"; what it read must be in order."""
    try:
        rows = read(path)
    except CorpusError as error:
        return str(error)
    validate(rows, task=task)
    return "read"
