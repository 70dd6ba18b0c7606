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
# Should you train with dice loss, or tune the threshold of cross entropy? We compared the two on twenty-seven
# tasks, with five searches for each loss, and cross entropy started with its output bias at the log prior. Once
# both thresholds are tuned, dice minus cross entropy is −0.25 points of F1. The interval, from −0.79 to 0.28,
# includes 0, so we cannot tell which is better. At argmax dice is 3.0 points ahead where positives are rare, and
# class weights are 5.6 points ahead. After correction for the number of questions, neither gain is significant.
#
# With all layers trained on tags, we cannot tell whether dice or cross entropy from the log prior is better. On one
# rare label the dice that we ran learned almost nothing, and cross entropy from the log prior learned it. That
# dice was taken over the positive class alone, and its output bias started near 0. Dice from the log prior was
# not run there, so we do not know whether the loss or the start is the cause (section 17.4).
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
from dicelab.records import analysis, runs, searched, speed
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

# %% mystnb={"figure": {"caption": "Figure 17.1. The primary contrast: F1 of dice less cross entropy from its prior, both tuned, with 95% intervals. Intervals of strong contrast leave out zero. Diamonds: means over tasks. Grey band: half a point to either side.", "name": "fig-17-1"}, "image": {"alt": "Twenty-seven tasks, one a line, in three strata, each from the largest gain of dice to the largest loss. One interval leaves out zero: that of the spans of WNUT 2017, below it. Those of tags are narrow, that of GoEmotions' rarest label is twenty-four points wide. Below each stratum a diamond, all three close to zero, and at the foot one over all, with an interval from minus .8 to .3."}} tags=["hide-input"]
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
# - **Form and start of dice**: on tags it is the mean over the classes that the batch has; on tasks with two
#   classes it is taken over the positive class alone. Its output bias starts near 0 throughout. Dice from the log
#   prior was not run, so the contrast compares a loss together with its start.
# - **Searches**: for each loss and task five searches of sixteen trials, each on a draw of the training data of
#   its own. Each ends in four final runs on other draws; only these see the test.
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
# **The gain of dice over cross entropy, both tuned, is −.25 points of F1, between −.79 and .28.** If the true
# gain were .73 or more, this experiment would have found it four times in five. A test of equivalence within half
# a point, at an error rate of 5%, is not passed (p = .14). In no stratum can the mean be told from zero: −.2
# points [−.6, .2] for tags, −.2 [−1.4, 1.1] for a yes or no, −.4 [−1.4, .5] for the rare. Task by task, one of
# the twenty-seven intervals leaves out zero, that of `spans_wnut17`, where dice is behind; by chance alone one or
# two would.
#
# How sure is that? With one source left out after the other the mean goes from −.36 to .13. And an
# edge of what was searched does not decide it: of the first searches' winners, tuned, 30% of dice and 19% of cross
# entropy ask for the last checkpoint, 3,840 steps; above a third the protocol would have doubled them.
#
# From search to search the difference of the two losses scatters by 1.6 points in the median task (standard
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
    claim("dice minus cross entropy is −0.25 points", {"−0.25": primary.over_all.mean})
    claim(
        "from −0.79 to 0.28",
        {"−0.79": primary.over_all.low, "0.28": primary.over_all.high},
        primary.over_all.low < 0 < primary.over_all.high,
    )
    claim(
        "is −.25 points of F1, between −.79 and .28",
        *each("−.25 −.79 .28", primary.over_all[:3]),
        primary.over_all.low < 0 < primary.over_all.high,
    )
    claim("gain were .73 or more", {".73": primary.detectable})
    claim("is not passed (p = .14)", {".14": primary.equivalent}, primary.equivalent > 0.05)
    claim(
        "In no stratum can the mean be told from zero: −.2 points [−.6, .2] for tags, −.2 [−1.4, 1.1] for a yes or no, −.4 [−1.4, .5] for the rare",
        *each("−.2 [−.6, .2]", primary.strata["tags"][:3]),
        *each("−.2 [−1.4, 1.1]", primary.strata["yes or no"][:3]),
        *each("−.4 [−1.4, .5]", primary.strata["rare"][:3]),
        all(e.low < 0 < e.high for e in primary.strata.values()),
    )
    claim(
        "one of the twenty-seven intervals leaves out zero, that of `spans_wnut17`, where dice is behind; by chance alone one or two would",
        [e.task for e in effects if e.high < 0] == ["spans_wnut17"],
        not [e.task for e in effects if e.low > 0],
        1 < 0.05 * len(effects) < 2,
        len(effects) == 27,
    )
    means = [e.mean for e in without.values()]
    claim(
        "goes from −.36 to .13",
        {"−.36": min(means)},
        {".13": max(means)},
    )
    claim(
        "scatters by 1.6 points in the median task",
        {"1.6": np.median([e.of_searches for e in effects])},
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
        "for each loss and task five searches",
        min(e.searches for e in effects) == 5,
        min(e.searches for c in searched.OTHERS for e in searched.effects_of(tasks, c)) == 5,
    )

