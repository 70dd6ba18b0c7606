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
# # 04 Dice loss: one example or the whole set
#
# Two taggers look for names in a text of a thousand words, fifty of which belong to names. The *careful* tagger
# marks ten words, and all ten are right; it misses the other forty. The *eager* tagger marks ninety words: it
# finds every name, and marks forty words too many. Which one would you rather have?
#
# | tagger | right marks | missed | too many | accuracy | F1 |
# |---|---|---|---|---|---|
# | careful | 10 | 40 | 0 | 96% | 0.333 |
# | eager | 50 | 0 | 40 | 96% | 0.714 |
#
# Accuracy cannot choose, because both make forty errors. F1 clearly prefers the eager one. Now suppose that you
# train with a "dice loss", because you want a high F1. There are four losses of that name, in the paper and in
# the libraries, and two of them cannot choose either. In this chapter we find out which ones, and why. The
# *per-example* losses score each example by itself and are, at bottom, an error rate. The *set-level* losses
# sum over the whole batch before they divide, and they are a soft F1. They move the decision threshold during
# training, to about where you would tune it afterwards.

# %% tags=["remove-cell"]
# Without dicebook, this cell installs it if `make repository` has set an address, and else says how.
try:
    __import__("dicebook")
except ModuleNotFoundError:
    _install = """print("dicebook is missing: in a clone, run pip install '.[book]'")"""
    get_ipython().run_cell(_install)

# %% [markdown]
# - **For** readers who found "dice loss" in three libraries and got three different numbers.
# - **You need** Eq. 6 and its smoothing term ([chapter 03](03_dice_and_f1.ipynb)), and the tuned threshold
#   ([chapter 02](02_cross_entropy.ipynb)).
# - **You will be able to** say whether a dice loss is per example or at set level, predict which one collapses
#   from which start, and choose a batch size.
# - **Time** about a minute on a CPU; a GPU does not help. Symbols and terms: [Notation and
#   glossary](../docs/notation.md).

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sympy as sp
import torch
from IPython.display import Markdown, display
from scipy import stats
from sklearn.metrics import f1_score as sklearn_f1

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from dicebook import BinaryDiceLoss, backward_in_two_passes, binary_dice_statistics, make_loss
from dicebook.losses.functional import binary_cross_entropy
from dicelab.figures import NEGATIVE, POSITIVE, style, use_style
from dicelab.records.runs import interval
from dicelab.toy import (
    best_threshold,
    imbalanced_blobs,
    misspecified_blobs,
    optimal_logits,
    train_from_starts,
    train_logistic,
)

use_style()
torch.set_default_dtype(torch.float64)


# %% [markdown]
# ## 4.1 Two losses, one name
#
# In [chapter 03](03_dice_and_f1.ipynb) we met the dice coefficient of one example, [Eq. 6](eq-6). It has $p$
# and $y$ in its denominator. The paper takes their squares instead, as V-Net does {cite}`milletari2016vnet`:
#
# > "Milletari et al. (2016) proposed to change the denominator to the square form for faster convergence" (the
# > paper, Section 3.3)
#
# (eq-7)=
# For a loss we want a number that falls as the coefficient rises, so we take one minus it. One way is to do
# this for each example, and then to average:
#
# $$ \mathrm{DL} = \frac1N \sum_i \left[ 1 - \frac{2\,p_{i1} y_{i1} + \gamma}{p_{i1}^2 + y_{i1}^2 +
# \gamma} \right] \tag{7} $$
#
# The numerator is large where probability and label agree that the example is positive. The denominator counts
# both, so the fraction cannot exceed 1. The smoothing term γ keeps the fraction defined for a negative with
# $p = 0$.
#
# > "Another version of DL is to directly compute set-level dice coefficient instead of the sum of individual
# > dice coefficient, which is easier for optimization" (Section 3.3)
#
# (eq-8)=
# The other way is to sum first, above and below, and to divide once:
#
# $$ \mathrm{DL} = 1 - \frac{2 \sum_i p_{i1} y_{i1} + \gamma}{\sum_i p_{i1}^2 + \sum_i y_{i1}^2 +
# \gamma} \tag{8} $$
#
# On paper the two differ only in the place of the sum. In your code they differ only in the place of the mean.

# %%
def dice_loss_per_example(p, y, gamma=1.0):
    return (1 - (2 * p * y + gamma) / (p**2 + y**2 + gamma)).mean()


def dice_loss_of_set(p, y, gamma=1.0):
    sizes = (p**2).sum() + (y**2).sum()
    return 1 - (2 * (p * y).sum() + gamma) / (sizes + gamma)


# %% [markdown]
# The library has one function for both, that of [section 3.4](03_dice_and_f1.ipynb). [Eq. 7](eq-7) gives it three
# numbers of each example, $p\,y$, $p^2$ and $y^2$, and [Eq. 8](eq-8) gives it the sums of these numbers.
#
# Each of the two losses also exists with plain $p$ and $y$ in the denominator. Per example that is [Eq.
# 6](eq-6) again; at set level it is Eq. 8 with $\sum p$ in place of $\sum p^2$. Together these are four losses,
# and all of them are called dice loss.

