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
# - **For** readers who have read "dice loss" in a paper, found it in three libraries, and got three
#   different numbers.
# - **You need** Eq. 6 and its smoothing term ([chapter 03](03_dice_and_f1.ipynb)), and the tuned
#   threshold ([chapter 02](02_cross_entropy.ipynb)).
# - **You will be able to** tell the per-example dice loss from the set-level one, say what
#   probabilities each of them asks for, predict which will collapse and from which start, and
#   choose a batch size for it.
# - **Time** about 50 seconds on a CPU; a GPU does not help.
#
# A puzzle to start with. The paper gives two dice losses, one under the other, and says that the
# second is easier to optimise. On hard predictions one of the two *is the error rate*, the very
# thing that one wanted to get away from, and the other is one minus F1. Which is which? And why do
# models trained by a per-example dice loss end, on our toy, at an F1 of zero?

# %%
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sympy as sp
import torch
from IPython.display import Math, display
from scipy import stats
from sklearn.metrics import f1_score as sklearn_f1

# %%
from dicebook import binary_dice_statistics
from dicebook.figures import use_style
from dicebook.losses.functional import binary_cross_entropy, binary_dice
from dicebook.reproduce.runs import interval
from dicebook.toy import (
    f1_score,
    imbalanced_blobs,
    optimal_logits,
    train_from_starts,
    train_logistic,
)

use_style()
torch.set_default_dtype(torch.float64)

# %% [markdown]
# ## 4.1 Two losses, one name
#
# (eq-7)=
# The first takes the coefficient of each example, with squares in the denominator as in V-Net
# {cite}`milletari2016vnet`, and averages:
#
# $$ \mathrm{DL} = \frac1N \sum_i \left[ 1 - \frac{2\,p_{i1} y_{i1} + \gamma}{p_{i1}^2 + y_{i1}^2 +
# \gamma} \right] \tag{7} $$
#
# (eq-8)=
# The second sums first, above and below, and divides once:
#
# $$ \mathrm{DL} = 1 - \frac{2 \sum_i p_{i1} y_{i1} + \gamma}{\sum_i p_{i1}^2 + \sum_i y_{i1}^2 +
# \gamma} \tag{8} $$
#
# A mean of ratios and a ratio of sums. In code the difference is where the `sum` and `mean` stand.


# %%
def dice_loss_per_example(p, y, gamma=1.0):
    return (1 - (2 * p * y + gamma) / (p**2 + y**2 + gamma)).mean()


def dice_loss_of_set(p, y, gamma=1.0):
    return 1 - (2 * (p * y).sum() + gamma) / ((p**2).sum() + (y**2).sum() + gamma)


# %%
logits = torch.linspace(-4, 4, 10, requires_grad=True)
labels = torch.tensor([0.0, 1.0] * 5)
for ours, level in [(dice_loss_per_example, "example"), (dice_loss_of_set, "set")]:
    for gamma in (0.01, 1.0, 10.0):
        mine = ours(logits.sigmoid(), labels, gamma)
        theirs = binary_dice(logits, labels, level=level, squared=True, smooth=gamma)
        torch.testing.assert_close(mine, theirs)
        torch.testing.assert_close(*(torch.autograd.grad(v, logits)[0] for v in (mine, theirs)))

# %% [markdown]
# Both agree with the library, in value and in gradient. Each also comes without the squares: per
# example that is [Eq. 6](eq-6), and at set level it is the same Eq. 8 with $\sum p$ for $\sum p^2$.
# So there are four dice losses, and this chapter compares all four.

# %%
FOUR = {
    "per example, linear (Eq. 6)": {"level": "example", "squared": False},
    "per example, squared (Eq. 7)": {"level": "example", "squared": True},
    "set level, linear": {"level": "set", "squared": False},
    "set level, squared (Eq. 8)": {"level": "set", "squared": True},
}


def dice_loss(options, smooth=1.0):
    """Any of the four, as a function of logits and targets."""

    def loss(logits, y):
        p = logits.sigmoid()
        sizes = (p**2 if options["squared"] else p) + y  # y is 0 or 1, so y**2 is y
        if options["level"] == "example":
            return (1 - (2 * p * y + smooth) / (sizes + smooth)).mean()
        return 1 - (2 * (p * y).sum() + smooth) / (sizes.sum() + smooth)

    return loss


# %% [markdown]
# These plain forms are what we train with below, so that nothing is hidden. They, too, must agree
# with the library.

# %%
for options, gamma in product(FOUR.values(), (0.01, 1.0, 10.0)):
    mine = dice_loss(options, gamma)(logits, labels)
    theirs = binary_dice(logits, labels, smooth=gamma, **options)
    torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(*(torch.autograd.grad(v, logits)[0] for v in (mine, theirs)))

