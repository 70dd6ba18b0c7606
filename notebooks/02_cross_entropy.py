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
# # 02 Cross entropy, weights and thresholds
#
# You train a classifier with cross entropy. Its accuracy is 96%, which sounds good, but only 5% of the examples
# are positive, and the model finds fewer than half of them. Is cross entropy the wrong loss for such data? In
# this chapter we show that it is not: cross entropy learns calibrated probabilities, also of a rare class. What
# fails is the decision, because few examples of a rare class reach a probability of 0.5. We therefore tune the
# threshold. At the end we compare this with class weights, and find that a weight is a threshold, too, but one
# that you choose before training.

# %% tags=["remove-cell"]
# Without dicebook, this cell installs it if `make repository` has set an address, and else says how.
try:
    __import__("dicebook")
except ModuleNotFoundError:
    _install = """print("dicebook is missing: in a clone, run pip install '.[book]'")"""
    get_ipython().run_cell(_install)

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import torch

from dicelab.figures import NEGATIVE, POSITIVE, use_style
from dicelab.toy import imbalanced_blobs

use_style()
torch.set_default_dtype(torch.float64)
x, y = imbalanced_blobs(2000, positive=0.05, separation=2.0, seed=0)

# %% mystnb={"code_prompt_show": "Code of Figure 2.1", "figure": {"caption": "Figure 2.1. The toy of chapters 02 to 07: 5% of the points are positive, and the two clouds overlap. Around most positives there are more negatives than positives, so that their true probability is below 0.5.", "name": "fig-2-1"}, "image": {"alt": "A large round cloud of negatives and, up and to its right, a small cloud of positives, half inside the large one: no line separates them."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 3.8))
ax.scatter(*x[y == 0].T, s=6, color=NEGATIVE, alpha=0.5, label="1900 negatives")
ax.scatter(*x[y == 1].T, s=14, color=POSITIVE, marker="^", label="100 positives")
ax.set(xlabel="feature 1", ylabel="feature 2")
ax.set_aspect("equal")
fig.legend(loc="outside lower center", ncols=2, markerscale=2)
plt.show()

# %% [markdown]
# - **For** readers who train classifiers with cross entropy and data in which one class is rare.
# - **You need** the sigmoid, the derivative of a logarithm, and precision, recall and F1 ([chapter
#   01](01_imbalance.ipynb)).
# - **You will be able to** say what gradient each example has under cross entropy, say what class weights do,
#   and tune the threshold.
# - **Time** about 30 seconds on a CPU; a GPU does not help. Symbols and terms: [Notation and
#   glossary](../docs/notation.md).

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import inspect
import math
from itertools import product

import numpy as np
import pandas as pd
import sympy as sp
import torch.nn.functional as F
from IPython.display import Markdown, Math, display

from dicebook import make_loss
from dicebook.losses.functional import binary_cross_entropy, log_ratio_weights
from dicelab.records.runs import interval
from dicelab.tasks.thresholds import plug_in
from dicelab.toy import (
    best_threshold,
    f1_score,
    optimal_logits,
    train_each,
    train_logistic,
)

# %% [markdown]
# ## 2.1 A problem with five positives in a hundred
#
# We begin with data that are so small that we can see all of them. Figure 2.1 shows two round clouds of points:
# the negatives, and nineteen times fewer positives. Two things make this toy useful. We know the true
# probability of every point in closed form, so we can always say what the best answer would have been. And a
# logistic model, which has only three parameters here, can learn that answer. Whatever goes wrong in this
# chapter is therefore not the fault of a bad model.

# %%
x_test, y_test = imbalanced_blobs(2000, positive=0.05, seed=1)
print(f"{len(y)} examples, {int(y.sum())} positive")


# %% [markdown]
# ## 2.2 Cross entropy
#
# What should a loss reward? A model gives each example $i$ two probabilities, $p_{i0}$ for the negative class
# and $p_{i1}$ for the positive class, which sum to 1. The label says which of the two classes is right; we
# write it as two numbers as well, $y_{i0}$ and $y_{i1}$, of which one is 1 and the other is 0. We want the
# probability of the right class to be high, for every example, whatever its class:
#
# > "each xi contributes equally to the final objective" (the paper, Section 3.2)
#
# (eq-1)=
# Cross entropy does this with a logarithm:
#
# $$ \mathrm{CE} = -\frac{1}{N} \sum_i \sum_{j \in \{0,1\}} y_{ij} \log p_{ij} \tag{1} $$
#
# Read it from the inside. The factor $y_{ij}$ is 0 for the wrong class, so the inner sum keeps one logarithm:
# that of the probability of the right class. This logarithm is 0 if the model is sure and right, and it goes to
# minus infinity as the probability goes to 0. The loss is the mean over all examples, with a minus in front of
# it, so that smaller is better. In code we write the same formula as follows.

# %%
def cross_entropy(p1, y1):
    p = torch.stack([1 - p1, p1], -1)  # p_i0, p_i1
    y = torch.stack([1 - y1, y1], -1)  # y_i0, y_i1
    return -(y * p.log()).sum(-1).mean()


cross_entropy(torch.tensor([0.9, 0.2]), torch.tensor([1.0, 0.0]))

# %% [markdown]
# You can check the result by hand. The first example is positive and gets 0.9; the second is negative, and the
# model gives its class $1 - 0.2$:
#
# $$ -\tfrac12\,(\log 0.9 + \log (1 - 0.2)) = \tfrac12\,(0.105 + 0.223) = 0.164 $$
#
# The library computes the same loss from **logits**, the numbers $x$ before the sigmoid, with $p =
# 1/(1+e^{-x})$. The reason is numerical. Suppose that a model is sure and wrong: it gives a negative example a
# logit of 40.