# %%
FOUR = {
    "Eq. 6: per example, linear": make_loss("binary_eq6"),
    "Eq. 7: per example, squared": make_loss("binary_eq7"),
    "dice linear, set level": make_loss("binary_dl", squared=False),
    "Eq. 8: set level, squared": make_loss("binary_eq8"),
}

# %% [markdown]
# Do they measure the same thing? We ask the two taggers.
#
# ## 4.2 On hard predictions
#
# We begin with predictions that are certain: every $p$ is 0 or 1. Squares then make no difference, and an
# example can only be right or wrong. We put the four cases into the bracket of Eq. 7:
#
# | | $p$ | $y$ | bracket of Eq. 7 |
# |---|---|---|---|
# | true positive | 1 | 1 | $1 - (2 + \gamma)/(2 + \gamma) = 0$ |
# | true negative | 0 | 0 | $1 - \gamma/\gamma = 0$ |
# | false negative | 0 | 1 | $1 - \gamma/(1 + \gamma) = 1/(1 + \gamma)$ |
# | false positive | 1 | 0 | $1 - \gamma/(1 + \gamma) = 1/(1 + \gamma)$ |
#
# (eq-4-1)=
# A right answer costs 0. A wrong answer costs $1/(1+\gamma)$, and a missed name costs exactly as much as a
# false alarm. The mean over examples is therefore
#
# $$ \mathrm{DL}_{\text{per example}} = \frac{FP + FN}{N\,(1+\gamma)}
# = \frac{\text{error rate}}{1+\gamma} \tag{4.1} $$
#
# In words: on hard predictions, a per-example dice loss is the error rate, up to a constant factor.
#
# (eq-4-2)=
# The set-level loss sums the counts before it divides. Where $p$ and $y$ are both 1 we count a true positive,
# so with γ → 0 we get
#
# $$ \mathrm{DL}_{\text{set}} = 1 - \frac{2TP}{2TP + FP + FN} = 1 - F_1 \tag{4.2} $$
#
# The true negatives have disappeared. However many there are, they neither raise nor lower this loss. Let us
# compute both losses for the careful and the eager tagger.

# %%
gold = torch.tensor([1.0] * 50 + [0.0] * 950)
taggers = {
    "careful": torch.tensor([1.0] * 10 + [0.0] * 990),
    "eager": torch.tensor([1.0] * 90 + [0.0] * 910),
}
rows = {}
for name, said in taggers.items():
    rows[name] = {
        "error rate / 2": (said != gold).double().mean().item() / 2,
        "Eq. 7, γ = 1": dice_loss_per_example(said, gold).item(),
        "1 − F1 (scikit-learn)": 1 - sklearn_f1(gold, said),
        "Eq. 8, γ = 0": dice_loss_of_set(said, gold, gamma=0.0).item(),
        "Eq. 8, γ = 1": dice_loss_of_set(said, gold).item(),
    }
pd.DataFrame(rows).T.round(4)

# %% [markdown]
# We see in the table what we derived. Eq. 7 gives both taggers the same loss, half of their error rate, so it cannot
# help you to choose between them. Eq. 8 gives the careful one 0.667 and the eager one 0.286, so it prefers the eager
# one. These two numbers are exactly scikit-learn's $1 - F_1$. With γ = 1 they hardly change, because here we add γ
# once to the sums over all examples, and not to every example.
#
# > "the proposed losses perform as a soft version of F1 score" (Section 5.2)
#
# **That is true of the set-level loss, and not of the per-example losses.** The paper does not say which of
# them its experiments minimise, and its Table 2 prints the per-example one. When you read "dice loss" in an
# article or a library, look for the place of the sum first.
#
# Real models are not certain, however. They give probabilities. Which probabilities does each loss lead to?

