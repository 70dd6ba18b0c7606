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
# # 11 Paraphrases
#
# "How old is he?" and "What is his age?" Do two such questions ask the same? You may know the task from a forum
# that looks for duplicates of your question. Here a positive has one or two negatives, not hundreds. Does a loss made
# for F1 still help? In this chapter you train a model of pairs with two losses, and look at its threshold, its errors
# and its probabilities. On this page, where half of the pairs are duplicates, we cannot tell which loss is better.
# With fewer duplicates, a frozen MiniLM and a head with one hidden layer, dice scores five to eight points of F1 above
# cross entropy at argmax, on three of four tasks. Once you tune both thresholds, every interval includes 0.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who classify pairs of texts, or anything else with two classes.
# - **You need** [chapter 08](08_part_of_speech.ipynb) and the tuned threshold of
#   [chapter 02](02_cross_entropy.ipynb).
# - **You will be able to** train a classifier of pairs with any loss of this book, and see which F1 you get without
#   training. You can distinguish a better model from a moved threshold.
# - **Time** about twenty minutes on a CPU core for the run of this page, a minute or two on a GPU. Without the corpus,
#   the same cells run in a minute on a small one.
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
# ## 11.1 The parameters
#
# The next cell holds everything that you can change, as in [section 8.1](08_part_of_speech.ipynb). The corpus is a
# part of QQP, pairs of questions from Quora, in which half of the pairs are duplicates {cite}`wang2017bilateral`.
# You can also set the parameters from the command line:
#
# ```bash
# dicebook data qqp_wang --out data     # fetch the corpus
# papermill --log-output notebooks/11_paraphrases.ipynb out.ipynb \
#     -p loss ce,dl,dsc -p output_dir runs/11
# ```

# %% tags=["parameters"]
corpus: str = "qqp_wang"  # registered name, or your file
encoder: str = "minilm"  # or "tiny", a folder, a hub model
loss: str = "ce,dl"  # of ce, wce, fl, dl, tl, dsc, MODULE:NAME
loss_options: dict = {}  # such as {"dsc": {"alpha": 0.01}}
start: str = "prior"  # the output bias starts there; or at "zero"
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 3  # passes over the training pairs
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # pairs in a step
learning_rate: float = 1e-4  # the peak of its schedule
max_length: int = 64  # sub-words in a pair; longer ones are cut
train_size: int = 0  # training pairs; 0 for all
eval_size: int = 2000  # scored pairs of a split; 0 for all
device: str = "auto"  # "auto", "cpu", "cuda" or "mps"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing

# %%
from dicelab import chapters

experiment = chapters.experiment("11_paraphrases", globals())
print(f"{experiment.corpus}, {experiment.encoder}")

# %% [markdown]
# ## 11.2 Two questions and a label
#
# An example is now a pair of sentences with a label. The label is 1 if the two say the same. We may not print
# questions of the corpus here, so these pairs are ours:

# %%
import pandas as pd

ours = [
    ("Why do cats purr?", "What makes a cat purr?", 1),
    ("Why do cats purr?", "Why do cats hate water?", 0),
]
pd.DataFrame(ours, columns=["sentence1", "sentence2", "label"])

# %% [markdown]
# Compare the pairs: the second one shares more words, and it is not a duplicate. How many pairs of each kind are
# there?

# %%
from dicelab import corpora
from dicelab.training.sampling import sample

rows = sample(corpora.load(experiment.corpus, task="pairs"), experiment)
count = corpora.imbalance(rows, task="pairs")
for name, split in rows.items():
    print(f"{name}: {len(split):,} pairs")
print(f"in train {count.positive:,} positive, {count.negative:,} negative")

# %% [markdown]
# ## 11.3 What a simple rule reaches
#
# The score is the F1 of the positive pairs. How high is it before we train anything? Two rules do not look at the
# pair: always no and always yes. A third rule counts shared words and says yes if there are many of them. We choose
# on the validation pairs how many are enough.

# %%
import re

import numpy as np


