"""Raw text: words and entities with their places, texts longer than a model reads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dicebook.corpora.tags import Span
from dicebook.tasks import mrc_ner, pairs, reading, tagging
from dicebook.tasks.raw_text import Entity, Sentence
from dicebook.training.encoders import load_tokenizer

WORDS = ["Ada", "met", "Grace", "Hopper", "in", "Paris", "."]


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("tiny", 3 * [" ".join(WORDS), "who ?"], max_length=32)


@settings(deadline=None)
@given(st.text(max_size=40))
def test_words_and_offsets_cover_the_text(text: str) -> None:
    sentence = Sentence.of(text)
    assert [text[a:b] for a, b in sentence.offsets] == sentence.words
    assert "".join(sentence.words) == "".join(text.split())


def test_words_of_a_sentence() -> None:
    assert Sentence.of("Ada's Mother-in-law, 42!").words == [
        "Ada's",
        "Mother-in-law",
        ",",
        "42",
        "!",
    ]
    assert Sentence.of("北京, Ulm").words == ["北", "京", ",", "Ulm"]
    sentence = Sentence.of(["New", "York", "sleeps"])
    assert sentence.entities([Span("LOC", 0, 2)]) == [Entity("LOC", "New York", 0, 8)]
    with pytest.raises(ValueError, match="expected words"):
        Sentence.of(["New", ""])


def test_a_long_sentence_is_tagged_to_its_end(tokenizer) -> None:
    torch.manual_seed(0)
    model = tagging.model("tiny", tokenizer, ["O", "B-PER"]).eval()
    words = WORDS * 12
    long, empty, short = tagging.predict(model, [words, [], WORDS], tokenizer=tokenizer)
    assert len(long.tags) == len(words) == len(long.words)
    assert empty.tags == []
    assert short == tagging.predict(model, [WORDS], tokenizer=tokenizer)[0]
    all_per = tagging.predict(model, [words], tokenizer=tokenizer, outside_bias=-1e4)[0]
    assert set(all_per.tags) == {"B-PER"}, "no word fell between two windows"
    rows, places = tagging._windows(tokenizer, [words], 32)
    assert max(len(row["input_ids"]) for row in rows) <= 32
    for (_, word), (row, position) in places.items():
        piece = tokenizer.convert_ids_to_tokens(rows[row]["input_ids"][position])
        assert words[word].startswith(piece)


def test_an_entity_of_a_late_window_is_found(tokenizer) -> None:
    reader = mrc_ner.model("tiny", tokenizer, queries={"PER": "who ?"}, candidates=32)
    everything = mrc_ner.predict(
        reader, " ".join(WORDS * 12), tokenizer=tokenizer, threshold=-1e9, nested=True
    )[0]
    assert max(entity.end for entity in everything) == len(" ".join(WORDS * 12))
    assert len(everything) == len(set(everything))


def test_a_class_comes_with_its_probability(tokenizer) -> None:
    torch.manual_seed(0)
    model = pairs.model("tiny", tokenizer, ["no", "yes"]).eval()
    examples = ["Ada met Grace", ("Ada met Grace", "Grace in Paris")]
    found = pairs.predict(model, examples, tokenizer=tokenizer)
    with torch.inference_mode():
        for example, one in zip(examples, found, strict=True):
            texts = (example,) if isinstance(example, str) else example
            p = model(**tokenizer(*texts, return_tensors="pt")).logits.softmax(-1)[0]
            assert one.probability == pytest.approx(p.max().item(), abs=1e-5)
            assert one.label == ["no", "yes"][int(p.argmax())]
    yes = pairs.predict(model, examples, tokenizer=tokenizer, threshold=-1e3)
    assert [one.label for one in yes] == ["yes", "yes"]
    assert pairs.predict(model, [], tokenizer=tokenizer) == []
    for wrong in ("a sentence", [("a", "b", "c")]):
        with pytest.raises(ValueError, match=r"expected a .*sentence"):
            pairs.predict(model, wrong, tokenizer=tokenizer)


def test_an_answer_of_a_late_window_is_found(tokenizer) -> None:
    torch.manual_seed(0)
    model = reading.model("tiny", tokenizer).eval()
    text = " ".join(WORDS * 12)
    (answer,) = reading.predict(model, [("who ?", text)], as_choice=False, tokenizer=tokenizer)
    assert text[answer.start : answer.start + len(answer.text)] == answer.text != ""
    assert reading.predict(model, [], as_choice=False, tokenizer=tokenizer) == []
    silent = {"as_choice": False, "tokenizer": tokenizer, "threshold": np.inf}
    assert reading.predict(model, [("who ?", text)], **silent)[0].text == ""
    several = reading.predict_several(model, [("who ?", text)], tokenizer=tokenizer, threshold=-9)
    assert several[0][-1].start > len(text) // 2
    with pytest.raises(ValueError, match="pairs of a question and a text"):
        reading.predict(model, ["who ?"], as_choice=True, tokenizer=tokenizer)
