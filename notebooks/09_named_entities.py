# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 09 Named entities
#
# - **For** readers who train taggers and wonder whether another loss would find more entities.
# - **You need** the losses of [chapter 07](07_all_losses.ipynb); some acquaintance with BERT
#   {cite}`devlin2019bert`.
# - **You will be able to** train a tagger with any loss of this book on your own corpus, or a
#   model that finds entities by asking for them; tune their thresholds, and compare losses without
#   fooling yourself.
# - **Time** about a minute and a half on a CPU as it stands. With a real encoder and a real
#   corpus, four taggers take about half an hour on two CPU cores and a few minutes on a GPU.
#
# Most words of a text name nothing. A tagger that has understood this and nothing else is right
# nine times out of ten, and useless. This chapter trains the same tagger with four losses, all
# else equal, and asks which of them finds the entities. Then it does the same with the model of
# the paper's Table 5, which asks one question for each type of entity.

# %% [markdown]
# ## 09.1 The parameters
#
# The next cell holds everything that can be changed. `papermill` overwrites it from the command
# line, for example
#
# ```bash
# papermill notebooks/09_named_entities.ipynb out.ipynb -p corpus wnut17 \
#     -p encoder bert-base-cased -p loss ce,dsc -p learning_rate 5e-5 -p epochs 4 \
#     -p output_dir runs/wnut17
# ```

# %% tags=["parameters"]
corpus: str = "embedded-entities-en"  # a registered name, or a path to your own file
encoder: str = "tiny"  # "tiny", "minilm", a local folder, or a model of the Hugging Face hub
loss: str = "ce,fl,dl,dsc"  # one or several of ce, wce, fl, dl, tl, dsc
loss_options: dict = {"dsc": {"squared": True}}  # options by loss; section 09.4 says why
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 10  # passes over the training sentences
max_steps: int = -1  # stop after so many steps; -1 for no such limit
batch_size: int = 32  # sentences in a step
learning_rate: float = 2e-3  # the peak of a linear schedule; 2e-5 to 2e-4 for a pretrained encoder
max_length: int = 64  # sub-words in a sentence; what is longer is cut
train_size: int = 0  # training sentences used, drawn by the seed; 0 for all
eval_size: int = 0  # sentences of each split that is scored; 0 for all
device: str = "auto"  # "auto", "cpu" or "cuda"
precision: str = "auto"  # "auto" (bf16 on a GPU that has it), "fp32", "bf16" or "fp16"
output_dir: str = ""  # checkpoints and records; a killed run resumes there. "" keeps nothing
reader_epochs: int = 6  # passes of the reader of section 09.8; 0 leaves it out

# %% [markdown]
# A misspelt name or an impossible value ends here, before anything is loaded. The last parameter
# is this chapter's own; the others are the same in all experiment chapters.

# %%
from dicebook.training.experiment import Experiment, ParameterError

experiment = Experiment.from_namespace(globals(), also=["reader_epochs"])
if not isinstance(reader_epochs, int) or reader_epochs < 0:
    raise ParameterError(f"parameter 'reader_epochs': expected 0 or more, got {reader_epochs!r}")
print(f"{len(experiment.losses)} losses on {experiment.corpus}: {', '.join(experiment.losses)}")

# %%
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dicebook import TrainerLoss, corpora, figures, log_ratio_weights
from dicebook.reproduce import paper, runs
from dicebook.tasks import mrc_ner, tagging
from dicebook.tasks.entity_queries import query
from dicebook.training.encoders import load_tokenizer
from dicebook.training.sampling import sample
from dicebook.training.trainer import build_loss, train

figures.use_style()

# %% [markdown]
# ## 09.2 From a sentence to a score
#
# A corpus of entities is a list of sentences, and each word carries a tag. `B-PER` begins a
# person, `I-PER` continues it, and `O` is outside of every entity. The scheme is called IOB2.