# %% [markdown]
# ## 4.3 Which probability minimises each loss?
#
# Take examples that look alike to the model, and let η be the share of them that is positive: their true
# probability. The model has to give all of them the same $p$. We want to know which $p$ makes the expected loss
# of the group smallest. For cross entropy the answer is $p = \eta$, as we saw in chapter 02.
#
# ### Per example
#
# A per-example loss treats each group by itself. Let $L_1(p)$ be the loss of a positive and $L_0(p)$ that of a
# negative. A share η of the group is positive, so the group costs $\eta L_1(p) + (1-\eta) L_0(p)$. For [Eq.
# 6](eq-6) the two losses are
#
# $$ L_1(p) = 1 - \frac{2p + \gamma}{p + 1 + \gamma} = \frac{1 - p}{1 + p + \gamma}, \qquad
# L_0(p) = 1 - \frac{\gamma}{p + \gamma} = \frac{p}{p + \gamma} $$
#
# The slope of the cost of the group is therefore
#
# $$ (1-\eta)\,\frac{\gamma}{(p+\gamma)^2} \;-\; \eta\,\frac{2+\gamma}{(1+p+\gamma)^2} $$
#
# The first term comes from the negatives, which want a smaller $p$. The second comes from the positives, which
# want a larger one. As $p$ grows, the push down fades faster than the push up. So the cost has at most one hill and
# no valley inside. Its lowest point is at $p = 0$ or at $p = 1$. At $p = 0$ the group costs $\eta/(1+\gamma)$, and at $p = 1$ it costs $(1-\eta)/(1+\gamma)$.
#
# (eq-4-3)=
# We compare the two ends:
#
# $$ \text{Eq. 6 is minimised by}\quad p = \begin{cases} 1 & \eta > 0.5 \\ 0 & \eta < 0.5
# \end{cases} \tag{4.3} $$
#
# So Eq. 6 makes all predictions hard and follows the majority of each group. For every γ above 0 it minimises
# the error rate, as we found for hard predictions. Where positives are rare and hard to recognise, no group has
# a majority of positives, and the loss is smallest for a model that says "negative" everywhere.
#
# ### At set level
#
# A set-level loss is one fraction for all groups together, so we look at its slope for one example. Write $D =
# T/S$ for the dice of the set without smoothing, where $T = 2\sum p_i y_i$ is the numerator and $S$ the
# denominator. If $p_i$ grows, then $T$ grows at the rate $2 y_i$. With a linear denominator, $S$ grows at the
# rate 1; with a squared one, at the rate $2 p_i$. The quotient rule gives, for the linear loss,
#
# $$ \frac{\partial D}{\partial p_i} = \frac{2 y_i\, S - T}{S^2} = \frac{2 y_i - D}{S} $$
#
# (eq-4-4)=
# The squared loss is treated in the same way. The loss is $1 - D$, so the signs turn around:
#
# $$ \frac{\partial (1-D)}{\partial p_i} = \frac{D - 2 y_i}{S}\ \text{ (linear)}, \qquad
# \frac{\partial (1-D)}{\partial p_i} = \frac{2\,(D\,p_i - y_i)}{S}\ \text{ (squared)} \tag{4.4} $$
#
# What does this do to your examples? Look at the linear form, and leave out the common factor $1/S$. The $p$ of a
# negative is lowered with the strength $D$, and the $p$ of a positive is raised with the strength $2 - D$. While the
# dice is still low, one positive therefore outweighs many negatives. A per-example loss cannot do this, because it
# does not know how well the set is doing.
#
# (eq-4-5)=
# Over a group of examples that look alike the mean of $y_i$ is η. We put it into Eq. 4.4. The linear slope
# changes its sign at $\eta = D/2$, and the squared slope is zero at $p_i = \eta/D$:
#
# $$ \text{linear:}\quad p = \begin{cases} 1 & \eta > D/2 \\ 0 & \eta < D/2 \end{cases} \qquad\qquad
# \text{squared:}\quad p = \min(1,\ \eta / D) \tag{4.5} $$
#
# In words: the linear loss makes predictions hard, and calls an example positive if its true probability is
# above half of the dice that the set has. With hard predictions $D$ is F1, so this is *half of F1*, the best
# threshold of [Eq. 2.3](eq-2-3). The squared loss keeps probabilities, but scales the true ones up by $1/D$. At
# $p = 0.5$ its threshold is $D/2$ as well; its $D$, however, is the dice of soft predictions and not F1.
#
# We check this by a small experiment. We give 4000 examples of the toy free probabilities, each with its own
# logit, and let Adam minimise the expected loss.

# %%
x_free, _ = imbalanced_blobs(4000, seed=1)
eta = optimal_logits(x_free).sigmoid().sort().values


def minimiser(loss, eta, steps=800):
    """The probabilities that minimise an expected loss; free logits."""
    z = torch.zeros_like(eta, requires_grad=True)
    optimizer = torch.optim.Adam([z], lr=0.1)
    for _ in range(steps):
        value = loss(z.sigmoid(), eta)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    return z.sigmoid().detach(), 1 - value.item()


def expected_set_loss(square):
    def loss(p, e):
        size = (p**2 if square else p).sum() + e.sum()
        return 1 - 2 * (e * p).sum() / size

    return loss


# %%
free_linear, dice_linear = minimiser(expected_set_loss(False), eta)
free_squared, dice_squared = minimiser(expected_set_loss(True), eta)
rule_linear = (eta > dice_linear / 2).double()
rule_squared = (eta / dice_squared).clamp(max=1)
gap_linear = (free_linear - rule_linear).abs().mean().item()
gap_squared = (free_squared - rule_squared).abs().mean().item()
print("D, and the mean distance to Eq. 4.5")
print(f"linear:  {dice_linear:.3f}, {gap_linear:.3f}")
print(f"squared: {dice_squared:.3f}, {gap_squared:.3f}")

# %% [markdown]
# The free probabilities end where the formula says. We can now draw, for each loss, which probability it gives
# to a group with the true probability η. The thin black line is the usual threshold.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
(D_linear, p_linear), (D_squared, p_squared) = (
    (dice_linear, rule_linear),
    (dice_squared, rule_squared),
)
grid = torch.linspace(0, 1, 1001)
cost = eta[:, None] * (1 - grid) ** 2 / (grid**2 + 2)  # Eq. 7 with γ = 1, of a positive
cost = cost + (1 - eta[:, None]) * grid**2 / (grid**2 + 1)  # and of a negative
p_eq7 = grid[cost.argmin(1)]

