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
# # 19 Other remedies
#
# You have few positives, and somebody tells you not to bother with dice. Take class-balanced weights, they say, or focal loss, or logit
# adjustment, or throw some negatives away. Each of these remedies has a paper that shows a gain. Do they all do the same thing?
#
# In this chapter we write each of them in a line or two and put one question to all: where is its threshold? We will
# see that most of them move the threshold and do little else. On twenty-seven real tasks we compare them with cross
# entropy at argmax. Class weights gain 4.1 points of F1, Tversky loss gains 3.3 and dice 1.8. However, if the
# thresholds of both losses are tuned, none of eight remedies is distinguishable from cross entropy.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who were told to try logit adjustment, class-balanced weights, LDAM, asymmetric loss, poly
#   loss or negative sampling instead of dice.
# - **You need** the tuned threshold and the weights of [chapter 02](02_cross_entropy.ipynb), and the
#   threshold of set-level dice ([section 4.3](04_dice_loss.ipynb)).
# - **You will be able to** say which threshold a loss has built in, and to say whether a remedy only moves
#   the threshold or also changes the model.
# - **Time** about a minute on a CPU. A GPU does not help.
#
# </details>

# %% tags=["remove-cell"]
# Without dicebook, this cell installs it if `make repository` has set an address, and else says how.
try:
    __import__("dicebook")
except ModuleNotFoundError:
    _install = """print("dicebook is missing: in a clone, run pip install '.[book]'")"""
    get_ipython().run_cell(_install)

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import math
from functools import partial
from itertools import product

import matplotlib.pyplot as plt
import pandas as pd
import torch
import torch.nn.functional as F
from scipy.optimize import brentq

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from dicebook import make_loss
from dicelab.figures import style, use_style
from dicelab.records import searched
from dicelab.records.runs import interval
from dicelab.tables import minus, signed
from dicelab.toy import (
    best_threshold,
    f1_score,
    imbalanced_blobs,
    misspecified_blobs,
    optimal_logits,
    train_from_starts,
    train_logistic,
)

use_style()
torch.set_default_dtype(torch.float64)
POSITIVE = 0.05
prior = math.log(POSITIVE / (1 - POSITIVE))  # the log-odds of a positive

# %% tags=["remove-cell"]
ARMS = {
    "ce": "cross entropy, near 0",
    "logit_adjustment": "logit adjustment",
    "wce": "class weights",
    "dice": "dice, near 0",
    "dice_start": "dice",
    "dice_both": "dice of both classes",
    "focal_start": "focal loss",
    "dsc_start": "self-adjusting dice",
    "tversky_start": "Tversky",
}
study = searched.read_tasks()
effects, pooled = {}, {}
for arm, how in product(ARMS, ("argmax", "tuned")):
    found = [e for records in study.values() if (e := searched.minus_start(records, arm, how))]
    if len(found) >= 18:  # all tasks that the arm is for, with two searches or more
        effects[arm, how], pooled[arm, how] = found, searched.pool(found)
remedies = list(dict.fromkeys(arm for arm, _ in pooled))


# %% mystnb={"code_prompt_show": "Code of Figure 19.1", "figure": {"caption": "Figure 19.1. Each remedy minus cross entropy from the log prior on real text, in points of F1. Grey: one dot a task. Coloured: the mean over tasks with its 95% interval. Left at argmax, right with thresholds tuned for both.", "name": "fig-19-1"}, "image": {"alt": "Two panels with one row for each remedy: a line of grey dots, one a task, and the mean over tasks as a diamond. At argmax the means of class weights and logit adjustment lie at 4, those of Tversky and of dice of both classes at 3, those of dice and self-adjusting dice at 1 to 2, that of focal loss just below 0, and a few dots lie 20 points and more to the right. With tuned thresholds all means lie at 0."}} tags=["hide-input"]
def draw_remedies():
    _, axes = plt.subplots(
        1, 2, figsize=(7.2, 0.5 + 0.45 * len(remedies)), sharex=True, sharey=True
    )
    for ax, how in zip(axes, ("argmax", "tuned"), strict=True):
        for row, arm in enumerate(remedies):
            means = [e.mean for e in effects[arm, how]]
            ax.plot(means, [row + 0.2] * len(means), "o", color="0.6", ms=3, alpha=0.7)
            over = pooled[arm, how].over_all
            color = style(ARMS[arm])["color"]
            ax.plot([over.low, over.high], [row - 0.1] * 2, color=color, lw=2)
            ax.plot(over.mean, row - 0.1, "D", color=color, ms=5)
        ax.axvline(0, color="#C4C4C4", lw=1)
        ax.set(title=how, xlabel="gain in F1, points")
    axes[0].set_yticks(range(len(remedies)), [ARMS[arm] for arm in remedies])
    axes[0].set_ylim(len(remedies) - 0.4, -0.6)
    plt.show()


