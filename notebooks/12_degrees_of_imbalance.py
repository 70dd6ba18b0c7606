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
# # 12 Degrees of imbalance
#
# Suppose that you have two corpora of pairs. In the first, one pair in two is a duplicate, and in the second, one
# in thirty. Will dice gain more on the second? The paper says so. In this chapter we take one corpus, vary how
# imbalanced it is, and leave everything else as it was.
#
# The answer has two parts, from QQP and SST-2 with a frozen MiniLM, a head with one hidden layer, a bias that starts
# near 0, and five draws. If you decide at argmax, dice is ahead where there are thirty negatives for each positive, by 7 to 12 points of F1. At ten
# negatives or fewer these draws show no gain, although a finer experiment sees 5 points at nine. If you tune the
# threshold, however, we see no gain of dice at any ratio. So before you try another loss, look at the threshold.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who want to know how imbalanced data must be before the loss matters.
# - **You need** [chapter 11](11_paraphrases.ipynb).
# - **You will be able to** vary the ratio of a training set and the number of its positives separately, and say which
#   of the two lowers a score. You will see what an experiment that mixes them cannot tell you.
# - **Time** about fifteen minutes on a CPU core for the run of this page, a minute or two on a GPU. Without the corpus,
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
# ## 12.1 The parameters
#
# The next cell holds everything that you can change, as in [section 8.1](08_part_of_speech.ipynb). The corpus is that
# of [chapter 11](11_paraphrases.ipynb), pairs of questions from Quora {cite}`wang2017bilateral`. `degrees` are the
# numbers of negatives for each positive; every one makes a training set.

# %% tags=["parameters"]
corpus: str = "qqp_wang"  # registered name, or your file
encoder: str = "minilm"  # or "tiny", a folder, a hub model
loss: str = "ce,dl"  # of ce, wce, fl, dl, tl, dsc, MODULE:NAME
loss_options: dict = {}  # options by loss
start: str = "prior"  # the output bias starts there; or at "zero"
seed: int = 0  # of weights, order, dropout and the pairs
epochs: int = 6  # passes over the training pairs
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # pairs in a step
learning_rate: float = 1e-4  # the peak of its schedule
max_length: int = 64  # sub-words in a pair; longer ones are cut
train_size: int = 880  # pairs of every training set
eval_size: int = 2000  # scored pairs of a split; 0 for all
device: str = "auto"  # "auto", "cpu", "cuda" or "mps"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing
degrees: str = "1,30"  # negatives per positive, one set each

# %%
from dicelab import chapters
from dicelab.training.experiment import ParameterError

experiment = chapters.experiment(
    "12_degrees_of_imbalance",
    globals(),
    also=["degrees"],
)
try:
    ratios = [float(part) for part in str(degrees).split(",")]
except ValueError:
    ratios = []
if not ratios or min(ratios) <= 0 or experiment.train_size == 0:
    raise ParameterError(
        "parameter 'degrees': expected ratios above 0, joined by commas, "
        f"and a train_size; got {degrees!r} and {experiment.train_size}"
    )
print(f"{experiment.corpus}, {experiment.encoder}, ratios {degrees}")

# %% [markdown]
# ## 12.2 Training sets of one size
#
# We want training sets that differ in their ratio and have the same size. `corpora.rebalance` makes them: it leaves
# rows out until the ratio is right, and then draws as many of the remaining rows as we want. Validation and test
# remain as they are.

# %%
from dataclasses import replace

import numpy as np

from dicelab import corpora
from dicelab.tasks import pairs
from dicelab.training.sampling import sample

whole = corpora.load(experiment.corpus, task="pairs")
splits = sample(whole, replace(experiment, train_size=0))
pool = splits["train"]


def drawn(ratio):
    """A training set with so many negatives for each positive."""
    options = {"size": experiment.train_size, "seed": experiment.seed}
    return corpora.rebalance(pool, ratio, task="pairs", **options)


# %%
for ratio in ratios:
    of = np.array(drawn(ratio)["label"])
    print(f"ratio {ratio:g}: {len(of)} pairs, {of.sum()} of them positive")
