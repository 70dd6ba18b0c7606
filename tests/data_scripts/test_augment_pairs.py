"""The training sets of Table 8: exact sizes, true labels, the same sets from the same seed."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_scripts.augment_pairs import PRINTED, Augmenter, Target, build, main, targets
from data_scripts.mentions import (
    read_entities,
    rule_mentions,
)
from dicelab.corpora import CorpusError, load
from dicelab.corpora.features import to_dataset

FIND = rule_mentions(frozenset({"the", "where", "shares", "how"}))
ENTITIES = {
    "PERSON": ["Ada Ash", "Bo Birch", "Cy Cedar"],
    "NAME": ["Elm", "Fir", "Gum", "Hazel"],
    "GPE": ["Ixia", "Jasmine"],
    "ORG": ["Kale Inc", "Lily Group"],
}


def mentions(sentence: str) -> list[tuple[str, str]]:
    return [(sentence[start:end], type_) for start, end, type_ in FIND(sentence)]


def pairs(positive: int, negative: int) -> list[dict]:
    rows = []
    for number in range(positive):
        text = f"Acme sold {number + 10} cars"
        rows.append({"sentence1": text, "sentence2": text + " today", "label": 1})
    for number in range(negative):
        rows.append(
            {"sentence1": f"Zenith has {number} shops", "sentence2": "Yvo left Rome", "label": 0}
        )
    return rows


def dataset(rows: list[dict]):
    columns = {name: [row[name] for row in rows] for name in ("sentence1", "sentence2", "label")}
    return to_dataset(columns, task="pairs")


def save(folder, positive: int, negative: int):
    folder.mkdir(parents=True)
    for split in ("train", "validation", "test"):
        lines = [json.dumps(row) + "\n" for row in pairs(positive, negative)]
        (folder / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def test_the_sizes_for_qqp_are_the_papers_where_the_paper_agrees_with_itself():
    sizes = targets(134_378, 229_468)  # GLUE's training set
    assert sizes == {
        "original": (134_378, 229_468),
        "plus_positive": (229_468, 229_468),
        "plus_negative": (134_378, 324_558),
        "minus_negative": (134_378, 134_378),
        "plus_both": (169_497, 289_439),
    }
    for name, (printed, percent) in PRINTED.items():
        assert sum(sizes[name]) == pytest.approx(printed, rel=0.002), name
        share = 100 * sizes[name].positive / sum(sizes[name])
        agrees = name in ("original", "plus_positive", "minus_negative")
        assert (round(share) == percent) == agrees, (name, share)
    # With every positive kept, 458,477 examples cannot be only 21% positive.
    assert round(100 * 134_378 / PRINTED["plus_negative"][0]) == 29


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Where is Ann Lee?", [("Ann Lee", "PERSON")]),
        ("The Bank of Ghana won.", [("Ghana", "NAME"), ("Bank", "ORG")]),
        ("Shares of Foo Bar Inc rose 5.2 percent", [("Foo Bar Inc", "ORG"), ("5.2", "NUMBER")]),
        ("He flew to New York, then I left", [("He", "NAME"), ("New York", "GPE")]),
        ("a Pac-10 game", [("Pac-10", "NAME")]),
        ("no names here", []),
        (
            "IBM met on Monday, 12 May",
            [
                ("12", "NUMBER"),
                ("IBM", "ORG"),
                ("May", "MONTH"),
                ("Monday", "DAY"),
            ],
        ),
    ],
)
def test_rule_mentions(sentence, expected):
    assert sorted(mentions(sentence)) == sorted(expected)


def test_equal_mentions_get_equal_entities_and_parts_follow_the_whole():
    augmenter = Augmenter(FIND, ENTITIES, seed=0)
    pair = ("Mike Butcher paid 300 to Alex", "the sum of 300 for Alex came from Butcher")
    for _ in range(50):
        first, second = augmenter.variant(pair)
        whole, rest = first.split(" paid ")
        amount, friend = rest.split(" to ")
        assert whole in ENTITIES["PERSON"]
        assert second == f"the sum of {amount} for {friend} came from {whole.split()[-1]}"
        assert amount != "300"
        assert len(amount) == 3
        assert friend in ENTITIES["GPE"]  # after "to"


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_replacing_keeps_which_mentions_are_equal(data):
    """Replaced names stand in for the old ones as a one-to-one map, so labels stay true."""
    names = st.sampled_from(["Ann", "Bob", "Cem", "Dan Dee", "17", "4,200"])
    sentence = st.lists(names, min_size=1, max_size=4).map(" and ".join)
    pair = data.draw(sentence), data.draw(sentence)
    augmenter = Augmenter(FIND, ENTITIES, data.draw(st.integers(0, 99)))
    new = augmenter.variant(pair)
    old = [name for text in pair for name in text.split(" and ")]
    made = [name for text in new for name in text.split(" and ")]
    assert len(old) == len(made)
    assert len(set(zip(old, made, strict=True))) == len(set(old)) == len(set(made))
    assert all(before != after for before, after in zip(old, made, strict=True))


@given(
    positive=st.integers(0, 14),
    negative=st.integers(0, 14),
    seed=st.integers(0, 3),
)
@settings(max_examples=40, deadline=None)
def test_a_built_set_has_exactly_the_size_asked_for(positive, negative, seed):
    original = dataset(pairs(5, 7))
    built = build(original, Target(positive, negative), Augmenter(FIND, ENTITIES, seed))
    counts = Counter(built["label"])
    assert (counts[1], counts[0]) == (positive, negative)
    rows, old = built.to_list(), original.to_list()
    keys = [(row["sentence1"], row["sentence2"]) for row in rows]
    assert len(set(keys)) == len(keys)
    kept = [row for row in rows if row in old]
    assert kept == [row for row in old if row in kept]  # in the old order
    assert len(kept) == min(5, positive) + min(7, negative)
    if positive > 5:  # of each label's own templates
        assert all(row["sentence2"] == row["sentence1"] + " today" for row in rows if row["label"])
    again = build(original, Target(positive, negative), Augmenter(FIND, ENTITIES, seed))
    assert again.to_list() == rows


def test_too_few_mentions_is_an_error():
    rows = [{"sentence1": "no name", "sentence2": "none here", "label": 1}]
    message = "expected 1 new pairs, got 0: 0 of 1 templates have a mention"
    with pytest.raises(CorpusError, match=message):
        build(dataset(rows), Target(2, 0), Augmenter(FIND, ENTITIES, 0))
    with pytest.raises(CorpusError, match="expected 1 new pairs, got 0: 0 of 0 templates"):
        build(dataset(rows), Target(1, 1), Augmenter(FIND, ENTITIES, 0))


def test_the_command_writes_corpora_that_load(tmp_path, capsys):
    save(tmp_path / "cars", 6, 10)
    argv = ["--corpus", "cars", "--out", str(tmp_path), "--seed", "3", "--mentions", "rule"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    for name, expected in targets(6, 10).items():
        loaded = load(f"cars_{name}", task="pairs", root=tmp_path)
        counts = Counter(loaded["train"]["label"])
        assert (counts[1], counts[0]) == expected
        assert loaded["test"].to_list() == pairs(6, 10)
        assert loaded["validation"].to_list() == pairs(6, 10)
        card = json.loads((tmp_path / f"cars_{name}/card.json").read_text(encoding="utf-8"))
        assert card["seed"] == 3
        assert card["train"] == {"positive": expected[0], "negative": expected[1]}
        assert card["entities"] == "Faker"
        assert name in out
    first = (tmp_path / "cars_plus_both/train.jsonl").read_bytes()
    assert main(argv) == 0
    assert (tmp_path / "cars_plus_both/train.jsonl").read_bytes() == first
    assert main([*argv[:5], "4", *argv[6:]]) == 0
    assert (tmp_path / "cars_plus_both/train.jsonl").read_bytes() != first


def test_a_list_of_entities(tmp_path):
    path = tmp_path / "dbpedia.tsv"
    path.write_text("\ufeffGPE\tOslo\r\nGPE\tNew York\r\n\r\nORG\tAcme\r\n", encoding="utf-8")
    assert read_entities(path) == {"GPE": ["Oslo", "New York"], "ORG": ["Acme"]}
    for text, message in [
        ("", "expected entities, got none"),
        ("GPE\tOslo\nOslo\n", "tsv:2: expected a type, a tab and a name, got 'Oslo'"),
        ("GPE\ta\tb\n", "tsv:1: expected a type"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(CorpusError, match=message):
            read_entities(path)