# %%
wrong = torch.tensor([40.0], dtype=torch.float32)  # sure, and wrong
label = torch.tensor([0.0], dtype=torch.float32)
print("from probabilities:", cross_entropy(wrong.sigmoid(), label).item())
print("from logits:       ", binary_cross_entropy(wrong, label).item())


# %% [markdown]
# The exact loss is 40. The first line prints infinity: in single precision the sigmoid of this logit is exactly
# 1, so $1 - p$ is 0, and its logarithm is infinite. The second line never forms this difference, and it is
# right. We use logits from here on. In code the logit is `z`, because `x` holds the features.
#
# We now have the loss of a whole set. A model learns from the gradient of this loss. Which examples decide the
# direction of the gradient?
#
# ## 2.3 The gradient of each example
#
# We want to know how much one example changes the model. Everything goes through the logit $x$ of the example,
# so we need the derivative of its loss with respect to $x$. The derivative of the sigmoid is $p\,(1-p)$. For a
# positive the loss is $-\log p$, and for a negative it is $-\log(1-p)$. The chain rule gives
#
# $$ \begin{aligned}
# y = 1: \quad & \frac{d}{dx}\bigl(-\log p\bigr) = -\frac{p\,(1-p)}{p} = p - 1 \\
# y = 0: \quad & \frac{d}{dx}\bigl(-\log (1-p)\bigr) = \frac{p\,(1-p)}{1-p} = p
# \end{aligned} $$
#
# (eq-2-1)=
# Both lines are the same short formula:
#
# $$ \frac{\partial\, \mathrm{CE}_i}{\partial x_i} = p_i - y_i \tag{2.1} $$
#
# In words: the gradient of an example is its error, the probability minus the label. It is almost 0 if the
# model is sure and right, and almost 1 in size if the model is sure and wrong. Now we can ask what the two
# classes do together. At the start of training every example has $p = 0.5$, so every gradient has the same
# size; but there are many more negatives. We add up the gradients of each class, at several stages of training.

# %%
def class_gradients(p, y):
    """Sizes of the summed gradients of negatives and of positives."""
    g = p - y
    sums = g[y == 0].sum(), -g[y == 1].sum()
    return [round(v.item(), 1) for v in sums]


rows = {}
for v in (0.5, 0.2, 0.05, 0.01):
    rows[f"all p = {v}"] = class_gradients(torch.full_like(y, v), y)
index = ["negatives, lower p", "positives, raise p"]
pd.DataFrame(rows, index=index).T.round(1)

# %% [markdown]
# In the first row the negatives have nineteen times as much gradient as the positives, 950 against 50. All
# examples share the bias of the model, and the gradient on the bias sums over all of them. Training therefore
# first lowers the bias, and this alone lowers *every* probability, those of the positives as well. As the
# probabilities fall, the gradient of each negative shrinks. At $p = 0.05$, which is the share of the positives,
# the two classes are equal. Below that, the positives win, and the probabilities rise again.
#
# (eq-2-2)=
# Training ends where the loss has its minimum. There the gradient on the bias is 0, so the errors sum to 0:
#
# $$ \sum_i (p_i - y_i) = 0 \quad\Longleftrightarrow\quad
# \text{mean prediction} = \text{share of positives} \tag{2.2} $$
#
# In words: after training, the mean of the predicted probabilities is the share of positives in the training
# set. Let us see whether a trained model does that. In chapters 02 to 07 we always train in the same way: a
# logistic model takes 200 steps of Adam at a learning rate of 0.3. Each step uses all examples, unless we give
# a batch size.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
source = inspect.getsource(train_logistic)
loop = source[
    source.index("    weight = torch.zeros") : source.index(
        "    if record_every:\n        recorded.append"
    )
]
Markdown(f"```python\n{inspect.cleandoc(loop)}\n```")

# %%
fit = train_logistic(binary_cross_entropy, x, y, bias=0.0)
probability = fit.predict(x).sigmoid()
print(f"mean prediction    {probability.mean():.4f}")
print(f"share of positives {y.mean():.4f}")

# %% [markdown]
# The two numbers agree to three digits. Cross entropy does *not* forget the rare class. We can say more. Take a
# group of examples that look alike to the model, so that all of them get the same probability. If the model can
# choose this probability freely, the errors of the group sum to 0 at the minimum. The probability is then the
# share of positives in the group, which is their true probability. Probabilities that are true in this sense
# are called **calibrated**.

# %% [markdown]
# (start-bias)=
# ### Where training starts
#
# A new model has weights near 0 and a bias of 0, so it gives every example a probability near 0.5. We know
# better than that before the first step, because we can count the positives. Let π be their share. If we set
# the bias to the **log prior**, here the log-odds $\log\frac{\pi}{1 - \pi}$, then the untrained model gives
# every example the probability π. With several classes under a softmax, the bias of each class is the logarithm
# of its share. What does this change? We look at the loss and at the gradient on the bias, [Eq. 2.2](eq-2-2),
# before the first step.

# %%
share = y.mean()
log_prior = torch.log(share / (1 - share)).item()
for name, start in (("zero", 0.0), ("log prior", log_prior)):
    bias = torch.tensor(start, dtype=y.dtype, requires_grad=True)
    loss = binary_cross_entropy(bias.expand(len(y)), y)
    loss.backward()
    gradient = abs(bias.grad.item())
    print(f"{name:9} bias {start:5.2f}  loss {loss.item():.3f}", end="  ")
    print(f"gradient {gradient:.3f}")