gold = np.array(splits["test"]["label"])
truth = np.array(splits["validation"]["label"])
floor = pairs.score(gold, np.ones_like(gold))["f1"]
print(f"test: {len(gold)} pairs, {gold.sum()} of them positive")
print(f"always yes has an F1 of {floor:.1f}")


# %% [markdown]
# With thirty negatives for each positive, 28 duplicates are left in the training set. The floor is "always yes": with
# a test set whose pairs are half duplicates, its F1 is 66.7 ([Eq. 11.1](eq-11-1)).
#
# ## 12.3 Three thresholds
#
# From [section 11.6](11_paraphrases.ipynb) you know two ways to decide: `argmax`, and a threshold that is `tuned` on
# the validation pairs. There is a third one, which needs no tuning. Suppose that you know the share of positives in
# training and the share where the model is used. If the two differ, Bayes' rule tells you what to add to the log-odds
# of every pair: the log-odds of the share in use minus the log-odds of the share in training (exercise 2). We call
# this threshold `shifted`.

# %%
def shift(train_share, test_share):
    """What is added to the log-odds, by Bayes' rule."""
    odds = [share / (1 - share) for share in (train_share, test_share)]
    return float(np.log(odds[1] / odds[0]))


for ratio in ratios:
    added = shift(1 / (1 + ratio), truth.mean())
    print(f"ratio {ratio:g}: add {added:.1f} to the log-odds")

# %% [markdown]
# ## 12.4 Training
#
# The model and its training are those of [section 11.5](11_paraphrases.ipynb), once for each training set.

# %%
from datasets import DatasetDict

from dicebook import TrainerLoss
from dicelab.training.encoders import load_tokenizer
from dicelab.training.trainer import build_loss, train

texts = (f"{row['sentence1']} {row['sentence2']}" for row in pool)
tokenizer = load_tokenizer(
    experiment.encoder,
    texts,
    max_length=experiment.max_length,
)


# %%
def evaluate(logits, split):
    """Scores of a split's logits."""
    return pairs.score(split["label"], pairs.decode(logits))


def fit(ratio, name):
    """A model trained with one loss on the set of one ratio."""
    rows = DatasetDict({**splits, "train": drawn(ratio)})
    length, encoder = experiment.max_length, experiment.encoder
    encoded = pairs.encode(rows, tokenizer, max_length=length)
    counts, labels = encoded.counts(), encoded.labels
    folder = output_dir and f"{output_dir}/ratio-{ratio:g}"
    one = replace(experiment.only(name), output_dir=folder)
    return train(
        one,
        build_model=lambda: pairs.model(encoder, tokenizer, labels),
        counts=counts,
        splits=encoded.splits,
        collator=pairs.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build_loss(one, name, counts)),
        evaluate=evaluate,
    )


# %%
first, last = experiment.losses[0], experiment.losses[-1]
trained, said, cut_off = {}, {}, {}


def train_and_decide(name):
    """Train with one loss on each set, and decide in three ways."""
    for ratio in ratios:
        print(f"ratio {ratio:g}, {name}")
        trained[ratio, name] = fit(ratio, name)
        logits = trained[ratio, name].logits
        ways = {
            "argmax": 0.0,
            "tuned": pairs.tune_threshold(logits["validation"], truth),
            "shifted": -shift(1 / (1 + ratio), truth.mean()),
        }
        for how, t in ways.items():
            says = pairs.decode(logits["test"], threshold=t)
            said[ratio, name, how], cut_off[ratio, name, how] = says, t


train_and_decide(first)

# %% [markdown]
# With thirty negatives for each positive, look at the F1 after the first passes. An F1 of 0 says that the model calls
# no validation pair positive at argmax.
#
# ## 12.5 F1 at each ratio
#
# What does the ratio do to F1? Each row is a training set and a way to decide, with a
# [bootstrap interval](bootstrap) over test pairs, and the number of test pairs that the model calls positive.

# %%
import pandas as pd

from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal
from dicelab.metrics.intervals import interval

goal = Goal("f1", (1,))  # F1 of class 1


