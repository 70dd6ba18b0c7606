"""The embedded corpus of named entities: people, places, organisations and products."""

from __future__ import annotations

from collections.abc import Callable

from datasets import Dataset, DatasetDict

from data_scripts.embedded import entities_en, entities_zh
from data_scripts.embedded.arguments import check, rows
from data_scripts.embedded.draw import Draw
from data_scripts.embedded.grammar import Grammar, Labelled
from data_scripts.embedded.names import SPLITS, Language, Split, lists, of_split
from dicelab.corpora.forms import to_dataset

TYPES = ("PER", "LOC", "ORG", "PRODUCT")

REPEATED = 0.25
"""Share of the mentions of validation and test that are drawn from the mentions of train."""

_LOWERCASED = 0.08
_BARE = 0.15  # mentions that are a single name, which any type could bear


class Mentions:
    """Draws the surface of an entity: its tokens.

    Args:
        language: ``"en"`` or ``"zh"``.
        split: the split whose names are used.
        draw: where the choices come from.
        train_mentions: for each type the mentions of train, from which a share is repeated;
            empty for train.
    """

    def __init__(
        self,
        language: Language,
        split: Split,
        draw: Draw,
        train_mentions: dict[str, list[tuple[str, ...]]],
    ) -> None:
        words: dict[str, tuple[str, ...]] = (
            {"thing": entities_en.RULES["thing"]}
            if language == "en"
            else {"person_word": entities_zh.PERSON_WORDS, "noun": entities_zh.NOUN_WORDS}
        )
        everything = lists(language) | words
        self._names = {kind: of_split(names, split) for kind, names in everything.items()}
        self._draw = draw
        self._train_mentions = train_mentions
        self._known = {surface for surfaces in train_mentions.values() for surface in surfaces}
        self._forms: dict[str, Callable[[], str]] = (
            {
                "PER": self._person,
                "LOC": self._place,
                "ORG": self._company,
                "PRODUCT": self._product,
            }
            if language == "en"
            else {
                "PER": self._person_zh,
                "LOC": self._place_zh,
                "ORG": self._company_zh,
                "PRODUCT": self._product_zh,
            }
        )
        self._tokens: Callable[[str], list[str]] = str.split if language == "en" else list
        self.made: dict[str, list[tuple[str, ...]]] = {kind: [] for kind in TYPES}

    def leaf(self, slot: str) -> Labelled:
        """Return the tokens of a mention with their IOB2 tags.

        Args:
            slot: a type, or ``"ANY"`` for any type by a bare name that does not tell which.
        """
        kind = self._draw.pick(TYPES) if slot == "ANY" else slot
        tokens = self._surface(kind, bare=slot == "ANY")
        if self._draw.chance(REPEATED) and self._train_mentions.get(kind):
            tokens = self._draw.pick(self._train_mentions[kind])
        else:
            while tokens in self._known:
                tokens = self._surface(kind, bare=slot == "ANY")
        self.made[kind].append(tokens)
        return [(t, f"I-{kind}" if i else f"B-{kind}") for i, t in enumerate(tokens)]

    def _surface(self, kind: str, bare: bool) -> tuple[str, ...]:
        return tuple(self._tokens(self._any() if bare else self._forms[kind]()))

    def _name(self, kind: str) -> str:
        return self._draw.pick(self._names[kind])

    def _any(self) -> str:
        return self._name("noun" if "noun" in self._names else "family")

    def _person(self) -> str:
        draw = self._draw
        if draw.chance(_BARE):
            return self._name("family")
        return self._name("given") + (" " + self._name("family") if draw.chance(0.7) else "")

    def _place(self) -> str:
        draw = self._draw
        if draw.chance(_BARE):
            return self._name("family")
        town = self._name(draw.pick(("given", "family"))) + draw.pick(entities_en.TOWN_ENDS)
        return (draw.pick(entities_en.TOWN_STARTS) + " " if draw.chance(0.3) else "") + town

    def _company(self) -> str:
        draw = self._draw
        if draw.chance(_BARE):
            return self._name("family")
        form = draw.pick(entities_en.COMPANY_FORMS)
        return form.format(
            name=self._name("family"), other=self._name("family"), place=self._place()
        )

    def _product(self) -> str:
        draw = self._draw
        if draw.chance(_BARE):
            return self._name("family")
        name = self._name(draw.pick(("family", "thing"))).capitalize()
        return name + " " + draw.pick(entities_en.PRODUCT_ENDS)

    def _person_zh(self) -> str:
        draw = self._draw
        if draw.chance(_BARE):
            return self._name("person_word")
        given_name = self._name("given")
        if len(given_name) == 1 and draw.chance(0.4):
            given_name += self._name("given")[0]
        return self._name("family") + given_name

    def _place_zh(self) -> str:
        draw = self._draw
        name = self._name("noun" if draw.chance(_BARE) else "place")
        return name + draw.pick(entities_zh.PLACE_ENDS)

    def _company_zh(self) -> str:
        draw = self._draw
        if draw.chance(0.4):
            return self._name("place") + draw.pick(entities_zh.INSTITUTE_ENDS)
        if draw.chance(_BARE):
            return self._name("noun")
        return self._name(draw.pick(("company", "noun"))) + draw.pick(entities_zh.COMPANY_ENDS)

    def _product_zh(self) -> str:
        draw = self._draw
        name = self._name(draw.pick(("company", "noun")))
        return name if draw.chance(_BARE) else name + draw.pick(entities_zh.PRODUCT_ENDS)