# %%
entities = sample(corpora.load(experiment.corpus, task="tagging"), experiment)
lengths = [len(tokens) for tokens in entities["train"]["tokens"]]
example = entities["train"][int(np.argmax(np.array(lengths) >= 8))]
pd.DataFrame([example["tags"]], columns=example["tokens"], index=["tag"])

# %% [markdown]
# Counted over the training sentences, one tag holds most of the words.

# %% tags=["nbval-check-output"]
count = corpora.imbalance(entities, task="tagging")
share = 100 * count.negative / (count.negative + count.positive)
print(f"{count.negative:,} words outside, {count.positive:,} inside of an entity")
print(f"{count.ratio:.1f} negatives for each positive: {share:.1f}% of the words are O")

# %% [markdown]
# The score looks at whole entities. One is found if its first word, its last word and its type are
# right; anything less counts as an error twice, once as a missed entity and once as an invented
# one. Precision is the share of predicted entities that are right, recall the share of true
# entities that are found, and F1 their harmonic mean. Here is the tagger that says `O` to
# everything, scored on the test sentences.

# %% tags=["nbval-check-output"]
gold = entities["test"]["tags"]
nothing = [["O"] * len(tags) for tags in gold]
majority = tagging.score(gold, nothing)
print({name: round(value, 1) for name, value in majority.items()})

# %% [markdown]
# High accuracy, and no entity found. That is the gap this book is about.

# %% [markdown]
# ## 09.3 Words to sub-words
#
# An encoder reads sub-words. The first sub-word of a word carries the word's tag; the others, and
# the special tokens, get the label −100, which every loss of `dicebook` leaves out.

# %%
texts = (" ".join(tokens) for tokens in entities["train"]["tokens"])
tokenizer = load_tokenizer(experiment.encoder, texts, max_length=experiment.max_length)
encoded = tagging.encode(entities, tokenizer, max_length=experiment.max_length)
row = encoded.splits["train"][0]
pd.DataFrame(
    {"sub-word": tokenizer.convert_ids_to_tokens(row["input_ids"]), "label": row["labels"]}
).T

# %%
print(f"{len(encoded.labels)} labels: {', '.join(encoded.labels)}")
print(f"words cut off at {experiment.max_length} sub-words: {encoded.cut}")

# %% [markdown]
# ## 09.4 The model and its losses
#
# The model is the encoder with one linear layer on top: a row of logits, one for each label, at
# every position. The shapes are all that a loss needs to know.

# %%
import torch

torch.manual_seed(experiment.seed)
model = tagging.model(experiment.encoder, tokenizer, encoded.labels)
batch = tagging.collator(tokenizer)([encoded.splits["train"][i] for i in range(4)])
logits = model(**{k: batch[k] for k in ("input_ids", "attention_mask")}).logits
print("logits", list(logits.shape), " labels", list(batch["labels"].shape))

# %% [markdown]
# Four losses, one call. Weighted cross entropy, if asked for, takes its weights from the counts of
# the training split ([Eq. 2](eq-2)).

# %%
counts = encoded.counts()
for name in experiment.losses:
    criterion = build_loss(experiment, name, counts)
    print(f"{name:4} {criterion(logits, batch['labels']).item():.3f}  {criterion}")

# %% [markdown]
# Before training, cross entropy stands near the logarithm of the number of labels. The two dice
# losses count at set level: the whole batch is one set, and each label is compared with the rest.
#
# Both have squared denominators here. For DL that is [Eq. 8](eq-8) as it stands. For DSC it is a
# choice of ours, made on the validation split: with the linear denominator of [Eq. 12](eq-12) this
# small encoder, trained from nothing, never leaves the state in which everything is `O`. You can
# see it with `-p loss dsc -y "{loss_options: {dsc: {}}}"`; the reason is in
# [chapter 04](04_dice_loss.ipynb).

# %% [markdown]
# ## 09.5 Training
#
# Every loss starts from the same weights and sees the same batches in the same order, with the
# same learning rate. The epoch with the best F1 on the validation sentences is kept. The test
# sentences are predicted once, at the end.


