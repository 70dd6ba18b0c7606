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
# Four losses are called dice loss. The *per-example* ones score each example by itself: they ask for
# "yes" at a probability of one half or higher, and one of them collapses. The *set-level* ones sum
# over the batch first: they ask for "yes" from about half of F1 on, as a tuned threshold would.

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
import torch

from dicelab.figures import style, use_style
from dicelab.toy import imbalanced_blobs, optimal_logits

use_style()
torch.set_default_dtype(torch.float64)
eta = optimal_logits(imbalanced_blobs(4000, seed=1)[0]).sigmoid().sort().values

D_linear = D_squared = torch.tensor(1.0)
for _ in range(50):  # Eq. 4.5, until each dice is that of its own probabilities
    p_linear = (eta > D_linear / 2).double()
    D_linear = 2 * (eta * p_linear).sum() / (p_linear + eta).sum()
    p_squared = (eta / D_squared).clamp(max=1)
    D_squared = 2 * (eta * p_squared).sum() / (p_squared**2 + eta).sum()

grid = torch.linspace(0, 1, 1001)
cost = eta[:, None] * (1 - grid) ** 2 / (grid**2 + 2)  # Eq. 7 with γ = 1, of a positive
cost = cost + (1 - eta[:, None]) * grid**2 / (grid**2 + 1)  # and of a negative
p_eq7 = grid[cost.argmin(1)]

# %% mystnb={"figure": {"caption": "Figure 4.1. The probability that minimises each loss for a group with the true probability \u03b7.", "name": "fig-4-1"}, "image": {"alt": "Five curves from (0, 0) to (1, 1). Cross entropy is the diagonal. Eq. 6 jumps from 0 to 1 at one half, linear dice at 0.27. Eq. 8 is a steeper straight line that reaches 1 at 0.60. Eq. 7 sags below the diagonal and crosses p = 0.5 at 0.57."}} tags=["hide-input"]
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
# The thin black line is the usual threshold, $p = 0.5$. Cross entropy and Eq. 6 cross it at η = 0.5,
# which is best for accuracy, Eq. 7 at 0.57, the set-level losses at 0.27 (linear, half of F1) and 0.30
# (squared). **So dice moves the threshold**, as tuning does after training (chapter 02).
#
# - **For** readers who found "dice loss" in three libraries and got three different numbers.
# - **You need** Eq. 6 and its smoothing term ([chapter 03](03_dice_and_f1.ipynb)), and the tuned
#   threshold ([chapter 02](02_cross_entropy.ipynb)).
# - **You will be able to** tell the per-example dice loss from the set-level one, predict which
#   collapses from which start, and choose a batch size.
# - **Time** about a minute on a CPU; a GPU does not help. Symbols and terms:
#   [Notation and glossary](../docs/notation.md).

# %% tags=["hide-input"]
import inspect
from itertools import product

import numpy as np
import pandas as pd
import sympy as sp
from IPython.display import Markdown, Math, display
from scipy import stats
from sklearn.metrics import f1_score as sklearn_f1

from dicebook import BinaryDiceLoss, backward_in_two_passes, binary_dice_statistics, make_loss
from dicebook.losses import equations
from dicebook.losses.functional import binary_cross_entropy
from dicelab.figures import NEGATIVE, POSITIVE
from dicelab.records.runs import interval
from dicelab.toy import (
    best_threshold,
    f1_score,
    misspecified_blobs,
    train_from_starts,
    train_logistic,
)


# %% [markdown]
# ## 4.1 Two losses, one name
#
# > "Milletari et al. (2016) proposed to change the denominator to the square form for faster
# > convergence" (the paper, Section 3.3)
#
# (eq-7)=
# The first averages the coefficients of the examples, with squares as in V-Net
# {cite}`milletari2016vnet`:
#
# $$ \mathrm{DL} = \frac1N \sum_i \left[ 1 - \frac{2\,p_{i1} y_{i1} + \gamma}{p_{i1}^2 + y_{i1}^2 +
# \gamma} \right] \tag{7} $$
#
# > "Another version of DL is to directly compute set-level dice coefficient instead of the sum of
# > individual dice coefficient, which is easier for optimization" (Section 3.3)
#
# (eq-8)=
# The second sums above and below, and divides once:
#
# $$ \mathrm{DL} = 1 - \frac{2 \sum_i p_{i1} y_{i1} + \gamma}{\sum_i p_{i1}^2 + \sum_i y_{i1}^2 +
# \gamma} \tag{8} $$

