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
# # 21 Many labels, most of them rare
#
# You train a model that gives labels to comments. The loss falls, micro F1 looks decent, and then you find that some
# of the labels are never given at all. Nothing is broken. If one example in two hundred has a label, there are 199<!-- 200 - 1 -->
# negatives for each of its positives. A model with 28 labels has to solve 28 such problems with one loss.
#
# In this chapter we see why a rare label stays silent, and why macro F1 shows it while micro F1 does not. Then we
# compare what helps: the start of the bias, weights, dice loss, and a threshold for each label. On GoEmotions, a small
# model on fixed features with macro dice has a far better macro F1 than one with cross entropy from the log prior, if
# every label is decided at one half. With a threshold for each label, we cannot tell which is better. With all layers
# of MiniLM trained, one run of this page cannot tell them apart, and dice was behind in three short ones.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers whose examples have several labels at once, and whose model "only predicts zeros".
# - **You need** the bias and the threshold of [chapter 02](02_cross_entropy.ipynb), and set-level
#   dice ([chapter 04](04_dice_loss.ipynb)).
# - **You will be able to** explain why a rare label is never given, and choose between one threshold for all and one for each
#   label. You can match a loss to micro or macro F1, and give a decoder a classification head that pads correctly.
# - **Time** about three quarters of an hour on a CPU core for the run of this page, a few minutes on a GPU. Without the
#   corpus, the same cells run in two minutes on a small one.
#
# </details>

# %% tags=["remove-cell"]
# Without dicebook, this cell installs it if `make repository` has set an address, and else says how.
try:
    __import__("dicebook")
except ModuleNotFoundError:
    _install = """print("dicebook is missing: in a clone, run pip install '.[book]'")"""
    get_ipython().run_cell(_install)

# %% tags=["remove-cell"]
from dicelab import figures

figures.use_style()

# %% [markdown]
# ## 21.1 The parameters
#
# The next cell holds everything that you can change, as in [section 8.1](08_part_of_speech.ipynb). The corpus is
# GoEmotions {cite}`demszky2020`, comments with 27<!-- and neutral makes 28 --> emotions and "neutral". You can give the chapter any file with the
# columns `sentence` and `labels`, where commas separate the labels:
#
# ```bash
# dicebook data goemotions --out data     # fetch the corpus
# papermill --log-output notebooks/21_many_labels.ipynb out.ipynb \
#     -p corpus my.csv -p output_dir runs/21
# ```

# %% tags=["parameters"]
corpus: str = "goemotions"  # registered name, or your file
seed: int = 0  # seeds weights, data order and dropout
steps: int = 1000  # of the bag of sub-words, for each loss
seeds: int = 2  # of the bag: how many, from `seed` on
bag_rate: float = 1e-2  # the learning rate of the bag
encoder: str = "minilm"  # of 21.8: or "tiny", a folder, a hub model
start: str = "prior"  # the output bias starts there; or at "zero"
epochs: int = 3  # passes over the training comments
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # comments in a step
learning_rate: float = 1e-4  # the peak of its schedule
max_length: int = 48  # sub-words in a comment; what is longer is cut
train_size: int = 8000  # its training comments; 0 for all
eval_size: int = 0  # its scored comments of a split; 0 for all
device: str = "auto"  # "auto", "cpu", "cuda" or "mps"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
decoder: str = ""  # of 21.9: a folder, a hub model; "" for an untrained one
output_dir: str = ""  # checkpoints, records; "" keeps nothing

# %%
from dicelab import chapters
from dicelab.training.experiment import ParameterError

experiment = chapters.experiment(
    "21_many_labels",
    globals(),
    also=["steps", "seeds", "bag_rate", "decoder"],
)
for of in ("steps", "seeds"):
    if not isinstance(globals()[of], int) or globals()[of] < 1:
        wrong = f"expected 1 or more, got {globals()[of]!r}"
        raise ParameterError(f"parameter {of!r}: {wrong}")
print(f"{experiment.corpus}, {experiment.encoder}")

# %% [markdown]
# ## 21.2 A set of labels is a row of zeros and ones
#
# How do we give a model a set of labels to learn? We write the set as a row with one place for each label: 1 if the
# example has the label, and 0 if it does not. We may not print comments of the corpus here, so this one is ours:

# %%
import pandas as pd

comment = "I finally finished my thesis!"
its_labels = {"joy": 1, "neutral": 0, "pride": 1, "relief": 0}
pd.DataFrame([its_labels], index=[comment])

# %% [markdown]
# The sum of each column is how often a label occurs:

# %%
import numpy as np

from dicelab import corpora
from dicelab.tasks import labels
from dicelab.training.encoders import load_tokenizer

data = corpora.load(experiment.corpus, task="labels")
length, texts = experiment.max_length, data["train"]["sentence"]
tokenizer = load_tokenizer("tiny", texts, max_length=length)
encoded = labels.encode(data, tokenizer, max_length=length)
counts = pd.DataFrame(
    {
        split: np.asarray(encoded.splits[split]["labels"][:]).sum(0)
        for split in ("train", "validation", "test")
    },
    index=encoded.labels,
).sort_values("train", ascending=False)
print(f"{len(texts):,} training comments, {len(counts)} labels")
counts.iloc[[0, 1, 2, -3, -2, -1]]

# %% mystnb={"code_prompt_show": "Code of Figure 21.1", "figure": {"caption": "Figure 21.1. Most labels are rare, and few are very rare. How many training comments of GoEmotions have each label; orange: fewer than one in a hundred.", "name": "fig-21-1"}, "image": {"alt": "Twenty-eight bars on a logarithmic axis, falling from neutral with 14,219 over admiration with 4,130 down to relief, pride and grief with 153, 111 and 77."}} tags=["hide-input"]
import matplotlib.pyplot as plt

