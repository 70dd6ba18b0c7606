"""The bias at the start, tuned and folded: what it becomes, what it decides, what is refused."""

import copy
import itertools
import math
import re

import numpy as np
import peft
import pytest
import seqeval.metrics as spans
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    f1_score,
    fbeta_score,
    precision_recall_curve,
    precision_score,
    recall_score,
)
from torch import nn
from transformers import (
    BertForSequenceClassification,
    pipeline,
)

from dicebook import fold_bias, start_at_prior, tune_bias
from dicebook.decision import FEW_POSITIVES, calibrated_probabilities
from dicelab.training.tiny import tiny_config, train_wordpiece

TINY = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}


KINDS = [("BertConfig", {}), ("RobertaConfig", {}), ("DebertaV2Config", {})]
KINDS += [("ModernBertConfig", {"pad_token_id": 0}), ("XLNetConfig", {}), ("ElectraConfig", {})]


KINDS = [(*kind, "plain") for kind in KINDS]
KINDS += [("BertConfig", {}, wrapped) for wrapped in ("compiled", "peft")]


@pytest.mark.parametrize(("name", "more", "wrapped"), KINDS, ids=[f"{n}-{w}" for n, _, w in KINDS])
@pytest.mark.parametrize("task", ["SequenceClassification", "TokenClassification"])
def test_the_layer_that_is_set_moves_the_logits_and_nothing_else(name, more, task, wrapped):
    torch.manual_seed(0)
    # As many labels as the encoder is wide, so that its own layers would fit, too.
    small = dict(vocab_size=20, num_labels=8, **TINY, **more)
    if name == "XLNetConfig":
        small |= {"d_model": 8, "n_layer": 1, "n_head": 2, "d_inner": 8}
    config = getattr(transformers, name)(**small)
    model = getattr(transformers, f"AutoModelFor{task}").from_config(config)
    if wrapped == "compiled":
        model = torch.compile(model, backend="eager")
    elif wrapped == "peft":
        inner = {id(module) for module in model.base_model.modules()}
        linear = [
            n for n, m in model.named_modules() if isinstance(m, nn.Linear) and id(m) in inner
        ]
        kind = "SEQ_CLS" if task[0] == "S" else "TOKEN_CLS"
        lora = peft.LoraConfig(task_type=kind, r=8, target_modules=linear)
        model = peft.get_peft_model(model, lora)
    model.eval()
    ids = torch.arange(1, 7)[None]
    with torch.no_grad():
        before = model(input_ids=ids).logits
        added = torch.arange(8.0)
        try:
            fold_bias(model, added)
        except ValueError as error:  # a hidden layer of the head has as many outputs as it
            named = re.search(r"layer='([^']+)'", str(error))
            assert named is not None
            fold_bias(model, added, layer=named[1])
        after = model(input_ids=ids).logits
    torch.testing.assert_close(after - before, added.expand_as(after), atol=1e-5, rtol=0)


def test_a_model_in_distributed_data_parallel_is_looked_into(tmp_path):
    store = f"file://{tmp_path / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        wrapped = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 3)))
        fold_bias(wrapped, [1.0, 0.0, 0.0], layer="0")
        start_at_prior(wrapped, [6, 3, 1])
    finally:
        torch.distributed.destroy_process_group()
    shares = wrapped.module[0].bias.detach().exp()
    torch.testing.assert_close(shares, torch.tensor([0.6, 0.3, 0.1]))


class TwoHeads(nn.Module):
    """A model with an auxiliary head, which plain guessing would take for the output."""

    def __init__(self, head, aux):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head, self.aux = nn.Linear(8, head), nn.Linear(8, aux)


