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
# - **For** readers who want to use the loss the paper is known for, and to know before training
#   when it will turn on them.
# - **You need** chapters 03 and 04 (dice, γ, the two levels) and the derivative of a quotient.
# - **You will be able to** derive the paper's Figure 1 for both labels, say at which probability
#   the loss changes direction, choose the exponent α and a starting bias that keep clear of that
#   point, and tell what focal loss does to easy negatives that this loss does not.
# - **Time** about 40 seconds on a CPU; a GPU does not help.
#
# A loss should push a positive up and a negative down. This chapter is about one that, in the
# form in which it is printed, does the opposite for half of all probabilities. We shall find out
# where, why, and what one exponent changes; and then predict, to a decimal, which training runs
# collapse.

# %%
import json
import warnings

import matplotlib.pyplot as plt
import pandas as pd
import sympy as sp
import torch
from IPython.display import HTML, Math, display

from dicebook import BinaryDiceLoss, BinaryFocalLoss, BinarySelfAdjustingDiceLoss
from dicebook.figures import loss_curves, use_style
from dicebook.reproduce.runs import interval
from dicebook.toy import f1_score, imbalanced_blobs, optimal_logits, train_logistic

use_style()
torch.set_default_dtype(torch.float64)
warnings.filterwarnings("ignore", message="alpha=")  # section 6.6 shows what it warns of

# %% [markdown]
# ## 6.1 The F1 of one example
#
# (eq-11)=
# The argument starts from a set with a single example. It is called positive if its probability
# exceeds one half, and so its F1 is
#
# $$
# \mathrm{F1}(x_i) = 2\,\frac{\mathbb{I}(p_{i1} > 0.5)\,y_{i1}}{\mathbb{I}(p_{i1} > 0.5) +
# y_{i1}} \tag{11}
# $$
#
# There are only four cases.


# %%
def f1_of_one(p, y):  # Eq. 11
    said = (p > 0.5).double()
    return 2 * said * y / (said + y)


p, y = torch.tensor([0.9, 0.3, 0.9, 0.3]), torch.tensor([1.0, 1.0, 0.0, 0.0])
pd.Series(f1_of_one(p, y), ["found", "missed", "false alarm", "rightly left alone"])

# %% [markdown]
# One, zero, zero, and for the commonest case of all, a negative rightly left alone, 0/0. A
# positive at p = .51 scores as well as one at .99: F1 does not care how sure the model is, as
# long as it is on the right side. Dice with probabilities ([Eq. 5](eq-5)) does care, and goes on
# pushing. The paper fears that the many easy negatives, pushed on and on towards zero, take over
# the training.

# %% [markdown]
# ## 6.2 The self-adjusting dice loss
#
# (eq-12)=
# Its remedy is a factor (1 − p) on every p, meant as a weight that fades when the model is sure:
#
# $$
# \begin{aligned}
# &\mathrm{DSC}(x_i) = \\
# &\quad \frac{2 (1 - p_{i1})\, p_{i1} \cdot y_{i1} + \gamma}
# {(1 - p_{i1})\, p_{i1} + y_{i1} + \gamma}
# \end{aligned} \tag{12}
# $$
#
# The loss is 1 − DSC. The paper says that this changes [Eq. 11](eq-11). Eq. 11 holds no γ and no
# p outside an indicator; but there is an equation into which the new factor fits. Put (1 − p)p
# for p in [Eq. 6](eq-6):

# %%
P, Y, g, alpha, X = sp.symbols("p y gamma alpha x", real=True)
eq6 = (2 * P * Y + g) / (P + Y + g)
eq12 = (2 * (1 - P) * P * Y + g) / ((1 - P) * P + Y + g)
print("Eq. 6 with (1−p)p for p is Eq. 12:", sp.simplify(eq6.subs(P, (1 - P) * P) - eq12) == 0)

# %% [markdown]
# So Eq. 12 modifies Eq. 6: the linear dice of one example, not the squared one the paper calls
# DL.
#
# (eq-6-1)=
# The authors' code has something the paper has not: an exponent α on the factor. We carry it
# along from the start; α = 1 is Eq. 12 and α = 0 is Eq. 6.
#
# $$
# \begin{aligned}
# q &= (1 - p)^{\alpha}\, p, \\
# \mathcal{L} &= 1 - \frac{2 q y + \gamma}{q + y + \gamma}
# \end{aligned} \tag{6.1}
# $$


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
# Equal to dicebook's, in value and gradient, on both levels and for three exponents:

# %%
generator = torch.Generator().manual_seed(0)
target = (torch.rand(500, generator=generator) < 0.1).double()
logit = (3 * torch.randn(500, generator=generator)).requires_grad_()
for a in (1.0, 0.1, 0.01):
    for level, ours in (("example", dsc_loss), ("set", dsc_loss_set)):
        value = ours(logit.sigmoid(), target, a).mean()
        theirs = BinarySelfAdjustingDiceLoss(squared=False, alpha=a, smooth=1.0, level=level)(
            logit, target
        )
        torch.testing.assert_close(theirs, value)
        gradients = [torch.autograd.grad(v, logit)[0] for v in (theirs, value)]
        torch.testing.assert_close(*gradients)
        print(f"alpha {a:<5} {level:8} {value:.6f}: equal")