_rare = len(texts) / 100
_, ax = plt.subplots(figsize=(7, 3))
ax.bar(counts.index, counts["train"], color=["C1" if n < _rare else "C0" for n in counts["train"]])
ax.set(yscale="log", ylabel="comments")
ax.tick_params(axis="x", rotation=90)
plt.show()

# %% [markdown]
# A third of the comments are neutral. At the other end, 77 of 43,410 show grief, which makes 563<!-- 43,410 / 77 - 1 -->
# negatives for each positive.
#
# Our first model is the smallest that can learn such comments. It has a vector for each sub-word, takes their mean, and
# puts a linear layer on top. Each label has its own logit and its own sigmoid, because labels do not exclude each
# other. In other words, the model takes 28 binary decisions for each comment. It trains in seconds, so we can try many
# things with it. An encoder follows in section 21.8.

# %%
import torch
from torch import nn


class Bag(nn.Module):
    def __init__(self, bias):
        super().__init__()
        pad = tokenizer.pad_token_id
        self.words = nn.EmbeddingBag(len(tokenizer), 64, padding_idx=pad)
        self.out = nn.Linear(64, len(encoded.labels))
        with torch.no_grad():
            self.out.bias.copy_(bias)

    def forward(self, ids):  # [B, length] to [B, labels]
        return self.out(self.words(ids))


def padded(split):
    rows = [torch.tensor(ids) for ids in split["input_ids"][:]]
    return nn.utils.rnn.pad_sequence(rows, True, tokenizer.pad_token_id)


# %%
each = encoded.splits.items()
inputs = {name: padded(split) for name, split in each}
gold = {name: torch.tensor(split["labels"][:]) for name, split in each}


def train_bag(loss, bias, seed, steps=steps):
    """Logits of the validation and the test split."""
    torch.manual_seed(seed)
    model = Bag(bias)
    optimizer = torch.optim.AdamW(model.parameters(), lr=bag_rate)
    for _ in range(steps):
        rows = torch.randint(len(inputs["train"]), (64,))
        optimizer.zero_grad()
        loss(model(inputs["train"][rows]), gold["train"][rows]).backward()
        optimizer.step()
    parts = ("validation", "test")
    with torch.no_grad():
        return {part: model(inputs[part]).numpy() for part in parts}


# %% [markdown]
# ## 21.3 Why all zeros
#
# We start with a common complaint: "my model only predicts zeros". To see how it arises, we train with cross entropy
# and a bias of 0, which is the usual start. We look at the model early and late. How many labels does it give, and
# how many kinds of labels does it ever give?

# %%
from dicebook import make_loss


def given(hard):
    kinds = hard.any(0).sum().item()
    return {"labels given": hard.sum().item(), "kinds ever given": kinds}


cross_entropy = make_loss("binary_ce")
zero, prior = torch.zeros(len(encoded.labels)), encoded.prior()
early = {}
for some in (1, 10, 50, steps):
    logits = train_bag(cross_entropy, zero, seed, some)["test"]
    early[some] = given(logits > 0)
early["in the gold"] = given(gold["test"])
pd.DataFrame(early).T.rename_axis("steps")

# %% [markdown]
# At the start every probability is about one half. The model first learns what is true of nearly all decisions: the
# answer is no. Therefore after fifty steps it gives hardly any label. Only then does it learn words, and with them the
# common labels. The probability of a rare label has to climb from its share, perhaps 1/200, to one half before the label
# is given even once. After a thousand steps, a pass and a half, six of the 28 labels have not got there.
#
# Does the model know more than it says? Take a label that one comment in two hundred has. If the model gives it a
# probability of 0.2, that is forty times its share, and a strong hint. **The threshold of one half hides this hint.**
#
# ## 21.4 The remedies
#
# What can you do about it? You can help the rare labels before training, in the loss, or afterwards:
#
# - *The log prior*: the bias of each label starts at its log-odds in the training data.
# - *Weights*: a positive counts more than a negative, by the square root of the label's ratio of negatives to
#   positives.
# - *Focal loss*: easy decisions count less.
# - *Logit adjustment*: half of the log prior is added to the logits during training.
# - *Dice loss for several labels*: *micro* takes all decisions as one set, so that every decision counts alike.
#   *Macro* takes one set for each label, so that every label counts alike.
# - *A threshold* other than one half, for all labels or for each. If your software can only decide at one half,
#   subtract the log-odds of the threshold from the output bias of the label. Then the same labels are given.
#
# We train with each loss, and decide in five ways. The last two, *shrunk* and *plug-in*, are ways to set a threshold
# with few or no positives. Section 21.5 explains them.

# %%
from dicebook import MultiLabelDiceLoss

ratio = (-prior).exp()
per_label = nn.BCEWithLogitsLoss(pos_weight=ratio.sqrt())
weighted = lambda x, y: per_label(x, y.float())
adjusted = lambda x, y: cross_entropy(x + prior / 2, y)
remedies = {
    "cross entropy": (cross_entropy, zero),
    "cross entropy, prior": (cross_entropy, prior),
    "weighted": (weighted, prior),
    "focal": (make_loss("binary_fl", gamma=2.0), prior),
    "logit adjustment": (adjusted, zero),
    "dice, micro": (MultiLabelDiceLoss(average="micro"), prior),
    "dice, macro": (MultiLabelDiceLoss(average="macro"), prior),
}
logits = {
    name: [train_bag(loss, bias, seed + i) for i in range(seeds)]
    for name, (loss, bias) in remedies.items()
}