def score_table():
    """F1 with its interval of each set, loss and way to decide."""
    table = {}
    for (ratio, name, how), says in said.items():
        found = interval(Counts.of_classes(gold, says, 2), goal)
        cells = {"F1": str(found), "called positive": f"{says.sum():,}"}
        table[f"{ratio:g} to 1", name, how] = cells
    return pd.DataFrame(table).T


score_table()

# %% [markdown]
# With as many negatives as positives, the way to decide changes little. Now look at the rows with thirty negatives.
# At argmax, cross entropy has an F1 of 22.0. The reason is that it calls fewer than one test pair in ten positive,
# although half of them are. A tuned threshold lifts the F1 just above "always yes". So there was not much to bring
# back: 28 duplicates have taught this model little.
#
# In other words, imbalance did two things here. It moved the best threshold, and you can undo this by tuning. It
# also left few positives to learn from, and this you cannot undo.
#
# The shifted threshold helps, but less than tuning does. One reason is that Bayes' rule needs calibrated
# probabilities. After six passes over so few pairs the probabilities are too extreme for it.
#
# ## 12.6 Errors
#
# An error is of one of two kinds: a duplicate is *missed*, or another pair is *taken for one*. In percent of the
# duplicates and of the other pairs:

# %%
errors = {}
for (ratio, _, how), says in said.items():
    if how != "shifted":
        errors[f"{ratio:g} to 1", how] = {
            "missed, %": 100 * (1 - says[gold == 1].mean()),
            "taken for one, %": 100 * says[gold == 0].mean(),
        }
pd.DataFrame(errors).T.round(1)

# %% [markdown]
# With thirty negatives for each positive, argmax misses nearly nine duplicates in ten, and takes few other pairs for
# one. Tuning turns this round: the model now misses as few duplicates as the one that was trained on balanced pairs, but
# it takes nearly twice as many other pairs for duplicates. This is the part that no threshold can undo.
#
# ## 12.7 Pairs of your own
#
# What do the models say about pairs of yours? Here are six of ours, with the probability that each model gives. An
# answer is "yes" if the probability is above the tuned threshold of its model.

# %%
import torch

OWN = """
1 | Why do cats purr? | What makes a cat purr?
0 | Why do cats purr? | Why do cats hate water?
1 | How can I learn to swim as an adult? | How do grown-ups learn swimming?
0 | How can I learn to swim as an adult? | How can I teach an adult to swim?
1 | How many people live in Iceland? | What is the population of Iceland?
0 | Is there a train from Lyon to Rome? | Is there one from Rome to Lyon?
"""


@torch.no_grad()
def log_odds(model, one, two):
    """How far a pair is on the positive side."""
    coded = tokenizer(one, two, truncation=True, return_tensors="pt")
    logits = model.eval()(**coded.to(model.device)).logits
    return float(pairs.margins(logits.float().cpu())[0])


# %%
own, right = [], dict.fromkeys(ratios, 0)
for line in OWN.strip().splitlines():
    label, one, two = line.split(" | ")
    own.append({"first": one, "second": two, "same?": label})
    for ratio in ratios:
        z = log_odds(trained[ratio, first].model, one, two)
        yes = z > cut_off[ratio, first, "tuned"]
        right[ratio] += yes == (label == "1")
        p = 1 / (1 + np.exp(-z))
        own[-1][f"{ratio:g} to 1"] = f"{'yes' if yes else 'no'} ({p:.3f})"
for ratio, n in right.items():
    print(f"{ratio:g} to 1: {n} of {len(own)} are right")
pd.DataFrame(own)

# %% [markdown]
# Look at the last column: from 28 duplicates the model has learned to give almost every pair a small probability, and
# the order of its probabilities says little. That it is right about one pair more than the other model is luck. In your
# own data, write some pairs that are made to mislead, and look.
#
# ## 12.8 The other loss
#
# Would dice have needed the threshold less? We train with it on the same sets, from the same start.

# %%
for name in experiment.losses[1:]:
    train_and_decide(name)
table = score_table()
table[[name != first for _, name, _ in table.index]]

# %% [markdown]
# And this is the difference of the two losses, with both models scored on the same draws of the test pairs:

# %%
from dicelab.metrics.intervals import difference

