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
# - **For** readers who ask how imbalanced data must be before the loss matters.
# - **You need** [chapter 11](11_paraphrases.ipynb).
# - **You will be able to** vary the ratio of a training set at one size, compare losses along it, and
#   see what an experiment that varies two things at once cannot tell, this one included.
# - **Time** two to five minutes on a CPU as it stands. With a real encoder, a GPU takes some
#   ten minutes for each set and loss.
#
# If dice losses help because of imbalance, they should help more where there is more of it. The
# paper tests that with five training sets made from one corpus. Two things change between them: the
# ratio, and the size. This chapter first looks at what that design can show, then changes the ratio
# at one size.

# %% tags=["remove-cell"]
# Where dicebook is missing, as on Colab, install what this chapter needs. Elsewhere nothing happens.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("dicebook") is None:
    subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", "dicebook[book]"])

# %% [markdown]
# ## 12.1 The parameters
#
# ```bash
# papermill notebooks/12_degrees_of_imbalance.ipynb out.ipynb -p corpus qqp -p train_size 50000 \
#     -p encoder bert-base-cased -p learning_rate 2e-5 -p epochs 3 -p output_dir runs/degrees
# ```

# %% tags=["parameters"]
corpus: str = "embedded-paraphrases-zh"  # a registered name, or a path to your own file
encoder: str = "tiny"  # "tiny", "minilm", a local folder, or a model of the Hugging Face hub
loss: str = "ce,dl"  # one or several of ce, wce, fl, dl, tl, dsc
loss_options: dict = {"dsc": {"squared": True}}  # options by loss, as in chapter 09
seed: int = 0  # seeds weights, data order, dropout, and which pairs are drawn
epochs: int = 6  # passes over the training pairs
max_steps: int = -1  # stop after so many steps; -1 for no such limit
batch_size: int = 32  # pairs in a step
learning_rate: float = 1e-3  # the peak of a linear schedule; 2e-5 to 2e-4 for a pretrained encoder
max_length: int = 96  # sub-words in a pair; of what is longer the longer sentence is cut
train_size: int = 800  # pairs of every training set, whatever its ratio
eval_size: int = 0  # pairs of each split that is scored; 0 for all
device: str = "auto"  # "auto", "cpu" or "cuda"
precision: str = "auto"  # "auto" (bf16 on a GPU that has it), "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves for TensorBoard, into output_dir
output_dir: str = ""  # checkpoints and records; a killed run resumes there. "" keeps nothing
degrees: str = "1,4,12"  # negatives for each positive, one training set each

# %%
from dicebook.training.experiment import Experiment, ParameterError

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

# %%
from dataclasses import asdict, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from datasets import DatasetDict

from dicebook import TrainerLoss, corpora, figures
from dicebook.claims import claim
from dicebook.reproduce import paper, runs
from dicebook.tasks import pairs
from dicebook.training.encoders import load_tokenizer
from dicebook.training.sampling import sample
from dicebook.training.trainer import build_loss, train

figures.use_style()

# %% [markdown]
# ## 12.2 The paper's five sets
#
# The paper starts from the training pairs of QQP. It adds positives made from templates by
# exchanging entities, or negatives, or takes negatives away. Its section 5.1 states the sizes. For
# "+ negative" it states 21% positive too, which its own sizes rule out: adding negatives to the
# original leaves 29% ([section 15.7](15_audit.ipynb)). The table has 29%. For the last set it says
# both 37% and 50%; the table has 50%, and 37% would change nothing below.

# %% tags=["nbval-check-output"]
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
sets.insert(0, "pairs", [stated[name][0] for name in sets.index])
sets.insert(1, "positive", [f"{stated[name][1]:.0%}" for name in sets.index])
sets["dsc less ce"] = (sets["dsc"] - sets["ce"]).round(2)
sets

# %% [markdown]
# Read the last column. If imbalance were what DSC mends, the gain would be smallest on the three
# balanced sets. It is .49 and .65 on two of them, and 1.07, the largest, on the third, which is the
# smallest set. On the most imbalanced set it is .70. There is no clear order by imbalance in these
# numbers; there is one by size, as far as five sets can show any.

# %% tags=["nbval-check-output"]
from scipy.stats import kendalltau

imbalance = [abs(stated[name][1] - 0.5) for name in sets.index]
for what, values in {"distance from balance": imbalance, "number of pairs": sets["pairs"]}.items():
    tau = kendalltau(values, sets["dsc less ce"])
    print(f"gain of DSC against {what}: rank correlation {tau.statistic:+.2f}")

# %% [markdown]
# Five sets are no proof of anything, neither of an order nor of none. But the design could not have given one: where size and ratio
# change together, an effect of either looks like an effect of the other. The sets themselves can be
# made for any corpus of pairs by `python -m data_scripts.augment_pairs`.