def shared_words(rows):
    """Words in common, as a share of all words of both sentences."""
    found = []
    for one, two in zip(rows["sentence1"], rows["sentence2"], strict=True):
        a = set(re.findall(r"\w+", one.lower()))
        b = set(re.findall(r"\w+", two.lower()))
        found.append(len(a & b) / max(1, len(a | b)))
    return np.array(found)


# %%
from dicelab.tasks import pairs, thresholds

gold = np.array(rows["test"]["label"])
truth = np.array(rows["validation"]["label"])
overlap = {of: shared_words(rows[of][:]) for of in ("validation", "test")}
enough = thresholds.best_f1(overlap["validation"], truth, truth.sum())
answers = {
    "always no": np.zeros_like(gold),
    "always yes": np.ones_like(gold),
    "shared words": (overlap["test"] > enough).astype(int),
}
floors = {name: pairs.score(gold, says) for name, says in answers.items()}
pd.DataFrame(floors).T.round(1)

# %% [markdown]
# (eq-11-1)=
# "Always yes" does surprisingly well. Can we say in advance how well? Its recall is one, because it misses no positive. Its
# precision is π, the share of positives, because it calls all pairs positive. F1 is their harmonic mean, so
#
# $$ F_1(\text{always yes}) = \frac{2\pi}{1 + \pi} \tag{11.1} $$
#
# In words: double the share of positives, and divide by one plus that share. The more positives there are, the higher
# is this F1. For example, in the corpus MRPC, which you will meet below, two pairs of three are paraphrases, so you
# have an F1 of 80 there without looking at a single sentence. Put this number beside every F1 that you read or report.

# %%
shares = {"this corpus": gold.mean(), "all of QQP": 0.37, "MRPC": 0.67}
for name, share in shares.items():
    always_yes = 200 * share / (1 + share)
    print(f"{name}: π = {share:.2f}, always yes has F1 {always_yes:.1f}")

# %% [markdown]
# ## 11.4 The model
#
# How does an encoder read a pair? The tokenizer puts both sentences into one sequence, with a special token between
# them. One linear layer on top of the first position then gives two logits for the pair.

# %%
from dicelab.training.encoders import load_tokenizer

sentences = (f"{r['sentence1']} {r['sentence2']}" for r in rows["train"])
tokenizer = load_tokenizer(
    experiment.encoder,
    sentences,
    max_length=experiment.max_length,
)
encoded = pairs.encode(rows, tokenizer, max_length=experiment.max_length)
splits, counts = encoded.splits, encoded.counts()
print(tokenizer.decode(tokenizer(*ours[0][:2])["input_ids"]))
print(f"pairs cut at {experiment.max_length} sub-words: {encoded.cut}")

# %%
import torch


def new_model():
    """The encoder, and a new linear layer with two logits."""
    return pairs.model(experiment.encoder, tokenizer, encoded.labels)


torch.manual_seed(experiment.seed)
batch = pairs.collator(tokenizer)([splits["train"][i] for i in range(32)])
labels = batch.pop("labels")
logits = new_model()(**batch).logits
print("logits", list(logits.shape), " labels", list(labels.shape))

# %% [markdown]
# A dice loss is about a set, and the set is the batch. If you tag words, a batch of sentences has hundreds of
# decisions. Here a batch has 32 pairs and therefore 32 decisions, a small and noisy sample of F1 (exercise 4). There
# is a second difference: the dice loss averages over both classes, but the score is about the positives alone. The
# option `classes` would change that.
#
# ## 11.5 Training
#
# You know the loop from [section 8.9](08_part_of_speech.ipynb). From here on we call it: `train` is the `Trainer` of
# transformers with a loss of this book. It sets the bias of the output layer to the log prior before the first step,
# and keeps the pass with the best F1 on the validation pairs.

# %%
from dicebook import TrainerLoss
from dicelab.training.trainer import build_loss, train


def evaluate(logits, split):
    """Scores of a split's logits."""
    return pairs.score(split["label"], pairs.decode(logits))


