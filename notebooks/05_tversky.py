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
# # 05 Tversky: a price for each kind of error
#
# Dice charges a false positive and a false negative the same. Tversky's index has a price for each, α
# and β. Their ratio decides which model is best, and the best threshold is α times the index. This
# holds for a set; on single examples the prices are not what you set.

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
said, gold = {3, 4, 9, 10, 20, 21}, {3, 4, 9, 15}
prices = {"precision": (1, 0), "recall": (0, 1), "dice": (0.5, 0.5), "Jaccard": (1, 1)}

# %% mystnb={"figure": {"caption": "Figure 5.1. What the index compares. Orange tokens are positives; the index never looks at the light grey ones."}, "image": {"alt": "A sentence of 23 tokens in a row. Orange squares mark tokens 3, 4 and 9, where model and gold agree; dark crosses 10, 20 and 21, said but not gold; an orange circle 15, gold but not said. All others are light grey."}} tags=["hide-input"]
kinds = {"right": said & gold, "said, not gold (α)": said - gold, "gold, not said (β)": gold - said}
fig, axis = plt.subplots(figsize=(5.6, 1.7))
axis.scatter(range(1, 24), [0] * 23, marker="s", s=70, color="0.88")
looks = [("s", POSITIVE, POSITIVE), ("X", "0.3", "0.3"), ("o", "white", POSITIVE)]
for (label, tokens), (marker, inside, edge) in zip(kinds.items(), looks, strict=True):
    look = {"marker": marker, "color": inside, "edgecolor": edge, "linewidth": 2}
    axis.scatter(sorted(tokens), [0] * len(tokens), s=70, label=label, **look)
axis.set(yticks=[], xlabel="token", ylim=(-0.5, 0.5))
axis.legend(ncol=3, loc="upper center", bbox_to_anchor=(0.5, -0.55), handletextpad=0.1)
axis.grid(False)
plt.show()

# %% [markdown]
# - **For** readers whose two kinds of error do not cost the same.
# - **You need** chapters 03 and [04](04_dice_loss.ipynb): true and false positives, F1, the smoothing
#   term γ, the per-example and the set level.
# - **You will be able to** choose α and β from what an error costs you, translate them into an $F_b$ and
#   into a threshold, and say when the loss is the dice loss.
# - **Time** about a minute on a CPU; a GPU does not help. Symbols and terms:
#   [Notation and glossary](../docs/notation.md).

# %% tags=["hide-input"]
import inspect

import pandas as pd
import sympy as sp
import torch
from IPython.display import Markdown, Math, display

from dicebook import BinaryTverskyLoss, make_loss
from dicebook.losses import equations
from dicelab.figures import style
from dicelab.records.runs import interval
from dicelab.toy import imbalanced_blobs, misspecified_blobs, train_each, train_from_starts

torch.set_default_dtype(torch.float64)


# %% [markdown]
# ## 5.1 The index: two differences, two weights
#
# Let A be the set of tokens that a model calls positive and B the set of those that are. Tversky's index
# {cite}`tversky1977` compares what they share with the two kinds of error, each with a price.
#
# > "Tversky index offers the flexibility in controlling the tradeoff between false-negatives and
# > false-positives." (the paper, Section 3.3)
#
# (eq-9)=
# $$
# \begin{aligned}
# &\mathrm{TI}(A, B) = \\
# &\quad \frac{|A \cap B|}{|A \cap B| + \alpha\,|A \setminus B| + \beta\,|B \setminus A|}
# \end{aligned} \tag{9}
# $$
#
# A∖B are the false positives, priced α. B∖A are the false negatives, priced β. Of the sets in
# Figure 5.1:

# %%
def tversky_index(A, B, alpha, beta):  # Eq. 9
    errors = alpha * len(A - B) + beta * len(B - A)
    return len(A & B) / (len(A & B) + errors)


index_of = {}
for name, (a, b) in prices.items():
    index_of[name] = tversky_index(said, gold, a, b)
pd.Series(index_of).round(3)

# %% [markdown]
# A price on false positives alone (1, 0) gives the precision, 3/6, one on false negatives alone (0, 1)
# the recall, 3/4. Prices of 0.5 and 0.5 give dice, 0.6, in between. The fourth row, (1, 1), is Jaccard's
# index: the same ratio of prices as dice, another value.
#
# In dicebook α is called `fp_weight` and β `fn_weight`. Eq. 9 for tensors that
# need not be 0 or 1:

# %% tags=["hide-input"]
Markdown(f"```python\n{inspect.getsource(equations.tversky_index)}```")

# %% [markdown]
# At γ = 0 it gives the four numbers above, and the loss `make_loss("binary_eq9")` is 1 − TI.

# %% tags=["hide-input"]
counts = [torch.tensor(float(len(s))) for s in (said & gold, said - gold, gold - said)]
in_said, in_gold = (torch.tensor([float(i in s) for i in range(24)]) for s in (said, gold))
for name, (a, b) in prices.items():
    library = equations.tversky_index(*counts, gamma=0.0, alpha=a, beta=b)
    loss = make_loss("binary_eq9", fp_weight=a, fn_weight=b)(80 * in_said - 40, in_gold)
    torch.testing.assert_close(library, torch.tensor(index_of[name]))
    torch.testing.assert_close(1 - loss, torch.tensor(index_of[name]))

# %% [markdown]
# ## 5.2 The $F_\beta$ reading, and its condition
#
# The index "can be thought as the approximation of the $F_\beta$ score" (Section 3.3). F's β and
# Tversky's β are different numbers, so the first is written b here.
#
# (eq-5-1)=
# $F_b$ treats recall as b times as important as precision:
#
# $$
# F_b = (1 + b^2)\,\frac{\mathrm{Pre} \cdot \mathrm{Rec}}{b^2\,\mathrm{Pre} + \mathrm{Rec}}
# \tag{5.1}
# $$

# %%
roman = r"\mathrm{TP} \mathrm{FP} \mathrm{FN}"
TP, FP, FN = sp.symbols(roman, positive=True)
b, alpha, beta, gamma, p = sp.symbols("b alpha beta gamma p", positive=True)
precision, recall = TP / (TP + FP), TP / (TP + FN)
F = sp.factor((1 + b**2) * precision * recall / (b**2 * precision + recall))
TI = TP / (TP + alpha * FP + beta * FN)
display(Math(rf"F_b = {sp.latex(F)}"))
display(Math(rf"\mathrm{{TI}} = {sp.latex(TI)}"))

# %% [markdown]
# They agree for all counts exactly when the coefficients of FP and of FN agree in $\mathrm{TP}/F_b$
# and $\mathrm{TP}/\mathrm{TI}$:

# %%
difference = sp.Poly(sp.expand(TP / F - TP / TI), FP, FN)
solution = sp.solve(difference.coeffs(), [alpha, beta], dict=True)[0]
for letter, found in solution.items():
    display(Math(rf"{sp.latex(letter)} = {sp.latex(found)}"))
display(Math(rf"\alpha + \beta = {sp.simplify(sum(solution.values()))}"))

# %% [markdown]
# With hard counts TI **is** $F_b$ for these prices, which add up to 1; Jaccard's (1, 1) do not.
# Multiply both prices by c and look at 1/TI − 1:

# %%
c = sp.Symbol("c", positive=True)
scaled = TI.subs({alpha: c * alpha, beta: c * beta}, simultaneous=True)
ratio = sp.simplify((1 / scaled - 1) / (1 / TI - 1))
top = r"1/\mathrm{TI}(c\alpha, c\beta) - 1"
bottom = r"1/\mathrm{TI}(\alpha, \beta) - 1"
Math(rf"\frac{{{top}}}{{{bottom}}} = {sp.latex(ratio)}")

# %% [markdown]
# So every model that beats another under (α, β) beats it under (cα, cβ). **The ratio α : β decides
# which model is best; the sum decides only the value.** So the paper's Table 10 can keep β = 1 − α. The
# prices of the usual $F_b$:

# %% tags=["hide-input"]
rows = {f"F{v}": {k.name: float(e.subs(b, v)) for k, e in solution.items()} for v in (0.5, 1, 2, 3)}
pd.DataFrame(rows).T.round(3)

# %% [markdown]
# For F2 a false positive costs 0.2 and a false negative
# 0.8: b = 2 means a price ratio of 4.

# %% [markdown]
# ## 5.3 What the prices buy: a threshold
#
# A model gives every token its true probability η of being positive. Which tokens should the model
# call positive for the highest TI? With one token more, TP grows by η, FP by 1 − η, and FN shrinks by
# η.

