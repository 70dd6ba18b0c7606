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
# With the same search for both losses and a tuned threshold for both, dice came out level with cross entropy
# over seventeen tasks. At argmax dice is ahead on five of eight yes-or-no tasks, by up to eleven points, and
# level on tags. With all layers trained and few steps dice is ahead, and class weights are ahead as far.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who have to decide whether to change their loss, and their reviewers.
# - **You need** chapters [02](02_cross_entropy.ipynb) and [04](04_dice_loss.ipynb).
# - **You will be able to** read a comparison of two losses with its scatter and its power, and to say how many
#   runs your claim needs.
# - **Time** half a minute on a CPU; a GPU does not help. The runs are kept, and `make evidence` makes the
#   tables of [all of them](../docs/evidence.md).
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
from dicelab.claims import claim
from dicelab.records import analysis, left_open, on_the_way, runs, strata
from dicelab.records.analysis import f1

figures.use_style()

# %% tags=["remove-cell"]
folder = Path(evidence) if evidence else runs.kept_folder() / "evidence"
read = analysis.Evidence.read(folder)
tasks = [t for t in read.tasks if analysis.effect(read, analysis.PRIMARY, t)]
tasks.sort(key=read.imbalance)
stands = not evidence  # the words hold for the records that come with the book
effects = sorted(analysis.effects_of(read, analysis.PRIMARY), key=lambda e: e.mean)
over_tasks = analysis.pool(effects)

# %% mystnb={"figure": {"caption": "Figure 17.1. The primary contrast: F1 of dice less cross entropy, both tuned, with 95% intervals. Intervals of strong contrast leave out zero. Grey band: half a point to either side.", "name": "fig-17-1"}, "image": {"alt": "Seventeen tasks, one a line, from the largest gain of dice to the largest loss. Most intervals hold zero. English UNER lies above it, CrossNER AI, WNUT 2017 and CrossNER literature below. At the foot, over tasks, a diamond just left of zero with an interval from minus .75 to plus .38."}} tags=["hide-input"]
_, ax = plt.subplots(figsize=(5.6, 3.4))
figures.forest(effects, over_tasks, ax=ax)
ax.set_xlabel("F1 of dice less cross entropy, both tuned")
plt.show()

# %% [markdown]
# At the foot, over tasks, the interval goes from −.75 to .38.
#
# ## 17.1 The question
#
# The paper compares losses by one score each, at argmax, with the settings of cross entropy. A loss may be
# better there because it trains a better model, because it puts the threshold where F1 wants it, or because the
# settings suit it by luck. Tuning the threshold does the second without any new loss, and a search undoes the
# third. So the question is narrow:
#
# > On imbalanced language data, does dice loss with squared denominators
# > ([Eq. 4.2](eq-4-2)) score a higher F1 than cross entropy, when both get the same
# > search and both have their threshold tuned?
#
# That contrast is the *primary* one. It was fixed, with the code that runs it, before the first final run, in a
# [protocol](../docs/protocol.md) that also lists each departure from it. The other losses, and all scores at
# argmax, are secondary. A [second protocol](../docs/protocol_2.md), which answers what 17.2 leaves open, has no
# results yet.
#
# The encoder is all-MiniLM-L6, frozen, and a head with one hidden layer is trained. A head costs seconds, so
# that each loss gets its own search and twenty final runs, each with other training data.

# %% mystnb={"figure": {"caption": "The tasks: F1 on the test set, means over twenty final runs."}} tags=["hide-cell"]
pd.DataFrame(
    {
        task: {
            "training rows": str(read.tasks[task]["sizes"]["train"]["rows"]),
            "negatives per positive": f"{read.imbalance(task):.1f}",
            "best baseline": f"{max(read.tasks[task]['baselines'].values()):.1f}",
            **{
                f"{name}, {how}": f"{read.mean_f1(task, arm, how):.1f}"
                for how in ("argmax", "tuned")
                for arm, name in (("ce", "ce"), ("dice", "dice"))
            },
        }
        for task in tasks
    }
).T

# %% [markdown]
# Nine tasks ask for tags and eight for a yes or no. The seventeen tasks come from twelve corpora. The number in
# `qqp` and `sst2` is the percentage of positives in training; in their tests it is always 10. So in four tasks
# training is *shifted* against use: the threshold that is right in training is wrong in the test. Ten of the
# seventeen have fewer than nine negatives per positive. `squad11_sentences` rests on a rebuilt copy of SQuAD
# 1.1.
#
# Take the most imbalanced task, `sst2_02`. Cross entropy at argmax has an F1 of 17.0, less than a baseline that
# calls everything positive, 18.2. With its threshold tuned the same loss has 53.3.

