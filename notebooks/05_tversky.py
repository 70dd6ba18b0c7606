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
# You look for the names of medicines in reports of side effects. A person will read everything that your tagger
# marks, so a false alarm costs a few seconds, but a missed medicine may never be found. Or you fill a database
# that nobody checks, and then a false entry is the greater harm. In both cases the two kinds of error do not
# cost the same. Dice, however, charges the same price for both. In this chapter we meet Tversky's index, which
# has a price for each, α and β. We find out what these prices buy: their ratio decides which model is best, and
# the best threshold is α times the index. This is true of a set. On single examples the prices that you set are
# not the prices that you get.

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
said, gold = {3, 4, 9, 10, 20, 21}, {3, 4, 9, 15}
prices = {"precision": (1, 0), "recall": (0, 1), "dice": (0.5, 0.5), "Jaccard": (1, 1)}

# %% mystnb={"code_prompt_show": "Code of Figure 5.1", "figure": {"caption": "Figure 5.1. What the index compares. Orange tokens are positives; the index never looks at the light grey ones."}, "image": {"alt": "A sentence of 23 tokens in a row. Orange squares mark tokens 3, 4 and 9, where model and gold agree; dark crosses 10, 20 and 21, said but not gold; an orange circle 15, gold but not said. All others are light grey."}} tags=["hide-input"]
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
# - **You need** chapters 03 and [04](04_dice_loss.ipynb): true and false positives, F1, the smoothing term γ,
#   the per-example and the set level.
# - **You will be able to** choose α and β from what an error costs you, translate them into an $F_b$ and into a
#   threshold, and say when the loss is the dice loss.
# - **Time** about a minute on a CPU; a GPU does not help. Symbols and terms: [Notation and
#   glossary](../docs/notation.md).

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import pandas as pd
import sympy as sp
import torch

from dicebook import BinaryTverskyLoss
from dicelab.figures import style
from dicelab.records.runs import interval
from dicelab.toy import imbalanced_blobs, train_each, train_from_starts

torch.set_default_dtype(torch.float64)


# %% [markdown]
# ## 5.1 The index: two differences, two prices
#
# Figure 5.1 shows a sentence of 23 tokens. As in chapter 03, let $A$ be the set of tokens that a model calls
# positive, and $B$ the set of those that are positive. Three kinds of tokens matter: those in both sets, those
# only in $A$, and those only in $B$. The last two are the false positives and the false negatives. We want a
# score that compares the first kind with the other two, and that lets us say how much each kind of error
# counts.
#
# > "Tversky index offers the flexibility in controlling the tradeoff between false-negatives and
# > false-positives." (the paper, Section 3.3)
#
# (eq-9)=
# Tversky's index {cite}`tversky1977` is such a score:
#
# $$
# \begin{aligned}
# &\mathrm{TI}(A, B) = \\
# &\quad \frac{|A \cap B|}{|A \cap B| + \alpha\,|A \setminus B| + \beta\,|B \setminus A|}
# \end{aligned} \tag{9}
# $$
#
# Read the denominator aloud: what the sets share, plus α for every false positive, plus β for every false
# negative. If there are no errors, the index is 1. We try four pairs of prices on the sets of Figure 5.1.

# %%
def tversky_index(A, B, alpha, beta):  # Eq. 9
    errors = alpha * len(A - B) + beta * len(B - A)
    return len(A & B) / (len(A & B) + errors)


index_of = {}
for name, (a, b) in prices.items():
    index_of[name] = tversky_index(said, gold, a, b)
pd.Series(index_of).round(3)

# %% [markdown]
# You know the first two rows. With α = 1 and β = 0 the denominator counts everything that the model called
# positive, and the index is the precision. With α = 0 and β = 1 it is the recall. With 0.5 for both it is dice,
# which lies between precision and recall. With 1 for both it is Jaccard's index. It has the same ratio of
# prices as dice, and another value; section 5.2 explains this.
#
# In dicebook α is called `fp_weight` and β is called `fn_weight`, and the loss `make_loss("binary_eq9")` is one minus
# the index. Which prices should you choose? If you know how much more recall matters to you than precision, a score from
# the literature answers this.

