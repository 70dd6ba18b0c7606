"""The start at the log prior: what the bias becomes, in which layer, and what is refused."""

import math

import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from dicebook import start_at_prior

TINY = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}


def bert(**more):
    return BertConfig(vocab_size=20, max_position_embeddings=16, **TINY, **more)


@pytest.mark.parametrize(
    ("model", "layer"),
    [
        (lambda: BertForTokenClassification(bert(num_labels=3)), "classifier"),
        (lambda: BertForSequenceClassification(bert(num_labels=3)), "classifier"),
        (
            lambda: RobertaForSequenceClassification(
                RobertaConfig(vocab_size=20, max_position_embeddings=16, num_labels=3, **TINY)
            ),
            "classifier.out_proj",
        ),
        (
            lambda: DistilBertForSequenceClassification(
                DistilBertConfig(
                    vocab_size=20, dim=8, hidden_dim=8, n_layers=1, n_heads=2, num_labels=3
                )
            ),
            "classifier",
        ),
        (lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)), "2"),
    ],
)
def test_with_weights_of_zero_the_model_says_the_shares_of_the_classes(model, layer):
    model, counts = model(), [60, 30, 10]
    bias = start_at_prior(model, counts)
    head = model.get_submodule(layer)
    torch.testing.assert_close(head.bias.detach(), bias)
    shares = head(torch.zeros(1, head.in_features)).softmax(-1)[0]
    torch.testing.assert_close(shares.detach(), torch.tensor([0.6, 0.3, 0.1]))


def test_every_logit_that_decides_alone_gets_its_log_odds():
    model = BertForSequenceClassification(bert(num_labels=4))
    counts = [[9, 1], [5, 5], [1, 3], [99, 1]]
    bias = start_at_prior(model, counts)
    assert bias.tolist() == pytest.approx([math.log(p / n) for n, p in counts])
    torch.testing.assert_close(
        model.classifier.bias.sigmoid().detach(), torch.tensor([0.1, 0.5, 0.75, 0.01])
    )


def test_a_reader_gets_the_log_odds_of_starts_and_of_ends():
    model = BertForQuestionAnswering(bert())
    start_at_prior(model, [[997, 3], [998, 2]])
    assert model.qa_outputs.bias.tolist() == pytest.approx([math.log(3 / 997), math.log(2 / 998)])


def test_two_counts_are_one_logits_log_odds_or_two_logits_log_shares():
    one, two = nn.Linear(3, 1), nn.Linear(3, 2)
    assert start_at_prior(one, [3, 1]).tolist() == pytest.approx([-math.log(3)])
    assert start_at_prior(two, [3, 1]).tolist() == pytest.approx([math.log(0.75), math.log(0.25)])


def test_a_class_without_examples_counts_half_of_one():
    bias = start_at_prior(nn.Linear(2, 3), torch.tensor([7, 0, 3]))
    assert bias.tolist() == pytest.approx([math.log(0.7), math.log(0.05), math.log(0.3)])


def test_weights_and_the_copy_that_comes_back_are_apart_from_the_bias():
    layer = nn.Linear(2, 3)
    weights = layer.weight.detach().clone()
    start_at_prior(layer, [1, 2, 3]).zero_()
    assert torch.equal(layer.weight, weights)
    assert layer.bias.detach().abs().min() > 0
    assert layer.bias.requires_grad


@pytest.mark.parametrize(
    ("model", "counts", "says"),
    [
        (nn.Linear(2, 3), [[1, 2, 3]], r"expected shape \[C\], \[2\] or \[L, 2\], got \[1, 3\]"),
        (nn.Linear(2, 3), [4], r"got \[1\]"),
        (nn.Linear(2, 3), [1, -1, 3], "0 or more"),
        (nn.Linear(2, 3), [0, 0, 0], "some are above 0"),
        (nn.Linear(2, 3), [1, 2, 3, 4], "with 4 outputs in Linear, but its last has 3"),
        (nn.Tanh(), [1, 2, 3], "it has none at all"),
        (nn.Linear(2, 3, bias=False), [1, 2, 3], "with a bias in Linear, got one without"),
    ],
)
def test_what_cannot_be_started_is_refused_and_said(model, counts, says):
    with pytest.raises(ValueError, match=says):
        start_at_prior(model, counts)


def test_a_decoder_without_a_bias_is_refused_for_saving_would_lose_one():
    config = GPT2Config(vocab_size=20, n_embd=8, n_layer=1, n_head=2, num_labels=3)
    with pytest.raises(ValueError, match="GPT2ForSequenceClassification, got one without"):
        start_at_prior(GPT2ForSequenceClassification(config), [1, 2, 3])