# %%
def f1(one, cut):
    """Micro and macro F1 of a run on the test split, in percent."""
    hard = one["test"] > cut(one["validation"], one["test"])
    told = labels.decode(hard, encoded.labels, threshold=0.5)
    wanted = encoded.splits["test"]["names"][:]
    found = labels.score(wanted, told, encoded.labels)
    return {"micro": found["f1"], "macro": found["macro_f1"]}


truth = gold["validation"].numpy()
WAYS = {  # a threshold from the logits of validation, v, and of test, t
    "one half": lambda v, t: 0.0,
    "one threshold": lambda v, t: labels.tune_threshold(v, truth),
    "one a label": lambda v, t: labels.tune_thresholds(v, truth),
    "shrunk": lambda v, t: labels.tune_thresholds(v, truth, shrink=10),
    "plug-in": lambda v, t: labels.plug_in_thresholds(t),
}
scores = {
    (name, way): pd.DataFrame([f1(one, cut) for one in of_seeds])
    for name, of_seeds in logits.items()
    for way, cut in WAYS.items()
}

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
from IPython.display import display

means = pd.DataFrame({key: found.mean() for key, found in scores.items()}).T


def show(table):
    """A table of macro F1 and one of micro F1, a row a loss, a column a way of deciding."""
    for metric in ("macro", "micro"):
        shown = table[metric].round(1)
        display(shown.rename_axis(index=None, columns=f"{metric} F1"))


show(means.unstack().reindex(remedies).reindex(columns=list(WAYS), level=1))

# %% [markdown]
# Start with the first table, which has macro F1, and with its first column. At one half the loss makes a large
# difference. Plain cross entropy is last, and weights, logit adjustment and macro dice are more than ten points ahead
# of it. Now move to the column with a threshold for each label. Here most of that lead is gone: cross entropy from the
# log prior gains more than ten points, and macro dice is 1.7 points ahead of it. Two seeds and one learning rate cannot
# say whether that is more than chance, and section 21.7 has many draws.
#
# The second table has micro F1. At one half, the remedies differ less in micro F1 than in macro F1.
# This is because micro F1 counts decisions, and most positive decisions belong to common labels. **A table of micro
# F1 alone does not show you whether the rare labels are found at all.**
#
# A threshold for each label gained much here. But each threshold is chosen on the positives of one label, and these
# may be few. Can you trust it?
#
# ## 21.5 When a threshold of its own overfits
#
# What is a threshold worth that was chosen on few positives? To find out, we take a label that has many positives, and
# pretend that it has fewer. We tune its threshold on
# smaller and smaller parts of the validation split. Each time we note two scores: the F1 that the part promises, and
# the F1 on test.