# %% [markdown]
# ## 5.2 The $F_\beta$ reading, and its condition
#
# The paper says that the index "can be thought as the approximation of the $F_\beta$ score" (Section 3.3). We
# want to know when that is true. Two different numbers are called β here, so we write $b$ for that of $F$.
#
# (eq-5-1)=
# $F_b$ treats recall as $b$ times as important as precision:
#
# $$
# F_b = (1 + b^2)\,\frac{\mathrm{Pre} \cdot \mathrm{Rec}}{b^2\,\mathrm{Pre} + \mathrm{Rec}}
# \tag{5.1}
# $$
#
# To compare it with the index, we write it in counts. We put in $\mathrm{Pre} = \mathrm{TP}/(\mathrm{TP} +
# \mathrm{FP})$ and $\mathrm{Rec} = \mathrm{TP}/(\mathrm{TP} + \mathrm{FN})$, and simplify:
#
# $$ F_b = \frac{(1 + b^2)\,\mathrm{TP}}{(1 + b^2)\,\mathrm{TP} + \mathrm{FP} + b^2\,\mathrm{FN}} $$
#
# Now divide above and below by $1 + b^2$. What remains in front of FP and of FN are the two prices:
#
# $$ F_b = \frac{\mathrm{TP}}{\mathrm{TP} + \alpha\,\mathrm{FP} + \beta\,\mathrm{FN}} \quad\text{with}\quad
# \alpha = \frac{1}{1 + b^2}, \quad \beta = \frac{b^2}{1 + b^2} $$
#
# So on hard decisions the index does not approximate $F_b$: for these prices it **is** $F_b$. The condition is
# that the two prices add up to 1, which those of Jaccard's index do not. How much does the sum matter? We look
# at one over the index, minus one:
#
# $$ \frac{1}{\mathrm{TI}} - 1 = \frac{\alpha\,\mathrm{FP} + \beta\,\mathrm{FN}}{\mathrm{TP}} $$
#
# If we multiply both prices by a constant, then the right side is multiplied by it as well, for every model.
# Whichever model was ahead stays ahead. **The ratio α : β decides which model is best; the sum decides only the
# value.** That is why the paper's Table 10 can vary α alone and keep β = 1 − α. Here are the prices of the
# usual $F_b$.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
rows = {f"F{v}": {"α": 1 / (1 + v**2), "β": v**2 / (1 + v**2)} for v in (0.5, 1, 2, 3)}
pd.DataFrame(rows).T.round(3)


# %% [markdown]
# For F2 a false positive costs 0.2 and a false negative costs 0.8. Notice that "twice as important" means a
# price ratio of four, because $b$ is squared. We know now what the prices mean for a score. What do they mean
# for a decision?

# %% [markdown]
# ## 5.3 What the prices buy: a threshold
#
# Suppose that a model knows the true probability η of every token. Which tokens should it call positive, if we
# want the highest index? We ask as in [chapter 02](02_cross_entropy.ipynb): when does one more token pay? On
# average TP grows by η, FP grows by $1 - \eta$, and FN shrinks by η. The numerator of the index is TP, so it
# grows by η. The denominator grows by
#
# $$ \eta + \alpha\,(1 - \eta) - \beta\,\eta = \alpha + \eta\,(1 - \alpha - \beta) = \alpha
# \qquad\text{if } \alpha + \beta = 1 $$
#
# (eq-5-2)=
# A fraction rises if what we add above, divided by what we add below, is more than the fraction. So the token
# pays if $\eta/\alpha > \mathrm{TI}$. We stop where the index has its highest value, TI*:
#
# $$ \eta > t^* = \alpha \cdot \mathrm{TI}^* \tag{5.2} $$
#
# In words: call a token positive if its probability is above α times the best index. For α = 0.5 this is [Eq.
# 2.3](eq-2-3), the rule of F1. A small α means a low threshold, and therefore more recall. The threshold never
# exceeds α, because the index never exceeds 1. (You can change the prices with the sliders of the <a
# href="../docs/playground.html#loss=tl&amp;squared=false&amp;fp=0.1&amp;fn=0.9">Playground</a>.)
#
# We check the rule on the toy of [chapter 02](02_cross_entropy.ipynb), where every count is known in closed
# form. For several α we search for the best threshold, and compare it with the rule.

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
# The last two columns agree to the third digit, over a wide range of thresholds. For you this means that there
# are two ways to the same decisions: train with α and β, or train with cross entropy and move the threshold to
# α·TI* (exercise 5.4). We now turn to the first way, and to the form in which the paper prints it.

