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
# In chapter 01 we met a score that sees what accuracy does not: F1. In chapter 02 we trained with cross entropy
# and then chose the threshold that is best for F1. It would be more direct to train for F1 itself. In this
# chapter we try. The idea comes from an old measure of similarity, the dice coefficient. For the words that are
# names and the words that a tagger marks, it *is* F1. We can write it for one example, with a probability in
# it, and then it has a derivative. However, the step from a set to one example costs more than it seems. A
# negative loses its gradient altogether. The usual repair, a smoothing term γ, gives the gradient back to
# negatives, but leaves a missed positive with almost none.

# %% tags=["remove-cell"]
# Without dicebook, this cell installs it if `make repository` has set an address, and else says how.
try:
    __import__("dicebook")
except ModuleNotFoundError:
    _install = """print("dicebook is missing: in a clone, run pip install '.[book]'")"""
    get_ipython().run_cell(_install)

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt

from dicelab.figures import POSITIVE, use_style

use_style()
sentence = "Ada Lovelace wrote to Charles Babbage from her house in London ."
tokens = sentence.split()
B = {0, 1, 4, 5, 10}  # gold
A = {0, 1, 4, 7}  # predicted

# %% mystnb={"code_prompt_show": "Code of Figure 3.1", "figure": {"caption": "Figure 3.1. What is marked, and what the tagger marks.", "name": "fig-3-1"}, "image": {"alt": "Twelve tokens in two rows. Gold marks Ada, Lovelace, Charles, Babbage and London; the tagger marks Ada, Lovelace, Charles and her."}} tags=["hide-input"]
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
# - **You need** precision and recall ([chapter 01](01_imbalance.ipynb)) and the gradient $p - y$ of cross
#   entropy ([chapter 02](02_cross_entropy.ipynb)).
# - **You will be able to** prove that the dice coefficient is F1, say why an average of F1s is not an F1, and
#   predict what the smoothing term γ does.
# - **Time** about 15 seconds on a CPU; a GPU does not help. Symbols and terms: [Notation and
#   glossary](../docs/notation.md).

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import inspect
from itertools import product

import numpy as np
import pandas as pd
import sympy as sp
import torch
from IPython.display import Markdown, Math, display
from sklearn.metrics import f1_score as sklearn_f1

from dicebook.losses import equations
from dicebook.losses.functional import binary_cross_entropy, binary_dice
from dicelab.toy import f1_score, imbalanced_blobs, optimal_logits

torch.set_default_dtype(torch.float64)


# %% [markdown]
# ## 3.1 Two sets of tokens
#
# Figure 3.1 shows a sentence with two sets of marks. $B$ is the set of positions that are part of a name, as a
# person marked them. $A$ is the set of positions that a tagger marks. How similar are the two sets? We want a
# number that is 1 if they are equal, and 0 if they have nothing in common.
#
# > "an F1-oriented statistic used to gauge the similarity of two sets" (the paper, Section 3.3)
#
# (eq-3)=
# Dice {cite}`dice1945` and Sørensen {cite}`sorensen1948` compare what two sets share with how large they are.
# The paper calls their coefficient DSC here, and later it gives this name to a loss. In this book it is the *dice
# coefficient*, and DSC is the loss of chapter 06 and nothing else:
#
# $$ \mathrm{DSC}(A, B) = \frac{2\,|A \cap B|}{|A| + |B|} \tag{3} $$
#
# The denominator counts every shared position twice, once in each set. That is why the numerator counts it
# twice, too.

# %%
def dice_of_sets(A, B):
    return 2 * len(A & B) / (len(A) + len(B))


print(f"shared {len(A & B)}, sizes {len(A)} and {len(B)}")
print(f"dice {dice_of_sets(A, B):.3f}")

