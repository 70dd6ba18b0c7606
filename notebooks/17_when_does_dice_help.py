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
# # 17 Evidence: when does dice help?
#
# With two searches for each loss on each of twenty-seven tasks, and a tuned threshold for both, dice is −.07
# points of F1 from cross entropy [−1.01, .88]. At argmax dice is 2.5 points ahead where positives are rare [.1,
# 5.0], and class weights 4.7 [.8, 8.5]; corrected for the number of questions, neither stands. With all layers
# trained and few steps dice is ahead, and class weights are ahead as far.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who have to decide whether to change their loss, and their reviewers.
# - **You need** chapters [02](02_cross_entropy.ipynb) and [04](04_dice_loss.ipynb).
# - **You will be able to** read a comparison of two losses with its scatter and its power, and to say how many
#   runs your claim needs.
# - **Time** half a minute on a CPU; a GPU does not help. The runs are kept; [a page](../docs/evidence_2.md) has
#   all of their scores, and `make study` makes those that are missing.
#
# </details>

# %% tags=["remove-cell"]
# Where dicebook is missing, as on Colab, this cell installs it and says from where.
import importlib.util
import shlex
import subprocess
import sys

if importlib.util.find_spec("dicebook") is None:
    _command = "pip install 'dicebook[book] @ git+https://github.com/dicebook/dicebook' 'dicebook-records @ git+https://github.com/dicebook/dicebook#subdirectory=results'"
    print(_command)
    subprocess.check_call([sys.executable, "-m", *shlex.split(_command), "--quiet"])

# %% tags=["parameters", "remove-cell"]
evidence: str = ""  # folder of the records; "" for those that come with the book

# %% tags=["hide-input"]
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dicelab import figures
from dicelab.claims import claim, each
from dicelab.records import analysis, on_the_way, runs, searched
from dicelab.records.analysis import f1

figures.use_style()

# %% tags=["remove-cell"]
folder = Path(evidence) if evidence else runs.kept_folder() / "evidence_2"
stands = not evidence  # the words hold for the records that come with the book
tasks = searched.read_tasks(folder)
effects = searched.effects_of(tasks, searched.PRIMARY)
primary = searched.pool(effects)
strata = {
    name: sorted((e for e in effects if e.stratum == name), key=lambda e: -e.mean)
    for name in ("tags", "yes or no", "rare")
}

# %% mystnb={"figure": {"caption": "Figure 17.1. The primary contrast: F1 of dice less cross entropy from its prior, both tuned, with 95% intervals. Intervals of strong contrast leave out zero. Diamonds: means over tasks. Grey band: half a point to either side.", "name": "fig-17-1"}, "image": {"alt": "Twenty-seven tasks, one a line, in three strata, each from the largest gain of dice to the largest loss. All intervals hold zero; those of tags are narrow, those of the rarest labels of GoEmotions up to forty points wide. Below each stratum a diamond, all three close to zero, and at the foot one over all, with an interval from minus one to almost one."}} tags=["hide-input"]
_, ax = plt.subplots(figsize=(5.6, 6.2))
figures.forest(strata, primary, ax=ax)
ax.set_xlabel("F1 of dice less cross entropy, both tuned")
plt.show()

# %% [markdown]
# ## 17.1 The question
#
# The paper compares losses by one score each, at argmax, with the settings of cross entropy. A loss may be
# better there because it trains a better model, because it puts the threshold where F1 wants it, or because the
# settings suit it by luck. Tuning the threshold does the second without any new loss, and a search undoes the
# third. So the question is narrow:
#
# > On language data, imbalanced and less so, does dice loss with squared denominators
# > ([Eq. 4.2](eq-4-2)) score a higher F1 than cross entropy that starts with its bias at the log prior, when
# > both get the same searches and both have their threshold tuned?
#
# That contrast is the *primary* one. It was fixed, with the code that runs it, before the first final run, in a
# [protocol](../docs/protocol_2.md).
#
# - **Tasks** in three *strata*: tags; a yes or no; and *rare*, with more than twenty negatives for each positive.
# - **Model**: a frozen all-MiniLM-L6, and a head with one hidden layer, which costs seconds to train.
# - **Searches**: for each loss and task some searches of sixteen trials, each on a draw of the training data of
#   its own. Each ends in four final runs on other draws; only these see the test. Five are planned; here stand
#   the first two of dice and of cross entropy from the prior, and the first two of the other losses.
# - **Decisions**: at argmax, or *tuned*, with a threshold from validation.
#
# It is our second protocol. [The first](../docs/protocol.md) had one search, no start at the prior, and steps that
# ended while dice still rose; there dice was −.18 points [−.75, .38] from cross entropy
# ([its records](../docs/evidence.md)).