# %%
eta = sp.Symbol("eta", positive=True)
gain = (sp.diff(TI, TP) - sp.diff(TI, FN)) * eta
gain += sp.diff(TI, FP) * (1 - eta)
value = sp.Symbol("T", positive=True)  # of TI itself: substitute FN by it
gain_T = gain.subs(FN, sp.solve(sp.Eq(TI, value), FN)[0])
threshold = sp.factor(sp.solve(gain_T, eta)[0])
short = sp.simplify(threshold.subs(beta, 1 - alpha))
equal = r"\;\overset{\alpha+\beta=1}{=}\;"
display(Math(rf"t^* = {sp.latex(threshold)} {equal} {sp.latex(short)}"))


# %% [markdown]
# (eq-5-2)=
# With α + β = 1: call a token positive when
#
# $$ \eta > t^* = \alpha \cdot \mathrm{TI}^* \tag{5.2} $$
#
# where TI* is the best reachable index. For α = 0.5 this is [Eq. 2.3](eq-2-3). A small α means a low
# threshold, and so more recall. The threshold never exceeds α. (Turn the prices in the
# <a href="../docs/playground.html#loss=tl&amp;squared=false&amp;fp=0.1&amp;fn=0.9">Playground</a>.)
#
# On the toy of [chapter 04](04_dice_loss.ipynb) every count is known in closed form; a search for the
# best threshold finds

# %%
def blob_counts(logit, prior=0.05, distance=2.0):
    """TP, FP, FN as shares; log-odds above `logit` are called positive."""
    start = torch.logit(torch.tensor(prior)) - distance**2 / 2
    cut = (logit - start) / distance
    tp = prior * torch.special.ndtr(distance - cut)
    return tp, (1 - prior) * torch.special.ndtr(-cut), prior - tp


logits = torch.linspace(-8, 6, 20001)
tp, fp, fn = blob_counts(logits)
found = []
for a in (0.05, 0.2, 0.5, 0.8, 0.95):
    index = tp / (tp + a * fp + (1 - a) * fn)
    best = index.argmax()
    top, at = index[best].item(), logits[best].sigmoid().item()
    found.append((a, top, at, a * top))
columns = ["α", "best TI", "threshold found", "α·TI*"]
pd.DataFrame(found, columns=columns).round(3)


# %% [markdown]
# The last two columns agree to the third digit, from a threshold of 0.04 to 0.68. So one can train with α
# and β, or train with cross entropy and move the threshold to α·TI* (exercise 5.6).

# %% [markdown]
# ## 5.4 The loss of one example
#
# (eq-10)=
# "The Tversky loss (TL) is thus given as follows" (Section 3.3), one fraction per example, with γ in
# both places:
#
# $$
# \begin{aligned}
# &\mathrm{TL} = \frac{1}{N} \sum_i \Bigl[\, 1 \;- \\
# &\quad \frac{p_{i1} y_{i1} + \gamma}{p_{i1} y_{i1} +
# \alpha\, p_{i1} y_{i0} + \beta\, p_{i0} y_{i1} + \gamma} \,\Bigr]
# \end{aligned} \tag{10}
# $$

# %%
def tversky_loss(p, y, alpha, beta, gamma=1.0):
    """Eq. 10, one value per example; the mean over examples is TL."""
    fp, fn = p * (1 - y), (1 - p) * y
    return 1 - (p * y + gamma) / (p * y + alpha * fp + beta * fn + gamma)


# %%
positive = sp.factor(tversky_loss(p, 1, alpha, beta, gamma))
negative = sp.factor(tversky_loss(p, 0, alpha, beta, gamma))
for y, loss in ((1, positive), (0, negative)):
    slope = sp.factor(sp.diff(loss, p))
    display(
        Math(
            rf"y={y}:\quad \mathrm{{TL}} = {sp.latex(loss)}, \qquad"
            rf"\frac{{d\,\mathrm{{TL}}}}{{dp}} = {sp.latex(slope)}"
        )
    )

# %% [markdown]
# The loss of a positive depends only on β, that of a negative only on α, and the slopes never change
# sign.