# %% tags=["remove-cell"]
if stands:
    claim(
        "Cross entropy at argmax has an F1 of 17.0",
        tasks[-1] == "sst2_02",
        {"17.0": read.mean_f1("sst2_02", "ce", "argmax")},
    )
    claim(
        "calls everything positive, 18.2",
        {"18.2": max(read.tasks["sst2_02"]["baselines"].values())},
    )
    claim(
        "With its threshold tuned the same loss has 53.3",
        {"53.3": read.mean_f1("sst2_02", "ce", "tuned")},
    )
    tagging = [t for t in tasks if strata.stratum(read, t) == strata.TAGS]
    claim("Nine tasks ask for tags and eight for a yes or no", len(tagging) == 9, len(tasks) == 17)
    sources = {analysis.ONE_SOURCE.get(x, x) for x in (read.tasks[t]["corpus"] for t in tasks)}
    claim("The seventeen tasks come from twelve corpora", len(sources) == 12, len(tasks) == 17)
    tests = [
        read.tasks[t]["sizes"]["test"] for t in tasks if read.tasks[t]["corpus"] in ("qqp", "sst2")
    ]
    claim(
        "in their tests it is always 10",
        all(abs(size["positive"] / size["rows"] - 0.1) < 0.002 for size in tests),
    )
    claim(
        "in four tasks training is *shifted* against use",
        sum(strata.shifted(read, t) for t in tasks) == 4,
    )
    claim(
        "Ten of the seventeen have fewer than nine negatives per positive",
        sum(read.imbalance(t) < 9 for t in tasks) == 10,
    )


# %% [markdown]
# ## 17.2 Both tuned: level
#
# Runs of dice and cross entropy with the same seed share the training and validation sentences and the first
# weights. Their difference depends on the training data and on the test sentences. So seeds, and blocks of
# neighbouring test sentences, are drawn with replacement, the same for both losses.

# %%
def counts_of(task, arm):
    """Found and predicted entities, [seeds, 2, blocks of the test set]."""
    records = read.finals[task, arm, "tuned"]
    scored = [records[seed]["test"]["tuned"] for seed in sorted(records)]
    return np.array([one["blocks"] for one in scored])


def resampled(task, draws=2000):
    """Dice less cross entropy in resamples of seeds and test sentences."""
    rng = np.random.default_rng(0)
    dice, ce = counts_of(task, "dice"), counts_of(task, "ce")
    gold = np.array(read.tasks[task]["blocks"])
    result = []
    for _ in range(draws):
        s = rng.integers(len(dice), size=len(dice))
        k = rng.integers(len(gold), size=len(gold))
        drawn = [x[s][:, :, k].sum(2) for x in (dice, ce)]  # [seeds, 2]
        one, other = (f1(*x.T, gold[k].sum()) for x in drawn)
        result.append((one - other).mean())
    return np.array(result)


# %%
example = resampled("wnut17")
low, high = np.quantile(example, [0.025, 0.975])
print(f"WNUT 2017: {example.mean():+.2f} [{low:+.2f}, {high:+.2f}]")

# %% tags=["remove-cell"]
of_example = analysis.effect(read, analysis.PRIMARY, "wnut17")
assert abs(low - of_example.low) < 0.15, "the chapter's loop and the library's bootstrap"
assert abs(high - of_example.high) < 0.15, "the chapter's loop and the library's bootstrap"

# %% [markdown]
# Every task gives such a difference $d_t$ and such an interval. To speak of other tasks, the model
#
# $$
# d_t = \mu + \beta\,\log\frac{r_t}{10} + c_t + \varepsilon_t
# $$
#
# has a gain $\mu$ at ten negatives to a positive, its change $\beta$ with the degree of imbalance $r$, a part
# $c$ that tasks of one corpus share, with standard deviation $\tau$ over corpora, and the bootstrap's noise
# $\varepsilon$.