# %% [markdown]
# ## 6.3 A positive that is right
#
# Take a positive at p = .9. The model is sure, and right. What does Eq. 12 ask of it?

# %%
p = torch.tensor([0.1, 0.3, 0.5, 0.7, 0.9, 0.99], requires_grad=True)
dsc_loss(p, torch.ones(6)).sum().backward()
pd.Series(p.grad, p.tolist()).round(3)

# %% [markdown]
# A derivative of +.549 at .9. Gradient descent walks against the derivative, so the sure, correct
# positive is pushed **down**. At .5 there is no push, below .5 it is pushed up. The formula:

# %%
slope = {label: sp.factor(sp.diff(1 - eq12.subs(Y, label), P)) for label in (1, 0)}
display(Math(rf"y=1:\quad \frac{{d\mathcal L}}{{dp}} = {sp.latex(slope[1])}"))
display(Math(rf"y=0:\quad \frac{{d\mathcal L}}{{dp}} = {sp.latex(slope[0])}"))

# %% [markdown]
# Both numerators hold the factor 2p − 1, which changes sign at one half. Nothing else in them
# can. The reason is plain: the loss sees p only through (1 − p)p, and that is the same number for
# .9 and for .1. It cannot tell a sure "yes" from a sure "no".
#
# ## 6.4 A negative that is wrong
#
# For a negative the damage is worse, because there the wrong direction is the dangerous one.

# %%
p = torch.tensor([0.01, 0.1, 0.5, 0.9, 0.99], requires_grad=True)
loss = dsc_loss(p, torch.zeros(5))
loss.sum().backward()
pd.DataFrame({"loss": loss.detach(), "derivative": p.grad}, index=p.tolist()).round(3)

# %% [markdown]
# A negative at p = .9, a plain false positive, has the derivative −.673: it is pushed **up**,
# towards 1. And it is paid for going there: its loss falls from .2 at p = .5 to nothing at p = 1.
# A false positive with p = 1 is, to this loss, as good as a true negative with p = 0.
#
# Where does that lead? Let six examples of each label follow the gradient, each with a logit of
# its own.


# %%
def follow(y, alpha=1.0, steps=4000):
    """Where gradient descent on the logit takes one example, from six starting probabilities."""
    start = torch.tensor([0.05, 0.2, 0.4, 0.6, 0.8, 0.95])
    x = torch.logit(start).requires_grad_()
    for _ in range(steps):
        loss = dsc_loss(x.sigmoid(), torch.full_like(start, y), alpha).sum()
        x.data -= torch.autograd.grad(loss, x)[0]
    return pd.Series(x.sigmoid().detach(), start.tolist())


arrivals = {"positive ends at": follow(1.0), "negative ends at": follow(0.0)}
pd.DataFrame(arrivals).rename_axis("start").round(2)

# %% [markdown]
# Every positive ends at .5, from above and from below: at the decision threshold, where a breath
# decides. Negatives part ways: those below .5 go to 0, those above go to 1. The picture of the
# loss says the same.

# %%
curve = torch.linspace(0, 1, 401)
lines = {"α = 0 (Eq. 6)": (0.0, ":"), "α = 0.1": (0.1, "--"), "α = 1 (Eq. 12)": (1.0, "-")}
fig, axes = plt.subplots(2, 1, figsize=(5.6, 5.6), sharex=True, sharey=True)
for axis, y, name in zip(axes, (1.0, 0.0), ("a positive", "a negative"), strict=True):
    for label, (a, line) in lines.items():
        axis.plot(curve, dsc_loss(curve, torch.tensor(y), a), line, label=label)
    axis.set(title=f"Loss of {name}", ylabel="1 − DSC, γ = 1", ylim=(0, 0.55))
axes[1].set_xlabel("probability of the positive class, $p_1$")
axes[0].legend(loc="lower left")
plt.show()

# %% [markdown]
# *Top, a positive: with α = 0 the loss falls from .5 to 0; with α = 1 it falls to .33 at p = .5
# and rises back to .5. Bottom, a negative: with α = 0 it rises to .5; with α = 1 it is a hill of
# height .2 over p = .5, with zero at both feet. The dashed α = .1 follows the dotted curve up to
# p ≈ .9 and then turns.*

# %% [markdown]
# ## 6.5 Figure 1, redrawn
#
# The paper's Figure 1 draws derivatives for a positive and reads them as follows: the derivative
# of DSC "approaches zero right after p exceeds 0.5", those of the other losses "reach 0 only if
# the probability is exactly 1". Here it is again from our own derivatives, and for both labels.