# %% mystnb={"figure": {"caption": "The tasks: F1 on the test set, means over all final runs. The floor learns nothing: a dictionary of tags, or yes to everything."}} tags=["hide-cell"]
told = {name: records[0] for name, records in tasks.items()}


def row_of(task):
    """What a task is, and what cross entropy and dice score on it."""
    train = told[task]["sizes"]["train"]
    row = {"training rows": f"{train['rows']:,}"}
    row["negatives per positive"] = f"{train['rows'] / train['positive'] - 1:.1f}"
    row["floor"] = f"{told[task]['baseline']:.1f}"
    for how in ("argmax", "tuned"):
        for arm, name in (("ce_start", "ce"), ("dice", "dice")):
            row[f"{name}, {how}"] = f"{searched.mean_f1(tasks[task], arm, how):.1f}"
    return row


pd.DataFrame({e.task: row_of(e.task) for found in strata.values() for e in found}).T

# %% [markdown]
# ## 17.2 Both tuned
#
# Runs of two losses with the same search and seed share the training and validation sentences and the first
# weights. What is left is the luck of the search, of the draw and of the test sentences. So all three are drawn
# with replacement, the same for both losses:

# %%
task = "wnut17"
gold = np.array(told[task]["blocks"])  # entities, by block of sentences


def counts_of(arm):
    """Found and predicted entities, [searches, finals, 2, blocks]."""
    found = searched.blocks_of(tasks[task], arm, "tuned")
    return np.array([list(of_seed.values()) for of_seed in found.values()])


def resampled(draws=2000):
    """Dice less cross entropy, resampled."""
    rng = np.random.default_rng(0)
    dice, ce = counts_of("dice"), counts_of("ce_start")
    searches, finals, _, blocks = dice.shape
    result = []
    for _ in range(draws):
        s = rng.integers(searches, size=(searches, 1))
        r = rng.integers(finals, size=(searches, finals))
        k = rng.integers(blocks, size=blocks)
        drawn = [x[s, r][..., k].sum(-1) for x in (dice, ce)]
        size = gold[k].sum()
        one, other = (f1(x[..., 0], x[..., 1], size) for x in drawn)
        result.append((one - other).mean())
    return np.array(result)


# %%
example = resampled()
n = len(counts_of("dice"))
example = example.mean() + (example - example.mean()) * (n / (n - 1)) ** 0.5
low, high = np.quantile(example, [0.025, 0.975])
print(f"WNUT 2017: {example.mean():+.2f} [{low:+.2f}, {high:+.2f}]")

# %% [markdown]
# (A bootstrap of $n$ searches has too little variance by the factor $(n - 1)/n$, which the second line gives back.)
#
# Every task gives such a difference $d_t$. To speak of other tasks, the model
#
# $$
# d_t = \mu + s_{\text{stratum}(t)} + b_{\text{source}(t)} + c_t + \varepsilon_t
# $$
#
# has a mean $\mu$, what a stratum adds to it, what the tasks of one source share, what is a task's own, and the
# bootstrap's noise.

# %%
p = primary
for name, mean in {"over all": p.over_all, **p.strata}.items():
    print(f"{name:9} {mean.mean:+.2f} [{mean.low:+.2f}, {mean.high:+.2f}]")
print(f"between sources {p.source:.2f}, between their tasks {p.task:.2f}")
print(f"test that |mu| is .5 or more: p = {p.equivalent:.3f}")
print(f"a mu of {p.detectable:.2f} would be found four times in five")

# %% [markdown]
# **The gain of dice over cross entropy, both tuned, is −.07 points of F1, between −1.01 and .88.** If the true
# gain were 1.30 or more, this experiment would have found it four times in five. A test of equivalence within
# half a point, at an error rate of 5%, is not passed (p = .15). In no stratum can the mean be told from zero: −.2
# points [−.9, .6] for tags, .3 [−2.1, 2.6] for a yes or no, −.3 [−1.7, 1.1] for the rare. Task by task, none of
# the twenty-seven intervals leave out zero.
#
# How sure is that? With one source left out after the other the mean goes from −.37 to .32. And an
# edge of what was searched does not decide it: of the first searches' winners, tuned, 30% of dice and 19% of cross
# entropy ask for the last checkpoint, 3,840 steps; above a third the protocol would have doubled them.
#
# From search to search the difference of the two losses scatters by .9 points in the median task (standard
# deviation), each search with four final runs. That scatter is in every interval here; it is in none of a table
# with one search for each row. How much of it is the luck of the search, and how much that of the runs, is
# exercise 17.4.

