"""The generator of the embedded corpora: forms, imbalance, and that it makes what is packaged."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_scripts import embedded
from data_scripts.embedded.__main__ import FOLDER, lines, main
from data_scripts.embedded.card import counts, digest, table
from data_scripts.embedded.draw import Draw
from data_scripts.embedded.entity_tags import REPEATED
from data_scripts.embedded.names import fingerprint, lists, of_split
from dicelab.corpora import EMBEDDED, CorpusError, validate

FINGERPRINT = "544acf1991fbbbd99b329bdb4415db7786d16adfeb0614931587fc18056ad761"
DIGESTS = {
    "embedded-pos-en": "741eb24470cfc11e9b13d4e6dd9acc76e7d9b98d534378930d9387db12ecebfd",
    "embedded-entities-en": "33d3b500a7a58f1e97a2ff08611a2d61286438ce95e0dabdfb83e70b95ba9cc6",
    "embedded-reading-en": "a11bbea36fd1f18d32bfecfb066c238da72e8c57792878f946be53502e3dec4a",
    "embedded-paraphrases-en": "59c10fabde7bb8eec772d2c8655dc9c3390615c10dc6739c4a7596e50d202bf7",
    "embedded-sentiment-en": "470f7c475a8bdd9791638dac20f66b4de1ae824e6eb3cc2f7ee92d367d2dde21",
    "embedded-pos-zh": "495d255f5fcecefd619ea21f0fd51c9b3d263b6cc55bf5b19790e198ceede928",
    "embedded-entities-zh": "2a567a589d23c9ac081de4fc5486de1894f29f5b550e3915c288a44a1715d898",
    "embedded-paraphrases-zh": "d6bd22bab286905429244ccb2b6f7afcec5840557a1649c4d4738b6c7efbbc06",
    "embedded-labels-en": "dc86b68ac5e700182e7f4dff1cab374a89a21585582bd8fb5d25f9eeb3ad33c4",
}
TAGGED = ["embedded-entities-en", "embedded-entities-zh", "embedded-pos-en", "embedded-pos-zh"]


def mentions(split):
    """Surfaces of the entities, read off the IOB2 tags."""
    found = []
    for tokens, tags in zip(split["tokens"], split["tags"], strict=True):
        for token, tag in zip(tokens, tags, strict=True):
            if tag.startswith("B-"):
                found.append([token])
            elif tag.startswith("I-"):
                found[-1].append(token)
    return [tuple(token.lower() for token in surface) for surface in found]


def test_the_names_of_faker_are_the_ones_the_corpora_were_pinned_with():
    assert fingerprint() == FINGERPRINT, "Faker's lists changed: pin new digests, raise VERSION"


@pytest.mark.parametrize("name", embedded.NAMES)
def test_a_corpus_stays_what_it_is(name):
    assert digest(embedded.load(name)) == DIGESTS[name]


@pytest.mark.generator
def test_a_corpus_does_not_depend_on_the_hash_seed():
    code = (
        "from data_scripts import embedded\n"
        "from data_scripts.embedded.card import digest\n"
        "print([digest(embedded.load(name, size=40)) for name in embedded.NAMES])"
    )
    here = str([digest(embedded.load(name, size=40)) for name in embedded.NAMES])
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        run = [sys.executable, "-c", code]
        there = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
        assert there.stdout.strip() == here


@pytest.mark.parametrize("name", ["embedded-pos-zh", "embedded-sentiment-en"])
def test_the_packaged_file_is_what_the_generator_makes_byte_for_byte(name, capsys):
    packed = (FOLDER / f"{name}.jsonl.gz").read_bytes()
    assert lines(name) == gzip.decompress(packed)
    assert main([name]) == 0  # and so it is not written again
    assert (FOLDER / f"{name}.jsonl.gz").read_bytes() == packed
    assert capsys.readouterr().out == f"{name}: as it was\n"


def test_a_packaged_file_that_differs_is_told_and_mended(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("data_scripts.embedded.__main__.FOLDER", tmp_path)
    name = "embedded-pos-en"
    assert main([name, "--check"]) == 1
    assert capsys.readouterr().out == f"{name}: differs\n"
    assert not list(tmp_path.iterdir())
    assert main([name]) == 0
    made = (tmp_path / f"{name}.jsonl.gz").read_bytes()
    assert gzip.decompress(made) == gzip.decompress((FOLDER / f"{name}.jsonl.gz").read_bytes())


def test_no_sentence_of_sentiment_stands_in_two_splits():
    corpus = embedded.sentiment(size=900, seed=2)
    splits = [set(split["sentence"]) for split in corpus.values()]
    assert len(set.union(*splits)) == sum(map(len, splits))


@pytest.mark.parametrize("name", embedded.NAMES)
@pytest.mark.parametrize("size", [1, 50])
def test_every_split_has_its_form_and_its_size(name, size):
    corpus = embedded.load(name, size=size, seed=7)
    assert {split: len(corpus[split]) for split in corpus} == {
        "train": size,
        "validation": max(1, size // 3),
        "test": max(1, size // 3),
    }
    for split in corpus.values():
        validate(split, task=EMBEDDED[name])


@pytest.mark.parametrize("name", embedded.NAMES)
@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_the_imbalance_is_reached(name, factor):
    task, _ = embedded.NAMES[name]
    usual = {"reading": 32.0, "pos": 4.0, "entities": 4.0, "labels": 4.0}
    imbalance = factor * usual.get(task, 2.0)
    _, negative, positive = counts(name, embedded.load(name, size=300, imbalance=imbalance))
    assert negative / positive == pytest.approx(imbalance, rel=0.06)


@settings(max_examples=10, deadline=None)
@given(st.floats(1.5, 60), st.integers(0, 10**9))
def test_the_entities_reach_any_imbalance(imbalance, seed):
    corpus = embedded.entities("en", size=400, imbalance=imbalance, seed=seed)
    _, negative, positive = counts("embedded-entities-en", corpus)
    assert negative / positive == pytest.approx(imbalance, rel=0.1)


@pytest.mark.parametrize("name", ["embedded-entities-en", "embedded-entities-zh"])
def test_tags_are_iob2_and_every_type_occurs_in_every_split(name):
    for split in embedded.load(name).values():
        for tags in split["tags"]:
            for before, tag in pairwise(["O", *tags]):
                if tag.startswith("I-"):
                    assert before[2:] == tag[2:]
        starts = {tag for tags in split["tags"] for tag in tags if tag.startswith("B-")}
        assert starts == {"B-PER", "B-LOC", "B-ORG", "B-PRODUCT"}


@pytest.mark.parametrize("name", ["embedded-entities-en", "embedded-entities-zh"])
@pytest.mark.parametrize("split", ["validation", "test"])
def test_only_the_stated_share_of_mentions_is_seen_in_train(name, split):
    corpus = embedded.load(name, size=1500, seed=1)
    known = set(mentions(corpus["train"]))
    share = [surface in known for surface in mentions(corpus[split])]
    assert sum(share) / len(share) == pytest.approx(REPEATED, abs=0.08)


def test_validation_and_test_share_no_names_but_the_common_ones():
    names = lists("en")["family"]
    train, test = set(of_split(names, "train")), set(of_split(names, "test"))
    assert len(train & test) / len(names) == pytest.approx(0.6, abs=0.05)
    assert test - train


@pytest.mark.parametrize("name", TAGGED)
def test_words_are_ambiguous(name):
    """More than a tenth of the tokens belong to a word that has two tags in train."""
    train = embedded.load(name)["train"]
    tags: dict[str, set[str]] = {}
    for words, row in zip(train["tokens"], train["tags"], strict=True):
        for word, tag in zip(words, row, strict=True):
            tags.setdefault(word.lower(), set()).add(tag)
    words = [word.lower() for row in train["tokens"] for word in row]
    assert sum(len(tags[word]) > 1 for word in words) / len(words) > 0.1


QUESTION_AND_FACTS = {
    r"Who (\w+) the (\w+) \?": (r"(\S+(?: \S+)?) {0} the {1} \.",),
    r"By whom was the (\w+) (\w+) \?": (r"The {0} was {1} by (\S+(?: \S+)?) \.",),
    r"Where is the (\w+) \?": (
        r"The {0} stands in ([^.]+) \.",
        r"You will find the {0} in ([^.]+) \.",
    ),
    r"When did the (\w+) arrive \?": (
        r"The {0} arrived on (\w+) \.",
        r"On (\w+) the {0} arrived at last \.",
    ),
    r"How much did the (\w+) cost \?": (
        r"The {0} cost (\w+) coins \.",
        r"The price of the {0} was (\w+) coins \.",
    ),
    r"What was the price of the (\w+) \?": (
        r"The {0} cost (\w+) coins \.",
        r"The price of the {0} was (\w+) coins \.",
    ),
}


def told(context, question):
    """Answers to a question by hand-written patterns, a second opinion on the generator."""
    found = set()
    for asked, facts in QUESTION_AND_FACTS.items():
        match = re.fullmatch(asked, question)
        if match is None:
            continue
        for fact in facts:
            pattern = r"(?:^|(?<=\. ))" + fact.format(*match.groups())
            found |= set(re.findall(pattern, context))
    return found


def test_a_question_has_the_one_answer_that_its_paragraph_tells():
    participles = {"hid": "hidden", "broke": "broken"}
    back = {value: key for key, value in participles.items()}
    answered = 0
    for row in embedded.reading(size=600, seed=1, distractors=0.5)["train"]:
        question, context = row["question"], row["context"]
        answers = told(context, question)
        # Who did it stands in the active or in the passive, whichever way the question asks.
        if active := re.fullmatch(r"Who (\w+) the (\w+) \?", question):
            verb, thing = active.groups()
            verb = participles.get(verb, verb)
            answers |= told(context, f"By whom was the {thing} {verb} ?")
        elif passive := re.fullmatch(r"By whom was the (\w+) (\w+) \?", question):
            thing, verb = passive.groups()
            answers |= told(context, f"Who {back.get(verb, verb)} the {thing} ?")
        assert answers == set(row["answers"]["text"]), (question, context)
        answered += bool(answers)
    assert answered / 600 == pytest.approx(2 / 3, abs=0.06)


def test_negatives_of_the_paraphrases_share_as_many_words_as_paraphrases_do():
    shared: dict[int, list[float]] = {0: [], 1: []}
    for row in embedded.paraphrases("en")["train"]:
        first, second = (set(row[f"sentence{i}"].lower().split()) for i in (1, 2))
        shared[row["label"]].append(len(first & second) / len(first | second))
    means = {label: sum(values) / len(values) for label, values in shared.items()}
    assert means[0] > means[1] - 0.1


def test_the_labels_have_the_exact_ratio():
    labels = list(embedded.sentiment(size=1000, imbalance=4)["train"]["label"])
    assert (labels.count(0), labels.count(1)) == (800, 200)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"language": "fr"}, "language: expected 'en' or 'zh', got 'fr'"),
        ({"size": 0}, "size: expected .* from 1, got 0"),
        ({"size": 2.5}, "size: .* got 2.5"),
        ({"imbalance": 0.5}, "imbalance: expected a number from 1.5 to 1000, got 0.5"),
        ({"imbalance": float("nan")}, "imbalance: .* got nan"),
        ({"imbalance": "much"}, "imbalance: expected a number, got 'much'"),
        ({"seed": None}, "seed: expected an integer, got None"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(CorpusError, match=message):
        embedded.entities(**arguments)


def test_an_unknown_name_is_refused():
    with pytest.raises(CorpusError, match=r"one of embedded-pos-en, .*, got 'embedded-pos-fr'"):
        embedded.load("embedded-pos-fr")


def test_a_draw_depends_on_its_name_alone():
    assert [Draw("a").below(100) for _ in range(3)] == [Draw("a").below(100)] * 3
    draw = Draw("b")
    assert sorted(draw.shuffled(range(50))) == list(range(50))
    assert draw.shuffled(range(50)) != list(range(50))


def test_the_card_holds_the_counts(root):
    assert table() in (FOLDER / "README.md").read_text(encoding="utf-8")