# %% [markdown]
# From 0, the gradient on the bias is large. The first steps of training go into one number, the share of the
# positives, which we could have counted. From the log prior, the loss is already down to 0.199, and the bias has no
# gradient left. Every step can now go into separating positives from negatives.
#
# The minimum is the same for both starts, so a logistic model that trains to the end reaches the same place
# from both. A large encoder, however, is fine-tuned for only a few hundred steps, and there the start can
# matter more than the choice of the loss. [Section 17.4](17_when_does_dice_help.ipynb) measures it. In code it is
# one line before training, `start_at_prior(model, counts)`; the experiment chapters have a parameter `start` for it.
#
# There is a price. A model that starts at the log prior calls nothing positive at first, and if training is
# short, few examples may ever pass a threshold of 0.5. Start and threshold therefore belong together, and we
# turn to the threshold now.

# %% [markdown]
# ## 2.4 Accuracy is easy, F1 is not
#
# Our model has calibrated probabilities. Is it a good classifier? We compare it on the test set with a model
# that always says "negative". We expect that accuracy hardly separates the two, because nineteen answers in
# twenty are "negative" anyway.

# %%
def scores(said, y):
    return {
        "accuracy": (said == y.bool()).double().mean().item(),
        "F1": f1_score(said, y),
        "said positive": int(said.sum()),
    }


z = fit.predict(x_test)
table = {"always negative": scores(torch.zeros_like(y_test).bool(), y_test)}
table["cross entropy, p > 0.5"] = scores(z > 0, y_test)
pd.DataFrame(table).T.round(3)

# %% [markdown]
# The model that always says "negative" has an accuracy of 95% and an F1 of 0. Training adds hardly more than a point
# of accuracy, but it lifts F1 to nearly a half. The last column shows what is still missing: the trained model says
# "positive" only about half as often as there are positives. Where are the others?

# %% mystnb={"code_prompt_show": "Code of Figure 2.2", "figure": {"caption": "Figure 2.2. Errors of cross entropy on the test set.", "name": "fig-2-2"}, "image": {"alt": "The solid line p = 0.5 cuts off only the outer part of the positive cloud. Many of the missed positives lie in the strip between it and the dashed line p = 0.2, where positives and negatives are mixed."}} tags=["hide-input"]
said, gold = z > 0, y_test.bool()
groups = {"found": said & gold, "missed": ~said & gold, "false alarms": said & ~gold}
fig, ax = plt.subplots(figsize=(5.6, 4.8))
ax.scatter(*x_test[~gold].T, s=5, color=NEGATIVE, alpha=0.4)
for (name, chosen), marker in zip(groups.items(), "^vx", strict=True):
    ax.scatter(*x_test[chosen].T, s=24, marker=marker, label=f"{int(chosen.sum())} {name}")
across = torch.linspace(0, 4, 2)
for cut, style in [(0.5, "-"), (0.2, "--")]:
    height = (math.log(cut / (1 - cut)) - fit.bias - fit.weight[0] * across) / fit.weight[1]
    ax.plot(across, height, "k" + style, lw=1, label=f"p = {cut}")
ax.set(xlabel="feature 1", ylabel="feature 2")
fig.legend(loc="outside lower center", ncols=3, fontsize="small")
plt.show()

# %%
sure = z.sigmoid()
between = (sure > 0.2) & (sure <= 0.5)
of_them = int((between & gold).sum())
print(f"between them: {int(between.sum())} examples, {of_them} positive")

# %% [markdown]
# One in three of the missed positives lies in the strip between the two lines. The others lie farther inside
# the cloud of negatives. In the strip about one example in four is positive. Each of them is more likely
# negative, and so, at a threshold of 0.5, the model calls none of them positive. Every single one of these
# decisions is reasonable, and yet together they lose many positives. Would it pay, for F1, to call the whole
# strip positive?

# %% [markdown]
# ### Where should the threshold be?
#
# Suppose that you have already decided about some examples, and you now consider one more. Its true probability
# is η. When does calling it positive raise F1? We write F1 as a fraction,
#
# $$ F_1 = \frac{2\,TP}{|A| + |B|} $$
#
# where $|A|$ is the number of examples that we call positive and $|B|$ the number that are positive. If we add
# our example to $A$, then the denominator grows by 1, and the numerator grows by 2η on average, because the
# example is a true positive with probability η. A fraction rises when what we add above, divided by what we add
# below, is more than the fraction itself. F1 therefore rises if
#
# $$ \frac{2\eta}{1} > F_1 \quad\Longleftrightarrow\quad \eta > \tfrac12 F_1 $$
#
# (eq-2-3)=
# We therefore begin with the likeliest example and go downwards. With each step F1 rises and η falls, until η
# is no longer above half of the F1 that we have reached. There we stop, because every further example would
# lower F1. The η at which we stop is the best threshold $t^*$, and the F1 that we have there is the highest,
# $F_1^*$ {cite}`lipton2014thresholding`:
#
# $$ t^* = \tfrac12 F_1^* \tag{2.3} $$
#
# In words: with calibrated probabilities, the best threshold for F1 is half of the F1 that you reach with it. A
# threshold of 0.5 is best only for a problem that can be solved perfectly. The harder the problem, the lower
# the best threshold. For our toy, Bayes' rule gives the true probabilities, so we can check the rule on 400,000
# examples without any training.

