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
# # 03 The dice coefficient and F1
#
# The dice coefficient of what is marked and what a tagger marks *is* F1. Written for one example, with a
# probability in it, it asks nothing of a negative. The usual fix, a smoothing term γ, gives
# negatives a gradient; but a positive that is missed has hardly one.

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

# %% tags=["hide-input"]
import matplotlib.pyplot as plt

from dicelab.figures import POSITIVE, use_style

use_style()
sentence = "Ada Lovelace wrote to Charles Babbage from her house in London ."
tokens = sentence.split()
B = {0, 1, 4, 5, 10}  # gold
A = {0, 1, 4, 7}  # predicted

# %% mystnb={"figure": {"caption": "Figure 3.1. What is marked, and what the tagger marks.", "name": "fig-3-1"}, "image": {"alt": "Twelve tokens in two rows. Gold marks Ada, Lovelace, Charles, Babbage and London; the tagger marks Ada, Lovelace, Charles and her."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 1.9))
for row, (name, chosen) in enumerate({"gold": B, "predicted": A}.items()):
    for i in range(len(tokens)):
        color = POSITIVE if i in chosen else "0.92"
        ax.add_patch(plt.Rectangle((i + 0.05, 0.1 - row), 0.9, 0.8, color=color))
    ax.text(-0.2, 0.5 - row, name, ha="right", va="center")
for i, token in enumerate(tokens):
    ax.text(i + 0.5, 1.1, token, rotation=45, ha="left", va="bottom", fontsize=9)
ax.set(xlim=(-2, 12.6), ylim=(-1, 1.2))
ax.axis("off")
plt.show()

# %% [markdown]
# - **For** readers who report F1 and wonder whether they could train for it.
# - **You need** precision and recall ([chapter 01](01_imbalance.ipynb)) and the gradient $p - y$ of
#   cross entropy ([chapter 02](02_cross_entropy.ipynb)).
# - **You will be able to** prove that the dice coefficient is F1, say why an average of F1s is not an F1,
#   and predict what the smoothing term γ does.
# - **Time** about 15 seconds on a CPU; a GPU does not help. Symbols and terms:
#   [Notation and glossary](../docs/notation.md).

# %% tags=["hide-input"]
import inspect
from itertools import product

import numpy as np
import pandas as pd
import sympy as sp
import torch
from IPython.display import Markdown, Math, display
from sklearn.metrics import f1_score as sklearn_f1

from dicebook import make_loss
from dicebook.losses import equations
from dicebook.losses.functional import binary_cross_entropy, binary_dice
from dicelab.toy import f1_score, imbalanced_blobs, optimal_logits

torch.set_default_dtype(torch.float64)


# %% [markdown]
# ## 3.1 Two sets of tokens
#
# A tagger looks for names in the sentence of Figure 3.1. $B$ is the set of positions that are part of
# a name; $A$ is the set of positions that the tagger marks.
#
# > "an F1-oriented statistic used to gauge the similarity of two sets" (the paper, Section 3.3)
#
# (eq-3)=
# Dice {cite}`dice1945` and Sørensen {cite}`sorensen1948` compare what two sets share with how large
# they are:
#
# $$ \mathrm{DSC}(A, B) = \frac{2\,|A \cap B|}{|A| + |B|} \tag{3} $$

# %%
def dice_of_sets(A, B):
    return 2 * len(A & B) / (len(A) + len(B))


print(f"shared {len(A & B)}, sizes {len(A)} and {len(B)}")
print(f"dice {dice_of_sets(A, B):.3f}")

# %% [markdown]
# Three shared positions count twice, six out of nine. Two equal sets score 1, two disjoint sets 0.
#
# ## 3.2 The dice coefficient is F1
#
# The shared positions are the true positives, TP. What is only in $A$ is a false positive, what is
# only in $B$ a false negative, so that $|A| = TP + FP$ and $|B| = TP + FN$. Sympy puts that into Eq. 3,
# and precision and recall into F1, their harmonic mean.

# %%
TP, FP, FN = sp.symbols("TP FP FN", positive=True)
precision, recall = TP / (TP + FP), TP / (TP + FN)
dsc = 2 * TP / ((TP + FP) + (TP + FN))
f1 = 2 * precision * recall / (precision + recall)

