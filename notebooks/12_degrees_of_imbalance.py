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
# - **You will be able to** vary imbalance without varying anything else, compare losses along it,
#   and see what an experiment that varies two things at once cannot tell.
# - **Time** about a minute and a half on a CPU as it stands. With a real encoder, a GPU takes some
#   ten minutes for each set and loss.
#
# If dice losses help because of imbalance, they should help more where there is more of it. The
# paper tests that with five training sets made from one corpus. Two things change between them: the
# ratio, and the size. This chapter first looks at what that design can show, then changes the ratio
# alone.

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
# exchanging entities, or negatives, or takes negatives away. Its section 5.1 states the sizes.

# %% tags=["nbval-check-output"]
stated = {
    "original": (363_871, 0.37),
    "+ positive": (458_477, 0.50),
    "+ negative": (458_477, 0.21),
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
# smallest set. On the most imbalanced set it is .70. There is no order by imbalance in these
# numbers; there is one by size, as far as five sets can show any.

# %% tags=["nbval-check-output"]
from scipy.stats import kendalltau

imbalance = [abs(stated[name][1] - 0.5) for name in sets.index]
for what, values in {"distance from balance": imbalance, "number of pairs": sets["pairs"]}.items():
    tau = kendalltau(values, sets["dsc less ce"])
    print(f"gain of DSC against {what}: rank correlation {tau.statistic:+.2f}")

# %% [markdown]
# Five sets are no proof of anything. But the design could not have given one: where size and ratio
# change together, an effect of either looks like an effect of the other. The sets themselves can be
# made for any corpus of pairs by `python -m data_scripts.augment_pairs`.

# %% [markdown]
# ## 12.3 The ratio alone
#
# Here every training set has the same number of pairs, and only the share of positives changes. The
# validation and the test pairs stay what they are, as in the paper. The sets are drawn from the
# training split, so they are smaller than it: each needs enough pairs of either label.

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

# %%
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
# rarer, and it collapses for the dice loss as it does for cross entropy. On the right the middle
# set comes back: its models could tell the pairs apart, they were only asked at the wrong place.
# The most imbalanced set does not. Its tuned score is that of "always yes", so from 62 positives
# this small encoder learned nothing that helps. A loss against imbalance would show as a distance
# between the curves that grows to the right. There is none of that here.

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

# %% [markdown]
# ## Summary
#
# - To learn what imbalance does, change the ratio and hold the size.
# - The gains in Table 8 do not grow with imbalance.
# - A training set with another ratio than the test set moves the threshold. A tuned threshold moves
#   it back, whatever the loss; what was not learned it cannot bring back.
# - One seed and made-up pairs rank nothing.

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
        runs.write_json(Path(one.output_dir) / name / "record.json", record)
    print(f"ratio {ratio:g}, {name}: F1 {record['metrics']['test']['f1']:.1f}")