# %%
x_big, y_big = imbalanced_blobs(400_000, seed=99)
true_p = optimal_logits(x_big).sigmoid()
t_best, f1_best = best_threshold(true_p, y_big)
print(f"best F1 {f1_best:.3f}, half of it {f1_best / 2:.3f}")
print(f"best threshold {t_best:.3f}")
print(f"F1 at 0.5: {f1_score(true_p > 0.5, y_big):.3f}")

# %% [markdown]
# The rule predicts 0.261, half of the best F1, and the best of all thresholds is 0.260. At 0.5 the very same
# probabilities give a clearly lower F1. In chapter 04 we meet the rule again, in the gradient of the dice loss.
# On your own data you know neither the true probabilities nor the best F1. You can, however, try all thresholds
# on data with labels. (For a tagger, whose classes are many and one of which is `O`, the threshold is a number
# that you add to the logit of `O`, as [section 9.5](09_named_entities.ipynb) shows.)

# %% [markdown]
# ### Tuning the threshold
#
# We choose the threshold with the highest F1 on the training set, where a model of three parameters can hardly
# overfit, and score it on the test set.

# %%
cut, _ = best_threshold(fit.predict(x), y)
name = f"cross entropy, p > {torch.tensor(cut).sigmoid():.2f}"
table[name] = scores(z > cut, y_test)
pd.DataFrame(table).T.round(3)

# %% [markdown]
# On this data set the tuned threshold finds more of the positives, and F1 rises a little. You can move the
# threshold yourself; "Tuned" marks the one that the training set chose.
#
# <div class="play" data-play="threshold"><img src="../_static/play-threshold.png"
# alt="Left, the test examples with the line of the threshold; right, precision, recall and F1 for all thresholds. At 0.5, 38 of 100 positives are found, with 15 false alarms: an F1 of 0.497."></div>

# %% [markdown]
# One data set with a hundred positives is little evidence: here tuning chose, by chance, a higher threshold
# than the rule predicts. So we repeat the experiment on twenty data sets, and look at all thresholds.

# %%
cuts = np.linspace(0.02, 0.98, 49)
curve_f1, curve_accuracy, gains = [], [], []
for seed in range(20):
    a, b = imbalanced_blobs(seed=2 * seed)
    a_test, b_test = imbalanced_blobs(seed=2 * seed + 1)
    model = train_logistic(binary_cross_entropy, a, b)
    scored = model.predict(a_test)
    sure = scored.sigmoid()
    found = [scores(sure > c, b_test) for c in cuts]
    curve_f1.append([of["F1"] for of in found])
    curve_accuracy.append([of["accuracy"] for of in found])
    cut, _ = best_threshold(model.predict(a), b)
    at_half, at_cut = (f1_score(scored > c, b_test) for c in (0, cut))
    gains.append(at_cut - at_half)


# %%
def mean(values):
    """The mean and its 95% interval over data sets."""
    i = interval(list(values))
    return f"{i.mean:+.3f} [{i.low:+.3f}, {i.high:+.3f}]"


print("F1 gained by tuning the threshold, 20 data sets:", mean(gains))

# %% mystnb={"code_prompt_show": "Code of Figure 2.3", "figure": {"caption": "Figure 2.3. Cross entropy, all thresholds, the mean of 20 data sets.", "name": "fig-2-3"}, "image": {"alt": "Accuracy rises at the left and is flat from 0.3 on, at about 0.96. F1 is a hill: its flat top lies near a threshold of 0.3, and at 0.5 it is down from 0.53 to 0.46."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.4))
ax.plot(cuts, np.mean(curve_accuracy, 0), "C0", label="accuracy")
ax.plot(cuts, np.mean(curve_f1, 0), "C1", label="F1")
ax.axvline(0.5, color="0.5", ls=":", label="the usual threshold")
best = cuts[np.argmax(np.mean(curve_f1, 0))]
ax.axvline(best, color="C1", ls="--", lw=1, label=f"best for F1: {best:.2f}")
ax.set(xlabel="threshold on p", ylabel="test score")
ax.legend(fontsize="small")
plt.show()

# %% [markdown]
# The 95% confidence interval of the gain lies well above 0, so tuning helps. (If it included 0, we could not tell.)
# Figure 2.3 shows why. The top of F1 is near a threshold of 0.3, close to what [Eq. 2.3](eq-2-3) predicts, and at one
# half the curve has already fallen. Accuracy is nearly flat there, which means that the tuned threshold costs almost
# nothing in accuracy. For you it follows that a fair comparison needs a tuned threshold. From here on we compare
# every loss with *cross entropy and a tuned threshold*, not with cross entropy alone.

# %% [markdown]
# ### How many positives does tuning need?
#
# A threshold that is chosen on few positives may be chosen badly. How few are too few? We train a model on each
# of twenty training sets, and tune the threshold of each model on validation sets of several sizes, ten of each
# size. We score every threshold on 100,000 fresh examples. Beside the tuned threshold we score three that
# nobody tunes. The first is 0.5. The second is built into a dice loss ([Eq. 8](eq-8)): chapter 04 shows that
# such a loss moves the threshold by itself during training. The third is the **plug-in threshold**, which needs
# examples but no labels. To find it, we act as if the probabilities of the model were true. We sort the $n$
# examples by probability, the likeliest first, and call the first $k$ positive. We take the $k$ for which the
# F1 that we expect is highest:
#
# $$ k^* = \arg\max_k \; \frac{2\sum_{i \le k} p_i}{k + \sum_{j=1}^{n} p_j} $$
#
# This is the fraction of F1 once more. The numerator counts the true positives that we expect among the first
# $k$ examples. The denominator adds what we call positive and what we expect to be positive.

