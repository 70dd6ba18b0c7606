"""Every task on every architecture: encode, learn a few examples by heart, decode, predict."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset, DatasetDict

from dicebook import TrainerLoss, make_loss
from dicelab.tasks import mrc_ner, pairs, reading, tagging
from dicelab.tasks.outputs import outputs_of
from dicelab.training.encoders import load_tokenizer, pad
from tests.tiny_backbones import BACKBONES, save_backbone

TAGGED = [
    {"tokens": ["Ada", "met", "Grace", "Hopper", "."], "tags": ["B-P", "O", "B-P", "I-P", "O"]},
    {"tokens": ["Nobody", "came", "to", "Ulm", "today"], "tags": ["O", "O", "O", "B-L", "O"]},
    {"tokens": ["Grace", "came"], "tags": ["B-P", "O"]},
]
CONTEXT = "Mira keeps nine bees in a tin. Her brother Odo keeps none."
ASKED = [("who keeps bees?", "Mira"), ("who is a brother?", "Odo"), ("where is the cat?", "")]
PAIRS = [("Ada came", "Ada came today", 1), ("Ada came", "nobody met Odo", 0)]
QUERIES = {"L": "which places?", "P": "which people?"}
TEXTS = [
    *(" ".join(row["tokens"]) for row in TAGGED),
    CONTEXT,
    *(question for question, _ in ASKED),
    *QUERIES.values(),
]


def everywhere(rows: list[dict[str, Any]]) -> DatasetDict:
    return DatasetDict(train=Dataset.from_list(rows), test=Dataset.from_list(rows))


@pytest.fixture(scope="module", params=list(BACKBONES))
def backbone(request, tmp_path_factory) -> tuple[str, Any]:
    folder = save_backbone(request.param, 3 * TEXTS, tmp_path_factory.mktemp(request.param))
    return folder, load_tokenizer(folder, [])


def learn(model: Any, batch: dict[str, Any], loss: Callable[..., torch.Tensor]) -> float:
    """Steps on one batch until nothing is left to learn; the last loss."""
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    optimizer = torch.optim.AdamW(model.parameters(), 5e-3)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for _ in range(600):
        value = loss(model(**inputs), batch["labels"])
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        if value < 0.001:
            break
    return value.item()


@pytest.mark.slow
def test_a_tagger(backbone) -> None:
    encoder, tokenizer = backbone
    encoded = tagging.encode(everywhere(TAGGED), tokenizer, max_length=64)
    model = tagging.model(encoder, tokenizer, encoded.labels)
    rows = list(encoded.splits["train"])
    assert learn(model, tagging.collator(tokenizer)(rows), TrainerLoss(make_loss("ce"))) < 0.1
    (logits,) = outputs_of(model, rows, tagging.collator(tokenizer), ["logits"], 3)
    tags = tagging.decode(np.stack(logits), encoded.splits["train"], encoded.labels)
    assert tags == [row["tags"] for row in TAGGED]
    # Alone or beside a longer sentence, a row has the same logits at the same positions.
    (alone,) = outputs_of(model, rows, tagging.collator(tokenizer), ["logits"], 1)
    for row, a, b in zip(rows, alone, logits, strict=True):
        n = len(row["input_ids"])
        np.testing.assert_allclose(a[:n], b[:n], atol=1e-4)


@pytest.mark.slow
def test_a_classifier_of_pairs(backbone) -> None:
    encoder, tokenizer = backbone
    corpus = everywhere([{"sentence1": a, "sentence2": b, "label": y} for a, b, y in PAIRS])
    encoded = pairs.encode(corpus, tokenizer, max_length=64)
    model = pairs.model(encoder, tokenizer, encoded.labels)
    rows = list(encoded.splits["train"])
    assert learn(model, pairs.collator(tokenizer)(rows), TrainerLoss(make_loss("ce"))) < 0.1
    collate = partial(pad, tokenizer, padding_side=None)
    together, alone = (outputs_of(model, rows, collate, ["logits"], n)[0] for n in (2, 1))
    np.testing.assert_allclose(together, alone, atol=1e-4)
    assert pairs.decode(np.stack(alone)).tolist() == [1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("as_choice", [True, False])
def test_a_reader(backbone, as_choice: bool) -> None:
    encoder, tokenizer = backbone
    rows = [
        {
            "id": question,
            "title": "",
            "context": CONTEXT,
            "question": question,
            "answers": {
                "text": [answer] if answer else [],
                "answer_start": [CONTEXT.index(answer)] if answer else [],
            },
        }
        for question, answer in ASKED
    ]
    encoded = reading.encode(everywhere(rows), tokenizer, max_length=64, stride=16)
    assert encoded.lost["train"] == 0
    model = reading.model(encoder, tokenizer)
    loss = reading.choice if as_choice else reading.Decisions(make_loss("binary_ce"))
    collate = reading.collator(tokenizer, as_choice=as_choice)
    windows = list(encoded.splits["train"])
    for window in windows:
        assert window["input_ids"][window["no_answer"]] == tokenizer.cls_token_id
    assert learn(model, collate(windows), loss) < 0.1
    asked = [(question, CONTEXT) for question, _ in ASKED]
    found = reading.predict(model, tokenizer, asked, as_choice=as_choice, threshold=0)
    assert [a.text for a in found] == ["Mira", "Odo", ""]
    assert [a.start for a in found[:2]] == [CONTEXT.index("Mira"), CONTEXT.index("Odo")]


@pytest.mark.slow
def test_a_reader_of_entities(backbone, tmp_path: Path) -> None:
    encoder, tokenizer = backbone
    encoded = mrc_ner.encode(everywhere(TAGGED), tokenizer, queries=QUERIES, max_length=64)
    model = mrc_ner.model(encoder, tokenizer, queries=encoded.queries, candidates=4)
    batch = mrc_ner.collator(tokenizer)(list(encoded.splits["train"]))
    assert learn(model, batch, mrc_ner.MrcLoss(make_loss("binary_ce"))) < 0.2
    found = mrc_ner.predict(model, tokenizer, [row["tokens"] for row in TAGGED])
    assert [[(e.type, e.text) for e in row] for row in found] == [
        [("P", "Ada"), ("P", "Grace Hopper")],
        [("L", "Ulm")],
        [("P", "Grace")],
    ]
