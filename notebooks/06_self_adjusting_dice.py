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
# # 06 Self-adjusting dice and focal loss
#
# From a loss you expect two things: it raises the probability of a positive, and it lowers the probability of a
# negative. Cross entropy, dice and Tversky loss do both. In this chapter we come to the loss that the paper is
# known for, self-adjusting dice (DSC). Its idea sounds right: an example that the model is already sure about
# should count less. As the loss is printed, however, it does the opposite of what you expect as soon as $p >
# 0.5$. Positives go down, and negatives go up. We find out why, and we find the point where the direction
# changes. The authors' code has an exponent α that moves this point to $1/(1+\alpha)$. If you keep all examples
# below it, the loss works.

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

from dicelab.figures import style, use_style

use_style()
torch.set_default_dtype(torch.float64)


def dsc_loss(p, y, alpha=1.0, gamma=1.0):
    """Eq. 6.1, one value per example; alpha = 1 is 1 − Eq. 12."""
    q = (1 - p) ** alpha * p
    return 1 - (2 * q * y + gamma) / (q + y + gamma)


# %% mystnb={"code_prompt_show": "Code of Figure 6.1", "figure": {"caption": "Figure 6.1. The loss of one example for three exponents, \u03b3 = 1. With \u03b1 = 1 the loss is the same for p and for 1 \u2212 p."}, "image": {"alt": "Two panels. Left, a positive: with alpha 0 the loss falls from 0.5 to 0; with alpha 1 it falls to 0.33 at p = 0.5 and rises back to 0.5. Right, a negative: with alpha 0 it rises to 0.5; with alpha 1 it is a hill of height 0.2 over p = 0.5 with zero at both feet. The curve of alpha 0.1 follows that of alpha 0 up to 0.9 and then turns."}} tags=["hide-input"]
curve = torch.linspace(0, 1, 401)
lines = {
    "α = 0 (Eq. 6)": (0.0, style("eq6")),
    "α = 0.1": (0.1, style("dsc") | {"linestyle": "-"}),
    "α = 1 (Eq. 12)": (1.0, style("dsc")),
}
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3), sharey=True)
for axis, y, name in zip(axes, (1.0, 0.0), ("a positive", "a negative"), strict=True):
    for label, (a, line) in lines.items():
        axis.plot(curve, dsc_loss(curve, torch.tensor(y), a), label=label, **line)
    axis.set(title=f"Loss of {name}", xlabel="probability $p$", ylim=(0, 0.55))
axes[0].set_ylabel("loss")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()

# %% [markdown]
# Follow the dotted curves of Figure 6.1, α = 1, which is the printed loss. A ball that rolls downhill on the
# left, for a positive, ends in the middle. On the right, for a negative, it ends at one of the two ends,
# depending on where it starts. With α = 0.1 the curve follows plain dice (α = 0) up to $p \approx 0.9$, and
# only then turns.
#
# - **For** readers who want to know before training where the direction of this loss is wrong.
# - **You need** chapters 03 and 04 (dice, γ, the two levels) and the derivative of a quotient.
# - **You will be able to** say where the loss changes direction, choose α and a starting bias that stay below
#   that point, and say what focal loss does to easy negatives that this loss does not.
# - **Time** about a minute on a CPU; a GPU does not help. Symbols and terms: [Notation and
#   glossary](../docs/notation.md).

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import warnings
from itertools import product

import pandas as pd
import sympy as sp
from IPython.display import Math, display

from dicebook import BinaryDiceLoss, BinaryFocalLoss, BinarySelfAdjustingDiceLoss
from dicelab.figures import loss_curves
from dicelab.toy import (
    f1_score,
    imbalanced_blobs,
    optimal_logits,
    train_from_starts,
    train_logistic,
)

warnings.filterwarnings("ignore", message="alpha=")  # section 6.6 shows what it warns of


# %% [markdown]
# ## 6.1 The F1 of one example
#
# How does one arrive at such a loss? The paper starts from F1, and, like chapter 03, from a single example:
#
# > "Consider a simple case where the dataset consists of only one example $x_i$, which is classified as
# > positive as long as $p_{i1}$ is larger than 0.5." (Section 3.4)
#
# (eq-11)=
# The decision is written as an indicator $\mathbb{I}$, which is 1 if its condition is true. The F1 of the
# example is then
#
# $$
# \mathrm{F1}(x_i) = 2\,\frac{\mathbb{I}(p_{i1} > 0.5)\,y_{i1}}{\mathbb{I}(p_{i1} > 0.5) +
# y_{i1}} \tag{11}
# $$
#
# This is [Eq. 5](eq-5) with a decision in place of the probability. We look at the four cases.