# %% [markdown]
# ## 5.4 The loss of one example
#
# (eq-10)=
# "The Tversky loss (TL) is thus given as follows" (Section 3.3). It takes the probability for the decision, one
# fraction for each example, and adds γ above and below, as dice does:
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


# %% [markdown]
# From chapter 04 we are suspicious of a sum of fractions. So we write the loss for each label alone, and
# differentiate:
#
# $$ \begin{aligned}
# y = 1: \quad & \mathrm{TL} = \frac{\beta\,(1-p)}{p + \beta\,(1-p) + \gamma}, &
# \frac{d\,\mathrm{TL}}{dp} &= -\frac{\beta\,(1+\gamma)}{(p + \beta\,(1-p) + \gamma)^2} \\
# y = 0: \quad & \mathrm{TL} = \frac{\alpha\,p}{\alpha\,p + \gamma}, &
# \frac{d\,\mathrm{TL}}{dp} &= \frac{\alpha\,\gamma}{(\alpha\,p + \gamma)^2}
# \end{aligned} $$
#
# The loss of a positive depends only on β, and that of a negative only on α. The slopes never change their
# sign, so every example moves in the right direction. What does an error cost? We read the cost of a wrong hard
# answer off the formulas. A positive at $p = 0$ costs $\beta/(\beta+\gamma)$, and a negative at $p = 1$ costs $\alpha/(\alpha+\gamma)$. A right
# answer costs nothing.
#
# (eq-5-3)=
# On hard predictions the loss is therefore a sum over the two kinds of error:
#
# $$
# \begin{aligned}
# \mathrm{TL} = &\ \frac{\alpha}{\alpha+\gamma} \cdot \frac{\mathrm{FP}}{N} \\
# &+ \frac{\beta}{\beta+\gamma} \cdot \frac{\mathrm{FN}}{N}
# \end{aligned} \tag{5.3}
# $$
#
# We check it on a thousand random predictions.

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
# **Per example, Tversky is a cost-weighted error rate** and no $F_b$. There is a second disappointment. The
# costs are not α and β, because γ has changed them, and it has changed the larger price more. Suppose that you
# set α = 0.1 and β = 0.9, so that a false negative costs nine times as much as a false positive. What ratio do
# you get?

# %%
def cost_ratio(alpha, beta, gamma):
    """What a false negative costs, in false positives."""
    return beta / (beta + gamma) / (alpha / (alpha + gamma))


delivered = {g: cost_ratio(0.1, 0.9, g) for g in (0.001, 0.1, 1, 10)}
name = "false negatives : false positives"
pd.Series(delivered, name=name).rename_axis("γ").round(2)


# %% [markdown]
# You set a ratio of nine and get 5.21 with the usual γ = 1. As γ vanishes, the ratio goes to 1, and your prices
# have no effect at all. Only a large γ gives the ratio that you set. Can a set do better?

# %% [markdown]
# ## 5.5 The loss of a set
#
# (eq-5-4)=
# For dice the paper prints a form that sums before it divides ([Eq. 8](eq-8)). For Tversky it prints none, but
# we can write it in the same way. We take soft counts of the whole set, and one fraction of them:
#
# $$
# \begin{aligned}
# \mathrm{TP} &= \textstyle\sum_i p_{i1} y_{i1}, \quad \mathrm{FP} = \sum_i p_{i1} y_{i0}, \\
# \mathrm{FN} &= \textstyle\sum_i p_{i0} y_{i1}, \\
# \mathrm{TL}_{\mathrm{set}} &= 1 - \frac{\mathrm{TP} + \gamma}
# {\mathrm{TP} + \alpha\,\mathrm{FP} + \beta\,\mathrm{FN} + \gamma}
# \end{aligned} \tag{5.4}
# $$
#
# On hard predictions and without γ, this is one minus the index itself. We expect it to agree with $1 - F_2$ if
# we take the prices of F2.

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
# It does, exactly. At set level the paper's sentence about $F_\beta$ is true, and this is the form that you
# should use.
#
# With `squared=False`, as in this chapter, dicebook has the same values and gradients. By default dicebook
# squares the errors: FP becomes $\sum p^2\,(1 - y)$, and FN becomes $\sum (1 - p)^2\,y$. On hard predictions
# both forms are the same. In training, squared denominators collapse less often. The end of [section
# 7.5](linear-or-squared) weighs the two forms against each other for dice.