draw_remedies()


# %% [markdown]
# Section 19.7 reads this picture. Before it we look at the remedies one by one. For each we ask where its threshold is, and what
# else it does. None of them is in the library, because each is a line or two of code.
#
# ## 19.1 One question for every loss
#
# Every model that decides at a logit of 0 has a threshold, even if nobody set it. We want to know which true
# probability it belongs to. Take all examples that look alike to the model, and let a share η of them be
# positive ([section 4.3](04_dice_loss.ipynb)). Write $L_1$ and $L_0$ for the loss of a positive and of a
# negative, as functions of the logit $m$. The positives pull the logit up and the negatives pull it down.
# Training ends where the two pulls cancel:
#
# $$ \eta L_1'(m) + (1-\eta) L_0'(m) = 0 $$
#
# (eq-19-1)=
# We decide at $m = 0$. Therefore the group that ends exactly there has the share
#
# $$ \eta^\dagger = \frac{L_0'(0)}{L_0'(0) - L_1'(0)} \tag{19.1} $$
#
# Groups with a larger share end above 0 and are called positive. So this share is the **built-in threshold** of a loss, in true
# probabilities. It depends on two slopes alone. For F1 it should be half of the best F1 ([Eq. 2.3](eq-2-3)), which is 0.26 on the
# toy of this book.
#
# Call a loss *symmetric* if it treats the two labels alike:
#
# $$ L_1(m) = L_0(-m), \qquad L_1'(0) = -L_0'(0), \qquad \eta^\dagger = \tfrac12 $$
#
# Both slopes are then equally steep, and the threshold is one half. **A symmetric loss cannot move the threshold.** In code
# [Eq. 19.1](eq-19-1) is:

# %%
def built_in_threshold(loss):
    """Eq. 19.1 for a loss of logits and labels, one value per example."""
    m = torch.zeros(2, requires_grad=True)
    total = loss(m, torch.tensor([1.0, 0.0])).sum()
    positive, negative = torch.autograd.grad(total, m)[0]
    return (negative / (negative - positive)).item()


# %%
def cross_entropy(m, y):
    return F.binary_cross_entropy_with_logits(m, y, reduction="none")


symmetric = {"cross entropy": cross_entropy}
for gamma in (1.0, 2.0, 5.0):
    focal = make_loss("binary_fl", gamma=gamma, reduction="none")
    symmetric[f"focal, γ = {gamma:g}"] = focal
built_in = {n: built_in_threshold(loss) for n, loss in symmetric.items()}
pd.Series(built_in, name="built-in threshold").to_frame().round(3)


# %% [markdown]
# Focal loss is known as a remedy for imbalance. You may therefore be surprised that its threshold is 0.5 with every
# exponent. The reason is that it gives a lower weight to the easy examples of *both* labels. (Its second parameter,
# α, is a weight as in [Eq. 2](eq-2), and a weight does move the threshold.) Which remedies use the fact that one
# class is rarer? The next one is given the share of positives as a number.

# %% [markdown]
# ## 19.2 The prior, in three places
#
# You can tell a model how frequent the positives are. Let $s = \log\frac{\pi}{1-\pi}$ be the log-odds of a positive, which is −2.94 if
# 5% are positive. There are three moments at which you can use this number:
#
# - **Before**: start the output layer's bias at $s$, as RetinaNet does {cite}`lin2017focal`.
# - **After**: decide by $m > \tau s$, with some τ. That is a threshold.
# - **During**: train with $m + \tau s$ in the place of $m$, and decide by $m > 0$: *logit adjustment*
#   {cite}`menon2021logit`.

