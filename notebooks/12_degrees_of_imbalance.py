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
# The answer has two parts. If you decide at argmax, dice is ahead where there are thirty negatives for each positive,
# by 7 to 12 points of F1. At ten negatives or fewer our five draws show no gain, although a finer experiment sees 5
# points at nine. If you tune the threshold, however, we see no gain of dice at any ratio. So before you try another
# loss, look at the threshold.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who want to know how imbalanced data must be before the loss matters.
# - **You need** [chapter 11](11_paraphrases.ipynb).
# - **You will be able to** vary the ratio of a training set and the number of its positives separately, and say which
#   of the two lowers a score. You will see what an experiment that mixes them cannot tell you.
# - **Time** two to three minutes on a CPU with the parameters as printed. With a real encoder, a GPU takes some
#   ten minutes for each set and loss.
#
# </details>

# %% tags=["remove-cell"]
# Without dicebook, this cell installs it if `make repository` has set an address, and else says how.
try:
    __import__("dicebook")
except ModuleNotFoundError:
    _install = """print("dicebook is missing: in a clone, run pip install '.[book]'")"""
    get_ipython().run_cell(_install)

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from dataclasses import asdict, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from datasets import DatasetDict
from scipy import stats

from dicebook import TrainerLoss
from dicelab import corpora, figures, real_runs
from dicelab.records import paper, runs
from dicelab.tables import minus, signed
from dicelab.tasks import pairs
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment, ParameterError
from dicelab.training.sampling import sample
from dicelab.training.trainer import build_loss, train

figures.use_style()


# %% tags=["remove-cell"]
def designs():
    """The two ways to vary the ratio, and which records belong to each."""
    return {
        "added negatives": lambda r: r["metrics"]["train"]["positive"] == 80,
        "fixed size": lambda r: r["parameters"]["train_size"] == 880,
    }


def looks():
    """Of each way to decide: the metrics of the records, and a marker and a colour."""
    return {
        "argmax": ("test", "o", "black"),
        "tuned": ("test_tuned", "D", "#7F7F7F"),
        "shifted": ("test_shifted", "s", "#8C564B"),
    }


def f1_of(kept, corpus, design, ratio, loss, way):
    """F1 on the test set by seed."""
    metrics, *_ = looks()[way]
    wanted = {"corpus": corpus, "loss": loss, "ratio": ratio}.items()
    return {
        r["parameters"]["seed"]: r["metrics"][metrics]["f1"]
        for r in kept
        if wanted <= r["parameters"].items() and designs()[design](r)
    }


def gains_of_dice(kept):
    """Dice minus cross entropy over seeds, by corpus, design, ratio and way to decide."""
    found = {}
    for corpus in ("qqp", "sst2"):
        for design in designs():
            for ratio in sorted({r["parameters"]["ratio"] for r in kept}):
                for way in ("argmax", "tuned"):
                    ce, dl = (f1_of(kept, corpus, design, ratio, x, way) for x in ("ce", "dl"))
                    gains = [dl[seed] - ce[seed] for seed in ce]
                    found[corpus, design, ratio, way] = runs.interval(gains)
    return found


def panels(height, ylabel, steps):
    """Four axes by corpus and design, with the ratio along x."""
    _, axes = plt.subplots(2, 2, figsize=(7.2, height), sharex=True, sharey=True)
    found = {}
    for line, (corpus, title) in zip(axes, (("qqp", "QQP"), ("sst2", "SST-2")), strict=True):
        for ax, design in zip(line, designs(), strict=True):
            ax.set(title=f"{title}, {design}", xscale="log")
            ax.set_xticks(steps, [str(ratio) for ratio in steps])
            ax.minorticks_off()
            found[corpus, design] = ax
        line[0].set_ylabel(ylabel)
    for ax in axes[1]:
        ax.set_xlabel("negatives for each positive")
    return found