# %% mystnb={"code_prompt_show": "Code of Figure 4.1", "figure": {"caption": "Figure 4.1. The probability that minimises each loss for a group with the true probability \u03b7.", "name": "fig-4-1"}, "image": {"alt": "Five curves from (0, 0) to (1, 1). Cross entropy is the diagonal. Eq. 6 jumps from 0 to 1 at one half, linear dice at 0.27. Eq. 8 is a steeper straight line that reaches 1 at 0.60. Eq. 7 sags below the diagonal and crosses p = 0.5 at 0.56."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.6))
ax.plot(eta, eta, label="cross entropy: η itself", **style("ce"))
ax.plot(eta, eta > 0.5, label="Eq. 6: the majority", **style("eq6"))
ax.plot(eta, p_eq7, label="Eq. 7 (γ = 1)", **style("eq7"))
ax.plot(eta, p_linear, label=f"linear dice: η > {D_linear / 2:.2f}", **style("dl linear"))
ax.plot(eta, p_squared, label=f"Eq. 8: η / {D_squared:.2f}", **style("eq8"))
ax.axhline(0.5, color="k", lw=0.8)
ax.set(xlabel="true probability η of the group", ylabel="p that minimises the loss")
fig.legend(loc="outside lower center", ncols=2, fontsize="small")
plt.show()

# %% [markdown]
# Follow the black line from left to right, and see where each curve crosses it. Cross entropy and Eq. 6 cross at η =
# 0.5, which is the best threshold for accuracy. Eq. 7 crosses later still, at 0.56. At $p = \tfrac12$ it pushes a
# negative down with a slope of 0.64 and a positive up with 0.494, and the two balance where η is $0.64 / (0.64 +
# 0.494)$. The set-level losses cross much earlier: the linear one at 0.27, half of F1, and the squared one at 0.30. These are the **built-in thresholds** of
# the losses: when you choose a loss, you choose a threshold with it. **So dice moves the threshold**, as tuning does
# after training (chapter 02).
#
# What a loss is minimised by is one thing. Whether training gets there is another, and for one of these losses
# it will not.

# %% [markdown]
# ## 4.4 Which losses train?
#
# We train with every loss on the same eight data sets, with the trainer of [section
# 2.3](02_cross_entropy.ipynb). Because a loss may work from one start and fail from another, we use three
# starting biases: −3, where all examples have $p = 0.05$; 0, where they have 0.5; and 2, where they have 0.88.
# From Figure 4.1 we expect the set-level losses to be ahead at a threshold of 0.5. And if dice does nothing but
# move the threshold, then its lead should vanish as soon as we tune the threshold of cross entropy.

# %%
LOSSES = {"cross entropy": binary_cross_entropy, **FOUR}
STARTS = (-3.0, 0.0, 2.0)
runs = train_from_starts(LOSSES, biases=STARTS, seeds=range(8))


# %%
def scores(runs, name, bias, key):
    return np.array([r[key] for r in runs[name, bias]])


linear, eq8 = "dice linear, set level", "Eq. 8: set level, squared"
eq6, eq7 = "Eq. 6: per example, linear", "Eq. 7: per example, squared"
ce, gains = {}, {}
for key, name in [("f1", "threshold 0.5"), ("tuned", "tuned")]:
    ce[key] = scores(runs, "cross entropy", 0.0, key)
    gains[key] = interval(list(scores(runs, eq8, 0.0, "f1") - ce[key]))
    i = gains[key]
    difference = f"{i.mean:+.3f} [{i.low:+.3f}, {i.high:+.3f}]"
    print(f"Eq. 8 minus cross entropy, {name}: {difference}")

# %% mystnb={"code_prompt_show": "Code of Figure 4.2", "figure": {"caption": "Figure 4.2. Test F1 of five losses from three starting biases, eight data sets each, with 95% intervals.", "name": "fig-4-2"}, "image": {"alt": "Two panels with five rows, one for each loss, and three marks in each row. Left, at threshold 0.5: the two set-level losses lie near 0.52, cross entropy at 0.45, Eq. 7 between 0.21 and 0.41, Eq. 6 at 0. Right, at the tuned threshold: nearly all marks lie between 0.48 and 0.52; only Eq. 6 from a start at 2 is near 0.1."}} tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(6.8, 3.4), sharex=True, sharey=True)
titles = {"f1": "threshold 0.5", "tuned": "tuned threshold"}
for ax, (key, title) in zip(axes, titles.items(), strict=True):
    for shift, b, mark in zip((-0.22, 0, 0.22), STARTS, "o^s", strict=True):
        means = [interval(list(scores(runs, name, b, key))) for name in LOSSES]
        middle = [i.mean for i in means]
        ends = [[i.mean - i.low for i in means], [i.high - i.mean for i in means]]
        rows = np.arange(len(means)) + shift
        ax.errorbar(middle, rows, xerr=ends, fmt=mark, ms=4, lw=1, label=f"start at {b:.0f}")
    ax.set(title=title, xlabel="test F1")
