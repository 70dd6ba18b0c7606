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
# # 07 All losses side by side
#
# Give every example of a data set with 5% positives the same probability $p$. Which way does each loss
# move it? Cross entropy comes to rest at 0.05, focal loss at 0.25, squared dice at 0.026; the per-example
# linear dice lowers $p$ to 0, and self-adjusting dice with α = 1 goes to 0 or to 1.

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
import sympy as sp
import torch

from dicelab.figures import style, use_style

use_style()
torch.set_default_dtype(torch.float64)

# %% tags=["hide-input"]
p, g, f, alpha, a, b, w = sp.symbols("p gamma f alpha a b w", positive=True)
q = (1 - p) ** alpha * p


def dice(u, y, k=1):
    return 1 - (2 * u * y + g) / (u**k + y + g)


table2 = {  # name: (loss of a positive, loss of a negative)
    "CE": (-sp.log(p), -sp.log(1 - p)),
    "WCE": (-w * sp.log(p), -sp.log(1 - p)),
    "FL": (-((1 - p) ** f) * sp.log(p), -(p**f) * sp.log(1 - p)),
    "DL, Eq. 6": (dice(p, 1), dice(p, 0)),
    "DL, Eq. 7": (dice(p, 1, k=2), dice(p, 0, k=2)),
    "TL": (1 - (p + g) / (p + b * (1 - p) + g), 1 - g / (a * p + g)),
    "DSC": (dice(q, 1), dice(q, 0)),
}
settings = {g: 1, f: 2, alpha: 1, a: sp.Rational(3, 10), b: sp.Rational(7, 10), w: 19}

# %% mystnb={"figure": {"caption": "Figure 7.1. 5% positives, all examples at the same p: above zero the bias rises, below zero it falls. Drawn is minus the mean gradient on the logit, divided by p."}, "image": {"alt": "Curves over p on a logarithmic axis. CE falls through zero at p = 0.05 and FL at 0.25. Squared dice, Eq. 7, is above zero at the left, crosses at 0.026 and stays below. Linear dice is below zero everywhere. DSC with alpha 1 is below zero left of 0.5 and above zero right of it."}} tags=["hide-input"]
drawn = ["CE", "FL", "DL, Eq. 6", "DL, Eq. 7", "DSC"]
low = torch.logspace(-3, -0.01, 200)
fig, axis = plt.subplots(figsize=(6, 3.6))
for name in drawn:
    upward = [
        sp.lambdify(p, -(sp.diff(e.subs(settings), p) * (1 - p)), "numpy")(low.numpy())
        for e in table2[name]
    ]
    axis.plot(low, 0.05 * upward[0] + 0.95 * upward[1], label=name, **style(name))
axis.axhline(0, color="0.3", lw=0.8)
axis.set(
    xscale="log",
    xlabel="common probability p of all examples",
    ylabel="−mean gradient / p",
    ylim=(-1.2, 0.6),
)
fig.legend(ncols=5, loc="outside lower center", fontsize="small")
plt.show()

# %% [markdown]
# - **For** readers who must now choose one.
# - **You need** the summaries of chapters 02 to 06.
# - **You will be able to** read off any loss what it does to an easy negative, a hard negative and a
#   positive, and say what a dice loss of several classes asks for.
# - **Time** about a minute on a CPU; a GPU does not help. Symbols and terms:
#   [Notation and glossary](../docs/notation.md).

# %% tags=["hide-input"]
import warnings

import pandas as pd
from IPython.display import Math, display

import dicebook
from dicebook import make_loss
from dicelab.records.runs import interval, kept_records
from dicelab.toy import (
    best_threshold,
    f1_score,
    imbalanced_blobs,
    misspecified_blobs,
    train_each,
    train_from_starts,
    train_logistic,
)

warnings.filterwarnings("ignore", message="alpha=")  # chapter 06 explains the warning
warnings.filterwarnings("ignore", message=".*squared=False")  # and section 7.5 this one


# %% [markdown]
# ## 7.1 Table 2, as functions
#
# > "Different losses and their formulas. We add +1 to DL, TL and DSC so that they are positive."
# > (caption of Table 2)
#
# | loss | as printed | corrected |
# |---|---|---|
# | CE | $-\sum_{j} y_{ij} \log p_{ij}$ | |
# | WCE | $-\alpha_i \sum_{j} y_{ij} \log p_{ij}$ | |
# | DL | $1 - \frac{2 p_{i1} y_{i1} + \gamma}{p_{i1}^2 + y_{i1}^2 + \gamma}$ | |
# | TL | $1 - \frac{p_{i1} y_{i1} + \gamma}{p_{i1} y_{i1} + \alpha p_{i1} y_{i0} + \beta p_{i0} y_{i1} + \gamma}$ | |
# | DSC | $1 - \frac{2 (1 - p_{i1}) p_{i1} \cdot y_{i1} + \gamma}{(1 - p_{i1}) p_{i1} + y_{i1} + \gamma}$ | |
# | FL | $-\alpha_i \sum_{j} (1 - p_{ij})^{\gamma} \log p_{ij}$ | $-\alpha_i \sum_{j} y_{ij} (1 - p_{ij})^{\gamma} \log p_{ij}$ |
#
# One slip: FL has lost its label $y_{ij}$, which stands in the row of CE. The printed FL:

# %%
def printed_focal(p):  # Table 2's FL for two classes, γ = 2
    return -((1 - p) ** 2) * sp.log(p) - p**2 * sp.log(1 - p)


at = (0.1, 0.3, 0.5, 0.7, 0.9)
as_printed = pd.Series({v: float(printed_focal(sp.Float(v))) for v in at})
as_printed.round(3)


# %% [markdown]
# It has the same value for p and 1 − p and is lowest at 0.5.
#
# Here are all losses for a positive (y = 1) and a negative (y = 0), with the probability p of the
# positive class, smoothing γ, focal's exponent f, DSC's exponent α and Tversky's prices a and b.

# %% tags=["hide-input"]
def as_array(rows, head):
    lines = [
        " & ".join([rf"\text{{{name}}}", *map(sp.latex, cells)]) for name, cells in rows.items()
    ]
    body = r" \\[6pt] ".join(lines)
    return Math(rf"\begin{{array}}{{l|ll}} {head} \\[2pt] \hline {body} \end{{array}}")


simple = {name: [sp.simplify(e) for e in pair] for name, pair in table2.items()}
as_array(simple, r"\text{loss} & y = 1 & y = 0")

# %% [markdown]
# `make_loss` knows the losses by the paper's abbreviations and the equations by number. All values and
# derivatives agree.

# %% tags=["hide-input"]
ours = {
    "CE": make_loss("binary_ce", reduction="none"),
    "WCE": make_loss("binary_wce", weight=torch.tensor([1.0, 19.0]), reduction="none"),
    "FL": make_loss("binary_fl", gamma=2.0, reduction="none"),
    "DL, Eq. 6": make_loss("binary_eq6", reduction="none"),
    "DL, Eq. 7": make_loss("binary_eq7", reduction="none"),
    "TL": make_loss("binary_eq10", fp_weight=0.3, fn_weight=0.7, reduction="none"),
    "DSC": make_loss("binary_eq12", reduction="none"),
}
at = torch.linspace(0.1, 0.9, 9)
for name, pair in table2.items():
    for y, formula in zip((1.0, 0.0), pair, strict=True):
        x = torch.logit(at).requires_grad_()
        loss = ours[name](x, torch.full_like(x, y))
        slope = torch.autograd.grad(loss.sum(), x)[0] / (at * (1 - at))
        for theirs, expression in ((loss, formula), (slope, sp.diff(formula, p))):
            expected = sp.lambdify(p, expression.subs(settings), "numpy")(at.numpy())
            torch.testing.assert_close(theirs, torch.as_tensor(expected))

# %% [markdown]
# ## 7.2 The derivatives

# %% tags=["hide-input"]
slopes = {
    name: [sp.factor(sp.simplify(sp.diff(e.subs(alpha, 1), p))) for e in pair]
    for name, pair in table2.items()
}
as_array(slopes, r"d\mathcal{L}/dp & y = 1 & y = 0 \quad (\text{DSC with } \alpha = 1)")


# %% [markdown]
# For 0 < p < 1 the left column is negative, so training raises a positive; the right column is
# positive, so training lowers a negative. The exception is the factor 2p − 1 of DSC.
#
# The next table holds the cost as p → 0 and p → 1, and the least cost (γ = 1, f = 2, a = 0.3, b = 0.7,
# α = 1, a weight of 19):

# %% tags=["hide-input"]
def at_ends(expression):
    """Limits at p → 0 and p → 1."""
    expression = expression.subs(settings)
    return [sp.limit(expression, p, 0, "+"), sp.limit(expression, p, 1, "-")]


def as_text(value):
    return str(value).replace("oo", "∞").replace("-", "−")


def floor(expression):
    """The least value on (0, 1), to three digits."""
    inside = torch.linspace(1e-6, 1 - 1e-6, 9999).numpy()
    return round(float(min(sp.lambdify(p, expression.subs(settings), "numpy")(inside))), 3)


ends = {n: [*at_ends(pos), floor(pos), *at_ends(neg)] for n, (pos, neg) in table2.items()}
head = ["y=1, p→0", "y=1, p→1", "y=1, floor", "y=0, p→0", "y=0, p→1"]
pd.DataFrame.from_dict(ends, orient="index", columns=head).map(as_text)


# %% [markdown]
# The first three losses can cost any amount; the others are bounded, by 1/(1+γ) = 1/2 for dice. All
# reach zero, except DSC with α = 1, which stops at 1/3; and its negative costs 0 at p = 1. A positive
# at p → 0 meets a slope of −∞ in CE, WCE and FL and a finite one in all the others.