# %% mystnb={"code_prompt_show": "Code of Figure 12.1", "figure": {"caption": "Figure 12.1. What dice gains over cross entropy on the test sets, in points of F1, mean and 95% interval over five seeds, by the number of negatives for each positive in training. Left, eighty positives in every set; right, 880 examples in every set.", "name": "fig-12-1"}, "image": {"alt": "Four panels, QQP above SST-2, added negatives left, fixed size right. The line of the tuned thresholds stays near zero throughout. The line of argmax lies on it at 1, 3 and 10 negatives and is above it at 30: at 12 and 7 for QQP, at 7 and 7 for SST-2, with intervals that reach between four and ten points to each side."}} tags=["hide-input"]
def draw_gains(gain):
    steps = sorted({ratio for _, _, ratio, _ in gain})
    axes = panels(4.0, "gain of dice, points", steps)
    for (corpus, design), ax in axes.items():
        ax.axhline(0, color="#C4C4C4", linewidth=1)
        for way in ("argmax", "tuned"):
            _, marker, color = looks()[way]
            found = [gain[corpus, design, ratio, way] for ratio in steps]
            x = np.array(steps) * (0.95 if way == "argmax" else 1.05)
            error = [g.mean - g.low for g in found]
            ax.errorbar(
                x,
                [g.mean for g in found],
                yerr=error,
                marker=marker,
                color=color,
                capsize=3,
                label=way,
            )
    axes["qqp", "added negatives"].legend(loc="upper left")
    plt.show()


draw_gains(gains_of_dice(runs.kept_records("balance")))


# %% [markdown]
# Section 12.5 explains this figure. Before that, we train the same model on two training sets.

# %% [markdown]
# (the-same-model-twice)=
# ## The same model twice
#
# We gave the cells of sections 12.1 to 12.3 a real corpus and a pretrained encoder. The corpus has the questions from
# Quora of [chapter 11](11_paraphrases.ipynb). The encoder is MiniLM, and all of its six layers are trained. Both
# training sets have 880 pairs. In the first, one pair in two is a duplicate, and in the second, one in thirty-one.
# The test set is the same for both, and half of its pairs are duplicates. Besides `argmax` and the tuned threshold
# you see a *shifted* threshold, which section 12.2 computes from the shares of duplicates. The result of the run is
# kept as a record, without the text of the corpus. `make real CHAPTER=12` runs it again.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
def real_run():
    """What the run on a real corpus left."""
    return runs.kept_page("12_degrees_of_imbalance")


def print_counts(page):
    for ratio, (positive, size) in page["data"]["by ratio"].items():
        print(f"ratio {ratio}: {size} training pairs, {positive} of them positive")


def real_scores(page):
    rows = {}
    for row in page["scores"]:
        ratio, name = row["model"].split(", ")
        interval = "[{:.1f}, {:.1f}]".format(*row["interval"])
        cells = {"F1": f"{row['f1']:.1f}", "95% of F1": interval}
        cells["called positive"] = f"{row['positive']:,}"
        rows[f"{ratio} to 1", runs.LOSS_WORDS[name], row["decision"]] = cells
    return pd.DataFrame(rows).T.rename_axis(["negatives", "loss", "decision"])


print_counts(real_run())
real_runs.describe(real_run(), "1, ce")
print(f"always yes: F1 {real_run()['data']['always yes']:.1f}")
real_scores(real_run())

# %% [markdown]
# With as many negatives as positives, the way to decide changes little. Now look at the rows with thirty negatives.
# At argmax, cross entropy has an F1 of 22.0. The reason is that it calls fewer than one test pair in ten positive,
# although half of them are. Dice does the same. A tuned threshold lifts both models just above "always yes". So there
# was not much to bring back: 28 duplicates have taught this model little.
#
# In other words, imbalance did two things here. It moved the best threshold, and you can undo this by tuning. It
# also left few positives to learn from, and this you cannot undo. Did the loss matter? At argmax and with a tuned
# threshold, the intervals of the two losses overlap.
#
# The *shifted* threshold is computed from the two ratios and needs no tuning. It helps both losses, and dice more
# than cross entropy, but it helps less than tuning does. One reason is that Bayes' rule needs calibrated
# probabilities. After six passes over so few pairs the probabilities are too extreme for it.
#
# ## The mechanics
#
# How do you vary imbalance and nothing else? In this part we build the training sets step by step. So that you can
# run every cell in a few minutes, the pairs are made up and the encoder starts from random weights. Therefore this
# part shows you how things work, but it cannot tell you which loss is best.
#
# ### 12.1 The parameters
#
# The next cell holds everything that you can change, as in [section 8.1](08_part_of_speech.ipynb). For example, this
# command takes a real corpus and a real encoder:
#
# ```bash
# papermill notebooks/12_degrees_of_imbalance.ipynb out.ipynb -p corpus qqp \
#     -p train_size 50000 -p encoder bert-base-cased -p learning_rate 2e-5 \
#     -p epochs 3 -p output_dir runs/degrees
# ```