# %%
def logit_adjusted(m, y, tau=1.0):
    return cross_entropy(m + tau * prior, y)


def mean_of(loss):
    return lambda m, y: loss(m, y).mean()


# %% [markdown]
# (eq-19-2)=
# These three look like three methods, but they are one. The model is $m = w \cdot x + b$. The adjustment is a constant, so it can
# move into the bias:
#
# $$ L_{\text{adjusted}}(w, b) = L_{\text{CE}}(w,\; b + \tau s) \tag{19.2} $$
#
# In words: the adjusted loss of a model is the plain cross entropy of a model whose bias is larger by τs. Value and gradient agree at
# every step. So training with the adjustment from $b_0 = 0$ *is* training cross entropy from $b_0 = \tau s$ and deciding by
# $m > \tau s$. We check it in the toy:

# %%
x, y = imbalanced_blobs(seed=0)
rows, twins = {}, []
for tau in (0.5, 1.0):
    loss = mean_of(partial(logit_adjusted, tau=tau))
    adjusted = train_logistic(loss, x, y, bias=0.0)
    plain = train_logistic(mean_of(cross_entropy), x, y, bias=tau * prior)
    rows[f"τ = {tau}"] = [adjusted.bias, plain.bias, tau * prior]
    twins.append((adjusted, plain))
signed(pd.DataFrame(rows, ["bias, adjusted", "bias, CE", "τ s"]).T, 3)

# %% [markdown]
# The losses of all 200 steps are equal, and the biases end τ s apart. (In a network this holds only if
# nothing else, such as weight decay, acts on the output bias.) So two things are left of logit adjustment: a
# good start, and a threshold that is set in advance. The first formula says where the threshold lies for a
# given τ, and the second which τ is best for F1:
#
# (eq-19-3)=
# $$ \eta^\dagger = \sigma(\tau s) = \frac{\pi^\tau}{\pi^\tau + (1-\pi)^\tau},
# \qquad \tau^* = \frac{\operatorname{logit}(F_1^*/2)}{\operatorname{logit}\pi} \tag{19.3} $$
#
# With τ = 1 the threshold is π itself. This is the best threshold for balanced accuracy, for which the method
# was made, and not for F1. The second formula comes from [Eq. 2.3](eq-2-3), which gives the best threshold
# for F1. How much does τ matter? We train one model on each of ten data sets and decide at each τ:

# %%
x_big, y_big = imbalanced_blobs(400_000, seed=99)
honest = optimal_logits(x_big).sigmoid()
t_best, f1_best = best_threshold(honest, y_big)
tau_best = math.log(t_best / (1 - t_best)) / prior

by_tau = {tau: [] for tau in (0.0, round(tau_best, 2), 1.0)}
for seed in range(10):
    a, b = imbalanced_blobs(seed=2 * seed)
    a_test, b_test = imbalanced_blobs(seed=2 * seed + 1)
    loss = mean_of(cross_entropy)
    m = train_logistic(loss, a, b, bias=prior, steps=120).predict(a_test)
    for tau, scores in by_tau.items():
        scores.append(f1_score(m > tau * prior, b_test))
at_tau = {tau: 1 / (1 + math.exp(-tau * prior)) for tau in by_tau}
f1_of = {tau: sum(scores) / 10 for tau, scores in by_tau.items()}
swept = pd.DataFrame({"threshold": at_tau, "F1": f1_of}).rename_axis("τ")
swept.round(3)