# %%
def evaluate(logits, split):
    """Entity scores of a split's logits."""
    return tagging.score(split["tags"], tagging.decode(logits, split, encoded.labels))


# %%
trained = {}
for name in experiment.losses:
    print(name)
    trained[name] = train(
        experiment.only(name),
        build_model=lambda: tagging.model(experiment.encoder, tokenizer, encoded.labels),
        splits=encoded.splits,
        collator=tagging.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build_loss(experiment, name, counts)),
        evaluate=evaluate,
    )

# %% [markdown]
# The curves show when each loss begins to find entities. Cross entropy first learns that
# everything is `O`; the dice family is not rewarded for that.

# %%
for name, result in trained.items():
    steps = [entry["epoch"] for entry in result.history]
    f1 = [entry["validation_f1"] for entry in result.history]
    plt.plot(steps, f1, label=name, **figures.style(name))
plt.xlabel("epoch")
plt.ylabel("F1 on the validation split, %")
plt.legend(title="loss")
plt.show()

# %% [markdown]
# ## 09.6 Scores, and a baseline that must not be missing
#
# A tagger says `O` when `O` has the largest logit. Nobody said that this is the right threshold
# for F1. Adding a number to the logit of `O` moves it: below zero, more entities are predicted. We
# tune that number on the validation split, for every loss alike, and score the test split with and
# without it.

# %%
test, validation = encoded.splits["test"], encoded.splits["validation"]
curves, table = {}, {("majority", "argmax"): majority}
for name, result in trained.items():
    bias, curves[name] = tagging.tune_outside_bias(
        result.logits["validation"], validation, encoded.labels
    )
    for how, b in (("argmax", 0.0), ("tuned", bias)):
        tags = tagging.decode(result.logits["test"], test, encoded.labels, outside_bias=b)
        table[name, how] = {**tagging.score(gold, tags), "bias of O": b}
pd.DataFrame(table).T.round(1)

# %% [markdown]
# Read the column F1 twice. The rows `argmax` are what papers print. The rows `tuned` are what a
# practitioner can have from the same model for nothing. Where the tuned cross entropy reaches a
# dice loss, that loss moved the threshold and did not learn more. With the defaults it does not
# reach it: tuning gives cross entropy two or three points, and more than ten are missing.

# %% [markdown]
# ### Precision against recall
#
# The same sweep as a picture. Each curve is one trained model under all thresholds, each mark is
# where its own argmax lands. Two losses on the same curve are the same model with another
# threshold.

# %%
figures.precision_recall(
    {
        name: (
            [point["precision"] / 100 for point in curve],
            [point["recall"] / 100 for point in curve],
        )
        for name, curve in curves.items()
    }
)
for name, curve in curves.items():
    point = next(point for point in curve if point["outside_bias"] == 0)
    x, y = point["recall"] / 100, point["precision"] / 100
    plt.plot(x, y, "o", color=figures.style(name)["color"])
plt.title("validation split, bias of O from −6 to 6")
plt.legend(loc="upper right", title="loss", facecolor="white", framealpha=1, frameon=True)
plt.show()

# %% [markdown]
# With this chapter's defaults the two dice curves lie outside of the curves of cross entropy and
# focal loss: at the same recall they are more precise. No threshold takes one model to the other,
# so here the loss changed what was learned. Do not carry this home yet. The sentences are made up,
# the encoder starts from nothing, ten epochs are few, and it is one seed.

# %% [markdown]
# ## 09.7 Errors that one loss makes and the other does not
#
# Numbers hide sentences. Here are test sentences in which the first and the last of the losses
# disagree, and one of them is right.

# %%
first, last = experiment.losses[0], experiment.losses[-1]
predicted = {
    name: tagging.decode(trained[name].logits["test"], test, encoded.labels)
    for name in (first, last)
}