# %% [markdown]
# ## 17.3 At argmax, and the rivals
#
# If moving the threshold pays, other ways to move it should pay too.

# %% mystnb={"figure": {"caption": "Figure 17.2. Three losses less cross entropy from its prior, and cross entropy that starts with its bias near 0 less the same, by stratum.", "name": "fig-17-2"}, "image": {"alt": "Two panels with a row for each stratum and one over all, four intervals in each. At argmax all stand at zero for tags; for a yes or no and for rare positives weights and logit adjustment stand near six points, dice between two and three, cross entropy with its bias near 0 close to zero. Tuned, all stand near zero in every row."}} tags=["hide-input"]
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
        means = searched.less_start(tasks, arm, how)
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
# At argmax the strata differ: dice is .0 points from cross entropy for tags [−1.2, 1.1], 2.4 for a yes or no [.3,
# 4.5], and 3.0 for the rare [1.2, 4.8]. The protocol corrects its eleven secondary questions together; after that
# the three have p = 1.000, .264 and .089.
#
# **What moves the threshold on purpose moves it further.** Class weights with a searched exponent are 6.8 points
# ahead of cross entropy for a yes or no [1.9, 11.7] and 5.6 for the rare [1.5, 9.7]; logit adjustment 6.9 [1.7,
# 12.1] and 6.2 [1.9, 10.5]. Of all eleven corrected p the smallest is .089. The distance is largest where
# training has fewer positives than use: on `qqp_02`, 2% in training and 10% in the test, cross entropy at argmax
# has an F1 of 17, dice 25, weights 42 and logit adjustment 41; cross entropy with its threshold tuned has 40.
#
# **With thresholds tuned** none of the four is told from cross entropy that starts at the prior: over all weights
# .2 [−.3, .7], logit adjustment .2 [−.4, .8].
#
# *The start alone*: cross entropy from the prior is .1 points [−.4, .7] from cross entropy with its biases near 0,
# tuned, and −.1 [−.7, .5] at argmax.
# On single tasks the start is not free at argmax: on `qqp_10` it costs cross entropy 3.1 points, with an interval
# that excludes 0 and is not corrected for the number of tasks.
#
# The plug-in threshold, the second question of the table, is the matter of [section 19.9](19_other_remedies.ipynb).