# %%
a_focal = 2
formulas = {  # Table 2 for p = p_i1, with γ = 1; Tversky with ½, ½; focal with γ = 2
    "CE": (-sp.log(P), -sp.log(1 - P)),
    "FL": (-((1 - P) ** a_focal) * sp.log(P), -(P**a_focal) * sp.log(1 - P)),
    "DL": tuple(1 - (2 * P * k + 1) / (P**2 + k + 1) for k in (1, 0)),
    "TL": (1 - (P + 1) / (P + (1 - P) / 2 + 1), 1 - 1 / (P / 2 + 1)),
    "DSC": tuple((1 - eq12).subs({Y: k, g: 1}) for k in (1, 0)),
}
grid = torch.linspace(0.005, 0.995, 199)
fig, axes = plt.subplots(2, 1, figsize=(5.6, 6.6), sharex=True)
for axis, k, name in zip(axes, (0, 1), ("a positive", "a negative"), strict=True):
    slopes = {
        label: sp.lambdify(P, sp.diff(pair[k], P), "numpy")(grid.numpy())
        for label, pair in formulas.items()
    }
    loss_curves(slopes, grid, ylabel="dL/dp", ax=axis)
    axis.axhline(0, color="0.3", lw=0.8)
    axis.set(title=f"Derivative for {name}", ylim=(-2.5, 2.5))
axes[0].legend(ncol=3, loc="upper left")
axes[1].legend(ncol=3, loc="lower left")
plt.show()

# %% [markdown]
# *Top, a positive: all curves start below zero; DSC crosses zero at .5 and climbs to +.75; FL and
# DL meet zero at p = 1; CE and TL stay below it. Bottom, a negative: all but DSC stay above zero;
# DSC starts at +1, crosses at .5 and falls to −1.*
#
# The two sentences, checked at p = 1:

# %%
ends = {
    name: [sp.limit(sp.diff(pair[k], P), P, 1, "-") for k in (0, 1)]
    for name, pair in formulas.items()
}
pd.DataFrame(ends, index=["positive", "negative"]).astype(str)

# %% [markdown]
# For a positive, FL and DL do reach 0 at p = 1. CE is at −1 there and TL at −1/4: they never do.
# And DSC does not approach zero after .5; it is zero **at** .5 and +3/4 at the end. Right below
# it is the entry the paper's figure leaves out: −1 for a negative.
#
# One more thing about this figure. A network does not move p; it moves a logit x, and $dp/dx =
# p(1-p)$. What arrives at the weights is this:

# %%
fig, axes = plt.subplots(2, 1, figsize=(5.6, 6.6), sharex=True)
for axis, k, name in zip(axes, (0, 1), ("a positive", "a negative"), strict=True):
    pushes = {
        label: sp.lambdify(P, -sp.diff(pair[k], P) * P * (1 - P), "numpy")(grid.numpy())
        for label, pair in formulas.items()
    }
    loss_curves(pushes, grid, ylabel="−dL/dx", ax=axis)
    axis.axhline(0, color="0.3", lw=0.8)
    axis.set_title(f"Push on the logit of {name}")
plt.show()

# %% [markdown]
# *Push on the logit, positive means upwards. Top: CE and FL push hardest a positive near p = 0;
# DL, TL and DSC hardly push it there. Above .5, DSC is the only one that pushes a positive down.
# Bottom: CE pushes a negative near p = 1 down with force 1; DL and TL let go of it; DSC pushes it
# up.*
#
# Seen from the logit, every loss "reaches 0 only at 1", CE too. And something else becomes
# visible that Figure 1 hides: at the far left, where a missed positive lies, only CE and focal
# pull. [Chapter 07](07_all_losses.ipynb) puts numbers to it.

# %% [markdown]
# ## 6.6 The turning point
#
# Where exactly does the loss turn? It depends on p only through q, and falls (positive) or rises
# (negative) with q. So it turns where q does.

# %%
Ap = sp.Symbol("alpha", positive=True)
q = (1 - P) ** Ap * P
turn = sp.solve(sp.diff(q, P), P)[0]
display(
    Math(
        rf"\frac{{dq}}{{dp}} = {sp.latex(sp.factor(sp.diff(q, P)))} = 0"
        rf"\quad\Longrightarrow\quad p^* = {sp.latex(turn)}"
    )
)

# %% [markdown]
# (eq-6-2)=
# This is the number to remember from this chapter. The self-adjusting dice loss pushes in the
# right direction below
#
# $$
# \begin{aligned}
# p^* &= \frac{1}{1+\alpha}, \\
# x^* &= \log\frac{p^*}{1-p^*} = -\ln \alpha \quad \text{(as a logit)}
# \end{aligned} \tag{6.2}
# $$
#
# and in the wrong one above. A positive cannot cost less than its loss at p*. Both can be
# measured: let a positive follow its gradient, see where it stops and what it then still costs.

# %%
exponents = torch.tensor([0.01, 0.1, 0.5, 1.0, 2.0])
x = torch.zeros(5, requires_grad=True)
optimizer = torch.optim.Adam([x], lr=0.05)
for _ in range(4000):
    optimizer.zero_grad()
    dsc_loss(x.sigmoid(), torch.ones(5), exponents).sum().backward()
    optimizer.step()
