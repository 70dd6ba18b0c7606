"""Reading a text file: its bytes, its encoding, its lines and its words."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import re
import unicodedata
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
#: With fewer lines that are not UTF-8 the rest of a file does not say which encoding it has.
LEAST_LINES = 3
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LATIN = ("cp1252", "cp1250", "mac_roman")
_OTHER = (
    *("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1251", "koi8_r"),
    *("cp1253", "cp1255", "cp1256"),
)


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
    """Refuse what a packed file would unpack to, if it is too much.

    Raises:
        CorpusError: It is more than ``LARGEST`` bytes.
    """
    if size > LARGEST:
        problem = f"expected at most {LARGEST / 1e9:.0f} GB unpacked, got more; cut it into parts"
        raise CorpusError.at(path, 0, problem)


def decode(
    data: bytes,
    path: str | PathLike[str],
    encoding: str | None = None,
    errors: Literal["strict", "replace", "keep"] = "strict",
) -> tuple[str, str]:
    """Bytes as text, and the encoding that was taken.

    Args:
        data: The bytes.
        path: Their file, for messages.
        encoding: The encoding the file must have; None takes the byte order mark, UTF-8, or what
            the bytes look like where many lines are not UTF-8.
        errors: What becomes of single bytes of another encoding: an error, U+FFFD, or half of a
            surrogate pair, which :func:`odd_character` tells.

    Raises:
        CorpusError: There is no such encoding, or the bytes are not in it.
    """
    mark = next((mark for mark in _MARKS if data.startswith(mark)), None)
    if encoding is None:
        encoding = is_wide(data) if mark is None else _MARKS[mark]
    how = {"strict": "strict", "replace": "replace", "keep": "surrogateescape"}[errors]
    codec = encoding or "utf-8"
    try:
        return data.decode(codec).removeprefix("\ufeff"), codec
    except LookupError:
        problem = f"--encoding: expected an encoding such as utf-8 or cp1252, got {encoding!r}"
        raise CorpusError.at(path, 0, problem) from None
    except UnicodeDecodeError as error:
        guess = _guess(data) if encoding is None else ""
        lines = sum(not _is_utf8(line) for line in data.split(b"\n")) if encoding is None else 0
        if guess and lines >= LEAST_LINES:
            return data.decode(guess), guess
        if errors != "strict":
            with contextlib.suppress(UnicodeDecodeError):  # UTF-16 has no such way out
                return data.decode(codec, how).removeprefix("\ufeff"), codec
        line = data.count(b"\n", 0, error.start) + 1
        looks = f"; if the file is {guess}, say --encoding {guess}" if guess else ""
        if encoding is None and not guess:
            looks = "; say which encoding it has with --encoding"
        raise CorpusError.at(
            path, line, f"expected {codec} text, got byte 0x{data[error.start]:02x}{looks}"
        ) from None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_wide(data: bytes) -> str | None:
    """UTF-16 without its mark, which shows in the zeros of every second byte."""
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(data) > 9 and data[start::2].count(0) > 0.3 * (len(data) // 2):
            return name if len(data) % 2 == 0 else None
    return None


def _guess(data: bytes) -> str:
    """The encoding that bytes look like, empty where nothing or too much does."""
    from charset_normalizer import from_bytes

    if any(not line.isascii() and _is_utf8(line) for line in data.split(b"\n")):
        return ""  # most likely UTF-8 with damage
    guesses = list(from_bytes(data[:200_000], cp_isolation=[*_OTHER, *_LATIN]))
    if guesses and guesses[0].encoding not in _LATIN:
        others = [guess for guess in guesses[1:] if guess.encoding not in _LATIN]
        alike = others and others[0].chaos - guesses[0].chaos < 0.02
        name = guesses[0].encoding
        if name == "gb18030" and _decodes(data, "euc_jp"):
            # Both have kana at the same places, and Chinese has none of them.
            kana = sum("\u3040" <= sign <= "\u30ff" for sign in data.decode("euc_jp"))
            name, alike = ("euc_jp", False) if kana > 0.05 * len(data) else (name, alike)
        return name if not alike and _decodes(data, name) else ""
    odd = {name: _oddity(data.decode(name)) for name in _LATIN if _decodes(data, name)}
    best = min(odd, key=lambda name: odd[name], default="")
    return best if best and odd[best] <= 0.1 else ""


def _decodes(data: bytes, name: str) -> bool:
    try:
        data.decode(name)
    except UnicodeDecodeError:
        return False
    return True


def _oddity(text: str) -> float:
    """The share of a text's characters beyond ASCII that do not stand where letters do."""
    odd = total = 0
    for before, sign, after in zip(" " + text, text, text[1:] + " ", strict=False):
        if sign.isascii():
            continue
        total += 1
        kind = unicodedata.category(sign)
        if kind[0] == "L":
            odd += kind == "Lu" and before.islower()
        elif kind[0] not in "PZ":
            odd += before.isalpha() or after.isalpha() or kind[0] == "C"
    return odd / max(1, total)


def odd_character(text: str) -> str:
    """What is no character in a text, in words; empty where all are.

    Args:
        text: As :func:`decode` or JSON gave it.
    """
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


def text_of_bytes(
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
        encoding: As of :func:`decode`.
        errors: As of :func:`decode`; what is replaced is counted.

    Raises:
        CorpusError: As of :func:`decode`.
    """
    repairs = Counter() if repairs is None else repairs
    text, taken = decode(data, path, encoding, errors)
    if errors == "replace" and "\ufffd" in text:
        repairs["characters that are not in the encoding"] += text.count("\ufffd")
    if data.startswith(tuple(_MARKS)):
        repairs["byte order mark removed"] += 1
    if taken != "utf-8" and encoding is None:
        repairs[f"read as {taken}"] += 1
    if "\r" in text:
        repairs["CRLF line ends"] += text.count("\r\n")
        text = text.replace("\r\n", "\n")
        if "\n" not in text.strip("\n"):  # line ends of old Macs
            text = text.replace("\r", "\n")
    return text, taken


def read_text(path: str | PathLike[str], repairs: Counter[str] | None = None, **how: Any) -> str:
    """The text of a file; ``how``, Args and Raises as of :func:`text_of_bytes`."""
    return text_of_bytes(read_bytes(path), path, repairs, **how)[0]


def read_lines(
    path: str | PathLike[str], repairs: Counter[str] | None = None, **how: Any
) -> list[str]:
    r"""The lines of a file, split at ``\n`` alone: tokens may hold other Unicode separators.

    ``how``, Args and Raises as of :func:`text_of_bytes`.
    """
    text = read_text(path, repairs, **how)
    return text.removesuffix("\n").split("\n") if text else []


def plain_name(path: str | PathLike[str]) -> str:
    """A file's name in lower case, without the ending of gzip: what its ending says of it."""
    return Path(path).name.lower().removesuffix(".gz")