# %% tags=["parameters"]
corpus: str = "embedded-paraphrases-zh"  # registered name, or your file
encoder: str = "tiny"  # or "minilm", a folder, a hub model
loss: str = "ce,dl"  # of ce, wce, fl, dl, tl, dsc, MODULE:NAME
loss_options: dict = {"dsc": {"squared": True}}  # options by loss
start: str = "prior"  # the output bias starts at the log prior; or "zero"
seed: int = 0  # of weights, order, dropout and the pairs
epochs: int = 6  # passes over the training pairs
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # pairs in a step
learning_rate: float = 1e-3  # the peak; pretrained: 2e-5 to 2e-4
max_length: int = 96  # sub-words in a pair; longer ones are cut
train_size: int = 800  # pairs of every training set, whatever its ratio
eval_size: int = 0  # scored pairs of a split; 0 for all
device: str = "auto"  # "auto", "cpu" or "cuda"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing
degrees: str = "1,12"  # negatives per positive, one set each

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
experiment = Experiment.from_namespace(globals(), also=["degrees"])
try:
    ratios = [float(part) for part in str(degrees).split(",")]
except ValueError:
    ratios = []
if not ratios or min(ratios) <= 0 or experiment.train_size == 0:
    raise ParameterError(
        "parameter 'degrees': expected ratios above 0, joined by commas, and a train_size; "
        f"got {degrees!r} and {experiment.train_size}"
    )
print(f"{len(ratios)} degrees, {len(experiment.losses)} losses, on {experiment.corpus}")

# %% [markdown]
# ### 12.2 Training sets of one size
#
# We want training sets that differ in their ratio and have the same size. `corpora.rebalance` makes them: it leaves
# rows out until the ratio is right, and then draws as many of the remaining rows as we want. Validation and test
# remain as they are. The model and its training are those of [chapter 11](11_paraphrases.ipynb), once for each set.

# %%
every_pair = corpora.load(experiment.corpus, task="pairs")
splits = sample(every_pair, replace(experiment, train_size=0))
pool = splits["train"]


def drawn(ratio):
    """A training set with so many negatives for each positive."""
    options = {"size": experiment.train_size, "seed": experiment.seed}
    return corpora.rebalance(pool, ratio, task="pairs", **options)


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input", "nbval-check-output"]
for ratio in ratios:
    found = np.array(drawn(ratio)["label"])
    print(f"ratio {ratio:g}: {len(found)} pairs, {found.sum()} of them positive")
gold = np.array(splits["test"]["label"])
floor = pairs.score(gold, np.ones_like(gold))["f1"]
print(f"test: {len(gold)} pairs, {gold.sum()} positive; always yes has an F1 of {floor:.1f}")

# %%
texts = (" ".join((row["sentence1"], row["sentence2"])) for row in pool)
tokenizer = load_tokenizer(encoder, texts, max_length=max_length)


def evaluate(logits, split):
    """Scores of a split's logits."""
    return pairs.score(split["label"], pairs.decode(logits))


def fit(one, encoded):
    """Train with one loss on one of the sets, from its log prior."""
    counts = encoded.counts()
    return train(
        one,
        build_model=lambda: pairs.model(encoder, tokenizer, encoded.labels),
        counts=counts,
        splits=encoded.splits,
        collator=pairs.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build_loss(one, one.loss, counts)),
        evaluate=evaluate,
    )


# %% [markdown]
# We train each loss on each set, and let each model decide in three ways. You know `argmax` and `tuned` from
# chapter 11. The third way, `shifted`, needs no tuning. Suppose that you know the share of positives in training and
# the share where the model is used. If the two differ, Bayes' rule tells you what to add to the log-odds of every
# pair. It is the log-odds of the share in use minus the log-odds of the share in training (exercise 2).

# %%
def shift(train_share, test_share):
    """What is added to the log-odds, by Bayes' rule."""
    odds = [share / (1 - share) for share in (train_share, test_share)]
    return float(np.log(odds[1] / odds[0]))