# %% tags=["remove-cell"]
gains_printed = sets["dsc less ce"]
claim(
    "It is .49 and .65 on two of them, and 1.07, the largest, on the third",
    {
        ".49": gains_printed["+ positive & negative"],
        ".65": gains_printed["+ positive"],
        "1.07": gains_printed["- negative"],
    },
    gains_printed.idxmax() == "- negative",
)
claim("which is the smallest set", sets["pairs"].idxmin() == "- negative")
claim("On the most imbalanced set it is .70", {".70": gains_printed["+ negative"]})
by_balance, by_size = (
    kendalltau(values, gains_printed).statistic for values in (imbalance, sets["pairs"])
)
claim("There is no clear order by imbalance in these numbers", abs(by_balance) < 0.3)
claim("there is one by size", by_size < -0.8)
other = [abs(share - 0.5) for share in (0.37, 0.5, 0.29, 0.5, 0.37)]
claim("and 37% would change nothing below", abs(kendalltau(other, gains_printed).statistic) < 0.3)

# %% [markdown]
# ## 12.3 The ratio at one size
#
# Here every training set has the same number of pairs, and the share of positives changes. The
# validation and the test pairs stay what they are, as in the paper. The sets are drawn from the
# training split, so they are smaller than it: each needs enough pairs of either label.
#
# This design, too, varies two things: at one size a higher ratio is also a smaller *number* of
# positives. What becomes worse along it may be worse for want of positives. To tell the two apart
# takes a set with few positives and few negatives as well; exercise 5 has it.

# %%
splits = sample(corpora.load(experiment.corpus, task="pairs"), replace(experiment, train_size=0))
pool = splits["train"]


def drawn(ratio):
    """A training set of the wanted size with so many negatives for each positive."""
    size, seed = experiment.train_size, experiment.seed
    return corpora.rebalance(pool, ratio, task="pairs", size=size, seed=seed)


# %% tags=["nbval-check-output"]
for ratio in ratios:
    found = np.array(drawn(ratio)["label"])
    print(f"ratio {ratio:g}: {len(found)} pairs, {found.sum()} of them positive")
gold = np.array(splits["test"]["label"])
floor = pairs.score(gold, np.ones_like(gold))["f1"]
print(f"test: {len(gold)} pairs, {gold.sum()} positive; always yes has an F1 of {floor:.1f}")

# %%
texts = (" ".join((row["sentence1"], row["sentence2"])) for row in pool)
tokenizer = load_tokenizer(experiment.encoder, texts, max_length=experiment.max_length)


def evaluate(logits, split):
    """Scores of a split's logits."""
    return pairs.score(split["label"], pairs.decode(logits))


def fit(one, encoded):
    """Train with one loss on one of the sets."""
    return train(
        one,
        build_model=lambda: pairs.model(one.encoder, tokenizer, encoded.labels),
        splits=encoded.splits,
        collator=pairs.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build_loss(one, one.loss, encoded.counts())),
        evaluate=evaluate,
    )


# %%
trained, table = {}, {}
for ratio in ratios:
    rows = DatasetDict({**splits, "train": drawn(ratio)})
    encoded = pairs.encode(rows, tokenizer, max_length=experiment.max_length)
    validation = encoded.splits["validation"]["label"]
    for name in experiment.losses:
        print(f"ratio {ratio:g}, {name}")
        folder = experiment.output_dir and f"{experiment.output_dir}/ratio-{ratio:g}"
        one = replace(experiment.only(name), output_dir=folder)
        result = fit(one, encoded)
        threshold = pairs.tune_threshold(result.logits["validation"], validation)
        for how, t in (("argmax", 0.0), ("tuned", threshold)):
            predicted = pairs.decode(result.logits["test"], threshold=t)
            table[ratio, name, how] = {**pairs.score(gold, predicted), "threshold": t}
        trained[ratio, name] = one, result

# %% [markdown]
# ## 12.4 F1 along the imbalance

# %%
scores = pd.DataFrame(table).T
f1 = scores["f1"].unstack([1, 2])
f1.round(1)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 12.1. F1 on the test pairs along the ratio of the training pairs. The grey line is always yes."}, "image": {"alt": "Two panels with the curves of ce and dl over 1, 4 and 12 negatives for each positive. At argmax both fall, from 55 and 61 over 35 and 39 to 0. Tuned, they begin at 58 and 62 and lie on the grey line of always yes, 54, at 4 and 12."}}
fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.4), sharey=True)
for ax, how in zip(axes, ("argmax", "tuned"), strict=True):
    for name in experiment.losses:
        ax.plot(ratios, f1[name][how], marker="o", label=name, **figures.style(name))
    ax.axhline(floor, color="#7F7F7F", linewidth=1)
    ax.set(xscale="log", xlabel="negatives for each positive in train", title=how)
    ax.set_xticks(ratios, [f"{ratio:g}" for ratio in ratios])
    ax.minorticks_off()
axes[0].set_ylabel("F1 on the test split, %")
axes[1].legend(title="loss")
plt.show()

# %% [markdown]
# Left, every model decides at its own one half. Right, all of them at the threshold that the
# validation pairs suggest; the grey line is "always yes". On the left F1 collapses as positives get
# rarer, and it collapses for the dice loss as it does for cross entropy. On the right nothing is below
# the grey line by more than a point, and only the balanced set is above it. At four negatives to one
# and at twelve, the tuned scores are those of "always yes": with 160 and 62 positives and six passes
# this small encoder learned little that helps, and it might have with more. A loss against imbalance
# would show as a distance between the curves that grows to the right. At argmax the distance shrinks
# instead, from 6 points to none. One seed and 400 pairs could hide several points either way.

