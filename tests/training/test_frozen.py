"""Frozen lower layers: the same model, of which the upper layers alone learn."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertForTokenClassification, XLNetConfig, XLNetModel

from dicelab.training.frozen import freeze_lower, kept_states

IDS = torch.tensor([[5, 6, 7, 8, 9], [10, 11, 12, 0, 0]])
TYPES = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]])


def small_bert(seed: int = 0) -> BertForTokenClassification:
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=20,
        hidden_size=8,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=16,
        pad_token_id=0,
    )
    return BertForTokenClassification(config)


def logits(model: nn.Module) -> torch.Tensor:
    mask = (IDS != 0).long()
    return model(input_ids=IDS, token_type_ids=TYPES, attention_mask=mask).logits[IDS != 0]


def test_it_says_what_the_whole_model_says() -> None:
    whole, upper = small_bert().eval(), small_bert().eval()
    freeze_lower(upper, 2)
    torch.testing.assert_close(logits(upper), logits(whole))
    torch.testing.assert_close(logits(upper), logits(whole))  # now from what is kept


def test_the_upper_layers_get_the_same_gradients_and_the_lower_ones_none() -> None:
    whole, upper = small_bert().eval(), small_bert().eval()
    lower = list(upper.bert.encoder.layer[:2].parameters())
    freeze_lower(upper, 2)
    for model in (whole, upper):
        logits(model).square().sum().backward()
    for ours, theirs in (
        (upper.bert.encoder.layer[0], whole.bert.encoder.layer[2]),
        (upper.classifier, whole.classifier),
    ):
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad)
    assert all(weight.grad is None for weight in lower)
    trained = {id(weight) for weight in upper.parameters()}
    assert trained.isdisjoint(map(id, lower))


def test_an_input_is_run_once_and_stays_without_dropout() -> None:
    known: dict[str, torch.Tensor] = {}
    model = small_bert().train()
    freeze_lower(model, 1, known)
    logits(model)
    first = {name: states.clone() for name, states in known.items()}
    logits(model)
    assert len(known) == 2
    for name, states in known.items():
        torch.testing.assert_close(states, first[name])
    other = small_bert().eval()
    freeze_lower(other, 1)
    logits(other)
    assert {tuple(v.shape) for v in known.values()} == {(5, 8), (3, 8)}
    own = other.bert.embeddings.known
    for name, states in known.items():
        torch.testing.assert_close(states, own[name])


def test_a_file_keeps_the_states_for_the_next_run(tmp_path, monkeypatch):
    file = tmp_path / "states" / "corpus.safetensors"
    with kept_states(file) as known:
        freeze_lower(first := small_bert().eval(), 2, known)
        before = logits(first)
    written = file.stat().st_mtime_ns
    with monkeypatch.context() as patch, kept_states(file) as known:
        patch.setattr("dicelab.training.frozen._Lower._run", None)  # never called
        freeze_lower(second := small_bert().eval(), 2, known)
        torch.testing.assert_close(logits(second), before, rtol=0, atol=0)
    assert file.stat().st_mtime_ns == written  # nothing was new
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("other", ["weights", "layers", "precision", "types"])
def test_states_of_something_else_are_not_taken(other: str, tmp_path: Path) -> None:
    file = tmp_path / "states.safetensors"
    with kept_states(file) as known:
        freeze_lower(model := small_bert().eval(), 1, known)
        logits(model)
    with kept_states(file) as known, torch.autocast("cpu", enabled=other == "precision"):
        model = small_bert(seed=other == "weights").eval()
        freeze_lower(model, 2 if other == "layers" else 1, known)
        model(input_ids=IDS[:1], token_type_ids=1 - TYPES[:1] if other == "types" else TYPES[:1])
        assert len(known) == 3
    with kept_states(file) as known:
        assert len(known) == 3


def test_a_damaged_file_of_states_is_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "states.safetensors"
    for damage in (b"", b"no safetensors"):
        file.write_bytes(damage)
        with kept_states(file) as known:
            assert not known
            known["a"] = torch.ones(2)
        with kept_states(file) as known:
            torch.testing.assert_close(known, {"a": torch.ones(2)})


def test_what_cannot_be_frozen_is_told() -> None:
    for layers in (0, 3):
        with pytest.raises(ValueError, match=f"layers: expected 1 to 2; got {layers}"):
            freeze_lower(small_bert(), layers)
    xlnet = XLNetModel(XLNetConfig(vocab_size=20, d_model=8, n_layer=1, n_head=2, d_inner=16))
    with pytest.raises(ValueError, match="expected a model with a BertModel in it; got XLNetModel"):
        freeze_lower(xlnet, 1)