# %%
def dice_loss_per_example(p, y, gamma=1.0):
    return (1 - (2 * p * y + gamma) / (p**2 + y**2 + gamma)).mean()


def dice_loss_of_set(p, y, gamma=1.0):
    sizes = (p**2).sum() + (y**2).sum()
    return 1 - (2 * (p * y).sum() + gamma) / (sizes + gamma)


# %% [markdown]
# The library has one function for both: [Eq. 7](eq-7) takes the three numbers of each example,
# [Eq. 8](eq-8) their sums.

# %% tags=["hide-input"]
Markdown(f"```python\n{inspect.getsource(equations.dice_coefficient)}```")

# %% tags=["hide-input"]
logits = torch.linspace(-4, 4, 10, requires_grad=True)
labels = torch.tensor([0.0, 1.0] * 5)
for equation, gamma in product(("eq7", "eq8"), (0.01, 1.0, 10.0)):
    p = logits.sigmoid()
    numbers = [p * labels, p**2, labels**2]
    if equation == "eq7":
        ours = dice_loss_per_example(p, labels, gamma)
        line = (1 - equations.dice_coefficient(*numbers, gamma)).mean()
    else:
        ours = dice_loss_of_set(p, labels, gamma)
        line = 1 - equations.dice_coefficient(*(v.sum() for v in numbers), gamma)
    theirs = make_loss(f"binary_{equation}", smooth=gamma)(logits, labels)
    slope = torch.autograd.grad(ours, logits, retain_graph=True)
    for other in (line, theirs):
        torch.testing.assert_close(other, ours)
        torch.testing.assert_close(torch.autograd.grad(other, logits, retain_graph=True), slope)

# %% [markdown]
# The functions above and the library agree in value and gradient. Each loss also comes with plain $p$
# and $y$ in the denominator: per example that is [Eq. 6](eq-6), at set level Eq. 8 with $\sum p$ for
# $\sum p^2$.

# %%
FOUR = {
    "Eq. 6: per example, linear": make_loss("binary_eq6"),
    "Eq. 7: per example, squared": make_loss("binary_eq7"),
    "dice linear, set level": make_loss("binary_dl", squared=False),
    "Eq. 8: set level, squared": make_loss("binary_eq8"),
}

# %% [markdown]
# ## 4.2 On hard predictions
#
# If every $p$ is 0 or 1, squares make no difference. In the four cases the bracket of Eq. 7 is

# %%
P, Y, G = sp.symbols("p y gamma", nonnegative=True)
bracket = 1 - (2 * P * Y + G) / (P**2 + Y**2 + G)
right = {"true positive": (1, 1), "true negative": (0, 0)}
wrong = {"false negative": (0, 1), "false positive": (1, 0)}
for name, (p, y) in (right | wrong).items():
    value = sp.simplify(bracket.subs({P: p, Y: y}))
    display(Math(rf"\text{{{name}:}}\quad {sp.latex(value)}"))

# %% [markdown]
# (eq-4-1)=
# A right answer costs 0, a wrong one of either kind $1/(1+\gamma)$, so the mean over examples is
#
# $$ \mathrm{DL}_{\text{per example}} = \frac{FP + FN}{N\,(1+\gamma)}
# = \frac{\text{error rate}}{1+\gamma} \tag{4.1} $$
#
# (eq-4-2)=
# The set-level loss sums the counts before it divides. With γ → 0,
#
# $$ \mathrm{DL}_{\text{set}} = 1 - \frac{2TP}{2TP + FP + FN} = 1 - F_1 \tag{4.2} $$
#
# Two taggers mark a thousand tokens, fifty of them names. Both make 40 errors: the careful one misses
# 40 names, the eager one marks 40 tokens too many.

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
# Eq. 7 cannot tell the two apart: 0.02 and 0.02, half of the error rate. Eq. 8 can: it says 0.667 and
# 0.286, exactly scikit-learn's $1 - F_1$, and γ = 1 moves it by at most 0.011.
#
# > "the proposed losses perform as a soft version of F1 score" (Section 5.2)
#
# **That holds for the set-level loss, not for the per-example losses.** The paper does not say which of
# them its experiments minimise; its Table 2 prints the per-example one.