# %%
p = over_tasks
print(f"mu   {p.mu:+.2f} [{p.mu_low:+.2f}, {p.mu_high:+.2f}]")
print(f"beta {p.beta:+.2f} [{p.beta_low:+.2f}, {p.beta_high:+.2f}]")
print(f"tau  {p.tau:.2f} over {p.corpora} corpora")
print(f"test that mu is 0: p = {p.p:.3f}")
print(f"test that |mu| is .5 or more: p = {p.equivalent:.3f}")
print(f"a mu of {p.detectable:.2f} would be found four times in five")

# %% [markdown]
# **The gain of dice over cross entropy, both tuned, is −.18 points of F1, between −.75 and .38**, with
# what the search offered: 960 steps at most and learning rates up to .0094. If the true gain were .79 or
# more, this experiment would have found it four times in five. A test of equivalence within half a point,
# at an error rate of 5%, is not passed (p = .12). Task by task, four intervals leave out zero: cross entropy
# is ahead on three, dice on one, English UNER, by 1.7 points.
#
# The gain was not seen to grow with imbalance: the slope is .10 points for each factor $e$ of imbalance,
# between −.30 and .50.

# %% tags=["remove-cell"]
if stands:
    claim(
        "is −.18 points of F1, between −.75 and .38",
        {"−.18": p.mu, "−.75": p.mu_low, ".38": p.mu_high},
    )
    claim("the interval goes from −.75 to .38", {"−.75": p.mu_low, ".38": p.mu_high})
    claim("If the true gain were .79 or more", {".79": p.detectable})
    claim("is not passed (p = .12)", {".12": p.equivalent})
    below, above = (
        [e.task for e in effects if sign * e.low > 0 and sign * e.high > 0] for sign in (-1, 1)
    )
    claim(
        "cross entropy is ahead on three, dice on one, English UNER, by 1.7 points",
        len(below) == 3,
        above == ["uner_en_ewt"],
        {"1.7": effects[-1].mean},
    )
    claim(
        "the slope is .10 points for each factor $e$ of imbalance, between −.30 and .50",
        {".10": p.beta, "−.30": p.beta_low, ".50": p.beta_high},
    )
    tried = [r["parameters"]["learning_rate"] for of_arm in read.search.values() for r in of_arm]
    claim("960 steps at most and learning rates up to .0094", {".0094": max(tried)})

# %% [markdown]
# ### What the search leaves open
#
# Three things weaken that result and are not in its interval.
#
# *The steps end while dice still rises.* Of the 180 tuned final runs on tags, 129 of dice choose the last
# checkpoint, 960 steps, and 98 of cross entropy. From 480 steps to 960 dice gains .96 points of validation F1,
# cross entropy .17. With more steps the sign of $\mu$ may change.
#
# *Each loss had one search on each task.* So $\tau$, half a point, need not say that corpora differ: it holds
# the luck of the searches, too. Self-adjusting dice with α = .1 is nearly dice, yet the difference of the two
# has a $\tau$ of .44; on the five tasks where both searches chose the same trial, $\tau$ is 0. And the trials
# that won a search score 1.7 points (cross entropy) and 1.9 points (dice) more there than their final runs do
# on validation.
#
# *Cross entropy started with its bias at 0*, as all arms did, and not at the log prior, as the
# [guide](../docs/what_to_do.md) advises. What that is worth was not measured here.
#
# Under five models over tasks the mean moves between −.31 and −.12; every interval holds zero, and none passes
# the test of equivalence. But the seven tasks with nine negatives or more per positive leave −.12 [−1.55, 1.31], which says little about rare classes.

# %% mystnb={"figure": {"caption": "The primary contrast under five models over tasks. \u201cEight sources\u201d takes the five domains of CrossNER as one, and gives each task an effect of its own."}} tags=["hide-cell"]
others = left_open.other_models(effects)
pd.DataFrame(
    {
        name: {
            "gain": f"{p.mu:+.2f} [{p.mu_low:+.2f}, {p.mu_high:+.2f}]",
            "tau": f"{p.tau:.2f}",
            "tasks": p.tasks,
            "p, equivalence": f"{p.equivalent:.2f}",
        }
        for name, p in others.items()
    }
).T