# %% [markdown]
# The best τ is 0.35, which is a threshold of 0.26. With τ = 1 we go too far: the threshold is 0.05, and F1 is lower
# than without any adjustment. **If F1 is the score, τ is a threshold to be tuned, like any other.** The next remedy
# moves the threshold by weights.
#
# ## 19.3 Class-balanced weights
#
# (eq-19-4)=
# The usual weight of a class is one divided by its number of examples. But a thousand examples of a class do not tell you a thousand
# times as much as one, because many of them repeat what is known. Class-balanced weights therefore divide by an *effective number* of
# examples {cite}`cui2019`. For a class with $n_c$ examples the weight is
#
# $$ \alpha_c = \frac{1 - \beta}{1 - \beta^{n_c}} \tag{19.4} $$
#
# The parameter β says how soon examples repeat each other. At β = 0 every weight is 1, and as β goes to 1 the weight
# goes to $1/n_c$. So β leads from equal weights to "balanced" ones, $1/n_c$. With two classes only the ratio $r$ of the weights counts, and
# it puts the threshold at $1/(1+r)$ ([Eq. 2.7](eq-2-7)). For 1900 negatives and 100 positives we get:

# %%
def ratio(beta, few=100, many=1900):
    return (1 - beta**many) / (1 - beta**few)


def class_balanced(m, y, beta):
    """Eq. 19.4, scaled so that a negative weighs 1."""
    return torch.where(y == 1, ratio(beta), 1.0) * cross_entropy(m, y)


def threshold_of(beta):
    return 1 / (1 + ratio(beta))


beta_best = brentq(lambda b: threshold_of(b) - t_best, 0.9, 0.99999)
betas = (0.9, 0.99, beta_best, 0.999, 0.9999, 0.999999)
rows = {f"{b:.6g}": [ratio(b), threshold_of(b)] for b in betas}
balanced = pd.DataFrame(rows, ["ratio", "threshold"]).T.rename_axis("β")
balanced.round(3)


# %% [markdown]
# The threshold runs from 0.5 to 0.05, and passes 0.26 near β = 0.996. You cannot copy a β from a paper,
# because its scale depends on how large the corpus is. So to choose β is to choose a threshold, and you may
# as well tune the threshold itself.
#
# ## 19.4 Three losses with built-in margins and exponents
#
# (eq-19-5)=
# Three more remedies change the loss of an example itself. *Label-distribution-aware margins* (LDAM)
# {cite}`cao2019` let the right class win by a margin Δ, and by a larger one if it has few examples. *Poly loss*
# {cite}`leng2022` adds ε times $1 - p_t$ to cross entropy, where $p_t$ is the probability of the right class. The
# *asymmetric loss* {cite}`ridnik2021` was made for examples with hundreds of possible labels
# ([chapter 21](21_many_labels.ipynb)). It gives positives and negatives different focal exponents, and it ignores
# the first few percent of a negative's probability:
#
# $$
# \begin{aligned}
# \text{LDAM:} \quad & L_1 = \log(1 + e^{\Delta_1 - m}), \quad L_0 = \log(1 + e^{\Delta_0 + m}),
# \quad \Delta_c = K\, n_c^{-1/4} \\
# \text{poly:} \quad & L = -\log p_t + \varepsilon\,(1 - p_t) \\
# \text{asymmetric:} \quad & L_1 = -(1-p)^{\gamma_+} \log p, \quad L_0 = -\bar p^{\,\gamma_-} \log(1 - \bar p),
# \quad \bar p = \max(p - \delta, 0)
# \end{aligned} \tag{19.5}
# $$

# %%
def ldam(m, y, largest=0.5, few=100, many=1900):
    rare, common = largest, largest * (few / many) ** 0.25
    wanted = torch.where(y == 1, m - rare, -m - common)
    return F.softplus(-wanted)


def poly(m, y, epsilon=2.0):
    return cross_entropy(m, y) + epsilon * (m.sigmoid() - y).abs()


def asymmetric(m, y, gamma_pos=0.0, gamma_neg=4.0, delta=0.05):
    p = m.sigmoid()
    forgiven = (p - delta).clamp(min=0)
    positive = (1 - p) ** gamma_pos * F.softplus(-m)
    negative = -(forgiven**gamma_neg) * torch.log1p(-forgiven)
    return torch.where(y == 1, positive, negative)