display(Math(rf"\mathrm{{DSC}} = {sp.latex(dsc)}"))
display(Math(rf"F_1 = {sp.latex(f1)} = {sp.latex(sp.factor(f1))}"))
assert sp.simplify(dsc - f1) == 0

# %% [markdown]
# > "When applied to boolean data with the definition of true positive (TP), false positive (FP), and
# > false negative (FN)" (the paper, Section 3.3)
#
# (eq-4)=
# The two last fractions are the same. So
#
# $$ \mathrm{DSC} = \frac{2TP}{2TP + FN + FP} = \frac{2\,\mathrm{Pre} \times
# \mathrm{Rec}}{\mathrm{Pre} + \mathrm{Rec}} = F_1 \tag{4} $$
#
# Scikit-learn agrees:

# %%
gold = [i in B for i in range(len(tokens))]
said = [i in A for i in range(len(tokens))]
print(f"Eq. 3: {dice_of_sets(A, B):.4f}")
print(f"scikit-learn's F1: {sklearn_f1(gold, said):.4f}")


# %% [markdown]
# The true negatives are missing from Eq. 4. We add a million of them:

# %%
def f1_and_accuracy(tp, fp, fn, tn):
    return {
        "F1": 2 * tp / (2 * tp + fp + fn),
        "accuracy": (tp + tn) / (tp + fp + fn + tn),
    }


rows = {}
for tn in (6, 1000, 1_000_000):
    rows[f"{tn:,} true negatives"] = f1_and_accuracy(3, 1, 2, tn)
pd.DataFrame(rows).T.round(6)

# %% [markdown]
# Accuracy climbs from 0.75 to 0.999997. F1 stays at 0.667. For a
# score that is good; for a loss it will be the problem.

# %% [markdown]
# The harmonic mean stays near the smaller of the two.

# %% mystnb={"figure": {"caption": "Figure 3.2. Lines of equal score.", "name": "fig-3-2"}, "image": {"alt": "On the left, the plain mean: straight lines; a precision of 1 buys 0.5 even with no recall at all. On the right, F1: lines bent like an L; near the left and lower edges the score is close to 0 whatever the other number is."}} tags=["hide-input"]
grid = np.linspace(0.01, 1, 100)
pre, rec = np.meshgrid(grid, grid)
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.2), sharey=True)
means = {"plain mean": (pre + rec) / 2, "F1, harmonic mean": 2 * pre * rec / (pre + rec)}
for ax, (title, values) in zip(axes, means.items(), strict=True):
    lines = ax.contour(rec, pre, values, levels=np.arange(0.1, 1, 0.1), cmap="viridis")
    ax.clabel(lines, fmt="%.1f", fontsize=8)
    ax.set(xlabel="recall", title=title, aspect="equal")
axes[0].set_ylabel("precision")
plt.show()

# %% [markdown]
# With a precision of 1 and no recall the plain mean is 0.5 and F1 is 0.
#
# ## 3.3 F1 belongs to a set
#
# Accuracy is a mean over examples. F1 is not one. Take two batches: in the first there is one name and
# it is found; in the second there are nine and all are missed.

# %%
first = {"tp": 1, "fp": 0, "fn": 0, "tn": 15}
second = {"tp": 0, "fp": 0, "fn": 9, "tn": 7}
both = {key: first[key] + second[key] for key in first}
for name, counts in {
    "first": first,
    "second": second,
    "together": both,
}.items():
    s = f1_and_accuracy(**counts)
    print(f"{name:9} accuracy {s['accuracy']:.3f}   F1 {s['F1']:.3f}")

# %% [markdown]
# The accuracy of both is 0.719, the mean of 1 and 0.438. The F1 of both is 0.182, and the mean of 1
# and 0 is 0.5, in which one name weighs as much as nine.
#
# The mean also depends on how the batches are *shuffled*. We deal one fixed set of predictions
# for 1600 examples into a hundred batches of 16 and average the batches' F1s; two thousand
# times. A batch without any positive, gold or predicted, is 0/0, which some count as 1, some as 0.