# %% tags=["remove-cell"]
if stands:
    at = {name: family[f"{searched.AT_ARGMAX.name}: {name}"] for name in strata}
    claim(
        "dice is .0 points from cross entropy for tags [−1.2, 1.1], 2.4 for a yes or no [.3, 4.5], and 3.0 for the rare [1.2, 4.8]",
        *each(".0 [−1.2, 1.1]", at["tags"][0][:3]),
        *each("2.4 [.3, 4.5]", at["yes or no"][0][:3]),
        *each("3.0 [1.2, 4.8]", at["rare"][0][:3]),
    )
    claim(
        "its eleven secondary questions together; after that the three have p = 1.000, .264 and .089",
        len(family) == 11,
        *({p: at[name][1]} for p, name in zip(("1.000", ".264", ".089"), strata, strict=True)),
    )
    weights, adjusted = (
        searched.less_start(tasks, arm, "argmax") for arm in ("wce", "logit_adjustment")
    )
    claim(
        "Class weights with a searched exponent are 6.8 points ahead of cross entropy for a yes or no [1.9, 11.7] and 5.6 for the rare [1.5, 9.7]; logit adjustment 6.9 [1.7, 12.1] and 6.2 [1.9, 10.5]",
        *each("6.8 [1.9, 11.7]", weights.strata["yes or no"][:3]),
        *each("5.6 [1.5, 9.7]", weights.strata["rare"][:3]),
        *each("6.9 [1.7, 12.1]", adjusted.strata["yes or no"][:3]),
        *each("6.2 [1.9, 10.5]", adjusted.strata["rare"][:3]),
    )
    claim("dice is 3.0 points ahead where positives are rare", {"3.0": at["rare"][0].mean})
    claim("class weights are 5.6 points ahead", {"5.6": weights.strata["rare"].mean})
    claim("the smallest is .089", {".089": min(p for _, p in family.values())})
    on = {
        (arm, how): searched.mean_f1(tasks["qqp_02"], arm, how)
        for arm in LOSSES | {"ce_start": ""}
        for how in ("argmax", "tuned")
    }
    claim(
        "cross entropy at argmax has an F1 of 17, dice 25, weights 42 and logit adjustment 41; cross entropy with its threshold tuned has 40",
        {"17": on["ce_start", "argmax"]},
        {"25": on["dice", "argmax"]},
        {"42": on["wce", "argmax"]},
        {"41": on["logit_adjustment", "argmax"]},
        {"40": on["ce_start", "tuned"]},
    )
    tuned = {arm: searched.less_start(tasks, arm, "tuned").over_all for arm in LOSSES}
    claim(
        "none of the four is told from cross entropy that starts at the prior: over all weights .2 [−.3, .7], logit adjustment .2 [−.4, .8]",
        *each(".2 [−.3, .7]", tuned["wce"][:3]),
        *each(".2 [−.4, .8]", tuned["logit_adjustment"][:3]),
        all(e.low < 0 < e.high for e in tuned.values()),
    )
    start = {}
    for how in ("tuned", "argmax"):
        less_near_0 = searched.Contrast(("ce_start", how), ("ce", how))
        start[how] = searched.pool(searched.effects_of(tasks, less_near_0)).over_all
    claim(
        "cross entropy from the prior is .1 points [−.4, .7] from cross entropy with its biases near 0, tuned, and −.1 [−.7, .5] at argmax",
        *each(".1 [−.4, .7]", start["tuned"][:3]),
        *each("−.1 [−.7, .5]", start["argmax"][:3]),
    )
    at_start = searched.effects_of(
        tasks, searched.Contrast(("ce_start", "argmax"), ("ce", "argmax"))
    )
    (costly,) = [e for e in at_start if e.task == "qqp_10"]
    claim("it costs cross entropy 3.1 points", {"3.1": -costly.mean}, costly.high < 0)

# %% [markdown]
# ## 17.4 All layers trained: is it the loss or the start?
#
# Does dice learn faster? With all layers trained, the first protocol saw it 6.9 points [3.1, 11.5] ahead of cross
# entropy on CrossNER politics after 68 steps, both tuned. But there cross entropy began with its bias near 0, and
# the rate fell to zero at the last step. The second protocol's second stage takes that apart.
#
# - **Steps**: a constant rate, and from each of 16, 32, ... 512 steps a branch in which it falls to zero over a
#   fifth of the steps so far. So each point below is a finished run.
# - **Corpora**: the tags of CrossNER politics (518 sentences) and of WNUT 2017 (1,000); the pairs of MRPC; and
#   `fear` of GoEmotions, with seventy negatives for each positive.
# - **Runs**: all of MiniLM, in batches of 32. For each loss and corpus the learning rate is the best of seven on
#   one draw, for runs of up to 64 steps before the branch and for longer ones; then six other draws.
# - **Measure**: the area under F1 over the logarithm of the steps, which is the mean height of a curve.

# %% mystnb={"figure": {"caption": "Figure 17.3. All layers trained: F1 on the test set, thresholds tuned, by the steps of a finished run; means of six draws with 95% intervals. Dice starts with its bias near 0; on MRPC and fear it is taken over the positive class alone.", "name": "fig-17-3"}, "image": {"alt": "Four panels of F1 against steps on a logarithmic axis, four curves in each. On CrossNER politics and WNUT 2017 cross entropy with its bias near 0 runs far below the other three and meets them at 150 to 300 steps; those three run together. On MRPC all four rise together. On fear, cross entropy from its prior and weighted cross entropy rise to sixty; cross entropy with its bias near 0 lies near zero until 100 steps and then spreads from zero to fifty, and dice, whose bias starts near 0 as well, stays below four throughout."}} tags=["hide-input"]
layers = speed.read_corpora(folder)
fig, axes = plt.subplots(2, 2, figsize=(7, 5.4), sharex=True)
for ax, (task, records) in zip(axes.flat, layers.items(), strict=True):
    figures.by_steps(records, ax=ax)
    ax.set_title(speed.CORPORA[task])