# %% tags=["hide-cell"]
without = searched.without_each_source(effects)
pd.DataFrame(
    {
        name: {"mean without it": f"{e.mean:+.2f} [{e.low:+.2f}, {e.high:+.2f}]"}
        for name, e in without.items()
    }
).T

# %% tags=["remove-cell"]
same = next(e for e in effects if e.task == task)
assert abs(low - same.low) < 0.2, "the chapter's loop and the library's bootstrap"
assert abs(high - same.high) < 0.2, "the chapter's loop and the library's bootstrap"

if stands:
    claim(
        "dice is −.07 points of F1 from cross entropy [−1.01, .88]",
        *each("−.07 [−1.01, .88]", primary.over_all[:3]),
    )
    claim(
        "is −.07 points of F1, between −1.01 and .88",
        *each("−.07 −1.01 .88", primary.over_all[:3]),
        primary.over_all.low < 0 < primary.over_all.high,
    )
    claim("gain were 1.30 or more", {"1.30": primary.detectable})
    claim("is not passed (p = .15)", {".15": primary.equivalent}, primary.equivalent > 0.05)
    claim(
        "In no stratum can the mean be told from zero: −.2 points [−.9, .6] for tags, .3 [−2.1, 2.6] for a yes or no, −.3 [−1.7, 1.1] for the rare",
        *each("−.2 [−.9, .6]", primary.strata["tags"][:3]),
        *each(".3 [−2.1, 2.6]", primary.strata["yes or no"][:3]),
        *each("−.3 [−1.7, 1.1]", primary.strata["rare"][:3]),
        all(e.low < 0 < e.high for e in primary.strata.values()),
    )
    claim(
        "none of the twenty-seven intervals leave out zero",
        sum(e.low > 0 or e.high < 0 for e in effects) == 0,
        len(effects) == 27,
    )
    means = [e.mean for e in without.values()]
    claim(
        "goes from −.37 to .32",
        {"−.37": min(means)},
        {".32": max(means)},
    )
    claim(
        "scatters by .9 points in the median task",
        {".9": np.median([e.of_searches for e in effects])},
    )
    first = analysis.Evidence.read(runs.kept_folder() / "evidence")
    before = analysis.pool(analysis.effects_of(first, analysis.PRIMARY))
    claim(
        "there dice was −.18 points [−.75, .38] from cross entropy",
        *each("−.18 [−.75, .38]", (before.mu, before.mu_low, before.mu_high)),
    )
    ends = {arm: searched.at_last_checkpoint(tasks, arm, 3840) for arm in ("dice", "ce_start")}
    claim(
        "30% of dice and 19% of cross entropy ask for the last checkpoint, 3,840 steps",
        {"30%": ends["dice"]},
        {"19%": ends["ce_start"]},
    )
    claim(
        "here stand the first two of dice and of cross entropy from the prior, and the first two of the other losses",
        min(e.searches for e in effects) == 2,
        min(e.searches for c in searched.OTHERS for e in searched.effects_of(tasks, c)) == 2,
    )

# %% [markdown]
# ## 17.3 At argmax, and the rivals
#
# If moving the threshold pays, other ways to move it should pay too.

# %% mystnb={"figure": {"caption": "Figure 17.2. Three losses less cross entropy from its prior, and cross entropy that starts with its bias near 0 less the same, by stratum.", "name": "fig-17-2"}, "image": {"alt": "Two panels with a row for each stratum and one over all, four intervals in each. At argmax all stand at zero for tags; for a yes or no and for rare positives weights and logit adjustment stand near five points, dice at one and two and a half, cross entropy with its bias near 0 at zero. Tuned, all stand near zero in every row."}} tags=["hide-input"]
LOSSES = {
    "dice": "dice",
    "wce": "weighted cross entropy",
    "logit_adjustment": "logit adjustment",
    "ce": "cross entropy, bias near 0",
}
fig, axes = plt.subplots(1, 2, figsize=(7, 3.6), sharey=True)
for ax, how in zip(axes, ("argmax", "tuned"), strict=True):
    groups = {name: {} for name in (*strata, "over all")}
    for arm, name in LOSSES.items():
        less = searched.Contrast((arm, how), ("ce_start", how))
        means = searched.pool(searched.effects_of(tasks, less))
        for stratum in strata:
            groups[stratum][name] = means.strata[stratum]
        groups["over all"][name] = means.over_all
    figures.by_stratum(groups, ax=ax)
    ax.set(title=how, xlabel="less cross entropy, F1")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