axes[0].set_yticks(range(len(LOSSES)), list(LOSSES))
axes[0].invert_yaxis()
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()

# %% [markdown]
# In the left panel *Eq. 6* scores 0 from every start, on every data set. We say that it has **collapsed**: it calls
# everything negative. *Eq. 7* stays behind cross entropy, as its built-in threshold predicts. With a starting bias of
# 2, three of its eight runs end at 0 as well. The two *set-level* losses reach about 0.52 from everywhere, clearly more than cross
# entropy.
#
# In the right panel we have tuned the threshold of every run, and most of the differences are gone. Every loss that
# started at −3 or 0 ends within 0.02 of cross entropy, and the interval of Eq. 8 minus cross entropy includes 0. Even
# the collapsed Eq. 6 had found the right direction from these starts. Only its bias was too low, and the tuned
# threshold repairs that. From the highest start, however, Eq. 6 learned no direction at all. Its F1 there is what you
# get if you call everything positive.
#
# Two questions remain. Why does Eq. 6 collapse, when Eq. 7, which differs by a square, mostly does not? And is
# dice ever more than a threshold?

# %% [markdown]
# ### The collapse of Eq. 6
#
# We watch one training run step by step, on the same toy, from a bias of 0. Beside it we watch Eq. 8.

# %% mystnb={"code_prompt_show": "Code of Figure 4.3", "figure": {"caption": "Figure 4.3. A run that collapses, and one that does not: the mean probability of positives and of negatives at each step, on the toy, from a bias of 0. Left the loss is Eq. 6 and all probabilities end near 0; right it is Eq. 8.", "name": "fig-4-3"}, "image": {"alt": "Left, Eq. 6: the positives climb to 0.8 in ten steps, then fall and join the negatives near 0 at step 30. Right, Eq. 8: they climb in the same way, begin to fall, turn at step 20 and settle just above 0.5; the negatives end near 0.05."}} tags=["hide-input"]
x, y = imbalanced_blobs(seed=0)
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.2), sharey=True)
for ax, name in zip(axes, (eq6, eq8), strict=True):
    z = train_logistic(LOSSES[name], x, y, learning_rate=0.1, steps=150, record_every=1).logits
    for label, look in [(1, {"color": POSITIVE}), (0, {"color": "0.4", "ls": "--"})]:
        ax.plot(z.sigmoid()[:, y == label].mean(1), label=f"y = {label}", **look)
    ax.axhline(0.5, color="k", lw=0.8, ls=":")
    ax.set(xlabel="step", title=name)
axes[0].set_ylabel("mean probability")
axes[1].legend()
plt.show()


# %% [markdown]
# In both panels the positives rise at first. Under Eq. 6 they turn around after ten steps, and fall to where
# the negatives are. The reason is in the bias, which all examples share. There are nineteen negatives for each
# positive, each negative lowers the bias a little, and together they win. Under Eq. 8 the same fall begins. But
# as the positives fall, the dice $D$ falls too, and by [Eq. 4.4](eq-4-4) each positive then counts more. That
# stops the fall.
#
# Eq. 7 is a loss of single examples as well. The difference is in the slope of a negative, the derivative of
# its loss $L_0$ by $p$:
#
# $$ \text{Eq. 6:}\quad \frac{dL_0}{dp} = \frac{\gamma}{(p+\gamma)^2}, \qquad\qquad
# \text{Eq. 7:}\quad \frac{dL_0}{dp} = \frac{2\gamma p}{(p^2+\gamma)^2} $$
#
# As $p$ goes to 0, the first stays at $1/\gamma$ and the second goes to 0. A positive near $p = 0$ has a slope
# of similar size under both, if γ is 1. Near $p = 0$ the many negatives therefore outweigh the positives under
# Eq. 6. With the square, the slope of easy negatives goes to 0, and the positives decide.

# %% [markdown]
# ### Where no straight line is right
#
# So far dice did nothing but move the threshold. But our toy is easy for cross entropy, since a logistic model
# can represent its true probabilities. Real models often cannot. We therefore build a second toy, on purpose,
# where no straight line is right: three negatives in a hundred lie far beyond the positives, to one side.

# %%
def cell(values):
    """Mean and half width of the 95% interval."""
    i = interval(list(values))
    return f"{i.mean:.3f} ± {i.high - i.mean:.3f}"


how = {"biases": STARTS, "seeds": range(8)}
wrong = train_from_starts(LOSSES, blobs=misspecified_blobs, **how)
print("second toy: test F1 at the tuned threshold")
rows = {n: {} for n in LOSSES}
for n, b in product(LOSSES, STARTS):
    rows[n][f"start at {b:.0f}"] = cell(scores(wrong, n, b, "tuned"))
pd.DataFrame(rows).T