# %%
three = {"LDAM": ldam, "poly": poly}
for up, down, delta in ((0, 2, 0), (0, 4, 0), (0, 4, 0.05)):
    settings = {"gamma_pos": up, "gamma_neg": down, "delta": delta}
    name = f"asymmetric, γ₊ {up}, γ₋ {down}, δ {delta}"
    three[name] = partial(asymmetric, **settings)
thresholds = {name: built_in_threshold(f) for name, f in three.items()}
pd.Series(thresholds, name="built-in threshold").to_frame().round(3)

# %% [markdown]
# Which of them move the threshold? By [Eq. 19.1](eq-19-1) that of LDAM is
# $\sigma(\Delta_0) / (\sigma(\Delta_0) + \sigma(\Delta_1))$. It is always above one third, and with the usual largest margin
# it is 0.473, which is only a little below one half. The authors of LDAM also change the weights late in training, which
# moves the threshold. Poly loss is symmetric, so its threshold is 0.5. Its new term is $|p - y|$, which is γ times the
# dice loss of one example as γ → ∞ ([section 3.5](03_dice_and_f1.ipynb)).
#
# Only the asymmetric loss moves far: with its usual settings, γ₋ = 4 and δ = 0.05, the threshold is at 0.128. However,
# it is *fixed*, and the best threshold depends on how frequent a label is and how easy it is to recognise. So if your
# labels have different shares, tune a threshold for each label before you search γ₋ (exercise 19.4).
#
# ## 19.5 Negative sampling
#
# (eq-19-6)=
# The simplest remedy is to throw negatives away. Keep all positives, and each negative with probability $k$. Then the odds of every
# group are divided by $k$:
#
# $$ \frac{\eta'}{1 - \eta'} = \frac1k \cdot \frac{\eta}{1-\eta}, \qquad
# \eta^\dagger = \frac{k}{1 + k} \tag{19.6} $$
#
# In logits that is a shift by $-\log k$, and adding $\log k$ afterwards takes it back. So sampling has the effect of a weight $1/k$
# on the positives ([Eq. 2.5](eq-2-5)), with cheaper steps and fewer negatives seen. For the threshold 0.26 one keeps $k = 0.35$ of
# them, between six and seven negatives for each positive.

# %%
rows = {}
for r in (1, 3, 6.7, 19):
    k, scores = r / 19, []
    for seed in range(10):
        a, b = imbalanced_blobs(seed=2 * seed)
        a_test, b_test = imbalanced_blobs(seed=2 * seed + 1)
        generator = torch.Generator().manual_seed(seed)
        kept = (b == 1) | (torch.rand(len(b), generator=generator) < k)
        loss = mean_of(cross_entropy)
        model = train_logistic(loss, a[kept], b[kept], steps=120)
        m = model.predict(a_test)
        thresholds = (0.0, -math.log(k))
        scores.append([f1_score(m > at, b_test) for at in thresholds])
    rows[r] = [k, k / (1 + k), *torch.tensor(scores).mean(0).tolist()]
columns = ["k", "threshold", "F1 at m > 0", "F1 at m > −log k"]
sampling = pd.DataFrame(rows, columns).T
sampling = sampling.rename_axis("negatives per positive")
sampling.round(3)

# %% [markdown]
# F1 at m > 0 rises and falls with the threshold. With the shift taken back, all values of F1 are within 0.02 of each
# other, even where only a tenth of the examples is used. So here the discarded negatives taught the model almost
# nothing. If you sample to save time, take the shift back, or tune the threshold. (In entity recognition negatives
# are sampled for another reason, too: unlabelled entities hide among them {cite}`li2021unlabeled`.)
#
# ## 19.6 One axis
#
# Now we can put all remedies on one axis. The curve is the F1 of the toy at each threshold, and each remedy has its place at its built-in
# threshold:

# %% mystnb={"code_prompt_show": "Code of Figure 19.2", "figure": {"caption": "Figure 19.2. What each remedy's built-in threshold is worth on the toy with 5% positives.", "name": "fig-19-2"}, "image": {"alt": "F1 against the threshold on a logarithmic axis: a hill with its top at 0.26. Logit adjustment with tau 1 and one negative a positive lie at 0.05, far down the left slope; class-balanced weights at 0.1 and asymmetric loss at 0.13, higher up; linear dice at the top; LDAM, poly, focal and cross entropy at 0.47 to 0.5 on the right slope."}} tags=["hide-input"]
grid = torch.linspace(0.02, 0.7, 120)
hill = [f1_score(honest > t, y_big) for t in grid]
shown = {
    "τ = 1; 1 negative a positive": POSITIVE,
    "class-balanced, β = 0.999": 1 / (1 + ratio(0.999)),
    "asymmetric (0, 4, 0.05)": built_in_threshold(asymmetric),
    "dice linear, set: D/2": f1_best / 2,
    "LDAM": built_in_threshold(ldam),
    "CE, focal, poly": 0.5,
}
fig, ax = plt.subplots(figsize=(5.8, 4.2))
ax.plot(grid, hill, color="0.6")
for (name, t), marker in zip(shown.items(), "os^DPX", strict=True):
    color = style("dl linear")["color"] if "dice" in name else None
    ax.plot(t, f1_score(honest > t, y_big), marker, ms=8, label=name, color=color)
ax.set(xscale="log", xlabel="threshold, in true probability", ylabel="F1")
ax.set_xticks([0.05, 0.1, 0.2, 0.5], ["0.05", "0.1", "0.2", "0.5"])
ax.minorticks_off()
fig.legend(loc="outside lower center", ncols=2, fontsize="small")
plt.show()

# %% [markdown]
# If the probabilities of a model are calibrated, every remedy is a point on this curve, and a tuned threshold finds its top. So a remedy
# can only be better than a tuned threshold if it also changes the model.
#
# ### What else do they do?
#
# Can a remedy change the model? If no linear model is right, different losses may choose different ones. We try it on
# `misspecified_blobs`, the toy of chapters 04 to 07 that no line can separate well. There are ten data sets, and all
# losses have a threshold tuned on the training set.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
contest = {
    "cross entropy": mean_of(cross_entropy),
    "class-balanced, β = 0.9999": mean_of(partial(class_balanced, beta=0.9999)),
    "LDAM": mean_of(ldam),
    "poly, ε = 2": mean_of(poly),
    "asymmetric": mean_of(asymmetric),
    "dice linear, set": make_loss("binary_dl", squared=False),
    "dice squared, set": make_loss("binary_dl"),
}
options = {"blobs": misspecified_blobs, "seeds": range(10), "steps": 150}
runs = train_from_starts(contest, biases=[prior], **options)
runs |= train_from_starts(
    {"logit adjustment, τ = 1": mean_of(logit_adjusted)}, biases=[0.0], **options
)
found = {name: [run["tuned"] for run in of_seeds] for (name, _), of_seeds in runs.items()}

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
gains, rows = {}, {}
for name, values in found.items():
    gains[name] = g = interval([u - v for u, v in zip(values, found["cross entropy"], strict=True)])
    difference = minus(f"{g.mean:+.3f} [{g.low:+.3f}, {g.high:+.3f}]")
    rows[name] = [f"{sum(values) / 10:.3f}", difference if name != "cross entropy" else ""]
pd.DataFrame.from_dict(rows, orient="index", columns=["F1, tuned", "minus cross entropy"])

# %% [markdown]
# Logit adjustment is level with cross entropy to the last digit, as [Eq. 19.2](eq-19-2) says. Weights and
# dice find a better model, and all of their intervals exclude 0. The asymmetric loss, poly loss and LDAM are
# within 0.01 of cross entropy. The weights and the adjustment of this table have nearly the same built-in
# threshold, and yet they differ. The reason is that an adjustment only moves a bias that the model has
# anyway, while a weight changes which examples count most when the model is fitted. Which of the two toys is
# more like real text?
#
# ## 19.7 On real text
#
# The controlled study of [chapter 17](17_when_does_dice_help.ipynb) compares several of these remedies on twenty-seven tasks, with a frozen
# encoder. All have the same draws and the same search as cross entropy from the log prior. Dice, class weights and logit
# adjustment have five searches on each task. Focal loss, self-adjusting dice and Tversky loss, all from the log prior, have two. The table
# has the mean over tasks of the differences in [Figure 19.1](fig-19-1), with its 95% interval:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
rows = {}
for arm, how in pooled:
    mean, low, high, _ = pooled[arm, how].over_all
    row = rows.setdefault(ARMS[arm], {"tasks": len(effects[arm, how])})
    row["searches"] = min(e.searches for e in effects[arm, how])
    row[how] = minus(f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]")