# %%
def f1_of_one(p, y):  # Eq. 11
    said = (p > 0.5).double()
    return 2 * said * y / (said + y)


p, y = (
    torch.tensor([0.9, 0.3, 0.9, 0.3]),
    torch.tensor([1.0, 1.0, 0.0, 0.0]),
)
found = f1_of_one(p, y)
pd.Series(found, ["found", "missed", "false alarm", "rightly left alone"])


# %% [markdown]
# The commonest case, a negative that is rightly left alone, is $0/0$. (The library sets it to 1, the limit of
# [Eq. 6](eq-6).) A positive that is barely found scores as well as one that the model is sure about, because
# Eq. 11 looks only at the decision.
#
# Under dice with probabilities, on the other hand, a positive keeps a gradient although its answer is already
# right. The paper fears that easy examples, and easy negatives most of all, then "dominate training". The
# argument has a flaw. Under [Eq. 5](eq-5) easy negatives cannot dominate: the score of a negative is 0 for
# every $p$, so it has no gradient at all (section 3.4). The fear fits [Eq. 6](eq-6), where the smoothing γ
# gives every negative a gradient. Self-adjusting dice starts from that loss.

# %% [markdown]
# ## 6.2 The self-adjusting dice loss
#
# > "we propose to multiply the soft probability p with a decaying factor (1 − p), changing Eq.11 to the
# > following adaptive variant of DSC" (Section 3.4)
#
# (eq-12)=
# We want a weight that becomes smaller as the model becomes sure. The paper takes $1 - p$:
#
# $$
# \begin{aligned}
# &\mathrm{DSC}(x_i) = \\
# &\quad \frac{2 (1 - p_{i1})\, p_{i1} \cdot y_{i1} + \gamma}
# {(1 - p_{i1})\, p_{i1} + y_{i1} + \gamma}
# \end{aligned} \tag{12}
# $$
#
# The loss is $1 - \mathrm{DSC}$. Compare the formula with Eq. 6, and you see that $(1-p)\,p$ has taken the
# place of $p$, above and below; nothing else has changed. The paper says that it changes Eq. 11, but Eq. 11 has
# no γ, and no $p$ outside of the indicator. What it really changes is Eq. 6, the linear dice, and not the
# squared one that the paper calls DL.
#
# (eq-6-1)=
# The authors' code has one thing that the paper does not mention, an exponent α on the factor. We write $q$ for
# what takes the place of $p$:
#
# $$
# \begin{aligned}
# q &= (1 - p)^{\alpha}\, p, \\
# \mathcal{L} &= 1 - \frac{2 q y + \gamma}{q + y + \gamma}
# \end{aligned} \tag{6.1}
# $$
#
# With α = 1 this is Eq. 12. With α = 0 the factor is 1, and the loss is Eq. 6. In code we write it for one
# example, and, as in chapter 04, for a set.

# %%
def dsc_loss(p, y, alpha=1.0, gamma=1.0):
    """Eq. 6.1, one value per example; alpha = 1 is 1 − Eq. 12."""
    q = (1 - p) ** alpha * p
    return 1 - (2 * q * y + gamma) / (q + y + gamma)


def dsc_loss_set(p, y, alpha=1.0, gamma=1.0):
    """The same on a set: sums above, sums below, one division."""
    q = (1 - p) ** alpha * p
    return 1 - (2 * (q * y).sum() + gamma) / (q.sum() + y.sum() + gamma)


# %% [markdown]
# The library has both, with `squared=False`; its default squares the denominator. Does the new weight do what
# it should? We follow the gradient of one example.

# %% [markdown]
# ## 6.3 A positive that is right
#
# Take a positive, and let the model become surer and surer that it is one. We expect a slope that is negative,
# so that training raises $p$, and that becomes flatter as $p$ rises.

# %%
p = torch.tensor([0.1, 0.3, 0.5, 0.7, 0.9, 0.99], requires_grad=True)
dsc_loss(p, torch.ones(6)).sum().backward()
of_positive = pd.Series(p.grad, p.tolist())
of_positive.round(3)