# %% mystnb={"code_prompt_show": "Code of Figure 4.4", "figure": {"caption": "Figure 4.4. The second toy, and where two losses put the line between positive and negative, each at its tuned threshold. Orange triangles are positives.", "name": "fig-4-4"}, "image": {"alt": "A cloud of negatives at the origin, the positives up and to its right, and a small cloud of negatives far to the right. The line of cross entropy is nearly level and cuts the far cloud, most of which lies above it, on the positive side; the line of Eq. 8 falls steeply between the first two clouds and has all of the far cloud on its positive side."}} tags=["hide-input"]
x2, y2 = misspecified_blobs(seed=0)
fig, ax = plt.subplots(figsize=(6, 3.9))
ax.scatter(*x2[y2 == 0].T, s=5, color=NEGATIVE, alpha=0.4)
ax.scatter(*x2[y2 == 1].T, s=12, color=POSITIVE, marker="^")
across, far = torch.linspace(-3.5, 9, 2), (x2[:, 0] > 4) & (y2 == 0)
above = {}
for name in ("cross entropy", eq8):
    fit = train_logistic(LOSSES[name], x2, y2)
    cut = best_threshold(fit.predict(x2), y2)[0]
    height = (cut - fit.bias - fit.weight[0] * across) / fit.weight[1]
    above[name] = (fit.predict(x2[far]) > cut).double().mean().item()
    ax.plot(across, height, label=name, **style(name))
ax.set(xlabel="feature 1", ylabel="feature 2", xlim=(-3.6, 9), ylim=(-3.6, 4.6))
fig.legend(loc="outside lower center", ncols=2, fontsize="small")
plt.show()

# %%
by_ce = scores(wrong, "cross entropy", 0.0, "tuned")
i = interval(list(scores(wrong, eq8, 0.0, "f1") - by_ce))
print("Eq. 8 at 0.5 minus cross entropy at its tuned threshold:")
print(f"{i.mean:+.3f} [{i.low:+.3f}, {i.high:+.3f}]")

# %% [markdown]
# Here dice beats the tuned threshold, and the interval is clearly above 0. Figure 4.4 shows how. In it, cross
# entropy calls 65% of the far negatives positive. Eq. 8 does something that looks worse: it calls all of them
# positive. Why is that better? Under cross entropy an example that the model is sure about, and wrong, costs
# more the farther out it lies. Cross entropy therefore turns its whole line in order to please a few far
# points. A set-level loss charges at most one false positive for each of them. It gives them up, and gets more
# of the rest right.
#
#
# **Where the model can be right, dice only moves the threshold. Where the model is wrong, dice can also find another
# direction**, which tuning cannot. Whether that happens on real text is a question for [chapter
# 17](17_when_does_dice_help.ipynb).
#
# All of this was computed on whole data sets. In practice the sum over the set is a sum over a batch, and a
# batch may be small.

# %% [markdown]
# ## 4.5 Small batches
#
# In training, the "set" of a set-level loss is a batch. If positives are rare and batches are small, a batch
# may have no positive at all. How often does that happen?

# %%
sizes = [16, 64, 256, 1024]
shares = {}
for s in (0.001, 0.01, 0.05):
    shares[f"{s:.1%} positives"] = [stats.binom.pmf(0, b, s) for b in sizes]
pd.DataFrame(shares, index=[f"batch of {b}" for b in sizes]).T.round(3)


# %% [markdown]
# With one positive in a hundred, 85% of the batches of 16 have none. You might expect that such a batch teaches
# nothing, but it has a gradient all the same. If γ is above 0, the batch lowers every $p$. The slope of the linear
# loss is then $\gamma/(\sum p + \gamma)^2$ for each example. That of the squared loss is $2\gamma p/(\sum p^2 +
# \gamma)^2$, which fades as $p$ falls. Here, too, the square protects. With γ = 0 the loss of an empty batch is the
# constant 1, which has no gradient.
#
# ### The dice of a batch is not the dice of the set
#
# There is a second problem, and it has nothing to do with training. If you average the dice of small batches, you do
# not get the dice of the set. To see it, we take a problem with one positive in a hundred, its true probabilities,
# and a threshold. Every example is then a true positive, an error or a true negative with a known chance, so we can
# compute the expected dice of a batch exactly, as a finite sum.

# %%
def expected_batch_dice(b, chance_tp, chance_wrong, gamma=1.0, most=60):
    """Exact E[(2TP + γ)/(2TP + FP + FN + γ)] over batches of b examples."""
    counted = np.arange(min(b, most) + 1)
    tp, wrong = (v.ravel() for v in np.meshgrid(counted, counted))
    ok = tp + wrong <= b
    tp, wrong = tp[ok], wrong[ok]
    chances = [chance_tp, chance_wrong, 1 - chance_tp - chance_wrong]
    counts = np.stack([tp, wrong, b - tp - wrong], -1)
    weight = stats.multinomial.pmf(counts, b, chances)
    dice = (2 * tp + gamma) / (2 * tp + wrong + gamma)
    return float((weight * dice).sum())


problem = {"positive": 0.01, "separation": 3.0}
x_big, y_big = imbalanced_blobs(400_000, seed=99, **problem)
true_p = optimal_logits(x_big, **problem).sigmoid()


def chances(cut):
    said, gold = true_p > cut, y_big.bool()
    tp, wrong = (said & gold).double(), (said ^ gold).double()
    return float(tp.mean()), float(wrong.mean())