def spans_in_words(tokens, tags):
    """The entities of a sentence, readable."""
    found = corpora.spans(tags, strict=True)
    return ", ".join(f"{' '.join(tokens[e.start : e.end])} ({e.type})" for e in found) or "–"


rows = []
for i, tokens in enumerate(test["tokens"]):
    a, b = predicted[first][i], predicted[last][i]
    if a != b and gold[i] in (a, b):
        rows.append([" ".join(tokens), *(spans_in_words(tokens, t) for t in (gold[i], a, b))])
print(f"{len(rows)} sentences in which exactly one of the two is right")
pd.set_option("display.max_colwidth", 90)
pd.DataFrame(rows[:6], columns=["sentence", "gold", first, last])

# %% [markdown]
# ## 09.8 The same entities as answers
#
# Table 5 of the paper does not use a tagger. Its model, BERT-MRC {cite}`li2020mrc`, reads each
# sentence once for every type, after a question such as this one:

# %%
kinds = sorted({span.type for tags in entities["train"]["tags"] for span in corpora.spans(tags)})
print(kinds[0], "→", query(kinds[0]))

# %% [markdown]
# At every word it says whether an entity of that type *starts* there and whether one *ends* there.
# For pairs of a likely start and a likely end it says whether they *match*. All three are
# yes-or-no decisions, each with a binary loss of its own; the sum is trained. In the paper's
# symbols the positives are now starts, ends and matches.
#
# Our tiny encoder has never read a question. It gets the type's name instead, which tells it as
# much and is shorter. A real encoder gets the questions.

# %%
if experiment.encoder == "tiny":
    queries = {kind: kind for kind in kinds}
    texts = [*(" ".join(tokens) for tokens in entities["train"]["tokens"]), *kinds * 20]
    reader_tokenizer = load_tokenizer("tiny", texts, max_length=experiment.max_length + 16)
    options = {"candidates": 4}  # starts and ends that are paired; our sentences are short
else:
    queries, reader_tokenizer, options = None, tokenizer, {}
room = 16 if queries else 40  # sub-words of a question
language = "zh" if experiment.corpus.endswith("zh") or experiment.corpus == "msra" else "en"
asked = mrc_ner.encode(
    entities,
    reader_tokenizer,
    queries=queries,
    language=language,
    max_length=min(experiment.max_length + room, reader_tokenizer.model_max_length),
)
print(f"{len(asked.splits['train']):,} questions for {len(entities['train']):,} sentences")

# %% [markdown]
# ### Where the imbalance grows
#
# A question about persons in a sentence without a person has no answer. All its decisions are
# negative. By type, over the training sentences:

# %% tags=["nbval-check-output"]
grown = {}
for kind in kinds:
    found = [[s for s in corpora.spans(t) if s.type == kind] for t in entities["train"]["tags"]]
    positive = sum(map(len, found))
    grown[kind] = {
        "questions": len(found),
        "without answer, %": 100 * np.mean([not answers for answers in found]),
        "starts": positive,
        "negatives a start": sum(lengths) / positive - 1,
    }
pd.DataFrame(grown).T.round(1)

# %%
negative, positive = asked.counts()
print(f"tagger: {count.ratio:.1f} negatives a positive; starts and ends: {negative / positive:.1f}")

# %% [markdown]
# The reader is asked four times about every sentence, and three times out of four the right answer
# is "nothing here". What is more, only the first and the last word of a name are positive now.
# With the defaults seven negatives to a positive become more than fifty, and the eighteen types of
# OntoNotes 5 would make it worse. If imbalance is what a dice loss mends, this is the place to see
# it.

# %% [markdown]
# ### Training the reader
#
# The first and the last of the losses, in their binary forms, from the same start, with the
# learning rate and batch size of the tagger. Fewer passes, for each is four times as long. Cross
# entropy may find nothing at the threshold of one half and still rank the candidates well. So an
# epoch is judged at its best threshold, in log-odds, for both losses alike: 0 is a probability of
# one half, −6 one of a quarter of a percent.