plt.show()

# %% mystnb={"figure": {"caption": "The secondary questions, in points of F1, with 95% intervals; p after Holm's correction for all of them."}} tags=["hide-input"]
family = searched.secondary(tasks)
pd.DataFrame(
    {
        name: {
            "difference": f"{e.mean:+.2f} [{e.low:+.2f}, {e.high:+.2f}]",
            "p": f"{corrected:.3f}",
        }
        for name, (e, corrected) in family.items()
    }
).T


# %% [markdown]
# At argmax the strata differ: dice is −.3 points from cross entropy for tags [−1.1, .6], 1.1 for a yes or no
# [−1.2, 3.3], and 2.5 for the rare [.1, 5.0]. The protocol corrects its eleven secondary questions together;
# after that the three have p = 1.000, 1.000 and .386.
#
# **What moves the threshold on purpose moves it further.** Class weights with a searched exponent are 6.1 points
# ahead of cross entropy for a yes or no [1.7, 10.5] and 4.7 for the rare [.8, 8.5]; logit adjustment 5.0 [.2,
# 9.8] and 5.8 [1.7, 10.0]. Of all eleven corrected p the smallest is .091. The distance is largest where training
# has fewer positives than use: on `qqp_02`, 2% in training and 10% in the test, cross entropy at argmax has an F1
# of 19, dice 24, weights 40 and logit adjustment 41; cross entropy with its threshold tuned has 39.
#
# **With thresholds tuned** none of the four is told from cross entropy that starts at the prior: over all weights
# .4 [−.4, 1.2], logit adjustment .2 [−.5, .9].
#
# *The start alone*: cross entropy from the prior is .0 points [−1.1, 1.0] from cross entropy with its biases near
# 0, tuned, and .0 [−1.1, 1.1] at argmax.
#
# The plug-in threshold, the second question of the table, is the matter of [section 19.9](19_other_remedies.ipynb).

# %% tags=["remove-cell"]
def over_tasks(arm, how, other="ce_start"):
    """One arm less another over tasks, both decided the same way."""
    return searched.pool(searched.effects_of(tasks, searched.Contrast((arm, how), (other, how))))


if stands:
    at = {name: family[f"{searched.AT_ARGMAX.name}: {name}"] for name in strata}
    claim(
        "dice is −.3 points from cross entropy for tags [−1.1, .6], 1.1 for a yes or no [−1.2, 3.3], and 2.5 for the rare [.1, 5.0]",
        *each("−.3 [−1.1, .6]", at["tags"][0][:3]),
        *each("1.1 [−1.2, 3.3]", at["yes or no"][0][:3]),
        *each("2.5 [.1, 5.0]", at["rare"][0][:3]),
    )
    claim(
        "its eleven secondary questions together; after that the three have p = 1.000, 1.000 and .386",
        len(family) == 11,
        *({p: at[name][1]} for p, name in zip(("1.000", "1.000", ".386"), strata, strict=True)),
    )
    weights, adjusted = (over_tasks(arm, "argmax") for arm in ("wce", "logit_adjustment"))
    claim(
        "Class weights with a searched exponent are 6.1 points ahead of cross entropy for a yes or no [1.7, 10.5] and 4.7 for the rare [.8, 8.5]; logit adjustment 5.0 [.2, 9.8] and 5.8 [1.7, 10.0]",
        *each("6.1 [1.7, 10.5]", weights.strata["yes or no"][:3]),
        *each("4.7 [.8, 8.5]", weights.strata["rare"][:3]),
        *each("5.0 [.2, 9.8]", adjusted.strata["yes or no"][:3]),
        *each("5.8 [1.7, 10.0]", adjusted.strata["rare"][:3]),
    )
    claim(
        "dice is 2.5 points ahead where positives are rare [.1, 5.0], and class weights 4.7 [.8, 8.5]",
        *each("2.5 [.1, 5.0]", at["rare"][0][:3]),
        *each("4.7 [.8, 8.5]", weights.strata["rare"][:3]),
    )
    claim("the smallest is .091", {".091": min(p for _, p in family.values())})
    on = {
        (arm, how): searched.mean_f1(tasks["qqp_02"], arm, how)
        for arm in LOSSES | {"ce_start": ""}
        for how in ("argmax", "tuned")
    }
    claim(
        "cross entropy at argmax has an F1 of 19, dice 24, weights 40 and logit adjustment 41; cross entropy with its threshold tuned has 39",
        {"19": on["ce_start", "argmax"]},
        {"24": on["dice", "argmax"]},
        {"40": on["wce", "argmax"]},
        {"41": on["logit_adjustment", "argmax"]},
        {"39": on["ce_start", "tuned"]},
    )
    tuned = {arm: over_tasks(arm, "tuned").over_all for arm in LOSSES}
    claim(
        "none of the four is told from cross entropy that starts at the prior: over all weights .4 [−.4, 1.2], logit adjustment .2 [−.5, .9]",
        *each(".4 [−.4, 1.2]", tuned["wce"][:3]),
        *each(".2 [−.5, .9]", tuned["logit_adjustment"][:3]),
        all(e.low < 0 < e.high for e in tuned.values()),
    )
    start = {how: over_tasks("ce_start", how, "ce").over_all for how in ("tuned", "argmax")}
    claim(
        "cross entropy from the prior is .0 points [−1.1, 1.0] from cross entropy with its biases near 0, tuned, and .0 [−1.1, 1.1] at argmax",
        *each(".0 [−1.1, 1.0]", start["tuned"][:3]),
        *each(".0 [−1.1, 1.1]", start["argmax"][:3]),
    )