# %% [markdown]
# Three positions are shared, so the numerator is six, and the two sets together have nine. You have met this
# fraction before.
#
# ## 3.2 The dice coefficient is F1
#
# We translate the sets into the words of chapter 01. The shared positions are the true positives, TP. A
# position that is only in $A$ is a false positive, and one that is only in $B$ is a false negative. Therefore
# $|A| = TP + FP$ and $|B| = TP + FN$, and Eq. 3 becomes
#
# $$ \mathrm{DSC} = \frac{2\,TP}{(TP + FP) + (TP + FN)} = \frac{2\,TP}{2\,TP + FP + FN} $$
#
# > "When applied to boolean data with the definition of true positive (TP), false positive (FP), and false
# > negative (FN)" (the paper, Section 3.3)
#
# (eq-4)=
# This is the fraction that we found for F1, the harmonic mean of precision and recall, in [Eq. 1.1](eq-1-1):
#
# $$ \mathrm{DSC} = \frac{2TP}{2TP + FN + FP} = \frac{2\,\mathrm{Pre} \times
# \mathrm{Rec}}{\mathrm{Pre} + \mathrm{Rec}} = F_1 \tag{4} $$
#
# So the dice coefficient of two sets is not merely *like* F1; it is the same number under another name.
# Scikit-learn agrees on our sentence.

# %%
gold = [i in B for i in range(len(tokens))]
said = [i in A for i in range(len(tokens))]
print(f"Eq. 3: {dice_of_sets(A, B):.4f}")
print(f"scikit-learn's F1: {sklearn_f1(gold, said):.4f}")


# %% [markdown]
# One outcome does not occur in Eq. 4: the true negatives. To see what that means, we keep TP, FP and FN as they
# are, and add more and more words that both the person and the tagger leave alone.

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
# Accuracy climbs from 0.75 to almost 1, and F1 stays exactly where it was. For a score this is what we want.
# For a loss it will turn out to be the problem, because a loss has to teach a model something about negatives
# as well. Can we simply train for F1, batch by batch?
#
# ## 3.3 F1 belongs to a set
#
# Training works on small batches, and adds up what it learns from each. This is harmless for accuracy, which is
# a mean over examples. Is it harmless for F1? Take two batches. In the first there is one name, and the tagger
# finds it. In the second there are nine names, and it misses all of them.

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
# The accuracy of both batches together is the mean of their accuracies. The F1 of both is 0.182, because the
# tagger found one name of ten. The mean of their F1s, however, is 0.5, because the one name of the first batch
# counts as much as the nine of the second.
#
# It gets worse: the mean also depends on how the examples are *shuffled*. We take one fixed set of predictions
# for 1600 examples and deal it into a hundred batches of 16. We average the F1s of the batches, and we repeat
# this with two thousand shuffles. Some batches have no positive, neither gold nor predicted. Their F1 is $0/0$,
# which some people count as 1 and others as 0, so we try both.

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

# %% mystnb={"code_prompt_show": "Code of Figure 3.2", "figure": {"caption": "Figure 3.2. The same 1600 predictions, dealt into batches by 2000 shuffles.", "name": "fig-3-2"}, "image": {"alt": "Two humps. The left one, 0/0 counted as 0, lies far below the dashed line that marks the F1 of the whole set; the right one, 0/0 counted as 1, lies above it and touches it with its tail."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
for (zero, values), color in zip(mean_of_f1.items(), ("C0", "C2"), strict=True):
    label = f"mean of batch F1s, 0/0 counted as {zero:.0f}"
    ax.hist(values.numpy(), bins=30, color=color, alpha=0.7, label=label)
ax.axvline(whole, color="k", ls="--", label=f"F1 of the whole set: {whole:.3f}")
ax.set(xlabel="score", ylabel="number of shuffles")

fig.legend(loc="outside lower center", fontsize="small")
plt.show()


# %% [markdown]
# The predictions are the same each time, and yet the mean of the batch F1s moves by 0.1 and more with the
# shuffle. Its middle is wrong, too. The set has an F1 of 0.497, and the mean lies near 0.27 or near 0.55,
# depending on how we count the batches with nothing in them. What follows for you is a rule for every score of
# this kind. **F1 is a statistic of a set:** sum the counts first, and divide once. Chapter 04 does so in a
# loss. The paper first goes the other way, and so do we.