def fit(name):
    """A model trained with one loss."""
    return train(
        experiment.only(name),
        build_model=new_model,
        counts=counts,
        splits=splits,
        collator=pairs.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build_loss(experiment, name, counts)),
        evaluate=evaluate,
    )


first, last = experiment.losses[0], experiment.losses[-1]
trained = {first: fit(first)}

# %% [markdown]
# ## 11.6 A threshold, and scores beside the floors
#
# The model gives us log-odds for every pair, and we call a pair positive if they are above a threshold. Which one?
# `argmax` uses the threshold 0. `tuned` uses the threshold that has the best F1 on the validation pairs. The
# intervals are those of the [bootstrap](bootstrap) over test pairs.

# %%
from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal
from dicelab.metrics.intervals import interval

goal = Goal("f1", (1,))  # F1 of class 1
said, cut_off = dict(answers), {}


def decide(name):
    """Both decisions of a trained model on the test pairs."""
    logits = trained[name].logits
    cut_off[name] = pairs.tune_threshold(logits["validation"], truth)
    for how, t in (("argmax", 0.0), ("tuned", cut_off[name])):
        says = pairs.decode(logits["test"], threshold=t)
        said[f"{name}, {how}"] = says


# %%
def score_table():
    """F1 with its interval, and accuracy, of all that was said."""
    table = {}
    for name, says in said.items():
        counts = Counts.of_classes(gold, says, 2)
        accuracy = pairs.score(gold, says)["accuracy"]
        cells = {"F1": str(interval(counts, goal))}
        table[name] = {**cells, "accuracy": f"{accuracy:.1f}"}
    return pd.DataFrame(table).T


# %%
decide(first)
print(f"tuned threshold: log-odds of {cut_off[first]:.2f}")
score_table()

# %% [markdown]
# Read the table from the top. "Always yes" has an F1 of 66.7, because half of the pairs are positive ([Eq.
# 11.1](eq-11-1)). The count of shared words reaches 75.1. So a rule without training already has most of the points
# that the trained model has. Tuning changes little here: with as many positives as negatives, the tuned threshold
# lies near 0.
#
# ## 11.7 Errors
#
# Which pairs does the model get wrong? We sort the test pairs into three equal groups by how many words their
# sentences share. An error is of one of two kinds: a positive pair is *missed*, or a negative one is *taken for one*.

# %%
groups = np.array_split(np.argsort(overlap["test"], kind="stable"), 3)
errors = {}
for title, of in zip(("few", "some", "most"), groups, strict=True):
    truly, says = gold[of], said[f"{first}, tuned"][of]
    errors[title] = {
        "pairs": len(of),
        "paraphrases": truly.sum(),
        "missed": (truly > says).sum(),
        "of the others": (truly == 0).sum(),
        "taken for one": (says > truly).sum(),
    }
errors = pd.DataFrame(errors).T
errors["missed, %"] = 100 * errors["missed"] / errors["paraphrases"]
errors["taken, %"] = 100 * errors["taken for one"] / errors["of the others"]
errors.round().astype("Int64")

# %% [markdown]
# Where the questions share few words, the model misses more than a quarter of the duplicates. Where they share
# most, it misses few, but it takes four in ten of the other pairs for duplicates. In other words, the model still
# leans on shared words. In your own data, read the pairs on which the model was sure and wrong before you change the
# model. Often the label itself is wrong or arguable.
#
# ## 11.8 Pairs of your own
#
# What does the model say about two sentences of yours? Here are twelve pairs that we wrote. In half of them, the
# second question only looks like the first. Put yours in their place.

# %%
OWN = """
1 | How do I keep basil alive in winter? | How does basil survive winter?
0 | How do I keep basil alive in winter? | How do I dry basil in winter?
1 | Is it safe to drink rain water? | Can you drink the rain without harm?
0 | Is it safe to drink rain water? | Is it safe to drink sea water?
1 | How can I learn to swim as an adult? | How do grown-ups learn swimming?
0 | How can I learn to swim as an adult? | How can I teach an adult to swim?
1 | Why do cats purr? | What makes a cat purr?
0 | Why do cats purr? | Why do cats hate water?
1 | How many people live in Iceland? | What is the population of Iceland?
0 | Is there a train from Lyon to Rome? | Is there one from Rome to Lyon?
1 | How do I mend a bicycle tyre? | How can I repair a flat tire on my bike?
0 | What if I stop drinking coffee? | What if I start drinking coffee?
"""