pd.DataFrame(rows).T

# %% [markdown]
# **At argmax** the order is what the built-in thresholds let us expect. The remedies that know the class shares gain
# most over cross entropy: logit adjustment and class weights gain about four points each. Tversky loss gains 3.3. We
# let its search choose the price of a missed positive, which is a weight. Dice from a bias near 0 and self-adjusting
# dice gain less than two points. Focal loss, which is symmetric, gains nothing that we can see.
#
# How sure are these gains? After a correction for the number of questions that we asked, none of them is significant
# ([section 17.3](17_when_does_dice_help.ipynb)). The gains are not spread evenly either. On tasks of tags all gains
# are within a point of 0. They are largest on two tasks in which positives are five times as frequent in the test as
# in training. There class weights gain 20 points and more, and Tversky loss gains 14 and more.
#
# **With tuned thresholds** the intervals of all remedies include 0, and no mean is further from 0 than a third of a
# point. So real text looks like the first toy, whose model was right: we saw no gain from a better model. Two cautions
# remain. All heads of the study have a hidden layer. A linear head has fewer models to choose from, so it may be more
# like the second toy: if yours is linear, compare the losses on validation data. And for Tversky loss, more than a third of the winners of the first search took the largest number of steps
# that we allowed. So longer training might change its numbers.
#
# *The plug-in threshold* of [chapter 02](02_cross_entropy.ipynb) takes no labels. For cross entropy from the
# log prior, its mean F1 is not distinguishable from that of the threshold that is tuned on labels. But it
# relies on the model's probabilities, so it is wrong where use has more positives than training: on `sst2_02`
# it loses 17.8 points, and on `qqp_02` 7.7. On each of the twenty-three tasks whose shares agree, the
# interval includes 0.

# %% [markdown]
# ## Summary
#
# - *Proved*: a loss of single examples has a built-in threshold, [Eq. 19.1](eq-19-1). A symmetric loss, such
#   as cross entropy, focal or poly loss, has it at one half.
# - *Proved*: logit adjustment is cross entropy with a prior bias and a shifted threshold
#   ([Eq. 19.2](eq-19-2)). For F1, τ is a threshold to tune. Class-balanced weights and negative sampling are
#   weights.
# - *Made-up data*: if the model is right, no remedy can be better than a tuned threshold. If it is wrong, weights
#   and dice also find a better model.
# - *Real text*, twenty-seven tasks, equal searches: at argmax logit adjustment, class weights and Tversky
#   loss gain most, above all where positives are rarer in training than in use.
# - *Real text*, thresholds tuned, heads with a hidden layer: no remedy differs measurably from cross entropy.
# - *For you*: tune the threshold of cross entropy before you try any of these remedies.
#
# ## Exercises
#
# **Exercise 19.1 (recall).** With 2% positives, which τ gives logit adjustment the threshold 0.2? Which ratio of
# weights, and how many negatives for each positive, give the same?

# %% mystnb={"code_prompt_show": "Solution 19.1"} tags=["solution", "hide-cell"]
tau = math.log(0.2 / 0.8) / math.log(0.02 / 0.98)
print(f"τ = {tau:.2f}; ratio {0.8 / 0.2:.0f} : 1; k = 0.25: {0.25 * 49:.1f} negatives per positive")
assert abs(1 / (1 + math.exp(-tau * math.log(0.02 / 0.98))) - 0.2) < 1e-12


# %% [markdown]
# **Exercise 19.2 (apply).** Write logit adjustment and LDAM for $C$ classes, one line each, and check
# both against the two-class forms above, in value and gradient.