# %% [markdown]
# ## 4.2 On hard predictions
#
# Suppose the model is certain: every $p$ is 0 or 1. Then $p^2 = p$, squares make no difference, and
# an example has four cases. Sympy evaluates the bracket of Eq. 7 in each.

# %%
P, Y, G = sp.symbols("p y gamma", nonnegative=True)
bracket = 1 - (2 * P * Y + G) / (P**2 + Y**2 + G)
for name, p, y in [("true positive", 1, 1), ("false negative", 0, 1),
                   ("false positive", 1, 0), ("true negative", 0, 0)]:  # fmt: skip
    value = sp.simplify(bracket.subs({P: p, Y: y}))
    display(Math(rf"\text{{{name}:}}\quad {sp.latex(value)}"))

# %% [markdown]
# (eq-4-1)=
# A right answer costs 0 and a wrong one costs $1/(1+\gamma)$, whichever kind of wrong it is. The
# mean over examples is therefore
#
# $$ \mathrm{DL}_{\text{per example}} = \frac{FP + FN}{N\,(1+\gamma)} = \frac{\text{error
# rate}}{1+\gamma} \tag{4.1} $$
#
# (eq-4-2)=
# In the set-level loss the counts meet before the division. With γ → 0,
#
# $$ \mathrm{DL}_{\text{set}} = 1 - \frac{2TP}{2TP + FP + FN} = 1 - F_1 \tag{4.2} $$
#
# Two taggers for a thousand tokens, fifty of them names. Both make 40 errors. The careful one finds
# nothing that is not there and misses 40; the eager one finds all and marks 40 too many.

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
# Eq. 7 cannot tell the two apart: .02 and .02, half of the error rate. Eq. 8 can: it says .667 and
# .286, exactly scikit-learn's $1 - F_1$, and γ = 1 moves it by .011 at most, since one is little
# beside a sum of 60. **Only the set-level loss is about F1.** That is the answer to the first half
# of the puzzle, and a fair objection to the paper, whose Section 5.2 explains with the closeness of
# dice to F1 what a per-example loss does.
#
# ## 4.3 What does each loss ask for?
#
# Soft predictions are more interesting. Take all examples that look alike, and let a share η of
# them be positive. η is the honest probability. Which $p$ minimises the expected loss of this
# group? For cross entropy the answer is $p = \eta$: that is what "honest" means. For the others,
# let us ask.
#
# ### Per example
#
# The groups do not interact; each minimises $\eta L_1(p) + (1-\eta) L_0(p)$ alone. For Eq. 6, sympy
# looks for the place where the slope is zero.

# %%
p, eta, gamma = sp.symbols("p eta gamma", positive=True)
L1, L0 = (1 - p) / (1 + p + gamma), p / (p + gamma)
group = eta * L1 + (1 - eta) * L0
(eta_here,) = sp.solve(sp.diff(group, p), eta)  # the η for which the slope at p is zero
bend = sp.factor(sp.diff(group, p, 2).subs(eta, eta_here))
display(Math(rf"\text{{slope}} = 0 \;\Rightarrow\; \text{{second derivative}} = {sp.latex(bend)}"))

# %% [markdown]
# Wherever the slope is zero, the second derivative is *negative*: every symbol in it is positive,
# and there is a minus in front. So such a place is a maximum, the watershed between two valleys,
# and both valleys end at a corner. (Where there is no such place, the loss runs straight from one
# corner to the other.) Compare the corners: at $p = 0$ the group costs $\eta/(1+\gamma)$ and at $p
# = 1$ it costs $(1-\eta)/(1+\gamma)$.
#
# (eq-4-3)=
# $$ \text{Eq. 6 asks for}\quad p = \begin{cases} 1 & \eta > \tfrac12 \\ 0 & \eta < \tfrac12
# \end{cases} \tag{4.3} $$
#
# That is the majority vote, for every γ. Eq. 6 is not merely *like* the error rate on hard
# predictions: it makes the predictions hard and then minimises the error rate. Eq. 7 has no such
# simple answer; we minimise on a grid below.
#
# ### At set level
#
# Here the groups meet in two sums. Write $I = \sum_i p_i y_i$, let $S$ be the denominator, and $D =
# 2I/S$ the dice that the whole set has now (γ = 0). The quotient rule gives the slope of $1 - D$:
#
# (eq-4-4)=
# $$ \frac{\partial (1-D)}{\partial p_i} = \frac{D - 2 y_i}{S}\ \text{ (linear)}, \qquad
# \frac{\partial (1-D)}{\partial p_i} = \frac{2\,(D\,p_i - y_i)}{S}\ \text{ (squared)} \tag{4.4} $$
#
# Check both against autograd before using them:

# %%
q = torch.tensor([0.1, 0.4, 0.8, 0.3], requires_grad=True)
t = torch.tensor([0.0, 1.0, 1.0, 0.0])
for square in (False, True):
    S = (q**2 if square else q).sum() + t.sum()
    D = 2 * (q * t).sum() / S
    (slope,) = torch.autograd.grad(1 - D, q, retain_graph=True)
    formula = 2 * (D * q - t) / S if square else (D - 2 * t) / S
    torch.testing.assert_close(slope, formula)

# %% [markdown]
# Now take the mean over a group, which puts η in the place of $y_i$, and look for the minimum. The
# linear slope does not depend on $p_i$ at all, only on the side on which η lies. The squared slope
# is zero at $p_i = \eta/D$.
#
# (eq-4-5)=
# $$ \text{linear:}\quad p = \begin{cases} 1 & \eta > D/2 \\ 0 & \eta < D/2 \end{cases} \qquad\qquad
# \text{squared:}\quad p = \min(1,\ \eta / D) \tag{4.5} $$
#
# Look at the linear rule. The predictions are hard, so $D$ is F1 itself, and the cut is at *half of
# F1*. That is [Eq. 2.3](eq-2-3), the best threshold, found by the loss alone. The squared loss
# keeps soft probabilities, the honest ones scaled up by $1/D$; cut at $p = .5$, they are cut at
# $\eta = D/2$ as well.
#
# Let us not trust the algebra. We give each of 4000 examples of the toy a probability of its own,
# free to move, and minimise the expected loss with respect to all 4000.


# %%
def ask(loss, eta, steps=800):
    """The probabilities that minimise an expected loss, one free logit for each example."""
    z = torch.zeros_like(eta, requires_grad=True)
    optimizer = torch.optim.Adam([z], lr=0.1)
    for _ in range(steps):
        value = loss(z.sigmoid(), eta)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    return z.sigmoid().detach(), 1 - value.item()


def expected_set_loss(square):
    return lambda p, e: 1 - 2 * (e * p).sum() / ((p**2 if square else p).sum() + e.sum())


eta = optimal_logits(imbalanced_blobs(4000, seed=1)[0]).sigmoid().sort().values
p_linear, D_linear = ask(expected_set_loss(False), eta)
p_squared, D_squared = ask(expected_set_loss(True), eta)

# %%
gap_linear = (p_linear - (eta > D_linear / 2).double()).abs().mean().item()
gap_squared = (p_squared - (eta / D_squared).clamp(max=1)).abs().mean().item()
print(f"linear:  D = {D_linear:.3f}, mean distance to Eq. 4.5: {gap_linear:.3f}")
print(f"squared: D = {D_squared:.3f}, mean distance to Eq. 4.5: {gap_squared:.3f}")

# %% [markdown]
# Four thousand free numbers end where the formula says. The picture puts all losses together.

# %%
grid = torch.linspace(0, 1, 1001)
cost = eta[:, None] * (1 - grid) ** 2 / (grid**2 + 2)  # Eq. 7 with gamma = 1, of a positive
cost = cost + (1 - eta[:, None]) * grid**2 / (grid**2 + 1)  # and of a negative
p_eq7 = grid[cost.argmin(1)]
for name, asked in {"Eq. 7": p_eq7, "set, linear": p_linear, "set, squared": p_squared}.items():
    print(f"{name:13} asks for p > .5 from η = {eta[asked > 0.5].min():.2f} on")

# %%
fig, ax = plt.subplots(figsize=(6, 4))
ax.plot(eta, eta, "0.6", label="cross entropy: η itself")
ax.plot(eta, eta > 0.5, "C3-.", label="Eq. 6: majority vote")
ax.plot(eta, p_eq7, "C1:", label="Eq. 7 (γ = 1)")
ax.plot(eta, p_linear, "C2--", label=f"set, linear: η > {D_linear / 2:.2f}")
ax.plot(eta, p_squared, "C0", label=f"set, squared (Eq. 8): η / {D_squared:.2f}")
ax.axhline(0.5, color="k", lw=0.8)
ax.set(xlabel="honest probability η of the group", ylabel="p that the loss asks for")
ax.set_title("What each loss wants")
fig.legend(loc="outside lower center", ncols=2, fontsize="small")
plt.show()