stops = x.sigmoid().detach()
torch.testing.assert_close(stops, 1 / (1 + exponents), atol=1e-4, rtol=0)
floor = dsc_loss(stops, torch.ones(5), exponents)
pd.DataFrame(
    {
        "1/(1+α)": 1 / (1 + exponents),
        "stops at": stops,
        "−ln α": 0 - exponents.log(),
        "loss left": floor,
    },
    index=exponents.tolist(),
).round(4)

# %% [markdown]
# Predicted and measured agree to four digits. With α = 1 a positive stops at .5 and a perfect
# model still pays .333 for it; a positive at p = 0 pays 1/(1+γ) = .5, so the whole range of the
# loss is .167. With the authors' α = .01 it stops at .990 and pays .019. If your training curve
# ends above zero, this is why; if it ends at .333 for every positive, α is 1.
#
# The price of a small α is that there is little left of the idea: (1 − p)^.01 lies between .95
# and 1 for all p below .99. How close is it to plain dice? Compare gradients on the 500 random
# logits of section 6.2.

# %%
plain = torch.autograd.grad(BinaryDiceLoss(squared=False)(logit, target), logit)[0]
for a in (0.01, 0.1, 0.5, 1.0):
    adjusted = torch.autograd.grad(dsc_loss_set(logit.sigmoid(), target, a), logit)[0]
    cosine = torch.nn.functional.cosine_similarity(plain, adjusted, dim=0)
    print(f"alpha {a:<5} cosine to the gradient of plain dice: {cosine:.4f}")

# %% [markdown]
# With α = 1 the two gradients are nearly at right angles: another loss altogether. With .01, as
# in the authors' scripts, they are the same but for a hair. In between lies dicebook's default,
# .1. From .5 on dicebook warns, once for each value:

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    BinarySelfAdjustingDiceLoss(squared=False, alpha=0.75)
print(caught[0].message)

# %% [markdown]
# ## 6.7 On a set the turning point stays
#
# The paper trains with the set level, so perhaps the sum saves the sign. It does not. Write
# $\mathcal L = 1 - N/D$; by the chain rule every example's slope is a common positive number
# times dq/dp.

# %%
S, R, qi = sp.symbols("S R q_i", positive=True)  # Σ_{j≠i} q_j y_j + γ/2 and Σ_{j≠i} q_j + Σ y_j + γ
for label in (1, 0):
    slope_q = sp.factor(sp.diff(1 - (2 * (S + qi * label)) / (R + qi), qi))
    display(
        Math(
            rf"y_i={label}:\quad \frac{{\partial\mathcal L}}{{\partial q_i}} = {sp.latex(slope_q)}"
        )
    )

# %% [markdown]
# The first is negative (R exceeds S, since R counts every q once more and the labels too), the
# second positive, for any set. So the direction of an example hangs on dq/dp alone, and dq/dp
# changes sign at p*, whatever the rest of the batch does.
#
# This makes a prediction. A fresh model gives all examples about the same probability, set by its
# bias b₀. If b₀ < −ln α, everybody is below the turning point and the loss works. If b₀ > −ln α,
# every positive is pushed down and every negative up. The border between the two has no free
# parameter. Train on the blobs, 5% positives, with α from 1 to .01 and b₀ from −3 to 5:

# %%
alphas, biases = [1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01], [-3, -1, -0.2, 0.2, 1, 2, 2.5, 3.5, 4.2, 5]
x, y = imbalanced_blobs(2000, seed=0)
x_test, y_test = imbalanced_blobs(2000, seed=1)
f1 = torch.zeros(len(alphas), len(biases))
for i, a in enumerate(alphas):
    loss = BinarySelfAdjustingDiceLoss(squared=False, alpha=a, level="set")
    for j, b in enumerate(biases):
        fit = train_logistic(loss, x, y, bias=b, steps=120)
        f1[i, j] = f1_score(fit.predict(x_test) > 0, y_test)

# %%
fig, axis = plt.subplots(figsize=(5.6, 3.4))
axis.imshow(f1, cmap="cividis", vmin=0, vmax=0.6, aspect="auto")
for i in range(len(alphas)):
    for j in range(len(biases)):
        color = "white" if f1[i, j] < 0.35 else "black"
        axis.text(j, i, f"{f1[i, j]:.2f}"[1:], ha="center", va="center", color=color, fontsize=8)
    border = sum(b < -torch.tensor(alphas[i]).log() for b in biases) - 0.5
    axis.plot([border, border], [i - 0.5, i + 0.5], color="red", lw=3)
axis.set_xticks(range(len(biases)), biases)
axis.set_yticks(range(len(alphas)), alphas)
axis.grid(False)
axis.set(
    xlabel="starting bias $b_0$", ylabel="exponent α", title="Test F1; red: predicted border −ln α"
)
plt.show()

# %% [markdown]
# *A table of F1 scores, one row per exponent, one column per starting bias. In every row the
# cells left of a red mark are bright (F1 of .4 to .6), those right of it dark (below .1). The
# mark stands at −ln α: at 0 for α = 1, at 2.3 for α = .1, at 4.6 for α = .01.*