# %%
def reader_scores(outputs, split, threshold):
    """Entity scores of a split, start, end and match all above a threshold."""
    truth = [corpora.spans(tags, strict=True) for tags in entities[split]["tags"]]
    return mrc_ner.score(truth, mrc_ner.decode(outputs, asked, split, threshold=threshold))


def tuned_scores(outputs):
    """Scores of the validation split at the threshold with the best F1."""
    best = mrc_ner.tune_threshold(outputs, asked, "validation")
    return reader_scores(outputs, "validation", best)


# %%
readers = {}
for name in dict.fromkeys([first, last]) if reader_epochs else ():
    print("reader,", name)
    folder = experiment.output_dir and str(Path(experiment.output_dir) / "reader")
    settings = replace(experiment.only(name), epochs=reader_epochs, output_dir=folder)
    criterion = build_loss(experiment, name, asked.counts(), binary=True)
    readers[name] = train(
        settings,
        build_model=lambda: mrc_ner.model(experiment.encoder, reader_tokenizer, **options),
        splits=asked.splits,
        collator=mrc_ner.collator(reader_tokenizer),
        tokenizer=reader_tokenizer,
        compute_loss=mrc_ner.MrcLoss(criterion),
        evaluate=lambda outputs, split: tuned_scores(outputs),
    )

# %%
reader_table = {}
for name, result in readers.items():
    threshold = mrc_ner.tune_threshold(result.logits["validation"], asked, "validation")
    for how, t in (("argmax", 0.0), ("tuned", threshold)):
        scores = reader_scores(result.logits["test"], "test", t)
        reader_table["reader", name, how] = {**scores, "threshold": t}
both = {("tagger", *key): value for key, value in table.items() if key[0] in (first, last)}
pd.DataFrame({**both, **reader_table}).T.drop(columns=["accuracy", "f1_conlleval"]).round(1)

# %% [markdown]
# Look at the two rows `argmax` of the reader first, which for yes-or-no decisions means a
# probability of one half. Cross entropy has learned to say no, and finds little. The dice loss
# finds several times as much. This is the effect that the paper is about, and it is large. Now the
# rows `tuned`: lower the threshold of cross entropy, and its F1 about doubles. That model had
# learned more than it said at one half. With the defaults half of the difference is gone, and half
# remains.
#
# In the tagger, tuning was worth two or three points; here it is worth fifteen. The more
# imbalanced the decisions, the less a comparison at one half says about a loss. How much remains
# is nothing to carry home: these are one seed, made-up sentences and an encoder that starts from
# nothing, and neither reader gets far in the time of this page. What holds beyond them is the
# procedure: no comparison of losses without the tuned threshold.
#
# Is the reader better than the tagger? The table cannot say. They have the same sentences, but a
# pass of the reader is four times as long, and neither was trained to its end.

# %% [markdown]
# ## 09.9 A real corpus
#
# So far the sentences were made up. WNUT 2017 {cite}`derczynski2017wnut` is real and hard: tweets,
# forum posts and comments, and hardly an entity of the test split occurs in training. The runs
# below were made by `dicebook.reproduce.seeds` with this chapter's steps; within a group only the
# loss and the seed differ. All that are kept in `results/` are shown.

# %%
records = [r for r in runs.kept_records("wnut17") if r["chapter"] == "09_named_entities"]
groups = runs.comparable(records)
for number, (common, group) in enumerate(groups, start=1):
    size = common["train_size"] or "all"
    rest = ", ".join(f"{name} {value}" for name, value in common.items() if name != "train_size")
    print(f"group {number}: {len(group)} runs on {size} of the training sentences; {rest}")

# %% [markdown]
# F1 on the test split, mean and 95% interval over seeds, at argmax and with the tuned bias of `O`;
# and the difference from cross entropy with the same seeds, where there are several.