# %% mystnb={"figure": {"caption": "Figure 5.2. What one example costs under Eq. 10, \u03b3 = 1. The ends of the curves are the prices of a wrong answer."}, "image": {"alt": "Two panels. Left, a positive: the loss falls to zero at p = 1, from 0.47 for alpha 0.1, 0.33 for 0.5 and 0.09 for 0.9. Right, a negative: it rises from zero at p = 0 to the same three heights, in the opposite order of alpha."}} tags=["hide-input"]
probability = torch.linspace(0, 1, 201)
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.2), sharey=True)
for axis, y, name in zip(axes, (1, 0), ("a positive", "a negative"), strict=True):
    for a, line in ((0.1, "-"), (0.5, "--"), (0.9, ":")):
        loss = tversky_loss(probability, y, a, 1 - a)
        axis.plot(
            probability,
            loss,
            line,
            color="0.2",
            label=f"α = {a}, β = {1 - a:.1f}".replace("0.", "."),
        )
    axis.set(title=f"Loss of {name}", xlabel="probability $p$")
axes[0].set_ylabel("loss")
fig.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small"
)
plt.show()

# %% [markdown]
# With hard predictions an example costs nothing or one of two constants:

# %%
cost_fn = sp.factor(positive.subs(p, 0))
cost_fp = sp.factor(negative.subs(p, 1))
display(Math(rf"\text{{a false negative costs }} {sp.latex(cost_fn)}"))
display(Math(rf"\text{{a false positive costs }} {sp.latex(cost_fp)}"))

# %%
generator = torch.Generator().manual_seed(0)
y = (torch.rand(1000, generator=generator) < 0.05).double()
hard = (torch.rand(1000, generator=generator) < 0.10).double()
share_fp, share_fn = (hard * (1 - y)).mean(), ((1 - hard) * y).mean()
by_loss = tversky_loss(hard, y, 0.2, 0.8, gamma=1.0).mean()
by_hand = share_fp * 0.2 / (0.2 + 1) + share_fn * 0.8 / (0.8 + 1)
torch.testing.assert_close(by_loss, by_hand)
print(f"Eq. 10: {by_loss:.6f}   cost-weighted error rate: {by_hand:.6f}")

# %% [markdown]
# (eq-5-3)=
# On hard predictions Eq. 10 is
#
# $$
# \begin{aligned}
# \mathrm{TL} = &\ \frac{\alpha}{\alpha+\gamma} \cdot \frac{\mathrm{FP}}{N} \\
# &+ \frac{\beta}{\beta+\gamma} \cdot \frac{\mathrm{FN}}{N}
# \end{aligned} \tag{5.3}
# $$
#
# **Per example, Tversky is a cost-weighted error rate** and no $F_b$. The costs are not α and β,
# because γ changes them:

# %%
ratio = sp.factor(cost_fn / cost_fp)
for limit in (0, sp.oo):
    end = sp.latex(sp.limit(ratio, gamma, limit))
    left = rf"\gamma \to {sp.latex(limit)}:\quad"
    display(Math(rf"{left} {sp.latex(ratio)} \to {end}"))
asked = ratio.subs({alpha: 0.1, beta: 0.9})
delivered = {g: float(asked.subs(gamma, g)) for g in (0.001, 0.1, 1, 10)}
name = "false negatives : false positives"
pd.Series(delivered, name=name).rename_axis("γ").round(2)


# %% [markdown]
# You ask for a ratio of 9 (α = 0.1, β = 0.9) and get 5.21 with γ = 1, 1.8 with γ = 0.1, and 1 as γ
# vanishes. Only a large γ gives the ratio that was set.

# %% [markdown]
# ## 5.5 The loss of a set
#
# (eq-5-4)=
# The paper writes a set-level form for dice ([Eq. 8](eq-8)) and none for Tversky. Summing before
# dividing gives
#
# $$
# \begin{aligned}
# \mathrm{TP} &= \textstyle\sum_i p_{i1} y_{i1}, \quad \mathrm{FP} = \sum_i p_{i1} y_{i0}, \\
# \mathrm{FN} &= \textstyle\sum_i p_{i0} y_{i1}, \\
# \mathrm{TL}_{\mathrm{set}} &= 1 - \frac{\mathrm{TP} + \gamma}
# {\mathrm{TP} + \alpha\,\mathrm{FP} + \beta\,\mathrm{FN} + \gamma}
# \end{aligned} \tag{5.4}
# $$

# %%
def tversky_loss_set(p, y, alpha, beta, gamma=1.0):
    """Eq. 5.4: one value for the whole set."""
    tp, fp, fn = (p * y).sum(), (p * (1 - y)).sum(), ((1 - p) * y).sum()
    return 1 - (tp + gamma) / (tp + alpha * fp + beta * fn + gamma)