# %% [markdown]
# *Picture: five curves from (0, 0) to (1, 1). Cross entropy is the diagonal. Eq. 6 jumps from 0 to
# 1 at η = .5, the linear set-level loss jumps at η = .27. Eq. 8 is a steeper straight line that
# reaches 1 at η = .60. Eq. 7 sags below the diagonal and crosses the thin black line p = .5 at η =
# .57.*
#
# Read along the thin black line, the usual cut. Cross entropy and Eq. 6 cross it at η = .5: losses
# for accuracy. Eq. 7 crosses it later still, at .57: it says "positive" *less* often than accuracy
# would. The two set-level losses cross it at .27 and .30, close to the .26 that is best for F1.
# **That is what dice does for imbalance: it moves the cut.** It is worth having, since nobody has
# to tune it. But chapter 02 got it with one number after training.
#
# ## 4.4 Which losses collapse?
#
# Asking for the right thing is not yet getting it. A model starts somewhere, and Eq. 6 has two
# valleys. We train every loss from three starting biases: −3 (all examples at $p = .05$), 0 (at .5)
# and 2 (at .88). Eight data sets, the same for each loss, the same optimiser, steps and learning
# rate.

# %%
LOSSES = {"cross entropy": binary_cross_entropy}
LOSSES |= {name: dice_loss(options) for name, options in FOUR.items()}
STARTS = (-3.0, 0.0, 2.0)
runs = train_from_starts(LOSSES, biases=STARTS, seeds=range(8))


# %%
def cell(values):
    """Mean and half width of the 95% interval."""
    i = interval(list(values))
    return f"{i.mean:.3f} ± {i.high - i.mean:.3f}"


def table(key):
    rows = {n: {f"b0 = {b:+.0f}": cell(r[key] for r in runs[n, b]) for b in STARTS} for n in LOSSES}
    return pd.DataFrame(rows).T


print("test F1 at the usual cut, p = .5")
table("f1")

# %% [markdown]
# Read the rows. *Eq. 6* scores 0 from every start, on every data set: it has collapsed. *Eq. 7*
# does not collapse, but stays behind cross entropy, as its curve in the last picture said it must,
# and it depends on the start. The two *set-level* losses reach about .52 from everywhere, well
# above cross entropy. So far the advertisement is right.
#
# Now the baseline that the advertisement leaves out: the same runs, with the threshold tuned on the
# training set.

# %%
print("test F1 at the tuned cut")
table("tuned")

# %% [markdown]
# Look at Eq. 6 first. From −3 and from 0 the *collapsed* model, cut at the right place, scores as
# much as the others. It had found the right direction, and all that it lost is its bias. (From +2
# it fell so fast that it never learned a direction: .095 is the F1 of calling everything positive.)
#
# And cross entropy with a tuned threshold is now level with the rest. All losses saw the same data,
# so we can subtract seed by seed:

# %%
eq8 = [r["f1"] for r in runs["set level, squared (Eq. 8)", 0.0]]
for key, name in [("f1", "cross entropy, cut at .5"), ("tuned", "cross entropy, tuned cut")]:
    ce = [r[key] for r in runs["cross entropy", 0.0]]
    i = interval([a - b for a, b in zip(eq8, ce, strict=True)])
    print(f"Eq. 8 less {name}: {i.mean:+.3f} [{i.low:+.3f}, {i.high:+.3f}]")

# %% [markdown]
# Against the usual cut Eq. 8 wins clearly. Against the tuned cut the interval holds 0: what is left
# of the gain is too small for this experiment to see. The whole story in one picture:

# %%
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.6), sharey=True)
markers = dict(zip(STARTS, ("o", "s", "^"), strict=True))
for ax, key, title in zip(axes, ("f1", "tuned"), ("cut at p = .5", "tuned cut"), strict=True):
    for (row, name), bias in product(enumerate(LOSSES), STARTS):
        i = interval([r[key] for r in runs[name, bias]])
        place = row + STARTS.index(bias) * 0.22 - 0.22
        error = [[i.mean - i.low], [i.high - i.mean]]
        ax.errorbar(i.mean, place, xerr=error, fmt=markers[bias], color=f"C{row}", capsize=3)
    ax.set(xlabel="test F1", title=title, xlim=(-0.04, 0.62))
axes[0].set_yticks(range(len(LOSSES)), [n.replace(" (", "\n(") for n in LOSSES], fontsize=9)
axes[0].invert_yaxis()
plt.show()

# %% [markdown]
# *Picture: five losses, three starts each (circle −3, square 0, triangle +2), means with 95%
# intervals. Left, cut at .5: Eq. 6 sits at 0, Eq. 7 spreads from .2 to .4, cross entropy stands at
# .44, the set-level losses at .52. Right, tuned cut: everything stands in one column at .51, except
# for Eq. 6 and Eq. 7 started at +2.*
#
# Let us watch the collapse. The mean probability of each class, step by step, from $b_0 = 0$:

# %%
x, y = imbalanced_blobs(seed=0)
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.2), sharey=True)
for ax, name in zip(
    axes, ("per example, linear (Eq. 6)", "set level, squared (Eq. 8)"), strict=True
):
    z = train_logistic(LOSSES[name], x, y, learning_rate=0.1, steps=150, record_every=1).logits
    for label, look in [(1, "C1-"), (0, "0.4")]:
        ax.plot(z.sigmoid()[:, y == label].mean(1), look, label=f"y = {label}")
    ax.axhline(0.5, color="k", lw=0.8, ls=":")
    ax.set(xlabel="step", title=name)
axes[0].set_ylabel("mean probability")
axes[1].legend()
plt.show()

# %% [markdown]
# *Picture: left, the positives first climb to .8 in ten steps, then plunge and join the negatives
# near 0 at step 30. Right, they climb in the same way, begin to fall, turn at step 20 and settle
# just above .5, while the negatives end near .05.*
#
# The beginnings are alike, and for a moment Eq. 6 has the classes well apart. Then the bias is
# pulled down by nineteen negatives for each positive, and takes the positives with it. At set level
# the positives fight back: one of them is pulled up by $(2-D)/S$ while a negative is pushed by only
# $D/S$ ([Eq. 4.4](eq-4-4), linear), so the lower the dice, the more a positive counts.
#
# Eq. 7 is per example too, and yet it did not collapse. The reason is in its slope for negatives.
# Sympy, once more:

# %%
p, gamma = sp.symbols("p gamma", positive=True)
forms = {"Eq. 6": p / (p + gamma), "Eq. 7": p**2 / (p**2 + gamma)}
for name, loss in forms.items():
    slope = sp.factor(sp.diff(loss, p))
    text = rf"\text{{{name}, a negative:}}\quad \frac{{dL_0}}{{dp}} = {sp.latex(slope)}"
    display(Math(text + rf"\;\to\; {sp.latex(slope.subs(p, 0))}\;\text{{ at }} p = 0"))

# %% [markdown]
# The square switches the push off where the negative is easy. Nineteen easy negatives times nothing
# is nothing, so the one positive is heard. That is the true merit of squaring, and it returns
# twice: in the next section, and in chapter 06, where another factor is said to do this and does
# not.
#
# ## 4.5 Small batches
#
# The set-level loss compares sums over *the set*. In training, the set is a batch. What if the
# batch is small? First question: how many batches of 16 hold no positive at all, if 1% of the
# examples are positive?

# %%
exact = stats.binom.pmf(0, 16, 0.01)
rng = np.random.default_rng(0)
simulated = (rng.random((100_000, 16)) < 0.01).any(1)
print(f"exact: {exact:.4f} (that is .99^16 = {0.99**16:.4f})")
print(f"100,000 simulated batches: {1 - simulated.mean():.4f}")

# %% [markdown]
# Eighty-five in a hundred. How large must a batch be?

# %%
sizes = [16, 64, 256, 1024]
shares = {
    f"{s:.1%} positives": [stats.binom.pmf(0, b, s) for b in sizes] for s in (0.001, 0.01, 0.05)
}
pd.DataFrame(shares, index=[f"batch of {b}" for b in sizes]).T.round(3)

# %% [markdown]
# At 5% a batch of 64 nearly always holds a positive. At 1% it takes 256 and more, and at one in a
# thousand even a thousand is too few.
#
# ### What a batch without positives teaches
#
# With no positive the loss is $\sum p/(\sum p + \gamma)$, or with squares $\sum p^2/(\sum p^2 +
# \gamma)$. There is nothing to find, and the only way to a lower loss is silence. How hard does
# such a batch push?

# %%
none = torch.zeros(16)
rows = {}
for name in ("set level, linear", "set level, squared (Eq. 8)"):
    for level in (0.5, 0.1, 0.01):
        z = torch.full((16,), level).logit().requires_grad_()
        (g,) = torch.autograd.grad(dice_loss(FOUR[name])(z, none), z)
        rows.setdefault(name, {})[f"p = {level}"] = g.sum().item()
pd.DataFrame(rows).T.round(4)

# %% [markdown]
# The push on the bias, downwards. At $p = .1$ the two are alike, .21, and above it the squared loss
# pushes harder. At $p = .01$, where a negative should be, it is the other way round: .118 for the
# linear loss and .003 for the squared one. Once more the square lets easy negatives go. Keep these
# two numbers in mind for the last experiment of this section.
#
# ### The dice of a batch is not the dice of the set
#
# Now fix a classifier: the honest probabilities of a problem with 1% positives, cut at some
# threshold. Each example drawn at random is then a true positive, a wrong one of either kind, or a
# true negative, with known chances. The expected dice of a batch is a finite sum over all possible
# counts, which we can compute exactly (γ = 1, as in the paper).