# %% [markdown]
# ## 5.6 When is it dice, exactly?
#
# > "It degenerates to DSC if α = β = 0.5." (Section 3.3)
#
# That is true of [Eq. 9](eq-9), a ratio of sets. But which dice is [Eq. 10](eq-10), the loss with γ? We put in
# the two prices, and look at the denominator:
#
# $$ p\,y + \tfrac12\, p\,(1-y) + \tfrac12\,(1-p)\,y + \gamma = \tfrac12\,(p + y) + \gamma $$
#
# The products $p\,y$ have cancelled. Now multiply numerator and denominator by two, and you have $1 -
# (2\,p\,y + 2\gamma)/(p + y + 2\gamma)$. **Tversky loss with α = β = 0.5 and smoothing γ is the linear dice of
# Eq. 6 with smoothing 2γ.** It is not the squared loss that the paper calls DL. No smoothing makes the two
# equal: if we choose it so that they agree on a wrong negative, they still differ everywhere between 0 and 1.
#
# The library's squared Tversky, on the other hand, is squared dice. There FP and FN together are $\sum (p -
# y)^2$. Half of that, added to TP, is half of $\sum p^2 + \sum y^2$, the denominator of [Eq. 8](eq-8).
#
# So much for the formulas. Do the prices move a trained model as they should?

# %% [markdown]
# ## 5.7 The trade-off, trained
#
# We train a logistic model on the blobs, where one example in twenty is positive. We do it for nine values of α
# with β = 1 − α, at both levels, and on five seeds. As α rises, false positives cost more, so we expect more
# precision and less recall. The first table is for the set level, at threshold 0.5.

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


# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
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

# %% [markdown]
# At set level it happens as expected. As α rises, precision climbs from 0.19 to 0.82, and recall falls all the
# way down. F1 is highest in the middle, where the loss is dice, and there it is about the best F1 that is
# possible on these blobs. Now the example level, with the same prices.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
levels["example"]

# %% [markdown]
# Here already α = 0.2 reaches the best F1, because γ has changed the prices. At 0.35 some runs end with no
# prediction at all, and from 0.5 on *every* run does. We know the reason from chapter 04: with one price for
# both errors the loss is an error rate ([Eq. 5.3](eq-5-3)), and a model that says nothing has a low one.
#
# A better model exists: saying nothing has an error rate of 0.050, and the best classifier has one of 0.040.
# However, training does not find it. Once all probabilities are small, the gradient on a positive's logit is
# small, too, because it is the slope of section 5.4 times $p(1 - p)$. Figure 5.2 shows both levels, beside the best that any classifier can do.

# %% mystnb={"code_prompt_show": "Code of Figure 5.2", "figure": {"caption": "Figure 5.2. Operating points by \u03b1, with \u03b2 = 1 \u2212 \u03b1. Those of the example level from 0.35 on are missing: some or all of their runs predict nothing."}, "image": {"alt": "Precision against recall. A grey curve falls from top left to bottom right: the best that any classifier can do. Circles, the set level, lie along all of it, labelled with alpha from 0.05 at the lower right to 0.95 at the upper left. Three triangles, the example level, lie on the same curve; its 0.2 lies where the set level's 0.5 to 0.65 do."}} tags=["hide-input"]
fig, axis = plt.subplots(figsize=(5.6, 4.6))
axis.plot(tp / 0.05, tp / (tp + fp), color="0.6", label="best possible, all thresholds")
for level, marker, color in (("set", "o", style("tl")["color"]), ("example", "^", "0.2")):
    kept = [a for a in weights if scores[level, a][:, 1].min() > 0]  # no collapsed run
    points = torch.stack([scores[level, a].mean(0) for a in kept])
    axis.plot(
        points[:, 1], points[:, 0], marker, ms=8, color=color, label=f"Tversky, {level} level"
    )
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
axis.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.05))
axis.legend(loc="lower left")
plt.show()

# %% [markdown]
# All points lie on one curve, up to the noise of seeds, because the model can represent the best rule on this
# toy. No price makes the model better or worse; it only moves the model along the curve. **Tversky's prices
# choose the point.** A threshold does the same. Where no model of the class is right, however, a set-level loss
# may find a better model than any threshold does ([section 4.4](04_dice_loss.ipynb)). [Chapter
# 14](14_tversky_weights.ipynb) tries the prices on text.

