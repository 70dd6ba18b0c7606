"""The training sets of the paper's Table 8, for any corpus of sentence pairs.

``dicebook data augment_pairs --corpus qqp --out data`` writes five corpora, of which only
the training sets differ: ``qqp_original``, ``qqp_plus_positive``, ``qqp_plus_negative``,
``qqp_minus_negative`` and ``qqp_plus_both``. Load one with ``load("qqp_plus_positive",
task="pairs")``.

A new example is an old one (its template) with the entity mentions replaced by entities of the same
type, a mention that stands in both sentences by the same entity in both. So its label stays true.
Section 5.1 of the paper finds the mentions with spaCy and takes the entities from DBpedia; here
spaCy is used where it is installed, else the rule of ``data_scripts.mentions.rule_mentions``, and
the entities come from a list of yours (``--entities``) or from Faker.

A validation set that had to be drawn from train is drawn before anything is added, so that it holds
no template of a training example. The paper's sizes are those of the whole training set:
``--with-validation`` adds the validation set to it first, and then it measures nothing any more.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from datasets import Dataset, DatasetDict, concatenate_datasets

from dicelab.atomic import write_json
from dicelab.corpora import CorpusError, load
from dicelab.corpora.features import to_dataset

from .corpus import write
from .mentions import (
    Finder,
    Mention,
    faker_entities,
    ordinary_words,
    read_entities,
    rule_mentions,
    spacy_mentions,
)

#: What the paper prints of its QQP sets: examples, and per cent positive (Section 5.1).
PRINTED = {
    "original": (363_871, 37),
    "plus_positive": (458_477, 50),
    "plus_negative": (458_477, 21),
    "minus_negative": (269_165, 50),
    "plus_both": (458_477, 50),
}

#: Attempts for each new example before giving up.
ATTEMPTS = 50


class Target(NamedTuple):
    """How many positive and negative examples a training set must have."""

    positive: int
    negative: int


def targets(positive: int, negative: int) -> dict[str, Target]:
    """The exact sizes of the five sets.

    Written for QQP, where positives are the minority, they are: as it is; positives added until
    there are as many as negatives; as many examples in all, but by negatives added; negatives
    removed until there are as many as positives; as many examples in all as in the second, at the
    original ratio. Where positives are the majority, as in MRPC, it is they who are removed.

    The paper's +negative set cannot be both of 458,477 examples and 21% positive, unless positives
    are removed: it comes out at 29%. Its "+positive & +negative" set is said to keep the original
    distribution and to be 50% positive; it cannot be both, and here it keeps the distribution.

    Args:
        positive: Positive examples of the original training set.
        negative: Negative ones.

    Source:
        Section 5.1 of Li et al. (2020).
    """
    total = positive + negative
    less, more = sorted((positive, negative))
    share = round(2 * more * positive / total) if total else 0
    removed = "minus_negative" if positive <= negative else "minus_positive"
    return {
        "original": Target(positive, negative),
        "plus_positive": Target(2 * more - negative, negative),
        "plus_negative": Target(positive, 2 * more - positive),
        removed: Target(less, less),
        "plus_both": Target(share, 2 * more - share),
    }


_NUMERIC = {"NUMBER", "CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT", "DATE", "TIME"}


class Augmenter:
    """Makes new pairs out of old ones by replacing their entity mentions.

    Args:
        find: Finds the mentions of a sentence.
        entities: Names by type. A mention whose type is not among them stays as it is, unless it
            is a number, date or amount: then its digits change.
        seed: Of every draw.
    """

    def __init__(self, find: Finder, entities: Mapping[str, Sequence[str]], seed: int) -> None:
        self.find = find
        self.entities = entities
        self.random = random.Random(seed)
        self.by_sentence: dict[str, list[Mention]] = {}

    def mentions(self, sentence: str) -> list[Mention]:
        """The mentions of a sentence that can be replaced."""
        if sentence not in self.by_sentence:
            self.by_sentence[sentence] = [
                mention
                for mention in self.find(sentence)
                if mention.type in self.entities
                or (mention.type in _NUMERIC and re.search(r"\d", sentence[slice(*mention[:2])]))
            ]
        return self.by_sentence[sentence]

    def variant(self, pair: tuple[str, str]) -> tuple[str, str] | None:
        """The pair with all its mentions replaced, or None if it has none.

        Within the pair, equal mentions get equal entities and different ones different entities; a
        mention that is part of a longer one ("Butcher" of "Mike Butcher") gets the last words of
        the longer one's entity.
        """
        texts: dict[str, str] = {}
        for sentence in pair:
            for mention in self.mentions(sentence):
                texts.setdefault(sentence[mention.start : mention.end], mention.type)
        if not texts:
            return None
        new: dict[str, str] = {}
        for text in sorted(texts, key=lambda text: (-len(text), text)):
            new[text] = self._part(text, new) or self._entity(text, texts[text], new)
        first, second = (self._rewrite(sentence, new) for sentence in pair)
        return first, second

    def _part(self, text: str, new: Mapping[str, str]) -> str | None:
        words = text.split()
        if text[0].isdigit():
            return None
        for longer, entity in new.items():
            if set(words) < set(longer.split()) and len(entity.split()) > len(words):
                return " ".join(entity.split()[-len(words) :])
        return None

    def _entity(self, text: str, type_: str, new: Mapping[str, str]) -> str:
        taken = {text, *new.values()}
        for _ in range(ATTEMPTS):
            names = self.entities.get(type_)
            entity = self.random.choice(names) if names else self._other_digits(text)
            if entity not in taken:
                return entity
        return text  # a type with too few names: keep this mention

    def _other_digits(self, text: str) -> str:
        return re.sub(
            r"\d+",
            lambda m: "".join(
                self.random.choice("0123456789" if place else "123456789")
                for place in range(len(m[0]))
            ),
            text,
        )

    def _rewrite(self, sentence: str, new: Mapping[str, str]) -> str:
        pieces, end = [], 0
        for mention in self.mentions(sentence):
            pieces += [sentence[end : mention.start], new[sentence[mention.start : mention.end]]]
            end = mention.end
        return "".join([*pieces, sentence[end:]])

    def make(self, templates: Sequence[tuple[str, str]], number: int, known_pairs: set) -> list:
        """New pairs, each unlike every pair seen.

        Args:
            templates: The pairs of one label.
            number: How many to make.
            known_pairs: All pairs so far; the new ones are added.

        Raises:
            CorpusError: The templates do not yield so many.
        """
        made: list[tuple[str, str]] = []
        for _ in range(ATTEMPTS * number if templates else 0):
            if len(made) == number:
                break
            pair = self.variant(self.random.choice(templates))
            if pair is not None and pair not in known_pairs:
                known_pairs.add(pair)
                made.append(pair)
        if len(made) < number:
            usable = sum(any(map(self.mentions, pair)) for pair in templates)
            raise CorpusError(
                f"expected {number:,} new pairs, got {len(made):,}: {usable:,} of "
                f"{len(templates):,} templates have a mention that can be replaced"
            )
        return made


def build(train: Dataset, target: Target, augmenter: Augmenter) -> Dataset:
    """A training set of exactly the target's size: old examples in order, then new ones.

    Args:
        train: The original training set.
        target: How many positive and negative examples it shall have. A class that has more is
            sampled down; to one that has fewer, new examples are added.
        augmenter: Makes the new ones.

    Raises:
        CorpusError: The corpus does not yield so many new examples.
    """
    pairs = list(zip(train["sentence1"], train["sentence2"], strict=True))
    labels = train["label"][:]
    known_pairs = set(pairs)
    keep: set[int] = set()
    new: list[tuple[tuple[str, str], int]] = []
    for label, size in ((1, target.positive), (0, target.negative)):
        members = [place for place, row_label in enumerate(labels) if row_label == label]
        keep.update(members if size >= len(members) else augmenter.random.sample(members, size))
        missing = max(0, size - len(members))
        made = augmenter.make([pairs[place] for place in members], missing, known_pairs)
        new += [(pair, label) for pair in made]
    rows = [(pairs[place], labels[place]) for place in sorted(keep)] + new
    built = {
        "sentence1": [pair[0] for pair, _ in rows],
        "sentence2": [pair[1] for pair, _ in rows],
        "label": [label for _, label in rows],
    }
    counts = Counter(built["label"])
    if (counts[1], counts[0]) != target:
        raise CorpusError(f"expected {target}, got {counts[1]} and {counts[0]}")
    return to_dataset(built, task="pairs")


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; 0, or 1 after one clear sentence on stderr."""
    options = _parser().parse_args(argv)
    try:
        return _run(options)
    except CorpusError as error:
        print(f"augment_pairs: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dicebook data augment_pairs", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--corpus", required=True, help="a prepared corpus (qqp), or a path")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(os.environ.get("DICEBOOK_DATA", "data")),
        help="folder of all corpora (default: $DICEBOOK_DATA, else data)",
    )
    parser.add_argument("--name", help="first part of the new corpora's names (default: CORPUS's)")
    parser.add_argument("--entities", type=Path, help="your entities: a line is type, tab, name")
    parser.add_argument(
        "--mentions",
        choices=("auto", "rule", "spacy"),
        default="auto",
        help="who finds the mentions; auto is spaCy if it is installed with the model, else a rule",
    )
    parser.add_argument("--model", default="en_core_web_sm", help="spaCy's pipeline")
    parser.add_argument("--seed", type=int, default=0, help="seed of every draw")
    parser.add_argument(
        "--with-validation",
        action="store_true",
        help="add the validation set to the training set first",
    )
    parser.add_argument(
        "--set",
        dest="sets",
        action="append",
        type=_named_target,
        default=[],
        metavar="NAME=POSITIVE,NEGATIVE",
        help="make these sets of these sizes in place of the five; may be given several times",
    )
    return parser