# %% [markdown]
# Up to $p = 0.5$ the slopes are as expected. Beyond it they become *positive*, and they grow. At $p = 0.9$ the
# derivative is 0.549, so gradient descent moves this positive **down**, although it is right. What has
# happened? We differentiate Eq. 6.1 with α = 1, for a positive and for a negative:
#
# $$ \begin{aligned}
# y = 1: \quad & \frac{d\mathcal L}{dp} = \frac{(2+\gamma)\,(2p - 1)}{(1 + p - p^2 + \gamma)^2} \\
# y = 0: \quad & \frac{d\mathcal L}{dp} = -\frac{\gamma\,(2p - 1)}{(p - p^2 + \gamma)^2}
# \end{aligned} $$
#
# Both numerators have the factor $2p - 1$, which changes its sign at $p = 0.5$. The reason is simple. The loss
# sees only $q = (1-p)\,p$, and $q$ has the same value for $p$ and for $1 - p$. To the loss, $p = 0.99$ looks
# like $p = 0.01$.
#
# ## 6.4 A negative that is wrong
#
# If the sign changes for positives, it must change for negatives, too. We look at a negative to which the model
# gives a high probability, which is the kind of mistake that a loss should punish most.

# %%
p = torch.tensor([0.01, 0.1, 0.5, 0.9, 0.99], requires_grad=True)
loss = dsc_loss(p, torch.zeros(5))
loss.sum().backward()
columns = {"loss": loss.detach(), "derivative": p.grad}
of_negative = pd.DataFrame(columns, index=p.tolist())
of_negative.round(3)


# %% [markdown]
# At $p = 0.9$ a negative has the derivative −0.673: it moves *up*, in the wrong direction. Its loss is highest
# in the middle, and falls to nothing at $p = 1$. In other words, a negative that the model is entirely wrong
# about costs nothing at all. We let six examples of each label follow the gradient, each with its own logit,
# and see where they end.

# %%
def follow(y, alpha=1.0, steps=4000):
    """Where gradient descent takes the logit of one example, six times."""
    start = torch.tensor([0.05, 0.2, 0.4, 0.6, 0.8, 0.95])
    x = torch.logit(start).requires_grad_()
    for _ in range(steps):
        loss = dsc_loss(x.sigmoid(), torch.full_like(start, y), alpha).sum()
        x.data -= torch.autograd.grad(loss, x)[0]
    return pd.Series(x.sigmoid().detach(), start.tolist())


arrivals = {
    "positive ends at": follow(1.0),
    "negative ends at": follow(0.0),
}
pd.DataFrame(arrivals).rename_axis("start").round(2)

# %% [markdown]
# Every positive ends at 0.5, the usual threshold, where a small change decides what it is called. For the
# negatives the start decides: those that start below 0.5 go down to 0, and those that start above it go up
# to 1. Could one have seen this in the paper?

# %% [markdown]
# ## 6.5 Figure 1, as printed and as computed
#
# > "The derivative of DSC approaches zero right after p exceeds 0.5, and for the other losses, the derivatives
# > reach 0 only if the probability is exactly 1" (caption of Figure 1)
#
# The printed Figure 1 shows four losses for a positive only. We compute it again, with all five shapes of the
# paper's Table 2, and for both labels.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
P, Y, g = sp.symbols("p y gamma", real=True)
eq12 = (2 * (1 - P) * P * Y + g) / ((1 - P) * P + Y + g)