# %% [markdown]
# ## 7.3 The gradient on the logit
#
# On the logit the slope is multiplied by p(1 − p). As p → 0, the gradient shrinks like some power of p:

# %%
def order(expression):
    """(k, c): minus the gradient on the logit is like c·p^k as p → 0."""
    slope = sp.diff(expression.subs(settings), p)
    minus_gradient = sp.simplify(-slope * p * (1 - p))
    for k in range(4):
        c = sp.limit(minus_gradient / p**k, p, 0, "+")
        if c != 0:
            return k, c


def power(k, c):
    return f"{c}" if k == 0 else f"{c}·p" + "⁰¹²³"[k] * (k > 1)


powers = {n: [order(e) for e in pair] for n, pair in table2.items()}
rows = {n: [power(*v) for v in pair] for n, pair in powers.items()}
columns = ["missed positive", "easy negative"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)

# %% [markdown]
# On logarithmic axes a power is a straight line with the exponent as its slope:

# %% mystnb={"figure": {"caption": "Figure 7.2. The size of the gradient on a logit, as p falls. Left, a positive that is missed: the gradient of dice losses falls with p. Right, a negative that is easy: the lines have slopes 1, 2 and 3."}, "image": {"alt": "Two panels with logarithmic axes. Left: CE and FL are flat at 1 as p falls to 0.001; DL and DSC fall along a line of slope 1. Right: CE, linear DL and DSC fall together with slope 1, squared DL with slope 2, FL with slope 3; at p = 0.001 more than five decades lie between CE and FL."}} tags=["hide-input"]
low = torch.logspace(-3, -0.6, 100)
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.6), sharey=True)
for axis, k, title in zip(axes, (0, 1), ("a missed positive", "a negative"), strict=True):
    for name in drawn:
        gradient = sp.diff(table2[name][k].subs(settings), p) * p * (1 - p)
        values = abs(sp.lambdify(p, gradient, "numpy")(low.numpy()))
        axis.loglog(low, values, label=name, **style(name))
    axis.set(title=title, xlabel="predicted probability p")
axes[0].set_ylabel("size of the gradient, |dL/dx|")
fig.legend(
    *axes[0].get_legend_handles_labels(), ncols=5, loc="outside lower center", fontsize="small"
)
plt.show()


# %% [markdown]
# For a positive at p → 0, the gradient of cross entropy and focal loss tends to a constant; that of all
# dice losses is proportional to p, so that the more a positive is missed, the less it moves. For an
# easy negative the gradient falls like p with CE, linear dice, Tversky and DSC, like p² with squared
# dice, like p³ with focal loss. So with linear dice 95 negatives outweigh 5 positives at any p; with
# squared dice the positives win where p is small enough. A model with nothing but a bias rests where
# the curves of Figure 7.1 cross zero:

# %%
def rest(name, positive=0.05):
    """Where −gradient changes from + to −, or points out of (0, 1)."""
    grid = torch.linspace(1e-4, 0.9999, 20001)
    upward = []
    for loss in table2[name]:
        slope = sp.diff(loss.subs(settings), p) * p * (1 - p)
        upward.append(-sp.lambdify(p, slope, "numpy")(grid.numpy()))
    mean = positive * upward[0] + (1 - positive) * upward[1]
    crossing = (mean[:-1] > 0) & (mean[1:] <= 0)
    stops = [str(round(v, 3)) for v in grid[:-1][crossing].tolist()]
    return ["0"] * bool(mean[0] < 0) + stops + ["1"] * bool(mean[-1] > 0)


resting = {name: " or ".join(rest(name)) for name in table2}
pd.Series(resting, name="rests at p =")

# %% [markdown]
# Cross entropy rests at the share of positives, weighted with 19 at 0.5; linear dice and Tversky at
# these prices only at p = 0. For DSC the start decides.

# %% [markdown]
# ## 7.4 All losses on one problem
#
# A logistic model trains on the blobs, 5% positives, with the same optimiser, steps and data for all
# losses, from three biases: −3 (all examples at 5%), 0 (50%) and +2 (88%). Each of five seeds has its
# own training and test set.

# %%
one = {"level": "example"}
linear, squared = {"squared": False}, {"squared": True}
prices = {"fp_weight": 0.3, "fn_weight": 0.7}
weight = torch.tensor([1.0, 19.0])
contest = {
    "CE": make_loss("binary_ce"),
    "WCE, weight 19": make_loss("binary_wce", weight=weight),
    "FL, f=2": make_loss("binary_fl", gamma=2.0),
    "DL linear, example": make_loss("binary_dl", **linear, **one),
    "DL squared, example": make_loss("binary_dl", **squared, **one),
    "TL .5 .5, example": make_loss("binary_tl", **linear, **one),
    "DSC α=1, example": make_loss("binary_dsc", alpha=1.0, **linear, **one),
    "DL linear, set": make_loss("binary_dl", **linear),
    "DL squared, set": make_loss("binary_dl", **squared),
    "TL .3 .7, set": make_loss("binary_tl", **prices, **linear),
    "DSC α=1, set": make_loss("binary_dsc", alpha=1.0, **linear),
    "DSC α=.1, set": make_loss("binary_dsc", alpha=0.1, **linear),
    "DSC α=.01, set": make_loss("binary_dsc", alpha=0.01, **linear),
}
biases = (-3.0, 0.0, 2.0)
how = {"biases": biases, "seeds": range(5), "steps": 150}
results = train_from_starts(contest, **how)