def test_of_several_layers_that_fit_none_is_guessed():
    for sizes in ((2, 2), (1, 2), (2, 1)):
        model = TwoHeads(*sizes)
        before = copy.deepcopy(model.state_dict())
        with pytest.raises(
            ValueError, match="1 or 2 outputs in TwoHeads, got head, aux; say which"
        ):
            start_at_prior(model, [90, 10])
        assert all(torch.equal(v, before[n]) for n, v in model.state_dict().items())
        start_at_prior(model, [90, 10], layer="head")
        assert torch.equal(model.aux.bias, before["aux.bias"])
        expected = [math.log(1 / 9)] if sizes[0] == 1 else [math.log(0.9), math.log(0.1)]
        assert model.head.bias.tolist() == pytest.approx(expected)
    model = TwoHeads(3, 3)
    with pytest.raises(ValueError, match="3 outputs in TwoHeads, got head, aux"):
        fold_bias(model, [1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"\(head, aux\), got 'body'"):
        fold_bias(model, [1.0, 0.0, 0.0], layer="body")
    # Tied: whichever is set, both are.
    model.aux.bias = model.head.bias
    fold_bias(model, [1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("outputs", "counts", "expected"),
    [
        (2, [[997, 3], [998, 2]], [math.log(3 / 997), math.log(2 / 998)]),  # starts and ends
        (1, [3, 1], [-math.log(3)]),  # log-odds of one logit, log shares of two
        (2, [3, 1], [math.log(0.75), math.log(0.25)]),
        (3, torch.tensor([7, 0, 3]), [math.log(0.7), math.log(0.05), math.log(0.3)]),  # half of one
    ],
)
def test_counts_become_log_odds_or_log_shares(outputs, counts, expected):
    assert start_at_prior(nn.Linear(3, outputs), counts).tolist() == pytest.approx(expected)


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


def softmax_decisions(logits, bias):
    return (logits + bias).argmax(-1)


def every_threshold(scores):
    """One threshold for each way to part the scores, 0 and both ends with it, in plain Python."""
    known = sorted(set(scores.flatten().tolist()))
    middles = [(a + b) / 2 for a, b in itertools.pairwise(known)]
    return [known[0] - 1, *middles, known[-1] + 1, 0.0]


def micro(gold, said, background=0, beta=1.0):
    rest = sorted({*gold.tolist(), *said.tolist()} - {background})
    kinds = {"labels": rest, "average": "micro", "zero_division": 0, "beta": beta}
    return fbeta_score(gold, said, **kinds) if rest else 0.0


# Multiples of 1/8 have ties, and none that differ are as close as rounding.
EIGHTHS = st.integers(-40, 40).map(lambda n: n / 8)
FORMS = st.sampled_from([torch.float32, torch.float64, torch.bfloat16])
BETAS = st.sampled_from([0.5, 1.0, 2.0])


def array(draw, shape, elements):
    size = math.prod(shape)
    return draw(st.lists(elements, min_size=size, max_size=size))


@st.composite
def one_logit(draw):
    n = draw(st.integers(1, 20))
    labels = torch.tensor(array(draw, (n,), st.integers(0, 1)))
    labels[draw(st.integers(0, n - 1))] = 1
    return torch.tensor(array(draw, (n,), EIGHTHS), dtype=draw(FORMS)), labels


@st.composite
def tokens(draw):
    rows, length, classes = (
        draw(st.integers(1, 4)),
        draw(st.integers(1, 5)),
        draw(st.integers(2, 4)),
    )
    shape, background = (rows, length, classes), draw(st.integers(0, classes - 1))
    logits = torch.tensor(array(draw, shape, EIGHTHS), dtype=draw(FORMS)).reshape(shape)
    known = st.sampled_from([-100, *range(classes)])
    labels = torch.tensor(array(draw, (rows, length), known)).reshape(rows, length)
    labels[0, 0] = (background + 1) % classes
    return logits, labels, background


@st.composite
def several_labels(draw):
    shape = draw(st.integers(1, 8)), draw(st.integers(2, 4))
    logits = torch.tensor(array(draw, shape, EIGHTHS), dtype=draw(FORMS)).reshape(shape)
    labels = torch.tensor(array(draw, shape, st.integers(0, 1))).reshape(shape)
    labels[0, 0] = 1
    return logits, labels


@settings(max_examples=50)
@given(one_logit(), BETAS)
def test_one_logit_gets_the_best_of_all_thresholds(data, beta):
    logits, labels = data
    tuned = tune_bias(logits, labels, beta=beta, few=0, resamples=0)
    values = {
        t: fbeta_score(labels, logits.double() > t, beta=beta, zero_division=0)
        for t in every_threshold(logits)
    }
    assert tuned.after == pytest.approx(max(values.values()))
    assert tuned.before == pytest.approx(values[0.0])
    said = logits.float() + tuned.bias > 0
    assert fbeta_score(labels, said, beta=beta, zero_division=0) == pytest.approx(tuned.after)
    best = [t for t, value in values.items() if math.isclose(value, max(values.values()))]
    assert abs(float(tuned.threshold)) == pytest.approx(min(map(abs, best)))
    assert tuned.bias.shape == (1,)
    assert tuned.bias.dtype == (torch.float64 if logits.dtype == torch.float64 else torch.float32)


@given(one_logit())
def test_forms_of_one_decision_agree(data):
    logits, labels = data
    one = tune_bias(logits, labels, few=0, resamples=0)
    column = tune_bias(logits[:, None], labels, few=0, resamples=0)
    numpy = tune_bias(logits.float().numpy(), labels.tolist(), few=0, resamples=0)
    label = tune_bias(logits[:, None], labels[:, None], few=0, resamples=0)
    two = tune_bias(torch.stack([0 * logits, logits], -1), labels, few=0, resamples=0)
    for other in (column, numpy, label, two):
        assert float(other.threshold) == float(one.threshold)
        assert (other.before, other.after) == (one.before, one.after)
    torch.testing.assert_close(two.bias[0] - two.bias[1], -one.bias[0])


@given(tokens(), BETAS)
def test_a_softmax_gets_the_best_of_all_thresholds_against_its_background(data, beta):
    logits, labels, background = data
    tuned = tune_bias(logits, labels, beta=beta, background=background, few=0, resamples=0)
    x, kept = logits.double(), labels != -100
    rest = x.clone()
    rest[..., background] = -math.inf
    shift = torch.nn.functional.one_hot(torch.tensor(background), x.shape[-1])
    values = {
        t: micro(labels[kept], softmax_decisions(x, t * shift)[kept], background, beta)
        for t in every_threshold((rest.amax(-1) - x[..., background])[kept])
    }
    assert tuned.before == pytest.approx(values[0.0])
    assert tuned.after == pytest.approx(max(values.values()))
    said = softmax_decisions(logits.to(tuned.bias.dtype), tuned.bias)
    assert micro(labels[kept], said[kept], background, beta) == pytest.approx(tuned.after)
    assert (tuned.bias[shift == 0] == 0).all()


@settings(max_examples=30)
@given(several_labels())
def test_each_label_gets_its_own_threshold_or_all_get_one(data):
    logits, labels = data
    x, kinds = logits.to(torch.promote_types(logits.dtype, torch.float32)), {"zero_division": 0}
    own = tune_bias(logits, labels, few=0, resamples=0)
    best = [
        max(f1_score(labels[:, i], x[:, i] > t, **kinds) for t in every_threshold(x[:, i]))
        for i in range(x.shape[1])
    ]
    assert own.after == pytest.approx(np.mean(best))
    assert f1_score(labels, x + own.bias > 0, average="macro", **kinds) == pytest.approx(own.after)
    assert (own.threshold[labels.sum(0) == 0] == 0).all()
    common = tune_bias(logits, labels, common=True, few=0, resamples=0)
    pooled = [f1_score(labels, x > t, average="micro", **kinds) for t in every_threshold(x)]
    assert common.after == pytest.approx(max(pooled))
    said = x + common.bias > 0
    assert f1_score(labels, said, average="micro", **kinds) == pytest.approx(common.after)
    assert len(common.bias) == x.shape[1]
    assert len(set(common.bias.tolist())) == 1


@given(tokens(), st.randoms())
def test_neither_order_nor_what_is_ignored_changes_anything(data, random):
    logits, labels, background = data
    options = {"background": background, "few": 0, "resamples": 0}
    tuned = tune_bias(logits, labels, **options)
    order = random.sample(range(len(labels)), len(labels))
    dirty = logits.masked_fill((labels == -100)[..., None], random.choice([math.nan, 1e9, -1e9]))
    flat = labels.flatten() != -100
    for other in (
        tune_bias(logits[order], labels[order], **options),
        tune_bias(dirty, labels, **options),
        tune_bias(logits.flatten(0, 1)[flat], labels.flatten()[flat], **options),
        tune_bias(logits, labels.masked_fill(labels == -100, -1), ignore_index=-1, **options),
    ):
        assert torch.equal(other.bias, tuned.bias)
        assert (other.before, other.after) == (tuned.before, tuned.after)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scores_that_differ_by_rounding_alone_are_decided_alike(dtype):
    # The neighbours 100 and 100 + eps cannot be parted by a bias: the sum is rounded.
    near = torch.tensor(100, dtype=dtype)
    logits = torch.stack([near, torch.nextafter(near, near + 1), near - 3])
    tuned = tune_bias(logits, [0, 1, 0], few=0)
    said = logits + tuned.bias > 0
    assert said.tolist() == [True, True, False]
    assert tuned.after == pytest.approx(f1_score([0, 1, 0], said))


def imbalanced(n=400, seed=3):
    generator = torch.Generator().manual_seed(seed)
    labels = (torch.rand(n, generator=generator) < 0.15).long()
    return torch.randn(n, generator=generator) + 1.5 * labels - 2, labels


@pytest.mark.parametrize("floor", [0.3, 0.6, 0.9, 1.0])
def test_a_floor_is_kept_and_the_other_is_maximal(floor):
    logits, labels = imbalanced()
    precision, recall, _ = precision_recall_curve(labels, logits)
    tuned = tune_bias(logits, labels, min_precision=floor)
    assert tuned.after == pytest.approx(recall[:-1][precision[:-1] >= floor].max())
    assert precision_score(labels, logits + tuned.bias > 0) >= floor
    tuned = tune_bias(logits, labels, min_recall=floor)
    assert tuned.after == pytest.approx(precision[:-1][recall[:-1] >= floor].max())
    assert recall_score(labels, logits + tuned.bias > 0) >= floor


def by_curve(scores, hits):
    """Probabilities by scikit-learn's logistic curve over standardised scores, if it rises."""
    scores, hits = np.asarray(scores, dtype=float), np.asarray(hits)
    if len(set(hits.tolist())) < 2:
        return hits.astype(float)
    x = ((scores - scores.mean()) / (scores.std() or 1))[:, None]
    curve = LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(x, hits)
    return curve.predict_proba(x)[:, 1] if curve.coef_ > 0 else np.full(len(hits), hits.mean())


@pytest.mark.parametrize("lean", [-1.0, 0.0, 2.0])
def test_the_curve_is_that_of_scikit_learn_and_never_falls(lean):
    hits = np.arange(60) % 12 == 0
    scores = np.random.default_rng(1).normal(size=60) + lean * hits - 3
    found = calibrated_probabilities(scores, hits)
    np.testing.assert_allclose(found, by_curve(scores, hits), atol=1e-6)
    assert found.sum().item() == pytest.approx(hits.sum())


@settings(max_examples=50)
@given(one_logit(), BETAS)
def test_few_positives_take_the_threshold_that_a_logistic_curve_leads_to_expect(data, beta):
    logits, labels = data
    tuned = tune_bias(logits, labels, beta=beta, few=21, resamples=0)
    assert tuned.plug_in
    scores, p = logits.double().numpy(), by_curve(logits.double(), labels)
    expected = {
        t: (1 + beta**2) * p[scores > t].sum() / ((scores > t).sum() + beta**2 * p.sum())
        for t in every_threshold(logits)
    }
    reached = expected[min(expected, key=lambda t: abs(t - float(tuned.threshold)))]
    assert reached == pytest.approx(max(expected.values()))
    said = logits.float() + tuned.bias > 0
    assert fbeta_score(labels, said, beta=beta, zero_division=0) == pytest.approx(tuned.after)


def test_only_the_labels_with_few_positives_are_plugged_in():
    torch.manual_seed(0)
    labels = torch.zeros(100, 3, dtype=torch.long)
    labels[:50, 0] = labels[:FEW_POSITIVES, 1] = labels[: FEW_POSITIVES - 1, 2] = 1
    assert tune_bias(torch.randn(100, 3), labels).plug_in.tolist() == [False, False, True]


def test_the_interval_is_that_of_a_bootstrap_over_rows():
    logits, labels = imbalanced()
    tuned = tune_bias(logits, labels, resamples=600)
    again = tune_bias(logits, labels, resamples=600)
    other = tune_bias(logits, labels, resamples=600, seed=1)
    assert tuned.interval == again.interval != other.interval
    said, rng = (logits + tuned.bias > 0).numpy(), np.random.default_rng(0)
    drawn = [rng.integers(400, size=400) for _ in range(600)]
    values = [f1_score(labels.numpy()[rows], said[rows]) for rows in drawn]
    assert tuned.interval == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.02)
    # Sentences are drawn, not tokens: four copies of each token say no more than one.
    two = torch.stack([0 * logits, logits], -1)
    whole = tune_bias(two[:, None].expand(-1, 4, -1), labels[:, None].expand(-1, 4))
    assert whole.interval == tune_bias(logits, labels).interval
    assert tune_bias(logits, labels, resamples=0).interval is None


@pytest.mark.parametrize("n", [4, 12])
def test_where_all_is_right_the_interval_has_the_exact_bound(n):
    labels = torch.cat([torch.ones(n), torch.zeros(60)])
    low, high = tune_bias(8 * labels - 4, labels, few=0).interval
    assert (low, high) == (pytest.approx(binomtest(n, n).proportion_ci().low), 1)


def test_a_function_of_the_decisions_chooses_the_threshold():
    logits, labels = imbalanced()
    seen = []

    def f1(said):
        assert said.shape == labels.shape
        seen.append(int(said.sum()))
        return f1_score(labels, said)

    tuned, exact = tune_bias(logits, labels, f1), tune_bias(logits, labels)
    assert tuned.interval is None
    assert tuned.before == pytest.approx(exact.before)
    assert exact.after - 0.02 < tuned.after <= exact.after + 1e-9
    assert tuned.after == pytest.approx(f1_score(labels, logits + tuned.bias > 0))
    assert {0, 1, 2, 3, 400} <= set(seen)
    assert len(set(seen)) <= 67
    two = torch.stack([0 * logits, logits], -1)
    assert float(tune_bias(two, labels, f1).threshold) == float(tuned.threshold)


def test_a_scorer_of_spans_sees_classes_in_the_shape_of_the_labels():
    torch.manual_seed(0)
    logits, labels = torch.randn(6, 5, 3), torch.randint(0, 3, (6, 5))
    labels[:, 4:] = -100
    names = ["O", "B-PER", "I-PER"]

    def entity_f1(said):
        kept = [(y[y != -100], p[y != -100]) for y, p in zip(labels, said, strict=True)]
        gold, found = (
            [[names[i] for i in row] for row in rows] for rows in zip(*kept, strict=True)
        )
        return spans.f1_score(gold, found)

    tuned = tune_bias(logits, labels, entity_f1)
    tried = every_threshold(logits[:, :4, 1:].amax(-1) - logits[:, :4, 0])
    shifts = [torch.tensor([t, 0, 0]) for t in tried]
    values = [entity_f1(softmax_decisions(logits, shift)) for shift in shifts]
    assert tuned.after == pytest.approx(max(values))
    assert entity_f1(softmax_decisions(logits, tuned.bias)) == tuned.after


def test_what_cannot_be_tuned_is_refused_and_said():
    x, y = torch.randn(4), [0, 1, 0, 1]
    for logits, labels, options, says in (
        (torch.randn(4, 3), [[0, 1]], {}, r"got logits \[4, 3\] and labels \[1, 2\]"),
        (torch.randn(4), [[0], [1], [0], [1]], {}, r"got logits \[4\] and labels \[4, 1\]"),
        (torch.randn(3), 1, {}, r"expected logits \[N\] and labels \[N\], .* labels \[\]; reshape"),
        (torch.zeros(0), torch.zeros(0), {}, r"got logits \[0\]"),
        (x, [0, 1, 2, 0], {}, r"whole numbers from 0 to 1, or -100 to leave one out, got 2"),
        (x, [0, 1, 0.5, 0], {}, r"got 0\.5"),
        (x, [0, 1, math.nan, 0], {}, "got nan"),
        (torch.randn(2, 3), [3, 0], {}, "whole numbers from 0 to 2"),
        (x, [0, 0, -100, 0], {}, "at least one positive, got none among 3"),
        (torch.randn(2, 3), [2, 2], {"background": 2}, "got none among 2"),
        (torch.randn(2, 3), [0, 1], {"background": 3}, "a class from 0 to 2, got 3"),
        (torch.tensor([math.nan, 1, 1, 1]), y, {}, "finite numbers, got NaN"),
        (x, y, {"metric": "accuracy"}, "'f1' or a function of the decisions, got 'accuracy'"),
        (x, y, {"beta": 0}, "beta: expected a number above 0, got 0"),
        (x, y, {"min_recall": 1.5}, "min_recall: expected a share above 0 and up to 1, got 1.5"),
        (x, y, {"min_precision": 0}, "min_precision: expected a share"),
        (x, y, {"min_precision": 0.5, "min_recall": 0.5}, "got several; give one"),
        (x, y, {"beta": 2, "min_recall": 0.5}, "got several"),
        (x, y, {"beta": 2, "metric": len}, "got several"),
        (torch.randn(2, 3), torch.ones(2, 3), {"metric": len}, "got 3 labels; give common=True"),
        (
            torch.tensor([3.0, 2, 1, 0]),
            [0, 1, 0, 1],
            {"min_precision": 0.9, "few": 0},
            r"a precision of at least 0\.9, got at most 0\.5; lower min_precision",
        ),
        (
            torch.tensor([[3.0, 0], [2, 3]]),
            [[1, 1], [0, 0]],
            {"min_precision": 0.9, "few": 0},
            "label 1: expected a threshold",
        ),
        (torch.eye(3), [2, 1, 0], {"min_recall": 0.9, "few": 0}, r"a recall .* lower min_recall"),
    ):
        with pytest.raises(ValueError, match=says):
            tune_bias(logits, labels, **options)


def sentences():
    """A tokenizer, and sentences in which one word in ten is the rare one."""
    torch.manual_seed(0)
    texts = [" ".join(f"w{i}" for i in torch.randint(0, 10, (6,)).tolist()) for _ in range(60)]
    return train_wordpiece(texts, max_length=16, vocab_size=60), texts


def tiny_bert(kind, tokenizer, **options):
    torch.manual_seed(0)
    return kind(tiny_config(tokenizer, initializer_range=0.5, **options)).eval()


def logits_of(model, tokenizer, texts):
    with torch.no_grad():
        return model(**tokenizer(texts, padding=True, return_tensors="pt")).logits


def kept(model, tokenizer, folder):
    """The model as it is read again from where it was saved."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return type(model).from_pretrained(folder)


def test_a_folded_classifier_decides_as_tuned_saved_and_in_a_pipeline(tmp_path):
    tokenizer, texts = sentences()
    model = tiny_bert(BertForSequenceClassification, tokenizer, num_labels=3)
    labels = torch.tensor(["w3" in text for text in texts]).long() * 2
    before = logits_of(model, tokenizer, texts)
    tuned = tune_bias(before, labels, background=1, few=0)
    assert tuned.before != tuned.after
    old = model.classifier.bias.detach().clone()
    torch.testing.assert_close(fold_bias(model, tuned), old + tuned.bias)
    wanted = softmax_decisions(before, tuned.bias)
    loaded = kept(model, tokenizer, tmp_path)
    assert torch.equal(logits_of(loaded, tokenizer, texts).argmax(-1), wanted)
    said = [one["label"] for one in pipeline("text-classification", str(tmp_path))(texts)]
    assert said == [f"LABEL_{i}" for i in wanted.tolist()]


@pytest.mark.parametrize("common", [False, True])
def test_folded_labels_decide_as_tuned_saved_and_in_a_pipeline(tmp_path, common):
    tokenizer, texts = sentences()
    kind = "multi_label_classification"
    model = tiny_bert(BertForSequenceClassification, tokenizer, num_labels=3, problem_type=kind)
    labels = torch.tensor([[f"w{i}" in text for i in (1, 3, 5)] for text in texts]).float()
    before = logits_of(model, tokenizer, texts)
    tuned = tune_bias(before, labels, common=common, few=0)
    fold_bias(model, tuned)
    wanted = before + tuned.bias > 0
    assert not torch.equal(wanted, before > 0)
    loaded = kept(model, tokenizer, tmp_path)
    assert torch.equal(logits_of(loaded, tokenizer, texts) > 0, wanted)
    classify = pipeline("text-classification", str(tmp_path), top_k=None)
    for found, row in zip(classify(texts), wanted.tolist(), strict=True):
        said = {one["label"]: one["score"] > 0.5 for one in found}
        assert [said[f"LABEL_{i}"] for i in range(3)] == row


def test_folding_takes_numbers_adds_each_time_and_returns_a_copy():
    layer = nn.Linear(2, 3, dtype=torch.float16)
    start = layer.bias.detach().clone()
    fold_bias(layer, [1.0, 0.0, -1.0]).zero_()
    fold_bias(nn.Sequential(layer, nn.Softmax(-1)), torch.tensor([1.0, 0.0, -1.0]))
    torch.testing.assert_close(layer.bias.detach(), start + torch.tensor([2, 0, -2]).half())
    assert layer.bias.requires_grad


@pytest.mark.parametrize(
    ("model", "bias", "says"),
    [
        (nn.Linear(2, 3), 0.5, "one finite number for each logit, got 0.5"),
        (nn.Linear(2, 3), [1.0, math.nan, 0.0], "one finite number for each logit"),
        (nn.Linear(2, 3), [0.5], "with 1 outputs in Linear, but its last has 3; give one number"),
        (nn.Linear(2, 3, bias=False), [1.0, 0.0, 0.0], "got one without"),
    ],
)
def test_what_cannot_be_folded_is_refused_and_said(model, bias, says):
    with pytest.raises(ValueError, match=says):
        fold_bias(model, bias)