set_loss = tversky_loss_set(hard, y, 0.2, 0.8, gamma=0.0)
hits = (hard * y).sum()
pre, rec = hits / hard.sum(), hits / y.sum()
f2 = 5 * pre * rec / (4 * pre + rec)
torch.testing.assert_close(set_loss, 1 - f2)
print(f"set-level loss {set_loss:.4f} = 1 − F2, with F2 = {f2:.4f}")

# %% [markdown]
# On hard predictions, prices of 0.2 and 0.8 give 1 − F2 exactly: at set
# level the paper's sentence about $F_\beta$ is true.
#
# With `squared=False`, as in this chapter, dicebook has the same values and gradients. By default it
# squares the errors, FP as $\sum p^2\,(1 - y)$ and FN as $\sum (1 - p)^2\,y$, which is the same on hard
# predictions and collapses less in training (chapter 07).

# %% tags=["hide-input"]
logit = (3 * torch.randn(1000, generator=generator)).requires_grad_()
mine = {
    "example": lambda p: tversky_loss(p, y, 0.3, 0.7).mean(),
    "set": lambda p: tversky_loss_set(p, y, 0.3, 0.7),
}
for level, function in mine.items():
    theirs = BinaryTverskyLoss(squared=False, fp_weight=0.3, fn_weight=0.7, level=level)(logit, y)
    ours = function(logit.sigmoid())
    torch.testing.assert_close(theirs, ours)
    gradients = [torch.autograd.grad(value, logit)[0] for value in (theirs, ours)]
    torch.testing.assert_close(*gradients)
by_number = make_loss("binary_eq10", fp_weight=0.3, fn_weight=0.7)(logit, y)
torch.testing.assert_close(by_number, mine["example"](logit.sigmoid()))
by_number = make_loss("binary_eq9", fp_weight=0.3, fn_weight=0.7)(logit, y)
torch.testing.assert_close(by_number, tversky_loss_set(logit.sigmoid(), y, 0.3, 0.7, gamma=0.0))

# %% [markdown]
# ## 5.6 When is it dice, exactly?
#
# > "It degenerates to DSC if α = β = 0.5." (Section 3.3)
#
# That is true of [Eq. 9](eq-9), a ratio of sets. But which dice is [Eq. 10](eq-10)? Subtract from it
# the linear dice of [Eq. 6](eq-6) and the squared one of [Eq. 7](eq-7), with any smoothing s.

# %%
s, y = sp.symbols("s y", real=True)
half = sp.Rational(1, 2)
tversky = tversky_loss(p, y, half, half, gamma)
linear = 1 - (2 * p * y + s) / (p + y + s)  # Eq. 6
squared = 1 - (2 * p * y + s) / (p**2 + y**2 + s)  # Eq. 7
for name, dice in (("Eq. 6", linear), ("Eq. 7", squared)):
    left = rf"\text{{TL}} - \text{{{name}, }} s = 2\gamma, \; "
    for label in (1, 0):
        gap = sp.factor((tversky - dice).subs({y: label, s: 2 * gamma}))
        display(Math(left + rf"y={label}: \quad {sp.latex(gap)}"))

# %% [markdown]
# **TL with α = β = 0.5 and smoothing γ is the linear dice of Eq. 6 with smoothing 2γ.** It is not the
# squared loss that the paper calls DL, for any s: matched at p = 1 for a negative (again by s = 2γ),
# the two differ everywhere between 0 and 1.
#
# The library's squared Tversky has no such gap: FP and FN together are $\sum (p - y)^2$, and half of
# that with TP is half of $\sum p^2 + \sum y^2$, the denominator of [Eq. 8](eq-8).

# %% [markdown]
# ## 5.7 The trade-off, trained
#
# A logistic model trains on the blobs, 5% positives, once per α with β = 1 − α, at both levels, on five
# seeds. The tables, first of the set level, hold precision, recall and F1 on fresh blobs at threshold
# 0.5, as mean ± half of the 95% interval:

# %%
weights = [0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95]
losses = {}
for level in ("set", "example"):
    for a in weights:
        price = {"fp_weight": a, "fn_weight": 1 - a, "level": level}
        losses[level, a] = BinaryTverskyLoss(squared=False, **price)