# %% tags=["remove-cell"]
if stands:
    last = {a: left_open.at_last_checkpoint(read, a, tagging) for a in ("dice", "ce")}
    claim(
        "Of the 180 tuned final runs on tags, 129 of dice choose the last checkpoint, 960 steps, and 98 of cross entropy",
        {"180": last["dice"][1], "129": last["dice"][0], "98": last["ce"][0]},
        {"960": analysis.CHECKPOINTS[-1]},
    )
    late = {a: left_open.late_gain(read, a, tagging) for a in ("dice", "ce")}
    claim(
        "From 480 steps to 960 dice gains .96 points of validation F1, cross entropy .17",
        {".96": late["dice"], ".17": late["ce"], "480": analysis.CHECKPOINTS[-2]},
    )
    claim("half a point, need not say", 0.4 < over_tasks.tau < 0.6)
    nearly = analysis.effects_of(
        read, analysis.Contrast("", ((1, "dsc", "tuned"), (-1, "dice", "tuned")))
    )
    alike = left_open.same_trial(read, "dsc", "dice", tasks)
    claim(
        "the difference of the two has a $\\tau$ of .44; on the five tasks where both searches chose the same trial, $\\tau$ is 0",
        {".44": analysis.pool(nearly).tau},
        {"0": analysis.pool([e for e in nearly if e.task in alike]).tau},
        len(alike) == 5,
    )
    claim(
        "score 1.7 points (cross entropy) and 1.9 points (dice) more there",
        {"1.7": left_open.winner_above_finals(read, "ce", tasks)},
        {"1.9": left_open.winner_above_finals(read, "dice", tasks)},
    )
    moved = [p.mu for p in others.values()]
    claim(
        "Under five models over tasks the mean moves between −.31 and −.12; every interval holds zero, and none passes the test of equivalence",
        len(others) == 5,
        {"−.31": min(moved), "−.12": max(moved)},
        all(p.mu_low < 0 < p.mu_high and p.equivalent > 0.05 for p in others.values()),
    )
    rarer = others["nine negatives or more per positive"]
    claim(
        "the seven tasks with nine negatives or more per positive leave −.12 [−1.55, 1.31]",
        {"−.12": rarer.mu, "−1.55": rarer.mu_low, "1.31": rarer.mu_high},
        rarer.tasks == 7,
    )

# %% [markdown]
# ## 17.3 At argmax: yes-or-no tasks, not tags
#
# At argmax each loss has the trial that its validation score at argmax chose.

# %% mystnb={"figure": {"caption": "Figure 17.2. Dice less cross entropy at argmax and with both tuned, in three strata.", "name": "fig-17-2"}, "image": {"alt": "For each task two points with intervals. On the nine tagging tasks both lie within two points of zero. Of the four yes-or-no tasks whose training agrees with use, MRPC and QQP gain about 5 at argmax, SST-2 gains 2.5, and the sentences of SQuAD lose 1.3. Of the four shifted tasks the gain at argmax reaches 10.7 on QQP with two percent positives. The tuned points lie near zero in all three strata."}} tags=["hide-input"]
at_argmax = {e.task: e for e in analysis.effects_of(read, analysis.less_ce("dice", "argmax"))}
tuned = {e.task: e for e in effects}
grouped = strata.by_stratum(read, at_argmax.values())
fig, ax = plt.subplots(figsize=(5.6, 4.6))
figures.by_group(
    {name: [(e, tuned[e.task]) for e in found[::-1]] for name, found in grouped.items()}, ax=ax
)
ax.set_xlabel("F1 of dice less cross entropy")
plt.show()

# %% tags=["hide-input"]
pooled = {c.name: analysis.pool(analysis.effects_of(read, c)) for c in analysis.SECONDARY}
pooled = {name: p for name, p in pooled.items() if p}
corrected = dict(zip(pooled, analysis.holm([p.p for p in pooled.values()]), strict=True))
for name in ("dice less ce, argmax", "dice less ce, argmax less tuned"):
    p = pooled[name]
    print(f"{name}: {p.mu:+.1f} [{p.mu_low:+.1f}, {p.mu_high:+.1f}],", end=" ")
    print(f"p = {p.p:.3f}, corrected {corrected[name]:.3f}")
plain = left_open.mean_over(grouped[strata.TAGS])
print(f"on tags: {plain.mu:+.1f} [{plain.mu_low:+.1f}, {plain.mu_high:+.1f}]")

