"""Reading a text file: its bytes, its encoding, its lines and its words."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from dicelab.corpora.errors import CorpusError

#: A Chinese character or kana; a run of letters and digits, inner apostrophes and hyphens included;
#: any other sign.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+(?:['’-]\w+)*|\S")

#: Bytes that a packed file may unpack to.
LARGEST = 2_000_000_000
#: Fewer lines than these that are not UTF-8 are damage, and no sign of another encoding.
LEAST_LINES = 3
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def short(text: str, most: int = 80) -> str:
    """A text for a message, without its end if it is long."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The bytes of a file, unpacked where gzip has packed them, ``LARGEST`` at most.

    Raises:
        CorpusError: The file cannot be read.
    """
    try:
        data = Path(path).read_bytes()
        if data.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(LARGEST + 1)
            check_size(len(data), path)
        return data
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CorpusError.at(path, 0, f"expected a readable file; {reason}") from None


def check_size(size: int, path: str | PathLike[str]) -> None:
    """Refuse what a packed file would unpack to, if it is too much."""
    if size > LARGEST:
        problem = f"expected at most {LARGEST / 1e9:.0f} GB unpacked, got more; cut it into parts"
        raise CorpusError.at(path, 0, problem)


def decode(
    data: bytes,
    path: str | PathLike[str],
    repairs: Counter[str] | None = None,
    *,
    encoding: str | None = None,
    errors: Literal["strict", "replace", "keep"] = "strict",
) -> tuple[str, str]:
    r"""A text without its byte order mark and with ``\n`` line ends, and its encoding.

    Args:
        data: The bytes.
        path: Their file, for messages.
        repairs: What was repaired is added here, by kind (``"byte order mark removed"``,
            ``"CRLF line ends"``).
        encoding: The encoding the file must have; None takes the byte order mark, UTF-16 by its
            zeros, or UTF-8.
        errors: What becomes of single bytes of another encoding in a text of UTF-8: an error,
            U+FFFD, or half of a surrogate pair, which :func:`odd_character` tells.

    Raises:
        CorpusError: There is no such encoding, or the bytes are not in it; how a word reads in
            those that the bytes may be in.
    """
    repairs = Counter() if repairs is None else repairs
    mark = next((mark for mark in _MARKS if data.startswith(mark)), None)
    codec = encoding or (_MARKS[mark] if mark else is_wide(data)) or "utf-8"
    try:
        text = data.decode(codec)
    except LookupError:
        problem = f"--encoding: expected an encoding such as utf-8 or cp1252, got {encoding!r}"
        raise CorpusError.at(path, 0, problem) from None
    except UnicodeDecodeError as error:
        odd = [line for line in data.split(b"\n") if not line.isascii()]
        mixed = any("\ufffd" not in line.decode("utf-8", "replace") for line in odd)
        damaged = encoding or mixed or len(odd) < LEAST_LINES
        if errors == "strict" or codec.startswith("utf-16") or not damaged:
            line = data.count(b"\n", 0, error.start) + 1
            problem = f"expected {codec} text, got byte 0x{data[error.start]:02x}"
            problem += _readings(data, error.start) if codec == "utf-8" and not encoding else ""
            raise CorpusError.at(path, line, problem) from None
        text = data.decode(codec, "replace" if errors == "replace" else "surrogateescape")
        if errors == "replace":
            repairs["characters that are not in the encoding"] += text.count("\ufffd")
    if mark:
        repairs["byte order mark removed"] += 1
    if codec != "utf-8" and encoding is None:
        repairs[f"read as {codec}"] += 1
    if "\r" in text:
        repairs["CRLF line ends"] += text.count("\r\n")
        text = text.replace("\r\n", "\n")
        if "\n" not in text.strip("\n"):  # line ends of old Macs
            text = text.replace("\r", "\n")
    return text.removeprefix("\ufeff"), codec


def is_wide(data: bytes) -> str | None:
    """UTF-16 without its mark, which shows in the zeros of every second byte."""
    zeros = {name: data[n::2].count(0) for n, name in enumerate(("utf-16-be", "utf-16-le"))}
    name = max(zeros, key=lambda name: zeros[name])
    wide = len(data) > 9 and len(data) % 2 == 0 and zeros[name] > 0.3 * (len(data) // 2)
    return name if wide else None


def _readings(data: bytes, place: int) -> str:
    """How a word that is not UTF-8 reads in what it may be; which is right, no byte says."""
    from charset_normalizer import from_bytes

    guesses = [guess.encoding for guess in from_bytes(data[:200_000])]
    start = max(data.rfind(sign, 0, place) for sign in (b" ", b"\t", b"\n", b",")) + 1
    word = re.match(rb"[^ \t\n,]{,40}", data[start:])
    names = {word[0].decode(n, "replace"): n for n in (*guesses[:1], "cp1252") if word}
    read = " and ".join(f"{found!r} as {name}" for found, name in names.items())
    return f"; its word reads {read}: say with --encoding which it is, or save it as UTF-8"


def odd_character(text: str) -> str:
    """What is no character in a text of :func:`decode` or JSON, in words; empty where all are."""
    if text.isprintable():
        return ""
    for sign in text:
        if "\udc80" <= sign <= "\udcff":
            return f"byte 0x{ord(sign) - 0xDC00:02x}, which is not utf-8 (--encoding)"
        if "\ud800" <= sign <= "\udfff":
            return "a lone surrogate, half of a character"
        if sign == "\0":
            return "a NUL"
    return ""


def read_text(path: str | PathLike[str], repairs: Counter[str] | None = None, **how: Any) -> str:
    """The text of a file; ``how``, Args and Raises as of :func:`decode`."""
    return decode(read_bytes(path), path, repairs, **how)[0]


def read_lines(
    path: str | PathLike[str], repairs: Counter[str] | None = None, **how: Any
) -> list[str]:
    r"""The lines of a file, split at ``\n`` alone: tokens may hold other Unicode separators.

    ``how``, Args and Raises as of :func:`decode`.
    """
    text = read_text(path, repairs, **how)
    return text.removesuffix("\n").split("\n") if text else []


def plain_name(path: str | PathLike[str]) -> str:
    """A file's name in lower case, without the ending of gzip: what its ending says of it."""
    return Path(path).name.lower().removesuffix(".gz")