runs = train_from_starts(losses, biases=[0.0], seeds=range(5))
scores = {}
for (key, _), of_key in runs.items():
    three = ("precision", "recall", "f1")
    scores[key] = torch.tensor([[one[k] for k in three] for one in of_key])


# %% tags=["hide-input"]
def mean_and_half(values):
    """Mean ± half of the 95% interval over seeds."""
    found = [interval(column) for column in values.T.tolist()]
    return [f"{i.mean:.2f} ± {i.high - i.mean:.2f}" for i in found]


names = ["precision", "recall", "F1"]
levels = {
    level: pd.DataFrame({a: mean_and_half(scores[level, a]) for a in weights}, names).T
    for level in ("set", "example")
}
levels["set"]

# %% tags=["hide-input"]
levels["example"]

# %% [markdown]
# At set level, as α rises, precision climbs from 0.19 to 0.82, recall falls from 0.87 to 0.15, and F1 is
# highest in the middle, at 0.52, where the loss is dice. (The best possible F1 on these blobs is 0.518.)
#
# At example level α = 0.2 already reaches the best F1, at 0.35 some runs end with no
# prediction at all, and from 0.5 on *every* run does. With one price for
# both errors the loss is an error rate ([Eq. 5.3](eq-5-3)), and a model that says nothing has a low one:

# %%
print(f"say nothing: {0.05:.3f}")
print(f"the best possible classifier: {(fp + fn).min():.3f}")

# %% [markdown]
# The error rate can fall from 0.050 to 0.040. Training does not find that: once all probabilities are small, the
# gradient on a positive's logit, the slope of section 5.4 times p(1 − p), is small, too.

# %% mystnb={"figure": {"caption": "Figure 5.3. Operating points by \u03b1, with \u03b2 = 1 \u2212 \u03b1. Those of the example level from 0.35 on are missing: some or all of their runs predict nothing."}, "image": {"alt": "Precision against recall. A grey curve falls from top left to bottom right: the best that any classifier can do. Circles, the set level, lie along all of it, labelled with alpha from 0.05 at the lower right to 0.95 at the upper left. Three triangles, the example level, lie on the same curve; its 0.2 stands where the set level's 0.5 to 0.65 do."}} tags=["hide-input"]
fig, axis = plt.subplots(figsize=(5.6, 4.6))
axis.plot(tp / 0.05, tp / (tp + fp), color="0.6", label="best possible, all thresholds")
for level, marker, color in (("set", "o", style("tl")["color"]), ("example", "^", "0.2")):
    kept = [a for a in weights if scores[level, a][:, 1].min() > 0]  # no collapsed run
    points = torch.stack([scores[level, a].mean(0) for a in kept])
    axis.plot(points[:, 1], points[:, 0], marker, ms=8, color=color, label=f"TL, {level} level")
    for a, (pre, rec, _) in zip(kept, points, strict=True):
        offset = (8, 4) if level == "set" else (-8, -12)
        axis.annotate(
            f"{a}",
            (rec, pre),
            xytext=offset,
            textcoords="offset points",
            fontsize=9,
            ha="left" if level == "set" else "right",
        )
axis.set(
    xlabel="recall",
    ylabel="precision",
    xlim=(0, 1.02),
    ylim=(0, 1.05),
)
axis.legend(loc="lower left")
plt.show()


# %% [markdown]
# All points lie on one curve, up to the noise of seeds, because the model can represent the best rule
# on this toy. **Tversky's prices choose the point.**

# %% [markdown]
# ## 5.8 A model that cannot be right
#
# On `misspecified_blobs` (chapter 04) a linear model must turn away from the far negatives or call them
# positive. Set-level Tversky at threshold 0.5 meets cross entropy with a threshold tuned on the training
# set for the same $F_b$, on ten seeds:

# %%
def f_b(logits, y, b2, cut=0.0):
    said = (logits > cut).double()
    return float((1 + b2) * (said * y).sum() / (said.sum() + b2 * y.sum()))


def tuned_for(logits, y, b2):
    """The threshold with the best F_b, among every tenth logit."""
    tried = logits.sort().values[::10].tolist()
    return max(tried, key=lambda cut: f_b(logits, y, b2, cut))