# %% [markdown]
# Over all tasks dice is ahead by 2.8 points, between .7 and 4.9. The gain at argmax less the gain tuned is 3.0
# points, between 1.0 and 4.9. The protocol corrects all sixteen secondary contrasts together: alone these two
# have $p$ = .012 and .006, among all sixteen .183 and .095. By that rule neither mean is established.
#
# The mean mixes three kinds of tasks. On the nine tagging tasks it is .0, between −.9 and 1.0. On the four
# yes-or-no tasks whose training and test agree it is 5.1 points on `mrpc`, 5.0 on `qqp_10`, 2.5 on `sst2_10`
# and −1.3 on `squad11_sentences`; the first two intervals lie above zero, the last below. So dice can gain
# without a shift. On the four shifted tasks whatever moves the threshold the right way gains, and dice gains
# nearly eleven points on `qqp_02`. This split was looked for after the runs, and four tasks are few.
#
# So dice raises F1 at argmax on several yes-or-no tasks by moving the threshold: where the threshold is tuned
# for both, nothing of that gain is left to see.

# %% tags=["remove-cell"]
if stands:
    a, i = (pooled[f"dice less ce, {how}"] for how in ("argmax", "argmax less tuned"))
    claim("by 2.8 points, between .7 and 4.9", {"2.8": a.mu, ".7": a.mu_low, "4.9": a.mu_high})
    claim("3.0 points, between 1.0 and 4.9", {"3.0": i.mu, "1.0": i.mu_low, "4.9": i.mu_high})
    claim(
        "alone these two have $p$ = .012 and .006, among all sixteen .183 and .095",
        {".012": a.p, ".006": i.p, ".183": corrected["dice less ce, argmax"]},
        {".095": corrected["dice less ce, argmax less tuned"]},
        len(pooled) == 16,
    )
    claim(
        "On the nine tagging tasks it is .0, between −.9 and 1.0",
        {".0": plain.mu, "−.9": plain.mu_low, "1.0": plain.mu_high},
        plain.tasks == 9,
    )
    steady = {e.task: e for e in grouped[strata.DECISIONS]}
    claim(
        "it is 5.1 points on `mrpc`, 5.0 on `qqp_10`, 2.5 on `sst2_10` and −1.3 on `squad11_sentences`; the first two intervals lie above zero, the last below",
        {"5.1": steady["mrpc"].mean, "5.0": steady["qqp_10"].mean},
        {"2.5": steady["sst2_10"].mean, "−1.3": steady["squad11_sentences"].mean},
        len(steady) == 4,
        min(steady[t].low for t in ("mrpc", "qqp_10")) > 0 > steady["squad11_sentences"].high,
        steady["sst2_10"].low < 0,
    )
    yes_or_no = [e.mean for e in (*steady.values(), *grouped[strata.SHIFTED])]
    claim(
        "At argmax dice is ahead on five of eight yes-or-no tasks, by up to eleven points, and level on tags",
        (len(yes_or_no), sum(mean > 0.5 for mean in yes_or_no)) == (8, 5),
        round(max(yes_or_no)) == 11,
        plain.mu_low < 0 < plain.mu_high,
    )
    claim(
        "dice gains nearly eleven points on `qqp_02`",
        max(at_argmax.values(), key=lambda e: e.mean).task == "qqp_02",
        10 < at_argmax["qqp_02"].mean < 11,
        len(grouped[strata.SHIFTED]) == 4,
    )

# %% [markdown]
# ## 17.4 The rivals
#
# If moving the threshold pays, other ways to move it should pay too. Each rival had the same search and final
# runs.

# %% mystnb={"figure": {"caption": "Each arm less cross entropy, in points of F1 at ten negatives to a positive, over the arm's tasks; p corrected by Holm's method for all sixteen contrasts."}} tags=["hide-input"]
NAMES = {
    "dice": "dice",
    "dsc": "self-adjusting dice",
    "tversky": "Tversky",
    "focal": "focal",
    "wce": "weights",
    "logit_adjustment": "logit adjustment",
    "ce_prior": "prior, after training",
    "negative_sampling": "negative sampling",
}
rivals = {}
for arm, name in NAMES.items():
    for how in ("tuned", "argmax"):
        p = over_tasks if (arm, how) == ("dice", "tuned") else pooled[f"{arm} less ce, {how}"]
        row = rivals.setdefault(name, {})
        row[how] = f"{p.mu:+.1f} [{p.mu_low:+.1f}, {p.mu_high:+.1f}]"
        row[f"tasks, {how}"] = p.tasks
    row["p, argmax"] = f"{corrected[f'{arm} less ce, argmax']:.3f}"
pd.DataFrame(rivals).T

# %% [markdown]
# Two arms are not on all seventeen tasks: the prior, tuned, is on tags alone, since on a yes-or-no task a
# threshold undoes it, and negative sampling is for yes-or-no tasks.
#
# **With thresholds tuned no rival is told apart from cross entropy.** Every interval holds 0, and the means of
# the arms on all tasks lie within half a point of it. These comparisons would have seen gains of 1.0
# (self-adjusting dice) to 1.6 points (Tversky). Self-adjusting dice is level with dice: no gain from its
# exponent was seen.
#
# **At argmax weights are 7.5 points ahead of cross entropy [.8, 14.1]**, and where training is shifted against
# use the old remedies gain more than dice. On `qqp_02` dice lifts cross entropy from 15 to 26; prior, logit
# adjustment and weights reach 38 to 43, where cross entropy with a tuned threshold has 39. On `sst2_02` it is
# 17, 21, and 47 to 52, tuned 53. The three have one number that says how far the threshold goes, and the search
# set it on validation data with the mix of use; dice has none. On the other six yes-or-no tasks none of the
# three is ahead of dice by more than 1.1 points. This comparison, too, was looked for after the runs.
#
# After correction none of the means at argmax is told from zero. The protocol's model gives no task an effect of
# its own. With such effects the mean of weights has a corrected $p$ of .045, and .057 where UNER and EWT are one
# source.

# %% tags=["remove-cell"]
at_tuned = {a: pooled[f"{a} less ce, tuned"] for a in NAMES if f"{a} less ce, tuned" in pooled}
everywhere = {a: p for a, p in at_tuned.items() if a not in ("ce_prior", "negative_sampling")}
if stands:
    claim(
        "Two arms are not on all seventeen tasks",
        all(p.tasks == 17 for p in everywhere.values()),
        at_tuned["ce_prior"].tasks == 9,
        at_tuned["negative_sampling"].tasks == 8,
    )
    claim("Every interval holds 0", all(p.mu_low < 0 < p.mu_high for p in at_tuned.values()))
    claim(
        "the means of the arms on all tasks lie within half a point of it",
        all(abs(p.mu) < 0.5 for p in everywhere.values()),
    )
    seen = {a: p.detectable for a, p in everywhere.items()}
    claim(
        "gains of 1.0 (self-adjusting dice) to 1.6 points (Tversky)",
        {"1.0": seen["dsc"], "1.6": seen["tversky"]},
        min(seen, key=seen.get) == "dsc",
        max(seen, key=seen.get) == "tversky",
    )
    claim("Self-adjusting dice is level with dice", abs(at_tuned["dsc"].mu - over_tasks.mu) < 0.2)
    w = pooled["wce less ce, argmax"]
    claim(
        "At argmax weights are 7.5 points ahead of cross entropy [.8, 14.1]",
        {"7.5": w.mu, ".8": w.mu_low, "14.1": w.mu_high},
    )
    claim(
        "After correction none of the means at argmax is told from zero",
        min(corrected.values()) > 0.05,
    )

# %% tags=["remove-cell"]
RARE = ("qqp_02", "sst2_02")
old = ("ce_prior", "logit_adjustment", "wce")


def less_dice(arm, task):
    """An arm less dice, both at argmax."""
    both = analysis.Contrast("", ((1, arm, "argmax"), (-1, "dice", "argmax")))
    return analysis.effect(read, both, task)


if stands:
    on = {t: {a: read.mean_f1(t, a, "argmax") for a in ("ce", "dice", *old)} for t in RARE}
    of_old = {t: [on[t][a] for a in old] for t in RARE}
    best = {t: read.mean_f1(t, "ce", "tuned") for t in RARE}
    claim(
        "from 15 to 26; prior, logit adjustment and weights reach 38 to 43, where cross entropy with a tuned threshold has 39",
        {"15": on["qqp_02"]["ce"], "26": on["qqp_02"]["dice"], "39": best["qqp_02"]},
        {"38": min(of_old["qqp_02"]), "43": max(of_old["qqp_02"])},
    )
    claim(
        "On `sst2_02` it is 17, 21, and 47 to 52, tuned 53",
        {"17": on["sst2_02"]["ce"], "21": on["sst2_02"]["dice"], "53": best["sst2_02"]},
        {"47": min(of_old["sst2_02"]), "52": max(of_old["sst2_02"])},
    )
    binary = [t for t in tasks if t not in tagging]
    milder = [less_dice(a, t).mean for a in old for t in binary if t not in RARE]
    claim(
        "On the other six yes-or-no tasks none of the three is ahead of dice by more than 1.1 points",
        len(milder) == 18,
        1.0 < max(milder) < 1.1,
        min(less_dice(a, t).low for a in old for t in RARE) > 0,
    )
    of_weights = []
    for joined in (None, analysis.ONE_SOURCE):
        each = {
            c.name: analysis.pool(analysis.effects_of(read, c), task=True, sources=joined)
            for c in analysis.SECONDARY
        }
        held = analysis.holm([p.p for p in each.values()])
        of_weights.append(dict(zip(each, held, strict=True))["wce less ce, argmax"])
    claim(
        "With such effects the mean of weights has a corrected $p$ of .045, and .057 where UNER and EWT are one source",
        dict(zip((".045", ".057"), of_weights, strict=True)),
    )

# %% [markdown]
# ## 17.5 All layers trained: the gain is in the first steps
#
# The protocol's second stage trains every layer of MiniLM. Each loss gets the best of five learning rates, by
# validation, searched with at most 1,000 sentences and four passes; then come eight other draws of the training
# data. The rate falls linearly to zero. Two corpora have been run: CrossNER politics, 518 sentences, in runs of
# 68 steps and of 136; and WNUT 2017, in runs of 128 steps on 1,000 sentences and of 388 on 3,082. MRPC has not.

# %% mystnb={"figure": {"caption": "Figure 17.3. All layers trained: F1 on validation, thresholds tuned, means of eight draws. Thin lines: the shorter runs.", "name": "fig-17-3"}, "image": {"alt": "Two panels of F1 against steps on a logarithmic axis. On CrossNER politics cross entropy begins far below dice and class weights in both runs; in the shorter runs it ends a few points below them, in the longer ones it has met them. On WNUT 2017 dice and weights are ahead in the runs of 128 steps and level with cross entropy or below it at the end of the runs of 388."}} tags=["hide-input"]
cells = analysis.Evidence.read_fine_tuned(folder)
RUNS = {"crossner_politics": ((0, 4), (0, 8)), "wnut17": ((1000, 4), (0, 4))}
LOSSES = {"ce": "cross entropy", "wce": "weighted cross entropy", "dice": "dice"}
fig, axes = plt.subplots(1, 2, figsize=(7, 3.1))
for ax, (task, keys) in zip(axes, RUNS.items(), strict=True):
    for key, width in zip(keys, (1.2, 2.4), strict=True):
        for arm, name in LOSSES.items():
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
            row[LOSSES[arm]] = f"{e.mean:+.1f} [{e.low:+.1f}, {e.high:+.1f}]"
pd.DataFrame(ends).T

# %% [markdown]
# In the short runs dice is ahead of cross entropy with both tuned: on politics by 6.9 points [3.1, 11.5], at
# argmax by 6.5 [2.8, 11.1], and on WNUT 2017 by 5.7 [3.0, 8.5]. (That is the test, of
# other sources than the training; on validation, which the figure shows, the lead is 17.5.) In the long ones 1.7 points are left on
# politics [.0, 3.6], and on WNUT 2017 the difference is −1.6 [−3.7, .4]. *Dice learns faster, and most
# of the lead goes.*
#
# Cross entropy with the class weights of [Equation 2](02_cross_entropy.ipynb) has that gain, too: 8.2 points on
# politics [5.2, 12.0] and 5.7 on WNUT 2017 [3.2, 8.3], tuned, in the short runs. With 136 steps it keeps 3.7
# [2.3, 5.3]; on WNUT 2017, with 388 steps, it has turned into −2.8 [−4.6, −1.1]. There weights also need
# the threshold: at argmax they are 6.2 points *behind* cross entropy in the short runs.
#
# Part of the lead is the schedule. A rate that falls to zero at step 68 stops cross entropy short there: on
# politics, on validation, dice is 4.4 points ahead at step 68 of the runs of 68 steps [.4, 8.4], and .9
# [−1.6, 3.4] at the same step of the runs of 136, with the same draws and rates. At step 34 it is 11.9 points
# ahead in the one and 10.7 in the other. Part may be the start, which was not varied: with its bias at 0 (17.2) cross
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
    draws = {len(cells[k].finals[t, a, "tuned"]) for t in RUNS for k in RUNS[t] for a in LOSSES}
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
                    for r in analysis.read(folder / f"b-{one}.jsonl")
                    if (r["kind"], r.get("arm"), r.get("rate")) == ("search", "ce", rate)
                ]
            )
            for rate, printed in ((4e-4, "70.5"), (8e-4, "71.7"), (16e-4, "32.0"))
        },
    )

# %% [markdown]
# ## 17.6 What this does not say
#
# The evidence is of one small encoder and of English tags, sentences and pairs, with no task with more than 50
# negatives per positive ([chapter 20](20_spans.ipynb) has spans). F1 was strict. The dice of the frozen stage
# counts a class that a batch does not have (`absent="keep"`); that of 17.5 leaves it out, the library's
# default. That no difference larger than .75 was seen does not say that there is none. [Chapter
# 22](22_your_own_data.ipynb) compares losses on your own file.

# %% tags=["remove-cell"]
if stands:
    claim("no task with more than 50 negatives per positive", max(map(read.imbalance, tasks)) < 50)

# %% [markdown]
# ## Summary
#
# All of these are *real text*: seventeen English tasks of twelve corpora, on frozen features unless all layers
# are named.
#
# - With equal search, at most 960 steps and both thresholds tuned, dice less cross entropy is −.18 points of F1
#   [−.75, .38]. Equivalence within half a point is not proved.
# - At argmax dice is 2.8 points ahead [.7, 4.9], and after correction $p$ = .183. It gains on five of eight yes-or-no
#   tasks, by its threshold; on tags the mean is .0 [−.9, 1.0].
# - With thresholds tuned no rival is told apart from cross entropy. Where training is shifted to 2% positives,
#   prior, logit adjustment and weights are far ahead of dice at argmax.
# - All layers trained and few steps: dice is ahead, and class weights are ahead as far. With more steps most of
#   the lead goes; on WNUT 2017 weights end behind.
# - Sixteen trials for a loss and one for its baseline make a “gain” of 1.7 points by search alone (exercise
#   17.1).

# %% tags=["remove-cell"]
if stands:
    claim("after correction $p$ = .183", {".183": corrected["dice less ce, argmax"]})
    claim(
        "prior, logit adjustment and weights are far ahead of dice at argmax",
        all(less_dice(a, t).mean > 10 for a in old for t in RARE),
    )


# %% [markdown]
# ## Exercises
#
# **17.1** *Predict, then run.* Cross entropy gets one random trial, dice gets sixteen, as when a new
# loss is tuned and the baseline is not. How large a “gain” on validation is that, on average?

# %% tags=["solution", "hide-cell"]
def best_of(task, arm, trials):
    found = [r["validation"]["tuned"]["f1"] for r in read.search[task, arm]]
    return analysis.expected_best(found)[trials - 1]


unequal = np.mean([best_of(t, "dice", 16) - best_of(t, "ce", 1) for t in tasks])
print(f"{unequal:.1f} points of F1, by search alone")

# %% tags=["remove-cell"]
if stands:
    claim("1.7 points by search alone", {"1.7": unequal})

# %% [markdown]
# **17.2** *Pencil.* Show that pairing over seeds narrows the interval of a difference exactly if the
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
paired = {}
for task in tasks:
    a, b = (read.finals[task, arm, "tuned"] for arm in ("dice", "ce"))
    shared = sorted(a.keys() & b.keys())
    paired[task] = np.array([[r[s]["test"]["tuned"]["f1"] for s in shared] for r in (a, b)])
correlation = {task: np.corrcoef(scores)[0, 1] for task, scores in paired.items()}
pd.Series(correlation).describe()[["min", "50%", "max"]].round(2)


# %% [markdown]
# **17.3** How many runs does a claim need? With $s$ the standard deviation of the paired difference, a true
# gain of $\Delta$ is seen four times in five, at 5% significance, with about
# $(z_{.975} + z_{.8})^2\,(s/\Delta)^2$ runs. Count them for the task of median $s$, for gains of one point and of .3.

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
# One point takes 25 runs to be seen, and .3 takes 251. The paper prints gains of both sizes and names no
# number of runs.
#
# </details>

# %% tags=["remove-cell"]
if stands:
    claim(
        "One point takes 25 runs to be seen, and .3 takes 251",
        {"25": needed[1.0], "251": needed[0.3]},
    )

# %% [markdown]
# **17.4** Leave out one corpus after the other. How far does the gain over tasks move?

# %% tags=["solution", "hide-cell"]
without = {
    name: analysis.pool([e for e in effects if e.corpus != name]).mu
    for name in sorted({e.corpus for e in effects})
}
pd.Series(without).sort_values().round(2)

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