# %% [markdown]
# ## 17.4 All layers trained: the gain is in the first steps
#
# The second stage of the first protocol trains every layer of MiniLM. Each loss gets the best of five learning
# rates, by validation, searched with at most 1,000 sentences and four passes; then come eight other draws of the
# training data. The rate falls linearly to zero. Two corpora have been run: CrossNER politics, 518 sentences, in
# runs of 68 steps and of 136; and WNUT 2017, in runs of 128 steps on 1,000 sentences and of 388 on 3,082. MRPC
# has not. The second protocol's second stage, at a constant rate and with cross entropy from the prior, has not
# begun.

# %% mystnb={"figure": {"caption": "Figure 17.3. All layers trained: F1 on validation, thresholds tuned, means of eight draws. Thin lines: the shorter runs.", "name": "fig-17-3"}, "image": {"alt": "Two panels of F1 against steps on a logarithmic axis. On CrossNER politics cross entropy begins far below dice and class weights in both runs; in the shorter runs it ends a few points below them, in the longer ones it has met them. On WNUT 2017 dice and weights are ahead in the runs of 128 steps and level with cross entropy or below it at the end of the runs of 388."}} tags=["hide-input"]
cells = analysis.Evidence.read_fine_tuned(runs.kept_folder() / "evidence")
RUNS = {"crossner_politics": ((0, 4), (0, 8)), "wnut17": ((1000, 4), (0, 4))}
SHOWN = {"ce": "cross entropy", "wce": "weighted cross entropy", "dice": "dice"}
fig, axes = plt.subplots(1, 2, figsize=(7, 3.1))
for ax, (task, keys) in zip(axes, RUNS.items(), strict=True):
    for key, width in zip(keys, (1.2, 2.4), strict=True):
        for arm, name in SHOWN.items():
            steps, scores = on_the_way.curves(cells[key], task, arm)
            label = name if width > 2 else None
            ax.plot(steps, scores.mean(0), label=label, **figures.style(name) | {"lw": width})
    ax.set(xscale="log", xlabel="step", ylabel="validation F1, %", title=task)
    ticks = [17, 34, 68, 136] if task != "wnut17" else [32, 64, 128, 256, 388]
    ax.set_xticks(ticks, map(str, ticks))
    ax.minorticks_off()
axes[1].legend(fontsize=8)
plt.show()

# %% mystnb={"figure": {"caption": "F1 on the test set, thresholds tuned: less cross entropy, in points, with 95% intervals. No interval is corrected for the others."}} tags=["hide-input"]
ends = {}
for task, keys in RUNS.items():
    for key in keys:
        steps, _ = on_the_way.curves(cells[key], task, "ce")
        row = ends.setdefault(f"{task}, {steps[-1]} steps", {})
        for arm in ("dice", "wce"):
            e = analysis.effect(cells[key], analysis.less_ce(arm, "tuned"), task)
            row[SHOWN[arm]] = f"{e.mean:+.1f} [{e.low:+.1f}, {e.high:+.1f}]"