# %% mystnb={"code_prompt_show": "Code of Figure 6.2", "figure": {"caption": "Figure 6.2. The paper's Figure 1, for both labels: the derivative by the probability. Below zero, training raises p. Settings: \u03b3 = 1, Tversky's prices 0.5 and 0.5, focal exponent 2."}, "image": {"alt": "Two panels. Top, a positive: all curves start below zero; DSC crosses zero at 0.5 and climbs to 0.75; focal loss and dice meet zero at p = 1; cross entropy and Tversky stay below it. Bottom, a negative: all but DSC stay at or above zero; DSC starts at 1, crosses zero at 0.5 and falls to minus 1."}} tags=["hide-input"]
a_focal = 2
formulas = {  # Table 2 for p = p_i1, with γ = 1; Tversky with 0.5, 0.5; focal exponent 2
    "cross entropy": (-sp.log(P), -sp.log(1 - P)),
    "focal loss": (-((1 - P) ** a_focal) * sp.log(P), -(P**a_focal) * sp.log(1 - P)),
    "dice, Eq. 7": tuple(1 - (2 * P * k + 1) / (P**2 + k + 1) for k in (1, 0)),
    "Tversky": (1 - (P + 1) / (P + (1 - P) / 2 + 1), 1 - 1 / (P / 2 + 1)),
    "DSC": tuple((1 - eq12).subs({Y: k, g: 1}) for k in (1, 0)),
}
grid = torch.linspace(0.005, 0.995, 199)
fig, axes = plt.subplots(2, 1, figsize=(5.6, 4.9), sharex=True)
for axis, k, name in zip(axes, (0, 1), ("a positive", "a negative"), strict=True):
    slopes = {
        label: sp.lambdify(P, sp.diff(pair[k], P), "numpy")(grid.numpy())
        for label, pair in formulas.items()
    }
    loss_curves(slopes, grid, ylabel="dL/dp", ax=axis)
    axis.axhline(0, color="0.3", lw=0.8)
    axis.set(title=f"Derivative for {name}", ylim=(-2.5, 2.5))
axes[0].set_xlabel("")
fig.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small"
)
[axis.get_legend() and axis.get_legend().remove() for axis in axes]
plt.show()

# %% [markdown]
# The caption is right that the derivative of DSC is zero at $p = 0.5$. But it does not *approach* zero after
# that: it crosses zero, and climbs. In the lower panel, which the paper does not show, DSC does the opposite
# for a negative. In the right half it is on the wrong side of the zero line in both panels, and it is the only
# loss that ever is. So the printed loss cannot be used as it is. The authors' exponent, however, changes the
# picture.

# %% [markdown]
# ## 6.6 The turning point
#
# Where exactly does the direction change, for any α? The loss depends on $p$ only through $q$, so it turns
# where $q$ turns. We differentiate $q = (1-p)^{\alpha}\,p$ by the product rule:
#
# $$ \frac{dq}{dp} = (1-p)^{\alpha} - \alpha\,p\,(1-p)^{\alpha - 1} = (1-p)^{\alpha - 1}\,\bigl(1 - (1+\alpha)\,p\bigr) $$
#
# (eq-6-2)=
# The first factor is positive. The second vanishes at the **turning point**
#
# $$
# \begin{aligned}
# p^* &= \frac{1}{1+\alpha}, \\
# x^* &= \log\frac{p^*}{1-p^*} = -\ln \alpha \quad \text{(as a logit)}
# \end{aligned} \tag{6.2}
# $$
#
# Below $p^*$, $q$ rises with $p$, and the loss moves examples in the right direction. Above it, $q$ falls, and
# the direction is wrong. With α = 1 this is the point in the middle that we know. As α becomes smaller, the
# turning point moves to the right. And $q$ is never larger than its value $q^*$ at the turning point. So even a perfect
# positive costs at least $1 - \frac{2q^*+\gamma}{q^*+1+\gamma}$. We call this the floor of the loss. We let positives train until they stop, for several α, and compute the floors: of one
# example, of a large set with linear sums, and of a large set with squares.

# %%
exponents = torch.tensor([0.01, 0.1, 0.5, 1.0, 2.0])
x = torch.zeros(5, requires_grad=True)
optimizer = torch.optim.Adam([x], lr=0.05)
for _ in range(4000):
    optimizer.zero_grad()
    dsc_loss(x.sigmoid(), torch.ones(5), exponents).sum().backward()
    optimizer.step()
stops = x.sigmoid().detach()
q_star = stops * (1 - stops) ** exponents
columns = {
    "1/(1+α)": 1 / (1 + exponents),
    "stops at": stops,
    "−ln α": 0 - exponents.log(),
    "floor, example": dsc_loss(stops, torch.ones(5), exponents),
    "floor, set": (1 - q_star) / (1 + q_star),
    "floor, set, squared": 1 - 2 * q_star / (q_star**2 + 1),
}
floors = pd.DataFrame(columns, index=exponents.tolist())
floors.round(3)