# %%
@torch.no_grad()
def probability(name, one, two):
    """The probability that two sentences say the same."""
    model = trained[name].model.eval()
    coded = tokenizer(one, two, truncation=True, return_tensors="pt")
    logits = model(**coded.to(model.device)).logits.float()
    return float(logits.softmax(-1)[0, 1])


n_right, lines = 0, OWN.strip().splitlines()
limit = 1 / (1 + np.exp(-cut_off[first]))
for line in lines:
    label, one, two = line.split(" | ")
    p = probability(first, one, two)
    right = (p > limit) == (label == "1")
    n_right += right
    print(f"{'yes' if p > limit else 'no':3} ({p:.2f})", end=" ")
    print("" if right else "WRONG", one, "|", two)
print(f"{n_right} of {len(lines)} are right")

# %% [markdown]
# Only half of the answers are right. The model finds that *population* and *how many people live* go together, which
# no count of words would. However, it is easily misled. For example, it takes the train from Lyon to Rome for the
# train from Rome to Lyon, and rain water for sea water. In both cases its probability is above 0.8. How can an F1 of 83
# on the test pairs go with six right answers of twelve here? The test set has few pairs that were made to mislead. If
# your data has many, write some of your own and look.
#
# To try two questions without training, type `dicebook try 11 "..." "..."`. A smaller model, a linear one on the
# frozen MiniLM, answers in seconds.
#
# ## 11.9 The other loss
#
# Now we train the same model with dice loss. The start, the batches, their order and the learning rate are the same.

# %%
for name in experiment.losses[1:]:
    trained[name] = fit(name)
    decide(name)
score_table().iloc[2:]

# %% [markdown]
# Is the difference larger than the chance of the test pairs? Both models answered the same pairs, so we draw the
# pairs once for both, as in [section 8.14](08_part_of_speech.ipynb).

# %%
from dicelab.metrics.intervals import difference


def counts_of(name):
    """Counts of a decision, as one run."""
    return [Counts.of_classes(gold, said[name], 2)]


print(f"{last} minus {first}, points of F1")
for how in ("argmax", "tuned"):
    both = (counts_of(f"{name}, {how}") for name in (last, first))
    gap = difference(*both, goal.plain)
    print(f"{how}: {gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]")

# %% [markdown]
# Both intervals include 0, so we cannot tell which loss is better. Similar scores do not mean the same errors,
# however. On how many pairs do the two models disagree?

# %%
from scipy import stats

says = {name: said[f"{name}, argmax"] for name in (first, last)}
differ = says[first] != says[last]
right = {name: int((of == gold)[differ].sum()) for name, of in says.items()}
print(f"disagree on {differ.sum()} of {len(gold)} pairs; right: {right}")
if differ.any():
    test = stats.binomtest(right[last], int(differ.sum()))
    print(f"p-value {test.pvalue:.2f}")

# %% [markdown]
# Only the pairs on which they disagree can tell which model is more accurate. If both were equally accurate, each
# such pair would be the toss of a fair coin. The p-value says how probable an outcome at least as uneven as ours is
# with a fair coin. It is large here. This is the sign test, and for classifiers it is known as McNemar's test.
#
# ## 11.10 Are the probabilities true?
#
# You may need more than a decision: how likely is it that two sentences say the same? We sort the test pairs by
# predicted probability into ten equal groups, and compute the share of duplicates in each group.

# %%
from scipy import special


def reliability(p):
    """Mean p and share of duplicates of ten equal groups."""
    parts = np.array_split(np.argsort(p), 10)
    predicted = np.array([p[part].mean() for part in parts])
    return predicted, np.array([gold[part].mean() for part in parts])