# %%
def expected_batch_dice(b, chance_tp, chance_wrong, gamma=1.0, most=60):
    """Exact E[(2TP + γ)/(2TP + FP + FN + γ)] over batches of b examples."""
    tp, wrong = np.meshgrid(np.arange(min(b, most) + 1), np.arange(min(b, most) + 1))
    rest = b - tp - wrong
    ok = rest >= 0
    counts = np.stack([tp[ok], wrong[ok], rest[ok]], -1)
    chances = [chance_tp, chance_wrong, 1 - chance_tp - chance_wrong]
    weight = stats.multinomial.pmf(counts, b, chances)
    return float((weight * (2 * tp[ok] + gamma) / (2 * tp[ok] + wrong[ok] + gamma)).sum())


x_big, y_big = imbalanced_blobs(400_000, positive=0.01, separation=3.0, seed=99)
honest = optimal_logits(x_big, positive=0.01, separation=3.0).sigmoid()


def chances(cut):
    said, gold = honest > cut, y_big.bool()
    return float((said & gold).double().mean()), float((said ^ gold).double().mean())


# %%
tp, wrong = chances(0.3)
draw = rng.multinomial(16, [tp, wrong, 1 - tp - wrong], size=200_000)
simulated = ((2 * draw[:, 0] + 1) / (2 * draw[:, 0] + draw[:, 1] + 1)).mean()
print(f"F1 of the set: {2 * tp / (2 * tp + wrong):.3f}")
print(f"expected dice of a batch of 16: exact {expected_batch_dice(16, tp, wrong):.4f}, "
      f"simulated {simulated:.4f}")  # fmt: skip
print(f"always negative: {expected_batch_dice(16, 0.0, 0.01):.4f}")

# %% [markdown]
# The set has an F1 of .63. Its batches have an expected dice of .948, because most of them are
# empty, and an empty batch with nothing said scores $\gamma/\gamma = 1$. Now the last line: a model
# that says *nothing*, with an F1 of 0, has an expected dice of .924. A difference of .63 has shrunk
# to .024. Does at least the *order* survive? We sweep the threshold.

# %%
cuts = np.linspace(0.02, 0.98, 33)
pairs = [chances(c) for c in cuts]
fig, ax = plt.subplots(figsize=(6, 3.6))
ax.plot(cuts, [2 * t / (2 * t + w) for t, w in pairs], "k", label="F1 of the set")
best_cut = {"set": cuts[np.argmax([2 * t / (2 * t + w) for t, w in pairs])]}
for b, look in [(1024, "C0--"), (256, "C1-."), (64, "C2:"), (16, "C3")]:
    values = [expected_batch_dice(b, t, w) for t, w in pairs]
    best_cut[b] = cuts[np.argmax(values)]
    ax.plot(cuts, values, look, label=f"batches of {b}")
    ax.plot(best_cut[b], max(values), look[:2] + "o")
ax.set(xlabel="threshold on the honest probability", ylabel="expected dice")
ax.set_title("1% positives: the score that a batch sees")
fig.legend(loc="outside lower center", ncols=3, fontsize="small")
plt.show()
print("best threshold:", {k: round(float(v), 2) for k, v in best_cut.items()})

# %% [markdown]
# Choose the batch yourself:
#
# <div class="play" data-play="batches"><img src="../_static/play-batches.png"
# alt="Left, F1 of the set and the expected dice of batches of 16 against the threshold: the batches'
# curve is flat, near .95. Right, how many positives a batch holds: none in 85 of 100 batches."></div>
#
# And see a model trained on batches of 16, in the Playground:
# <a href="../docs/playground.html#loss=dl&amp;squared=false&amp;batch=16">linear</a> and
# <a href="../docs/playground.html#loss=dl&amp;batch=16">squared</a>.

# %% [markdown]
# *Picture: the black line, F1, is a hill with its top near .35. The line of batches of 1024 lies
# close to it. With smaller batches the lines rise towards 1 and flatten, and their highest points,
# marked by dots, wander to the right, to .44.*
#
# With 16 examples in a batch the best threshold is no longer .35 but .44, on the way to the .5 of
# accuracy. The batch loss asks for fewer positives than F1 does, and it hardly cares. We have met
# the reason: in a batch with at most one interesting example, the ratio of sums *is* a ratio of one
# example, and the mean over such batches is the per-example loss of section 4.2.
#
# ### Does it matter in training?
#
# Same data, 1% positives, same number of steps, four batch sizes, six data sets.


