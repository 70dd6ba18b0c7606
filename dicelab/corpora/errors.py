"""The one error that reading a corpus may end in."""

from __future__ import annotations

from os import PathLike


class CorpusError(ValueError):
    """A corpus is missing, or a file of it is not what it should be.

    Every reader ends in a value or in this error. The message says where (``file:line``), what was
    expected and what came.
    """

    @classmethod
    def at(cls, path: str | PathLike[str], line: int, problem: str) -> CorpusError:
        """An error about one line of a file.

        Args:
            path: The file.
            line: The line's number, from 1; 0 for the file as a whole.
            problem: What was expected, and what came.
        """
        where = f"{path}:{line}" if line else f"{path}"
        return cls(f"{where}: {problem}")