# %%
rows = {}
for (number, (_, group)), split in product(enumerate(groups, start=1), ("test", "test_tuned")):
    for name, found in runs.over_seeds(group, split=split).items():
        row = rows.setdefault((number, name), {"seeds": len(found.scores)})
        row[split] = found.mean
        if found.gain:
            row[f"{split} less ce"], row[f"p of {split}"] = found.gain, f"{found.p_value:.3f}"
pd.DataFrame(rows).T.fillna("")

# %%
_, largest = groups[0]
real = {name: list(found.scores.values()) for name, found in runs.over_seeds(largest).items()}
if min(map(len, real.values())) == 1:
    print("One seed a loss: no interval, no test, no ranking.")
else:
    figures.scores(real, xlabel="F1 on the test split of WNUT 2017, %")
    plt.show()

# %% [markdown]
# A loss with one seed ranks nothing, and has no interval: from one seed to the next, F1 on a corpus
# of this size moves by a point or two. With several seeds, read the interval of the difference. If
# it holds zero, no difference larger than its farther end was seen, and that may be a large one.
# The p-value cannot fall below 2/2ⁿ with n seeds, .06 for five.
#
# The first group has three seeds of seven settings on 1,700 of the training sentences. `dl` and
# both exponents of `dsc`, all squared, are level with cross entropy: differences of a point or
# less at argmax, in intervals of four points and more. `tl` has linear denominators, and with every seed it
# finds no entity at all: the collapse of [chapter 04](04_dice_loss.ipynb), with a pretrained
# encoder. No threshold wakes it. Focal loss is two and a half points ahead, and its interval holds
# zero by a hair at argmax and not when tuned. Weighted cross entropy is eight points behind at
# argmax. It says "entity" twice as often as it should. With its threshold tuned it comes out on
# top, three points ahead of cross entropy, though its interval, too, holds zero by a hair. No loss
# made for F1 is among the winners.
#
# The second group has all training sentences and one seed of four losses. There the order is
# another one: cross entropy is first and focal loss two points behind it. So much for a lead of
# two and a half points from three seeds on half of the corpus.

# %% [markdown]
# ### Table 5 of the paper
#
# The paper's numbers for CoNLL 2003 {cite}`tjongkimsang2003conll`, with a larger encoder, the
# reader in the place of the tagger, and no word on seeds.

# %% tags=["nbval-check-output"]
table5 = [row for row in paper.table(5).rows if row.corpus == "conll03" and row.precision]
for row in table5:
    print(f"{row.model:14} P {row.precision:.2f}  R {row.recall:.2f}  F1 {row.f1:.2f}")

# %% [markdown]
# The gain printed for DSC over the first row is .29. [Chapter 15](15_audit.ipynb) recomputes that
# row's F1 from its own precision and recall, and the gain does not survive it. On the other three
# corpora of the table the gains are larger, and nothing is said of thresholds there either.

# %% [markdown]
# ## Summary
#
# - A corpus of entities is mostly `O`. Accuracy rewards a tagger for knowing that; F1 over
#   entities does not.
# - A tagger's loss sees logits of shape `[B, L, C]` and labels with −100 where nothing is to be
#   learned. That is all it takes to swap one for another.
# - A model trained from nothing is where the losses differ most: a linear denominator may never
#   leave the state in which everything is `O`, a squared one leaves it early.
# - Asking one question for each type multiplies the negatives. There cross entropy with the
#   threshold of one half looks worst, and profits most from another threshold.
# - Cross entropy with a tuned threshold is the baseline that a new loss has to beat.
# - One seed on a made-up corpus ranks nothing. Claims need real corpora, several seeds and
#   intervals.

# %% [markdown]
# ## Exercises
#
# **1.** A tagger finds the boundaries of all entities and gets every type wrong. What are its
# accuracy and its F1 on the test split? Say it before you compute it.

# %% tags=["solution", "hide-cell"]
kinds = sorted({tag[2:] for tags in gold for tag in tags if tag != "O"})
other = dict(zip(kinds, kinds[1:] + kinds[:1], strict=True))
wrong = [[t if t == "O" else t[:2] + other[t[2:]] for t in tags] for tags in gold]
{name: round(value, 1) for name, value in tagging.score(gold, wrong).items()}