# %%
def train_in_batches(loss, b, seed):
    x, y = imbalanced_blobs(4000, positive=0.01, separation=3.0, seed=2 * seed)
    x_test, y_test = imbalanced_blobs(4000, positive=0.01, separation=3.0, seed=2 * seed + 1)
    fit = train_logistic(
        loss, x, y, bias=0.0, steps=400, learning_rate=0.05, batch_size=b, seed=seed
    )
    return f1_score(fit.predict(x_test) > 0, y_test)


three = ["cross entropy", "set level, linear", "set level, squared (Eq. 8)"]
cases = list(product(three, sizes))
scores = {(n, b): [train_in_batches(LOSSES[n], b, s) for s in range(6)] for n, b in cases}
rows = {n: {f"batch of {b}": cell(scores[n, b]) for b in sizes} for n in three}
zeros = {n: {f"batch of {b}": scores[n, b].count(0.0) for b in sizes} for n in three}
display(pd.DataFrame(rows).T)
print("runs of six that end at an F1 of 0")
pd.DataFrame(zeros).T.loc[three]

# %% [markdown]
# The linear loss collapses in batches of 16 and 64, in every single run: many of them are empty and
# push it down with the strength that we have just measured. At 256 it recovers. The squared loss
# never collapses, since its empty batches push with next to nothing once the negatives are low; but
# at 16 it reaches .40 ± .26, and with enough positives in each batch .65 ± .05. (Cross entropy is
# cut at .5 here, as always to its disadvantage; its row hardly depends on the batch.) In words for
# your next training run:
#
# - **choose the batch so that it holds several positives**, that is, some multiple of 1 divided by
#   their share: at 1%, several hundred tokens. For taggers that is a handful of sentences; for
#   sentence pairs it is not.
# - **if it cannot be that large, square the denominator**, or add the statistics of several batches
#   before dividing (exercise 4).
#
# ## 4.6 Linear or squared: which learns faster?
#
# The paper says that the square form is for "faster convergence". Let us measure: the step from
# which on the training F1 stays above 95% of its final value. Full batches, six data sets, three
# starts, two learning rates.


# %%
def settles(loss, bias, seed, learning_rate):
    x, y = imbalanced_blobs(seed=2 * seed)
    z = train_logistic(
        loss, x, y, bias=bias, learning_rate=learning_rate, steps=150, record_every=2
    ).logits
    f1 = np.array([f1_score(row > 0, y) for row in z])
    below = np.flatnonzero(f1 < 0.95 * f1[-1])
    return 2 * (below[-1] + 1) if len(below) else 0


pair = ("set level, linear", "set level, squared (Eq. 8)")
steps = {
    (rate, b, n): [settles(LOSSES[n], b, s, rate) for s in range(6)]
    for rate, b, n in product((0.1, 0.3), STARTS, pair)
}

# %%
rows = []
for rate, b in product((0.1, 0.3), STARTS):
    linear, squared = (np.array(steps[rate, b, n]) for n in pair)
    i = interval(list(linear - squared))
    saved = f"{i.mean:+.1f} [{i.low:+.1f}, {i.high:+.1f}]"
    rows.append([rate, f"{b:+.0f}", linear.mean(), squared.mean(), saved])
columns = ["learning rate", "start b0", "linear, steps", "squared, steps", "saved by squaring"]
pd.DataFrame(rows, columns=columns).round(1)

# %% [markdown]
# It depends on the start. From the honest start, $b_0 = -3$, neither interval excludes 0. From $b_0
# = 0$ both do, and squaring saves a third of the steps and more; from +2 only at the lower rate. So
# the claim holds on this toy for starts that are far off. A good first bias, the logit of the share
# of positives, does the same for free.
#
# ## Summary
#
# - Four losses are called dice loss. Per example ([Eq. 7](eq-7)) they are, on hard predictions, the
#   error rate over $1 + \gamma$ ([Eq. 4.1](eq-4-1)); at set level ([Eq. 8](eq-8)) they are $1 -
#   F_1$ ([Eq. 4.2](eq-4-2)).
# - The linear set-level loss asks for a cut at half of F1, the squared one for $\eta/D$ ([Eq.
#   4.5](eq-4-5)). That is the best threshold, found without tuning.
# - From every start, [Eq. 6](eq-6) collapses on 5% positives and the set-level losses do not. With
#   a tuned threshold *all* of them, the collapsed one too, are level with cross entropy.
# - A batch must hold positives. At 1%, 85% of batches of 16 hold none; the expected batch dice then
#   prefers silence. Larger batches, squares or summed statistics help.
# - Squaring spares easy negatives. It learns faster from a bad start and not from a good one.
#
# ## Exercises
#
# **1 (recall).** A perfect but modest model gives every positive .9 and every negative .1 (5%
# positives, 1000 examples). What do the four dice losses say?

