"""The embedded corpus of parts of speech."""

from __future__ import annotations

from datasets import Dataset, DatasetDict

from data_scripts.embedded import entities_zh, parts_en, parts_zh
from data_scripts.embedded.arguments import check, rows
from data_scripts.embedded.draw import Draw
from data_scripts.embedded.grammar import Grammar, Labelled
from data_scripts.embedded.names import SPLITS, Language, Split, lists, of_split
from dicelab.corpora.forms import to_dataset

RARE = ("INTJ", "NUM", "PROPN")
"""The tags that the imbalance counts as positive."""

_Words = dict[str, tuple[tuple[str, ...], str]]


def _plural(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "sh", "ch", "x", "z")) else "s")


def _open_classes(language: Language, split: Split) -> _Words:
    """Return slot -> its words in this split and their tag."""
    if language == "zh":
        names = {kind: of_split(words, split) for kind, words in lists("zh").items()}
        given_names = names["given"]
        full = tuple(f + given_names[i % len(given_names)] for i, f in enumerate(names["family"]))
        double = of_split(parts_zh.HOMOGRAPHS, split)
        shade = of_split(parts_zh.SHADES, split)
        return {
            "V": (double, "VERB"),
            "H": (double, "NOUN"),
            "A": (shade, "ADJ"),
            "S": (shade, "NOUN"),
            "P": (of_split(parts_zh.PEOPLE, split), "NOUN"),
            "N": (of_split(parts_zh.THINGS, split), "NOUN"),
            "PN": (full + of_split(entities_zh.PERSON_WORDS, split), "PROPN"),
            "PL": (names["place"] + of_split(entities_zh.NOUN_WORDS, split), "PROPN"),
        }
    double = of_split(parts_en.HOMOGRAPHS, split)
    shade = of_split(parts_en.SHADES, split)
    people = of_split(parts_en.PEOPLE, split)
    things = of_split(parts_en.THINGS, split)
    people_names = of_split(lists("en")["given"], split) + of_split(lists("en")["family"], split)
    return {
        "V": (double, "VERB"),
        "VS": (tuple(map(_plural, double)), "VERB"),
        "H": (double, "NOUN"),
        "HS": (tuple(map(_plural, double)), "NOUN"),
        "A": (shade, "ADJ"),
        "S": (shade, "NOUN"),
        "P": (people, "NOUN"),
        "PS": (tuple(map(_plural, people)), "NOUN"),
        "N": (things, "NOUN"),
        "PN": (people_names, "PROPN"),
    }


def _tagged(text: str) -> Labelled:
    pairs = (token.rsplit("/", 1) for token in text.split())
    return [(word, tag) for word, tag in pairs]


def _sentences(
    language: Language, split: Split, count: int, imbalance: float, draw: Draw
) -> list[Labelled]:
    source = parts_en if language == "en" else parts_zh
    words = _open_classes(language, split)

    def leaf(slot: str) -> Labelled:
        choices, tag = words[slot]
        return [(draw.pick(choices), tag)]

    grammar = Grammar(source.RULES, leaf, _tagged)
    sentences: list[Labelled] = []
    common = rare = 0
    for _ in range(count):
        if common < imbalance * rare:
            templates = source.COMMON
        elif common <= 1.05 * imbalance * rare or not rare:
            templates = source.RARE
        else:
            templates = source.DENSE
        sentence = grammar.fill(draw.pick(templates), draw)
        if language == "en":
            (first, tag), *rest = sentence
            sentence = [(first[0].upper() + first[1:], tag), *rest]
        positive = sum(tag in RARE for _, tag in sentence)
        rare += positive
        common += len(sentence) - positive
        sentences.append(sentence)
    return draw.shuffled(sentences)


def pos(
    language: Language = "en", size: int = 600, imbalance: float = 8.0, seed: int = 0
) -> DatasetDict:
    """Make a corpus of words with their parts of speech.

    Most words of the open classes are ambiguous: a noun and a verb ("walk"), an adjective and a
    noun ("cold"), an auxiliary and a noun ("can"), a preposition and an adverb ("in"). Of the names
    and the words of the open classes four in ten belong to one split alone.

    Args:
        language: ``"en"`` or ``"zh"``; a token is a word in both.
        size: sentences of train; validation and test have a third of it each.
        imbalance: tokens of all other tags per token of the rare tags (``RARE``: interjections,
            numerals and proper nouns), from 1.5. Reached within about 5 per cent by a split of 200
            sentences or more.
        seed: seed of the generator.

    Returns:
        Rows of the tagging form: ``tokens`` and ``tags``, the tags of Universal Dependencies.

    Raises:
        CorpusError: an argument is not what was expected.
    """
    check(language, size, imbalance, seed, lowest=1.5)
    splits: dict[str, Dataset] = {}
    for split in SPLITS:
        draw = Draw(f"pos {language} {split} {seed}")
        sentences = _sentences(language, split, rows(split, size), imbalance, draw)
        columns = {
            "tokens": [[token for token, _ in sentence] for sentence in sentences],
            "tags": [[tag for _, tag in sentence] for sentence in sentences],
        }
        splits[split] = to_dataset(columns, task="tagging")
    return DatasetDict(splits)