# %% [markdown]
# The positives stop where the formula says. The floor of a squared set, the library's default, is the lowest if
# α is 0.1 or less. This matters when you read a training curve: a loss that ends well above zero may have
# nothing left to learn.
#
# With a small α little is left of the factor: $(1 - p)^{0.01}$ is above 0.95 for all $p < 0.99$. Is the loss
# then anything but plain dice? We compare the two gradients, on five hundred random logits on both sides of 0,
# with one label in twelve positive.

# %%
generator = torch.Generator().manual_seed(0)
target = (torch.rand(500, generator=generator) < 0.1).double()
logit = 3 * torch.randn(500, generator=generator)
logit.requires_grad_()
loss = BinaryDiceLoss(squared=False)(logit, target)
(plain,) = torch.autograd.grad(loss, logit)
cosines = {}
for a in (0.01, 0.1, 0.5, 1.0):
    loss = dsc_loss_set(logit.sigmoid(), target, a)
    (adjusted,) = torch.autograd.grad(loss, logit)
    cosines[a] = torch.cosine_similarity(plain, adjusted, dim=0).item()
name = "cosine to the gradient of plain dice"
pd.Series(cosines, name=name).rename_axis("α").round(4)

# %% [markdown]
# With α = 1 the two gradients are nearly at right angles. With α = 0.01, as in the authors' scripts, they are
# almost the same. So the loss that was trained in practice is close to plain dice, and the loss that was
# printed is something else. The default of dicebook is 0.1. From 0.5 on, dicebook warns.
#
# So far all of this was about one example. Chapter 04 taught us to prefer losses of a whole set. Does summing
# over a set move the turning point?
#
# ## 6.7 On a set the turning point stays
#
# We want to know the gradient of one example inside a set. We take its $q_i$ out of the two sums, and call the
# rest of the numerator $2U$ and the rest of the denominator $V$. For a positive the loss is $1 - 2(U +
# q_i)/(V + q_i)$, and for a negative it is $1 - 2U/(V + q_i)$. The quotient rule gives
#
# $$ y_i = 1: \quad \frac{\partial\mathcal L}{\partial q_i} = -\frac{2\,(V - U)}{(V + q_i)^2}, \qquad\qquad
# y_i = 0: \quad \frac{\partial\mathcal L}{\partial q_i} = \frac{2\,U}{(V + q_i)^2} $$
#
# Whatever is in $U$ is in $V$ as well, so $V$ exceeds $U$. The first slope is therefore negative and the second
# positive, for any set (and with squared sums, too, by [Eq. 4.4](eq-4-4)). The set decides how *strong* the
# gradient of an example is, but never its direction. The direction depends on $dq/dp$ alone, and that changes
# its sign at $p^*$ as before.
#
# This tells you what can go wrong in training. A fresh model gives all examples about the same probability, and
# its bias $b_0$ decides which. If $b_0$ is below −ln α, all examples start on the right side. If it is above,
# every positive moves down and every negative moves up. We test this prediction with seven exponents and ten
# starting biases, on blobs with few positives.

# %%
alphas, biases = (
    [1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01],
    [-3, -1, -0.2, 0.2, 1, 2, 2.5, 3.5, 4.2, 5],
)
x, y = imbalanced_blobs(2000, seed=0)
x_test, y_test = imbalanced_blobs(2000, seed=1)
f1 = torch.zeros(len(alphas), len(biases))
for i, a in enumerate(alphas):
    loss = BinarySelfAdjustingDiceLoss(squared=False, alpha=a, level="set")
    how = {"biases": biases, "seeds": [0], "steps": 120}
    trained = train_from_starts({a: loss}, **how)
    f1[i] = torch.tensor([trained[a, b][0]["f1"] for b in biases])

# %%
below = torch.tensor(biases) < -torch.tensor(alphas).log()[:, None]
for sign, cells in (("<", f1[below]), (">", f1[~below])):
    span = f"{cells.min():.2f} to {cells.max():.2f}"
    print(f"b0 {sign} -ln(alpha): F1 {span}")