# %%
x, y = imbalanced_blobs(1600, positive=0.05, seed=0)
said = optimal_logits(x).sigmoid() > 0.26  # the best, from chapter 02
whole = f1_score(said, y)

generator = torch.Generator().manual_seed(1)
order = [torch.randperm(1600, generator=generator) for _ in range(2000)]
deals = torch.stack(order).view(2000, 100, 16)
tp = (said & y.bool()).double()[deals].sum(-1)
size = (said.double() + y)[deals].sum(-1)
mean_of_f1 = {}
for zero in (0.0, 1.0):
    mean_of_f1[zero] = torch.where(size > 0, 2 * tp / size, zero).mean(1)

# %% mystnb={"figure": {"caption": "Figure 3.3. The same 1600 predictions, dealt into batches by 2000 shuffles.", "name": "fig-3-3"}, "image": {"alt": "Two humps. The left one, 0/0 counted as 0, lies far below the dashed line that marks the F1 of the whole set; the right one, 0/0 counted as 1, lies above it and touches it with its tail."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
for (zero, values), color in zip(mean_of_f1.items(), ("C0", "C2"), strict=True):
    label = f"mean of batch F1s, 0/0 counted as {zero:.0f}"
    ax.hist(values.numpy(), bins=30, color=color, alpha=0.7, label=label)
ax.axvline(whole, color="k", ls="--", label=f"F1 of the whole set: {whole:.3f}")
ax.set(xlabel="score", ylabel="number of shuffles")

fig.legend(loc="outside lower center", fontsize="small")
plt.show()

# %% tags=["hide-input"]
for zero, values in mean_of_f1.items():
    low, high = values.min().item(), values.max().item()
    print(f"0/0 = {zero:.0f}: from {low:.3f} to {high:.3f}, mean {values.mean():.3f}")
print(
    f"the whole set: {whole:.3f};  batches with nothing in them: {(size == 0).double().mean():.0%}"
)


# %% [markdown]
# The predictions are the same, and yet the mean of batch F1s moves by 0.1 and more with the
# shuffle. Its middle is wrong, too: 0.27 or 0.55 where the set has 0.497, depending on
# the 28% of batches that hold nothing. **F1 is a statistic of a set:** sum the counts
# first, divide once. Chapter 04 does so in a loss.

# %% [markdown]
# ## 3.4 Down to one example
#
# To train we need a derivative, so the decision "in $A$ or not" becomes the probability
# $p_{i1}$ of being in $A$.
#
# > "For an individual example xi, its corresponding dice coefficient is given as follows" (the
# > paper, Section 3.3)
#
# (eq-5)=
# That scores a *single* example by the formula of a set:
#
# $$ \mathrm{DSC}(x_i) = \frac{2\, p_{i1}\, y_{i1}}{p_{i1} + y_{i1}} \tag{5} $$

# %%
def dsc_of_example(p, y):
    return 2 * p * y / (p + y)


p = torch.linspace(0.1, 0.9, 5)
rows = {
    "y = 1": dsc_of_example(p, torch.tensor(1.0)),
    "y = 0": dsc_of_example(p, torch.tensor(0.0)),
}
pd.DataFrame(
    {k: v.numpy() for k, v in rows.items()},
    index=[f"p = {v:.1f}" for v in p],
).T.round(3)

# %% [markdown]
# The library has one line for Equations 3 to 8; γ = 0 is Eq. 5:

# %% tags=["hide-input"]
Markdown(f"```python\n{inspect.getsource(equations.dice_coefficient)}```")

# %% tags=["hide-input"]
probs = torch.linspace(0.05, 0.95, 7, requires_grad=True)
for label in (torch.zeros(7), torch.ones(7)):
    ours = dsc_of_example(probs, label)
    theirs = equations.dice_coefficient(probs * label, probs, label, gamma=0.0)
    torch.testing.assert_close(ours, theirs)
    slopes = [torch.autograd.grad(v.sum(), probs, retain_graph=True)[0] for v in (ours, theirs)]
    torch.testing.assert_close(*slopes)