# %%
def mean_and_half(values):
    """Mean and half of the 95% interval over seeds; in tables with ±."""
    i = interval(values)
    return i.mean, i.high - i.mean


f1, tuned, columns = {}, {}, {}
for (name, bias), runs in results.items():
    f1[name, bias] = mean_and_half([run["f1"] for run in runs])
    tuned[name, bias] = mean_and_half([run["tuned"] for run in runs])
    column = columns.setdefault(f"start {bias:+.0f}", {})
    column[name] = "{:.2f} ± {:.2f}".format(*f1[name, bias])
pd.DataFrame(columns)

# %% mystnb={"figure": {"caption": "Figure 7.3. Test F1 at threshold 0.5: mean and 95% interval over five seeds, from three starting biases. Dashed: cross entropy with a tuned threshold."}, "image": {"alt": "One row per loss, one marker per starting bias, with intervals. The set-level rows, except DSC with alpha 1, lie around 0.5 from every start, where the dashed line of tuned cross entropy stands. CE and FL lie at 0.45, weighted CE at 0.35. The example-level rows lie at 0.4, left of it, or at zero."}} tags=["hide-input"]
fig, axis = plt.subplots(figsize=(5.6, 4.9))
for k, (bias, marker) in enumerate(zip(biases, "o^s", strict=True)):
    means, halves = zip(*(f1[name, bias] for name in contest), strict=True)
    rows_at = torch.arange(len(contest)) + 0.22 * (k - 1)
    axis.errorbar(
        means, rows_at, xerr=halves, fmt=marker, ms=5, capsize=2, lw=1, label=f"start {bias:+.0f}"
    )
best = tuned["CE", -3.0][0]
axis.axvline(best, color="0.4", ls="--", lw=1.2, label="CE, threshold tuned")
axis.set_yticks(range(len(contest)), list(contest))
axis.invert_yaxis()
axis.set(xlabel="test F1 at threshold .5", xlim=(-0.03, 0.63))
axis.legend(loc="upper center", bbox_to_anchor=(0.4, -0.13), ncol=2)
plt.show()

# %% [markdown]
# - **CE and focal** end at 0.45 wherever they start, weighted CE at 0.35.
# - **Set level.** Dice, linear or squared, Tversky, and DSC with α = 0.1 or 0.01 reach 0.49 to 0.52 from
#   all three starts.
# - **Example level.** Linear dice and Tversky at 0.5 end at 0 from everywhere. Squared dice gets only
#   0.40 and 0.36, and from +2 most of its seeds end at 0.
# - **DSC with α = 1** on the set level depends on the start: 0.38 from −3, nothing from 0, 0.07 from +2.
#   (At 0 all examples stand on the turning point, where the gradient is 0.)
#
# In the Playground:
# <a href="../docs/playground.html#loss=dl&amp;squared=false&amp;level=example">linear dice</a> and
# <a href="../docs/playground.html#loss=dl&amp;level=example">squared dice</a> of examples, and
# <a href="../docs/playground.html#loss=dsc&amp;squared=false&amp;alpha=1&amp;bias=2">DSC from +2</a>.

# %% tags=["hide-input"]
collapsed = {}
for (name, bias), runs in results.items():
    shares = [run["predicted"] for run in runs]
    if max(run["f1"] for run in runs) < 0.1:
        collapsed[name, f"{bias:+.0f}"] = [f"{sum(shares) / len(shares):.0%}"]
index = pd.MultiIndex.from_tuples(collapsed, names=["every seed collapsed", "start"])
pd.DataFrame(collapsed.values(), index, columns=["called positive"])


# %% [markdown]
# The rows with "0%" are of two kinds. In most of them the negatives won, and pushed every p below one half. Two
# rows of DSC with α = 1 did not move at all: from 0 every example is on the turning point, where the gradient is
# 0. In the rows with "98%" and "100%" all examples started above the turning point.
#
# The baseline is cross entropy with its threshold tuned on the training set, seed by seed:

# %%
def against_tuned_ce(name, key):
    """Mean difference to tuned cross entropy on the same seeds."""
    pairs = zip(results[name, -3.0], results["CE", -3.0], strict=True)
    differences = [run[key] - ce["tuned"] for run, ce in pairs]
    return "{:+.3f} ± {:.3f}".format(*mean_and_half(differences))