# %%
below = torch.tensor([[b < -torch.tensor(a).log() for b in biases] for a in alphas])
print(f"F1 where b0 < -ln(alpha): {f1[below].min():.2f} to {f1[below].max():.2f}")
print(f"F1 where b0 > -ln(alpha): {f1[~below].min():.2f} to {f1[~below].max():.2f}")

# %% [markdown]
# All cells fall on the predicted side; no run in between. If users report an F1 near zero with α
# = 1, this is the first thing to check. The cures are cheap: start the bias of the output layer
# at the log-odds of the positives (about −3 at 5%), or choose α so that p* lies above any
# probability the fresh model gives. [Chapter 07](07_all_losses.ipynb) repeats this for all
# losses, with seeds and intervals.

# %% [markdown]
# ## 6.8 Easy negatives: what focal loss does and (1 − p) does not
#
# (eq-6-3)=
# The paper says that its factor "mimics the idea of focal loss" {cite}`lin2017focal`. Focal loss
# multiplies cross entropy by a power of the probability **missing from the true class**:
#
# $$
# \begin{aligned}
# \mathrm{FL} &= -(1 - p_t)^{\gamma} \log p_t, \\
# p_t &= p_{i1} \text{ if } y_{i1} = 1, \text{ else } p_{i0}
# \end{aligned} \tag{6.3}
# $$


# %%
def focal_loss(p, y, gamma=2.0):  # Eq. 6.3
    p_true = torch.where(y == 1, p, 1 - p)
    return -((1 - p_true) ** gamma) * p_true.log()


value, theirs = (
    focal_loss(logit.sigmoid(), target).mean(),
    BinaryFocalLoss(gamma=2.0)(logit, target),
)
torch.testing.assert_close(theirs, value)
torch.testing.assert_close(*(torch.autograd.grad(v, logit)[0] for v in (value, theirs)))
print(f"{value:.6f}: equal to dicebook's, gradients too")

# %% [markdown]
# Set the two factors side by side for a negative. Focal's is $p_{i1}^\gamma$; Eq. 12's is $1 -
# p_{i1}$, because Eq. 12 takes p₁ whatever the label is.

# %%
p = torch.tensor([0.01, 0.1, 0.5, 0.9, 0.99])
pd.DataFrame({"focal, p²": p**2, "Eq. 12, 1 − p": 1 - p}, index=p.tolist()).round(4)

# %% [markdown]
# For the easiest negative, p = .01, focal's factor is .0001 and Eq. 12's is .99. For the hardest
# it is the other way round. **On positives the factor mimics focal loss; on negatives it is focal
# loss upside down.** It spares the hard negatives and leaves the easy ones as they were.
#
# The gradient on the logit settles it. And because the sum of a thousand small pushes matters, we
# also ask how many easy negatives (p = .01) it takes to outweigh one positive that is still at p
# = .1.


# %%
def dice_one(p, y, squared):  # Eq. 6 and Eq. 7
    k = 2 if squared else 1
    return 1 - (2 * p * y + 1) / (p**k + y + 1)


losses = {
    "CE": lambda p, y: focal_loss(p, y, 0.0),
    "FL, γ = 2": focal_loss,
    "Eq. 6, linear dice": lambda p, y: dice_one(p, y, False),
    "Eq. 7, squared dice": lambda p, y: dice_one(p, y, True),
    "Eq. 12, DSC": dsc_loss,
}
rows = {}
for name, loss in losses.items():
    x = torch.logit(torch.tensor([0.01, 0.1, 0.9, 0.1])).requires_grad_()
    loss(x.sigmoid(), torch.tensor([0.0, 0, 0, 1])).sum().backward()
    rows[name] = [f"{v:.2g}" for v in x.grad] + [round(abs(x.grad[3] / x.grad[0]).item())]
columns = ["negative .01", "negative .1", "negative .9", "positive .1", "easy per positive"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)

# %% [markdown]
# Read the first column. Cross entropy pushes an easy negative with .01, linear dice with .0097,
# DSC with .0095: the factor took two percent off. Squared dice pushes with .0002 and focal loss
# with three millionths.
#
# The last column: with cross entropy, 90 easy negatives outweigh one positive; with linear dice 6
# and with DSC 5, because a lowly positive gets so little from either. With squared dice it takes
# 425, with focal loss hundreds of thousands. **If easy negatives are your problem, squaring or
# focal loss treats it; (1 − p)p does not.** On a set the common denominator changes the exchange
# rate between the labels ([Eq. 4.4](eq-4-4)), not the ratio of an easy to a hard negative.

# %% [markdown]
# ## 6.9 Numerics: a power of nothing
#
# With 0 < α < 1 the function (1 − p)^α has an infinite slope at p = 1. In exact arithmetic p
# never gets there. In float32 it does, and not far out.

