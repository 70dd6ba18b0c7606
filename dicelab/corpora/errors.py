"""The one error that reading a corpus may end in, and what the readers know beforehand."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from os import PathLike
from typing import Any

#: Usual names of columns, and what is refused with which words.
FACTS: dict[str, Any] = tomllib.loads((files(__package__) / "files.toml").read_text("utf-8"))
REFUSED: dict[str, str] = FACTS["refused"]


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