rows = {}
short = ["CE", "WCE, weight 19", "FL, f=2", "DL linear, set"]
for name in [*short, "DL squared, set", "DSC α=.1, set"]:
    mean = "{:.2f} ± {:.2f}".format(*tuned[name, -3.0])
    minus = [against_tuned_ce(name, key) for key in ("f1", "tuned")]
    rows[name] = [mean, *minus]
columns = ["F1, tuned", "at .5, minus tuned CE", "tuned, minus tuned CE"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)

# %% [markdown]
# With a tuned threshold all stand between 0.50 and 0.52, and no interval excludes zero. At threshold 0.5
# cross entropy loses 0.05 against tuned cross entropy, weighted cross entropy 0.15; set-level dice and
# DSC stand about where tuned cross entropy does. So set-level dice finds the threshold during training
# here, and no better ranking of the examples. DSC with α = 0.1 is not distinguishable from linear dice,
# which is α = 0.

# %% [markdown]
# ### A model that cannot be right
#
# On the misspecified blobs (chapter 04; [05](05_tversky.ipynb), 5.8) no line is right. The table, of
# ten seeds from −3, also counts the far negatives called positive at the tuned threshold:

# %%
elsewhere = {name: [] for name in [*short, "DL squared, set"]}
blobs = [misspecified_blobs(2000, seed=seed) for seed in range(20)]
train, test = blobs[::2], blobs[1::2]
for name, found in elsewhere.items():
    fits = train_each(contest[name], train, bias=-3.0, steps=150)
    for fit, (u, v), (ut, vt) in zip(fits, train, test, strict=True):
        far = (ut[:, 0] > 4) & (vt == 0)
        cut, _ = best_threshold(fit.predict(u), v)
        z = fit.predict(ut)
        called = (z > cut)[far].double().mean().item()
        found.append([f1_score(z > 0, vt), f1_score(z > cut, vt), called])

# %% tags=["hide-input"]
rows, ahead = {}, {}
for name, runs in elsewhere.items():
    at_half, at_cut, called = torch.tensor(runs).mean(0).tolist()
    ahead[name] = gap = interval([a[1] - b[1] for a, b in zip(runs, elsewhere["CE"], strict=True)])
    difference = f"{gap.mean:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]"
    rows[name] = [f"{at_half:.2f}", f"{at_cut:.2f}", difference, f"{called:.0%}"]
columns = ["F1 at .5", "F1, tuned", "tuned, minus tuned CE", "far called positive"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)


# %% [markdown]
# With all tuned, linear dice reaches 0.41 where cross entropy has 0.34, squared dice 0.38, weighted cross
# entropy 0.40. Those three intervals exclude 0. Linear dice and weighted cross entropy call nearly
# all far negatives positive and keep the line that sorts the rest; cross entropy calls two thirds of
# them positive, and turns. So weighted cross entropy belongs among the baselines.

# %% [markdown]
# ## 7.5 More than two classes
#
# > "The mechanism can be easily extended to multi-class classification." (Section 3.1)
#
# (eq-7-1)=
# The paper does not say how. dicebook takes each class against the rest and averages its loss over a
# set $\mathcal{C}$ of classes:
#
# $$
# \begin{aligned}
# &\mathcal{L} = \frac{1}{|\mathcal{C}|} \sum_{c \in \mathcal{C}} \Bigl[\, 1 \;- \\
# &\quad \frac{2 \sum_i p_{ic}\, y_{ic} + \gamma}{\sum_i p_{ic} + \sum_i y_{ic} + \gamma} \,\Bigr]
# \end{aligned} \tag{7.1}
# $$
#
# This is 1 minus a soft **macro** F1 over tokens. (Entity F1 is micro, over whole entities.) On 200
# tokens of the classes O, PER and LOC, nine in ten O:

# %%
def macro_dice(logits, labels, classes, gamma=1.0):  # Eq. 7.1
    p = logits.softmax(-1)
    y = torch.nn.functional.one_hot(labels, logits.shape[-1])
    score = (2 * (p * y).sum(0) + gamma) / (p.sum(0) + y.sum(0) + gamma)
    return (1 - score[classes]).mean()


generator = torch.Generator().manual_seed(0)
shares = torch.tensor([0.9, 0.06, 0.04])
labels = torch.multinomial(shares, 200, True, generator=generator)
logits = torch.randn(200, 3, generator=generator)
logits = (logits + torch.tensor([3.0, 0, 0])).requires_grad_()
for classes in ([0, 1, 2], [1, 2]):
    value = macro_dice(logits, labels, classes)
    print(f"classes {classes}: {value:.4f}")

# %% tags=["hide-input"]
for classes in ([0, 1, 2], [1, 2]):
    theirs = dicebook.DiceLoss(squared=False, classes=classes)(logits, labels)
    value = macro_dice(logits, labels, classes)
    torch.testing.assert_close(theirs, value)
    torch.testing.assert_close(*(torch.autograd.grad(v, logits)[0] for v in (theirs, value)))