# %% [markdown]
# ## 4.3 What does each loss ask for?
#
# Take examples that look alike to the model, and let η be the share of them that is positive: their true
# probability. Which $p$ minimises the expected loss of the group? For cross entropy it is $p = \eta$.
#
# ### Per example
#
# Each group minimises $\eta L_1(p) + (1-\eta) L_0(p)$ by itself. For Eq. 6:

# %%
p, share, gamma = sp.symbols("p eta gamma", positive=True)
L1, L0 = (1 - p) / (1 + p + gamma), p / (p + gamma)
group = share * L1 + (1 - share) * L0
(eta_here,) = sp.solve(sp.diff(group, p), share)  # the slope is zero
bend = sp.factor(sp.diff(group, p, 2).subs(share, eta_here))
left = r"\text{slope} = 0 \;\Rightarrow\; \text{second derivative} = "
display(Math(left + sp.latex(bend)))

# %% [markdown]
# The second derivative is *negative*, so the minimum lies at an end. At $p = 0$ the group costs
# $\eta/(1+\gamma)$, at $p = 1$ $(1-\eta)/(1+\gamma)$.
#
# (eq-4-3)=
# $$ \text{Eq. 6 asks for}\quad p = \begin{cases} 1 & \eta > 0.5 \\ 0 & \eta < 0.5
# \end{cases} \tag{4.3} $$
#
# Eq. 6 makes the predictions hard and minimises the error rate, for every γ.
#
# ### At set level
#
# Write $D$ for the dice of the set (γ = 0) and $S$ for its denominator. The slope of $1 - D$ is
#
# (eq-4-4)=
# $$ \frac{\partial (1-D)}{\partial p_i} = \frac{D - 2 y_i}{S}\ \text{ (linear)}, \qquad
# \frac{\partial (1-D)}{\partial p_i} = \frac{2\,(D\,p_i - y_i)}{S}\ \text{ (squared)} \tag{4.4} $$

# %% tags=["hide-input"]
probs = torch.tensor([0.1, 0.4, 0.8, 0.3], requires_grad=True)
truth = torch.tensor([0.0, 1.0, 1.0, 0.0])
for square in (False, True):
    S = (probs**2 if square else probs).sum() + truth.sum()
    D = 2 * (probs * truth).sum() / S
    (slope,) = torch.autograd.grad(1 - D, probs, retain_graph=True)
    formula = 2 * (D * probs - truth) / S if square else (D - 2 * truth) / S
    torch.testing.assert_close(slope, formula)


# %% [markdown]
# Over a group the mean of $y_i$ is η. The sign of the linear slope depends on η alone; the squared
# slope is zero at $p_i = \eta/D$.
#
# (eq-4-5)=
# $$ \text{linear:}\quad p = \begin{cases} 1 & \eta > D/2 \\ 0 & \eta < D/2 \end{cases} \qquad\qquad
# \text{squared:}\quad p = \min(1,\ \eta / D) \tag{4.5} $$
#
# Under the linear rule predictions are hard, so $D$ is F1, and the threshold is *half of F1*, the best
# one ([Eq. 2.3](eq-2-3)). The squared loss scales the true probabilities up by $1/D$. At $p = 0.5$ its
# threshold is $\eta = D/2$ as well, but its $D$, the dice of soft predictions, is not F1.
#
# As a check, 4000 examples of the toy get free probabilities that minimise the expected loss.

# %%
def ask(loss, eta, steps=800):
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


free_linear, dice_linear = ask(expected_set_loss(False), eta)
free_squared, dice_squared = ask(expected_set_loss(True), eta)

# %%
rule_linear = (eta > dice_linear / 2).double()
rule_squared = (eta / dice_squared).clamp(max=1)
gap_linear = (free_linear - rule_linear).abs().mean().item()
gap_squared = (free_squared - rule_squared).abs().mean().item()
print("D, and the mean distance to Eq. 4.5")
print(f"linear:  {dice_linear:.3f}, {gap_linear:.3f}")
print(f"squared: {dice_squared:.3f}, {gap_squared:.3f}")

# %% [markdown]
# The free probabilities end where the formula says.