# %% [markdown]
# <div class="play" data-play="starts"><img src="../_static/play-starts.png"
# alt="Left, the table of test F1 by exponent and starting bias, with a cell chosen; right, the mean probability of positives and of negatives during its run, and the turning point."></div>
#
# All seventy runs do as predicted: where $b_0$ is below −ln α the loss trains, and where it is above, every run
# collapses. You can click a run in the table to see how it went, and the <a
# href="../docs/playground.html#loss=dsc&amp;squared=false&amp;alpha=1&amp;bias=2">Playground</a> has a start on
# the wrong side. Two things follow for you. Start the bias of the output layer at the log prior, which is about
# −3 here. Or choose α so small that $p^*$ lies above all probabilities of the fresh model. [Chapter
# 07](07_all_losses.ipynb) repeats this with seeds and intervals.
#
# The loss thus has a turning point, you can compute it, and you can keep the examples below it. One promise of
# the loss remains: does it do anything about easy negatives?

# %% [markdown]
# ## 6.8 Easy negatives: what focal loss does and (1 − p) does not
#
# > "A close look at Eq.12 reveals that it actually mimics the idea of focal loss" (Section 3.4)
#
# (eq-6-3)=
# Focal loss {cite}`lin2017focal` was made for object detection, where nearly all candidates are easy negatives.
# It multiplies cross entropy by a power of the probability that is **missing from the true class**. The
# exponent is γ in the paper; we call it $f$:
#
# $$
# \begin{aligned}
# \mathrm{FL} &= -(1 - p_t)^{f} \log p_t, \\
# p_t &= p_{i1} \text{ if } y_{i1} = 1, \text{ else } p_{i0}
# \end{aligned} \tag{6.3}
# $$
#
# In words: $p_t$ is the probability that the model gives to the right answer. If it is high, the factor is low,
# and the example hardly counts, whichever label it has.

# %%
def focal_loss(p, y, f=2.0):  # Eq. 6.3
    p_true = torch.where(y == 1, p, 1 - p)
    return -((1 - p_true) ** f) * p_true.log()


# %% [markdown]
# Now compare the two factors for a *negative*. The right answer has the probability $1 - p_{i1}$, so focal loss
# multiplies by $p_{i1}^f$. Eq. 12 multiplies by $1 - p_{i1}$, because it takes $p_{i1}$ whatever the label is.

# %%
p = torch.tensor([0.01, 0.1, 0.5, 0.9, 0.99])
factors = {"focal, p²": p**2, "Eq. 12, 1 − p": 1 - p}
pd.DataFrame(factors, index=p.tolist()).round(4)


# %% [markdown]
# The two columns run in opposite directions. **On positives the factor mimics focal loss; on negatives it does
# the reverse:** it takes weight from the hard ones, and leaves it to the easy ones. What does that do to the
# gradient on the logit? The table has the gradient of negatives at three probabilities, and of a positive. In its
# last column is how many easy negatives, at $p = 0.01$, outweigh one positive, at $p = 0.1$.

# %%
def dice_one(p, y, squared):  # Eq. 6 and Eq. 7
    k = 2 if squared else 1
    return 1 - (2 * p * y + 1) / (p**k + y + 1)


losses = {
    "cross entropy": lambda p, y: focal_loss(p, y, 0.0),
    "focal loss, f = 2": focal_loss,
    "Eq. 6, linear dice": lambda p, y: dice_one(p, y, False),
    "Eq. 7, squared dice": lambda p, y: dice_one(p, y, True),
    "Eq. 12, DSC": dsc_loss,
}
rows, gradients = {}, {}
for name, loss in losses.items():
    x = torch.logit(torch.tensor([0.01, 0.1, 0.9, 0.1])).requires_grad_()
    loss(x.sigmoid(), torch.tensor([0.0, 0, 0, 1])).sum().backward()
    gradients[name] = [*x.grad.tolist(), abs(x.grad[3] / x.grad[0]).item()]
    rows[name] = [f"{v:.2g}" for v in x.grad] + [round(gradients[name][4])]
columns = [f"negative {v}" for v in (0.01, 0.1, 0.9)]
columns += ["positive 0.1", "easy per positive"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)

