"""A saved model: whole or not at all, read by transformers' classes and pipelines, with a card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

from dicelab.tasks import pairs, reading, tagging
from dicelab.training import saving
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment, ParameterError

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


def test_the_card_says_where_a_model_comes_from(tmp_path: Path, models, tokenizer) -> None:
    model = models[AutoModelForTokenClassification]
    card = ModelCard.load(save(model, tokenizer, tmp_path / "m") / "README.md")
    assert card.data.pipeline_tag == "token-classification"
    assert card.data.library_name == "transformers"
    for said in (
        "| loss | `dsc` |",
        "| loss_options | `{'squared': True}` |",
        "| corpus | `x` |",
        "| test f1 | 48.12 |",
        f"| torch | `{torch.__version__}` |",
        "| learning_rate | `0.0002` |",
    ):
        assert said in card.text
    own = Experiment(corpus=str(tmp_path), encoder="tiny", output_dir=str(tmp_path))
    card = saving.model_card(model, own, METRICS)
    assert str(tmp_path.parent) not in str(card)
    assert tmp_path.name in card.text
    with pytest.raises(ParameterError, match="the one this model was trained with"):
        saving.model_card(model, Experiment(corpus="x", loss="ce,dl"), METRICS)


def test_a_folder_is_whole_or_not_there(tmp_path: Path, models, tokenizer) -> None:
    class Breaks:
        def save_pretrained(self, to: Path) -> None:
            to.mkdir(exist_ok=True)
            (to / "half").touch()
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save(Breaks(), tokenizer, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "notes").mkdir()
    save(models[AutoModelForTokenClassification], tokenizer, tmp_path / "notes")
    before = {path.name: path.read_bytes() for path in (tmp_path / "notes").iterdir()}
    with pytest.raises(FileExistsError, match="expected a new or an empty folder"):
        save(models[AutoModelForQuestionAnswering], tokenizer, tmp_path / "notes")
    assert {path.name: path.read_bytes() for path in (tmp_path / "notes").iterdir()} == before