pd.DataFrame(ends).T

# %% [markdown]
# In the short runs dice is ahead of cross entropy with both tuned: on politics by 6.9 points [3.1, 11.5], at
# argmax by 6.5 [2.8, 11.1], and on WNUT 2017 by 5.7 [3.0, 8.5]. (That is the test, of other sources than the
# training; on validation, which the figure shows, the lead is 17.5.) In the long ones 1.7 points are left on
# politics [.0, 3.6], and on WNUT 2017 the difference is −1.6 [−3.7, .4]. *Dice learns faster, and most of the
# lead goes.*
#
# Cross entropy with the class weights of [Equation 2](02_cross_entropy.ipynb) has that gain, too: 8.2 points on
# politics [5.2, 12.0] and 5.7 on WNUT 2017 [3.2, 8.3], tuned, in the short runs. With 136 steps it keeps 3.7
# [2.3, 5.3]; on WNUT 2017, with 388 steps, it has turned into −2.8 [−4.6, −1.1]. There weights also need
# the threshold: at argmax they are 6.2 points *behind* cross entropy in the short runs.
#
# Part of the lead is the schedule. A rate that falls to zero at step 68 stops cross entropy short there: on
# politics, on validation, dice is 4.4 points ahead at step 68 of the runs of 68 steps [.4, 8.4], and .9
# [−1.6, 3.4] at the same step of the runs of 136, with the same draws and rates. At step 34 it is 11.9 points
# ahead in the one and 10.7 in the other. Part may be the start, which was not varied: with its bias at 0 cross
# entropy first had to learn that entities are rare.
#
# The search was coarse: the two draws of cross entropy at the learning rates 4e-4, 8e-4 and 1.6e-3 have 70.5,
# 71.7 and 32.0 on average. With few steps, search the rate for each loss.

# %% tags=["remove-cell"]
if stands:

    def less(key, task, arm, how="tuned", other="ce"):
        """One arm less another on the test set."""
        terms = ((1, arm, how), (-1, other, how))
        return analysis.effect(cells[key], analysis.Contrast("", terms), task)

    def against(effect, *printed):
        """A printed mean and interval beside the computed ones."""
        return dict(zip(printed, (effect.mean, effect.low, effect.high), strict=True))

    one, two = RUNS
    (few, many), (few_2, many_2) = RUNS.values()
    draws = {len(cells[k].finals[t, a, "tuned"]) for t in RUNS for k in RUNS[t] for a in SHOWN}
    claim("then come eight other draws of the training data", draws == {8})
    last_steps = [
        on_the_way.curves(cells[k], t, "ce")[0][-1] for t, keys in RUNS.items() for k in keys
    ]
    claim(
        "CrossNER politics, 518 sentences, in runs of 68 steps and of 136; and WNUT 2017, in runs of 128 steps on 1,000 sentences and of 388 on 3,082",
        dict(zip(("68", "136", "128", "388"), last_steps, strict=True)),
        {"518": next(iter(cells[few].finals[one, "ce", "tuned"].values()))["sentences"]},
        {"3,082": next(iter(cells[many_2].finals[two, "ce", "tuned"].values()))["sentences"]},
    )
    claim(
        "on politics by 6.9 points [3.1, 11.5], at argmax by 6.5 [2.8, 11.1], and on WNUT 2017 by 5.7 [3.0, 8.5]",
        against(less(few, one, "dice"), "6.9", "3.1", "11.5"),
        against(less(few, one, "dice", "argmax"), "6.5", "2.8", "11.1"),
        against(less(few_2, two, "dice"), "5.7", "3.0", "8.5"),
    )
    claim(
        "1.7 points are left on politics [.0, 3.6], and on WNUT 2017 the difference is −1.6 [−3.7, .4]",
        against(less(many, one, "dice"), "1.7", ".0", "3.6"),
        against(less(many_2, two, "dice"), "−1.6", "−3.7", ".4"),
    )
    claim(
        "8.2 points on politics [5.2, 12.0] and 5.7 on WNUT 2017 [3.2, 8.3]",
        against(less(few, one, "wce"), "8.2", "5.2", "12.0"),
        against(less(few_2, two, "wce"), "5.7", "3.2", "8.3"),
    )
    claim(
        "With 136 steps it keeps 3.7 [2.3, 5.3]; on WNUT 2017, with 388 steps, it has turned into −2.8 [−4.6, −1.1]",
        against(less(many, one, "wce"), "3.7", "2.3", "5.3"),
        against(less(many_2, two, "wce"), "−2.8", "−4.6", "−1.1"),
    )
    claim(
        "on validation, which the figure shows, the lead is 17.5",
        {"17.5": on_the_way.less_at_step(cells[few_2], two, "dice", 128).mean},
    )
    claim(
        "at argmax they are 6.2 points *behind* cross entropy in the short runs",
        {"6.2": less(few_2, two, "ce", "argmax", "wce").mean},
        less(few_2, two, "wce", "argmax").high < 0,
    )