# %%
tp, wrong = chances(0.3)
print(f"F1 of the set: {2 * tp / (2 * tp + wrong):.3f}")
print("expected dice of a batch of 16")
print(f"  of this model:   {expected_batch_dice(16, tp, wrong):.4f}")
print(f"  always negative: {expected_batch_dice(16, 0.0, 0.01):.4f}")

# %% [markdown]
# On the whole set our model has an F1 of 0.63. The expected dice of its batches is 0.948, far higher. This is because
# a batch without positives, in which the model says nothing, scores $\gamma/\gamma = 1$. The last line should alarm
# you. A model that *always* says "negative" gets nearly as much, so that small batches reward a useful model by only
# 0.024. Does this also move the threshold?

# %%
cuts = np.linspace(0.02, 0.98, 33)
pairs = [chances(c) for c in cuts]
of_set = [2 * t / (2 * t + w) for t, w in pairs]
of_batch = [expected_batch_dice(16, t, w) for t, w in pairs]
best_cut = {"set": cuts[np.argmax(of_set)], 16: cuts[np.argmax(of_batch)]}
print({name: round(float(cut), 2) for name, cut in best_cut.items()})


# %% [markdown]
# It does. On the whole set the best threshold is 0.35, and in batches of 16 it is 0.44. That is nearer to one half,
# the best threshold for accuracy. The reason is that a batch with at most one positive is almost a single example,
# and section 4.2 showed that single examples lead to an error rate.
#
# <div class="play" data-play="batches"><img src="../_static/play-batches.png"
# alt="Left, F1 of the set and the expected dice of batches of 16 against the threshold: the batches' curve is flat, near 0.95. Right, how many positives a batch has: none in 85 of 100 batches."></div>
#
# You can train on batches of 16 in the Playground, with the <a
# href="../docs/playground.html#loss=dl&amp;squared=false&amp;batch=16">linear</a> and with the <a
# href="../docs/playground.html#loss=dl&amp;batch=16">squared</a> loss.
#
# ### Does it matter in training?
#
# We train on data with one positive in a hundred, for the same number of steps, with four batch sizes. From the
# slopes above we expect the linear loss to suffer most.

# %%
def train_in_batches(losses, b):
    """Test F1 of six seeds with each loss, from a start at 0."""
    data = {"n": 4000, "positive": 0.01, "separation": 3.0}
    how = {"steps": 400, "learning_rate": 0.05, "batch_size": b}
    how |= {"biases": [0.0], "seeds": range(6)}
    trained = train_from_starts(losses, **data, **how).items()
    return {name: [r["f1"] for r in runs] for (name, _), runs in trained}


three = {n: LOSSES[n] for n in ("cross entropy", linear, eq8)}
by_size = {b: train_in_batches(three, b) for b in sizes}
by_batch = {(n, b): by_size[b][n] for n, b in product(three, sizes)}
rows, zeros = {n: {} for n in three}, {n: {} for n in three}
for (n, b), values in by_batch.items():
    rows[n][f"batch of {b}"] = cell(values)
    zeros[n][f"batch of {b}"] = values.count(0.0)
display(Markdown("Test F1 at threshold 0.5: mean ± half its 95% interval"))
display(pd.DataFrame(rows).T)
display(Markdown("Runs of six that end at an F1 of 0"))
display(pd.DataFrame(zeros).T)

# %% [markdown]
# The linear loss suffers, as we expected: in batches of 16 and 64 it collapses in every run, and only in larger ones
# does it recover. The squared loss and cross entropy never collapse. This is so even in the smallest batches, most of
# which have no positive, and there the mean F1 of the squared loss is not below that of cross entropy. On average the
# squared loss is better in batches of 256 than in batches of 16, although the intervals are wide.
#
# What follows for you? Keep the squares. Choose batches of several hundred decisions if positives are as rare
# as here; for a tagger that is a handful of sentences. If several hundred sentence pairs do not fit into
# memory, add the sums of several batches before you divide (exercise 4.4). The squares alone are not always
# enough. Section 17.4 shows a rare label on real text where squared dice fails in small batches from a bias
# near 0. It works from the log prior, with two positives in every batch, or in larger batches. With several
# classes there is one more reason for the squares: a linear loss keeps a fresh tagger at the majority class
# ([Eq. 7.2](eq-7-2)).

# %% [markdown]
# ## Summary
#
# - A per-example dice loss is an error rate on hard predictions ([Eq. 4.1](eq-4-1)), and only the set-level
#   loss is $1 - F_1$ ([Eq. 4.2](eq-4-2)).
# - Set-level dice has a built-in threshold, half of F1 for the linear form and a little above it for the
#   squared one ([Eq. 4.5](eq-4-5)).
# - [Eq. 6](eq-6) collapses from every start, because the many negatives keep lowering the bias; the set-level
#   losses never collapse on full batches.
# - Where the model can represent the true probabilities, we saw no gain of dice over cross entropy with a tuned
#   threshold; where no straight line is right, dice can find a better direction.
# - At set level γ hardly matters where a batch has many positives; in a batch without any, γ alone gives a
#   gradient, and that gradient lowers every $p$.
# - Where batches may lack positives, use the squared loss, start at the log prior, and take larger batches or
#   add the sums of several.