for ax in axes[0]:
    ax.set_xlabel("")
for ax in axes[:, 1]:
    ax.set_ylabel("")
fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
plt.show()

# %% mystnb={"figure": {"caption": "The area under F1 over the logarithm of the steps, thresholds tuned, in points, with 95% intervals over draws and test sentences: each loss less cross entropy from the prior. No interval is corrected for the others."}} tags=["hide-input"]
area = {
    (task, arm): speed.faster(layers[task], arm, "ce_start", "tuned")
    for task in speed.CORPORA
    for arm in speed.ARMS
    if arm != "ce_start"
}
rows = {}
for (task, arm), e in area.items():
    rows.setdefault(speed.CORPORA[task], {})[speed.ARMS[arm]] = (
        f"{e.mean:+.1f} [{e.low:+.1f}, {e.high:+.1f}]"
    )
pd.DataFrame(rows).T

# %% [markdown]
# **On tags a start at the prior gives cross entropy the head start of dice.** Dice is 5.5 points ahead of cross
# entropy with its bias near 0 on politics [4.1, 6.9] and 5.7 on WNUT 2017 [4.3, 7.0]. Cross entropy from the
# prior, which costs one line, is 5.0 [4.3, 5.7] and 5.0 [3.5, 6.3] ahead. What dice adds to that is .5 [−.7, 1.9]
# and .7 [−.6, 2.1]. Class weights are a little ahead of the prior on both, 1.5 [.6, 2.4] and 1.1 [.0, 2.3].
#
# **On the rare label the dice that we ran learned almost nothing, and the record does not say why.** After 614
# steps, with a tuned threshold, dice has a mean F1 of 1.5. Cross entropy from the log prior has a mean F1 of 61.6.
# In area, dice is 52.5 points lower than cross entropy from the log prior. Four things limit what this says.
#
# - *The form.* Dice was `DiceLoss(classes=[1])`, which means squared denominators over the positive class alone.
#   `DiceLoss()`, the mean over both classes, was not run.
# - *The start.* The output bias of dice started near 0. Dice from the log prior was not run. Cross entropy whose
#   bias starts near 0 fails here as well: in four of six draws its F1 ends below ten.
# - *The batches.* They have 32 sentences, and 65% of them have no positive. From such a batch dice over the positive
#   class gets only a gradient that lowers every probability ([section 4.5](04_dice_loss.ipynb)). Batches that
#   always have a positive were not run.
# - *The learning rates.* Each was chosen among seven on one draw. No rate gave dice a validation F1 above 4.4, so
#   its choice was one among failures. The lowest rate, 0.0001, was the best for cross entropy from the log prior,
#   which itself stays below 3.1 at 0.0003 and above. Lower rates were not tried.
#
# So this is a result about one form of dice from one start, on one label. It does not show that dice fails because
# batches have no positive, for the start may be the whole reason. On frozen features, in batches of 256, dice starts near 0
# too, and there we cannot tell whether it or cross entropy is better on this label ([Figure
# 17.1](#fig-17-1)). If
# you train dice on such a label, start its output bias at the log prior, try larger batches or the summed
# statistics of several ([recipes](../docs/recipes.md)), and compare on validation data.
#
# **On MRPC**, where one pair in three is a positive, dice is −.4 points from cross entropy from the prior [−1.3,
# .5], and class weights are −1.4 [−2.0, −.8]. At argmax dice is 15.2 points ahead [12.2, 18.2]: that is the
# threshold again.
#
# What may be luck: a learning rate is chosen on one draw. On MRPC every loss chose the lowest of the seven, so
# lower ones might be better. Dice had its default smoothing, and one
# batch size was run.