reliable = {}
for name, result in trained.items():
    p = special.expit(pairs.margins(result.logits["test"]))
    reliable[name] = reliability(p)
    error = 100 * abs(np.subtract(*reliable[name])).mean()
    print(f"{name}: mean distance {error:.1f} percentage points")

# %% mystnb={"code_prompt_show": "Code of Figure 11.1", "figure": {"caption": "Figure 11.1. Both models are too sure. QQP, test pairs in ten equal groups by predicted probability, and the share of each group that is a duplicate. On the grey diagonal the probabilities would be true.", "name": "fig-11-reliable"}, "image": {"alt": "Predicted probability against the share of duplicates, with a grey diagonal. Both curves lie above the diagonal at the left and below it at the right."}} tags=["hide-input"]
import matplotlib.pyplot as plt

_, ax = plt.subplots(figsize=(4.4, 3.4))
ax.plot([0, 1], [0, 1], color="#C4C4C4", linewidth=1)
for name, (predicted, share) in reliable.items():
    _look = {**figures.style(name), "label": name}
    ax.plot(predicted, share, marker="o", markersize=4, **_look)
ax.set(xlabel="predicted probability of a duplicate", ylabel="share of duplicates")
ax.legend(title="loss")
plt.show()

# %% [markdown]
# Both models are too sure of themselves. Of the pairs to which they give about 0.15, three in ten are duplicates, and of
# those to which they give about 0.8, two in three. After three passes over five thousand pairs this is common.
# The usual remedy is *temperature scaling*: divide the logits by a number that is chosen on validation. No log-odds
# change their sign, so F1 at argmax stays.
#
# ## 11.11 MRPC, where the positives are the majority
#
# One run with one learning rate cannot rank two losses. The rest of this chapter reads what many runs left, as
# records in `dicelab/records/data`. The Microsoft Research Paraphrase Corpus {cite}`dolan2005mrpc` pairs sentences of
# news. We trained with seven settings of the losses and three seeds each. All layers of MiniLM were trained for three
# passes on 2,000<!-- the records' train_size --> of the training pairs, from a bias near 0, with one learning rate
# for all. The table has F1 on the test set, mean and 95% interval over seeds:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
from dicelab.records import runs
from dicelab.tables import minus

(_, _records), *_ = runs.comparable(runs.kept_records("mrpc"))
_names = {runs.loss_label(record): runs.loss_name(record) for record in _records}
_rows = {}
for _split, _how in (("test", "argmax"), ("test_tuned", "tuned")):
    for _name, _found in runs.over_seeds(_records, split=_split).items():
        _row = _rows.setdefault(_names[_name], {})
        _row[_how] = f"{_found.mean.mean:.1f}"
        _row[f"{_how}, minus cross entropy"] = minus(str(_found.gain or ""))
pd.DataFrame(_rows).T

# %% [markdown]
# Cross entropy, focal loss, dice and both exponents of self-adjusting dice lie within half a point of each other, and
# about three points above "always yes". The intervals of their differences from cross entropy reach a point and more
# to both sides. A gain as small as the paper's could hide in them.
#
# Two losses are different. Tversky with linear denominators is behind, at the level of "always yes". At argmax,
# weighted cross entropy has that level, too, though the interval of its difference includes 0. Why? The positives
# are the majority here, so [Eq. 2](eq-2) gives them the lower weight, and the model calls fewer pairs positive. A
# tuned threshold brings back about half of what was lost. Would dice gain more if the positives were rarer?
#
# ## 11.12 Pairs whose positives are rarer
#
# The controlled study of [chapter 17](17_when_does_dice_help.ipynb) tries this. It trains only a head with one hidden
# layer on top of a frozen MiniLM, and searches the settings of each loss several times. Four of its tasks are about
# pairs. On MRPC the positives are now the pairs that are *no* paraphrase, about a third. On QQP we remove duplicates
# from the training pairs until 30%, 10% or 2% of them are positive. The test set of QQP always has 10%.
#
# The table has the mean F1 on the test set. It compares cross entropy from the log prior, class weights, and dice
# from a bias near 0 and from the log prior. The baseline is "always yes":

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
from dicelab.records import searched