# %%
x = torch.tensor([5.0, 10, 16, 17, 20], dtype=torch.float32, requires_grad=True)
loss = dsc_loss(x.sigmoid(), torch.ones(5, dtype=torch.float32), alpha=0.01)
loss.sum().backward()
rows = {"p": x.sigmoid(), "loss": loss, "gradient": x.grad}
pd.DataFrame({k: v.detach().double() for k, v in rows.items()}, index=x.tolist()).round(6)

# %% [markdown]
# At logit 17, p rounds to 1. The gradient is NaN from there on, and the loss has jumped from
# about .05 to .5, as if the positive were missed. One such token in a batch and every weight of
# the model is NaN.
#
# (eq-6-4)=
# The cure is not to form 1 − p. With $\sigma$ the logistic function, $1 - p = \sigma(-x)$, and
# the logarithm of both is a built-in function that stays exact:
#
# $$
# \begin{aligned}
# q &= \exp\!\big(\log\sigma(x) + \alpha \log\sigma(-x)\big), \\
# \frac{dq}{dx} &= q\,\big(1 - (1+\alpha)\,p\big)
# \end{aligned} \tag{6.4}
# $$
#
# The derivative first, by sympy; it shows the turning point once more. Then the same five logits.

# %%
sigma = 1 / (1 + sp.exp(-X))
q_of_x = sigma * (1 - sigma) ** Ap
assert sp.simplify(sp.diff(q_of_x, X) / q_of_x - (1 - (1 + Ap) * sigma)) == 0


def q_stable(x, alpha):  # Eq. 6.4
    logsigmoid = torch.nn.functional.logsigmoid
    return torch.exp(logsigmoid(x) + alpha * logsigmoid(-x))


x = x.detach().requires_grad_()
loss = 1 - (2 * q_stable(x, 0.01) + 1) / (q_stable(x, 0.01) + 2)
loss.sum().backward()
dicebook_x = x.detach().requires_grad_()
BinarySelfAdjustingDiceLoss(squared=False, alpha=0.01, level="example", reduction="sum")(
    dicebook_x, torch.ones(5)
).backward()
torch.testing.assert_close(x.grad, dicebook_x.grad)
pd.DataFrame({"loss": loss.detach(), "gradient": x.grad}, index=x.tolist()).round(6)

# %% [markdown]
# No NaN, no jump, and the same gradient as dicebook's. (It is small and positive: at these logits
# the positive lies above p* = .99 and is pushed back.) Clamping p to at most 1 − ε, the usual
# patch, also avoids the NaN. What does it do to the gradient?

# %%
x = torch.tensor([10.0, 14, 18], dtype=torch.float32, requires_grad=True)
p_clamped = x.sigmoid().clamp(max=1 - 1e-6)
dsc_loss(p_clamped, torch.ones(3, dtype=torch.float32), alpha=0.01).sum().backward()
q_s = q_stable(x, 0.01)
exact = torch.autograd.grad((1 - (2 * q_s + 1) / (q_s + 2)).sum(), x)[0]
pd.DataFrame({"clamped": x.grad, "exact": exact}, index=x.tolist()).round(6)

# %% [markdown]
# Past the clamp the gradient is zero: an error of 100%, in silence. A negative out there would
# never be heard of again.

# %% [markdown]
# ## 6.10 Watch it: easy and hard examples under six losses
#
# To close, a film of all this. We choose examples of four kinds by their true probability q of
# being positive: easy negatives (q below .005), hard negatives (q above .2), hard positives (q
# below .2) and easy positives (q above .5). Six losses train on all 2000 examples from three
# starting biases, the last two above the turning point of α = 1. All probabilities are recorded.

# %%
x, y = imbalanced_blobs(2000, seed=0)
truth = optimal_logits(x).sigmoid()
groups = {
    "easy −": (y == 0) & (truth < 0.005),
    "hard −": (y == 0) & (truth > 0.2),
    "hard +": (y == 1) & (truth < 0.2),
    "easy +": (y == 1) & (truth > 0.5),
}
chosen = [torch.nonzero(mask)[:12, 0] for mask in groups.values()]
contestants = {
    "CE": torch.nn.BCEWithLogitsLoss(),
    "FL, γ = 2": BinaryFocalLoss(gamma=2.0),
    "DL, example level": BinaryDiceLoss(squared=True, level="example"),
    "DL, set level": BinaryDiceLoss(squared=True, level="set"),
    "DSC, set level, α = 1": BinarySelfAdjustingDiceLoss(squared=False, alpha=1.0, level="set"),
    "DSC, set level, α = 0.1": BinarySelfAdjustingDiceLoss(squared=False, alpha=0.1, level="set"),
}
film = {}
for bias in (-3, 0.5, 2):
    for name, loss in contestants.items():
        logits = train_logistic(loss, x, y, bias=bias, steps=120, record_every=3).logits
        film[bias, name] = logits[:, torch.cat(chosen)].sigmoid()
print({name: int(mask.sum()) for name, mask in groups.items()}, "of 2000; 12 of each are shown")