# %% tags=["remove-cell"]
if stands:
    one, two, pairs, rare = speed.CORPORA

    def less(task, arm, other="ce_start", how="tuned"):
        """The area under F1 of one arm less that of another."""
        return speed.faster(layers[task], arm, other, how)

    seen = analysis.Evidence.read_fine_tuned(runs.kept_folder() / "evidence")[0, 4]
    before = analysis.effect(seen, analysis.less_ce("dice", "tuned"), one)
    claim(
        "6.9 points [3.1, 11.5] ahead of cross entropy on CrossNER politics after 68 steps",
        *each("6.9 [3.1, 11.5]", (before.mean, before.low, before.high)),
        {r["history"][-1]["step"] for r in seen.finals[one, "ce", "tuned"].values()} == {68},
    )
    claim(
        "from each of 16, 32, ... 512 steps",
        {r["length"] for records in layers.values() for r in records if r["kind"] == "final"}
        == {16, 32, 64, 128, 256, 512},
    )
    claim("then six other draws", {e.draws for e in area.values()} == {6})
    claim(
        "Dice is 5.5 points ahead of cross entropy with its bias near 0 on politics [4.1, 6.9] and 5.7 on WNUT 2017 [4.3, 7.0]",
        *each("5.5 [4.1, 6.9]", less(one, "dice", "ce")[:3]),
        *each("5.7 [4.3, 7.0]", less(two, "dice", "ce")[:3]),
    )
    claim(
        "Cross entropy from the prior, which costs one line, is 5.0 [4.3, 5.7] and 5.0 [3.5, 6.3] ahead",
        *each("5.0 [4.3, 5.7]", less(one, "ce_start", "ce")[:3]),
        *each("5.0 [3.5, 6.3]", less(two, "ce_start", "ce")[:3]),
    )
    claim(
        "What dice adds to that is .5 [−.7, 1.9] and .7 [−.6, 2.1]",
        *each(".5 [−.7, 1.9]", area[one, "dice"][:3]),
        *each(".7 [−.6, 2.1]", area[two, "dice"][:3]),
        all(area[task, "dice"].low < 0 < area[task, "dice"].high for task in (one, two)),
    )
    claim(
        "Class weights are a little ahead of the prior on both, 1.5 [.6, 2.4] and 1.1 [.0, 2.3]",
        *each("1.5 [.6, 2.4]", area[one, "wce"][:3]),
        *each("1.1 [.0, 2.3]", area[two, "wce"][:3]),
        all(area[task, "wce"].mean > 0 for task in (one, two)),
    )

# %% tags=["remove-cell"]
if stands:
    ends = {arm: speed.scores(layers[rare], arm, "tuned")[1][:, -1] for arm in speed.ARMS}
    last = speed.scores(layers[rare], "dice", "tuned")[0][-1]
    claim("After 614 steps", {"614": last})
    claim("dice has a mean F1 of 1.5", {"1.5": ends["dice"].mean()})
    claim("has a mean F1 of 61.6", {"61.6": ends["ce_start"].mean()})
    claim(
        "52.5 points lower than cross entropy from the log prior",
        {"52.5": -area[rare, "dice"].mean},
        area[rare, "dice"].high < 0,
    )
    tried = {}
    for r in layers[rare]:
        if r["kind"] == "search":
            tried.setdefault(r["arm"], {})[r["rate"], r["length"]] = r["validation"]["tuned"]["f1"]
    claim("validation F1 above 4.4", {"4.4": max(tried["dice"].values())})
    claim(
        "below 3.1 at 0.0003 and above",
        max(f1 for (rate, _), f1 in tried["ce_start"].items() if rate >= 3e-4) < 3.1,
    )
    size = told[rare]["sizes"]["train"]
    claim("with seventy negatives for each positive", 65 < size["rows"] / size["positive"] - 1 < 75)
    claim(
        "65% of them have no positive",
        {"65%": (1 - size["positive"] / size["rows"]) ** 32},
    )
    frozen = next(e for e in effects if e.task == rare)
    claim(
        "we cannot tell whether it or cross entropy is better on this label",
        frozen.low < 0 < frozen.high,
    )
    whole = speed.scores(layers[rare], "ce", "tuned")[1]
    claim("in four of six draws its F1 ends below ten", (whole[:, -1] < 10).sum() == 4)
    share = {
        r["sizes"]["test"]["positive"] / r["sizes"]["test"]["rows"]
        for r in tasks["mrpc"]
        if r["kind"] == "task"
    }
    claim("one pair in three is a positive", all(abs(x - 1 / 3) < 0.03 for x in share))
    claim(
        "dice is −.4 points from cross entropy from the prior [−1.3, .5], and class weights are −1.4 [−2.0, −.8]",
        *each("−.4 [−1.3, .5]", area[pairs, "dice"][:3]),
        *each("−1.4 [−2.0, −.8]", area[pairs, "wce"][:3]),
        area[pairs, "dice"].low < 0 < area[pairs, "dice"].high,
    )
    claim(
        "At argmax dice is 15.2 points ahead [12.2, 18.2]",
        *each("15.2 [12.2, 18.2]", less(pairs, "dice", how="argmax")[:3]),
    )

    def rates(task, arm):
        """The learning rates of an arm's finals on a corpus."""
        return {r["rate"] for r in layers[task] if (r["kind"], r["arm"]) == ("final", arm)}

    claim(
        "On MRPC every loss chose the lowest of the seven",
        {r["rate"] for r in layers[pairs] if r["kind"] == "search"}
        == {1e-4, 2e-4, 3e-4, 4e-4, 6e-4, 8e-4, 12e-4},
        all(rates(pairs, arm) == {1e-4} for arm in speed.ARMS),
    )
    claim("The lowest rate, 0.0001, was the best", rates(rare, "ce_start") == {1e-4})