# %% mystnb={"code_prompt_show": "Scores of each pass"} tags=["hide-output"]
trained, table, predicted = {}, {}, {}
for ratio in ratios:
    rows = DatasetDict({**splits, "train": drawn(ratio)})
    encoded = pairs.encode(rows, tokenizer, max_length=max_length)
    truth = encoded.splits["validation"]["label"]
    for name in experiment.losses:
        print(f"ratio {ratio:g}, {name}")
        folder = output_dir and f"{output_dir}/ratio-{ratio:g}"
        one = replace(experiment.only(name), output_dir=folder)
        result = fit(one, encoded)
        chosen_on = result.logits["validation"]
        thresholds = {
            "argmax": 0.0,
            "tuned": pairs.tune_threshold(chosen_on, truth),
            "shifted": -shift(1 / (1 + ratio), np.mean(truth)),
        }
        for how, t in thresholds.items():
            says = pairs.decode(result.logits["test"], threshold=t)
            predicted[ratio, name, how] = says
            scores = pairs.score(gold, says)
            table[ratio, name, how] = {**scores, "threshold": t}
        trained[ratio, name] = one, result

# %% [markdown]
# ### 12.3 F1 at each ratio
#
# What does the ratio do to F1? Each row is one ratio, and each column a loss and a way to decide:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
scores = pd.DataFrame(table).T
f1 = scores["f1"].unstack([1, 2])
f1.round(1)

# %% [markdown]
# With one positive in thirteen the model says no to nearly everything at argmax. With a tuned threshold its F1 is
# only that of "always yes", so from 62 positives it has learned little about these made-up pairs. Is it the ratio
# that does the harm? We cannot know, because two things differ between the rows: the ratio, and the number of
# positives, which falls from 400 to 62. Section 12.5 separates the two.

# %% [markdown]
# ## On real text
#
# What follows is drawn from the paper's table and from records in `dicelab/records/data`. Nothing is trained in this part.
#
# ### 12.4 The paper's five sets
#
# The paper also varies the imbalance of one corpus. It starts from the training pairs of QQP. For some sets it adds
# positives, made from templates by exchanging entities. For others it adds negatives or takes them away. Its section
# 5.1 states the sizes and the shares. Two of these statements do not fit ([section 15.7](15_audit.ipynb)). Our table
# has 29% where the sizes rule out the stated 21%. It has 50% where the paper states both 37% and 50%.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input", "nbval-check-output"]
stated = {
    "original": (363_871, 0.37),
    "+ positive": (458_477, 0.50),
    "+ negative": (458_477, 0.29),
    "- negative": (269_165, 0.50),
    "+ positive & negative": (458_477, 0.50),
}
table8 = {}
for row in paper.table(8).rows:
    table8.setdefault(row.variant, {})[row.loss] = row.value("f1")
sets = pd.DataFrame(table8).T
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

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input", "nbval-check-output"]
imbalance = [abs(stated[name][1] - 0.5) for name in sets.index]
numbers_of_pairs = [stated[name][0] for name in sets.index]
orders = {"distance from balance": imbalance, "number of pairs": numbers_of_pairs}
for what, values in orders.items():
    tau = stats.kendalltau(values, sets["dsc minus ce"])
    print(minus(f"gain of DSC against {what}: rank correlation {tau.statistic:+.2f}"))

# %% [markdown]
# Five sets cannot prove that there is an order, or that there is none. This design could not do it with more sets
# either: if size and ratio change together, an effect of one looks like an effect of the other. How would you
# separate them? (To make such sets from any corpus of pairs, use `dicebook data augment_pairs`.)

# %% [markdown]
# ### 12.5 One thing at a time
#
# We use two designs, and each of them keeps one thing fixed. *Added negatives* has eighty positives in every
# training set, and 1, 3, 10 or 30 negatives for each of them. *Fixed size* has 880 examples in every training set,
# at the same ratios. At a ratio of ten the two designs have the same sets. The corpora are QQP and SST-2
# {cite}`socher2013sst`, a task of single sentences. Validation and test are the same for every set of a seed, and
# in both one example in ten is positive.
#
# As in the study of [chapter 17](17_when_does_dice_help.ipynb) the encoder is frozen, and we train only a small
# network with one hidden layer, the *head*, on top of it. For each set, loss and seed we choose the learning rate
# and the number of steps on validation, once for argmax and once for a tuned threshold. Each of five seeds draws
# its own training sets. These are the examples of each training set:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
kept = runs.kept_records("balance")
gain = gains_of_dice(kept)
steps = sorted({r["parameters"]["ratio"] for r in kept})
table_of_sets = {
    (design, ratio): next(
        r["metrics"]["train"] for r in kept if belongs(r) and r["parameters"]["ratio"] == ratio
    )
    for design, belongs in designs().items()
    for ratio in steps
}
pd.DataFrame(table_of_sets).T