# %% tags=["remove-cell"]
if stands:
    at_68 = [on_the_way.less_at_step(cells[key], one, "dice", 68) for key in (few, many)]
    at_34 = [on_the_way.less_at_step(cells[key], one, "dice", 34) for key in (few, many)]
    claim(
        "4.4 points ahead at step 68 of the runs of 68 steps [.4, 8.4], and .9 [−1.6, 3.4] at the same step of the runs of 136",
        against(at_68[0], "4.4", ".4", "8.4"),
        against(at_68[1], ".9", "−1.6", "3.4"),
    )
    claim(
        "At step 34 it is 11.9 points ahead in the one and 10.7 in the other",
        {"11.9": at_34[0].mean, "10.7": at_34[1].mean},
    )
    claim(
        "at the learning rates 4e-4, 8e-4 and 1.6e-3 have 70.5, 71.7 and 32.0 on average",
        {
            printed: np.mean(
                [
                    r["validation"]["tuned"]["f1"]
                    for r in analysis.read(runs.kept_folder() / "evidence" / f"b-{one}.jsonl")
                    if (r["kind"], r.get("arm"), r.get("rate")) == ("search", "ce", rate)
                ]
            )
            for rate, printed in ((4e-4, "70.5"), (8e-4, "71.7"), (16e-4, "32.0"))
        },
    )

# %% [markdown]
# ## 17.5 What this does not say
#
# The evidence is of one small encoder and of English tags, sentences, pairs and spans; F1 was strict. Tags, a yes
# or no and rare positives count alike in the mean over all, however many tasks they have. That no difference
# larger than 1.30 was seen does not say that there is none. With all layers trained cross entropy from the prior
# has not been run. [Chapter 22](22_your_own_data.ipynb) compares losses on your own file.
#
# ## Summary
#
# All of these are *real text*: twenty-seven English tasks of eight sources, on frozen features unless all layers
# are named.
#
# - With the same searches and both thresholds tuned, dice less cross entropy from the prior is −.07 points of F1
#   [−1.01, .88]. Equivalence within half a point is not proved.
# - At argmax dice is 1.1 [−1.2, 3.3] points ahead for a yes or no and 2.5 [.1, 5.0] for rare positives, where
#   weights are 6.1 [1.7, 10.5] and 4.7 [.8, 8.5]; on tags it is −.3 [−1.1, .6]. After correction no p is below
#   .091.
# - With thresholds tuned no rival is told apart from cross entropy, and neither is its start.
# - All layers trained and few steps: dice is ahead, and class weights are ahead as far. With more steps most of
#   the lead goes; on WNUT 2017 weights end behind.
# - Sixteen trials for a loss and one for its baseline make a “gain” of 2.6 points by search alone (exercise
#   17.1).

# %% tags=["remove-cell"]
if stands:
    claim("seven English tasks of eight sources", len({e.source for e in effects}) == 8)
    claim(
        "corrected for the number of questions, neither stands",
        min(p for _, p in family.values()) > 0.05,
    )
    claim("After correction no p is below .091", min(p for _, p in family.values()) > 0.05)


# %% [markdown]
#
# ## Exercises
#
# **17.1** *Predict, then run.* Cross entropy gets one random trial, dice gets sixteen, as when a new
# loss is tuned and the baseline is not. How large a “gain” on validation is that, on average?

# %% tags=["solution", "hide-cell"]
def best_of(task, arm, trials):
    """The best validation F1, tuned, to expect of some trials of a search."""
    of_search = {}
    for r in tasks[task]:
        if (r["kind"], r.get("arm")) == ("search", arm):
            of_search.setdefault(r["search"], []).append(r["validation"]["tuned"]["f1"])
    return np.mean([analysis.expected_best(found)[trials - 1] for found in of_search.values()])


unequal = np.mean([best_of(t, "dice", 16) - best_of(t, "ce_start", 1) for t in tasks])
print(f"{unequal:.1f} points of F1, by search alone")