# %% [markdown]
# ## 17.5 What this does not say
#
# The evidence is of one small encoder and of English tags, sentences, pairs and spans; F1 was strict. Tags, a yes
# or no and rare positives count alike in the mean over all, however many tasks they have. That no difference
# larger than .73 was seen does not say that there is none. With all layers trained there are four corpora and one
# batch size. [Chapter 22](22_your_own_data.ipynb) compares losses on your own file.
#
# ## Summary
#
# All of these are *real text*: twenty-seven English tasks of eight sources, on frozen features unless all layers
# are named.
#
# - With the same searches and both thresholds tuned, dice less cross entropy from the prior is −.25 points of F1
#   [−.79, .28]. Equivalence within half a point is not proved.
# - At argmax dice is 2.4 [.3, 4.5] points ahead for a yes or no and 3.0 [1.2, 4.8] for rare positives, where
#   weights are 6.8 [1.9, 11.7] and 5.6 [1.5, 9.7]; on tags it is .0 [−1.2, 1.1]. After correction the least p is
#   .089.
# - With thresholds tuned no rival is told apart from cross entropy, and neither is its start.
# - All layers trained: on two corpora of tags dice is 5.5 and 5.7 points ahead of cross entropy with its bias
#   near 0, in area under F1 over steps, and .5 [−.7, 1.9] and .7 [−.6, 2.1] ahead of cross entropy from the
#   prior.
# - On one label with seventy negatives for each positive, in batches of 32, dice over the positive class alone,
#   started with its bias near 0, learned almost nothing. Cross entropy from the log prior learned the label. Dice
#   from the log prior was not run, so we do not know whether the loss or the start decided.
# - Sixteen trials for a loss and one for its baseline make a “gain” of 2.6 points by search alone (exercise
#   17.1).

# %% tags=["remove-cell"]
if stands:
    claim("seven English tasks of eight sources", len({e.source for e in effects}) == 8)
    claim(
        "After correction for the number of questions, neither gain is significant",
        min(p for _, p in family.values()) > 0.05,
    )
    claim("After correction the least p is .089", {".089": min(p for _, p in family.values())})


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
# One point takes 59 runs to be seen, and .3 takes 628. The paper prints gains of both sizes and names no
# number of runs.
#
# </details>

# %% tags=["remove-cell"]
if stands:
    claim(
        "One point takes 59 runs to be seen, and .3 takes 628",
        {"59": needed[1.0], "628": needed[0.3]},
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
drawn = np.random.default_rng(0).integers(len(between), size=(4000, len(between)))
low, high = np.quantile(np.array(between)[drawn].mean(1), (0.025, 0.975))
print(f"between searches {np.mean(between):.1f} [{low:.1f}, {high:.1f}] over tasks")
print(f"between finals of one search {np.mean(within):.1f}")
assert low < 0 < high < np.mean(within) / 5
# Verdict: nearly all of it lies between finals of one search. What the searches add may be nothing: the
# interval holds zero. The estimate may fall below zero, for the scatter of the finals is taken off.

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