# %% [markdown]
# Read the first column. An easy negative has almost the same gradient with linear dice and with DSC; the factor
# took two percent off. Squared dice leaves a small part of it, and focal loss next to nothing.
#
# The last column says what this means. With cross entropy, 90 easy negatives outweigh one positive. With linear
# dice it takes six, and with DSC five, because both have so small a gradient for a positive at $p = 0.1$. With
# squared dice it takes hundreds, and with focal loss hundreds of thousands. **If easy negatives are your
# problem, squaring or focal loss helps; $(1 - p)\,p$ does not.**
#
# All of these were losses of one example. On a set all examples share one denominator. That changes the ratio
# between the labels ([Eq. 4.4](eq-4-4)), and that is why dice at set level trains although a missed positive
# moves so little. The negatives beside it move just as little, and each positive counts more. The set also
# changes the ratio of an easy to a hard negative. With linear dice of one example, the gradient of a negative
# at $p = 0.01$ is 0.39 of that at $p = 0.9$. On a set this ratio is only 0.11, so the set makes easy negatives
# count less.

# %% [markdown]
# ## 6.9 Easy and hard examples under six losses
#
# At the end we look at four kinds of examples after training. On our toy we know the true probability η of each
# example, so we can say how hard it is. A negative is easy if its η is tiny, and hard if its η is as high as
# that of many positives. A positive is easy if its η is high, and hard if its η is low. Six losses train on all
# examples from two biases, −3 and 0.5. The second is above the turning point of α = 1. The table gives the median
# probability of each kind at the end, from the bias 0.5.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
x, y = imbalanced_blobs(2000, seed=0)
truth = optimal_logits(x).sigmoid()
groups = {
    "easy −": (y == 0) & (truth < 0.005),
    "hard −": (y == 0) & (truth > 0.2),
    "hard +": (y == 1) & (truth < 0.2),
    "easy +": (y == 1) & (truth > 0.5),
}
contestants = {
    "cross entropy": torch.nn.BCEWithLogitsLoss(),
    "focal loss, f = 2": BinaryFocalLoss(gamma=2.0),
    "dice, example level": BinaryDiceLoss(squared=True, level="example"),
    "dice, set level": BinaryDiceLoss(squared=True, level="set"),
    "DSC, set level, α = 1": BinarySelfAdjustingDiceLoss(squared=False, alpha=1.0, level="set"),
    "DSC, set level, α = 0.1": BinarySelfAdjustingDiceLoss(squared=False, alpha=0.1, level="set"),
}
rows = {}
for bias, (name, loss) in product((-3, 0.5), contestants.items()):
    p = train_logistic(loss, x, y, bias=bias, steps=120).predict(x).sigmoid()
    rows[str(bias), name] = [round(p[of].median().item(), 2) for of in groups.values()]
medians = pd.DataFrame(rows.values(), pd.MultiIndex.from_tuples(rows), columns=list(groups))
medians.loc["0.5"]

# %% [markdown]
# With cross entropy the easy negatives end at 0.00, and the easy positives at 0.76. The two hard groups lie
# between, in the wrong order, because a hard negative looks like a positive. Focal loss stops earlier, at 0.07
# and 0.60, because its gradient fades once an example is roughly right. Set-level dice goes to the ends, and so
# does DSC with a small α. With α = 1, however, DSC has its easy negatives highest and its easy positives lowest.
# The order is reversed, as [Eq. 6.2](eq-6-2) predicts for this bias. From −3 it learns in the right direction.

# %% [markdown]
# ## Summary
#
# - Self-adjusting dice ([Eq. 12](eq-12)) is [Eq. 6](eq-6) with $(1 - p)\,p$ in place of $p$; above $p = 0.5$ it
#   moves positives down and negatives up.
# - With an exponent α the loss turns at $p^* = 1/(1+\alpha)$, a logit of −ln α ([Eq. 6.2](eq-6-2)), for one
#   example and for a set, so start with a bias below −ln α.
# - The loss has a floor above zero, the cost of a positive at the turning point.
# - On negatives the factor is the reverse of focal loss: it leaves easy negatives almost all of their gradient,
#   while squaring and focal loss take it away.
# - Do not compute $(1 - p)^\alpha$ from $p$ in float32: where $p$ rounds to 1, the gradient is NaN ([section
#   18.1](18_speed_and_scale.ipynb)).
#
# ## Exercises
#
# **Exercise 6.1 (recall).** Which α puts the turning point at 0.95? What is then the floor of a positive's loss
# with γ = 1?

# %% mystnb={"code_prompt_show": "Solution 6.1"} tags=["solution", "hide-cell"]
wanted = sp.solve(sp.Eq(1 / (1 + sp.Symbol("alpha")), sp.Rational(95, 100)))[0]
a = float(wanted)
print(f"alpha = {wanted} = {a:.4f}, floor {dsc_loss(torch.tensor(0.95), torch.tensor(1.0), a):.4f}")