# %%
x_many, y_many = imbalanced_blobs(100_000, seed=99)
SIZES = (5, 10, 20, 50, 100, 400)


def reached(scores, cut):
    return f1_score(scores > cut, y_many)


untuned, few, chosen = [], [], []
for draw in range(20):
    a, b = imbalanced_blobs(seed=2 * draw)
    model = train_logistic(binary_cross_entropy, a, b)
    dice = train_logistic(make_loss("binary_eq8"), a, b)
    z_many = model.predict(x_many)
    best = best_threshold(z_many, y_many)[1]
    unlabelled = model.predict(imbalanced_blobs(seed=2 * draw + 1)[0])
    own = reached(z_many, plug_in(unlabelled))
    by_dice = reached(dice.predict(x_many), 0)
    untuned.append([reached(z_many, 0), by_dice, own, best])
    for positives, again in product(SIZES, range(10)):
        seed = 1000 + 10 * draw + again
        c, d = imbalanced_blobs(20 * positives, seed=seed)
        chosen.append(best_threshold(model.predict(c), d)[0])
        few.append(reached(z_many, chosen[-1]))

# %%
at_half, built_in, own, best = np.array(untuned).T
few = np.array(few).reshape(20, len(SIZES), 10)
chosen = 1 / (1 + np.exp(-np.array(chosen).reshape(few.shape)))

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
rows = {}
for i, positives in enumerate(SIZES):
    low, high = np.quantile(chosen[:, i], [0.05, 0.95])
    rows[f"{positives} positives"] = {
        "thresholds, 5% to 95%": f"{low:.2f} to {high:.2f}",
        "mean F1": f"{few[:, i].mean():.3f}",
        "worst 5% below": f"{np.quantile(few[:, i], 0.05):.3f}",
        "worse than 0.5": f"{(few[:, i] < at_half[:, None]).mean():.0%}",
        "worse than dice": f"{(few[:, i] < built_in[:, None]).mean():.0%}",
        "worse than plug-in": f"{(few[:, i] < own[:, None]).mean():.0%}",
    }
print(f"mean F1: best threshold {best.mean():.3f}, 0.5 {at_half.mean():.3f}, "
      f"dice at 0.5 {built_in.mean():.3f}, plug-in {own.mean():.3f}")  # fmt: skip
pd.DataFrame(rows).T

# %% [markdown]
# With 20 positives, nine in ten of the tuned thresholds lie between 0.15 and 0.48, which is a wide range. A tuned
# threshold is still better than one half in nearly all draws. However, three in four of these tunings do worse than
# dice, and four in five do worse than the plug-in threshold of the same model. With 400 positives the tuned threshold
# and dice win equally often, and the plug-in threshold still wins more often than it loses.
#
# For you this means that **with few positives to tune on, a threshold that needs no tuning is the safer choice:
# the plug-in threshold, or the one built into a loss**. There is a condition. On this toy the model's
# probabilities are calibrated. Where they are not, the plug-in threshold is wrong; the [second
# protocol](../docs/protocol_2.md) tries it on real text.
#
# (bootstrap)=
# ### How sure is a score?
#
# A score is a matter of chance, too: on other test examples it would be another number. How far would it move? The
# *bootstrap* answers this without new data. It draws as many examples from the test set as there are, with
# replacement, so that some come twice and others not at all. It scores what was drawn, and repeats that two thousand
# times. The middle 95% of these scores are the 95% bootstrap interval.

# %%
called, there = (z > 0).numpy(), y_test.bool().numpy()
rng, drawn = np.random.default_rng(0), []
for _ in range(2000):
    rows = rng.integers(len(there), size=len(there))
    both = called[rows].sum() + there[rows].sum()
    drawn.append(2 * (called & there)[rows].sum() / both)
low, high = np.quantile(drawn, [0.025, 0.975])
print(f"F1 at one half: {f1_score(z > 0, y_test):.3f}", end=", ")
print(f"95% bootstrap interval from {low:.3f} to {high:.3f}")


# %% [markdown]
# With a hundred positives in the test set the interval is wide. It says how much the choice of test examples matters,
# and nothing else: another seed or another learning rate can move a score as well. If two models are compared, both are
# scored on the same draws, and we take the interval of their difference. In the later chapters we draw sentences, and
# not words, because the words of a sentence belong together.
#
# Tuning comes after training. Many people do something else about imbalance, before training: they give the
# rare class a weight. How do the two compare?

# %% [markdown]
# ## 2.5 Weights
#
# > "Weighted CE … where αi ∈ [0, 1] may be set by the inverse class frequency or treated as a hyperparameter"
# > (the paper, Section 3.2)
#
# (eq-2)=
# The idea is to let a missed positive cost more than a false alarm. We give each example a weight $\alpha_i$
# that depends on its class:
#
# $$ \text{Weighted CE} = -\frac{1}{N} \sum_i \alpha_i \sum_{j \in \{0,1\}} y_{ij} \log p_{ij}
# \tag{2} $$
#
# This is [Eq. 1](eq-1) with one more factor. A weight of 2 has the same effect as having the example in the
# data twice.

# %%
def weighted_cross_entropy(p1, y1, alpha):
    p = torch.stack([1 - p1, p1], -1)
    y = torch.stack([1 - y1, y1], -1)
    alpha_i = (y * alpha).sum(-1)  # the weight of the gold class
    return -(alpha_i * (y * p.log()).sum(-1)).mean()