# %% [markdown]
# ## 3.4 Down to one example
#
# To train we need a derivative. A decision, "in $A$ or not", has none. So we replace it by the probability
# $p_{i1}$ that the model gives to the positive class, which can change smoothly.
#
# > "For an individual example xi, its corresponding dice coefficient is given as follows" (the paper, Section
# > 3.3)
#
# (eq-5)=
# The paper then takes the formula of a set and applies it to a *single* example:
#
# $$ \mathrm{DSC}(x_i) = \frac{2\, p_{i1}\, y_{i1}}{p_{i1} + y_{i1}} \tag{5} $$
#
# In words: one example is treated as a set of its own. If it is positive and $p$ is 1, the coefficient is 1.
# Let us look at other values.

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
# For a positive the coefficient rises with $p$, as it should. For a negative it is 0, wherever $p$ is. The
# library has one function for this equation and all of its relatives, Equations 3 to 8; with γ = 0 it is Eq. 5.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
Markdown(f"```python\n{inspect.getsource(equations.dice_coefficient)}```")

# %% [markdown]
# > "As can be seen, a negative example (yi1 = 0) does not contribute to the objective." (the paper, Section
# > 3.3)
#
# The paper says it in passing, but look at what it means. With $y = 0$ the numerator is 0 whatever the model
# predicts, and a number that never changes has no gradient.

# %%
p = torch.linspace(0.05, 0.95, 7, requires_grad=True)
dsc_of_example(p, torch.tensor(0.0)).sum().backward()
print(p.grad)


# %% [markdown]
# No negative has a gradient, so a model can never learn from one. And at $p = 0$, exactly where every negative
# should end, the coefficient is $0/0$.

# %% [markdown]
# What would a model do that maximises the mean of Eq. 5? We look at hard predictions. A found positive
# scores 1. A missed positive and a false alarm score 0. A true negative is $0/0$.
#
# (eq-3-1)=
# If we count $0/0$ as 0, then the mean over $N$ examples is
#
# $$ \frac1N \sum_i \mathrm{DSC}(x_i) = \frac{TP}{N} \tag{3.1} $$
#
# This is largest if the model calls everything positive. If we count $0/0$ as 1, as the library does, then the
# mean is $(TP + TN)/N$, which is accuracy. Neither is F1. The reason is the one from section 3.3. In F1, a
# false positive makes the *denominator of the set* larger, and so it lowers the value of every true positive.
# The denominator of one example knows nothing about the others. Can a small change give negatives their
# gradient back?
#
# ## 3.5 The smoothing term
#
# > "For smoothing purposes, it is common to add a γ factor to both the nominator and the denominator" (the
# > paper, Section 3.3; it sets γ = 1)
#
# (eq-6)=
# The usual repair is to add a constant γ, above and below:
#
# $$ \mathrm{DSC}(x_i) = \frac{2\, p_{i1}\, y_{i1} + \gamma}{p_{i1} + y_{i1} + \gamma} \tag{6} $$
#
# It was meant to avoid $0/0$, but it does more. For a negative the coefficient is now $\gamma/(p + \gamma)$,
# which falls as $p$ rises. A negative has a gradient again, and it owes this gradient to γ alone. For a loss we
# take one minus the coefficient.

# %%
def dice_loss_of_example(p, y, gamma=1.0):
    return 1 - (2 * p * y + gamma) / (p + y + gamma)


