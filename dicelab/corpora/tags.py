"""Tag schemes: IOB1, IOB2 and IOBES, entities as spans, and Chinese part of speech by character."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from dicelab.corpora.errors import CorpusError

Scheme = Literal["plain", "IOB1", "IOB2", "IOBES"]

_IOB2 = re.compile(r"O|[BI]-.+", re.DOTALL)
_ANY_SCHEME = re.compile(r"O|[BIESLUM]-.+", re.DOTALL)
_CLOSED = frozenset("ESLU")  # after these an entity is over
_OPENING = frozenset("BSU")


class Span(NamedTuple):
    """An entity: its type, its first token, and the token after its last."""

    type: str
    start: int
    end: int


@lru_cache(1024)
def is_entity_tag(tag: str) -> bool:
    """Whether a tag is ``O``, ``B-type`` or ``I-type``."""
    return _IOB2.fullmatch(tag) is not None


_PREFIX = re.compile(
    r"(?P<letter>[BIESLUM])(?P<sign>[-_:./])(?P<type>\S.*)", re.IGNORECASE | re.DOTALL
)
_SUFFIX = re.compile(
    r"(?P<type>.*\S)(?P<sign>[-_:./])(?P<letter>[BIESLUM])", re.IGNORECASE | re.DOTALL
)
#: The type of entities whose tags have none.
UNTYPED = "ENTITY"


def looks_tagged(tags: Iterable[str]) -> bool:
    """Whether a column is of tags: O among others, or prefixes as of IOB2 and its kin."""
    distinct = {tag.strip() for tag in tags}
    entity_tags = [tag for tag in distinct if _PREFIX.fullmatch(tag) or _SUFFIX.fullmatch(tag)]
    has_outside = bool(distinct & {"O", "o"}) and len(distinct) < 1000
    return has_outside or len(entity_tags) > 0.5 * len(distinct)


def normalise_tags(sentences: Sequence[Sequence[str]]) -> tuple[list[list[str]], str]:
    """Entity tags of another spelling as ``B-type``, and what was done, in words; else as they are.

    Known are ``B_PER``, ``b-per``, ``PER-B`` and the like where every tag but ``O`` is of that
    form, and ``B``, ``I``, ``O`` without a type.
    """
    outside = {"O", "o"} & {tag for row in sentences for tag in row}
    others = {tag for row in sentences for tag in row} - outside
    known: dict[str, str] = {}
    note = ""
    if outside and "B" in map(str.upper, others) and others <= {*"BIESLUMbieslum"}:
        known = {tag: f"{tag.upper()}-{UNTYPED}" for tag in others}
        note = f"tags without a type, read as entities of the type {UNTYPED}"
    elif others and ("o" in outside or not all(map(_ANY_SCHEME.fullmatch, others))):
        for form in (_PREFIX, _SUFFIX):
            matches = [match for tag in others if (match := form.fullmatch(tag))]
            letters = {match["letter"].upper() for match in matches}
            one_sign = len({match["sign"] for match in matches}) == 1
            whole = len(matches) == len(others) and one_sign and letters & {*"BISU"}
            if not known and whole and (outside or form is _PREFIX):
                known = {m[0]: f"{m['letter'].upper()}-{m['type']}" for m in matches}
                example = min(others)
                note = f"tags of another spelling, such as {example!r}, read as {known[example]!r}"
    known |= dict.fromkeys(outside, "O") if known else {}
    return [[known.get(tag, tag) for tag in row] for row in sentences], note


def scheme_of(sentences: Iterable[Sequence[str]]) -> Scheme:
    """Which scheme the tags of a corpus are in.

    ``"plain"`` when no tag begins with ``B-`` or ``I-`` and not all are ``O``: part of speech.
    ``"IOBES"`` when a tag begins with E, S, L, U or M (IOBES, BILOU, BMES). Of the other two,
    ``"IOB1"`` (``B-`` only between two neighbours of one type) when more entities begin with ``I-``
    than with a ``B-`` that IOB1 has no use for; else ``"IOB2"`` (every entity begins with ``B-``).
    Either may have flaws: the training set of CoNLL 2003 is in IOB1 but for two tags.

    Args:
        sentences: The tags of each sentence.

    Raises:
        CorpusError: Some tags are entity tags and others neither that nor ``O``; the message gives
            the first of these.
    """
    prefixes: set[str] = set()
    foreign = []
    by_b = by_i = 0  # entities after none of their type, by the tag they begin with
    for tags in sentences:
        for before, tag in zip(["O", *tags], tags, strict=False):
            if not _ANY_SCHEME.fullmatch(tag):
                foreign.append(tag)
            elif tag != "O":
                prefixes.add(tag[0])
                by_b += tag[0] == "B" and before[1:] != tag[1:]
                by_i += tag[0] == "I" and before[1:] != tag[1:]
    if foreign and prefixes & {"B", "I"}:
        raise CorpusError(f"expected a tag such as O, B-PER or I-PER, got {foreign[0]!r}")
    if foreign:
        return "plain"
    if prefixes - {"B", "I"}:
        return "IOBES"
    return "IOB1" if by_i > by_b else "IOB2"


def to_iob2(tags: Sequence[str], repairs: Counter[str] | None = None) -> list[str]:
    """Tags of one sentence in IOB1, IOB2, IOBES, BILOU or BMES, as IOB2.

    An entity that does not begin with its opening tag begins where its first tag stands.

    Args:
        tags: ``O`` or ``prefix-type``.
        repairs: Counts the tags that came to open an entity though they do not in IOB2 or IOBES
            (for IOB1 that is the rule and no flaw).

    Raises:
        CorpusError: A tag is none of these.
    """
    converted = []
    inside = ""
    for tag in tags:
        if not _ANY_SCHEME.fullmatch(tag):
            raise CorpusError(f"expected a tag such as O, B-PER or I-PER, got {tag!r}")
        continues = tag[0] not in _OPENING and inside == tag[2:] != ""
        if not continues and tag != "O" and tag[0] not in _OPENING and repairs is not None:
            repairs["entities that did not begin with their opening tag"] += 1
        converted.append(tag if tag == "O" else f"{'I' if continues else 'B'}-{tag[2:]}")
        inside = "" if tag[0] in _CLOSED or tag == "O" else tag[2:]
    return converted


def spans(tags: Sequence[str], *, strict: bool = False) -> list[Span]:
    """The entities of an IOB2 sequence.

    Args:
        tags: ``O``, ``B-type``, ``I-type``.
        strict: What an ``I-`` that continues nothing means. False, as conlleval: it begins an
            entity. True, as seqeval's strict IOB2: it is ignored.

    Returns:
        In order of their starts.

    Raises:
        CorpusError: A tag is none of these.
    """
    entities: list[Span] = []
    kind, start = None, 0
    for position, tag in enumerate([*tags, "O"]):
        if not is_entity_tag(tag):
            raise CorpusError(f"expected an IOB2 tag such as O, B-PER or I-PER, got {tag!r}")
        if tag[0] == "I" and tag[2:] == kind:
            continue
        if kind is not None:
            entities.append(Span(kind, start, position))
        opens = tag[0] == "B" or (tag[0] == "I" and not strict)
        kind, start = (tag[2:], position) if opens else (None, position)
    return entities


def by_character(words: Sequence[str], tags: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words and their parts of speech, as characters with joint segmentation and tagging labels.

    The first character of a word tagged NN gets ``B-NN``, the others ``I-NN``; :func:`spans` of
    these labels are the words again.

    Args:
        words: The words of a sentence.
        tags: Their tags, one each.

    Returns:
        The characters, and a label for each.

    Raises:
        CorpusError: There are not as many tags as words, or a word is empty.
    """
    if len(words) != len(tags):
        raise CorpusError(f"expected a tag a word, got {len(tags)} tags for {len(words)} words")
    if not all(words):
        raise CorpusError("expected words, got an empty one")
    labels = [
        f"{'I' if place else 'B'}-{tag}"
        for word, tag in zip(words, tags, strict=True)
        for place in range(len(word))
    ]
    return list("".join(words)), labels