# %% [markdown]
# One detail differs between libraries. [Eq. 2](eq-2) divides by the *number* of examples, and so does dicebook.
# PyTorch divides by the *sum of their weights*.

# %%
logits = torch.linspace(-4, 4, 9)
gold = torch.tensor([0, 1, 0, 0, 1, 0, 1, 1, 0.0])
alpha = torch.tensor([0.3, 1.7])
by_count = binary_cross_entropy(logits, gold, weight=alpha)
two = torch.stack([torch.zeros_like(logits), logits], -1)
by_weight = F.cross_entropy(two, gold.long(), weight=alpha)
print(f"Eq. 2: {by_count:.4f}   torch: {by_weight:.4f}")
print(f"ratio: {by_count / by_weight:.4f}")
print(f"mean weight of this batch: {alpha[gold.long()].mean():.4f}")

# %% [markdown]
# The two losses differ by a factor, the mean weight of the batch. On one fixed set this factor is a constant:
# it changes the learning rate of plain gradient descent, and for Adam it changes nothing. In small batches,
# however, the factor varies, and PyTorch gives the rare class less weight in exactly those batches that contain
# many of its examples (exercise 2.3).
#
# ### The paper's formula for the weights
#
# > "we use lg(n−nt/nt + K) to calculate the coefficient α" (the paper, Section 3.2)
#
# (eq-2-4)=
# How large should a weight be? The paper computes it from the counts. If we put the missing brackets around
# $n - n_t$, then a class that has $n_t$ of the $n$ examples gets the weight
#
# $$ \alpha_t = \lg\left(\frac{n - n_t}{n_t} + K\right) \tag{2.4} $$
#
# Here lg is the logarithm to base 10, and $K$ is a constant that you tune. The fraction counts how many other
# examples there are for each example of the class, so a rare class gets a large weight. The paper says that the
# weights lie in [0, 1]. Do they?

# %% mystnb={"code_prompt_show": "Code of Figure 2.4", "figure": {"caption": "Figure 2.4. The weight that the paper recommends, by the share of the class in the training set.", "name": "fig-2-4"}, "image": {"alt": "Four falling curves. All leave the grey band between 0 and 1 at the left, for rare classes, where the weight exceeds 1; K = 0 and K = 0.5 also leave it at the right, below 0, for common classes."}} tags=["hide-input"]
share = np.linspace(0.005, 0.995, 400)
fig, ax = plt.subplots(figsize=(6, 3.4))
ax.axhspan(0, 1, color="0.5", alpha=0.15, label="[0, 1], as stated")
for K, style in [(0, "-"), (0.5, "--"), (1, "-."), (2, ":")]:
    ax.plot(share, np.log10((1 - share) / share + K), "0.2", ls=style, label=f"K = {K}")
ax.set(xlabel="share of the class, $n_t / n$", ylabel="weight")
ax.legend(fontsize="small")
plt.show()

# %% [markdown]
# They do not. A weight above 1 does no harm, because only the ratio of the weights matters. A weight below 0,
# however, rewards the model for getting that class wrong. We try $K = 0$ on the toy to see what happens.

# %%
alpha = log_ratio_weights([1900, 100], K=0).double()


def negative_weight(z, t):
    return binary_cross_entropy(z, t, weight=alpha)


upside_down = train_logistic(negative_weight, x, y)
print("weights:", alpha.numpy().round(2))
print("loss:", upside_down.losses[[0, 50, 199]].numpy().round(1))
print(scores(upside_down.predict(x_test) > 0, y_test))


# %% [markdown]
# With two classes and this $K$ the two weights are opposite numbers, because the fraction of one class is the
# reciprocal of that of the other. The negatives get the negative weight. The loss falls below 0 and has no
# minimum, since the model can always be more wrong about them. It calls most of the test examples positive,
# 1563 of 2000, and is right about one in sixteen. So **keep $K \ge 1$**: with $K = 1$ the formula is
# $\lg(n/n_t)$, which is never negative.

# %% [markdown]
# ## 2.6 Weighting and resampling are one thing
#
# > "Both strategies are equivalent to changing the data distribution during training" (the paper, Section 3.2)
#
# (eq-2-5)=
# Instead of giving a positive a larger weight, you can show it to the model more often. This is called
# **resampling**: we draw example $i$ with probability $\rho_i$ instead of $1/N$. We want to know whether that
# differs from weights. The expected loss of one draw is
#
# $$ \mathbb{E}_{i \sim \rho}\,[\ell_i] = \sum_i \rho_i\, \ell_i = \frac1N \sum_i \alpha_i\, \ell_i
# \quad\text{with}\quad \alpha_i = N \rho_i \tag{2.5} $$
#
# In words: an example that we draw twice as often counts twice as much, so on average resampling is weighting.
# The same is true of gradients.
#
# What differs is the noise. In batches of 16, with weights that balance the classes, most batches of the toy
# contain one positive or none, and that one counts ten times. Resampling, in turn, repeats the same hundred
# positives and needs longer to have seen all negatives. On average, however, both train the same model. Which model
# is that?