gaps = {}
for ratio in ratios:
    for how in ("argmax", "tuned", "shifted"):
        two = (said[ratio, name, how] for name in (last, first))
        both = ([Counts.of_classes(gold, says, 2)] for says in two)
        gap = difference(*both, goal.plain)
        text = f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]"
        gaps.setdefault(how, {})[f"{ratio:g} to 1"] = text
print(f"{last} minus {first}, points of F1")
pd.DataFrame(gaps).T

# %% [markdown]
# At argmax and with tuned thresholds all four intervals include 0, so we cannot tell which loss is better. The shifted
# threshold, however, helps dice more: at thirty to one its F1 is 10.2 points higher than that of cross entropy, whose
# probabilities are more extreme. This is one seed, one learning rate and one draw of each training set, so it cannot say what dice gains. For
# this we need more draws and a search. First, what does the paper have?
#
# ## 12.9 The paper's five sets
#
# The paper also varies the imbalance of one corpus. It starts from the training pairs of QQP. For some sets it adds
# positives, made from templates by exchanging entities. For others it adds negatives or takes them away. Its section
# 5.1 states the sizes and the shares. Two of these statements do not fit ([section 15.7](15_audit.ipynb)). Our table
# has 29% where the sizes rule out the stated 21%<!-- section 5.1 of the paper -->. It has 50% where the paper states
# both 37% and 50%.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input", "nbval-check-output"]
from dicelab.records import paper, runs

stated = {
    "original": (363_871, 0.37),
    "+ positive": (458_477, 0.50),
    "+ negative": (458_477, 0.29),
    "- negative": (269_165, 0.50),
    "+ positive & negative": (458_477, 0.50),
}
_table8 = {}
for _row in paper.table(8).rows:
    _table8.setdefault(_row.variant, {})[_row.loss] = _row.value("f1")
sets = pd.DataFrame(_table8).T
sets.insert(0, "pairs", [f"{stated[name][0]:,}" for name in sets.index])
sets.insert(1, "positive", [f"{stated[name][1]:.0%}" for name in sets.index])
sets["dsc minus ce"] = (sets["dsc"] - sets["ce"]).round(2)
sets.rename(columns={**runs.LOSS_WORDS, "dsc minus ce": "its gain over cross entropy"})

# %% [markdown]
# The paper says that self-adjusting dice (DSC) "helps more on more imbalanced datasets". Is that so? Its gain over
# dice loss is indeed largest on the most imbalanced set. Its gain over cross entropy, however, is 0.70 there. The
# largest gain over cross entropy, 1.07, is on one of the three balanced sets, and that is the smallest set of all.
# So there is no clear order by imbalance in these gains. There is an order by size, as far as five sets can show
# one: the larger the set, the smaller the gain.

# %% tags=["nbval-check-output"]
from scipy import stats

from dicelab.tables import minus

far = [abs(stated[of][1] - 0.5) for of in sets.index]
orders = {
    "distance from balance": far,
    "number of pairs": [stated[of][0] for of in sets.index],
}
for what, values in orders.items():
    tau = stats.kendalltau(values, sets["dsc minus ce"]).statistic
    print(minus(f"gain of DSC against {what}: rank correlation {tau:+.2f}"))

# %% [markdown]
# Five sets cannot prove that there is an order, or that there is none. This design could not do it with more sets
# either: if size and ratio change together, an effect of one looks like an effect of the other. (To make such sets
# from any corpus of pairs, use `dicebook data augment_pairs`. With a GPU, `make reproduce TABLE=8 PROFILE=paper` makes
# the rows of the paper's sets.) How would you separate the two?
#
# ## 12.10 One thing at a time
#
# We use two designs, and each of them keeps one thing fixed. *Added negatives* has eighty positives in every
# training set, and 1, 3, 10 or 30 negatives for each of them. *Fixed size* has 880 examples in every training set,
# at the same ratios. At a ratio of ten the two designs have the same sets. The corpora are QQP and SST-2
# {cite}`socher2013sst`, a task of single sentences. Validation and test are the same for every set of a seed, and
# in both one example in ten is positive.
#
# As in the study of [chapter 17](17_when_does_dice_help.ipynb) MiniLM is frozen, and we train only a head with one
# hidden layer on top of it. For each set, loss and seed we choose the learning rate and the number of steps on
# validation, once for argmax and once for a tuned threshold. Both losses start from a bias near 0. Each of five seeds
# draws its own training sets. The table is dice minus cross entropy in points of F1 on the test sets, over seeds, with
# a 95% interval; the records are in `dicelab/records/data`.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
from dicelab.tables import signed