# %% [markdown]
# ## 4.4 Which losses train?
#
# Every loss gets the same eight data sets, the trainer of [section 2.3](02_cross_entropy.ipynb) and
# three starting biases: −3 (all examples at $p = 0.05$), 0 (at 0.5) and 2 (at 0.88).

# %%
LOSSES = {"cross entropy": binary_cross_entropy, **FOUR}
STARTS = (-3.0, 0.0, 2.0)
runs = train_from_starts(LOSSES, biases=STARTS, seeds=range(8))


# %%
def cell(values):
    """Mean and half width of the 95% interval."""
    i = interval(list(values))
    return f"{i.mean:.3f} ± {i.high - i.mean:.3f}"


def table(runs, key):
    def row(name):
        found = {b: [r[key] for r in runs[name, b]] for b in STARTS}
        return {f"b0 = {b:+.0f}": cell(v) for b, v in found.items()}

    return pd.DataFrame({name: row(name) for name in LOSSES}).T


def scores(runs, name, bias, key):
    return np.array([r[key] for r in runs[name, bias]])


print("test F1 at threshold .5: mean ± half of its 95% interval")
table(runs, "f1")

# %% [markdown]
# *Eq. 6* scores 0 from every start, on every data set: it has collapsed. *Eq. 7* stays behind cross
# entropy, as Figure 4.1 predicts, and from +2 three of its eight runs end at 0. The two *set-level*
# losses reach about 0.52 from everywhere. With the threshold tuned on the training set:

# %%
print("test F1 at the tuned threshold")
table(runs, "tuned")

# %% [markdown]
# From −3 and from 0 the *collapsed* Eq. 6 had found the direction and lost only its bias. From +2 it
# learned no direction; 0.095 is the F1 of calling everything positive. Everything started at −3 or 0
# ends within 0.02 of cross entropy. Seed by seed:

# %%
linear, eq8 = "dice linear, set level", "Eq. 8: set level, squared"
eq6, eq7 = "Eq. 6: per example, linear", "Eq. 7: per example, squared"
ce, gains = {}, {}
for key, name in [("f1", "threshold .5"), ("tuned", "tuned")]:
    ce[key] = scores(runs, "cross entropy", 0.0, key)
    gains[key] = interval(list(scores(runs, eq8, 0.0, "f1") - ce[key]))
    i = gains[key]
    difference = f"{i.mean:+.3f} [{i.low:+.3f}, {i.high:+.3f}]"
    print(f"Eq. 8 minus cross entropy, {name}: {difference}")

# %% [markdown]
# At threshold 0.5 Eq. 8 wins; against the tuned threshold the interval includes 0.

# %% [markdown]
# ### Where no straight line is right
#
# On this toy the model has the form of the true probabilities; on a second toy, built for this
# purpose, it has not: three negatives in a hundred lie far beyond the positives, to one side.

# %%
how = {"biases": STARTS, "seeds": range(8)}
wrong = train_from_starts(LOSSES, blobs=misspecified_blobs, **how)
print("second toy: test F1 at the tuned threshold")
table(wrong, "tuned")

# %% mystnb={"figure": {"caption": "Figure 4.2. The second toy, and where two losses put the line between yes and no, each at its tuned threshold. Orange triangles are positives.", "name": "fig-4-2"}, "image": {"alt": "A cloud of negatives at the origin, the positives up and to its right, and a small cloud of negatives far to the right. The line of cross entropy is nearly level and cuts the far cloud, most of which lies above it, on the positive side; the line of Eq. 8 falls steeply between the first two clouds and has all of the far cloud on its positive side."}} tags=["hide-input"]
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
print("Eq. 8 at .5 minus cross entropy at its tuned threshold:")
print(f"{i.mean:+.3f} [{i.low:+.3f}, {i.high:+.3f}]")


# %% [markdown]
# Here dice beats the tuned threshold. In Figure 4.2 cross entropy calls 65% of the far negatives positive, and Eq. 8
# calls all of them positive. An example that is sure and wrong costs cross entropy more the
# farther out it lies; a set-level loss charges at most one false positive for it. The angle of the
# weights on both toys:

# %%
def direction(loss, blobs):
    """The angle of the weights in degrees, for each of eight data sets."""
    data = [blobs(seed=seed) for seed in range(8)]
    fits = [train_logistic(LOSSES[loss], x, y) for x, y in data]
    angles = [torch.atan2(fit.weight[1], fit.weight[0]) for fit in fits]
    return [float(torch.rad2deg(angle)) for angle in angles]


toys = {"first toy": imbalanced_blobs, "second toy": misspecified_blobs}
angles = {
    name: {toy: direction(name, blobs) for toy, blobs in toys.items()}
    for name in ("cross entropy", eq8)
}
pd.DataFrame(angles).T.map(np.mean).round(1)

# %% [markdown]
# Cross entropy turned its weights by 34 degrees because of the far negatives, Eq. 8 by five. **Where
# the model is right, dice only moves the threshold. Where the model is wrong, dice can also find
# another direction**, which tuning cannot.

# %% [markdown]
# ### The collapse of Eq. 6
#
# On the first toy, from $b_0 = 0$:

# %% mystnb={"figure": {"caption": "Figure 4.3. A collapse, and none.", "name": "fig-4-3"}, "image": {"alt": "Left, Eq. 6: the positives climb to 0.8 in ten steps, then fall and join the negatives near 0 at step 30. Right, Eq. 8: they climb in the same way, begin to fall, turn at step 20 and settle just above 0.5; the negatives end near 0.05."}} tags=["hide-input"]
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
# Under Eq. 6 nineteen negatives for each positive lower the bias, and the positives fall with it. At
# set level the slope of a positive is $-(2-D)/S$ and that of a negative only $D/S$ ([Eq. 4.4](eq-4-4),
# linear): the lower the dice, the more a positive counts. Why does Eq. 7 not always collapse? The
# slopes of a negative differ:

# %%
p, gamma = sp.symbols("p gamma", positive=True)
forms = {"Eq. 6": p / (p + gamma), "Eq. 7": p**2 / (p**2 + gamma)}
for name, loss in forms.items():
    slope = sp.factor(sp.diff(loss, p))
    left = rf"\text{{{name}:}}\quad \frac{{dL_0}}{{dp}} = {sp.latex(slope)}"
    at_0 = sp.latex(slope.subs(p, 0))
    display(Math(left + rf"\;\to\; {at_0}\;\text{{ at }} p = 0"))

# %% [markdown]
# With the square, an easy negative has no slope, so that the positives decide.
#
# ## 4.5 Small batches
#
# In training, the set is a batch. How many batches hold no positive?

# %%
sizes = [16, 64, 256, 1024]
shares = {}
for s in (0.001, 0.01, 0.05):
    shares[f"{s:.1%} positives"] = [stats.binom.pmf(0, b, s) for b in sizes]
pd.DataFrame(shares, index=[f"batch of {b}" for b in sizes]).T.round(3)


# %% [markdown]
# At 1%, 85% of the batches of 16 hold none. Such a batch still has a gradient, which lowers every $p$:
# linear, $\gamma/(\sum p + \gamma)^2$ by $p$; squared, $2\gamma p/(\sum p^2 + \gamma)^2$, which fades
# as $p$ falls. With γ = 0 the loss is the constant 1, which has no gradient.
#
# ### The dice of a batch is not the dice of the set
#
# With the true probabilities of a problem with 1% positives and a threshold, each example is a true
# positive, an error or a true negative with known chances, and the expected dice of a batch is a finite
# sum (γ = 1).

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
honest = optimal_logits(x_big, **problem).sigmoid()


def chances(cut):
    said, gold = honest > cut, y_big.bool()
    tp, wrong = (said & gold).double(), (said ^ gold).double()
    return float(tp.mean()), float(wrong.mean())


# %%
tp, wrong = chances(0.3)
print(f"F1 of the set: {2 * tp / (2 * tp + wrong):.3f}")
print("expected dice of a batch of 16")
print(f"  of this model:   {expected_batch_dice(16, tp, wrong):.4f}")
print(f"  always negative: {expected_batch_dice(16, 0.0, 0.01):.4f}")

# %% [markdown]
# The set has an F1 of 0.63. Its batches have an expected dice of 0.948, because an empty batch with
# nothing said scores $\gamma/\gamma = 1$. A model that says *nothing*, with an F1 of 0, gets 0.924, only
# 0.024 less. The best threshold moves, too:

# %% mystnb={"figure": {"caption": "Figure 4.4. 1% positives: the score that a batch sees, by threshold; dots mark the best ones.", "name": "fig-4-4"}, "image": {"alt": "Expected dice against the threshold. The black line, F1 of the set, is a hill with its top near 0.35. The line of batches of 1024 lies close to it. With smaller batches the lines rise towards 1 and flatten, and their highest points wander to the right, to 0.44."}} tags=["hide-input"]
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
ax.set(xlabel="threshold on the true probability", ylabel="expected dice")
fig.legend(loc="outside lower center", ncols=3, fontsize="small")
plt.show()


# %% [markdown]
# At 16 the best threshold is 0.44 instead of 0.35, nearer to the 0.5 of accuracy: in a batch with at most
# one positive the ratio of sums *is* a ratio of one example.
#
# <div class="play" data-play="batches"><img src="../_static/play-batches.png"
# alt="Left, F1 of the set and the expected dice of batches of 16 against the threshold: the batches'
# curve is flat, near 0.95. Right, how many positives a batch holds: none in 85 of 100 batches."></div>
#
# Train on batches of 16 in the Playground:
# <a href="../docs/playground.html#loss=dl&amp;squared=false&amp;batch=16">linear</a> and
# <a href="../docs/playground.html#loss=dl&amp;batch=16">squared</a>.
#
# ### Does it matter in training?
#
# 1% positives, the same number of steps, four batch sizes, six data sets.

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
display(Markdown("Test F1 at one half: mean ± half of its 95% interval"))
display(pd.DataFrame(rows).T)
display(Markdown("Runs of six that end at an F1 of 0"))
display(pd.DataFrame(zeros).T)

# %% [markdown]
# The linear loss collapses in batches of 16 and 64, in every run; at 256 it recovers. The squared loss and cross
# entropy never collapse, not even in batches of 16, most of which have no positive. There the mean F1 of the squared
# loss, 0.40, is not below that of cross entropy, but at 16 the squared loss does worse than at 256. So on this
# toy the squared loss trains on batches that are mostly empty, and larger batches help it: at 1%, several hundred
# tokens, a handful of sentences. If several hundred sentence pairs do not fit into memory, keep the squares, or
# add the statistics of several batches before dividing (exercise 4.4). Section 17.4 has one case on real text.
#
# With several classes a linear loss holds a fresh tagger at the
# majority class ([Eq. 7.2](eq-7-2)). Hence the library squares by default.

# %% [markdown]
# ## Summary
#
# - On hard predictions a per-example dice loss is the error rate over $1 + \gamma$ ([Eq. 4.1](eq-4-1)),
#   a set-level one $1 - F_1$ ([Eq. 4.2](eq-4-2)).
# - The linear set-level loss puts the threshold at half of F1, which is best; the
#   squared one asks for $\eta/D$ ([Eq. 4.5](eq-4-5)), a threshold a little above it.
# - On full batches of 5% positives [Eq. 6](eq-6) collapses from every start, Eq. 7 from +2 in three
#   runs of eight, the set-level losses never. With a tuned threshold and a start at −3 or 0 all end
#   within 0.02 of cross entropy.
# - Where no straight line is right, Eq. 8 beats cross entropy with a tuned threshold: the far negatives
#   turn the weights of cross entropy, hardly those of Eq. 8.
# - At 1% most batches of 16 have no positive. The linear loss collapses on them, the squared one does not. Larger
#   batches and summed statistics help both.

# %% [markdown]
# ## Exercises
#
# **Exercise 4.1 (recall).** A modest model gives every positive 0.9 and every negative 0.1 (5%
# positives, 1000 examples), so that every answer is right. What do the four dice losses say?

# %% tags=["solution", "hide-cell"]
modest = torch.where(gold == 1, 0.9, 0.1).logit()
said = {name: loss(modest, gold).item() for name, loss in FOUR.items()}
for name, value in said.items():
    print(f"{name:30} {value:.3f}")
# The linear set-level loss says .524: 950 times .1 is 95 in the denominator, twice the number of
# positives. Squared, the same crowd counts 9.5.
assert round(said[linear], 3) == 0.524