pairs = {a: [] for a in (0.1, 0.2, 0.5, 0.8)}
blobs = [misspecified_blobs(2000, seed=seed) for seed in range(20)]
train, test = blobs[::2], blobs[1::2]
by_ce = train_each(torch.nn.BCEWithLogitsLoss(), train)
for a, scored in pairs.items():
    b2, price = (1 - a) / a, {"fp_weight": a, "fn_weight": 1 - a}
    by_tl = train_each(BinaryTverskyLoss(squared=False, **price), train)
    fits = zip(by_tl, by_ce, train, test, strict=True)
    for tl, ce, (x, y), (x_, y_) in fits:
        cut = tuned_for(ce.predict(x), y, b2)
        of_tl = f_b(tl.predict(x_), y_, b2)
        scored.append((of_tl, f_b(ce.predict(x_), y_, b2, cut)))

# %% tags=["hide-input"]
gains, rows = {}, {}
for a, scored in pairs.items():
    gains[a] = gain = interval([tl - ce for tl, ce in scored])
    tl, ce = torch.tensor(scored).mean(0).tolist()
    name = f"{a} (b = {((1 - a) / a) ** 0.5:.2g})"
    rows[name] = [f"{tl:.3f}", f"{ce:.3f}", f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"]
pd.DataFrame.from_dict(rows, orient="index", columns=["TL", "CE, tuned", "difference"]).rename_axis(
    "α"
)

# %% [markdown]
# At every price Tversky is ahead, and every interval excludes 0. The far negatives cost cross entropy without
# bound and turn its line; Tversky's loss is bounded. **Where no model of the class is right, the loss
# chooses the wrong one that you get, and a threshold cannot choose another.** (Real taggers: chapters
# 14 and 17.)

# %% [markdown]
# ## Summary
#
# - The index ([Eq. 9](eq-9)) prices false positives at α and false negatives at β. (1, 0) is
#   precision, (0, 1) recall, (0.5, 0.5) dice, (1, 1) Jaccard.
# - It equals $F_b$ iff α = 1/(1+b²) and β = b²/(1+b²), so α + β = 1. Only the ratio α : β decides
#   which model is best.
# - The best threshold on true probabilities is α·TI* ([Eq. 5.2](eq-5-2)).
# - Per example ([Eq. 10](eq-10)) the loss of hard predictions is a cost-weighted error rate with costs
#   α/(α+γ) and β/(β+γ); as γ → 0 both are 1. Only the set-level form ([Eq. 5.4](eq-5-4)) means $F_b$.
# - At α = β = 0.5 Eq. 10 is the **linear** dice of Eq. 6 with smoothing **2γ**, not the squared loss of
#   Eq. 7. The library's squared Tversky is the squared dice, again with 2γ.
# - Trained, the prices move a model along the precision–recall curve. On the example level, with
#   5% positives, α ≥ 0.5 predicts nothing.
# - On the misspecified toy, where no line is right, Tversky beats tuned cross entropy by 0.03 to 0.07 of
#   $F_b$ at four prices.
#
# ## Exercises
#
# **Exercise 5.1 (recall).** Which α and β train for F3? How many false positives are then worth one
# false negative?

# %% tags=["solution", "hide-cell"]
weights_f3 = {k.name: v.subs(b, 3) for k, v in solution.items()}
print(weights_f3, "→ one false negative costs", weights_f3["beta"] / weights_f3["alpha"], "of them")

# %% [markdown]
# **Exercise 5.2 (recall).** A colleague reports Jaccard 3/7 for a model. What is its F1? Give the formula
# for any value and check it on the sets of section 5.1.

# %% tags=["solution", "hide-cell"]
# 1/J − 1 = 2·(1/F1 − 1) by section 5.2 with c = 2, hence F1 = 2J/(1+J).
J, F1 = sp.symbols("J F1", positive=True)
formula = sp.solve(sp.Eq(1 / J - 1, 2 * (1 / F1 - 1)), F1)[0]
jaccard, dice = (tversky_index(said, gold, w, w) for w in (1, 0.5))
assert abs(float(formula.subs(J, jaccard)) - dice) < 1e-12
sp.Eq(F1, formula)

# %% [markdown]
# **Exercise 5.3 (apply).** You want a price ratio of exactly 9 on the example level, with γ = 1 and
# β = 1 − α. Which α do you set?

# %% tags=["solution", "hide-cell"]
answer = sp.solve(sp.Eq(ratio.subs({beta: 1 - alpha, gamma: 1}), 9), alpha)
print([round(float(v), 4) for v in answer if 0 < v < 1], "instead of 0.1")

# %% [markdown]
# **Exercise 5.4 (pencil).** [Eq. 5.2](eq-5-2) needs α + β = 1. Without it, what is the threshold
# for Jaccard's (1, 1)? Prove that it picks the same items as F1's, as section 5.2 says it must.

# %% tags=["solution", "hide-cell"]
# By hand: with α = β = 1 section 5.3 gives t* = J/(J + 1). Put J = F/(2 − F): the denominator is
# 2/(2 − F), so t* = F/2, which is F1's own threshold. The same, by sympy:
jaccard_threshold = sp.simplify(threshold.subs({alpha: 1, beta: 1}))
# Write Jaccard through F1, J = F/(2 − F), and compare with F1's threshold, F/2.
score = sp.Symbol("F", positive=True)
assert sp.simplify(jaccard_threshold.subs(value, score / (2 - score)) - score / 2) == 0
sp.Eq(sp.Symbol("t^*"), jaccard_threshold)

# %% [markdown]
# **Exercise 5.5 (predict, then run).** Section 5.7 started from bias 0. Write down first: does the
# example level at α = 0.5 still predict nothing when it starts from +2, where everything is called
# positive? And the set level? Then run five seeds each.

# %% tags=["solution", "hide-cell"]
by_start = {}
for level in ("example", "set"):
    loss = BinaryTverskyLoss(squared=False, fp_weight=0.5, fn_weight=0.5, level=level)
    for (_, bias), found in train_from_starts({level: loss}).items():
        by_start[level, bias] = f1 = torch.tensor([one["f1"] for one in found])
        print(f"{level:8} start {bias:+.0f}: F1 {mean_and_half(f1[:, None])[0]}")
# Verdict: the start makes no difference. The example level ends at 0 from all three, because the
# gradient of the negatives is the larger at every p; the set level ends at .52 from all three.
assert all((f1 == 0).all() for (level, _), f1 in by_start.items() if level == "example")
assert all(
    f1.mean().round(decimals=2) == 0.52 for (level, _), f1 in by_start.items() if level == "set"
)


# %% [markdown]
# **Exercise 5.6 (small research).** Train for F2 in two ways: set-level Tversky with (0.2, 0.8) at threshold
# 0.5; cross entropy with the threshold tuned for F2 on the training set. Ten seeds, same data for
# both. Give the mean difference of test F2 with a 95% interval. Which would you ship?

# %% tags=["solution", "hide-cell"]
def f2(logits, y, cut=0.0):
    said = (logits > cut).double()
    return float(5 * (said * y).sum() / (said.sum() + 4 * y.sum()))


gaps = []
train, test = ([imbalanced_blobs(2000, seed=2 * s + k) for s in range(10)] for k in (0, 1))
losses = (
    BinaryTverskyLoss(squared=False, fp_weight=0.2, fn_weight=0.8),
    torch.nn.BCEWithLogitsLoss(),
)
models = [train_each(loss, train) for loss in losses]
for tversky_fit, ce_fit, (x, y), (xt, yt) in zip(*models, train, test, strict=True):
    train_logits = ce_fit.predict(x)
    cut = max(train_logits.tolist(), key=lambda c: f2(train_logits, y, c))
    gaps.append(f2(tversky_fit.predict(xt), yt) - f2(ce_fit.predict(xt), yt, cut))
gap = interval(gaps)
print(f"Tversky − tuned cross entropy: {gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]")
# Verdict: the interval holds 0, so ship the one that is simpler to maintain. A tuned threshold can
# be moved without training again.
assert gap.low < 0 < gap.high

# %% [markdown]
# ## Further reading
#
# - {cite:t}`tversky1977`: the index in its home, the psychology of similarity, where A∖B and B∖A
#   are the features that only one of two things has.
# - {cite:t}`salehi2017tversky`: the index as a loss, for lesions that are a few voxels in a million;
#   its prices are tuned, and it reports F2 beside dice.
# - {cite:t}`eelbode2020`: how far dice, Jaccard, Tversky and weighted cross entropy can stand in for
#   one another, with bounds; the approximation of dice gets worse as the prices leave 0.5.
# - {cite:t}`ye2012`: training for $F_\beta$ against tuning a threshold on probabilities. The two
#   agree in the limit where the model is right; the first is sturdier where it is wrong, the second
#   better for rare classes. Exercise 5.6 and section 5.8 in one paper.
