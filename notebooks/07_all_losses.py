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
# - **For** readers who must now choose one.
# - **You need** chapters 02 to 06, or at least their summaries.
# - **You will be able to** read off any loss of the paper what it does to an easy negative, a
#   hard negative and a positive; use it with several classes, padding and half precision; and
#   defend your choice with evidence.
# - **Time** about 45 seconds on a CPU; a GPU does not help.
#
# Six losses, two levels, four numbers to tune. The paper lists the losses in its Table 2 and
# leaves the choice to its experiments. Here we first put every loss through the same few
# questions, then train all of them on one problem from several starting points, and end with a
# guide in which every line says where its evidence is.

# %%
import warnings

import matplotlib.pyplot as plt
import pandas as pd
import sympy as sp
import torch
from IPython.display import Math, display

import dicebook
from dicebook import make_loss
from dicebook.figures import use_style
from dicebook.reproduce.runs import interval
from dicebook.toy import train_from_starts

use_style()
torch.set_default_dtype(torch.float64)
warnings.filterwarnings("ignore", message="alpha=")  # chapter 06 explains the warning

# %% [markdown]
# ## 7.1 Table 2, as functions
#
# The paper's Table 2 gives each loss for one example. We write each twice, for a positive (y = 1)
# and for a negative (y = 0), with p the probability of the positive class. All smoothing terms
# are γ; focal's exponent is written f so that it is not mistaken for one, DSC's exponent is α,
# and Tversky's prices are a and b.

# %%
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


# %%
def as_array(rows, head):
    lines = [
        " & ".join([rf"\text{{{name}}}", *map(sp.latex, cells)]) for name, cells in rows.items()
    ]
    body = r" \\[6pt] ".join(lines)
    return Math(rf"\begin{{array}}{{l|ll}} {head} \\[2pt] \hline {body} \end{{array}}")


simple = {name: [sp.simplify(e) for e in pair] for name, pair in table2.items()}
as_array(simple, r"\text{loss} & y = 1 & y = 0")

# %% [markdown]
# They are dicebook's losses. `make_loss` knows each by the paper's abbreviation. For every one of
# them, nine probabilities and both labels: same value, and same derivative (dicebook
# differentiates by the logit x, and dp/dx = p(1 − p)).

