"""What kinds of errors a tagger makes: missed, invented, wrong type, wrong boundary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dicelab.corpora.tags import Span, spans

KINDS = ("right", "wrong type", "wrong boundary", "missed", "invented")
#: The sentences of our own that chapters 09 and 20 tag, as `marked` writes them.
OWN_SENTENCES = """
[Nora Achterberg | person] posted a photo from the harbour of [Valparaíso | location]
just watched [The Quiet Orchard | creative-work] with [Tomas | person] and cried twice
my [Galaxy S9 | product] died halfway up [Ben Nevis | location]
[Lumen Robotics | corporation] is hiring in [Leeds | location] again
going to see [The Paper Lanterns | group] in [Austin | location] on friday
anyone else think [Netflix | corporation] ruined [The Glass Harbour | creative-work] ?
Dr. [Imani Okonjo | person] will speak about soil at noon
rain again , no bus , and the coffee machine is broken
the may exam was harder than the march one
selling two tickets for [FC Northbridge | group] , dm me
[Siobhan | person] left her [Kindle | product] on the train to [Galway | location]
is [Apple | corporation] still making the [iPod | product] ?
"""


def kinds_of_errors(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> dict[str, dict[str, int]]:
    """How often each kind of error occurs with each type of entity.

    A gold entity is ``right`` if first word, last word and type agree with a predicted one;
    otherwise it has the ``wrong type`` if only the words agree, a ``wrong boundary`` if a predicted
    entity shares a word with it, and is ``missed`` if none does. A predicted entity that shares no
    word with a gold one is ``invented``, and counts under the type that was predicted.

    Args:
        gold: The IOB2 tags of each sentence.
        predicted: Those of a tagger, of the same lengths. An ``I-`` that continues nothing is
            ignored, as in the strict score.

    Returns:
        By type, sorted, the number of each of `KINDS`.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for true, predicted_spans in _entities(gold, predicted):
        for entity in true:
            counts[entity.type, _kind(entity, predicted_spans)] += 1
        for entity in predicted_spans:
            if not any(_overlap(entity, true_span) for true_span in true):
                counts[entity.type, "invented"] += 1
    types = sorted({kind for kind, _ in counts})
    return {kind: {error: counts[kind, error] for error in KINDS} for kind in types}


def recall_by_novelty(
    train: Mapping[str, Sequence[Sequence[str]]],
    test: Mapping[str, Sequence[Sequence[str]]],
    predicted: Sequence[Sequence[str]],
) -> dict[str, dict[str, int]]:
    """How many of the entities seen in training, and of the others, are found.

    Args:
        train: ``tokens`` and ``tags`` of the training sentences.
        test: Those of the sentences that were tagged.
        predicted: A tagger's tags of these.

    Returns:
        For ``seen`` (an entity of the same words, whatever their case and type, is in ``train``)
        and ``unseen`` the number of entities, ``gold``, and how many of them are ``right``.
    """
    known = {
        words
        for tokens, tags in zip(train["tokens"], train["tags"], strict=True)
        for words in (_words(tokens, entity) for entity in spans(tags, strict=True))
    }
    counts = {"seen": {"gold": 0, "right": 0}, "unseen": {"gold": 0, "right": 0}}
    entities = _entities(test["tags"], predicted)
    for tokens, (true, predicted_spans) in zip(test["tokens"], entities, strict=True):
        for entity in true:
            group = counts["seen" if _words(tokens, entity) in known else "unseen"]
            group["gold"] += 1
            group["right"] += entity in predicted_spans
    return counts


def marked(tokens: Sequence[str], tags: Sequence[str]) -> str:
    """A sentence with its entities in brackets: ``[Ada Lovelace | person] wrote it``."""
    pieces: list[str] = []
    position = 0
    for entity in spans(tags, strict=True):
        pieces += tokens[position : entity.start]
        pieces += [f"[{' '.join(tokens[entity.start : entity.end])} | {entity.type}]"]
        position = entity.end
    return " ".join([*pieces, *tokens[position:]])


def unmarked(text: str) -> tuple[list[str], list[str]]:
    """The words and IOB2 tags of a sentence that is written as `marked` writes it.

    Raises:
        ValueError: A bracket is not closed, or holds no ``|``.
    """
    tokens: list[str] = []
    tags: list[str] = []
    for number, part in enumerate(text.replace("]", "[").split("[")):
        words, bar, kind = part.partition("|") if number % 2 else (part, "", "")
        inside = bool(number % 2)
        if inside and not (bar and words.split() and kind.strip()):
            raise ValueError(f"expected [words | type], got [{part}] in {text!r}")
        of_part = words.split()
        tokens += of_part
        begin = [f"B-{kind.strip()}"] + [f"I-{kind.strip()}"] * (len(of_part) - 1)
        tags += begin if inside else ["O"] * len(of_part)
    if text.count("[") != text.count("]"):
        raise ValueError(f"expected as many [ as ], got {text!r}")
    return tokens, tags


def _entities(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> Iterator[tuple[list[Span], list[Span]]]:
    for true, predicted_tags in zip(gold, predicted, strict=True):
        yield spans(true, strict=True), spans(predicted_tags, strict=True)


def _kind(entity: Span, predicted: Sequence[Span]) -> str:
    if entity in predicted:
        return "right"
    overlapping = [span for span in predicted if _overlap(entity, span)]
    if any((span.start, span.end) == (entity.start, entity.end) for span in overlapping):
        return "wrong type"
    return "wrong boundary" if overlapping else "missed"


def _overlap(first: Span, second: Span) -> bool:
    return first.start < second.end and second.start < first.end


def _words(tokens: Sequence[str], entity: Span) -> tuple[str, ...]:
    return tuple(token.lower() for token in tokens[entity.start : entity.end])