# %% [markdown]
# And these are the numbers of [Figure 12.1](fig-12-1), dice minus cross entropy:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
names = {"qqp": "QQP", "sst2": "SST-2"}
signed(pd.Series({(names[c], *key): str(e) for (c, *key), e in gain.items()}).unstack())

# %% [markdown]
# Let us read argmax first. At one, three and ten negatives for each positive we see no gain: all ten intervals reach
# to zero or below it. However, they are wide. At ten to one both reach above four points, so a gain could hide there.
# A finer experiment does find one. It has nine negatives for each positive and five searches for each loss ([section
# 11.9](11_paraphrases.ipynb)). On QQP, dice from a bias near 0 is 5.1 points ahead of cross entropy from the log
# prior there.
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

# %% [markdown]
# ### 12.6 What imbalance does to F1
#
# So far we have looked at differences. What does imbalance do to the score itself? Here is the F1 of cross entropy
# in both designs: at argmax, at the tuned threshold, and at the shifted one of section 12.2.

# %% mystnb={"code_prompt_show": "Code of Figure 12.2", "figure": {"caption": "Figure 12.2. F1 of cross entropy on the test sets, means over five seeds, by the number of negatives for each positive in training. Grey: always yes.", "name": "fig-12-2"}, "image": {"alt": "Four panels. Added negatives, left: the tuned line rises with the number of negatives, for SST-2 from 34 to 52; argmax rises to 3 or 10 negatives and falls to 20 and 29 at 30. Fixed size, right: the tuned line falls, for QQP from 44 to 35; argmax falls more steeply, to 21 and 25. The shifted line lies near the tuned one. The grey line lies at 18."}} tags=["hide-input"]
level = {}
axes = panels(5.2, "F1 of cross entropy, %", steps)
for (corpus_name, design), ax in axes.items():
    for way, (_, marker, color) in looks().items():
        by_seed = [f1_of(kept, corpus_name, design, ratio, "ce", way) for ratio in steps]
        values = [np.mean(list(found.values())) for found in by_seed]
        level[corpus_name, design, way] = dict(zip(steps, values, strict=True))
        ax.plot(steps, values, marker=marker, color=color, label=way)
    ax.axhline(kept[0]["metrics"]["majority"]["f1"], color="#C4C4C4", linewidth=1)
axes["qqp", "added negatives"].set_ylim(bottom=0)  # of all panels, once all are drawn
axes["qqp", "added negatives"].legend()
plt.show()

# %% mystnb={"code_prompt_show": "Code and table of Figure 12.2"} tags=["hide-cell"]
pd.DataFrame(level).T.round(1)

# %% [markdown]
# How sure is a rise or a fall? We subtract the tuned F1 of cross entropy at one to one from that at thirty to one, over
# five seeds, with the 95% interval:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
titles = {"qqp": "QQP", "sst2": "SST-2"}
change = {}
for name, design in axes:
    most, least = (f1_of(kept, name, design, r, "ce", "tuned") for r in (steps[-1], steps[0]))
    change[name, design] = runs.interval([most[seed] - least[seed] for seed in least])
by_design = {(titles[name], design): str(found) for (name, design), found in change.items()}
signed(pd.Series(by_design).unstack())

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
# ### 12.7 The five sets with all layers trained
#
# Sections 12.5 and 12.6 had a frozen encoder. If you have a GPU, you can train all layers on the whole of QQP, in
# the paper's five sets and in these two designs. In the paper's table of section 12.4, the gains are between half a
# point and one point. With five seeds, a point is about the smallest gain that you could see.
# `make reproduce TABLE=8 PROFILE=paper` makes the rows of the five sets.
# [The paper's tables](../docs/tables.md) says how many hours that takes.

# %% [markdown]
# ## Summary
#
# - Imbalance does two things: it moves the best threshold, which you can undo by tuning, and it often leaves few
#   positives to learn from, which you cannot undo.
# - On *real* text, with five seeds, dice at argmax is 7 to 12 points ahead at thirty negatives for each positive.
#   With tuned thresholds we see no gain at any ratio.
# - If you know the share of positives in training and in use, you know how to move the threshold of a calibrated
#   model (*proved* in exercise 2).
# - Do not throw negatives away: on neither corpus did added negatives measurably lower a tuned F1.
# - The gains printed in the paper's Table 8 have no clear order by imbalance, because ratio and size change
#   together there.