_kept = runs.kept_records("balance")
_steps = sorted({record["parameters"]["ratio"] for record in _kept})
_titles = {"qqp": "QQP", "sst2": "SST-2"}
_designs = {
    "added negatives": lambda record: record["metrics"]["train"]["positive"] == 80,
    "fixed size": lambda record: record["parameters"]["train_size"] == 880,
}
_ways = {
    "argmax": ("test", "o", "black"),
    "tuned": ("test_tuned", "D", "#7F7F7F"),
    "shifted": ("test_shifted", "s", "#8C564B"),
}


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def _f1_of(corpus, design, ratio, loss, way):
    """F1 on the test set, by seed."""
    wanted = {"corpus": corpus, "loss": loss, "ratio": ratio}.items()
    return {
        record["parameters"]["seed"]: record["metrics"][_ways[way][0]]["f1"]
        for record in _kept
        if wanted <= record["parameters"].items() and _designs[design](record)
    }


def _minus(first, second):
    """The mean of the differences over seeds, with its interval."""
    return runs.interval([first[seed] - second[seed] for seed in second])


# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
_gains = {
    (_titles[corpus], design, ratio, way): _minus(
        *(_f1_of(corpus, design, ratio, loss, way) for loss in ("dl", "ce"))
    )
    for corpus in _titles
    for design in _designs
    for ratio in _steps
    for way in ("argmax", "tuned")
}
signed(pd.Series({place: str(gain) for place, gain in _gains.items()}).unstack())

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
import matplotlib.pyplot as plt


def _panels(height, ylabel):
    """Four axes by corpus and design, with the ratio along x."""
    _, axes = plt.subplots(2, 2, figsize=(7.2, height), sharex=True, sharey=True)
    found = {}
    for line, title in zip(axes, _titles.values(), strict=True):
        for ax, design in zip(line, _designs, strict=True):
            ax.set(title=f"{title}, {design}", xscale="log")
            ax.set_xticks(_steps, [str(ratio) for ratio in _steps])
            ax.minorticks_off()
            found[title, design] = ax
        line[0].set_ylabel(ylabel)
    for ax in axes[1]:
        ax.set_xlabel("negatives for each positive")
    return found


# %% mystnb={"code_prompt_show": "Code of Figure 12.1", "figure": {"caption": "Figure 12.1. At argmax dice gains where there are thirty negatives for each positive; with tuned thresholds we see no gain. Dice minus cross entropy on the test sets, points of F1, mean and 95% interval over five seeds, frozen MiniLM. Left, eighty positives in every set; right, 880 examples in every set.", "name": "fig-12-1"}, "image": {"alt": "Four panels, QQP above SST-2, added negatives left, fixed size right. The line of the tuned thresholds stays near zero throughout. The line of argmax lies on it at 1, 3 and 10 negatives and is above it at 30: at 12 and 7 for QQP, at 7 and 7 for SST-2, with intervals that reach between four and ten points to each side."}} tags=["hide-input"]
_axes = _panels(4.0, "gain of dice, points")
for _place, ax in _axes.items():
    ax.axhline(0, color="#C4C4C4", linewidth=1)
    for _way, _aside in (("argmax", 0.95), ("tuned", 1.05)):
        _, _marker, _color = _ways[_way]
        _found = [_gains[(*_place, ratio, _way)] for ratio in _steps]
        ax.errorbar(
            np.array(_steps) * _aside,
            [gain.mean for gain in _found],
            yerr=[gain.mean - gain.low for gain in _found],
            marker=_marker,
            color=_color,
            capsize=3,
            label=_way,
        )
_axes["QQP", "added negatives"].legend(loc="upper left")
plt.show()