# %% [markdown]
# ## Summary
#
# - Tversky's index ([Eq. 9](eq-9)) prices false positives at α and false negatives at β. Precision, recall,
#   dice and Jaccard's index are special cases.
# - It is $F_b$ if α = 1/(1+b²) and β = b²/(1+b²), and only the ratio of the prices decides which model is best.
# - The best threshold on true probabilities is α·TI* ([Eq. 5.2](eq-5-2)).
# - For single examples the loss is a cost-weighted error rate with prices that γ has changed ([Eq.
#   5.3](eq-5-3)), so use the set-level form ([Eq. 5.4](eq-5-4)).
# - Where the model can be right, the prices do what a threshold does.
#
# ## Exercises
#
# **Exercise 5.1 (recall).** Which α and β train for F3? How many false positives are then worth one false
# negative?

# %% mystnb={"code_prompt_show": "Solution 5.1"} tags=["solution", "hide-cell"]
alpha_3, beta_3 = 1 / (1 + 3**2), 3**2 / (1 + 3**2)
print(f"α = {alpha_3}, β = {beta_3}: one false negative costs {beta_3 / alpha_3:.0f} of them")

# %% [markdown]
# **Exercise 5.2 (apply).** You want a price ratio of exactly 9 on the example level, with γ = 1 and β = 1 − α.
# Which α do you set?

# %% mystnb={"code_prompt_show": "Solution 5.2"} tags=["solution", "hide-cell"]
alpha = sp.symbols("alpha", positive=True)
answer = sp.solve(sp.Eq(cost_ratio(alpha, 1 - alpha, 1), 9), alpha)
print([round(float(v), 4) for v in answer if 0 < v < 1], "instead of 0.1")

# %% [markdown]
# **Exercise 5.3 (pencil).** [Eq. 5.2](eq-5-2) needs α + β = 1. Without it, what is the threshold, and what is
# it for Jaccard's (1, 1)? Prove that it picks the same items as F1's, as section 5.2 says it must.

# %% mystnb={"code_prompt_show": "Solution 5.3"} tags=["solution", "hide-cell"]
# By hand: in section 5.3 the denominator grows by α + η(1 − α − β), so a token pays if
# η > T·(α + η(1 − α − β)), that is η > αT / (1 − T + αT + βT). With α = β = 1 this is J/(J + 1).
# Put J = F/(2 − F): the denominator is 2/(2 − F), so t* = F/2, which is F1's own threshold.
value, score = sp.symbols("T F", positive=True)
jaccard_threshold = value / (1 + value)
assert sp.simplify(jaccard_threshold.subs(value, score / (2 - score)) - score / 2) == 0
sp.Eq(sp.Symbol("t^*"), jaccard_threshold)


# %% [markdown]
# **Exercise 5.4 (small research).** Train for F2 in two ways: set-level Tversky with (0.2, 0.8) at threshold
# 0.5; cross entropy with the threshold tuned for F2 on the training set. Ten seeds, same data for
# both. Give the mean difference of test F2 with a 95% interval. Which would you ship?

# %% mystnb={"code_prompt_show": "Solution 5.4"} tags=["solution", "hide-cell"]
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
# Verdict: the interval includes 0, so ship the one that is simpler to maintain. A tuned threshold can
# be moved without training again.
assert gap.low < 0 < gap.high

# %% [markdown]
# ## Further reading
#
# - {cite:t}`tversky1977`: the index in its home, the psychology of similarity, where A∖B and B∖A
#   are the features that only one of two things has.
# - {cite:t}`salehi2017tversky`: the index as a loss, for lesions that are a few voxels in a million;
#   its prices are tuned, and it reports F2 beside dice.
# - {cite:t}`eelbode2020`: how far dice, Jaccard, Tversky and weighted cross entropy can replace
#   one another, with bounds; the approximation of dice gets worse as the prices leave 0.5.
# - {cite:t}`ye2012`: training for $F_\beta$ against tuning a threshold on probabilities. The two
#   agree in the limit where the model is right; the first is sturdier where it is wrong, the second
#   better for rare classes. Exercise 5.4 asks the same of the toy.
