"""Tag schemes, spans, labels, characters; seqeval is the second oracle."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOB2, Entities

from data_scripts.ontonotes_readers import from_spans
from dicelab.corpora import CorpusError, spans, to_iob2
from dicelab.corpora.tags import by_character, scheme_of

TAGS = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), max_size=12)


@st.composite
def entities(draw: st.DrawFn) -> tuple[list[tuple[str, int, int]], int]:
    """Spans that do not overlap, and a length they fit in."""
    position, found = 0, []
    for _ in range(draw(st.integers(0, 5))):
        start = position + draw(st.integers(0, 2))
        position = start + draw(st.integers(1, 3))
        found.append((draw(st.sampled_from(["PER", "LOC"])), start, position))
    return found, position + draw(st.integers(0, 2))


def in_iob1(found: list[tuple[str, int, int]], length: int) -> list[str]:
    tags, before = ["O"] * length, ("", 0, 0)
    for kind, start, end in found:
        tags[start:end] = [f"I-{kind}"] * (end - start)
        if before[0] == kind and before[2] == start:
            tags[start] = f"B-{kind}"
        before = (kind, start, end)
    return tags


def in_iobes(found: list[tuple[str, int, int]], length: int) -> list[str]:
    tags = ["O"] * length
    for kind, start, end in found:
        tags[start:end] = [f"I-{kind}"] * (end - start)
        tags[start], tags[end - 1] = f"B-{kind}", f"E-{kind}"
        if end - start == 1:
            tags[start] = f"S-{kind}"
    return tags


@settings(deadline=None)
@given(entities())
def test_every_scheme_comes_to_the_same_iob2(made):
    found, length = made
    iob2 = from_spans(found, length)
    assert to_iob2(iob2) == iob2
    assert to_iob2(in_iob1(found, length)) == iob2
    assert to_iob2(in_iobes(found, length)) == iob2
    bilou = [tag.replace("E-", "L-").replace("S-", "U-") for tag in in_iobes(found, length)]
    assert to_iob2(bilou) == iob2
    assert [tuple(span) for span in spans(iob2)] == found


@settings(deadline=None)
@given(TAGS)
def test_spans_agree_with_seqeval_on_any_sequence(tags):
    lenient = [(kind, start, end + 1) for kind, start, end in get_entities(tags)]
    assert [tuple(span) for span in spans(tags)] == lenient
    strict = Entities([tags], scheme=IOB2).entities[0]
    assert [tuple(span) for span in spans(tags, strict=True)] == [
        (e.tag, e.start, e.end) for e in strict
    ]


@settings(deadline=None)
@given(TAGS)
def test_conversion_repairs_and_counts_what_it_repaired(tags):
    repairs: Counter[str] = Counter()
    fixed = to_iob2(tags, repairs)
    assert spans(fixed, strict=True) == spans(tags)
    assert sum(a != b for a, b in zip(tags, fixed, strict=True)) == repairs.total()


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["NN", "VBZ", "."], "plain"),
        (["O", "O"], "IOB2"),
        (["I-PER", "I-PER", "B-PER", "O"], "IOB1"),
        (["I-PER", "O", "B-PER"], "IOB2"),  # a B- that IOB1 would not have
        (["B-PER", "I-PER", "O"], "IOB2"),
        (["B-PER", "E-PER"], "IOBES"),
        (["S-PER"], "IOBES"),
    ],
)
def test_the_scheme_is_recognised(tags, scheme):
    assert scheme_of([tags]) == scheme


def test_after_a_closing_tag_nothing_goes_on():
    assert to_iob2(["B-X", "E-X", "I-X", "S-X", "E-X"]) == ["B-X", "I-X", "B-X", "B-X", "B-X"]


def test_a_wrong_tag_among_entity_tags_is_an_error():
    with pytest.raises(CorpusError, match="got 'B_PER'"):
        scheme_of([["B-PER", "O"], ["O", "B_PER"]])
    with pytest.raises(CorpusError, match="got 'NN'"):
        to_iob2(["NN"])
    with pytest.raises(CorpusError, match="got 'E-PER'"):
        spans(["E-PER"])


def test_from_spans_refuses_what_does_not_fit():
    with pytest.raises(CorpusError, match="overlap"):
        from_spans([("A", 0, 2), ("B", 1, 3)], 3)
    for start, end in [(0, 4), (2, 2), (-1, 1)]:
        with pytest.raises(CorpusError, match="within 3"):
            from_spans([("A", start, end)], 3)


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(min_size=1, max_size=4), st.sampled_from(["NN", "PU"]))))
def test_characters_give_the_words_back(sentence):
    words, tags = [word for word, _ in sentence], [tag for _, tag in sentence]
    characters, labels = by_character(words, tags)
    assert "".join(characters) == "".join(words)
    assert len(characters) == len(labels)
    back = [("".join(characters[s.start : s.end]), s.type) for s in spans(labels, strict=True)]
    assert back == sentence
