"""Entity mentions in a sentence, and entities to put in their place."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dicelab.corpora.errors import CorpusError
from dicelab.corpora.text import read_lines
from dicelab.extras import need

#: Entities drawn from Faker for each type.
POOL = 1_000


class Mention(NamedTuple):
    """An entity mention: ``sentence[start:end]``, of a type such as PERSON."""

    start: int
    end: int
    type: str


#: sentence -> its mentions, in order, without overlap.
Finder = Callable[[str], list[Mention]]


_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w])")
_WORD = re.compile(r"[^\W\d_](?:[\w&'’.-]*\w)?")
_ORGANISATION = {
    *("Agency", "Airlines", "Association", "Bank", "Co", "College", "Commission", "Committee"),
    *("Company", "Corp", "Corporation", "Court", "Department", "Group", "Inc", "Institute"),
    *("LLC", "Ltd", "Ministry", "Party", "University"),
}
_CALENDAR = {
    "DAY": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "MONTH": [
        *("January", "February", "March", "April", "May", "June", "July", "August"),
        *("September", "October", "November", "December"),
    ],
}
_CALENDAR_TYPE = {name: type_ for type_, names in _CALENDAR.items() for name in names}
_PLACE_BEFORE = {"in", "near", "from", "at", "to", "across", "outside"}


def rule_mentions(ordinary: frozenset[str]) -> Finder:
    """A finder without a model, for English: numbers and runs of capitalised words.

    A number is NUMBER. A run of capitalised words, separated by single blanks, is ORG if its last
    word says so (Inc, University, ...) or if it is one word all in capitals; GPE after a
    preposition of place; PERSON if it has two or three words; else NAME. Days and months are DAY
    and MONTH. An ordinary word begins no run: it is capitalised for the head of a sentence.

    Args:
        ordinary: Ordinary words, in lower case: see :func:`ordinary_words`.
    """

    def find(sentence: str) -> list[Mention]:
        mentions: list[Mention] = []
        run: list[re.Match[str]] = []
        before = ""
        for word in _WORD.finditer(sentence):
            calendar = word[0] in _CALENDAR_TYPE or (run and run[-1][0] in _CALENDAR_TYPE)
            joined = run and sentence[run[-1].end() : word.start()] == " " and not calendar
            capital = word[0][0].isupper() and word[0] != "I"
            name = capital and (joined or word[0].lower() not in ordinary)
            if run and not (name and joined):
                mentions.append(_run_mention(run, before))
                before, run = run[-1][0], []
            if name:
                run.append(word)
            else:
                before = word[0]
        if run:
            mentions.append(_run_mention(run, before))
        for number in _NUMBER.finditer(sentence):
            if not any(run.start < number.end() and number.start() < run.end for run in mentions):
                mentions.append(Mention(number.start(), number.end(), "NUMBER"))
        return sorted(mentions)

    return find


def _run_mention(run: Sequence[re.Match[str]], before: str) -> Mention:
    words = [word[0] for word in run]
    if len(run) == 1 and words[0] in _CALENDAR_TYPE:
        type_ = _CALENDAR_TYPE[words[0]]
    elif words[-1] in _ORGANISATION or (len(run) == 1 and len(words[0]) > 1 and words[0].isupper()):
        type_ = "ORG"
    elif before.lower() in _PLACE_BEFORE:
        type_ = "GPE"
    else:
        type_ = "PERSON" if 2 <= len(run) <= 3 else "NAME"
    return Mention(run[0].start(), run[-1].end(), type_)


def ordinary_words(sentences: Iterable[str]) -> frozenset[str]:
    """The words that the sentences write in lower case at least as often as with a capital."""
    words = Counter(word[0] for text in sentences for word in _WORD.finditer(text))
    capitals: Counter[str] = Counter()
    for word, number in words.items():
        if not word[0].islower():
            capitals[word.lower()] += number
    return frozenset(w for w, number in words.items() if w.islower() and number >= capitals[w])


def spacy_mentions(model: str) -> Finder:
    """A finder that asks spaCy's named entity recogniser.

    Args:
        model: The name of an installed pipeline, such as ``en_core_web_sm``.

    Raises:
        CorpusError: spaCy or the pipeline is not installed.
    """
    try:
        import spacy

        nlp = spacy.load(model, exclude=["lemmatizer", "parser", "attribute_ruler"])
    except (ImportError, OSError) as error:
        raise CorpusError(
            f"expected spaCy with the pipeline {model!r}, got: {error}. Install both, or choose "
            "--mentions rule"
        ) from None

    def find(sentence: str) -> list[Mention]:
        return [Mention(e.start_char, e.end_char, e.label_) for e in nlp(sentence).ents]

    return find


def read_entities(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Read a list of entities, such as an extract of DBpedia: a line is type, tab, name.

    Raises:
        CorpusError: A line is not that, or there is none.
    """
    entities: defaultdict[str, list[str]] = defaultdict(list)
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        type_, _, name = (part.strip() for part in line.partition("\t"))
        if not (type_ and name) or "\t" in name:
            problem = f"expected a type, a tab and a name, got {line[:60]!r}"
            raise CorpusError.at(path, number, problem)
        entities[type_].append(name)
    if not entities:
        raise CorpusError.at(path, 0, "expected entities, got none")
    return dict(entities)


def faker_entities(seed: int) -> dict[str, list[str]]:
    """Entities by type, made up by Faker from a seed; types as spaCy and the rule name them."""
    need("generate")
    from faker import Faker

    fake = Faker("en_US")
    fake.seed_instance(seed)
    makers = {
        "PERSON": lambda: f"{fake.first_name()} {fake.last_name()}",
        "ORG": fake.company,
        "GPE": fake.city,
        "LOC": fake.city,
        "FAC": fake.street_name,
        "NAME": fake.last_name,
    }
    made = {type_: [make() for _ in range(POOL)] for type_, make in makers.items()}
    return {type_: list(dict.fromkeys(names)) for type_, names in made.items()} | _CALENDAR