# %% [markdown]
# ## Exercises
#
# **1.** From the table of section 12.4, compute how many positive pairs each of the five sets has.

# %% mystnb={"code_prompt_show": "Solution 12.1"} tags=["solution", "hide-cell"]
{name: round(n * share) for name, (n, share) in stated.items()}

# %% [markdown]
# **2.** A calibrated model was trained with a share of positives π and is used where the share is
# π′. What do you have to add to its log-odds? Derive the two lines of `shift` in section 12.2.

# %% mystnb={"code_prompt_show": "Solution 12.2"} tags=["solution", "hide-cell"]
print("Bayes' rule: odds given the text = prior odds x likelihood ratio of the text.")
print("The text's factor stays. So the odds change by π'/(1-π') over π/(1-π), and their")
print("logarithm by the difference of the logarithms:")
print(*(minus(f"ratio {r:g}: {shift(1 / (1 + r), gold.mean()):.2f}") for r in ratios), sep=", ")

# %% [markdown]
# **3.** Is the shifted threshold as good as the tuned one in the table of section 12.3? Give a reason why it may not
# be.

# %% mystnb={"code_prompt_show": "Solution 12.3"} tags=["solution", "hide-cell"]
for ratio in ratios:
    of_way = {how: table[ratio, experiment.losses[0], how]["f1"] for how in ("tuned", "shifted")}
    print(f"ratio {ratio:g}:", {how: round(f1, 1) for how, f1 in of_way.items()})
print("This needs calibrated probabilities, and F1 is not best at one half.")

# %% [markdown]
# **4.** Draw a batch of 32 from the most imbalanced set. How many positives do you expect in it, and how often is there
# none?

# %% mystnb={"code_prompt_show": "Solution 12.4"} tags=["solution", "hide-cell"]
share = 1 / (1 + max(ratios))
print(f"mean {32 * share:.1f}, none in {100 * (1 - share) ** 32:.0f}% of the batches")

# %% [markdown]
# **5 (a project).** Separate the two effects for the made-up pairs as well. Keep the 62 positives of the most
# imbalanced set, and take away its negatives until 124 pairs at one to one are left. How do the two sets compare,
# with five seeds?

# %% mystnb={"code_prompt_show": "Solution 12.5"} tags=["solution", "hide-cell"]
positives = sum(pool["label"])
size = min(124, 2 * positives, 2 * (len(pool) - positives))
few = corpora.rebalance(pool, 1, task="pairs", size=size, seed=experiment.seed)
print(f"{len(few)} pairs, {sum(few['label'])} positive. To train on it, with seeds 0 to 4:")
print("papermill notebooks/12_degrees_of_imbalance.ipynb out.ipynb -p train_size 124 -p degrees 1 "
      "-p epochs 39 -p seed 0")  # fmt: skip
print("39 passes over 124 pairs are as many steps as 6 over 800.")

# %% tags=["remove-cell"]
# The record of each training, a file each, if `output_dir` is set.
for (ratio, name), (one, result) in trained.items():
    record = runs.make_record(
        chapter="12_degrees_of_imbalance",
        parameters={**asdict(one), "ratio": ratio},
        metrics={
            "test": table[ratio, name, "argmax"],
            "test_tuned": table[ratio, name, "tuned"],
            "majority": {"f1": floor},
        },
        history=result.history,
        measured=result.measured,
    )
    if one.output_dir:
        runs.write_record(Path(one.output_dir) / name, record)
    print(f"ratio {ratio:g}, {name}: F1 {record['metrics']['test']['f1']:.1f}")

# %% tags=["remove-cell"]
page = real_runs.keep(
    experiment,
    data={
        **{split: len(rows) for split, rows in splits.items()},
        "positive in test": int(gold.sum()),
        "by ratio": {
            f"{ratio:g}": [int(np.sum(drawn(ratio)["label"])), len(drawn(ratio))]
            for ratio in ratios
        },
        "always yes": floor,
    },
    results={f"{ratio:g}, {name}": result for (ratio, name), (_, result) in trained.items()},
    scores=[
        {
            "model": f"{ratio:g}, {name}",
            "decision": how,
            **table[ratio, name, how],
            "positive": int(says.sum()),
            "interval": real_runs.f1_interval(says * gold, says + gold),
        }
        for (ratio, name, how), says in predicted.items()
    ],
)