# %% [markdown]
# ## 2.7 What weights do to a model
#
# If weights change the distribution, then a model that is trained with weights learns the probabilities of the
# *other* distribution, in which positives are more common.
#
# (eq-2-6)=
# Bayes' rule says how these two probabilities are related. Weights $\alpha_1$ and $\alpha_0$ multiply the odds
# of the classes. The logit is the logarithm of the odds, so the weights *add* a constant to it:
#
# $$ \log\frac{\alpha_1 P(1\mid x)}{\alpha_0 P(0\mid x)} = \log\frac{P(1\mid x)}{P(0\mid x)} +
# \log\frac{\alpha_1}{\alpha_0} \tag{2.6} $$
#
# The constant is the same for every example, which means that only the bias should change. If we count
# positives nineteen times, then the bias should rise by $\log 19 = 2.94$, and the slopes should stay as they
# are.

# %%
def positives_count(times):
    alpha = torch.tensor([1.0, float(times)])
    return lambda z, t: binary_cross_entropy(z, t, weight=alpha)


heavy = train_logistic(positives_count(19), x, y)
rows = {"plain": [*fit.weight, fit.bias]}
rows["positives × 19"] = [*heavy.weight, heavy.bias]
frame = pd.DataFrame(rows, index=["w1", "w2", "bias"], dtype=float)
frame["difference"] = frame["positives × 19"] - frame["plain"]
frame.round(2)

# %% [markdown]
# This is what we see. The slopes differ by a few hundredths, and the bias differs by 3.02, close to the
# prediction. A weight is therefore a threshold that is set before training instead of after it.

# %% [markdown]
# (eq-2-7)=
# Which threshold is it? On the weighted model we use 0.5, which is a logit of 0. On the plain model that is the
# point where the odds are $\alpha_0/\alpha_1$, in other words the threshold
#
# $$ t = \frac{\alpha_0}{\alpha_0 + \alpha_1} \tag{2.7} $$
#
# For nineteen to one this is $1/20 = 0.05$. The best threshold is far above it, 0.26. We expect that "balanced"
# weights, the usual advice, cost F1 here. So we vary the weight, and, separately, the threshold of the unweighted
# model, on ten data sets.

# %%
counts = [1, 2, 3, 5, 8, 12, 19, 32]
by_loss, by_cut = [], []
draws = [imbalanced_blobs(seed=2 * seed) for seed in range(10)]
models = [train_each(positives_count(c), draws) for c in counts]
for seed, fits in enumerate(zip(*models, strict=True)):
    a_test, b_test = imbalanced_blobs(seed=2 * seed + 1)
    by_loss.append([f1_score(m.predict(a_test) > 0, b_test) for m in fits])
    sure = fits[0].predict(a_test).sigmoid()
    by_cut.append([f1_score(sure > 1 / (1 + c), b_test) for c in counts])

# %% mystnb={"code_prompt_show": "Code of Figure 2.5", "figure": {"caption": "Figure 2.5. A weight is a threshold.", "name": "fig-2-5"}, "image": {"alt": "Two curves on top of one another, F1 by weight and by threshold. Both rise from 0.44 at weight 1 to a top of 0.52 at weights 2 and 3 and fall to 0.29 at weight 32. A dotted line at the weight 2.8 goes through the top."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.4))
ax.plot(counts, np.mean(by_loss, 0), "C2o-", label="trained with the weight, threshold 0.5")
ax.plot(counts, np.mean(by_cut, 0), "C0s--", label="trained without, threshold 1/(1 + weight)")
ax.axvline(1 / t_best - 1, color="0.5", ls=":", label="weight of the best threshold, by Eq. 2.3")
ax.set(xscale="log", xlabel="weight of a positive", ylabel="test F1")
ax.set_xticks(counts, [str(c) for c in counts])
ax.minorticks_off()
fig.legend(loc="outside lower center", fontsize="small")
plt.show()

# %%
gap = np.array(by_loss) - np.array(by_cut)
print(f"largest gap between the curves: {np.abs(gap.mean(0)).max():.3f}")
at_3, at_19 = (np.array(by_loss)[:, counts.index(c)] for c in (3, 19))
gain = at_3 - at_19
print("F1 at weight 3 minus F1 at weight 19:", mean(gain))

# %% [markdown]
# The two curves agree to 0.01: whatever a weight does, the matching threshold does as well. Both have their top
# near the weight that belongs to the best threshold, and both fall steeply towards the balanced weight. (You
# can change the weight with the slider of the <a
# href="../docs/playground.html#loss=wce&amp;weight=19">Playground</a>.) The paper's formula is far off at $K =
# 1$, where it counts a positive 58 times. At $K = 3$ it comes near the ratio that is best for this toy, 2.8
# (exercise 2.2). Tuning $K$ is thus a costly way of tuning the threshold, because each value of $K$ takes a
# training run.

# %% [markdown]
# **Where the model can represent the true probabilities, and learns them, weights, resampling and tuning all
# only move the threshold.** They do not move it to the same place: the balanced weights move it to 0.05, while
# the best threshold is 0.26. To find the best place with weights takes a new training run for each guess; to
# tune the threshold takes none.
#
# There are two exceptions. Where a model cannot represent the true probabilities, weights also change the
# direction of its line, as [section 19.6](19_other_remedies.ipynb) shows.
# And a network that can fit every training example becomes
# overconfident, so that weights lose their effect as training goes on {cite}`byrd2019`.

# %% [markdown]
# ## Summary
#
# - The gradient of cross entropy on a logit is the error $p - y$ ([Eq. 2.1](eq-2-1)), and its minimum is at the
#   true probabilities: it does not forget a rare class.
# - With calibrated probabilities the best threshold for F1 is half of the best F1 ([Eq. 2.3](eq-2-3)), so tune
#   the threshold before you compare losses.
# - With calibrated probabilities and few positives to tune on, the plug-in threshold and the threshold built
#   into dice are better than a tuned one in most draws.
# - Weights ([Eq. 2](eq-2)) and resampling only move the threshold, by [Eq. 2.7](eq-2-7), as long as the model
#   can represent the true probabilities.
# - The weights of the paper's formula ([Eq. 2.4](eq-2-4)) leave [0, 1] on both sides, so keep $K \ge 1$.