# %% [markdown]
# > "As can be seen, a negative example (yi1 = 0) does not contribute to the objective." (the paper,
# > Section 3.3)
#
# With $y = 0$ the numerator is 0 whatever the model predicts:

# %%
p = torch.linspace(0.05, 0.95, 7, requires_grad=True)
dsc_of_example(p, torch.tensor(0.0)).sum().backward()
print(p.grad)


# %% [markdown]
# No negative has a gradient. At $p = 0$, where every negative should end, the score is 0/0.

# %% [markdown]
# What would a model do that maximises the mean of Eq. 5? Take hard predictions. A found positive
# scores 1; a missed one and a false alarm score 0; a true negative is 0/0.
#
# (eq-3-1)=
# With 0/0 counted as 0, the mean over $N$ examples is
#
# $$ \frac1N \sum_i \mathrm{DSC}(x_i) = \frac{TP}{N} \tag{3.1} $$
#
# and is largest if everything is called positive. With 0/0 counted as 1, as the library
# does, the mean is $(TP + TN)/N$: accuracy. Neither is F1. In F1, false positives count in the
# *denominator of the set*; the denominator of one example holds no false positives of others.
#
# ## 3.5 The smoothing term
#
# > "For smoothing purposes, it is common to add a γ factor to both the nominator and the denominator"
# > (the paper, Section 3.3; it sets γ = 1)
#
# (eq-6)=
# The usual fix adds a constant γ above and below:
#
# $$ \mathrm{DSC}(x_i) = \frac{2\, p_{i1}\, y_{i1} + \gamma}{p_{i1} + y_{i1} + \gamma} \tag{6} $$
#
# It guards against 0/0, and does more: for a negative the coefficient is
# now $\gamma/(p + \gamma)$, so that only through γ does a negative have a gradient. As a loss, one minus
# the coefficient:

# %%
def dice_loss_of_example(p, y, gamma=1.0):
    return 1 - (2 * p * y + gamma) / (p + y + gamma)


# %% tags=["hide-input"]
logits = torch.linspace(-4, 4, 10, requires_grad=True)
labels = torch.tensor([0, 1] * 5)
for gamma in (0.01, 1.0, 10.0):
    ours = dice_loss_of_example(logits.sigmoid(), labels, gamma).mean()
    p = logits.sigmoid()
    line = (1 - equations.dice_coefficient(p * labels, p, labels, gamma)).mean()
    theirs = make_loss("binary_eq6", smooth=gamma)(logits, labels)
    slope = torch.autograd.grad(ours, logits, retain_graph=True)
    for other in (line, theirs):
        torch.testing.assert_close(other, ours)
        torch.testing.assert_close(torch.autograd.grad(other, logits, retain_graph=True), slope)

# %% [markdown]
# The library's line and its loss agree with it. The derivatives, by sympy;
# $L_1$ is the loss of a positive, $L_0$ that of a negative:

# %%
P, G = sp.symbols("p gamma", positive=True)
L1 = 1 - (2 * P + G) / (P + 1 + G)
L0 = 1 - G / (P + G)
short = {"L_1": (L1, (1 - P) / (1 + P + G)), "L_0": (L0, P / (P + G))}
for name, (loss, value) in short.items():
    assert sp.simplify(loss - value) == 0
    slope = sp.latex(sp.factor(sp.diff(loss, P)))
    right = rf"\qquad \frac{{d{name}}}{{dp}} = {slope}"
    display(Math(rf"{name} = {sp.latex(value)} {right}"))

# %% [markdown]
# (eq-3-2)=
# First, **the slope of an easy negative is $1/\gamma$**, at $p = 0$. Second, **γ compresses the
# range**: a positive at $p = 0$ and a negative at $p = 1$, the worst that can happen, cost
#
# $$ L_1(0) = L_0(1) = \frac{1}{1+\gamma} \tag{3.2} $$
#
# Third, the loss of a positive falls with $p$ everywhere and that of a negative rises everywhere.
# (That does not hold for the loss of chapter 06.)