# %% tags=["remove-cell"]
if stands:
    claim("a “gain” of 2.6 points by search alone", {"2.6": unequal})


# %% [markdown]
# **17.2** *Pencil.* Show that pairing over draws narrows the interval of a difference exactly if the
# two scores correlate above zero. Then look: do they?
#
# <details><summary>Solution</summary>
#
# $\operatorname{Var}(a - b) = \operatorname{Var}(a) + \operatorname{Var}(b) -
# 2\operatorname{Cov}(a, b)$, and an unpaired comparison leaves the last term out. So the paired
# interval is the narrower one if and only if the covariance is above zero. Shared training data
# should make it so.
#
# </details>

# %% tags=["solution", "hide-cell"]
def final_f1(task, arm):
    """F1 on the test set, tuned, of each final by its search and seed."""
    found = searched.finals_of(tasks[task], arm, "tuned")
    return {(r["search"], r["seed"]): r["test"]["tuned"]["f1"] for r in found}


paired = {}
for name in tasks:
    a, b = (final_f1(name, arm) for arm in ("dice", "ce_start"))
    paired[name] = np.array([[x[key] for key in sorted(a.keys() & b.keys())] for x in (a, b)])
correlation = {name: np.corrcoef(both)[0, 1] for name, both in paired.items()}
pd.Series(correlation).describe()[["min", "50%", "max"]].round(2)


# %% [markdown]
# **17.3** How many runs does a claim need? With $s$ the standard deviation of the paired difference, a true gain
# of $\Delta$ is seen four times in five, at 5% significance, with about $(z_{.975} + z_{.8})^2\,(s/\Delta)^2$
# runs. Count them for the task of median $s$, for gains of one point and of .3.

# %% tags=["solution", "hide-cell"]
def runs_needed(deviation, gain):
    """Runs of a paired t-test, counted up until the power is there."""
    n = 3
    while analysis.detectable(deviation / np.sqrt(n), n - 1) > gain:
        n += 1
    return n


deviation = float(np.median([np.diff(x, axis=0).std(ddof=1) for x in paired.values()]))
needed = {gain: runs_needed(deviation, gain) for gain in (1.0, 0.3)}
needed

# %% [markdown]
# <details><summary>What this says</summary>
#
# One point takes 50 runs to be seen, and .3 takes 534. The paper prints gains of both sizes and names no
# number of runs.
#
# </details>

# %% tags=["remove-cell"]
if stands:
    claim(
        "One point takes 50 runs to be seen, and .3 takes 534",
        {"50": needed[1.0], "534": needed[0.3]},
    )

# %% [markdown]
# **17.4** Four finals of one search share its trial. How much of the variance of a paired difference lies between
# searches, and how much between finals of one search?

# %% tags=["solution", "hide-cell"]
between, within = [], []
for name in tasks:
    a, b = (final_f1(name, arm) for arm in ("dice", "ce_start"))
    d = pd.Series({key: a[key] - b[key] for key in a.keys() & b.keys()})
    of_search = d.groupby(level=0)
    inside = of_search.var().mean()
    within.append(inside)
    between.append(of_search.mean().var() - inside / of_search.size().mean())
print(f"between searches {np.mean(between):.1f}, within {np.mean(within):.1f}")
# Verdict: what is found between searches is what the scatter of the finals makes by itself, so the
# estimate of a search's own variance may fall below zero, and two searches a task cannot tell it from zero.

# %% [markdown]
# **17.5** What is the smallest p-value of a sign-flip test with 3, 5 and 8 runs?

# %% tags=["solution", "hide-cell", "nbval-check-output"]
{n: 2 / 2**n for n in (3, 5, 8)}

# %% [markdown]
# ## Further reading
#
# - J. Dodge and others, [Show your work: improved reporting of experimental
#   results](https://aclanthology.org/D19-1224/), EMNLP 2019. The curve behind exercise 17.1.
# - R. Dror and others, [The hitchhiker's guide to testing statistical significance in natural
#   language processing](https://aclanthology.org/P18-1128/), ACL 2018. Which test for which score.
# - D. Card and others, [With little power comes great
#   responsibility](https://aclanthology.org/2020.emnlp-main.745/), EMNLP 2020. How often the field's
#   comparisons could have seen what they claim.
# - Z. Lipton, C. Elkan and B. Naryanaswamy, [Optimal thresholding of classifiers to maximize F1
#   measure](https://doi.org/10.1007/978-3-662-44851-9_15), ECML PKDD 2014. Why the threshold is half
#   of the best F1.