# %% [markdown]
# ## Exercises
#
# **Exercise 2.1 (pencil).** Derive the gradient of cross entropy for three classes with softmax, and check that
# it is again $p_j - y_j$ for each logit.

# %% mystnb={"code_prompt_show": "Solution 2.1"} tags=["solution", "hide-cell"]
logit = sp.symbols("x0:3", real=True)
total = sum(sp.exp(v) for v in logit)
loss = -sp.log(sp.exp(logit[0]) / total)  # the gold class is 0
for j in range(3):
    expected = sp.exp(logit[j]) / total - (1 if j == 0 else 0)
    assert sp.simplify(sp.diff(loss, logit[j]) - expected) == 0
display(
    Math(
        r"\frac{\partial}{\partial x_0}\mathrm{CE} = "
        + sp.latex(sp.factor(sp.diff(loss, logit[0])))
    )
)

# %% [markdown]
# **Exercise 2.2 (recall).** For which shares $n_t/n$ does [Eq. 2.4](eq-2-4) stay in [0, 1], as a function of
# $K$? Which $K$ is right for a data set whose classes have shares 0.02, 0.08 and 0.9? And for the toy, which
# ratio of weights and which threshold ([Eq. 2.7](eq-2-7)) belong to $K$ = 1, 2, 3, 5 and 10?

# %% mystnb={"code_prompt_show": "Solution 2.2"} tags=["solution", "hide-cell"]
# 0 <= lg(odds + K) <= 1 means 1 - K <= odds <= 10 - K, and odds = 1/s - 1,
# so 1/(11 - K) <= s <= 1/(2 - K); from K = 1 on the upper bound is no bound.
for K in (0, 0.5, 1, 2):
    highest = 1 / (2 - K) if K < 1 else 1.0
    print(f"K = {K}: shares from {1 / (11 - K):.3f} to {highest:.3f}")
# The share 0.02 needs 1/(11 - K) <= 0.02, so K <= -39; then the share 0.9 is far above 1/(2 - K).
# No K keeps all three classes inside. A constant factor on all weights would, and costs nothing.

rows = []
for K in (1, 2, 3, 5, 10):
    negative, positive = log_ratio_weights([1900, 100], K=K).tolist()
    rows.append([K, negative, positive, positive / negative, negative / (negative + positive)])
columns = ["K", "weight of negatives", "of positives", "ratio", "same as a threshold of"]
pd.DataFrame(rows, columns=columns).round(3)

# %% [markdown]
# **Exercise 2.3 (apply).** Split the toy into batches of 16 and compare the average gradient of [Eq. 2](eq-2)
# with that of `F.cross_entropy(weight=...)` at $w = 0$. Which of the two is the gradient of the
# whole set, up to a factor?

# %% mystnb={"code_prompt_show": "Solution 2.3"} tags=["solution", "hide-cell"]
batch = torch.randperm(2000, generator=torch.Generator().manual_seed(0)).view(-1, 16)
weight = torch.where(y == 1, 19.0, 1.0)
inputs = torch.cat([x, torch.ones(len(x), 1)], 1)  # the last column carries the bias
per_example = (0.5 - y)[:, None] * inputs
weighted = weight[:, None] * per_example
whole = weighted.mean(0)
eq2 = weighted[batch].mean(1).mean(0)
torch_way = (weighted[batch].sum(1) / weight[batch].sum(1, keepdim=True)).mean(0)
for name, v in {"whole set": whole, "Eq. 2": eq2, "torch": torch_way}.items():
    print(f"{name:9} direction {(v / v.norm()).numpy().round(3)}")
torch.testing.assert_close(eq2, whole)
# Eq. 2 is exact: its bias component is 0, since 19 to 1 balances the classes at w = 0. In torch's
# mean a batch without positives weighs as much as any other, which lowers the bias.

# %% [markdown]
# **Exercise 2.4 (predict, then run).** Write down what will happen before you run: train on a set in which each
# positive appears nineteen times, then subtract $\log 19$ from every logit. How close are the probabilities to
# those of the plain model?

# %% mystnb={"code_prompt_show": "Solution 2.4"} tags=["solution", "hide-cell"]
copies = torch.where(y == 1, 19, 1)
many = train_logistic(
    binary_cross_entropy, x.repeat_interleave(copies, 0), y.repeat_interleave(copies)
)
corrected = (many.predict(x_test) - math.log(19)).sigmoid()
print(
    "mean distance, as trained:",
    round(float((many.predict(x_test).sigmoid() - z.sigmoid()).abs().mean()), 3),
)
distance = float((corrected - z.sigmoid()).abs().mean())
print("mean distance, corrected: ", round(distance, 3))
assert distance < 0.01  # Verdict: copies are weights, and weights are a shift.

# %% [markdown]
# ## Further reading
#
# - {cite:t}`elkan2001`: weights and resampling as a change of the threshold, as a theorem; section
#   2.7 is its special case for the logistic model.
# - {cite:t}`lipton2014thresholding`: the proof of [Eq. 2.3](eq-2-3), and what tuning for F1 does to
#   classes that a model cannot tell at all.
# - {cite:t}`byrd2019`: what weights do to deep networks that separate their training data: much in
#   early training, little later.