# %% [markdown]
# Let us read argmax first. At one, three and ten negatives for each positive we see no gain: all ten intervals reach
# to zero or below it. (At ten to one both designs have the same set, so each corpus has five intervals up to there,
# and seven in all.) However, the intervals are wide. At ten to one both reach above four points, so a gain could hide there.
# A finer experiment does find one. It has nine negatives for each positive and five searches for each loss ([section
# 11.12](11_paraphrases.ipynb)). On QQP, dice from a bias near 0 is 5.1<!-- Figure 11.2 --> points ahead of cross
# entropy from the log prior there.
#
# At thirty negatives dice is ahead in all four panels, by 7 to 12 points. In three of them the interval excludes
# zero. On SST-2 with added negatives it is too wide. What causes this gain? It is not the number of positives,
# because we see it with eighty of them and with twenty-eight. It may be the ratio. But there is another possible
# cause: only at thirty to one are positives much rarer in training than in the test, where one in ten is positive
# ([section 17.3](17_when_does_dice_help.ipynb)). These sets cannot separate the two causes.
#
# With the threshold tuned we see no gain: all fourteen intervals include 0, and no mean is above 2.4 points. The
# intervals reach two to nine points to each side, so a gain of a point or two could hide in them. A gain of twelve
# could not. Therefore most of what dice gains at thirty to one comes from its threshold. If you tune the threshold,
# you have most of this gain with cross entropy, too.
#
# ## 12.11 What imbalance does to F1
#
# So far we have looked at differences. What does imbalance do to the score itself? Here is the F1 of cross entropy
# in both designs, decided in three ways.

# %% mystnb={"code_prompt_show": "Code of Figure 12.2", "figure": {"caption": "Figure 12.2. With the size fixed, F1 falls where fewer positives are left; with the positives fixed, more negatives do not lower the tuned F1. Cross entropy, frozen MiniLM, test sets, means over five seeds, by the number of negatives for each positive in training. Grey line: always yes.", "name": "fig-12-2"}, "image": {"alt": "Four panels. Added negatives, left: the tuned line rises with the number of negatives, for SST-2 from 34 to 52; argmax rises to 3 or 10 negatives and falls to 20 and 29 at 30. Fixed size, right: the tuned line falls, for QQP from 44 to 35; argmax falls more steeply, to 21 and 25. The shifted line lies near the tuned one. The grey line lies at 18."}} tags=["hide-input"]
_level = {}
_axes = _panels(5.2, "F1 of cross entropy, %")
for _corpus, _title in _titles.items():
    for _design in _designs:
        ax = _axes[_title, _design]
        for _way, (_, _marker, _color) in _ways.items():
            _seeds = (_f1_of(_corpus, _design, ratio, "ce", _way) for ratio in _steps)
            _values = [np.mean(list(found.values())) for found in _seeds]
            _level[_title, _design, _way] = dict(zip(_steps, _values, strict=True))
            ax.plot(_steps, _values, marker=_marker, color=_color, label=_way)
        ax.axhline(_kept[0]["metrics"]["majority"]["f1"], color="#C4C4C4", linewidth=1)
_axes["QQP", "added negatives"].set_ylim(bottom=0)  # of all panels, once all are drawn
_axes["QQP", "added negatives"].legend()
plt.show()

# %% mystnb={"code_prompt_show": "Code and table of Figure 12.2"} tags=["hide-cell"]
pd.DataFrame(_level).T.round(1)

# %% [markdown]
# How sure is a rise or a fall? We subtract the tuned F1 of cross entropy at one to one from that at thirty to one, over
# five seeds, with the 95% interval:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
_change = {
    (title, design): str(
        _minus(*(_f1_of(c, design, ratio, "ce", "tuned") for ratio in (_steps[-1], _steps[0])))
    )
    for c, title in _titles.items()
    for design in _designs
}
signed(pd.Series(_change).unstack())