# %% [markdown]
# What does γ do to the gradients? We write the loss of a positive, $L_1$, and that of a negative, $L_0$, in
# their shortest form, and differentiate:
#
# $$ \begin{aligned}
# L_1 &= \frac{1-p}{1+p+\gamma}, & \frac{dL_1}{dp} &= -\frac{2+\gamma}{(1+p+\gamma)^2} \\
# L_0 &= \frac{p}{p+\gamma}, & \frac{dL_0}{dp} &= \frac{\gamma}{(p+\gamma)^2}
# \end{aligned} $$
#
# The two slopes have opposite signs everywhere: the loss of a positive falls with $p$, and that of a negative
# rises. (That will not be true of the loss of chapter 06.) Put in $p = 0$, and you see that **the slope of an
# easy negative is $1/\gamma$**.
#
# (eq-3-2)=
# The losses have another property: **γ compresses the range**. The worst that can happen is a positive at $p =
# 0$ or a negative at $p = 1$. Both cost
#
# $$ L_1(0) = L_0(1) = \frac{1}{1+\gamma} \tag{3.2} $$
#
# With γ = 0 this is 1, and with a large γ it is little. Which γ is a good choice? We compute the slopes for
# several.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
P, G = sp.symbols("p gamma", positive=True)
L1, L0 = (1 - P) / (1 + P + G), P / (P + G)
rows = {}
for g in (0, 0.01, 0.1, 1, 10):
    at = {P: 0, G: g}
    slope = sp.limit(sp.diff(L0, P).subs(P, 0), G, g, "+")
    half = sp.diff(L0, P).subs({P: 0.5, G: g})
    rows[f"γ = {g}"] = {
        "negative, p = 0": float(slope) if slope.is_finite else np.inf,
        "negative, p = 0.5": float(half),
        "positive, p = 0": float(sp.diff(L1, P).subs(at)),
        "costliest mistake": float(L1.subs(at)),
    }
print("slopes, and what the costliest mistake costs")
pd.DataFrame(rows).T.round(3)


# %% [markdown]
# You can also change γ with the slider, and train with it in the <a
# href="../docs/playground.html#loss=dl&amp;squared=false&amp;level=example">Playground</a>.
#
# <div class="play" data-play="smoothing"><img src="../_static/play-smoothing.png"
# alt="Left, the loss of a positive and of a negative against p; right, the slopes of both. With γ = 1 the slope is 1 for a negative and −0.75 for a positive at p = 0, and the costliest mistake costs 0.5."></div>

# %% [markdown]
# Read the table from the row γ = 1. Upwards, γ shrinks: the slope of a negative at $p = 0$ grows without bound,
# while at other values of $p$ it vanishes. Downwards, γ grows: all numbers shrink, and even the costliest
# mistake costs little. (At $p = 0.5$ the slope of a negative is largest between two rows, for γ = 0.5.) In
# other words, γ leads from a loss that is blind to negatives (γ = 0) to a small multiple of the absolute error
# $|p - y|$ (γ → ∞, exercise 3.3). The paper sets it to 1 and gives no reason. So far we looked at slopes with
# respect to $p$. A network sees something else.

# %% [markdown]
# ## 3.6 The gradient on the logit
#
# A network computes the logit $x$, and the probability comes from a sigmoid. Therefore the gradient that
# reaches the network is the slope above times $dp/dx = p(1-p)$. We compare its size for cross entropy and for
# Eq. 6 with γ = 1. In one column the positive is a *missed* one, at a small $p$. From a good loss we would
# expect a large gradient there.

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
# Look at the column of $p = 0.01$. For an easy negative the two losses agree, up to a few percent. For a
# *missed positive* they do not: the gradient of cross entropy is 0.99, and that of dice is 135 times smaller.
# The reason is the factor $p(1-p)$, which makes the gradient small wherever the model is sure, whether it is
# right or wrong. Cross entropy is protected, because the slope of the logarithm is $1/p$, and that cancels the
# $p$.

# %% [markdown]
# Is this a problem in training? Suppose that one example in twenty is positive, and all examples have the same
# $p$. Under cross entropy the two classes balance at $p = 0.05$, as [section 2.3](02_cross_entropy.ipynb)
# showed. Where do they balance under this loss?

# %% mystnb={"code_prompt_show": "Code of Figure 3.3", "figure": {"caption": "Figure 3.3. 5% positives, all examples at the same p: minus the mean gradient on the bias. Above zero the bias rises.", "name": "fig-3-3"}, "image": {"alt": "The line of cross entropy starts at +0.05, crosses zero at p = 0.05 and falls steadily. The curve of dice is negative everywhere, a shallow bowl."}} tags=["hide-input"]
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
# They balance nowhere. Cross entropy comes to rest at the share of positives, where its curve crosses zero. The
# curve of the per-example dice loss never crosses it. From *every* starting point the negatives win, until all
# probabilities are 0.
#
# This looks like the end of the idea. It is not, because we left F1 when we went down to one example in section
# 3.4. A loss that sums over the whole set first knows how many positives are still missing, and while many are
# missing it lets each of them count more. In chapter 04 we train with both kinds, and find that the second kind
# works.