# %% [markdown]
# Without O's term the tokens of O still have a gradient, since every O token that is called PER adds to
# the denominator of PER. That holds as long as each class that an O token could be called has a term. If the
# classes that a batch lacks are skipped as well, O tokens can be called by one of those classes at no cost. We
# give 600 words free logits, 570 of them O and three of nine classes absent, and train with linear dice:

# %%
counts = torch.tensor([570, 10, 8, 6, 4, 2, 0, 0, 0])
words = torch.repeat_interleave(torch.arange(9), counts)


def kept_as_O(absent, steps=500):
    """The share of the O words that end as O, with no term for O."""
    torch.manual_seed(0)
    free = (0.01 * torch.randn(600, 9)).requires_grad_()
    how = {"squared": False, "classes": list(range(1, 9)), "absent": absent}
    criterion = dicebook.DiceLoss(**how)
    optimizer = torch.optim.Adam([free], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        criterion(free, words).backward()
        optimizer.step()
    return (free.argmax(-1)[:570] == 0).double().mean().item()


shares_of_O = {absent: kept_as_O(absent) for absent in ("keep", "skip")}
for absent, share in shares_of_O.items():
    print(f"absent classes: {absent}; O words that stay O: {share:.0%}")

# %% [markdown]
# With the absent classes kept, every O word ends as O although O has no term. With them skipped, most O words end
# in a class that the batch lacks. So it takes both, no term for O and no term for absent classes, to lose the O
# words.

# %% [markdown]
# ### Why linear denominators can find nothing
#
# (eq-7-2)=
# A fresh network cannot tell the tokens apart: all n of them share one p for a class that has G gold
# tokens in the batch. At p = 0 that class's own term has the slope
#
# $$
# \begin{aligned}
# \text{linear: } &\left.\frac{d\mathcal{L}}{dp}\right|_0 = \frac{n\gamma - 2G(G + \gamma)}{(G +
# \gamma)^2}, \\
# \text{squared: } &\left.\frac{d\mathcal{L}}{dp}\right|_0 = -\frac{2G}{G + \gamma}
# \end{aligned} \tag{7.2}
# $$

# %% tags=["hide-input"]
n, G = sp.symbols("n G", positive=True)
of_class = {
    "linear": 1 - (2 * G * p + g) / (n * p + G + g),
    "squared": 1 - (2 * G * p + g) / (n * p**2 + G + g),
}
at_zero = {"linear": (n * g - 2 * G * (G + g)) / (G + g) ** 2, "squared": -2 * G / (G + g)}
for form, loss in of_class.items():
    assert sp.simplify(sp.diff(loss, p).subs(p, 0) - at_zero[form]) == 0


# %% [markdown]
# Squared, p always rises from 0. Linear, it *falls* back wherever nγ exceeds 2G(G + γ): a
# batch of 600 tokens with γ = 1 must hold 17 gold tokens of a class before its own term raises p.
# So the rare classes of a tagger go to 0. A model with nothing but a bias
# ends at these p:

# %%
def bias_alone(golds, squared, steps=2000, n=600):
    """Where one p for all tokens of a batch ends, from a start at .05."""
    y = (torch.arange(n) < torch.tensor(golds)[:, None]).double()
    x = torch.full((len(golds),), 0.05).logit().requires_grad_()
    losses_of = torch.vmap(make_loss("binary_dl", squared=squared))
    optimizer = torch.optim.Adam([x], lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        losses_of(x[:, None].expand(-1, n), y).sum().backward()
        optimizer.step()
    return x.sigmoid().tolist()


golds = [3, 10, 16, 17, 60]
where = {form: bias_alone(golds, form == "squared") for form in of_class}
where = pd.DataFrame(where, index=golds)
where = where.rename_axis("gold tokens of 600")
where.round(3)

# %% [markdown]
# Linear, it ends at 0 up to 16 gold tokens and at 1 from 17 on; squared, it ends between, from where
# features can sort the tokens. The other classes' terms hold the model at `O`, those of absent classes
# most of all (exercise 7.2). The same on WNUT 2017, MiniLM with two of its six layers trained, 1,000
# sentences, three passes; the mean of three seeds, and their range (`results/first_try.jsonl`):

# %% tags=["hide-input"]
tried = {}
for record in kept_records("first_try"):
    chosen = record["parameters"]
    usual = (chosen["corpus"], chosen["learning_rate"], chosen["batch_size"], chosen["precision"])
    if usual == ("wnut17", 2e-4, 32, "bf16") and chosen["loss"] in ("ce", "dl"):
        o = chosen["options"]
        key = (o.get("squared"), o.get("smooth"), o.get("absent"), o.get("outside"))
        if not (o.get("warm_start") or o.get("outside_bias")):
            tried.setdefault(key, []).append(record["metrics"]["test"])
shown = {
    "cross entropy": (None, None, None, None),
    "linear dice, γ = 1": (False, 1.0, "keep", True),
    "linear dice, γ = .0001": (False, 0.0001, "keep", True),
    "squared dice, γ = 1": (True, 1.0, "keep", True),
    "squared dice, γ = 1, absent skipped": (True, 1.0, "skip", True),
    "linear dice, absent skipped, no O": (False, 1.0, "skip", False),
}
of_seeds = {name: pd.DataFrame(tried[key])[["f1", "accuracy"]] for name, key in shown.items()}
rows = {
    name: [f"{v.mean():.1f} [{v.min():.1f}, {v.max():.1f}]" for _, v in seeds.items()]
    for name, seeds in of_seeds.items()
}
pd.DataFrame.from_dict(rows, orient="index", columns=["entity F1, %", "tags right, %"])

# %% [markdown]
# Linear dice finds nothing, with any seed; with γ = 0.0001, and nothing else changed, it finds about as
# much as the squared form, as [Eq. 7.2](eq-7-2) predicts. Both are ahead of cross entropy after the
# same number of steps. So dicebook squares by default and warns of a linear form over all classes.
#
# A class *without* a gold token in the batch is the case G = 0; `absent="skip"` leaves such classes out
# of the mean. The last row skips absent classes and leaves out O as well. One of its three seeds has an F1 of
# 25 with 2 tags in a hundred right: in a batch without some class, O tokens can be called by that class at no
# cost, and strict entity F1 does not count all of these tags.

# %% [markdown]
# [What to do on Monday](../docs/what_to_do.md) says which loss to choose.
#
# ## Summary
#
# - All losses raise a positive and lower a negative, except DSC above p = 1/(1+α).
# - On the logit, the gradient of a missed positive vanishes with p in the dice family, not with CE and
#   focal. That of an easy negative falls like p, with squared dice p², with focal p³ (exponent 2).
# - On the toy, the set level works from every start if the turning point is respected; the example
#   level collapses for linear dice, TL at 0.5 and DSC.
# - Cross entropy with a tuned threshold is in the same range as the best of them here.
# - On the misspecified toy, tuned too, linear dice and weighted cross entropy are ahead of cross
#   entropy: a loss can choose a better wrong model.
# - With several classes a rare class in a linear denominator goes to 0 unless nγ < 2G(G + γ); squared
#   it cannot ([Eq. 7.2](eq-7-2)).
# ## Exercises
#
# **Exercise 7.1 (recall).** From the table of section 7.2: how many negatives, all at p = 1, cost as much as
# one positive at p = 0, under DL (Eq. 7) and under TL with prices 0.3 and 0.7?

# %% tags=["solution", "hide-cell"]
for name in ("DL, Eq. 7", "TL"):
    positive, negative = (e.subs(settings) for e in table2[name])
    print(name, sp.limit(positive, p, 0) / sp.limit(negative, p, 1))

# %% [markdown]
# **Exercise 7.2 (predict, then run).** A batch of 600 words holds 570 of `O`, five classes with 10, 8, 6,
# 4 and 2 words, and three more classes not at all. Which terms of [Eq. 7.1](eq-7-1) raise the logit of
# `O`: its own, those of the classes present, those of the absent ones? Answer for the start and for a
# model that says `O` everywhere, linear and squared; then compute it.

# %% tags=["solution", "hide-cell"]
counts = torch.tensor([570, 10, 8, 6, 4, 2, 0, 0, 0])
tags = torch.repeat_interleave(torch.arange(9), counts)


def towards_O(shift, squared):
    """Minus the gradient of each term on O's logit, which is `shift`; all others are 0."""
    logit = torch.zeros(9).index_fill(0, torch.tensor(0), shift).requires_grad_()
    of_class = make_loss("dl", squared=squared, absent="keep", reduction="none")
    of_class = of_class(logit.expand(600, 9), tags) / 9
    terms = [of_class[0], of_class[1:6].sum(), of_class[6:].sum()]
    return [-torch.autograd.grad(t, logit, retain_graph=True)[0][0].item() for t in terms]


terms_of = {
    (when, form): towards_O(shift, form == "squared")
    for when, shift in {"at the start": 0.0, "at all-O": 7.0}.items()
    for form in of_class
}
columns = ["O's own term", "classes present", "classes absent"]
table = pd.DataFrame(terms_of, index=columns).T.round(4)
# Verdict: at the start all terms raise O, its own the most. Once there, its own is nearly gone. What
# *holds* the model there is the other terms: linear, they raise O two hundred times as much as its
# own does. Squared, the classes present lower O, by more than the absent ones raise it.
table

# %% [markdown]
# **Exercise 7.3 (pencil).** On the example level linear dice sinks to p = 0 at 5% positives. At which share
# of positives does it stop sinking when p is small? Give the share as a function of γ.

# %% tags=["solution", "hide-cell"]
# By hand: at p = 0 the slope of a positive is −(γ+2)/(γ+1)², of a negative 1/γ. They balance where
# π(γ+2)/(γ+1)² = (1−π)/γ; so π (γ(γ+2) + (γ+1)²) = (γ+1)², and γ(γ+2) + (γ+1)² = 2γ² + 4γ + 1.
share = sp.Symbol("pi", positive=True)
positive, negative = (-sp.diff(e, p).subs(p, 0) for e in table2["DL, Eq. 6"])
balance = sp.solve(share * positive + (1 - share) * negative, share)[0]
display(
    Math(
        rf"\pi = {sp.latex(sp.factor(balance))},\quad \gamma = 1:\; {sp.latex(balance.subs(g, 1))}"
    )
)

# %% [markdown]
# **Exercise 7.4 (predict, then run).** The label is wrong in 2% of the negatives. Which loss suffers
# most? Write it down, at threshold 0.5 and tuned; then train CE, focal, and squared set-level dice on
# blobs with 2% of the negatives relabelled positive, and test on clean ones. Five seeds.

# %% tags=["solution", "hide-cell"]
noise = {}
for name in ("CE", "FL, f=2", "DL squared, set"):
    scores = []
    for seed in range(5):
        (u, v), (ut, vt) = (imbalanced_blobs(2000, seed=2 * seed + k) for k in (0, 1))
        flip = torch.rand(2000, generator=torch.Generator().manual_seed(seed)) < 0.02
        noisy = torch.where(flip & (v == 0), 1.0, v)
        fit = train_logistic(contest[name], u, noisy)
        cut, _ = best_threshold(fit.predict(u), noisy)
        scores.append([f1_score(fit.predict(ut) > c, vt) for c in (0.0, cut)])
    fixed, moved = (mean_and_half([s[k] for s in scores]) for k in (0, 1))
    noise[name] = fixed[0], moved[0]
    print(
        f"{name:16} at .5: {fixed[0]:.2f} ± {fixed[1]:.2f}   tuned: {moved[0]:.2f} ± {moved[1]:.2f}"
    )
# Verdict: at .5 dice looks calm (.50) where CE falls to .33 and focal to .26. With a threshold tuned
# on the same noisy labels all three stand at .50 to .51: the noise moved the probabilities, not the
# ranking, and a loss that brings its own threshold hides that.
assert noise["DL squared, set"][0] > 0.45 > 0.35 > noise["CE"][0] > noise["FL, f=2"][0]
assert max(v[1] for v in noise.values()) - min(v[1] for v in noise.values()) < 0.02

# %% [markdown]
# **Exercise 7.5 (apply).** Set-level dice is not the mean of its micro-batches. Cut the 200 tokens of
# section 7.5 into five; show that the mean of the five losses is not the loss of the whole, and
# that adding up `dice_statistics` gives it exactly.

# %% tags=["solution", "hide-cell"]
from dicebook.losses import dice_statistics

whole = dicebook.DiceLoss(squared=False)(logits, labels)
parts = list(zip(logits.chunk(5), labels.chunk(5), strict=True))
mean = sum(dicebook.DiceLoss(squared=False)(u, v) for u, v in parts) / 5
total = sum(dice_statistics(u, v) for u, v in parts)
torch.testing.assert_close(total.loss(), whole)
print(f"whole {whole:.4f}   mean of five {mean:.4f}   from added statistics {total.loss():.4f}")

# %% [markdown]
# **Exercise 7.6 (small research).** Does the choice of a loss matter less with larger batches, or more?
# Train CE and squared set-level dice with batches of 16, 64 and all 2000 examples, the same
# number of steps, five seeds; report F1 at 0.5 and at a tuned threshold.

# %% tags=["solution", "hide-cell"]
pair = {name: contest[name] for name in ("CE", "DL squared, set")}
rows, batched = {}, {}
for size in (16, 64, None):
    runs = train_from_starts(pair, biases=[-3.0], batch_size=size, steps=300)
    for (name, _), values in runs.items():
        batched[size, name] = [mean_and_half([r[k] for r in values])[0] for k in ("f1", "tuned")]
        rows[str(size or "all"), name] = [
            "{:.2f} ± {:.2f}".format(*mean_and_half([run[k] for run in values]))
            for k in ("f1", "tuned")
        ]
# Verdict: less at a tuned threshold, at every size; at .5 the set-level loss needs its batch. In
# batches of 16, 44% hold no positive (.95^16), and there it is behind cross entropy, not ahead.
assert round(0.95**16, 2) == 0.44
assert batched[16, "DL squared, set"][0] < batched[16, "CE"][0]
assert batched[None, "DL squared, set"][0] > batched[None, "CE"][0]
pd.DataFrame(rows.values(), pd.MultiIndex.from_tuples(rows), columns=["at .5", "tuned"])

# %% [markdown]
# ## Further reading
#
# - {cite:t}`yeung2021`: one family that holds cross entropy, focal, dice and Tversky as members, and
#   a comparison on three sets of medical images; look for how its thresholds are chosen.
# - {cite:t}`eelbode2020`: what any weighting of cross entropy can and cannot do for dice, with
#   experiments on six tasks. Their verdict is for dice; note that they decide at one half.
# - {cite:t}`lipton2014thresholding`: why the best threshold is half of the best F1, and when it
#   says "call everything positive".