_tasks = {
    "qqp_02": "QQP, 2% positive",
    "qqp_10": "QQP, 10% positive",
    "qqp_30": "QQP, 30% positive",
    "mrpc": "MRPC, no paraphrase",
}
_study = searched.read_tasks()
_arms = ("ce_start", "wce", "dice", "dice_start")
_means = {title: searched.compared(_study[task], _arms) for task, title in _tasks.items()}
pd.DataFrame(_means)

# %% mystnb={"code_prompt_show": "Code of Figure 11.2", "figure": {"caption": "Figure 11.2. Dice is ahead at argmax on three of four tasks, and on none once both thresholds are tuned. F1 of dice over the positive class minus F1 of cross entropy from the log prior, test set, frozen MiniLM and a head with one hidden layer: means over searches with 95% intervals.", "name": "fig-11-1"}, "image": {"alt": "Four rows, each with two circles for argmax and two diamonds for the tuned threshold, hollow where dice starts near 0. The hollow circles lie at 8 for QQP with 2% positives, at 5 for QQP with 10%, just below 0 for QQP with 30%, and at 5 for MRPC. All intervals of the diamonds include 0."}} tags=["hide-input"]
_gaps = searched.gaps(_study, _tasks)
_figure, ax = plt.subplots(figsize=(5.6, 4.2))
figures.differences(_gaps, ax=ax)
_figure.legend(loc="outside lower center", ncols=2, fontsize=9)
plt.show()

# %% [markdown]
# We expect dice to be ahead at argmax, because cross entropy calls too few pairs positive when positives are rare.
# That is what we see. From a bias near 0, dice is eight points higher where 2% of the training pairs are positive. On
# MRPC, and on QQP with 10%, it is five points higher. From the log prior its gains are about as large, though with 2%
# the interval just includes 0. With 30% there is no such gap from either start.
#
# However, dice is not the only way to close this gap. Class weights do it as well, and with 2% positives they gain
# more. Their F1 at argmax is 41.7, while that of dice is 24.7. A tuned threshold also gains more than dice without
# one: with 2% positives, it gives cross entropy an F1 of 39.5. And once both thresholds are tuned, all eight
# intervals of dice include 0.
#
# What follows for you? If you can tune a threshold, do that first. If you cannot, class weights or dice are worth a
# try.
#
# ## 11.13 The paper's Table 7
#
# The paper trains larger encoders on all of MRPC and QQP, and it reports these gains:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input", "nbval-check-output"]
from dicelab.records import paper

_titles = {"mrpc": "MRPC", "qqp": "QQP"}
_printed = {}
for _row in paper.table(7).rows:
    _change = "" if _row.loss == "ce" else minus(f" ({float(_row.printed['delta']):+.2f})")
    _of = _printed.setdefault((_titles[_row.corpus], _row.backbone), {})
    _of[_row.loss.upper()] = _row.printed["f1"] + _change
pd.DataFrame(_printed).T

# %% [markdown]
# The printed gains run from 0.05 to 0.92 points. Are they more than chance? MRPC has 1,725 test pairs, about 1,147
# of them paraphrases. How far does F1 move if the test pairs are drawn again? We take a classifier whose precision
# and recall are both 88%, so that it has the F1 of the first row, and draw its test pairs 4,000 times:

# %% tags=["nbval-check-output"]
draw = np.random.default_rng(0)
n, positives = 1725, 1147
tp, fp = round(0.88 * positives), round(0.12 * positives)  # P and R: 0.88
share = [tp / n, fp / n, (positives - tp) / n, 1 - (positives + fp) / n]
parts = draw.multinomial(n, share, 4000)
f1 = 200 * parts[:, 0] / (2 * parts[:, 0] + parts[:, 1] + parts[:, 2])
low, high = np.quantile(f1, [0.025, 0.975])
print(f"F1 {f1.mean():.1f}, 95% of the draws from {low:.1f} to {high:.1f}")