# %% [markdown]
# ## Summary
#
# - The dice coefficient of predicted and gold positives ([Eq. 3](eq-3)) is F1 ([Eq. 4](eq-4)), and true
#   negatives do not occur in it.
# - F1 is a statistic of a set: a mean of batch F1s depends on the shuffle, on the size of the batch and on how
#   you count $0/0$.
# - For one example and without smoothing ([Eq. 5](eq-5)) a negative has no gradient.
# - Negatives learn only through the smoothing term γ ([Eq. 6](eq-6)), which also compresses the loss to the
#   range from 0 to $1/(1+\gamma)$.
# - Through the sigmoid a missed positive has almost no gradient, so with few positives the negatives win at
#   every $p$.
#
# ## Exercises
#
# **Exercise 3.1 (pencil).** The Jaccard index is $|A \cap B|/|A \cup B|$. Express it by the dice coefficient.
# Can the two ever rank two taggers differently on the same set?

# %% mystnb={"code_prompt_show": "Solution 3.1"} tags=["solution", "hide-cell"]
TP, FP, FN, D = sp.symbols("TP FP FN D", positive=True)
dsc, jaccard = 2 * TP / (2 * TP + FP + FN), TP / (TP + FP + FN)
as_dice = D / (2 - D)
assert sp.simplify(as_dice.subs(D, dsc) - jaccard) == 0
slope = sp.factor(sp.diff(as_dice, D))
display(Math(rf"J = {sp.latex(as_dice)}, \qquad \frac{{dJ}}{{dD}} = {sp.latex(slope)} > 0"))
# J grows with D, so on one set they always rank alike. Means over several sets may differ.

# %% [markdown]
# **Exercise 3.2 (recall).** A tagger has precision 0.9 and recall 0.1. Give its F1, its plain mean and its
# geometric mean. How high can F1 be if recall is 0.1?

# %% mystnb={"code_prompt_show": "Solution 3.2"} tags=["solution", "hide-cell"]
pre, rec = 0.9, 0.1
print(f"F1 {2 * pre * rec / (pre + rec):.3f}")
print(f"plain mean {(pre + rec) / 2}, geometric mean {(pre * rec) ** 0.5:.3f}")
print(f"F1 at precision 1: {2 * rec / (1 + rec):.3f}, less than twice the recall")

# %% [markdown]
# **Exercise 3.3 (pencil, then sympy).** Let γ go to 0 and to infinity in the losses of Eq. 6, the second
# time after multiplying the loss by γ. What is left? And for which γ has an easy negative ($p \to 0$)
# as large a slope as a positive ($p \to 0$)?

# %% mystnb={"code_prompt_show": "Solution 3.3"} tags=["solution", "hide-cell"]
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
# **Exercise 3.4 (small research).** Since F1 is a statistic of a set, a test set gives it a sampling error. How
# many *positives* must a test set have before you know the F1 of the Bayes classifier on our toy to ±0.02 (half
# a 95% interval)? Estimate by bootstrap, for 1% and for 5% positives.

# %% mystnb={"code_prompt_show": "Solution 3.4"} tags=["solution", "hide-cell"]
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
# What counts is the number of positives, not of examples: 320 and 400 of them give 0.046 and 0.040.
# The width falls with their square root, and ±0.02 takes about 1600 of them.

# %% [markdown]
# ## Further reading
#
# - {cite:t}`forman2010`: three ways to average F1 over the folds of a cross-validation, which disagree
#   most where positives are rare: section 3.3 for scores.
# - {cite:t}`opitz2019`: two formulas go by the name "macro F1"; how far they can lie apart.
# - {cite:t}`dice1945`: three pages on how often two species are met together, and the coefficient.