def _sentences(
    language: Language, count: int, imbalance: float, draw: Draw, mentions: Mentions
) -> list[Labelled]:
    source = entities_en if language == "en" else entities_zh
    text = str.split if language == "en" else list
    grammar = Grammar(source.RULES, mentions.leaf, lambda piece: [(t, "O") for t in text(piece)])
    sentences: list[Labelled] = []
    negative = positive = 0
    for _ in range(count):
        if negative < imbalance * positive:
            templates = source.NONE
        elif negative <= 1.05 * imbalance * positive or not positive:
            templates = source.PLAIN
        else:
            templates = source.DENSE
        sentence = grammar.fill(draw.pick(templates), draw)
        if language == "en":
            sentence = _cased(sentence, draw)
        outside = sum(tag == "O" for _, tag in sentence)
        negative += outside
        positive += len(sentence) - outside
        sentences.append(sentence)
    return draw.shuffled(sentences)


def _cased(sentence: Labelled, draw: Draw) -> Labelled:
    if draw.chance(_LOWERCASED):
        return [(token.lower(), tag) for token, tag in sentence]
    (first, tag), *rest = sentence
    return [(first[0].upper() + first[1:], tag), *rest]


def entities(
    language: Language = "en", size: int = 600, imbalance: float = 7.0, seed: int = 0
) -> DatasetDict:
    """Make a corpus of sentences with people, places, organisations and products.

    Names of the three splits come from three disjoint parts of the name lists; one mention in four
    of validation and test repeats a mention of train. Some names say nothing of their type, some
    sentences say nothing either, and some sentences are written in lower case, so that a perfect
    score is out of reach.

    Args:
        language: ``"en"`` (a token is a word) or ``"zh"`` (a token is a character).
        size: sentences of train; validation and test have a third of it each.
        imbalance: tokens outside of entities per token inside, from 1.5. Reached within about 5 per
            cent by a split of 200 sentences or more.
        seed: seed of the generator.

    Returns:
        Rows of the tagging form: ``tokens`` and IOB2 ``tags`` of PER, LOC, ORG and PRODUCT.

    Raises:
        CorpusError: an argument is not what was expected.
    """
    check(language, size, imbalance, seed, lowest=1.5)
    splits: dict[str, Dataset] = {}
    train_mentions: dict[str, list[tuple[str, ...]]] = {}
    for split in SPLITS:
        draw = Draw(f"entities {language} {split} {seed}")
        mentions = Mentions(language, split, draw, train_mentions)
        sentences = _sentences(language, rows(split, size), imbalance, draw, mentions)
        if split == "train":
            train_mentions = mentions.made
        columns = {
            "tokens": [[token for token, _ in sentence] for sentence in sentences],
            "tags": [[tag for _, tag in sentence] for sentence in sentences],
        }
        splits[split] = to_dataset(columns, task="tagging")
    return DatasetDict(splits)