# %% tags=["hide-input"]
data = {
    str(b): {
        n: [[round(100 * v) for v in frame] for frame in film[b, n].tolist()] for n in contestants
    }
    for b in (-3, 0.5, 2)
}
counts = [len(index) for index in chosen]
style = """<style>.film{background:#fff;color:#222;padding:10px;border-radius:6px;
font:14px sans-serif}
.film .panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:8px}
.film button,.film select{font:inherit;padding:4px 10px;color:#222;background:#eee;
border:1px solid #888}
.film input{width:45%;vertical-align:middle}.film text{font:9px sans-serif;fill:#222}</style>"""
controls = """<div class="film" id="film06"><p><label>Starting bias <select>
<option>-3</option><option selected>0.5</option><option>2</option></select></label>
<button type="button">Play</button>
<input type="range" min="0" max="40" value="0" aria-label="training step">
step <output>0</output></p>
<div class="panels"></div></div>"""

# %% tags=["hide-input", "nbval-ignore-output"]
script = """<script>(()=>{const D=DATA,C=COUNTS,K=["easy −","hard −","hard +","easy +"],
H=["#0072B2","#D55E00","#CC79A7","#009E73"],R=document.getElementById("film06"),
sel=R.querySelector("select"),but=R.querySelector("button"),rng=R.querySelector("input"),
out=R.querySelector("output"),box=R.querySelector(".panels");let timer=null;
const Y=v=>110-v;const names=Object.keys(D["0.5"]);
box.innerHTML=names.map(n=>{let s=`<svg viewBox="-22 -14 182 142" role="img" aria-label="${n}">
<text x="0" y="-4" style="font-weight:bold;font-size:11px">${n}</text>
<path d="M0 10V110H156" fill="none" stroke="#888"/>
<path d="M0 60H156" stroke="#bbb" stroke-dasharray="3"/>`;
[0,.5,1].forEach(v=>s+=`<text x="-18" y="${Y(100*v)+3}">${v}</text>`);
K.forEach((k,g)=>{s+=`<text x="${g*39+4}" y="122">${k}</text>`;
for(let i=0;i<C[g];i++)s+=`<circle r="3.2" cx="${g*39+5+i*2.6}" fill="${H[g]}"
fill-opacity=".75"/>`});return s+"</svg>"}).join("");
const draw=()=>{out.textContent=3*rng.value;[...box.children].forEach((svg,k)=>{
const frame=D[sel.value][names[k]][rng.value];
svg.querySelectorAll("circle").forEach((c,i)=>c.setAttribute("cy",Y(frame[i])))})};
const stop=()=>{clearInterval(timer);timer=null;but.textContent="Play"};
but.onclick=()=>{if(timer)return stop();if(rng.value==rng.max)rng.value=0;but.textContent="Pause";
timer=setInterval(()=>{rng.stepUp();draw();if(rng.value==rng.max)stop()},150)};
rng.oninput=draw;sel.onchange=()=>{rng.value=0;draw()};draw()})()</script>"""
script = script.replace("DATA", json.dumps(data)).replace("COUNTS", json.dumps(counts))
HTML(style + controls + script)

# %% [markdown]
# *Six panels, one per loss; in each, four columns of dots: easy negatives, hard negatives, hard
# positives, easy positives. Height is the predicted probability of the positive class. Choose a
# starting bias and press Play. If you read this on paper, here is where the dots end: the median
# probability of each kind after the last step.*

# %%
rows = {}
for (bias, name), frames in film.items():
    parts = frames[-1].split(counts)
    rows[str(bias), name] = [round(part.median().item(), 2) for part in parts]
pd.DataFrame(rows.values(), pd.MultiIndex.from_tuples(rows), columns=list(groups))

# %% [markdown]
# Read the middle block, bias 0.5. With cross entropy the easy negatives end at .00 and the easy
# positives at .91; the two hard groups lie between, and in the wrong order, since a hard negative
# is one that looks like a positive. Focal loss stops early: .06 and .70 are on the right side,
# and that is enough for it. This is what the paper wants of a loss. Set-level dice goes on to the
# ends, .00 and .99. DSC with α = .1 does the same.
#
# And DSC with α = 1? Its easy negatives end at 1.00 and its easy positives at .11. It has not
# failed to learn. It has learned the classifier upside down, as [Eq. 6.2](eq-6-2) said it would
# from any bias above 0. From −3 it learns the right way round.
#
# ## Summary
#
# - [Eq. 12](eq-12) is [Eq. 6](eq-6) with (1 − p)p in place of p. It cannot tell p from 1 − p.
# - A positive above .5 is pushed down (+.549 at p = .9), a negative above .5 is pushed up
#   (−.673). Positives end at .5.
# - With an exponent α the loss turns at $p^* = 1/(1+\alpha)$, a logit of −ln α ([Eq.
#   6.2](eq-6-2)), on the set level too. Start with a bias below −ln α; above it every run
#   collapsed.
# - A positive's loss has a floor: .333 for α = 1, .105 for .1, .019 for .01.
# - On negatives, (1 − p) is focal's factor upside down: an easy negative keeps 95% of its push.
#   Squaring leaves 2% of it, focal loss .03%.
# - Never form (1 − p)^α from p: in float32 it gives NaN from a logit of 17 on. [Eq. 6.4](eq-6-4)
#   is exact.
#
# ## Exercises
#
# **1 (recall).** Which α puts the turning point at .95? What is then the floor of a positive's
# loss with γ = 1?