# %% [markdown]
# **Exercise 4.2 (pencil).** Prove that per example [Eq. 6](eq-6) and [Eq. 7](eq-7) depend on $p$
# only through the error $e = |p - y|$, and give the two functions for each label.

# %% tags=["solution", "hide-cell"]
# For y = 1 put p = 1 - e, for y = 0 put p = e. Eq. 6: y = 1 gives e/(2 - e + γ), y = 0 e/(e + γ).
# Eq. 7: y = 1 gives e²/((1 - e)² + 1 + γ), since (1 - e)² + 1 - 2(1 - e) = e²; y = 0 e²/(e² + γ).
e, g = sp.symbols("e gamma", positive=True)
for k, below in {1: 2 - e + g, 2: (1 - e) ** 2 + 1 + g}.items():
    assert sp.simplify(1 - (2 * (1 - e) + g) / ((1 - e) ** k + 1 + g) - e**k / below) == 0
    assert sp.simplify(1 - g / (e**k + g) - e**k / (e**k + g)) == 0


# %% [markdown]
# **Exercise 4.3 (apply).** Which batch size makes 95% of all batches hold at least one positive,
# and at least five, for shares of 0.1%, 1%, 5% and 20%?

# %% tags=["solution", "hide-cell"]
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

# %% tags=["solution", "hide-cell"]
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
# **Exercise 4.5 (predict, then run).** The paper squares "for faster convergence". Write down for
# each start, −3, 0 and +2: does the squared set-level loss settle earlier than the linear one? Then
# measure the step from which on the training F1 stays above 95% of its final value.

# %% tags=["solution", "hide-cell"]
def settles(loss, bias, seed, rate):
    x, y = imbalanced_blobs(seed=2 * seed)
    fit = train_logistic(loss, x, y, bias=bias, learning_rate=rate, steps=150, record_every=2)
    f1 = np.array([f1_score(row > 0, y) for row in fit.logits])
    below = np.flatnonzero(f1 < 0.95 * f1[-1])
    return 2 * (below[-1] + 1) if len(below) else 0


saved = {}
for b in STARTS:
    steps = [np.array([settles(LOSSES[n], b, s, 0.1) for s in range(6)]) for n in (linear, eq8)]
    saved[b] = interval(list(steps[0] - steps[1]))
    print(f"b0 = {b:+.0f}: linear {steps[0].mean():.0f} steps, squared {steps[1].mean():.0f}; saved "
          f"{saved[b].mean:+.1f} [{saved[b].low:+.1f}, {saved[b].high:+.1f}]")  # fmt: skip
# Verdict: from −3, the share of positives, no difference is seen. From 0 and from +2 the square
# saves steps: its gradient for the many negatives fades as they fall.
assert saved[-3.0].low < 0 < saved[-3.0].high
assert saved[0.0].low > 0
assert saved[2.0].low > 0


# %% [markdown]
# **Exercise 4.6 (small research).** Does a mixture of cross entropy and Eq. 8 get the better of
# both? Train λ·CE + (1−λ)·DL for a few λ in batches of 16 at 1% positives and report intervals.

# %% tags=["solution", "hide-cell"]
def mixture(share):
    return lambda z, t: share * binary_cross_entropy(z, t) + (1 - share) * LOSSES[eq8](z, t)


mixed = train_in_batches({s: mixture(s) for s in (0.0, 0.2, 0.5)}, 16)
for share, values in mixed.items():
    print(f"λ = {share}: {cell(values)}")
difference = interval([a - b for a, b in zip(mixed[0.2], mixed[0.0], strict=True)])
print(f"λ = .2 minus λ = 0: [{difference.low:+.3f}, {difference.high:+.3f}]")
assert -0.02 < difference.low < 0 < difference.high < 0.02
# Verdict: not here. A fifth of cross entropy changes F1 by less than .02 either way.

# %% [markdown]
# ## Further reading
#
# - {cite:t}`milletari2016vnet`: V-Net, where the squared denominator comes from, for a prostate that
#   fills a small part of a scan.
# - {cite:t}`bertels2021`: what soft dice asks for where labels are uncertain, in theory and on
#   scans. Its volumes are biased for the reason of section 4.3: dice moves the threshold.
# - {cite:t}`tilborghs2022`: absent classes, over what one sums, and the smoothing term; the
#   derivative of dice is "the real motor", as in section 7.5.