# %% [markdown]
# **2.** What happens to precision and recall when `O` is forbidden altogether?

# %% tags=["solution", "hide-cell"]
never = tagging.decode(trained[first].logits["test"], test, encoded.labels, outside_bias=-1e4)
{name: round(value, 1) for name, value in tagging.score(gold, never).items()}

# %% [markdown]
# **3.** Some scorers let an entity begin with `I-`. Replace every `B-` of a prediction by `I-`,
# and compare the strict score with a count of lenient spans.

# %% tags=["solution", "hide-cell"]
inside = [[t.replace("B-", "I-") for t in tags] for tags in predicted[last]]
pairs = zip(inside, gold, strict=True)
lenient = sum(len(set(corpora.spans(i)) & set(corpora.spans(g))) for i, g in pairs)
strict = tagging.score(gold, inside)
print(f"strict recall {strict['recall']:.1f}, entities found by a lenient count: {lenient}")

# %% [markdown]
# **4.** Make an embedded corpus with twenty negatives for each positive. What weights does
# [Eq. 2](eq-2) give to its labels, and which label gets the largest?

# %% tags=["solution", "hide-cell"]
english = corpora.load("embedded-entities-en", task="tagging")
english["train"] = corpora.rebalance(english["train"], 20, task="tagging")
rare = tagging.encode(english, tokenizer, max_length=64)
weights = log_ratio_weights(torch.as_tensor(rare.counts()), K=1.0)
pd.Series(weights.numpy().round(2), index=rare.labels)

# %% [markdown]
# **5.** Is the difference between the first and the last loss more than chance in the choice of
# test sentences? Draw the test split a thousand times with replacement.

# %% tags=["solution", "hide-cell"]
draw = np.random.default_rng(0).integers(len(gold), size=(1000, len(gold)))


def parts(tags_by_sentence):
    """Right, predicted and gold entities of every sentence."""
    found = [[set(corpora.spans(t, strict=True)) for t in x] for x in (tags_by_sentence, gold)]
    return np.array([(len(p & g), len(p), len(g)) for p, g in zip(*found, strict=True)])


f1 = {}
for name in (first, last):
    right, n_predicted, n_gold = parts(predicted[name])[draw].sum(1).T
    f1[name] = 200 * right / np.maximum(1, n_predicted + n_gold)
low, high = np.quantile(f1[last] - f1[first], [0.025, 0.975])
print(f"{last} less {first}: 95% of the draws between {low:+.1f} and {high:+.1f} points of F1")

# %% [markdown]
# ### The record
#
# The last cell leaves what this run was and what came of it, in one JSON file a loss, if
# `output_dir` is set.

# %%
for name, result in trained.items():
    record = runs.make_record(
        chapter="09_named_entities",
        parameters=asdict(experiment.only(name)),
        metrics={
            "test": table[name, "argmax"],
            "test_tuned": table[name, "tuned"],
            "majority": majority,
        },
        history=result.history,
        measured=result.measured,
    )
    if experiment.output_dir:
        runs.write_json(Path(experiment.output_dir) / name / "record.json", record)
    print(f"{name}: F1 {record['metrics']['test']['f1']:.1f}")

# %%
for name, result in readers.items():
    record = runs.make_record(
        chapter="09_named_entities, reader",
        parameters={**asdict(experiment.only(name)), "epochs": reader_epochs},
        metrics={
            "test": reader_table["reader", name, "argmax"],
            "test_tuned": reader_table["reader", name, "tuned"],
            "majority": majority,
        },
        history=result.history,
        measured=result.measured,
    )
    if experiment.output_dir:
        runs.write_json(Path(experiment.output_dir) / "reader" / name / "record.json", record)
    print(f"reader, {name}: F1 {record['metrics']['test']['f1']:.1f}")