# %%
settings = {g: 1, f: 2, alpha: 1, a: sp.Rational(3, 10), b: sp.Rational(7, 10), w: 19}
example = {"reduction": "none", "level": "example"}
ours = {
    "CE": make_loss("binary_ce", reduction="none"),
    "WCE": make_loss("binary_wce", weight=torch.tensor([1.0, 19.0]), reduction="none"),
    "FL": make_loss("binary_fl", gamma=2.0, reduction="none"),
    "DL, Eq. 6": make_loss("binary_dl", squared=False, **example),
    "DL, Eq. 7": make_loss("binary_dl", squared=True, **example),
    "TL": make_loss("binary_tl", squared=False, fp_weight=0.3, fn_weight=0.7, **example),
    "DSC": make_loss("binary_dsc", squared=False, alpha=1.0, **example),
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
print(f"{len(table2)} losses, 2 labels, {len(at)} probabilities: values and derivatives agree")

# %% [markdown]
# ### Three slips of the printed table
#
# **Focal loss without a label.** The final paper prints FL as a sum over both classes of
# $(1-p_{ij})^{\gamma} \log p_{ij}$, without the $y_{ij}$ that stands in the row of CE (and stood
# in the FL row of the second arXiv version). Take it at its word:

# %%
printed = -((1 - p) ** 2) * sp.log(p) - p**2 * sp.log(1 - p)
pd.Series({v: round(float(printed.subs(p, v)), 3) for v in (0.1, 0.3, 0.5, 0.7, 0.9)})

# %% [markdown]
# The same value for p and 1 − p, lowest at one half, and no label anywhere: a loss that asks the
# model to know nothing. The $y_{ij}$ is missing.
#
# **The factor 2.** The second arXiv version prints DSC with (1 − p)p·y in the numerator, the
# final one with twice that. Without the 2 even a perfect overlap is no perfect score:

# %%
without_two = 1 - (q * 1 + g) / (q + 1 + g)
{
    name: round(float(e.subs({alpha: 0, g: 1, p: 1})), 3)
    for name, e in (("with 2", dice(q, 1)), ("without", without_two))
}

# %% [markdown]
# **"We add +1 to DL, TL and DSC so that they are positive"**, says the caption. That is right,
# and a reminder: [Eq. 12](eq-12) is a score, to be maximised; the loss is 1 minus it.

# %% [markdown]
# ## 7.2 The derivatives
#
# What does each loss do when p moves a little? Sympy differentiates the table.

# %%
slopes = {
    name: [sp.factor(sp.simplify(sp.diff(e.subs(alpha, 1), p))) for e in pair]
    for name, pair in table2.items()
}
as_array(slopes, r"d\mathcal{L}/dp & y = 1 & y = 0 \quad (\text{DSC with } \alpha = 1)")

# %% [markdown]
# Look for a sign that can change. In the left column, everything is negative for 0 < p < 1 (push
# the positive up), in the right one everything is positive (push the negative down), with one
# exception: the factor 2p − 1 in the row of DSC.
#
# The ends tell the rest: what a loss costs at worst and at best, and how steep it is where p is
# nearly 0 or nearly 1.


# %%
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


rows = {n: [*at_ends(pos), floor(pos), *at_ends(neg)] for n, (pos, neg) in table2.items()}
head = ["y=1, p→0", "y=1, p→1", "y=1, floor", "y=0, p→0", "y=0, p→1"]
pd.DataFrame.from_dict(rows, orient="index", columns=head).map(as_text)

# %% [markdown]
# That was the loss. Its slope dL/dp at the same four places:

# %%
rows = {n: [v for e in pair for v in at_ends(sp.diff(e, p))] for n, pair in table2.items()}
head.remove("y=1, floor")
pd.DataFrame.from_dict(rows, orient="index", columns=head).map(as_text)

# %% [markdown]
# (γ = 1, focal's exponent 2, Tversky's prices .3 and .7, α = 1, a weight of 19.)
#
# - **Worst cases.** The first three losses can cost any amount; one example that is wrong and
#   sure can outweigh a batch. The others are bounded: by 1/(1+γ) = 1/2 for dice. That makes them
#   calm with noisy labels (see exercise 4), and slow with hard examples.
# - **Floors.** All reach zero, except DSC with α = 1, which stops at 1/3; and look at its
#   negative: costing 0 at p = 1.
# - **At the far end.** A positive at p → 0 meets a slope of −∞ in CE and FL and a finite one in
#   all the others. That is the difference the next section is about.

# %% [markdown]
# ## 7.3 What arrives at the logit
#
# A network moves a logit, and the slope above is multiplied by p(1 − p) on the way. As p goes to
# 0, what is left of the push? It shrinks like some power of p. Find the power, and the constant
# before it.


# %%
def order(expression):
    """(k, c): the push on the logit behaves like c·p^k as p → 0."""
    push = sp.simplify(-sp.diff(expression.subs(settings), p) * p * (1 - p))
    for k in range(4):
        c = sp.limit(push / p**k, p, 0, "+")
        if c != 0:
            return k, c


def power(k, c):
    return f"{c}" if k == 0 else f"{c}·p" + "⁰¹²³"[k] * (k > 1)


rows = {n: [power(*order(e)) for e in pair] for n, pair in table2.items()}
pd.DataFrame.from_dict(rows, orient="index", columns=["missed positive", "easy negative"])

# %% [markdown]
# On paper with two logarithmic axes a power is a straight line, and the exponent its slope:

# %%
lines = {"CE": "-", "FL": "--", "DL, Eq. 6": ":", "DL, Eq. 7": "-.", "DSC": (0, (5, 1))}
low = torch.logspace(-3, -0.6, 100)
fig, axes = plt.subplots(2, 1, figsize=(5.6, 6), sharex=True)
for axis, k, title in zip(axes, (0, 1), ("a missed positive", "a negative"), strict=True):
    for name, line in lines.items():
        push = sp.diff(table2[name][k].subs(settings), p) * p * (1 - p)
        values = abs(sp.lambdify(p, push, "numpy")(low.numpy()))
        axis.loglog(low, values, linestyle=line, label=name)
    axis.set(title=f"Push on the logit of {title}", ylabel="|dL/dx|")
axes[1].set_xlabel("predicted probability p")
axes[0].legend(ncol=2, loc="lower right")
plt.show()

# %% [markdown]
# *Top: CE and FL are flat at 1 as p falls to .001; DL and DSC fall along a line of slope 1.
# Bottom: CE, linear DL and DSC fall together with slope 1, squared DL with slope 2, FL with slope
# 3; at p = .001 more than five decades lie between CE and FL.*
#
# These lines explain most of what follows. Read the first column as "how loudly does a positive
# at p → 0 call for help?" Cross entropy and focal: at full voice (a constant). All dice losses:
# in proportion to p, that is, the further away the positive is, the less it is heard. Read the
# second column as "how much do easy negatives push back?" CE, linear dice, Tversky and DSC: like
# p. Squared dice: like p². Focal: like p³.
#
# So with linear dice the positive's call (like p) and the negative's push (like p) fade together,
# and 95 negatives outshout 5 positives at any p. With squared dice the negatives fade faster than
# the positives: far enough down, the positives win. Per example, that is the whole difference
# between a loss that dies and one that lives:

# %%
low = torch.logspace(-3, -0.01, 200)
fig, axis = plt.subplots(figsize=(5.6, 3.8))
for name, line in lines.items():
    push = [
        sp.lambdify(p, -(sp.diff(e.subs(settings), p) * p * (1 - p)), "numpy")(low.numpy())
        for e in table2[name]
    ]
    axis.plot(low, 0.05 * push[0] + 0.95 * push[1], linestyle=line, label=name)
axis.axhline(0, color="0.3", lw=0.8)
axis.set(
    xscale="log",
    xlabel="common probability p of all examples",
    ylabel="mean push on the logit",
    ylim=(-0.12, 0.06),
    title="5% positives, all at the same p: which way does the bias go?",
)
axis.legend(ncol=2, loc="lower left")
plt.show()

# %% [markdown]
# *Mean push on the bias if all examples have the same p; above zero the bias rises. CE crosses
# zero at p = .05, the share of positives; FL crosses at a higher p. Squared dice (Eq. 7) is
# slightly above zero below p = .026. Linear dice is below zero everywhere: it goes down for ever.
# DSC with α = 1 is below zero left of .5 and above zero right of it.*
#
# Where exactly do they cross? That is where a model with nothing but a bias comes to rest.


# %%
def rest(name, positive=0.05):
    """Where the bias comes to rest: the mean push changes from + to −, or points out of (0, 1)."""
    grid = torch.linspace(1e-4, 0.9999, 20001)
    push = [
        sp.lambdify(p, -(sp.diff(e.subs(settings), p) * p * (1 - p)), "numpy")(grid.numpy())
        for e in table2[name]
    ]
    mean = torch.as_tensor(positive * push[0] + (1 - positive) * push[1])
    stops = [round(v, 3) for v in grid[:-1][(mean[:-1] > 0) & (mean[1:] <= 0)].tolist()]
    return ["0"] * bool(mean[0] < 0) + [str(v) for v in stops] + ["1"] * bool(mean[-1] > 0)


pd.Series({name: " or ".join(rest(name)) for name in table2}, name="rests at p =")

# %% [markdown]
# Cross entropy rests at the prior, .05; weighted with 19 at .5; focal at .25; squared dice at
# .026. Linear dice and Tversky at these prices know one resting place: p = 0. DSC with α = 1 has
# two, 0 and 1, and the start decides.

# %% [markdown]
# ## 7.4 All losses on one problem
#
# Now with features. The blobs, 5% positives; a logistic model; the same optimiser, steps and data
# for all. Each loss starts from three biases: −3 (the model guesses 5%, as it should), 0 (it
# guesses 50%) and +2 (88%). Five seeds; each seed has its own training and test set.

# %%
level = {"level": "example"}
contest = {
    "CE": make_loss("binary_ce"),
    "WCE, weight 19": make_loss("binary_wce", weight=torch.tensor([1.0, 19.0])),
    "FL, γ=2": make_loss("binary_fl", gamma=2.0),
    "DL linear, example": make_loss("binary_dl", squared=False, **level),
    "DL squared, example": make_loss("binary_dl", squared=True, **level),
    "TL ½ ½, example": make_loss("binary_tl", squared=False, **level),
    "DSC α=1, example": make_loss("binary_dsc", squared=False, alpha=1.0, **level),
    "DL linear, set": make_loss("binary_dl", squared=False),
    "DL squared, set": make_loss("binary_dl", squared=True),
    "TL .3 .7, set": make_loss("binary_tl", squared=False, fp_weight=0.3, fn_weight=0.7),
    "DSC α=1, set": make_loss("binary_dsc", squared=False, alpha=1.0),
    "DSC α=.1, set": make_loss("binary_dsc", squared=False, alpha=0.1),
    "DSC α=.01, set": make_loss("binary_dsc", squared=False, alpha=0.01),
}
biases = (-3.0, 0.0, 2.0)
results = train_from_starts(contest, biases=biases, seeds=range(5), steps=150)


# %%
def mean_and_half(values):
    """Mean and half-width of the 95% interval over seeds."""
    i = interval(values)
    return i.mean, i.high - i.mean


f1 = {key: mean_and_half([run["f1"] for run in runs]) for key, runs in results.items()}
tuned = {key: mean_and_half([run["tuned"] for run in runs]) for key, runs in results.items()}
pd.DataFrame(
    {f"start {b:+.0f}": {n: "{:.2f} ± {:.2f}".format(*f1[n, b]) for n in contest} for b in biases}
)

# %%
fig, axis = plt.subplots(figsize=(5.6, 5.4))
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
axis.set(
    xlabel="test F1 at threshold .5", xlim=(-0.03, 0.63), title="Mean and 95% interval over 5 seeds"
)
axis.legend(loc="upper center", bbox_to_anchor=(0.4, -0.13), ncol=2)
plt.show()

# %% [markdown]
# *One row per loss, one marker per starting bias, with its 95% interval. Dashed: cross entropy
# with a tuned threshold, .50. The set-level rows (except DSC with α = 1) lie around .5 from every
# start, the example-level rows at .4, left of it, or at zero.*
#
# - **CE and focal** end at .45 wherever they start, weighted CE at .35. They do not need a good
#   start; they need a good threshold.
# - **Set level.** Dice, linear or squared, Tversky, and DSC with α = .1 or .01 reach .49 to .52
#   from all three starts, at threshold .5, untuned.
# - **Example level.** Linear dice and Tversky at ½ end at 0 from everywhere. Squared dice lives,
#   as the table of powers said, but gets only .40 and .36, and from +2 most of its seeds die.
# - **DSC with α = 1** on the set level depends on the start: .38 from −3, nothing from 0, .07
#   from +2. At 0 all examples stand exactly on the turning point, where the gradient is 0, so
#   nothing moves; a network with random weights would be scattered around it.
#
# Who collapsed, and into what?

# %%
collapsed = {}
for (name, bias), runs in results.items():
    shares = [run["predicted"] for run in runs]
    if max(run["f1"] for run in runs) < 0.1:
        collapsed[name, f"{bias:+.0f}"] = [f"{sum(shares) / len(shares):.0%}"]
index = pd.MultiIndex.from_tuples(collapsed, names=["every seed collapsed", "start"])
pd.DataFrame(collapsed.values(), index, columns=["called positive"])

# %% [markdown]
# Two deaths. "0%" is the one of section 7.3: the push of the negatives wins at every p and the
# positives' call fades. (DSC with α = 1 from 0 is the exception: there nothing ever moved.) "98%"
# and "100%" are the sign: above the turning point everything is pushed the wrong way. (An F1 near
# .1 is what calling everything positive earns: 2 · .05/1.05.)
#
# And the baseline that most comparisons forget? Cross entropy, its threshold tuned on the
# training set. Since all losses saw the same data, compare seed by seed.


# %%
def against_tuned_ce(name, key):
    """Mean difference to tuned cross entropy on the same seeds, with its 95% interval."""
    pairs = zip(results[name, -3.0], results["CE", -3.0], strict=True)
    return "{:+.3f} ± {:.3f}".format(*mean_and_half([run[key] - ce["tuned"] for run, ce in pairs]))


rows = {}
for name in (
    "CE",
    "WCE, weight 19",
    "FL, γ=2",
    "DL linear, set",
    "DL squared, set",
    "DSC α=.1, set",
):
    mean = "{:.2f} ± {:.2f}".format(*tuned[name, -3.0])
    rows[name] = [mean, against_tuned_ce(name, "f1"), against_tuned_ce(name, "tuned")]
columns = ["F1, threshold tuned", "at .5, minus tuned CE", "tuned, minus tuned CE"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)

# %% [markdown]
# First column: with a tuned threshold everybody stands between .50 and .52. Second column: at
# threshold .5 cross entropy loses .05 against its own tuned self, weighted cross entropy .15;
# set-level dice and DSC have nothing to tune and stand about where tuned cross entropy does.
# Third column: tune all of them, and no interval excludes zero in favour of anyone.
#
# So what set-level dice buys here is the threshold, found during training; not a better ranking
# of the examples. And DSC with α = .1 is not distinguishable from linear dice, which is α = 0.
# This is a toy with two features, and the paper's claim is about BERT. But the table says what an
# experiment must contain before it may speak of a better loss: the second row of baselines, and
# seeds.

# %% [markdown]
# ## 7.5 More than two classes
#
# (eq-7-1)=
# The paper says its losses "can be easily extended" to several classes, and does not say how.
# dicebook takes each class against the rest, computes its loss as if it were the positive class,
# and averages over a set K of classes:
#
# $$
# \begin{aligned}
# &\mathcal{L} = \frac{1}{|K|} \sum_{c \in K} \Bigl[\, 1 \;- \\
# &\quad \frac{2 \sum_i p_{ic}\, y_{ic} + \gamma}{\sum_i p_{ic} + \sum_i y_{ic} + \gamma} \,\Bigr]
# \end{aligned} \tag{7.1}
# $$
#
# This is 1 minus a soft **macro** F1. A toy tagger: 200 tokens, classes O, PER and LOC, nine in
# ten are O.


# %%
def macro_dice(logits, labels, classes, gamma=1.0):  # Eq. 7.1
    p, y = logits.softmax(-1), torch.nn.functional.one_hot(labels, logits.shape[-1])
    score = (2 * (p * y).sum(0) + gamma) / (p.sum(0) + y.sum(0) + gamma)
    return (1 - score[classes]).mean()


generator = torch.Generator().manual_seed(0)
labels = torch.multinomial(torch.tensor([0.9, 0.06, 0.04]), 200, True, generator=generator)
logits = torch.randn(200, 3, generator=generator) + torch.tensor([3.0, 0, 0])
logits.requires_grad_()
for classes in ([0, 1, 2], [1, 2]):
    theirs = dicebook.DiceLoss(squared=False, classes=classes)(logits, labels)
    value = macro_dice(logits, labels, classes)
    torch.testing.assert_close(theirs, value)
    torch.testing.assert_close(*(torch.autograd.grad(v, logits)[0] for v in (theirs, value)))
    print(f"classes {classes}: {value:.4f}, equal to dicebook's, gradients too")

# %% [markdown]
# With O, the loss is lower, because O is easy and pulls the mean down; and a third of the loss is
# spent on a class that entity F1 does not score. Leave it out, then? A worry: without a term for
# O, who pushes the O tokens that are called PER back? Look at the gradient.

# %%
for classes in ([0, 1, 2], [1, 2]):
    loss = dicebook.DiceLoss(squared=False, classes=classes)(logits, labels)
    gradient = torch.autograd.grad(loss, logits)[0]
    norms = [gradient[labels == k].norm().item() for k in range(3)]
    print(classes, {k: round(v, 4) for k, v in zip(("O", "PER", "LOC"), norms, strict=True)})

# %% [markdown]
# Gradient norm by gold class. Without O's term the tokens of O still have a gradient, nearly as
# large as before: every O token that is called PER adds to the denominator of PER. Nothing is
# lost, and the classes that count get a larger share. So: **if your metric leaves O out, leave it
# out of the loss**, by `classes=[1, 2]`.
#
# A class without a gold example in the batch has a score of γ/(Σp + γ): it pushes its probability
# down everywhere, in every batch it is absent from. `absent="skip"` leaves such classes out of
# the mean; here is a batch without LOC.

# %%
no_loc = torch.where(labels == 2, 0, labels)
for absent in ("keep", "skip"):
    loss = dicebook.DiceLoss(squared=False, classes=[1, 2], absent=absent)(logits, no_loc)
    push = torch.autograd.grad(loss, logits)[0][:, 2].sum()
    print(f"absent={absent!r}: loss {loss:.4f}, summed gradient on LOC's logits {push:+.4f}")

# %% [markdown]
# ## 7.6 Padding, masks and ignored labels
#
# Sentences in a batch differ in length, and only the first piece of a word carries a label. The
# rest is marked −100, as in transformers and torch. A loss must give the same number as without
# those rows. Two sentences of 5 and 3 tokens; the padding even holds NaN:

# %%
batch = torch.randn(2, 5, 3, generator=generator)
batch[1, 3:] = float("nan")
gold = torch.tensor([[0, 1, 0, 0, 2], [0, 0, 1, -100, -100]])
real = gold != -100
for name in ("ce", "fl", "dl", "tl", "dsc"):
    loss = make_loss(name)
    x = batch.clone().requires_grad_()
    padded, cut = loss(x, gold), loss(batch[real], gold[real])
    masked = loss(batch, gold.clamp(min=0), mask=real)
    torch.testing.assert_close(padded, cut)
    torch.testing.assert_close(masked, cut)
    padded.backward()
    assert x.grad.isfinite().all()
    assert x.grad[~real].abs().max() == 0
    print(f"{name:4} {padded:.6f}  by ignore_index, by mask and by cutting: equal; gradient clean")

# %% [markdown]
# `ignore_index` and `mask` say the same thing in two ways. One end case differs from torch: if
# **no** row counts, torch's cross entropy is 0/0; dicebook's losses are 0, with a gradient of 0,
# so that one empty micro-batch does not end a training run.

# %%
nothing = torch.full((2, 5), -100)
torch_ce = torch.nn.functional.cross_entropy(batch.nan_to_num().flatten(0, 1), nothing.flatten())
print(f"torch: {torch_ce:.1f}   dicebook dl: {make_loss('dl')(batch, nothing):.1f}")

# %% [markdown]
# ## 7.7 Half precision
#
# In bf16, a number has 8 significant bits. A logit of 6.25 already gives a p that rounds to 1
# (chapter 06, exercise 5). How much of a loss survives? 4000 tokens, logits in bf16; the formula
# computed as it stands, in bf16, against dicebook, which takes the same bf16 logits and computes
# in float32; the truth is the same logits in float64.

# %%
x = (4 * torch.randn(4000, generator=generator)).to(torch.bfloat16)
y = (torch.rand(4000, generator=generator) < x.double().sigmoid()).double()


def naive(x, y, alpha=0.1):  # Eq. 6.1 on the set, in the dtype of x
    p = x.sigmoid()
    q = (1 - p) ** alpha * p
    return 1 - (2 * (q * y).sum() + 1) / (q.sum() + y.sum() + 1)


def value_and_gradient(loss, x, y):
    x = x.detach().clone().requires_grad_()
    value = loss(x, y)
    return value.item(), torch.autograd.grad(value, x)[0].double()


dsc = make_loss("binary_dsc", squared=False, alpha=0.1)
truth, exact = value_and_gradient(dsc, x.double(), y)
for name, loss, labels_ in (("naive", naive, y.bfloat16()), ("dicebook", dsc, y)):
    value, gradient = value_and_gradient(loss, x, labels_)
    error = ((gradient - exact).norm() / exact.norm()).item()
    nans = int(gradient.isnan().sum())
    print(f"{name:9} loss {value:.4f} (exact {truth:.4f}), NaN gradients {nans}, error {error:.1e}")

# %% [markdown]
# Hundreds of NaN gradients on one side; on the other an error of some tenths of a percent, which
# is the rounding of the gradient itself to bf16. In float16 the sums are a second trap: it ends
# at 65504, and a sum over a long batch does not.

# %%
many = torch.zeros(200_000, dtype=torch.float16)  # p = .5 on 200,000 tokens: their sum is 100,000
half_y = torch.zeros(200_000)
half_y[:1000] = 1
value, gradient = value_and_gradient(lambda x, y: naive(x, y, 0.0), many, half_y.half())
theirs, _ = value_and_gradient(make_loss("binary_dl", squared=False), many, half_y)
print(f"naive: {value:.3f}, largest gradient {gradient.abs().max():.0e}   dicebook: {theirs:.3f}")

# %% [markdown]
# The naive sum is infinite, the loss exactly 1 and every gradient 0: a training that stands still
# without a word. dicebook sums in float32.

# %% [markdown]
# ## 7.8 Which loss? A guide
#
# Each line names its evidence. All of it so far is derivation and a toy; chapters 08 to 18 test
# the lines on tasks, and where they disagree with this list, they win.
#
# - **Is accuracy your metric?** Cross entropy. Set-level dice puts its cut at half of F1, not at
#   ½. *Evidence: [04](04_dice_loss.ipynb), 4.3, [Eq. 4.5](eq-4-5).*
# - **F1, and you may choose the threshold?** Cross entropy with a tuned threshold first: it is
#   the baseline to beat. *Evidence: last table of 7.4; [04](04_dice_loss.ipynb), 4.4.*
# - **F1, and the decision is fixed (argmax, threshold .5)?** Set-level dice. *Evidence: figure of
#   7.4.*
# - **Example or set level?** Set. Per example, linear dice, Tversky at ½ and DSC predict nothing
#   at 5% positives; linear dice with γ = 1 rises from p ≈ 0 only above 4/7. *Evidence: resting
#   places in 7.3, table in 7.4, exercise 3; [05](05_tversky.ipynb), 5.4.*
# - **Linear or squared?** Either, on the set level. Squared if you must go per example or use
#   small batches. *Evidence: powers in 7.3; [04](04_dice_loss.ipynb), 4.5 and 4.6.*
# - **Too many easy negatives?** Squared dice or focal; not (1 − p)p. *Evidence:
#   [06](06_self_adjusting_dice.ipynb), 6.8; powers in 7.3.*
# - **Is DSC worth its exponent?** Not shown so far: on the toy α = .1, .01 and 0 agree. If you
#   use it, α ≤ .1. *Evidence: 7.4; [06](06_self_adjusting_dice.ipynb), 6.6.*
# - **Which starting bias?** The log-odds of the positives; in any case below −ln α. *Evidence:
#   [06](06_self_adjusting_dice.ipynb), map in 6.7.*
# - **Does a miss cost more than a false alarm?** Set-level Tversky with α = 1/(1+b²), β =
#   b²/(1+b²), or a threshold at α·TI*. *Evidence: [05](05_tversky.ipynb), 5.2, 5.3, 5.7.*
# - **Which batch size?** One that holds several positives; else add up statistics over
#   micro-batches. *Evidence: [04](04_dice_loss.ipynb), 4.5; exercises 5 and 6.*
# - **Which γ?** 1, as in the paper; it is small against the sums of a batch that holds positives.
#   Per example it sets the price ratio. *Evidence: [03](03_dice_and_f1.ipynb), 3.5;
#   [05](05_tversky.ipynb), 5.4.*
# - **Several classes?** The mean over the classes that the metric scores; O out. *Evidence: 7.5.*
# - **The loss does not move?** Check the level and the batch; start with 50 steps of cross
#   entropy. *Evidence: 7.3; [06](06_self_adjusting_dice.ipynb), exercise 6.*
# - **The loss falls, but not to zero?** Look up the floor before you look for a bug. *Evidence:
#   [06](06_self_adjusting_dice.ipynb), 6.6.*
# - **NaN, or exactly 1?** Give logits, not probabilities; keep the sums in float32. *Evidence:
#   7.7; [06](06_self_adjusting_dice.ipynb), 6.9.*
#
# ## Summary
#
# - One table of formulas, derivatives and ends: all losses push a positive up and a negative
#   down, except DSC above p = 1/(1+α).
# - On the logit, a missed positive calls with a constant in CE and focal and in proportion to p
#   in the dice family. Easy negatives push back like p (CE, linear dice, TL, DSC), p² (squared
#   dice), p³ (focal with exponent 2).
# - On the toy, the set level works from every start if the turning point is respected; the
#   example level collapses for linear dice, TL at ½ and DSC.
# - Cross entropy with a tuned threshold is in the same range as the best of them here.
# - Several classes: mean over classes, O out if the metric leaves it out. Padding by −100 or a
#   mask gives the numbers of the cut batch. In half precision, hand over logits.
#
# ## Exercises
#
# **1 (recall).** From the table of section 7.2: how many negatives, all at p = 1, cost as much as
# one positive at p = 0, under DL (Eq. 7) and under TL with prices .3 and .7?

# %% tags=["solution", "hide-cell"]
for name in ("DL, Eq. 7", "TL"):
    positive, negative = (e.subs(settings) for e in table2[name])
    print(name, sp.limit(positive, p, 0) / sp.limit(negative, p, 1))

# %% [markdown]
# **2 (recall).** Which power of p does focal loss with exponent f have on an easy negative, in
# general? Check it for f = 0, 1, 2.

# %% tags=["solution", "hide-cell"]
for exponent in (0, 1, 2):
    push = -sp.diff(table2["FL"][1].subs(f, exponent), p) * p * (1 - p)
    k = exponent + 1
    print(f"f = {exponent}: p^{k}, constant {sp.limit(push / p**k, p, 0)}")

# %% [markdown]
# **3 (derive).** On the example level linear dice sinks to p = 0 at 5% positives. At which share
# of positives does it stop sinking when p is small? Give the share as a function of γ.

# %% tags=["solution", "hide-cell"]
share = sp.Symbol("pi", positive=True)
positive, negative = (-sp.diff(e, p).subs(p, 0) for e in table2["DL, Eq. 6"])
border = sp.solve(share * positive + (1 - share) * negative, share)[0]
display(
    Math(rf"\pi = {sp.latex(sp.factor(border))},\quad \gamma = 1:\; {sp.latex(border.subs(g, 1))}")
)

# %% [markdown]
# **4 (apply).** The label of the rarest class is wrong in 2% of the O tokens. Which loss suffers
# most from it? Train CE, focal, and squared set-level dice on blobs with 2% of the negatives
# relabelled positive; test on clean ones. Five seeds.

# %% tags=["solution", "hide-cell"]
from dicebook.toy import best_threshold, f1_score, imbalanced_blobs, train_logistic

for name in ("CE", "FL, γ=2", "DL squared, set"):
    scores = []
    for seed in range(5):
        (u, v), (ut, vt) = (imbalanced_blobs(2000, seed=2 * seed + k) for k in (0, 1))
        flip = torch.rand(2000, generator=torch.Generator().manual_seed(seed)) < 0.02
        noisy = torch.where(flip & (v == 0), 1.0, v)
        fit = train_logistic(contest[name], u, noisy)
        cut, _ = best_threshold(fit.predict(u), noisy)
        scores.append([f1_score(fit.predict(ut) > c, vt) for c in (0.0, cut)])
    fixed, moved = (mean_and_half([s[k] for s in scores]) for k in (0, 1))
    print(
        f"{name:16} at .5: {fixed[0]:.2f} ± {fixed[1]:.2f}   tuned: {moved[0]:.2f} ± {moved[1]:.2f}"
    )

# %% [markdown]
# **5 (apply).** Set-level dice is not the mean of its micro-batches. Cut the 200 tokens of
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
# **6 (small research).** Does the choice of a loss matter less with larger batches, or more?
# Train CE and squared set-level dice with batches of 16, 64 and all 2000 examples, the same
# number of steps, five seeds; report F1 at .5 and at a tuned threshold.

# %% tags=["solution", "hide-cell"]
pair = {name: contest[name] for name in ("CE", "DL squared, set")}
rows = {}
for size in (16, 64, None):
    runs = train_from_starts(pair, biases=[-3.0], batch_size=size, steps=300)
    for (name, _), values in runs.items():
        rows[str(size or "all"), name] = [
            "{:.2f} ± {:.2f}".format(*mean_and_half([run[k] for run in values]))
            for k in ("f1", "tuned")
        ]
# In batches of 16, 44% hold no positive (.95^16), and the set-level loss loses its lead.
pd.DataFrame(rows.values(), pd.MultiIndex.from_tuples(rows), columns=["at .5", "tuned"])