# %% [markdown]
# ## Exercises
#
# **Exercise 4.1 (recall).** A modest model gives every positive 0.9 and every negative 0.1 (5% positives, 1000
# examples), so that every answer is right. What do the four dice losses say?

# %% mystnb={"code_prompt_show": "Solution 4.1"} tags=["solution", "hide-cell"]
modest = torch.where(gold == 1, 0.9, 0.1).logit()
said = {name: loss(modest, gold).item() for name, loss in FOUR.items()}
for name, value in said.items():
    print(f"{name:30} {value:.3f}")
# The linear set-level loss says 0.524: 950 times 0.1 is 95 in the denominator, twice the number of
# positives. Squared, the same crowd counts 9.5.
assert round(said[linear], 3) == 0.524

# %% [markdown]
# **Exercise 4.2 (pencil).** Prove that per example [Eq. 6](eq-6) and [Eq. 7](eq-7) depend on $p$
# only through the error $e = |p - y|$, and give the two functions for each label.

# %% mystnb={"code_prompt_show": "Solution 4.2"} tags=["solution", "hide-cell"]
# For y = 1 put p = 1 - e, for y = 0 put p = e. Eq. 6: y = 1 gives e/(2 - e + γ), y = 0 e/(e + γ).
# Eq. 7: y = 1 gives e²/((1 - e)² + 1 + γ), since (1 - e)² + 1 - 2(1 - e) = e²; y = 0 e²/(e² + γ).
e, g = sp.symbols("e gamma", positive=True)
for k, below in {1: 2 - e + g, 2: (1 - e) ** 2 + 1 + g}.items():
    assert sp.simplify(1 - (2 * (1 - e) + g) / ((1 - e) ** k + 1 + g) - e**k / below) == 0
    assert sp.simplify(1 - g / (e**k + g) - e**k / (e**k + g)) == 0


# %% [markdown]
# **Exercise 4.3 (apply).** Which batch size is large enough that 95% of all batches have at least one positive,
# and at least five, for shares of 0.1%, 1%, 5% and 20%?

# %% mystnb={"code_prompt_show": "Solution 4.3"} tags=["solution", "hide-cell"]
def batch_for(share, at_least, sure=0.95):
    b = at_least
    while stats.binom.sf(at_least - 1, b, share) < sure:
        b += 1
    return b


rows = {f"{s:.1%}": {k: batch_for(s, k) for k in (1, 5)} for s in (0.001, 0.01, 0.05, 0.2)}
pd.DataFrame(rows).T.rename(columns={1: "one positive", 5: "five positives"})

# %% [markdown]
# **Exercise 4.4 (apply).** You can only fit 16 examples into memory. Compute the dice loss of 2000
# examples in 125 pieces: as the mean of the pieces' losses, and by adding `binary_dice_statistics`
# and dividing once. Compare with the loss of all at once, and with what the same mean does to cross
# entropy. Then get the *gradient* of the whole with one piece in memory at a time.

# %% mystnb={"code_prompt_show": "Solution 4.4"} tags=["solution", "hide-cell"]
z = optimal_logits(x).requires_grad_()
pieces = list(zip(z.split(16), y.split(16), strict=True))
whole = binary_dice_statistics(z, y, squared=True).loss()
mean = torch.stack([binary_dice_statistics(a, b, squared=True).loss() for a, b in pieces]).mean()
summed = [binary_dice_statistics(a, b, squared=True) for a, b in pieces]
total = sum(summed[1:], start=summed[0]).loss()
print(f"at once {whole:.4f}, mean of pieces {mean:.4f}, sum of statistics {total:.4f}")
torch.testing.assert_close(total, whole)
# A mean of means is a mean: the pieces of cross entropy lose nothing.
ce_pieces = torch.stack([binary_cross_entropy(a, b) for a, b in pieces]).mean()
torch.testing.assert_close(ce_pieces, binary_cross_entropy(z, y))
# The sum above keeps the graphs of all pieces. In two passes one is enough: first the sums, without
# a gradient; then the slope of the loss by the sums, sent back through each piece.
(exact,) = torch.autograd.grad(whole, z, retain_graph=True)
(of_mean,) = torch.autograd.grad(mean, z)
backward_in_two_passes(BinaryDiceLoss(), lambda part: part, pieces)
torch.testing.assert_close(z.grad, exact)
print(f"cosine of the mean's gradient with the exact one: "
      f"{torch.cosine_similarity(of_mean, exact, dim=0):.2f}; in two passes: "
      f"{torch.cosine_similarity(z.grad, exact, dim=0):.2f}")  # fmt: skip

# %% [markdown]
# ## Further reading
#
# - {cite:t}`milletari2016vnet`: V-Net, where the squared denominator comes from, for a prostate that fills a
#   small part of a scan.
# - {cite:t}`bertels2021`: which predictions minimise soft dice where labels are uncertain, in theory and on
#   scans. Its volumes are biased for the reason of section 4.3: dice moves the threshold.
# - {cite:t}`tilborghs2022`: absent classes, over what one sums, and the smoothing term; the derivative of dice
#   is "the real motor", as in section 7.5.