# %% tags=["solution", "hide-cell"]
modest = torch.where(gold == 1, 0.9, 0.1).logit()
for name, options in FOUR.items():
    print(f"{name:30} {dice_loss(options)(modest, gold):.3f}")
# The linear set-level loss says .524 although every answer is right: 950 times .1 is 95 in the
# denominator, twice the number of positives. Squared, the same crowd counts 9.5.

# %% [markdown]
# **2 (recall).** Show by sympy that per example [Eq. 6](eq-6) and [Eq. 7](eq-7) are functions of
# the absolute error $|p - y|$ and of $y$, and give both.

# %% tags=["solution", "hide-cell"]
e, g = sp.symbols("e gamma", positive=True)  # the absolute error
for name, k in {"Eq. 6": 1, "Eq. 7": 2}.items():
    positive = 1 - (2 * (1 - e) + g) / ((1 - e) ** k + 1 + g)
    negative = 1 - g / (e**k + g)
    for label, loss in {"y=1": positive, "y=0": negative}.items():
        display(Math(rf"\text{{{name}}},\ {label}:\quad {sp.latex(sp.factor(loss))}"))

# %% [markdown]
# **3 (apply).** Which batch size makes 95% of all batches hold at least one positive, and at least
# five, for shares of .1%, 1%, 5% and 20%?


# %% tags=["solution", "hide-cell"]
def batch_for(share, at_least, sure=0.95):
    b = at_least
    while stats.binom.sf(at_least - 1, b, share) < sure:
        b += 1
    return b


rows = {f"{s:.1%}": {k: batch_for(s, k) for k in (1, 5)} for s in (0.001, 0.01, 0.05, 0.2)}
pd.DataFrame(rows).T.rename(columns={1: "one positive", 5: "five positives"})

# %% [markdown]
# **4 (apply).** You can only fit 16 examples into memory. Compute the dice loss of 2000 examples in
# 125 pieces: first as the mean of the pieces' losses, then by adding `dice_statistics` and dividing
# once. Compare with the loss of all at once.

# %% tags=["solution", "hide-cell"]
z = optimal_logits(x)
pieces = [binary_dice_statistics(a, b) for a, b in zip(z.split(16), y.split(16), strict=True)]
whole = binary_dice_statistics(z, y).loss()
mean = torch.stack([piece.loss() for piece in pieces]).mean()
total = sum(pieces[1:], start=pieces[0]).loss()
print(f"at once {whole:.4f}, mean of pieces {mean:.4f}, sum of statistics {total:.4f}")
torch.testing.assert_close(total, whole)

# %% [markdown]
# **5 (explore).** [Eq. 4.3](eq-4-3) says where Eq. 6 ends, not from which start. Let all examples
# share one $p$. For which γ do the negatives win at *every* $p$, if 5% are positive? Test the bound
# by training with a γ above and one below it.

# %% tags=["solution", "hide-cell"]
# The slope (1−π)γ/(p+γ)² − π(2+γ)/(1+p+γ)² is positive wherever
# (1+p+γ)²/(p+γ)² > π(2+γ)/((1−π)γ). The left side is smallest at p = 1: (2+γ)²/(1+γ)².
g, pi = sp.symbols("gamma", positive=True), sp.Rational(1, 20)
(bound,) = sp.solve(sp.Eq((2 + g) / (1 + g) ** 2, pi / ((1 - pi) * g)), g)
print(f"the negatives win at every p for γ above {float(bound):.4f}")
for value, b in product((0.1, 0.01), (-3.0, 2.0)):
    eq6 = dice_loss(FOUR["per example, linear (Eq. 6)"], smooth=value)
    end = train_logistic(eq6, 0 * x, y, bias=b)  # without features: one p for all
    print(f"γ = {value}, b0 = {b:+.0f}: ends at p = {torch.tensor(end.bias).sigmoid():.3f}")
# Below the bound a second valley opens, at p = 1: then everything is called positive.

# %% [markdown]
# **6 (small research).** Does a mixture of cross entropy and Eq. 8 get the better of both: the cut
# of dice and the steady gradients of cross entropy? Train λ·CE + (1−λ)·DL for a few λ in batches of
# 16 at 1% positives and report intervals.


# %% tags=["solution", "hide-cell"]
def mixture(share):
    eq8 = dice_loss(FOUR["set level, squared (Eq. 8)"])
    return lambda z, t: share * binary_cross_entropy(z, t) + (1 - share) * eq8(z, t)


for share in (0.0, 0.2, 0.5):
    print(f"λ = {share}: {cell(train_in_batches(mixture(share), 16, s) for s in range(6))}")
# Compare with cross entropy in the table above. Do the intervals let you prefer one?