# %% [markdown]
# Look at the left panels first. The number of positives remains the same, and we add negatives. On SST-2 more
# negatives help the tuned model: its F1 rises from 34 to 52. On QQP the interval includes 0, so we cannot tell. In
# the right panels the size of the set remains the same, so a higher ratio means fewer positives. At thirty to one
# only 28 are left. On QQP this hurts the tuned model, which loses nine points of F1. On SST-2 the interval includes 0
# again.
#
# In other words, each effect is visible on one of the two corpora: more negatives help on SST-2, and fewer
# positives hurt on QQP. On neither corpus did added negatives lower a tuned F1 by an amount that we could measure.
#
# At argmax F1 falls in both designs at thirty to one, to between 20 and 29. Here the reason is the threshold. The
# shifted threshold uses nothing but the two ratios, and yet at thirty to one it brings back 13 to 17 points. What
# follows for you? Before you throw negatives away to balance a corpus, move the threshold.

# %% [markdown]
# ## Summary
#
# - Imbalance does two things: it moves the best threshold, which you can undo by tuning, and it often leaves few
#   positives to learn from, which you cannot undo.
# - On *real* text (frozen MiniLM, a head with one hidden layer, a bias that starts near 0, five seeds), dice at argmax
#   is 7 to 12 points ahead at thirty negatives for each positive. With tuned thresholds we see no gain at any ratio.
# - If you know the share of positives in training and in use, you know how to move the threshold of a calibrated
#   model (*proved* in exercise 2).
# - Do not throw negatives away: on neither corpus did added negatives measurably lower a tuned F1.
# - The gains printed in the paper's Table 8 have no clear order by imbalance, because ratio and size change
#   together there.
#
# ## Exercises
#
# **1.** From the table of section 12.9, compute how many positive pairs each of the five sets has.

# %% mystnb={"code_prompt_show": "Solution 12.1"} tags=["solution", "hide-cell"]
{name: round(n * share) for name, (n, share) in stated.items()}

# %% [markdown]
# **2.** A calibrated model was trained with a share of positives π and is used where the share is
# π′. What do you have to add to its log-odds? Derive the two lines of `shift` in section 12.3.

# %% mystnb={"code_prompt_show": "Solution 12.2"} tags=["solution", "hide-cell"]
print("Bayes' rule: odds given the text = prior odds x likelihood ratio of the text.")
print("The text's factor stays. So the odds change by π'/(1-π') over π/(1-π), and their")
print("logarithm by the difference of the logarithms:")
print(*(minus(f"ratio {r:g}: {shift(1 / (1 + r), gold.mean()):.2f}") for r in ratios), sep=", ")

# %% [markdown]
# **3.** In the table of section 12.5, how much of what tuning brings at the highest ratio does the shifted threshold
# bring? Give two reasons why it may not bring all.

# %% mystnb={"code_prompt_show": "Solution 12.3"} tags=["solution", "hide-cell"]
f1 = {
    how: pairs.score(gold, said[ratios[-1], first, how])["f1"]
    for how in ("argmax", "tuned", "shifted")
}
print({how: round(value, 1) for how, value in f1.items()})
print("This needs calibrated probabilities, and F1 is not best at one half.")

# %% [markdown]
# **4.** Draw a batch of 32 from the most imbalanced set. How many positives do you expect in it, and how often is there
# none?

# %% mystnb={"code_prompt_show": "Solution 12.4"} tags=["solution", "hide-cell"]
share = 1 / (1 + max(ratios))
print(f"mean {32 * share:.1f}, none in {100 * (1 - share) ** 32:.0f}% of the batches")

# %% [markdown]
# The run of this page:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
from dataclasses import asdict
from pathlib import Path

for (_ratio, _name), _result in trained.items():
    _folder = output_dir and f"{output_dir}/ratio-{_ratio:g}"
    _one = replace(experiment.only(_name), output_dir=_folder)
    _scores = {how: pairs.score(gold, said[_ratio, _name, how]) for how in _ways}
    chapters.end_run(
        "12_degrees_of_imbalance",
        f"{_ratio:g} to 1, {_name}",
        _folder and Path(_folder) / _name,
        _result.first_losses,
        parameters={**asdict(_one), "ratio": _ratio},
        metrics={
            "test": _scores["argmax"],
            "test_tuned": _scores["tuned"],
            "majority": {"f1": floor},
        },
        history=_result.history,
        measured=_result.measured,
    )
print(", ".join(f"{name} {version}" for name, version in runs.versions().items()))