# %% tags=["solution", "hide-cell"]
wanted = sp.solve(sp.Eq(turn, sp.Rational(95, 100)), Ap)[0]
a = float(wanted)
print(f"alpha = {wanted} = {a:.4f}, floor {dsc_loss(torch.tensor(0.95), torch.tensor(1.0), a):.4f}")

# %% [markdown]
# **2 (recall).** How high is the hill of section 6.4, the greatest loss of a negative, as a
# function of γ with α = 1? And as γ → 0? What does that limit say about the gradient?

# %% tags=["solution", "hide-cell"]
hill = sp.factor((1 - eq12).subs({Y: 0, P: sp.Rational(1, 2)}))
display(Math(rf"{sp.latex(hill)} \to {sp.limit(hill, g, 0)}"))
# At γ → 0 a negative costs 1 for every p inside (0, 1): the hill is a plateau, its gradient zero.

# %% [markdown]
# **3 (derive).** Squaring came to the rescue of easy negatives. Put q = (1 − p)^α p into the
# squared dice of [Eq. 7](eq-7). Where does a positive stop now, for α = 1 and γ = 1? Does
# squaring cure the sign?

# %% tags=["solution", "hide-cell"]
one = 1 - (2 * (1 - P) * P + 1) / (((1 - P) * P) ** 2 + 2)
print("the derivative vanishes at", [r for r in sp.solve(sp.diff(one, P), P) if 0 < r < 1])
# Only .5: q stays below 1/4, where squared dice still falls with q. The turning point is that of q.

# %% [markdown]
# **4 (apply).** "One can think (1 − p) as a weight", says the paper. A weight is usually a
# constant to the gradient. Detach it: q = (1 − p).detach() · p. Check the signs at p = .9 for
# both labels, then train from b₀ = 2 with α = 1 on the set level.


# %% tags=["solution", "hide-cell"]
def detached(x, y):
    p = x.sigmoid()
    q = (1 - p).detach() * p
    return 1 - (2 * (q * y).sum() + 1) / (q.sum() + y.sum() + 1)


for label in (1.0, 0.0):
    x9 = torch.logit(torch.tensor([0.9])).requires_grad_()
    detached(x9, torch.tensor([label])).backward()
    print(f"y = {label:.0f}: dL/dx = {x9.grad.item():+.4f}")
for bias in (-3.0, 0.0, 2.0):
    fit = train_logistic(detached, x, y, bias=bias)
    said = fit.predict(x_test) > 0
    share = said.double().mean()
    print(f"start {bias:+.0f}: F1 {f1_score(said, y_test):.2f}, calls {share:.0%} positive")
# No collapse: the signs are right everywhere. But now nearly nothing pushes a sure false positive
# down, so eight times too many examples are called positive. Plain dice (α = 0) reaches .52.

# %% [markdown]
# **5 (numerics).** Find, for float32, float16 and bfloat16, the smallest logit (in steps of 1/8)
# at which p rounds to 1.

# %% tags=["solution", "hide-cell"]
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    steps = torch.arange(0, 40, 0.125).to(dtype)
    print(str(dtype)[6:], steps[steps.sigmoid() == 1][0].item())

# %% [markdown]
# **6 (small research).** A warm start: 50 steps of cross entropy, then set-level DSC with α = 1.
# Does it rescue the starts at +0.5 and +2? Give test F1 with a 95% interval over ten seeds, next
# to cross entropy alone. (`train_logistic` starts its slopes at zero; so switch the loss inside
# one training.)


# %% tags=["solution", "hide-cell"]
def warm(ce_steps):
    """A loss that is cross entropy for its first calls and DSC afterwards."""
    state, dsc = {"calls": 0}, BinarySelfAdjustingDiceLoss(squared=False, alpha=1.0)

    def loss(x, y):
        state["calls"] += 1
        is_warm = state["calls"] <= ce_steps
        return torch.nn.functional.binary_cross_entropy_with_logits(x, y) if is_warm else dsc(x, y)

    return loss


for name, ce_steps in (("DSC alone", 0), ("50 steps of CE, then DSC", 50), ("CE alone", 150)):
    for bias in (0.5, 2.0):
        scores = []
        for seed in range(10):
            (u, v), (ut, vt) = (imbalanced_blobs(2000, seed=2 * seed + k) for k in (0, 1))
            fit = train_logistic(warm(ce_steps), u, v, bias=bias, steps=150)
            scores.append(f1_score(fit.predict(ut) > 0, vt))
        i = interval(scores)
        print(f"{name:25} start {bias:+.1f}: {i.mean:.2f} ± {i.high - i.mean:.2f}")
# The warm start rescues the runs. It does not make them better than cross entropy alone.