# %%
rows = {}
for g in (0, 0.01, 0.1, 1, 10):
    at = {P: 0, G: g}
    slope = sp.limit(sp.diff(L0, P).subs(P, 0), G, g, "+")
    half = sp.diff(L0, P).subs({P: 0.5, G: g})
    rows[f"γ = {g}"] = {
        "negative, p = 0": float(slope) if slope.is_finite else np.inf,
        "negative, p = .5": float(half),
        "positive, p = 0": float(sp.diff(L1, P).subs(at)),
        "costliest mistake": float(L1.subs(at)),
    }
print("slopes, and what the costliest mistake costs")
pd.DataFrame(rows).T.round(3)


# %% [markdown]
# Turn γ yourself, and train with it in the
# <a href="../docs/playground.html#loss=dl&amp;squared=false&amp;level=example">Playground</a>.
#
# <div class="play" data-play="smoothing"><img src="../_static/play-smoothing.png"
# alt="Left, the loss of a positive and of a negative against p; right, the slopes of both. With
# γ = 1 the slope is 1 for a negative and −0.75 for a positive at p = 0, and the costliest mistake costs 0.5."></div>

# %% [markdown]
# As γ shrinks, the slope of a negative at $p = 0$ grows without bound and vanishes
# elsewhere. At $p = 0.5$ it is largest for γ = 0.5. As γ grows beyond, all numbers shrink: at γ = 10 the
# costliest mistake costs 0.091. So γ leads from a loss that is blind to
# negatives (γ = 0) to the absolute error $|p - y|$ (γ → ∞, exercise 3.3). The paper sets it to 1
# and gives no reason.

# %% [markdown]
# ## 3.6 The gradient on the logit
#
# A network computes the logit $x$, and the gradient on the logit is the slope
# above times $dp/dx = p(1-p)$. Here are its sizes for cross entropy and for Eq. 6 with γ = 1.

# %%
def gradient_size(loss, p, y):
    x = torch.logit(p).requires_grad_()
    (grad,) = torch.autograd.grad(loss(x, torch.full_like(x, y)), x)
    return grad.abs()


def ce(x, y):
    return binary_cross_entropy(x, y, reduction="sum")


def dice(x, y):
    options = {"level": "example", "squared": False, "reduction": "sum"}
    return binary_dice(x, y, **options)


losses = {"cross entropy": ce, "dice, Eq. 6": dice}
p = torch.tensor([0.001, 0.01, 0.05, 0.5, 0.95])
rows = {}
for y_, (name, loss) in product([1.0, 0.0], losses.items()):
    rows[f"y = {y_:.0f}, {name}"] = gradient_size(loss, p, y_).numpy()
pd.DataFrame(rows, index=[f"p = {v:g}" for v in p.tolist()]).T.round(4)

# %% [markdown]
# For an easy negative, $p = 0.01$, the two losses agree: 0.0100 and 0.0097. For a *missed positive* in the
# same column the gradient of cross entropy is 0.99, that of dice 0.0074: 135 times
# less. The factor $p(1-p)$ makes the gradient small wherever the model is sure, right or wrong; in
# cross entropy the slope of the logarithm, $1/p$, cancels the $p$.

# %% [markdown]
# At 5% positives and $p = 0.05$ everywhere, the classes are in balance under cross entropy
# ([section 2.3](02_cross_entropy.ipynb)). And under this loss?

# %% mystnb={"figure": {"caption": "Figure 3.4. 5% positives, all examples at the same p: minus the mean gradient on the bias. Above zero the bias rises.", "name": "fig-3-4"}, "image": {"alt": "The line of cross entropy starts at +0.05, crosses zero at p = 0.05 and falls steadily. The curve of dice is negative everywhere, a shallow bowl."}} tags=["hide-input"]
p = torch.linspace(0.005, 0.995, 199)
fig, ax = plt.subplots(figsize=(6, 3.4))
balanced_at = []
for (name, loss), style in zip(losses.items(), ("-", "--"), strict=True):
    balance = 0.05 * gradient_size(loss, p, 1.0) - 0.95 * gradient_size(loss, p, 0.0)
    ax.plot(p, balance, style, label=name)
    rest = f"p = {p[balance.abs().argmin()]:.2f}" if bool((balance > 0).any()) else "no p"
    balanced_at.append(f"{name}: the two classes balance at {rest}")
    negatives_win = bool((balance < 0).all())
