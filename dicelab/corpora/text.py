"""Reading a text file strictly: UTF-8 and nothing else, whatever its line ends."""

from __future__ import annotations

from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Literal

from dicelab.corpora.errors import CorpusError


def read_text(
    path: str | PathLike[str],
    repairs: Counter[str] | None = None,
    *,
    encoding: str = "utf-8",
    errors: Literal["strict", "replace"] = "strict",
) -> str:
    r"""Read a whole file, without its byte order mark and with ``\n`` line ends.

    Args:
        path: The file.
        repairs: What was repaired is added here, by kind (``"byte order mark removed"``,
            ``"CRLF line ends"``).
        encoding: The encoding the file must have.
        errors: ``"replace"`` puts U+FFFD for bytes of another encoding and counts them, in place of
            an error.

    Raises:
        CorpusError: The file cannot be read, or is not in that encoding.
    """
    repairs = Counter() if repairs is None else repairs
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CorpusError.at(path, 0, f"expected a readable file; {reason}") from None
    try:
        text = data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        raise CorpusError.at(
            path, line, f"expected {encoding} text, got byte 0x{byte:02x}"
        ) from None
    if errors == "replace" and "\ufffd" in text:
        repairs["characters that are not in the encoding"] += text.count("\ufffd")
    if text.startswith("\ufeff"):
        text = text[1:]
        repairs["byte order mark removed"] += 1
    if "\r" in text:
        repairs["CRLF line ends"] += text.count("\r\n")
        text = text.replace("\r\n", "\n")
    return text


def read_lines(
    path: str | PathLike[str],
    repairs: Counter[str] | None = None,
    *,
    encoding: str = "utf-8",
    errors: Literal["strict", "replace"] = "strict",
) -> list[str]:
    r"""The lines of a file, split at ``\n`` alone: tokens may hold other Unicode separators.

    Args and Raises: see :func:`read_text`.
    """
    lines = read_text(path, repairs, encoding=encoding, errors=errors).split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines
