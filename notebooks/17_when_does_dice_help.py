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
# Your labels are imbalanced, and you have read that dice loss helps. Should you train with it, or keep cross
# entropy and tune the decision threshold? A single comparison cannot tell you, because luck alone moves F1 by
# a point or more. So we compared the two on twenty-seven tasks. On each task every loss got five searches for
# good settings. Cross entropy started with its output bias at the log prior.
#
# Once both thresholds are tuned, dice scores 0.25 points of F1 below cross entropy. The 95% interval includes
# zero, so we cannot tell which is better. At argmax, where nobody tunes a threshold, dice is 3.0 points ahead
# where positives are rare. But class weights are 5.6 points ahead there. After correction for the number of
# questions that we asked, no gain at argmax is significant, neither that of dice nor that of class weights.
# (Without the correction, some are: section 17.3 has both p-values.)
#
# Then we train all layers of the encoder. After 38 steps, the start and the loss both matter. A bias near 0 costs
# cross entropy seven or eight points on entities, and it costs dice nothing that we could see. After 307 steps we
# see little of this. Only on a rare label the start still decides: from the log prior, dice and cross entropy both
# learn, and from a bias near 0, dice over the positive class learns nothing (section 17.4).
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who have to decide whether to change their loss, and their reviewers.
# - **You need** chapters [02](02_cross_entropy.ipynb) and [04](04_dice_loss.ipynb).
# - **You will be able to** read a comparison of two losses with its scatter and its power, and to say how many
#   runs your claim needs.
# - **Time** half a minute on a CPU. A GPU does not help. The runs are kept in `dicelab/records/data`, and [the
#   protocol](../docs/protocol_2.md) says how to repeat them.
#
# </details>

# %% tags=["remove-cell"]
# Without dicebook, this cell installs it if `make repository` has set an address, and else says how.
try:
    __import__("dicebook")
except ModuleNotFoundError:
    _install = """print("dicebook is missing: in a clone, run pip install '.[book]'")"""
    get_ipython().run_cell(_install)

# %% tags=["parameters", "remove-cell"]
evidence: str = ""  # folder of the records; "" for those that come with the book

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dicelab import figures
from dicelab.records import analysis, kept, searched, speed
from dicelab.records.analysis import f1

figures.use_style()

# %% tags=["remove-cell"]
folder = Path(evidence) if evidence else None
stands = not evidence  # the words hold for the records that come with the book
tasks = searched.read_tasks(folder)
effects = searched.effects_of(tasks, searched.PRIMARY)
primary = searched.pool(effects)
strata = {
    name: sorted((e for e in effects if e.stratum == name), key=lambda e: -e.mean)
    for name in ("tags", "yes or no", "rare")
}

# %% mystnb={"code_prompt_show": "Code of Figure 17.1", "figure": {"caption": "Figure 17.1. The primary contrast: F1 of dice minus that of cross entropy from the log prior, both tuned, with 95% intervals. Dark intervals exclude zero. Diamonds are means over tasks, and the grey band is half a point to either side of zero.", "name": "fig-17-1"}, "image": {"alt": "Twenty-seven tasks, one a line, in three strata, each from the largest gain of dice to the largest loss. One interval excludes zero: that of the spans of WNUT 2017, which lies below it. The intervals of tags are narrow, and that of the rarest label of GoEmotions is twenty-four points wide. Below each stratum is a diamond, all three close to zero, and at the foot is one over all, with an interval from minus 0.8 to 0.3."}} tags=["hide-input"]
_, ax = plt.subplots(figsize=(5.6, 6.2))
figures.forest(strata, primary, ax=ax)
ax.set_xlabel("F1 of dice minus cross entropy, both tuned")
plt.show()

# %% [markdown]
# ## 17.1 The question
#
# The paper compares losses by one score each, at argmax, and does not say whether each loss got the same
# search for its settings. Suppose that a loss is better in such a comparison. It may have trained a better
# model. But its threshold may also lie closer to the one that is best for F1, and you can move a threshold
# without a new loss. Or the settings may suit it by luck, and an equal search for both losses would show
# that. We want to know about the first reason alone, so we remove the other two. Our question is narrow:
#
# > On language data of strong and of mild imbalance, does dice loss with squared denominators
# > ([Eq. 8](eq-8)) score a higher F1 than cross entropy that starts with its bias at the log prior, when
# > both get the same searches and both have their threshold tuned?
#
# We call this the *primary* contrast. It was fixed in a [protocol](../docs/protocol_2.md), together with the code that
# runs it, before the first final run. Therefore we could not choose the question after we had seen the answers. The
# protocol says:
#
# - **Tasks** are in three groups, called *strata*. The first is *tags*. The second is *yes or no*, which are tasks
#   with two classes. The third is *rare*, with more than twenty negatives for each positive, in training and test
#   alike. (The tasks `qqp_02` and `sst2_02` have so many in training alone, and count as yes or no.)
# - **The model** is a frozen all-MiniLM-L6 (22 million weights) and a head with one hidden layer of 64, which trains
#   in seconds. Section 17.5 has a linear head.
# - **Form and start of dice**: on tags it is the mean over the classes that the batch has. On tasks with two
#   classes it is taken over the positive class alone. Its output bias starts near 0, so the contrast compares
#   a loss together with its start. Section 17.3 adds dice from the log prior.
# - **Searches**: each loss has five searches of sixteen trials on each task, and each search has its own draw
#   of the training data. Each search ends in four final runs on other draws. Only the final runs see the test
#   set.
# - **Decisions** are made at argmax, or *tuned*, which means with a threshold from the validation set.

# %% mystnb={"code_prompt_show": "Table of the tasks", "figure": {"caption": "The tasks: F1 on the test set, means over all final runs. The floor is what you reach without training: a dictionary of tags, or yes to everything."}} tags=["hide-cell"]
told = {name: records[0] for name, records in tasks.items()}


def row_of(task):
    """What a task is, and what cross entropy and dice score on it."""
    train = told[task]["sizes"]["train"]
    row = {"training rows": f"{train['rows']:,}"}
    row["negatives per positive"] = f"{train['rows'] / train['positive'] - 1:.1f}"
    row["floor"] = f"{told[task]['baseline']:.1f}"
    for how in ("argmax", "tuned"):
        for arm, name in (("ce_start", "cross entropy"), ("dice", "dice")):
            row[f"{name}, {how}"] = f"{searched.mean_f1(tasks[task], arm, how):.1f}"
    return row


pd.DataFrame({e.task: row_of(e.task) for found in strata.values() for e in found}).T

# %% [markdown]
# ## 17.2 Both tuned
#
# We begin with the primary contrast. How sure can we be of a difference on one task? Runs of two losses with
# the same search and seed share their training and validation sentences and their first weights. So none of
# these can favour one loss. What is left is luck: of the search, of the draw, and of the test sentences. To
# see how much luck matters, we draw all three again and again, with replacement, and always the same ones for
# both losses. Each time we note the difference:

# %%
task = "wnut17"
gold = np.array(told[task]["blocks"])  # entities, by block of sentences


def counts_of(arm):
    """Found and predicted entities, [searches, finals, 2, blocks]."""
    found = searched.blocks_of(tasks[task], arm, "tuned")
    return np.array([list(of_seed.values()) for of_seed in found.values()])


def resampled(draws=2000):
    """Dice minus cross entropy, resampled."""
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
# For this one task the interval is three points wide and includes zero. (One detail: if you resample only $n$
# searches, the variance comes out too small by the factor $(n - 1)/n$. The third line of the cell corrects
# this.)
#
# Now each task $t$ has a difference $d_t$ with its uncertainty. But you do not care about our tasks. You care about
# yours. To speak about tasks that we have not tried, we want to know what a typical difference is, and how much it
# varies from task to task. Therefore we take $d_t$ apart:
#
# $$
# d_t = \mu + s_{\text{stratum}(t)} + b_{\text{source}(t)} + c_t + \varepsilon_t
# $$
#
# Read aloud: the difference on a task is a sum. It starts with a mean $\mu$ over all tasks. Then come what its
# stratum adds, what the tasks of its source share, and what is special to this task. Last comes the noise that
# we have just measured. The gain that we ask about is $\mu$.
#
# How do we find $\mu$? Suppose that we know how much $b$ and $c$ vary. Then we know the covariance $V$ of the
# differences: each has the variance of its noise and of $c$, and two tasks of one source share that of $b$. With $V$,
# the mean of each stratum is a weighted mean (*generalised least squares*). Tasks with little noise weigh more, and
# tasks that share a source weigh less. Our $\mu$ is the mean of the three strata.

# %%
d = np.array([e.mean for e in effects])
noise = np.array([e.error for e in effects])
source = np.array([e.source for e in effects])
group = pd.get_dummies([e.stratum for e in effects]).to_numpy(float)
V = np.diag(noise**2 + primary.task**2)
V += primary.source**2 * (source[:, None] == source)
weighted = group.T @ np.linalg.inv(V)
means = np.linalg.solve(weighted @ group, weighted @ d)
print(f"mu {means.mean():+.2f}, strata {means.round(2)}")

# %% [markdown]
# The standard deviations of $b$ and $c$ come from the same differences, by restricted maximum likelihood: of all
# values, we take those under which what we saw is most probable. The library does this, and adds an interval whose
# degrees of freedom are counted by sources.

# %%
p = primary
for name, mean in {"over all": p.over_all, **p.strata}.items():
    print(f"{name:9} {mean.mean:+.2f} [{mean.low:+.2f}, {mean.high:+.2f}]")
print(f"between sources {p.source:.2f}, between their tasks {p.task:.2f}")
print(f"test that |mu| is 0.5 or more: p = {p.equivalent:.3f}")
print(f"a mu of {p.detectable:.2f} would be found four times in five")


# %% [markdown]
# **The gain of dice over cross entropy, both tuned, is −0.25 points of F1.** The 95% interval, from −0.79 to
# 0.28, includes zero, so we cannot tell which loss is better. Does this prove that they are equal? No. A test
# of equivalence within half a point, at an error rate of 5%, is not passed (p = 0.14).  How large a gain
# could we have missed? If the true gain were 0.73 points or more, this experiment would have found it four
# times in five. And how much do tasks differ? The standard deviations between sources and between their tasks
# are estimated as zero, so noise alone can explain the differences that we see.
#
# In none of the three strata is the mean distinguishable from zero (the lines above). Task by task, one of
# the twenty-seven intervals excludes zero, that of `spans_wnut17`, where dice is lower. By chance alone, one
# or two of them would exclude zero.
#
# Does the answer depend on one corpus? We leave out one source after the other, and the mean stays within
# half a point of zero. Does it depend on an edge of what was searched? The longest training has 3,840 steps.
# If more than a third of the winners of the first searches had been there, the protocol would have doubled
# the steps. But fewer were, for dice and for cross entropy alike. So we see no sign that the answer depends
# on one corpus, or on an edge of the search.
#
# There is one more kind of luck, which published tables do not show. If you search again, the difference of
# the two losses changes. In the median task, its standard deviation from search to search is 1.6 points,
# although each search has four final runs. Our intervals contain this scatter. A table with one search for
# each row does not show it. Exercise 17.4 asks how much of it is the luck of the search, and how much that of
# the runs.
#
# With tuned thresholds, then, there is little to gain. But many people never tune a threshold. What is the answer for them?

# %% mystnb={"code_prompt_show": "The mean without each source"} tags=["hide-cell"]
def with_interval(e, digits=2):
    """A mean with its 95% interval."""
    text = f"{e.mean:+.{digits}f} [{e.low:+.{digits}f}, {e.high:+.{digits}f}]"
    return text.replace("-", "−")


without = searched.without_each_source(effects)
pd.DataFrame({name: {"mean without it": with_interval(e)} for name, e in without.items()}).T

# %% [markdown]
# ## 17.3 At argmax, and the rivals
#
# At argmax, a loss can gain by moving the threshold to a better place. If this is what dice does, then other
# ways to move it should gain as much. So we add two rivals, class weights and logit adjustment, and compare
# all of them at argmax and tuned.

# %% mystnb={"code_prompt_show": "Code of Figure 17.2", "figure": {"caption": "Figure 17.2. At argmax the methods that move the threshold gain on two strata, and with tuned thresholds nothing is left of it. F1 of three losses, and of cross entropy that starts with its bias near 0, each minus that of cross entropy from the log prior, by stratum, with 95% intervals. MiniLM frozen, a head with one hidden layer.", "name": "fig-17-2"}, "image": {"alt": "Two panels with a row for each stratum and one over all, four intervals in each. At argmax all lie at zero for tags. On yes-or-no tasks and on rare positives, weights and logit adjustment lie near six points, dice between two and three, and cross entropy with its bias near 0 close to zero. Tuned, all lie near zero in every row."}} tags=["hide-input"]
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
        means = searched.pooled_minus_start(tasks, arm, how)
        for stratum in strata:
            groups[stratum][name] = means.strata[stratum]
        groups["over all"][name] = means.over_all
    figures.by_stratum(groups, ax=ax)
    ax.set(title=how, xlabel="minus cross entropy, F1")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
plt.show()

# %% mystnb={"code_prompt_show": "Code of this table", "figure": {"caption": "The secondary questions, and in the last two rows the means of dice over all tasks, in points of F1, with 95% intervals. Each p-value is there twice: by itself, and corrected by Holm's method for all of these questions. The row *for e times as many positives* says how much the difference above it grows if validation has 2.7 times as many positives."}} tags=["hide-input"]
family = searched.secondary(tasks, searched.ALSO)
pd.DataFrame(
    {
        name: {
            "difference": with_interval(e),
            "p": f"{e.p:.3f}",
            "p, corrected": f"{corrected:.3f}",
        }
        for name, (e, corrected) in family.items()
    }
).T

# %% [markdown]
# **At argmax the strata differ.** On tags the mean difference is nearly zero. On yes-or-no tasks dice is 2.4
# points higher, and on rare positives it is 3.0 points higher. Are these gains real? By itself, each of the two has
# a small p-value, 0.033 and 0.008. But the protocol asks eleven secondary questions, and we add two, the means of
# dice over all tasks from either start. With thirteen questions some answer looks significant by chance. After a
# correction for this number the two are 0.264 and 0.097, and none of the differences is significant.
#
# **Methods that move the threshold on purpose gain more.** Class weights with a searched exponent and logit
# adjustment gain more than dice. On yes-or-no tasks and on rare positives, each is between five and seven
# points higher than cross entropy. Their gains over all tasks have p-values of 0.008 and 0.009, and after
# correction both have 0.097. The smallest corrected value in the table is 0.077, for dice over all tasks. So there
# is some evidence for gains at argmax, and no proof.
#
# The gains are large where positives are rarer in training than in use. On `qqp_02`, for example, one
# training pair in fifty is positive, and one test pair in ten. There, cross entropy at argmax has an F1 of
# 17, and dice has 25. Weights and logit adjustment reach more than 40. But cross entropy reaches 40 as well,
# once its threshold is tuned.
#
# **With thresholds tuned, no rival is distinguishable** from cross entropy that starts at the log prior. Over
# all tasks, weights and logit adjustment are 0.2 points higher, and both intervals include zero.
#
# **What does the start alone do?** On the whole, little, as long as the encoder is frozen. Cross entropy from
# the log prior differs from cross entropy with its biases near 0 by about 0.1 points, tuned and at argmax,
# and both intervals include zero. However, on single tasks the log prior can cost something. On `sst2_02` it costs
# cross entropy 7.9 points with the threshold tuned, and on `qqp_10` 3.1 points at argmax. Both intervals exclude
# zero, but they are not corrected for the number of tasks.
#
# **And if dice starts at the log prior, too?** In all of the above dice starts with its bias near 0, and
# cross entropy at the log prior. An extension of the protocol gives dice the same start and five searches of
# its own. It also runs `DiceLoss()`, over both classes, on the tasks with two classes. The
# records have each task, and the means are these:

# %% mystnb={"code_prompt_show": "Code of this table", "figure": {"caption": "Dice from the log prior minus cross entropy from the log prior: means over tasks, in points of F1, with 95% intervals."}} tags=["hide-input"]
extension = {
    (name, how): searched.pooled_minus_start(tasks, arm, how).over_all
    for name, arm in {
        "dice, all tasks": "dice_start",
        "DiceLoss(), tasks with two classes": "dice_both",
    }.items()
    for how in ("tuned", "argmax")
}
as_text = {key: with_interval(e) for key, e in extension.items()}
pd.Series(as_text).unstack()[["tuned", "argmax"]]

# %% [markdown]
# With tuned thresholds both intervals include zero, so we still cannot tell which loss is better. At argmax
# both forms are ahead, by 2.0 and by 3.1 points. Dice over the positive class gains about as much when it starts
# near 0. So on a frozen encoder the start changes little for dice, too.
#
# Let us collect what the frozen encoder says about dice with tuned thresholds. The two starts of dice and
# `DiceLoss()` give 72 intervals on single tasks. None lies above zero, and four lie below.
#
# You can also do without labels for tuning if you use the plug-in threshold, of which two rows of the table
# of secondary questions speak. [Section 19.7](19_other_remedies.ipynb) is about it. Here we go on to the
# larger question: is all of this different when the encoder is trained as well?

# %% [markdown]
# ## 17.4 All layers trained: is it the loss or the start?
#
# So far the encoder was frozen. What happens when you fine-tune all of its layers, as most people do? The first
# protocol of this book saw dice learn faster than cross entropy in short runs. But there cross entropy started with its output
# bias near 0. We know from [chapter 02](02_cross_entropy.ipynb) that a model which starts there has to learn
# first how rare the positives are. So we now give both losses both starts, and the same search.
#
# - **Losses**: cross entropy and dice, each from the log prior and from a bias near 0, and class weights from
#   a bias near 0. In yes-or-no tasks dice has two forms: over the positive class alone,
#   `DiceLoss(classes=[1])`, and over both classes, `DiceLoss()`.
# - **Corpora**: two have entities, CrossNER politics (518 sentences) and WNUT 2017 (1,000). The third has the pairs
#   of MRPC. The fourth is the label `fear` of GoEmotions, which has seventy negatives for each positive.
# - **Steps**: one long run has a constant learning rate. After 16, 32, ... 256 steps we copy the model. We train the
#   copy for a fifth more steps, while its learning rate falls to zero. So each point below is a finished run, and the
#   longest has 307 steps.
# - **Search**: each loss, start and corpus has a learning rate of its own for short runs and one for long
#   runs, chosen on two draws. The threshold is tuned on validation data. Then six other draws are trained.
# - **Measure**: F1 after 38 steps and after 307, minus that of cross entropy from the log prior. The protocol's own
#   measure averages F1 over 19 to 307 steps, and each doubling of the steps counts the same. It mixes short and
#   long runs, so we do not print it.

# %% mystnb={"code_prompt_show": "Code of Figure 17.3", "figure": {"caption": "Figure 17.3. The start decides how cross entropy begins, and on the rare label fear it still decides at the end. All layers of MiniLM trained: F1 on the test set, thresholds tuned, by the steps of a finished run; means of the draws. Bands are 95% intervals, left out on MRPC, where all six lie on each other. Solid lines start with the output bias at the log prior, dotted lines near 0.", "name": "fig-17-3"}, "image": {"alt": "Four panels of F1 against steps on a logarithmic axis. On CrossNER politics and WNUT 2017 cross entropy with its bias near 0 starts far below the other three curves and nearly reaches them at 300 steps; dice from near 0 starts as high as or higher than dice and cross entropy from the log prior. On MRPC all curves rise together. On fear, cross entropy and both forms of dice from the log prior rise to about sixty; dice of both classes from near 0 stays near zero until 76 steps and then rises to fifty-four, cross entropy from near 0 rises late to twenty-six, and dice of the positive class from near 0 stays below three throughout."}} tags=["hide-input"]
layers = speed.read_corpora(folder)
fig, axes = plt.subplots(2, 2, figsize=(7, 5.6), sharex=True)
for ax, (task, records) in zip(axes.flat, layers.items(), strict=True):
    figures.by_steps(records, ax=ax)
    ax.set_title(speed.CORPORA[task])
    for band in ax.collections if task == "mrpc" else ():
        band.remove()
for ax in axes[0]:
    ax.set_xlabel("")
for ax in axes[:, 1]:
    ax.set_ylabel("")
fig.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
plt.show()

# %% mystnb={"code_prompt_show": "Code of this table", "figure": {"caption": "F1 after 38 steps and after 307, minus that of cross entropy from the log prior, in points, with 95% intervals over draws and test sentences; thresholds tuned. The intervals are not corrected for the number of comparisons."}} tags=["hide-input"]
gap = {
    (task, arm, steps): speed.faster(layers[task], arm, "ce_start", "tuned", after=steps)
    for task in speed.CORPORA
    for arm in speed.ARMS
    if arm != "ce_start"
    for steps in (speed.SHORT, speed.LONG)
}
rows = {}
for (task, arm, steps), e in gap.items():
    if e:
        row = rows.setdefault((speed.CORPORA[task], speed.ARMS[arm]), {})
        row[f"after {steps} steps"] = with_interval(e, 1)
pd.DataFrame.from_dict(rows, orient="index")

# %% [markdown]
# **What does the start do to cross entropy?** After 38 steps, its F1 from a bias near 0 is seven or eight points lower
# on both corpora of entities, 2.5 points lower on MRPC, and 47 points lower on the rare label. After 307 steps it is
# still 0.8 points lower on politics, where the interval just excludes 0, and on WNUT 2017 and MRPC we cannot tell which
# start is better. On the rare label its mean F1 from near 0 is 26 even then, and between 3 and 59 from draw to draw.
# From the log prior it is 63.
#
# **What does the start do to dice?** That depends on the task. On the rare label the start decides for dice as well.
# Over the positive class alone, dice from the log prior reaches an F1 of 62 in the longest runs. From near 0 it still
# finds almost nothing there. `DiceLoss()`, over both classes, is more robust: from the log prior it reaches the same
# F1, and from near 0 it is eight points lower. On entities a start near 0 does dice no harm. On politics it is even
# better than the log prior, by 8.0 points, after 38 steps. After 307 steps, and on WNUT 2017 at both lengths, we cannot
# tell which start is better.
#
# **Why does dice over the positive class fail from near 0?** Six batches in ten hold no positive. Such a
# batch can only lower probabilities ([section 4.5](04_dice_loss.ipynb)). From near 0 every example starts
# with a probability of about one half, so there is much to lower, and the few positives go down with the
# rest. From the log prior the probabilities are low already. If this is the reason, then batches that hold
# positives should help as well, without any change of the start. They do:

# %% mystnb={"code_prompt_show": "Code of this table", "figure": {"caption": "F1 on the label fear after 307 steps, in percent, means over the draws; thresholds tuned. Batches as drawn have 32 examples; in the second column random positives replace negatives until each batch has two; in the third a batch has 128 examples."}} tags=["hide-input"]
rare = "goemotions_fear"
batches = pd.DataFrame(
    {
        speed.ARMS[arm]: {
            how: speed.scores(layers[rare], name, "tuned")[1][:, -1].mean()
            for how, name in {
                "batches as drawn": arm,
                "two positives at least": f"{arm}_two",
                "batches of 128": f"{arm}_128",
            }.items()
        }
        for arm in ("ce_start", "dice_start", "dice", "dice_both_zero")
    }
).T
batches.round(1)

# %% [markdown]
# With two positives in each batch, or with 128 examples in a batch, dice over the positive class from near 0
# reaches the F1 of cross entropy. Each of the three remedies is enough here: the log prior, a sampler, or larger
# batches. You can have larger batches without more memory if you sum the statistics of several
# ([recipes](../docs/recipes.md)).
#
# **Is dice better than cross entropy, once both have the same start?** From the log prior, with thresholds
# tuned, dice is 4.7 points higher on WNUT 2017 after 38 steps, and on politics we cannot tell. After 307 steps it is
# between 0.7 and 1.7 points lower on these two and on MRPC. From near 0 dice is higher than cross entropy on entities
# after 38 steps, by ten points and more, because this start hurts cross entropy there and not dice. After 307 steps
# these gains are gone.
#
# **What should you start from, then?** For cross entropy, the log prior was better on all four corpora after 38
# steps, and on politics and the rare label after 307. For dice it was better on the rare label, and worse on politics in short
# runs. Class weights from near 0 are higher than cross entropy from the log prior on both corpora of entities after
# 38 steps, and lower on MRPC. After 307 steps we found no measurable difference on any of the three. So the start
# is a setting like the learning rate: try both starts on your validation data.
#
# **What if nobody tunes the threshold?** Then the log prior has a price. On `fear`, cross entropy from the
# log prior predicts no positive at argmax at any length in these runs. Its ranking is good, however: with a
# tuned threshold the same models have an F1 of up to 63. `DiceLoss()` from the log prior has an F1 of 63 at
# argmax after 307 steps, and an F1 of 0 in all shorter runs. On MRPC at argmax, dice over the positive class
# is 30 points higher than cross entropy after 38 steps, from either start, and no higher after 307. All learning
# rates were chosen by the tuned F1, so a search for argmax might do better.
#
# **What may be luck?** A learning rate is chosen on two draws. On `fear`, a rate that was best on these two can fail on
# others. For this reason the curve of dice from the log prior dips after 76 steps: three of six draws have an F1 below
# 30 there. From a bias near 0, every rate of dice over the positive class failed on `fear`, so its search chose among
# failures. Dice had its default smoothing throughout.

# %% [markdown]
# ## 17.5 A linear head
#
# All heads above have a hidden layer. Many models end in a linear layer, and [chapter
# 19](19_other_remedies.ipynb) shows on a toy why this may matter: a model that cannot fit the data may have a better
# threshold under dice. So the same tasks are run with a linear head, by [the same protocol](../docs/protocol_2.md).
# Beside the losses stands what people type, logistic regression by a solver, with a searched penalty. Of the five
# searches of the protocol two were made, on all 27 tasks, and two are the least that its analysis takes.
#
# This is the analysis of section 17.2:

# %%
linear = kept.frozen(linear=True)
arms = ["dice", "dice_start", "dice_both", "dice_both_zero"]
arms += ["ce", "wce", "wce_start", "logistic"]


def to_prior(arm):
    """The arm minus cross entropy from the log prior, thresholds tuned."""
    return searched.Contrast((arm, "tuned"), ("ce_start", "tuned"))


def over_tasks(contrast, minus=None):
    effects = searched.effects_of(linear, contrast, minus=minus)
    return searched.pool(effects)


with_linear_head = {arm: over_tasks(to_prior(arm)) for arm in arms}
# On each task and search: the difference minus that with a hidden layer.
by_head = over_tasks(to_prior("dice"), minus=tasks)
seen = with_linear_head["dice"].detectable
print(f"dice: a gain of {seen:.1f} points is found four times in five")

# %% mystnb={"code_prompt_show": "Code of this table", "figure": {"caption": "A linear head on frozen features: F1 minus that of cross entropy from the log prior, thresholds tuned, in points, with 95% intervals. Two searches of each loss on each task. Dice of both classes is of the 18 tasks that are not tags. The last row is the first one minus the same with a hidden layer."}} tags=["hide-input"]
linear_arms = {
    "dice, near 0": with_linear_head["dice"],
    "dice, log prior": with_linear_head["dice_start"],
    "dice of both classes, near 0": with_linear_head["dice_both_zero"],
    "dice of both classes, log prior": with_linear_head["dice_both"],
    "cross entropy, near 0": with_linear_head["ce"],
    "class weights, near 0": with_linear_head["wce"],
    "class weights, log prior": with_linear_head["wce_start"],
    "logistic regression, solver": with_linear_head["logistic"],
    "by head: dice, near 0": by_head,
}
linear_table = {
    name: {**found.strata, "over all": found.over_all} for name, found in linear_arms.items()
}
pd.DataFrame(linear_table).T.map(lambda e: with_interval(e, 1), na_action="ignore").fillna("")

# %% [markdown]
# We expected small differences, as with a hidden layer. What do we see? For the question of the protocol, dice from
# near 0 over all strata, the interval goes from −0.8 to 0.8, so we cannot tell which loss is better. A gain of
# 1.1 points would have been found four times in five. On tags dice from near 0 is 1.1 points lower. The other forms of
# dice have intervals over all tasks that include 0. After the first search the interval
# of `DiceLoss()` from near 0 excluded 0. With the second it is 1.1 points ahead, and the interval includes 0.
#
# One row excludes 0 over all tasks: logistic regression by a solver, 1.3 points higher. The gain comes from the
# yes-or-no tasks. None of these intervals is corrected for their number. The last row is the contrast by head. Its interval
# includes 0 in each column, so we cannot tell whether dice gains more with a linear head.
#
# Because the log prior is what all rows are compared with, a part of each gain may be its loss. Where positives are
# rarer in training than in use, it does harm:

# %%
harm = searched.effect(linear["sst2_02"], to_prior("ce"))
print("sst2_02, cross entropy, near 0 minus log prior:", harm)
for arm in ("dice", "dice_both_zero", "ce"):
    to_solver = searched.Contrast((arm, "tuned"), ("logistic", "tuned"))
    gap = with_interval(over_tasks(to_solver).over_all, 1)
    print(f"{arm}, minus logistic regression: {gap}")


# %% [markdown]
# On `sst2_02` cross entropy from near 0 is 18.1 points higher. We do not know why. The threshold is tuned, so the output
# bias alone cannot be the reason. And against the solver? Dice over the positive class from near 0 is 1.3 points lower,
# with an interval that excludes 0. `DiceLoss()` from near 0 is 1.1 points lower, and its interval includes 0.
#
# What follows for you? If your head is linear, begin with a solver's logistic regression and tune its threshold. We
# found no loss that is above it. Longer training might change this: from near 0, twelve of the 27 winners of dice and thirteen of
# cross entropy took the largest number of steps in the second search. Three searches of the protocol were not made.

# %% [markdown]
# ## 17.6 What this does not say
#
# How far can you carry these results? The evidence comes from one small encoder, MiniLM with 22 million weights, and
# from English tags, sentences, pairs and spans. With the frozen encoder nearly all runs have a head with a hidden
# layer; of a linear head two searches of five were made. F1 was strict. The three
# strata count alike in the mean over all, however many tasks they have. We could have found a gain of 0.73 points,
# but a smaller one may well exist. With all layers trained we have four corpora, one batch size except on the label
# `fear`, and no run longer than 307 steps. This is a third of one pass over the comments of `fear`. If you train on
# so many rows for one to three passes, we have no runs like yours. Your data may differ from all of them. Therefore
# [chapter 22](22_your_own_data.ipynb) compares losses on your own file.
#
# ## Summary
#
# All of this is *real text*: twenty-seven English tasks of eight sources, on frozen features unless a point
# says "all layers".
#
# - Once you tune the threshold, we found no measurable gain from dice loss: of 72 intervals none lies above zero.
#   However, we have not proved that the two losses are equal. All of these heads have a hidden layer.
# - With a linear head and two searches, no loss is above a solver's logistic regression. It is 1.3 points above cross
#   entropy from the log prior, and dice from near 0 is lower on tags.
# - At argmax dice is ahead of cross entropy on yes-or-no tasks and on rare positives, and class weights are
#   further ahead. The smallest p-value is 0.006, and after correction it is 0.077, so none of it is significant.
# - With all layers trained and 38 steps, start cross entropy at the log prior, and compare it with dice and class
#   weights if you tag. After 307 steps we saw little difference, except on a rare label. Tune the threshold of a
#   model that starts at the log prior: at argmax it may predict no positive at all.
# - Where most batches hold no positive, start dice at the log prior, put positives into each batch, or take
#   larger batches. Each of the three was enough on the rare label.
# - Sixteen trials for a loss and one for its baseline make a “gain” of 2.6 points by search alone (exercise
#   17.1). So give both losses the same search.

# %% [markdown]
#
# ## Exercises
#
# **Exercise 17.1 (predict, then run).** Cross entropy gets one random trial, dice gets sixteen, as when a new
# loss is tuned and the baseline is not. How large a “gain” on validation is that, on average?

# %% mystnb={"code_prompt_show": "Solution 17.1"} tags=["solution", "hide-cell"]
def best_of(task, arm, trials):
    """The best validation F1, tuned, to expect of some trials of a search."""
    of_search = {}
    for r in tasks[task]:
        if (r["kind"], r.get("arm")) == ("search", arm):
            of_search.setdefault(r["search"], []).append(r["validation"]["tuned"]["f1"])
    return np.mean([analysis.expected_best(found)[trials - 1] for found in of_search.values()])


unequal = np.mean([best_of(t, "dice", 16) - best_of(t, "ce_start", 1) for t in tasks])
print(f"{unequal:.1f} points of F1, by search alone")


# %% [markdown]
# **Exercise 17.2 (pencil).** Show that pairing over draws narrows the interval of a difference exactly if the
# two scores have a positive correlation. Then look: do they?
#
# <details><summary>Solution</summary>
#
# $\operatorname{Var}(a - b) = \operatorname{Var}(a) + \operatorname{Var}(b) -
# 2\operatorname{Cov}(a, b)$, and an unpaired comparison leaves the last term out. So the paired
# interval is the narrower one if and only if the covariance is above zero. Shared training data
# should make it so.
#
# </details>

# %% mystnb={"code_prompt_show": "Solution 17.2"} tags=["solution", "hide-cell"]
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
# **Exercise 17.3 (apply).** How many runs does a claim need? Let $s$ be the standard deviation of the paired
# difference. A true gain of $\Delta$ is seen four times in five, at 5% significance, with about
# $(z_{0.975} + z_{0.8})^2\,(s/\Delta)^2$ runs. Count them for the task of median $s$, for gains of one point
# and of 0.3.

# %% mystnb={"code_prompt_show": "Solution 17.3"} tags=["solution", "hide-cell"]
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
# It takes 59 runs to see a gain of one point, and 628 to see one of 0.3. The paper prints gains of both sizes
# and does not say how many runs it made.
#
# </details>

# %% [markdown]
# **Exercise 17.4 (small research).** The four final runs of one search share the settings that it chose. How
# much of the variance of a paired difference lies between searches, and how much between the final runs of
# one search?

# %% mystnb={"code_prompt_show": "Solution 17.4"} tags=["solution", "hide-cell"]
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
# interval includes zero. The estimate may fall below zero, because the scatter of the finals is subtracted.

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