ax.axhline(0, color="k", lw=1)
ax.set(
    xlabel="p of all examples",
    ylabel="−mean gradient",
)
ax.legend()
plt.show()

# %% [markdown]
# Cross entropy comes to rest at the share of positives. The per-example dice loss does not:
# from *every* starting point the negatives win, until all probabilities are 0. Chapter 04 trains
# models on it, and on the dice of a set.

# %% [markdown]
# ## Summary
#
# - The dice coefficient of predicted and gold positives ([Eq. 3](eq-3)) is F1 ([Eq. 4](eq-4)). It
#   does not see true negatives.
# - F1 is a statistic of a set. A mean of batch F1s depends on the shuffle, on the
#   size of the batch and on what 0/0 counts.
# - Per example and without smoothing ([Eq. 5](eq-5)) a negative has no gradient, and the mean is
#   $TP/N$ ([Eq. 3.1](eq-3-1)) or accuracy, as one counts 0/0.
# - Negatives learn through the smoothing term γ ([Eq. 6](eq-6)): their slope at $p = 0$ is $1/\gamma$.
#   It compresses the range to $1/(1+\gamma)$ ([Eq. 3.2](eq-3-2)).
# - Through the sigmoid a hard positive has hardly a gradient, and with 5% positives the negatives win
#   at every $p$.
#
# ## Exercises
#
# **Exercise 3.1 (pencil).** The Jaccard index is $|A \cap B|/|A \cup B|$. Express it by the dice coefficient.
# Can the two ever rank two taggers differently on the same set?

# %% tags=["solution", "hide-cell"]
jaccard, D = TP / (TP + FP + FN), sp.symbols("D", positive=True)
as_dice = D / (2 - D)
assert sp.simplify(as_dice.subs(D, dsc) - jaccard) == 0
slope = sp.factor(sp.diff(as_dice, D))
display(Math(rf"J = {sp.latex(as_dice)}, \qquad \frac{{dJ}}{{dD}} = {sp.latex(slope)} > 0"))
# J grows with D, so on one set they always rank alike. Means over several sets may differ.

# %% [markdown]
# **Exercise 3.2 (recall).** A tagger has precision 0.9 and recall 0.1. Give its F1, its plain mean and its
# geometric mean. How high can F1 be if recall is 0.1?

# %% tags=["solution", "hide-cell"]
pre, rec = 0.9, 0.1
print(f"F1 {2 * pre * rec / (pre + rec):.3f}")
print(f"plain mean {(pre + rec) / 2}, geometric mean {(pre * rec) ** 0.5:.3f}")
print(f"F1 at precision 1: {2 * rec / (1 + rec):.3f}, less than twice the recall")

# %% [markdown]
# **Exercise 3.3 (pencil, then sympy).** Let γ go to 0 and to infinity in the losses of Eq. 6, the second
# time after multiplying the loss by γ. What is left? And for which γ has an easy negative ($p \to 0$)
# as large a slope as a positive ($p \to 0$)?

# %% tags=["solution", "hide-cell"]
for name, loss in {"L_1": L1, "L_0": L0}.items():
    none, much = sp.limit(loss, G, 0), sp.limit(G * loss, G, sp.oo)
    left = rf"\lim_{{\gamma\to0}} {name} = {sp.latex(sp.factor(none))}"
    display(Math(left + rf"\qquad \lim_{{\gamma\to\infty}} \gamma\,{name} = {sp.latex(much)}"))


# At γ = 0 a negative costs 1 wherever it is; towards γ = ∞ what is left is |p − y|.
negative, positive = sp.diff(L0, P).subs(P, 0), -sp.diff(L1, P).subs(P, 0)
display(sp.solveset(sp.Eq(negative, positive), G, sp.Interval.open(0, sp.oo)))
# The empty set: (2 + γ)/(1 + γ)² < 1/γ for every γ > 0, because 2γ + γ² < 1 + 2γ + γ².
# No γ makes even one easy negative weaker than a positive at the same p.