# %% mystnb={"code_prompt_show": "Solution 19.2"} tags=["solution", "hide-cell"]
def adjusted_classes(x, y, log_prior, tau=1.0):
    return F.cross_entropy(x + tau * log_prior, y, reduction="none")


def ldam_classes(x, y, margins):
    return F.cross_entropy(x - F.one_hot(y, len(margins)) * margins, y, reduction="none")


logits = torch.linspace(-4, 4, 9, requires_grad=True)
labels = torch.tensor([0.0, 1.0, 0, 1, 0, 1, 0, 1, 0])
two = torch.stack([torch.zeros_like(logits), logits], 1)
log_prior = torch.tensor([1 - POSITIVE, POSITIVE]).log()
margin = torch.tensor([0.5 * (100 / 1900) ** 0.25, 0.5])
for one, many in (
    (logit_adjusted(logits, labels), adjusted_classes(two, labels.long(), log_prior)),
    (ldam(logits, labels), ldam_classes(two, labels.long(), margin)),
):
    torch.testing.assert_close(one, many)
    torch.testing.assert_close(*(torch.autograd.grad(v.sum(), logits)[0] for v in (one, many)))

# %% [markdown]
# **Exercise 19.3 (predict, then run).** Somebody samples three negatives for each positive *and* keeps the
# weight 19 on positives. Write down the threshold that results, and whether F1 at $m > 0$ is nearer to that of
# "always yes" (0.095) or to 0.5. Then run.

# %% mystnb={"code_prompt_show": "Solution 19.3"} tags=["solution", "hide-cell"]
k = 3 / 19
threshold = 1 / (1 + 19 / k)
print(f"odds times {19 / k:.0f}: threshold {threshold:.4f}")
weighted = mean_of(lambda m, t: torch.where(t == 1, 19.0, 1.0) * cross_entropy(m, t))
scores = []
for seed in range(5):
    (a, b), (a_test, b_test) = (imbalanced_blobs(seed=2 * seed + i) for i in (0, 1))
    chance = torch.rand(len(b), generator=torch.Generator().manual_seed(seed))
    kept = (b == 1) | (chance < k)
    fit = train_logistic(weighted, a[kept], b[kept], steps=120)
    scores.append(f1_score(fit.predict(a_test) > 0, b_test))
both_remedies = sum(scores) / 5
print(f"F1 {both_remedies:.3f}")
# Verdict: the two multiply, 19 · 19/3 = 120, and the threshold is below 1%: nearer to "always yes".
assert abs(both_remedies - 0.095) < abs(both_remedies - 0.5)

# %% [markdown]
# **Exercise 19.4 (small research).** Is the asymmetric loss better than cross entropy on the toy whose model is
# right? Try three shares of positives, at the built-in thresholds and with thresholds tuned, on ten data sets each.

# %% mystnb={"code_prompt_show": "Solution 19.4"} tags=["solution", "hide-cell"]
pair = {"asymmetric": mean_of(asymmetric), "cross entropy": mean_of(cross_entropy)}
for share in (0.01, 0.05, 0.2):
    start = math.log(share / (1 - share))
    options = {"biases": [start], "positive": share, "seeds": range(10), "steps": 120}
    ours, theirs = train_from_starts(pair, **options).values()
    for how in ("f1", "tuned"):
        g = interval([u[how] - v[how] for u, v in zip(ours, theirs, strict=True)])
        print(minus(f"{share:.0%}, {how}: {g.mean:+.3f} [{g.low:+.3f}, {g.high:+.3f}]"))
# At its built-in threshold it is ahead at 1% and behind at 20%: the threshold fits one share only.
# Verdict on the tuned rows: no interval excludes 0; at no share is the difference larger than 0.024.

# %% [markdown]
# ## Further reading
#
# - {cite:t}`menon2021logit`: logit adjustment before and after training, and why weights and margins
#   do not do the same for a model that separates its training data.
# - {cite:t}`cao2019`: margins by class, with the deferred reweighting that carries much of the gain.
# - {cite:t}`ridnik2021`: the asymmetric loss where it belongs, on images with many labels each.
# - {cite:t}`li2021unlabeled`: negative sampling against missing labels in entity recognition.