# %% [markdown]
# The draws spread over nearly three points. You can compare two classifiers more precisely if both are scored on
# the *same* pairs. Still, with one run each this corpus cannot show a gain of a tenth of a point. In addition, the
# F1 values of the baselines are, digit for digit, *accuracies* published elsewhere
# ([section 15.8](15_audit.ipynb)).
#
# If you have a GPU, `make reproduce TABLE=7 PROFILE=paper` trains the paper's encoders, on all of QQP as well.
# [The paper's tables](../docs/tables.md) says how many hours that takes.

# %% [markdown]
# ## Summary
#
# - "Always yes" has an F1 of 2π/(1 + π). Put this number beside every score.
# - The F1 of a model depends on its threshold, so compare losses with tuned thresholds.
# - On this page (*real* text, half of the pairs positive, MiniLM with all layers, three passes from the log prior, one
#   seed and one learning rate), we cannot tell which loss is better, and both models are too sure.
# - On *real* text with fewer positives than negatives, a frozen MiniLM and a head with one hidden layer, dice at argmax
#   is five to eight points of F1 above cross entropy on three of four tasks. Class weights are ahead as well, and with
#   tuned thresholds every interval includes 0.
# - On MRPC as it is (all layers, three passes, three seeds), the 95% intervals exclude a difference larger than two
#   points between cross entropy and squared dice losses. The linear Tversky loss ends at the level of "always yes".
#
# ## Exercises
#
# **1.** What accuracy does "always yes" have on MRPC, and what accuracy does "always no" have? Which of the two
# does a model resemble that starts at the log prior and has learned nothing yet?

# %% mystnb={"code_prompt_show": "Solution 11.1"} tags=["solution", "hide-cell"]
print(f"always yes {100 * positives / n:.1f}, always no {100 * (1 - positives / n):.1f}")

# %% [markdown]
# **2.** Show Eq. 11.1 from the counts. With N examples and πN positives, what are TP, FP and FN of
# "always yes"?

# %% mystnb={"code_prompt_show": "Solution 11.2"} tags=["solution", "hide-cell"]
import sympy as sp

N, pi = sp.symbols("N pi", positive=True)
sp.simplify(2 * pi * N / (2 * pi * N + (1 - pi) * N))

# %% [markdown]
# **3.** Exchange the labels, and score the *negative* pairs instead. Do the losses keep their order?

# %% mystnb={"code_prompt_show": "Solution 11.3"} tags=["solution", "hide-cell"]
swapped = {
    name: [pairs.score(one, two)["f1"] for one, two in ((gold, of), (1 - gold, 1 - of))]
    for name, of in said.items()
}
pd.DataFrame(swapped, index=["F1 of positives", "of negatives"]).T.round(1)

# %% [markdown]
# **4.** How noisy is F1 in a batch of 32? Take the first model, draw batches from the test pairs,
# and look at the spread of their F1.

# %% mystnb={"code_prompt_show": "Solution 11.4"} tags=["solution", "hide-cell"]
batches = np.random.default_rng(0).integers(len(gold), size=(500, 32))
of_batches = [pairs.score(gold[b], says[first][b])["f1"] for b in batches]
print(f"standard deviation of a batch's F1: {np.std(of_batches):.1f} points")

# %% [markdown]
# The run of this page:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
from dataclasses import asdict
from pathlib import Path

for _name, _result in trained.items():
    chapters.end_run(
        "11_paraphrases",
        _name,
        experiment.output_dir and Path(experiment.output_dir) / _name,
        _result.first_losses,
        parameters=asdict(experiment.only(_name)),
        metrics={
            "test": pairs.score(gold, said[f"{_name}, argmax"]),
            "test_tuned": pairs.score(gold, said[f"{_name}, tuned"]),
            "majority": floors["always yes"],
        },
        history=_result.history,
        measured=_result.measured,
    )
print(", ".join(f"{name} {version}" for name, version in runs.versions().items()))