# %% [markdown]
# **Exercise 3.4 (explore).** Find two taggers and two batches such that the first tagger has the higher F1 on
# *each* batch and the lower F1 on both together. (Search small counts at random.)

# %% tags=["solution", "hide-cell"]
rng = np.random.default_rng(0)


def score(tp, fp, fn):
    return 2 * tp / (2 * tp + fp + fn)


for _ in range(100_000):
    gold = rng.integers(1, 30, 2)  # positives in each batch
    tp = rng.integers(1, gold + 1, (2, 2))  # [tagger, batch]
    fp = rng.integers(0, 30, (2, 2))
    parts = score(tp, fp, gold - tp)
    total = score(tp.sum(1), fp.sum(1), (gold - tp).sum(1))
    if (parts[0] > parts[1] + 0.02).all() and total[0] < total[1] - 0.02:
        break
print("F1 on each batch:", parts.round(3).tolist(), " together:", total.round(3).tolist())
# Simpson's paradox: through their false positives the batches weigh differently for the two.

# %% [markdown]
# **Exercise 3.5 (predict, then run).** Check [Eq. 3.1](eq-3-1) on the toy with hard predictions, for
# both ways to count 0/0. Then write down, and only then find, the constant
# prediction that maximises the mean of Eq. 5, and the one that minimises the loss of Eq. 6, γ = 1.

# %% tags=["solution", "hide-cell"]
hard = said.double()
mean = torch.nan_to_num(dsc_of_example(hard, y), nan=0.0).mean()
print(f"mean of Eq. 5: {mean:.4f}, TP/N: {float((hard * y).mean()):.4f}")
p = torch.linspace(0.0, 1.0, 101)[:, None]
eq5 = dsc_of_example(p, y).nan_to_num(0.0).mean(1)
eq6 = dice_loss_of_example(p, y).mean(1)
best = [p[i].item() for i in (eq5.argmax(), eq6.argmin())]
print("best constant for Eq. 5: p = {}, for Eq. 6: p = {}".format(*best))
accuracy = float((hard == y).double().mean())
as_one = float(torch.nan_to_num(dsc_of_example(hard, y), nan=1.0).mean())
print(f"with 0/0 = 1: {as_one:.4f}, accuracy: {accuracy:.4f}")
assert (best, round(as_one, 9)) == ([1.0, 0.0], round(accuracy, 9))
# Verdict: everything positive for Eq. 5, everything negative for Eq. 6. Neither is a tagger.

# %% [markdown]
# **Exercise 3.6 (small research).** Since F1 is a statistic of a set, a test set gives it a sampling error.
# How many *positives* must a test set hold before the F1 of the Bayes classifier on our toy is
# known to ±0.02 (half a 95% interval)? Estimate by bootstrap, for 1% and for 5% positives.

# %% tags=["solution", "hide-cell"]
def half_width(n, positive, rounds=400):
    x, y = imbalanced_blobs(n, positive=positive, seed=5)
    z = optimal_logits(x, positive=positive).sigmoid()
    said = z > {0.01: 0.16, 0.05: 0.26}[positive]
    draws = torch.randint(n, (rounds, n), generator=torch.Generator().manual_seed(0))
    tp, size = (said & y.bool()).double()[draws].sum(1), (said.double() + y)[draws].sum(1)
    low, high = torch.quantile(2 * tp / size, torch.tensor([0.025, 0.975]))
    return (high - low).item() / 2


rows = [[s, n, int(n * s), half_width(n, s)] for s in (0.01, 0.05) for n in (2000, 8000, 32000)]
pd.DataFrame(rows, columns=["share", "examples", "positives", "half width"]).round(3)
# What counts is the number of positives, not of examples: 320 and 400 of them give .046 and .040.
# The width falls with their square root, and ±.02 takes about 1600 of them.

# %% [markdown]
# ## Further reading
#
# - {cite:t}`forman2010`: three ways to average F1 over the folds of a cross-validation, which disagree
#   most where positives are rare: section 3.3 for scores.
# - {cite:t}`opitz2019`: two formulas go by the name "macro F1"; how far they can lie apart.
# - {cite:t}`dice1945`: three pages on how often two species are met together, and the coefficient.