# %%
label = counts.index[len(counts) // 4]
print(label, counts.loc[label].to_dict())
column = encoded.labels.index(label)
one = logits["cross entropy, prior"][0]
v, y = one["validation"][:, column], truth[:, column]
t, wanted = one["test"][:, column], gold["test"].numpy()[:, column]
yes, no = np.flatnonzero(y), np.flatnonzero(y == 0)


def of_threshold(cut, x, y):
    return 200 * (y * (x > cut)).sum() / max(1, y.sum() + (x > cut).sum())


draws = np.random.default_rng(0)
rows = []
for n in (2, 5, 11, 25, 50, len(yes)):
    for _ in range(100):
        keep = draws.permutation(yes)[:n]
        others = draws.permutation(no)[: n * len(no) // len(yes)]
        part = np.concatenate([keep, others])
        cut = labels.tune_thresholds(v[part, None], y[part, None])[0]
        promised = of_threshold(cut, v[part], y[part])
        rows.append((n, promised, of_threshold(cut, t, wanted)))
found = pd.DataFrame(rows, columns=["positives", "promised", "test"])
overfit = found.groupby("positives")

# %% mystnb={"code_prompt_show": "Code of Figure 21.2", "figure": {"caption": "Figure 21.2. A threshold that is tuned on few positives promises too much. F1 of one label of GoEmotions, by the number of positives that its threshold is tuned on: what the part of the validation split promises, and what the test split gives. Means over 100 parts. Nine tenths of the test scores lie in the band.", "name": "fig-21-4"}, "image": {"alt": "Two curves over the number of positives from 2 to about 250. The promised F1 falls from 85 to 75; the test F1 rises from 65 to 74, in a band that is 30 points wide at two positives and narrow at the right."}} tags=["hide-input"]
mean, low, high = overfit.mean(), overfit.quantile(0.05), overfit.quantile(0.95)
fig, ax = plt.subplots(figsize=(6, 3.3))
ax.plot(mean.index, mean["promised"], "o-", label="promised by the part")
ax.plot(mean.index, mean["test"], "s-", label="test")
ax.fill_between(mean.index, low["test"], high["test"], color="C1", alpha=0.2)
ax.set(xscale="log", xlabel="positives that the threshold is tuned on", ylabel="F1")
ax.legend()
plt.show()

# %% [markdown]
# With two positives the part promises an F1 of 85<!-- Figure 21.2 --> that the test split does not give, and the threshold may lie far from
# the best one. From 25 positives on, the promise is less than five points off. So do not report the F1 of the
# data that you tuned on. However, a threshold whose promise is too high may still be better than one common threshold
# for all labels. Section 21.7 compares the two on labels with few positives.
#
# If a label has few positives, it can borrow from the others. We *shrink* its own threshold towards the common
# threshold of all labels. With `shrink=10`, a label with ten positives gets a threshold, in logits, halfway between
# the two. More generally, with $n$ positives its own threshold has the weight $n / (n + 10)$, and the common one has
# the rest. So a label without a positive gets the common threshold.
#
# The *plug-in* threshold goes further: it needs no gold label at all. It is half of the best F1 that the model's own
# probabilities promise {cite}`lipton2014thresholding`. You can only trust this promise if the probabilities are
# right. Are they?

# %% [markdown]
# ## 21.6 Are the probabilities right?
#
# Cross entropy is minimised by the true probabilities. Weighted and adjusted cross entropy, focal loss and dice loss
# are not. To see how much this matters, we collect all decisions of the test split in bins, by the probability that
# the model gives. If the model is calibrated, then of the decisions in a bin, the share of positives is about the
# probability of the bin:

# %%
edges = [0, 0.02, 0.1, 0.3, 0.6, 1.0]
there = pd.Series(gold["test"].numpy().ravel())
told = {}
for name in ("cross entropy, prior", "weighted", "focal", "dice, macro"):
    p = torch.from_numpy(logits[name][0]["test"]).sigmoid().numpy().ravel()
    bins = pd.cut(p, edges, include_lowest=True)
    told[name] = 100 * there.groupby(bins, observed=False).mean()
reliable = pd.DataFrame(told)
reliable.round(1).rename_axis("probability given; labels there, %")

# %% [markdown]
# Where cross entropy says 0.1 to 0.3, or 0.3 to 0.6, the share of positives lies in this range as well. Where the
# weighted loss, focal loss or dice says so, the share is lower. What follows for you? Use the plug-in threshold with
# cross entropy. With the others, tune the threshold or recalibrate first. The next section measures what each loss gives
# up with the plug-in threshold.
#
# ## 21.7 A search for each remedy
#
# So far each remedy had one setting and few seeds. The same corpus and a small model have a search for each remedy, as
# records (`kept_records("labels")`). A bag of words gives fixed features of each comment, and a small network on top of them is trained. We report means
# of twenty draws. Each draw has 16,000<!-- the study's sizes --> comments to train on, and every remedy gets four trials. We choose the trial
# on 4,000<!-- the study's sizes --> further comments, and set the thresholds on as many others.
#
# Each trial draws a learning rate, a dropout and the loss's own parameter. For weights, this is the power of the
# ratio, and for logit adjustment the share of the log prior, both from 0.1 to 1. Cross entropy from the log prior has
# that start in all four trials, plain cross entropy in none, and the other losses in two.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
from dicelab.records import runs

ARMS = {
    "bce": "cross entropy",
    "bce_prior": "cross entropy, prior",
    "pos_weight": "weighted",
    "focal": "focal",
    "logit_adjustment": "logit adjustment",
    "dice_micro": "dice, micro",
    "dice_macro": "dice, macro",
}
FOUND = {"half": "one half", "one": "one threshold", "each": "one a label"}
FOUND |= {"shrunk": "shrunk", "plug_in": "plug-in"}


# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
def by_draw(records):
    """Scores, a row a loss and draw, a column a metric and way of deciding."""
    rows = [
        {"loss": ARMS[r["parameters"]["loss"]], "draw": r["parameters"]["seed"]}
        | {(m, FOUND[w]): r["metrics"][w][m] for m in ("macro", "micro") for w in FOUND}
        for r in records
    ]
    scores = pd.DataFrame(rows).set_index(["loss", "draw"])
    scores.columns = pd.MultiIndex.from_tuples(scores.columns)
    return scores


of_draws = runs.kept_records("labels")
real = by_draw(of_draws)
show(real.groupby("loss").mean().reindex(ARMS.values()))

# %% [markdown]
# Which of these differences can you rely on? The next table has the most important pairs, with 95% intervals over
# draws and test comments. The intervals are not corrected for the number of comparisons:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
(compared,) = runs.kept_records("labels_comments")
of_pair = {
    (*d["arm"], *d["over"], d["metric"]): (d["mean"], d["low"], d["high"])
    for d in compared["metrics"]["differences"]
}
PAIRS = [
    ("dice_macro", "half", "bce_prior", "half"),
    ("dice_macro", "each", "bce_prior", "each"),
    ("dice_macro", "half", "bce_prior", "each"),
    ("dice_micro", "one", "bce_prior", "one"),
    ("pos_weight", "each", "bce_prior", "each"),
    ("bce_prior", "one", "bce_prior", "each"),
    ("bce_prior", "shrunk", "bce_prior", "each"),
    ("bce_prior", "plug_in", "bce_prior", "each"),
]
lines = {}
for a, way, b, other in PAIRS:
    name = f"{ARMS[a]}: {FOUND[way]}, minus {ARMS[b]}: {FOUND[other]}"
    found = {m: of_pair[a, way, b, other, m] for m in ("macro", "micro")}
    texts = {m: "{:.1f} [{:.1f}, {:.1f}]".format(*f) for m, f in found.items()}
    lines[name] = {m: t.replace(" ", "\u00a0").replace("-", "−") for m, t in texts.items()}
pd.DataFrame(lines).T

# %% [markdown]
# We read these tables with four questions.
#
# **Does dice help you if you tune no threshold?** On this corpus it does. If every label is decided at one half,
# macro dice is 8.2 points of macro F1 ahead of cross entropy that starts at the log prior. In micro F1 it is 9.4
# points ahead. For this gain you need to choose neither a weight nor a threshold. However, this gain does not reach
# the rarest labels: at one half, the F1 of macro dice on grief, pride, relief and nervousness is 0. The start at the
# log prior alone is worth 1.0 point of macro F1.
#
# **And if you tune the thresholds?** Then the gain in macro F1 is gone. With a threshold for each label, cross
# entropy from the log prior has the best macro F1 of the table. Macro dice with the same kind of thresholds is 0.2
# points lower. The interval includes zero, so we cannot tell which is better. In micro F1, with one threshold for all
# labels, micro dice is the best of the table. It is half a point ahead of cross entropy from the log prior.
#
# You may want to compare two whole recipes: macro dice at one half, and cross entropy with a tuned threshold for each
# label. Macro dice is 1.4 points of macro F1 lower, but 4.8 points of micro F1 higher. So if you want one set of
# decisions that is good in both scores, macro dice gives it to you without tuning. However, all this is one corpus
# and a small model.
#
# **One threshold, or one for each label?** It depends on the score that you want. With a threshold for each label,
# cross entropy loses 5.7 points of micro F1, compared with one threshold for all. The reason is that these thresholds
# give too many labels: about ten thousand, while the test comments have 6,329.
#
# **How many positives does a label need for its own threshold?** Fewer than we expected. Grief has seven positives to
# tune on, pride ten, relief and nervousness about fifteen. With their own thresholds, the mean F1 of these four
# labels is still 2.0 points higher than with the common one. If we shrink these thresholds towards the common one,
# 1.2 points of this gain are lost. Over all labels, shrinking gains 2.8 points of micro F1 and costs half a point of
# macro F1. If you have fewer positives than these, split your validation set in two halves. Tune both kinds of
# threshold on one half, and compare them on the other.
#
# The plug-in threshold needs no positives at all. For cross entropy, the macro F1 with it is not distinguishable from
# that with a tuned threshold for each label. But for focal loss the plug-in threshold loses 8.1<!-- of the table --> points of macro F1,
# and for weights and adjusted logits 3.2<!-- of the table --> each. Their probabilities are not calibrated, as section 21.6 explains. For
# both dice losses we see no such cost: the intervals exclude a loss of more than 0.3 points.

# %% [markdown]
# ## 21.8 Train every layer of an encoder
#
# So far you have seen the code of a bag of sub-words. Here is the same task with MiniLM, and all of its layers are
# trained, as you would do it with your own data. Each label has a logit on top of the encoder, and its bias starts at
# the label's log-odds.
#
# Before you train, ask what a much simpler model reaches. We use two floors. One gives the commonest label to
# everything. The other is a logistic regression on words, one for each label.

# %%
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from dicelab.training.sampling import sample

rows = sample(data, experiment)
texts = rows["train"]["sentence"]
pieces = load_tokenizer(experiment.encoder, texts, max_length=length)
whole = labels.encode(rows, pieces, max_length=length)
targets = {
    name: np.array(split["labels"][:])  # 0 or 1 for each label
    for name, split in whole.splits.items()
}
names = whole.splits["test"]["names"][:]
of_words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
by_word = OneVsRestClassifier(LogisticRegression(C=10, max_iter=1000))
by_word.fit(of_words.fit_transform(texts), targets["train"])
bag = {}
for part in ("validation", "test"):
    vectors = of_words.transform(rows[part]["sentence"])
    bag[part] = by_word.decision_function(vectors)

# %% [markdown]
# Every model is decided in three ways, and scored in two: *macro F1* is the mean of the F1 of all labels, so each label
# counts alike. *Micro F1* puts the decisions about all labels together. The brackets are
# [bootstrap intervals](bootstrap) over test comments.

# %%
from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal
from dicelab.metrics.intervals import interval

every = tuple(range(len(whole.labels)))
goals = {
    "macro F1": Goal("macro-f1", (), macro=every, absent=True),
    "micro F1": Goal("f1", every),
}
commonest = np.zeros_like(targets["test"])
commonest[:, whole.counts().argmax()] = 1
said, own_thresholds = {"commonest label": commonest}, {}


def decide(name, logits):
    """The labels of the test comments, at three thresholds."""
    validation = logits["validation"], targets["validation"]
    own_thresholds[name] = labels.tune_thresholds(*validation)
    ways = {
        "one half": 0.0,
        "one threshold": labels.tune_threshold(*validation),
        "one a label": own_thresholds[name],
    }
    for how, threshold in ways.items():
        said[f"{name}: {how}"] = (logits["test"] > threshold).astype(int)


# %%
def score_table():
    """Both scores with their intervals, of all that was said."""
    table = {}
    for name, found in said.items():
        counts = Counts.of_labels(targets["test"], found)
        cells = {of: str(interval(counts, g)) for of, g in goals.items()}
        table[name] = cells
    return pd.DataFrame(table).T


decide("words", bag)
print(f"{len(texts):,} training comments, {len(names):,} test comments")
score_table()

# %% [markdown]
# Now the encoder, with cross entropy. The call is that of [section 11.5](11_paraphrases.ipynb). We keep the pass with
# the best macro F1 on validation, with a threshold for each label.

# %%
from dataclasses import replace

from dicebook import TrainerLoss
from dicelab.training.trainer import train

losses = {"ce": make_loss("binary_ce"), "dl": MultiLabelDiceLoss()}
with_label = whole.counts()
each_label = np.stack([len(texts) - with_label, with_label], axis=1)


def evaluate(logits, split):
    """Validation scores with a threshold for each label."""
    own = labels.tune_thresholds(logits, np.array(split["labels"][:]))
    found = labels.decode(logits, whole.labels, threshold=own)
    return labels.score(split["names"][:], found, whole.labels)


# %%
def fit(name):
    """An encoder trained with one of the losses."""
    return train(
        replace(experiment, loss=name),
        build_model=lambda: labels.model(encoder, pieces, whole.labels),
        counts=each_label.tolist(),
        splits=whole.splits,
        collator=labels.collator(pieces),
        tokenizer=pieces,
        compute_loss=TrainerLoss(losses[name]),
        evaluate=evaluate,
        best="macro_f1",
    )


encoders = {"ce": fit("ce")}
decide("ce", encoders["ce"].logits)
score_table()

# %% [markdown]
# Compare the encoder with the bag of words. At one half both are far from what they can do. With a threshold for each
# label, both have a macro F1 of 38.0, so an encoder with 22 million weights is no better there than a count of words. In
# micro F1 it is ahead, because it knows the common labels better. For rare labels, 8,000 comments and three passes are
# little to learn from, and a single word such as "sorry" says much. So compute the bag of words before you trust the gain
# of an encoder.
#
# A score does not say what goes wrong. Which labels does the model miss most, and what does it give in their place?

# %%
errors, decided = {}, said["ce: one a label"].astype(bool)
true = targets["test"].astype(bool)
for i, label in enumerate(whole.labels):
    missed = decided[true[:, i] & ~decided[:, i]]
    instead = pd.Series(missed.sum(0), whole.labels)
    instead["nothing"] = (~missed.any(1)).sum()
    first = instead.sort_values(ascending=False, kind="stable")[:2]
    errors[label] = {
        "test comments": true[:, i].sum(),
        "missed": len(missed),
        "given instead": ", ".join(f"{k} ({n})" for k, n in first.items()),
    }
pd.DataFrame(errors).T.sort_values("missed", ascending=False)[:6]

# %% [markdown]
# In each row but the first, the label that was given most often instead is *neutral*. This is hardly surprising: a
# third of the comments are neutral. And whether "I suppose so" is approval or nothing at all is hard to say for
# people, too.
#
# What does the model say of comments that you wrote yourself? It encodes a comment, and gives each label whose log-odds
# exceed its threshold. Here are twelve of ours, with the labels that we meant. Put yours in their place.

# %%
OWN = """
Thank you so much, that was exactly the part I needed! | gratitude
I miss my grandmother every day since the funeral. | grief, sadness
Who decided to close the library on Saturdays? | anger, curiosity
I am so sorry, I should never have said that to you. | remorse
Wait, the train goes all the way to Lisbon? | surprise, curiosity
I finally finished my thesis, my parents framed it! | pride, joy
The meeting has been moved to room twelve. | neutral
My hands are shaking, the results come in an hour. | nervousness
That sandwich had a fly in it. I feel sick. | disgust
Phew, the lump turned out to be nothing at all. | relief
You are right, I had not looked at it that way. | realization
I tripped on stage in front of the school. | embarrassment
"""


@torch.no_grad()
def label_of(name, text):
    """The labels that a trained encoder gives to a text."""
    model = encoders[name].model.eval()
    coded = pieces(text, return_tensors="pt", truncation=True)
    x = model(**coded.to(model.device)).logits.float().cpu().numpy()
    own = own_thresholds[name]
    return labels.decode(x, whole.labels, threshold=own)[0]


# %%
lines = [line.split(" | ") for line in OWN.strip().splitlines()]
own = [(text, meant, ", ".join(label_of("ce", text)) or "–")
       for text, meant in lines]  # fmt: skip
pd.DataFrame(own, columns=["comment", "we meant", "ce"])

# %% [markdown]
# The model finds gratitude, sadness and remorse. It calls nervousness, relief and embarrassment neutral, and these are
# among the labels with the fewest examples. To the comment about a fly in a sandwich it gives *fear*, among others: a
# threshold that is tuned on few positives can let a rare label through too easily.
#
# ### The other loss
#
# Now we train the same model with macro dice: a dice loss for each label, and their mean.

# %%
encoders["dl"] = fit("dl")
decide("dl", encoders["dl"].logits)
score_table().iloc[1:]

# %%
from dicelab.metrics.intervals import difference

gaps = {}
for how in ("one half", "one threshold", "one a label"):
    two = (said[f"{name}: {how}"] for name in ("dl", "ce"))
    both = [[Counts.of_labels(targets["test"], found)] for found in two]
    for of, goal in goals.items():
        gap = difference(*both, goal.plain)
        text = f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]"
        gaps.setdefault(how, {})[of] = text
print("dl minus ce, points")
pd.DataFrame(gaps).T

# %% [markdown]
# If you have to decide at one half, the loss matters: macro dice has a macro F1 of 31.4, and cross entropy has 16.4. With
# one threshold for all labels dice is still three points ahead in macro F1, and a point behind in micro F1. With a
# threshold for each label, the difference in macro F1 is −1.0, and its interval just includes 0. In micro F1 dice is then
# six points lower. All of this is one seed and one learning rate.
#
# Which labels do the models find? [Figure 21.3](fig-21-each) shows the F1 of each label against the number of its training
# comments.

# %% mystnb={"code_prompt_show": "Code of Figure 21.3", "figure": {"caption": "Figure 21.3. Frequent labels are found, rare ones only sometimes, and the two losses lie close together. GoEmotions, MiniLM with all layers: F1 of each label on the test comments, with a threshold of its own, by the number of training comments that have the label.", "name": "fig-21-each"}, "image": {"alt": "Points for 28 labels over the number of training comments, from 18 to 2,588, on a logarithmic axis, twice: for cross entropy and for dice. F1 rises with the number, from near 0 for grief and pride to 68 for neutral, but widely scattered: gratitude is at 91, love at 82, realization at 10."}} tags=["hide-input"]
_, ax = plt.subplots(figsize=(6.4, 3.6))
_f1 = {}
for _name, _title in (("ce", "cross entropy"), ("dl", "dice")):
    _found = Counts.of_labels(targets["test"], said[f"{_name}: one a label"]).sum(0)
    _f1[_name] = pd.Series(100 * _found.f1, whole.labels)
    ax.scatter(with_label, _f1[_name], s=16, color=figures.style(_name)["color"], label=_title)
_notes = {"gratitude": 6, "love": 6, "neutral": 6, "grief": 6, "pride": 3, "realization": -14}
for _label, _shift in _notes.items():
    if _label in whole.labels:
        _at = (with_label[whole.labels.index(_label)], _f1["ce"][_label])
        ax.annotate(_label, _at, (2, _shift), textcoords="offset points", size="small")
ax.set(xscale="log", xlabel="training comments with the label", ylabel="F1, %")
ax.legend()
plt.show()

# %% mystnb={"code_prompt_show": "Code and table of Figure 21.3"} tags=["hide-cell"]
_f1["training comments"] = pd.Series(with_label, whole.labels)
pd.DataFrame(_f1).sort_values("training comments").round(1)

# %% [markdown]
# The number of training comments explains a part of the F1. The rarest labels, grief and pride, have 18
# training comments each, and the model finds nearly none of their test comments. But the F1 of gratitude is above
# 90, probably because people express it with the same few words. The F1 of realization, with 204 comments,
# is below 13. The two losses lie close together for most labels.
#
# ### Three short runs
#
# How sure is this? We also have three draws with every layer of MiniLM trained
# (`kept_records("labels_all_layers")`), on 4,000<!-- the records' train_size --> comments and for two passes. The
# learning rate is the same for all losses, and we did not search it.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
all_layers = runs.kept_records("labels_all_layers")
deep = by_draw(all_layers)
of_all = deep.groupby("loss").mean()
of_all = of_all.reindex([name for name in ARMS.values() if name in of_all.index])
show(of_all)

# %% [markdown]
# Here the start matters more than the loss. From a bias of 0, cross entropy gives no label at one half in any draw.
# With tuned thresholds its macro F1 is 7.5. From the log prior, with tuned thresholds, it is 34.9.
#
# Weighted cross entropy ends at 25.7 and macro dice at 23.7, and both are below cross entropy from the log prior in
# every draw, also in average precision, which needs no threshold. But these are two passes over few comments at one
# learning rate, so we cannot tell whether the loss or its learning rate is to blame. With all layers trained, do not
# expect dice to gain, and train longer before you judge it.

# %% [markdown]
# ## 21.9 A decoder with a classification head
#
# Many people now start from a decoder, such as Qwen or Llama, and put a classification head on it. You can use the
# same losses. But four things differ, and most of them can spoil your scores without an error message. They are the
# token from which the answer is read, the precision of the numbers, the bias of the head, and the part that is
# trained. We go through them with a small untrained Qwen2. With `-p decoder` you can take a local folder or a hub
# name instead.

# %%
import tempfile

from datasets import DatasetDict
from transformers import Qwen2Config, Qwen2Model
from transformers.utils import logging

logging.disable_progress_bar()

embedded = not decoder
if embedded:
    reader, decoder = tokenizer, tempfile.mkdtemp()
    config = Qwen2Config(
        vocab_size=len(reader),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        pad_token_id=None,
    )
    torch.manual_seed(0)
    Qwen2Model(config).save_pretrained(decoder)
else:
    reader = load_tokenizer(decoder, [])

# %%
torch.manual_seed(0)
model = labels.model(decoder, reader, encoded.labels).float().eval()
few = DatasetDict(train=data["train"], test=data["test"].select(range(8)))
read = labels.encode(few, reader, max_length=96).splits
rows = list(read["test"].select(range(8)))
batch = labels.collator(reader)(rows)
side, pad = reader.padding_side, model.config.pad_token_id
bias = model.score.bias
print(f"padding {side}, id {pad}; bias {bias}")


# %% [markdown]
# **A decoder reads its answer from the last token.** In a decoder each token sees only what comes before it, so only
# the last one has seen the whole text. Therefore the model must know which tokens are padding. Many decoders do not
# name their padding token in the config, and `labels.model` writes it there. With the wrong padding token the model
# reads its answer from the padding, without any error message. On which side you pad does not matter to Qwen and
# Llama, because their positions are relative. GPT-2, however, counts from the left end, so pad it on the right.
#
# We check this: the answers of a batch should be those of each text alone.

# %%
@torch.no_grad()
def answers(batch):
    ids, mask = batch["input_ids"], batch["attention_mask"]
    return model(input_ids=ids, attention_mask=mask).logits


alone = torch.cat([answers(labels.collator(reader)([row])) for row in rows])
right = (answers(batch) - alone).abs().max().item()
model.config.pad_token_id = len(reader) - 1
wrong = (answers(batch) - alone).abs().max().item()
model.config.pad_token_id = pad
told = f"in a batch minus alone: {right:.0e}"
print(f"{told}; with a wrong padding token {wrong:.2f}")

# %% [markdown]
# **bf16 is coarse.** Many decoders are stored in bf16. Near −5, where the log-odds of a rare label lie, two
# neighbouring logits of bf16 are 0.03 apart, and beyond −8 twice as far. Then many comments share a logit, and no
# threshold can separate them. So call `model.float()` before the forward pass. If you convert only the logits
# afterwards, the digits that were rounded away do not come back. The losses of the library compute in fp32. Sort and
# tune in fp32, too.
#
# **The head of a decoder has no bias.** Its head, `score`, is a linear layer without a bias. So there is no place for
# the log prior, and the model spends its first steps on learning "no" through the weights. Give it a bias:

# %%
model.score = nn.Linear(model.config.hidden_size, len(encoded.labels))
with torch.no_grad():
    model.score.bias.copy_(prior)

# %% [markdown]
# Be careful when you load such a model again: `from_pretrained` builds a head without the bias, and drops the saved
# bias. So build the model, put the layer in, and load the weights into it:
# `model.load_state_dict(load_file("model.safetensors"))`.
#
# **Only a low-rank part is trained.** A decoder is large, and LoRA trains a small part of it. It adds to a frozen
# matrix the product $B A$ of two small matrices. $B$ starts at zero, so that at first nothing changes. If you use
# `peft`, name the head among the modules that are trained whole, because it is new. (The matrix of GPT-2 is called
# `c_attn`.)
#
# ```python
# from peft import LoraConfig, get_peft_model
#
# lora = LoraConfig(task_type="SEQ_CLS", r=8, target_modules=["q_proj", "v_proj"],
#                   modules_to_save=["score"])
# model = get_peft_model(model, lora)
# ```

# %% [markdown]
# ## Summary
#
# - The probability of a rare label has to climb from its share to one half before the label is given. That is why a
#   model "only predicts zeros", and why a lower threshold helps.
# - At one half the loss makes a large difference in macro F1. In small models, macro dice, weights and adjusted
#   logits are ahead of cross entropy, on *made-up* letters and on *real text*.
# - With a threshold for each label, on *real text*, cross entropy from the log prior and macro dice are level in a
#   small model. The interval of their difference excludes more than 0.6 points. With all layers trained, cross
#   entropy was ahead in all three short runs, and the two were level in a longer one.
# - Micro F1 hides rare labels, and it is best with one threshold for all labels. So report both scores, and the F1 of
#   each label with its count.
# - A threshold tuned on a handful of positives promises too much, but on *real text* it was still better than a common one.
#
# ## Exercises
#
# **Exercise 21.1 (recall).** Of 1,000 examples, 10 have a label. A model gives it to 20, and 8 of these have it. What
# does the label add to the numerator and the denominator of micro F1, and what is its own F1?

# %% mystnb={"code_prompt_show": "Solution 21.1"} tags=["solution", "hide-cell"]
# 2 · 8 = 16 above, 10 + 20 = 30 below; its own F1 is 16/30.
gold_sets = [["a"]] * 10 + [[]] * 990
predicted = [["a"]] * 8 + [[]] * 2 + [["a"]] * 12 + [[]] * 978
(of_a,) = labels.score_each(gold_sets, predicted, ["a"])
assert (of_a["right"], of_a["count"] + of_a["predicted"]) == (8, 30)
print(f"{of_a['f1']:.1f}")

# %% [markdown]
# **Exercise 21.2 (pencil).** A label has a share of 1/200. The probabilities of the model are right, and its
# best F1 on this label is 0.4. From which probability on should it be given, and from which log-odds?

# %% mystnb={"code_prompt_show": "Solution 21.2"} tags=["solution", "hide-cell"]
# At half of the best F1, 0.2 (Lipton et al., 2014), whatever its share: log(0.2/0.8) = -1.39.
assert abs(np.log(0.2 / 0.8) + 1.386) < 0.001

# %% [markdown]
# **Exercise 21.3 (apply).** Write macro dice by hand, from sigmoids and sums over the batch, and compare it with
# `MultiLabelDiceLoss(absent="keep")`.

# %% mystnb={"code_prompt_show": "Solution 21.3"} tags=["solution", "hide-cell"]
torch.manual_seed(1)
x, y = torch.randn(40, 5), (torch.rand(40, 5) < 0.1).float()
p = x.sigmoid()
by_hand = 1 - (2 * (p * y).sum(0) + 1) / ((p * p).sum(0) + y.sum(0) + 1)
torch.testing.assert_close(MultiLabelDiceLoss(absent="keep")(x, y), by_hand.mean())

# %% [markdown]
# **Exercise 21.4 (predict, then run).** You shrink each label's own threshold towards the common one. Does this raise or
# lower macro F1 on the test split here? And micro F1?

# %% mystnb={"code_prompt_show": "Solution 21.4"} tags=["solution", "hide-cell"]
for metric in ("macro", "micro"):
    own, drawn = (
        scores["cross entropy, prior", way][metric].mean() for way in ("one a label", "shrunk")
    )
    print(f"{metric}: {own:.1f} with its own, {drawn:.1f} shrunk")
# Verdict: it depends on how far the rare labels' best thresholds lie from that of all. On GoEmotions shrinking lost
# macro F1 and gained micro F1; look at both numbers on your validation data, by halves.

# %% [markdown]
# The run of this page:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
from dataclasses import asdict
from pathlib import Path

for _name, _result in encoders.items():
    _scores = {}
    for _split, _how in (("test", "one half"), ("test_tuned", "one a label")):
        _counts = Counts.of_labels(targets["test"], said[f"{_name}: {_how}"]).sum(0)
        _scores[_split] = {of: float(goal.plain(_counts)) for of, goal in goals.items()}
    chapters.end_run(
        "21_many_labels",
        _name,
        output_dir and Path(output_dir) / _name,
        _result.first_losses,
        parameters={**asdict(replace(experiment, loss=_name)), "steps": steps},
        metrics=_scores,
        history=_result.history,
        measured=_result.measured,
    )
print(", ".join(f"{name} {version}" for name, version in runs.versions().items()))

# %% [markdown]
# ## Further reading
#
# - {cite:t}`demszky2020`: GoEmotions, how it was labelled, and how far its labellers agree.
# - {cite:t}`lipton2014thresholding`: why half of the best F1 is the threshold, and what that does to rare labels.
# - {cite:t}`ridnik2021`: a loss for hundreds of labels.
