"""The embedded corpus of reading: paragraphs, questions, and questions without an answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from datasets import Dataset, DatasetDict

from data_scripts.embedded import reading_en as source
from data_scripts.embedded.arguments import check, rows
from data_scripts.embedded.draw import Draw
from data_scripts.embedded.entity_tags import Mentions
from data_scripts.embedded.names import SPLITS
from dicelab.corpora.errors import CorpusError
from dicelab.corpora.forms import to_dataset

UNANSWERABLE = 1 / 3
"""Share of the questions that have no answer in their paragraph."""

_QUESTIONS_A_PARAGRAPH = 3
_TIMES = (1, 1, 1, 0)  # how often a paragraph tells of each of the four kinds of fact
_TIMES_DISTRACTED = (3, 1, 1, 0)


class _Fact(NamedTuple):
    """One sentence: what is said of one object, and the span that answers a question on it."""

    kind: str
    verb: tuple[str, str]
    object: str
    text: str
    answer: str
    start: int


class _Writer:
    """Writes the paragraphs and the questions of one split."""

    def __init__(self, draw: Draw, mentions: Mentions, distractors: float) -> None:
        self._draw = draw
        self._mentions = mentions
        self._distractors = distractors

    def paragraph(self, length: float) -> tuple[str, list[_Fact], list[int]]:
        """Write a paragraph of about a length: its text, its facts and where they start in it."""
        draw = self._draw
        times = _TIMES_DISTRACTED if draw.chance(self._distractors) else _TIMES
        kinds = draw.shuffled(tuple(source.FACTS))
        chosen = [kind for kind, number in zip(kinds, times, strict=True) for _ in range(number)]
        objects = draw.shuffled(source.OBJECTS)
        facts = draw.shuffled([self._fact(kind, objects.pop()) for kind in chosen])
        sentences: list[_Fact | str] = list(facts)
        fillers = draw.shuffled(source.FILLERS)
        while sum(len((s if isinstance(s, str) else s.text).split()) for s in sentences) < length:
            place = draw.below(len(sentences) + 1)
            filler = fillers[(len(sentences) - len(facts)) % len(fillers)]
            sentences.insert(place, self._filler(filler))
        text = ""
        starts = []
        for sentence in sentences:
            text += " " if text else ""
            if isinstance(sentence, _Fact):
                starts.append(len(text))
            text += sentence if isinstance(sentence, str) else sentence.text
        return text, facts, starts

    def question(self, facts: list[_Fact], answerable: bool) -> tuple[str, int]:
        """Write a question: its text and the number of the fact that it is about.

        A question without an answer is of a kind that the paragraph does not tell of; where the
        paragraph has distractors, half of them are of the kind of these, about another object.
        """
        draw = self._draw
        times = {kind: sum(fact.kind == kind for fact in facts) for kind in source.FACTS}
        if answerable:
            number = draw.below(len(facts))
            kind = facts[number].kind
        else:
            distracting = [k for k, n in times.items() if n > 1]
            missing = [k for k, n in times.items() if n == 0]
            kind = draw.pick(distracting if distracting and draw.chance(0.5) else missing)
            number = draw.pick([i for i, fact in enumerate(facts) if fact.kind != kind])
        fact = facts[number]
        template = draw.pick(source.QUESTIONS[kind])
        past, participle = fact.verb
        return template.format(past=past, participle=participle, object=fact.object), number

    def _fact(self, kind: str, thing: str) -> _Fact:
        verb = self._draw.pick(source.VERBS)
        values = {"past": verb[0], "participle": verb[1], "object": thing}
        answer = self._value(kind)
        before, after = self._draw.pick(source.FACTS[kind]).split("{" + kind + "}")
        before, after = before.format(**values), after.format(**values)
        return _Fact(kind, verb, thing, before + answer + after, answer, len(before))

    def _filler(self, template: str) -> str:
        for kind in source.FACTS:
            if "{" + kind + "}" in template:
                return template.format(**{kind: self._value(kind)})
        return template

    def _value(self, kind: str) -> str:
        closed = {"when": source.DAYS, "price": source.PRICES}
        return self._draw.pick(closed[kind]) if kind in closed else self._name(kind)

    def _name(self, kind: str) -> str:
        tokens = self._mentions.leaf("PER" if kind == "who" else "LOC")
        return " ".join(token for token, _ in tokens)


def _split(writer: _Writer, count: int, imbalance: float, draw: Draw, prefix: str) -> Dataset:
    columns: dict[str, list[Any]] = {
        name: [] for name in ("id", "title", "context", "question", "answers")
    }
    words = ends = 0
    context = ""
    facts: list[_Fact] = []
    starts: list[int] = []
    for number in range(count):
        if number % _QUESTIONS_A_PARAGRAPH == 0:
            due = (ends + 2 * _QUESTIONS_A_PARAGRAPH * (1 - UNANSWERABLE)) * (imbalance + 1) - words
            context, facts, starts = writer.paragraph(due / _QUESTIONS_A_PARAGRAPH)
        answerable = not draw.chance(UNANSWERABLE)
        question, about = writer.question(facts, answerable)
        text = [facts[about].answer] if answerable else []
        offset = [starts[about] + facts[about].start] if answerable else []
        columns["id"].append(f"{prefix}-{number}")
        columns["title"].append(f"paragraph {number // _QUESTIONS_A_PARAGRAPH}")
        columns["context"].append(context)
        columns["question"].append(question)
        columns["answers"].append({"text": text, "answer_start": offset})
        words += len(context.split())
        ends += 2 * answerable
    return to_dataset(columns, task="reading")


def reading(
    size: int = 1800,
    imbalance: float = 38.0,
    seed: int = 0,
    distractors: float = 0.1,
) -> DatasetDict:
    """Make a corpus of questions on short paragraphs; about a third has no answer.

    A paragraph tells of three objects: who did something to one, where one is, when one arrived,
    what one cost, three kinds of these four. Other sentences hold names, days and numbers that
    answer nothing. A question without an answer asks for the missing kind. A paragraph with
    distractors tells two more facts of one kind, so that only the object tells which is asked for,
    and half of its questions without an answer are of that kind, about another object.

    Args:
        size: questions of train, three to a paragraph; validation and test have a third each.
        imbalance: words of the context that neither start nor end an answer, per start or end of
            an answer, from 30. Sentences that no question asks about are added to reach it.
        seed: seed of the generator.
        distractors: share of the paragraphs with distractors, from 0 to 1.

    Returns:
        Rows of the reading form; a question without an answer has empty ``answers``.

    Raises:
        CorpusError: an argument is not what was expected.
    """
    check("en", size, imbalance, seed, lowest=30.0)
    if not 0 <= distractors <= 1:
        raise CorpusError(f"distractors: expected a number from 0 to 1, got {distractors!r}")
    splits: dict[str, Dataset] = {}
    train_mentions: dict[str, list[tuple[str, ...]]] = {}
    for split in SPLITS:
        draw = Draw(f"reading en {split} {seed}")
        mentions = Mentions("en", split, draw, train_mentions)
        writer = _Writer(draw, mentions, distractors)
        prefix = f"en-{split}-{seed}"
        splits[split] = _split(writer, rows(split, size), imbalance, draw, prefix)
        if split == "train":
            train_mentions = mentions.made
    return DatasetDict(splits)
