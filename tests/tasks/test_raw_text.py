"""Raw text: words and entities with their places, texts longer than a model reads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dicelab.corpora.tags import Span
from dicelab.tasks import mrc_ner, reading
from dicelab.tasks.raw_text import Entity, Sentence
from dicelab.training.encoders import load_tokenizer

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


def test_an_entity_of_a_late_window_is_found(tokenizer) -> None:
    reader = mrc_ner.model("tiny", tokenizer, queries={"PER": "who ?"}, candidates=32)
    everything = mrc_ner.predict(
        reader, tokenizer, " ".join(WORDS * 12), threshold=-1e9, nested=True
    )[0]
    assert max(entity.end for entity in everything) == len(" ".join(WORDS * 12))
    assert len(everything) == len(set(everything))


def test_an_answer_of_a_late_window_is_found(tokenizer) -> None:
    torch.manual_seed(0)
    model = reading.model("tiny", tokenizer).eval()
    text = " ".join(WORDS * 12)
    (answer,) = reading.predict(model, tokenizer, [("who ?", text)], as_choice=False)
    assert text[answer.start : answer.start + len(answer.text)] == answer.text != ""
    assert reading.predict(model, tokenizer, [], as_choice=False) == []
    silent = {"as_choice": False, "threshold": np.inf}
    assert reading.predict(model, tokenizer, [("who ?", text)], **silent)[0].text == ""
    with pytest.raises(ValueError, match="pairs of a question and a text"):
        reading.predict(model, tokenizer, ["who ?"], as_choice=True)