# %%
first = experiment.losses[0]
for how in ("argmax", "tuned"):
    gains = {
        name: ", ".join(f"{f1[name][how][r] - f1[first][how][r]:+.1f}" for r in ratios)
        for name in experiment.losses[1:]
    }
    print(f"less {first}, {how}:", gains)
thresholds = scores["threshold"].unstack([1, 2])
print("tuned log-odds of", first, [round(x, 1) for x in thresholds[first]["tuned"]])

# %% [markdown]
# Look at the thresholds of cross entropy. The training sets with few positives taught it that
# positives are rare, which is not so in the test pairs; it is right about its training data. The
# tuned threshold takes that back. This is one seed, with differences of a few points on 400 pairs,
# which is what chance gives.

# %% tags=["remove-cell"]
if (experiment.corpus, ratios, experiment.losses, seed, epochs) == (
    "embedded-paraphrases-zh",
    [1, 4, 12],
    ["ce", "dl"],
    0,
    6,
) and experiment.train_size == 800:  # the words hold for the chapter as it stands
    apart = {
        how: [f1["dl"][how][r] - f1["ce"][how][r] for r in ratios] for how in ("argmax", "tuned")
    }
    claim(
        "On the left F1 collapses as positives get rarer",
        all(f1[name]["argmax"][12] == 0 for name in experiment.losses),
    )
    claim(
        "On the right nothing is below the grey line by more than a point",
        all(f1[name]["tuned"][r] > floor - 1 for name in experiment.losses for r in ratios),
    )
    claim(
        "and only the balanced set is above it",
        all(f1[name]["tuned"][1] > floor + 3 for name in experiment.losses),
        all(abs(f1[name]["tuned"][r] - floor) < 1 for name in experiment.losses for r in (4, 12)),
    )
    claim(
        "At argmax the distance shrinks instead, from 6 points to none",
        {"6": apart["argmax"][0]},
        apart["argmax"][2] == 0,
    )

# %% [markdown]
# ## Summary
#
# - To learn what imbalance does, change the ratio and hold the size; then hold the number of positives
#   and change the size.
# - *Printed numbers* (QQP): the gains in Table 8 are not ordered by imbalance. Five sets could not
#   show much of an order.
# - *Made-up pairs*: a training set with another ratio than the test set moves the threshold, under
#   both losses. What was not learned a tuned threshold cannot bring back: with 160 positives or fewer
#   it came to "always yes".
# - *Made-up pairs*, one seed: no gain of dice was seen that grows with the ratio. That ranks nothing.

# %% [markdown]
# ## Exercises
#
# **1.** Compute from the table of section 12.2 how many positive pairs each of the five sets has.

# %% tags=["solution", "hide-cell"]
{name: round(n * share) for name, (n, share) in stated.items()}

# %% [markdown]
# **2.** A calibrated model was trained with a share of positives π and is used where the share is
# π′. By how much do its log-odds have to be moved?


# %% tags=["solution", "hide-cell"]
def shift(train_share, test_share):
    """What is added to the log-odds, by Bayes' rule."""
    odds = [share / (1 - share) for share in (train_share, test_share)]
    return float(np.log(odds[1] / odds[0]))


print({f"ratio {r:g}": round(shift(1 / (1 + r), gold.mean()), 2) for r in ratios})

# %% [markdown]
# **3.** Apply that shift to cross entropy in the place of the tuned threshold. Does it come as far?

# %% tags=["solution", "hide-cell"]
for ratio in ratios:
    logits = trained[ratio, first][1].logits["test"]
    moved = pairs.decode(logits, threshold=-shift(1 / (1 + ratio), gold.mean()))
    print(f"ratio {ratio:g}: {pairs.score(gold, moved)['f1']:.1f}")

# %% [markdown]
# **4.** In a batch of 32 from the most imbalanced set, how many positives are there, and how often
# is there none?

# %% tags=["solution", "hide-cell"]
share = 1 / (1 + max(ratios))
print(f"mean {32 * share:.1f}, none in {100 * (1 - share) ** 32:.0f}% of the batches")

# %% [markdown]
# **5 (a project).** Few positives, or many negatives? Hold the 62 positives of the most imbalanced set
# and take away its negatives: train on 124 pairs at one to one. How do the two sets compare, and with
# five seeds?

# %% tags=["solution", "hide-cell"]
few = corpora.rebalance(pool, 1, task="pairs", size=124, seed=experiment.seed)
print(f"{len(few)} pairs, {sum(few['label'])} positive. To train on it, with seeds 0 to 4:")
print("papermill notebooks/12_degrees_of_imbalance.ipynb out.ipynb -p train_size 124 -p degrees 1 "
      "-p epochs 39 -p seed 0")  # fmt: skip
print("39 passes over 124 pairs are as many steps as 6 over 800.")

# %% [markdown]
# ### The record

# %%
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