# %% [markdown]
# **Exercise 6.2 (pencil).** How high is the hill of section 6.4, the greatest loss of a negative, as a
# function of γ with α = 1? Prove that it is at p = 0.5. And as γ → 0? What does that limit say about
# the gradient?

# %% mystnb={"code_prompt_show": "Solution 6.2"} tags=["solution", "hide-cell"]
# By hand: a negative costs q/(q + γ) = 1 − γ/(q + γ), which grows with q = p − p². That is
# 1/4 − (p − 1/2)², at most 1/4 and so at p = 1/2. Put it in: (1/4)/(1/4 + γ) = 1/(4γ + 1).
hill = sp.factor((1 - eq12).subs({Y: 0, P: sp.Rational(1, 2)}))
display(Math(rf"{sp.latex(hill)} \to {sp.limit(hill, g, 0)}"))
# At γ → 0 a negative costs 1 for every p inside (0, 1): the hill is a plateau, its gradient zero.

# %% [markdown]
# **Exercise 6.3 (derive).** Squaring helps with easy negatives. Put q = (1 − p)^α p into the
# squared dice of [Eq. 7](eq-7). Where does a positive stop now, for α = 1 and γ = 1? Does
# squaring fix the sign?

# %% mystnb={"code_prompt_show": "Solution 6.3"} tags=["solution", "hide-cell"]
one = 1 - (2 * (1 - P) * P + 1) / (((1 - P) * P) ** 2 + 2)
print("the derivative vanishes at", [r for r in sp.solve(sp.diff(one, P), P) if 0 < r < 1])
# Only 0.5: q stays below 1/4, where squared dice still falls with q. The turning point is that of q.

# %% [markdown]
# **Exercise 6.4 (predict, then run).** "One can think $(1-p_{i1})$ as a weight" (Section 3.4). A
# weight is usually a constant to the gradient. Detach it: q = (1 − p).detach() · p. Which signs do
# you expect at p = 0.9 for both labels, and which share of calls after training from b₀ = 2 with
# α = 1 on the set level? Write both down, then run.

# %% mystnb={"code_prompt_show": "Solution 6.4"} tags=["solution", "hide-cell"]
def detached(x, y):
    p = x.sigmoid()
    q = (1 - p).detach() * p
    return 1 - (2 * (q * y).sum() + 1) / (q.sum() + y.sum() + 1)


for label in (1.0, 0.0):
    x9 = torch.logit(torch.tensor([0.9])).requires_grad_()
    detached(x9, torch.tensor([label])).backward()
    print(f"y = {label:.0f}: dL/dx = {x9.grad.item():+.4f}")
x_test, y_test = imbalanced_blobs(2000, seed=1)
for bias in (-3.0, 0.0, 2.0):
    fit = train_logistic(detached, x, y, bias=bias)
    said = fit.predict(x_test) > 0
    share, p = said.double().mean(), fit.predict(x).sigmoid()
    D = 2 * ((1 - p) * p * y).sum() / (((1 - p) * p).sum() + y.sum())
    of_test = f"F1 {f1_score(said, y_test):.2f}, calls {share:.0%} positive"
    print(f"start {bias:+.0f}: {of_test}, D = {D:.3f}")
    assert D / 2 < 0.01
    assert 0.37 < share < 0.41
# Verdict: no collapse, the signs are right everywhere; yet eight times too many are called positive.
# Of a group of like examples the slope is now (1 − p)(D − 2η)/S, with S the denominator. The weight
# is a common factor and cannot move the threshold, D/2. But D is measured on q = (1 − p)p, which is small
# for sure examples: D shrinks to 0.015 and less, and with it the threshold, below η = 0.01.

# %% [markdown]
# ## Further reading
#
# - {cite:t}`lin2017focal`: Sections 3.1 and 3.2 in an hour; compare their Figure 1 with ours.
# - {cite:t}`mukhoti2020`: what focal loss does to probabilities: it leaves them less sure, which is
#   where the 0.07 and 0.60 of the last table come from.
# - {cite:t}`li2020dice`, Section 3.4, once more, with Figure 6.2 beside it.