def _named_target(text: str) -> tuple[str, Target]:
    match = re.fullmatch(r"(\w+)=(\d+),(\d+)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"expected NAME=POSITIVE,NEGATIVE, got {text!r}")
    return match[1], Target(int(match[2]), int(match[3]))


def _run(options: argparse.Namespace) -> int:
    corpus: DatasetDict = load(options.corpus, task="pairs", root=options.out, seed=options.seed)
    train = corpus["train"]
    if options.with_validation:
        train = concatenate_datasets([train, corpus["validation"]])
    name = options.name or Path(options.corpus).stem
    find, finder = _finder(options, train)
    entities = read_entities(options.entities) if options.entities else faker_entities(options.seed)
    source = str(options.entities.name) if options.entities else "Faker"
    counts = Counter(train["label"])
    named_targets = dict(options.sets) or targets(counts[1], counts[0])
    print(f"Mentions: {finder}. Entities: {source}. Seed: {options.seed}.")
    print(f"{'set':16} {'positive':>10} {'negative':>10} {'all':>10} {'positive':>9}  paper's QQP")
    mentions: dict[str, list[Mention]] = {}
    for set_name, target in named_targets.items():
        augmenter = Augmenter(find, entities, options.seed)
        augmenter.by_sentence = mentions  # found once for all sets
        built = build(train, target, augmenter)
        folder = options.out / f"{name}_{set_name}"
        for split, data in {**corpus, "train": built}.items():
            path = write(data, folder / split, task="pairs")
            _check(path, data)
        card = {
            "name": folder.name,
            "made_from": name,
            "set": set_name,
            "train": target._asdict(),
            "original_train": Target(counts[1], counts[0])._asdict(),
            "mentions": finder,
            "entities": source,
            "with_validation": options.with_validation,
            "seed": options.seed,
            "source": "Li et al. (2020), Section 5.1",
        }
        write_json(folder / "card.json", card)
        size = sum(target)
        paper = "{:,} at {}%".format(*PRINTED[set_name]) if set_name in PRINTED else "-"
        print(
            f"{set_name:16} {target.positive:10,} {target.negative:10,} {size:10,} "
            f"{target.positive / max(1, size):9.1%}  {paper}"
        )
    return 0


def _finder(options: argparse.Namespace, train: Dataset) -> tuple[Finder, str]:
    if options.mentions != "rule":
        try:
            return spacy_mentions(options.model), f"spaCy {options.model}"
        except CorpusError:
            if options.mentions == "spacy":
                raise
    sentences = [*train["sentence1"], *train["sentence2"]]
    return rule_mentions(ordinary_words(sentences)), "rule (capitalised runs and numbers)"


def _check(path: Path, data: Dataset) -> None:
    """What was written must be what was made, to the last example."""
    with path.open(encoding="utf-8") as file:
        written = [json.loads(line) for line in file]
    if written != data.to_list():
        raise CorpusError(f"{path}: expected what was written, got something else")


if __name__ == "__main__":
    raise SystemExit(main())
