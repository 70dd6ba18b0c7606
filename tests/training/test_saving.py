"""A saved model: whole or not at all, read back by transformers' own classes, with its card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset, DatasetDict
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    pipeline,
)

from dicebook.tasks import mrc_ner, pairs, reading, tagging
from dicebook.training import saving
from dicebook.training.encoders import EncoderError, load_tokenizer
from dicebook.training.experiment import Experiment, ParameterError

TOKENS = ["Ada", "met", "Grace", "Hopper", "."]
TEXT = " ".join(TOKENS)
LABELS = ["O", "B-PER", "I-PER"]
EXPERIMENT = Experiment(corpus="x", loss="dsc", loss_options={"squared": True})
METRICS = {"test": {"f1": 48.125}}


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("tiny", 3 * [TEXT, "who which ?"], max_length=32)


@pytest.fixture
def models(tokenizer) -> dict[Any, Any]:
    torch.manual_seed(0)
    return {
        AutoModelForTokenClassification: tagging.model("tiny", tokenizer, LABELS).eval(),
        AutoModelForSequenceClassification: pairs.model("tiny", tokenizer, ["no", "yes"]).eval(),
        AutoModelForQuestionAnswering: reading.model("tiny", tokenizer).eval(),
    }


def save(model: Any, tokenizer: Any, folder: Path) -> Path:
    return saving.save(model, tokenizer, folder, experiment=EXPERIMENT, metrics=METRICS)


def test_transformers_own_classes_read_the_folder(tmp_path: Path, models, tokenizer) -> None:
    for auto_class, model in models.items():
        folder = save(model, tokenizer, tmp_path / "new" / auto_class.__name__)
        again = auto_class.from_pretrained(folder)
        batch = AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")
        assert (
            batch["input_ids"].tolist()
            == tokenizer(TEXT, return_tensors="pt")["input_ids"].tolist()
        )
        with torch.inference_mode():
            torch.testing.assert_close(again(**batch).to_tuple(), model(**batch).to_tuple())
        assert again.config.id2label == model.config.id2label
        assert (folder / "model.safetensors").is_file()
    assert not list((tmp_path / "new").glob(".*")), "nothing is left of the way there"


def test_a_pipeline_of_transformers_tags_as_predict_does(tmp_path, models, tokenizer) -> None:
    model = models[AutoModelForTokenClassification]
    folder = save(model, tokenizer, tmp_path / "tagger")
    theirs = pipeline("token-classification", str(folder), ignore_labels=[])(TEXT)
    first = {piece["start"]: piece["entity"] for piece in reversed(theirs)}
    (ours,) = tagging.predict(folder, TEXT)
    starts = [TEXT.index(token) for token in TOKENS]
    assert ours.tags == [first[start] for start in starts]
    assert tagging.predict(model, [TOKENS], tokenizer=tokenizer)[0].tags == ours.tags


def test_a_reader_of_entities_is_the_same_reader(tmp_path: Path, tokenizer) -> None:
    corpus = DatasetDict(
        train=Dataset.from_list([{"tokens": TOKENS, "tags": ["B-PER", "O", "B-PER", "I-PER", "O"]}])
    )
    encoded = mrc_ner.encode(corpus, tokenizer, queries={"PER": "who ?"}, max_length=32)
    reader = mrc_ner.model("tiny", tokenizer, queries=encoded.queries).eval()
    folder = save(reader, tokenizer, tmp_path / "reader")
    assert mrc_ner.EntityReader.from_pretrained(folder).queries == {"PER": "who ?"}
    everything = {"threshold": -1e9, "nested": True}
    found = mrc_ner.predict(folder, TEXT, **everything)
    assert found == mrc_ner.predict(reader, TEXT, tokenizer=tokenizer, **everything) != [[]]
    (folder / "heads.safetensors").unlink()
    with pytest.raises(EncoderError, match="heads"):
        mrc_ner.predict(folder, TEXT)
    with pytest.raises(ValueError, match="a reader with questions"):
        mrc_ner.predict(mrc_ner.model("tiny", tokenizer), TEXT, tokenizer=tokenizer)


def test_the_card_says_where_a_model_comes_from(tmp_path: Path, models, tokenizer) -> None:
    model = models[AutoModelForTokenClassification]
    card = (save(model, tokenizer, tmp_path / "m") / "README.md").read_text()
    for said in (
        "pipeline_tag: token-classification",
        "| loss | `dsc` |",
        "| loss options | `{'squared': True}` |",
        "| corpus | `x` |",
        "| f1 | 48.12 |",
        f"| torch | {torch.__version__} |",
        "| learning_rate | 0.0002 |",
    ):
        assert said in card
    own = Experiment(corpus=str(tmp_path), encoder="tiny")
    card = saving.model_card(model, own, METRICS)
    assert str(tmp_path.parent) not in card
    assert tmp_path.name in card
    with pytest.raises(ParameterError, match="the one this model was trained with"):
        saving.model_card(model, Experiment(corpus="x", loss="ce,dl"), METRICS)


def test_a_folder_is_the_old_one_or_the_new_one(tmp_path: Path, models, tokenizer) -> None:
    model = models[AutoModelForTokenClassification]
    folder = save(model, tokenizer, tmp_path / "m")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    class Breaks:
        def save_pretrained(self, to: Path) -> None:
            (to / "half").touch()
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save(Breaks(), tokenizer, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    (folder / "stale").touch()
    save(model, tokenizer, folder)
    assert not (folder / "stale").exists()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").touch()
    with pytest.raises(FileExistsError, match="a model to replace"):
        save(model, tokenizer, tmp_path / "notes")


def test_a_model_needs_its_tokenizer(models) -> None:
    with pytest.raises(ValueError, match="the tokenizer beside the model"):
        tagging.predict(models[AutoModelForTokenClassification], TEXT)
