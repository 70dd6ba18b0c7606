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
# # 16 Why "dice loss does not optimise"
#
# Public implementations of dice loss go wrong in nine ways, and most of the nine raise no error: the loss has a
# value and a gradient, and the model learns nothing, or something else. This chapter writes each fault in a few
# lines, measures it, and fixes it.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** anyone whose dice loss stands still, turns NaN, or trains and finds nothing.
# - **You need** PyTorch, and the dice loss of chapter 04 at set level.
# - **You will be able to** find the cause from the symptom, fix it, and check any loss with one call.
# - **Time** one to two minutes on a CPU; a GPU does not help.
#
# </details>

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
import warnings
from functools import partial

import matplotlib.pyplot as plt
import pandas as pd
import torch
import torch.nn.functional as F

from dicebook import BinaryDiceLoss, DiceLoss, SelfAdjustingDiceLoss, diagnose, make_loss
from dicelab.figures import use_style
from dicelab.records.runs import kept_records

use_style()
warnings.filterwarnings("ignore", message="squared=False")  # section 16.14 shows what it warns of


# %% tags=["remove-cell"]
def tagger_batch(N, C=9, seed=0):
    generator = torch.Generator().manual_seed(seed)
    entity = torch.randint(1, C, (N,), generator=generator)
    y = torch.where(torch.rand(N, generator=generator) < 5 / 6, 0, entity)
    return torch.randn(N, C, generator=generator), y


def dice_sum(logits, y, smooth=1e-6, mixed=False):
    """The linear dice losses of all classes, summed; mixed: with a numerator per example."""
    p, t = logits.softmax(-1), F.one_hot(y, logits.shape[-1])
    overlap = 2 * p * t if mixed else 2 * (p * t).sum(0)
    losses = 1 - (overlap + smooth) / ((p + t).sum(0) + smooth)
    return losses.mean(0).sum() if mixed else losses.sum()


def train(loss, optimizer, steps=60, C=4):
    """The loss at each step, and at the end the loss that was meant."""
    generator = torch.Generator().manual_seed(1)
    _, y = tagger_batch(2000, C)
    x = torch.randn(len(y), 8, generator=generator) + 3 * F.one_hot(y, 8)
    W = torch.zeros(8, C, requires_grad=True)
    step, seen = optimizer([W]), []
    for _ in range(steps):
        value = loss(x @ W, y)
        step.zero_grad()
        value.backward()
        step.step()
        seen.append(value.item())
    return seen, dice_sum(x @ W, y).item()


# %% mystnb={"figure": {"caption": "Figure 16.1. The loss at each step, four classes, 2,000 examples. Three of the four lines lie on each other at 4.", "name": "fig-16-1"}, "image": {"alt": "Loss over 60 steps. The mixed loss with SGD, with Adam, and with gamma 1 and Adam, stays at 4 throughout. The fixed loss with SGD falls from 3.4 to below 0.5."}} tags=["hide-input"]
def sgd(parameters):
    return torch.optim.SGD(parameters, lr=1.0)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.1)


mixed = partial(dice_sum, mixed=True)
runs = {
    "mixed, SGD": train(mixed, sgd),
    "mixed, Adam": train(mixed, adam),
    "mixed, γ = 1, Adam": train(partial(mixed, smooth=1.0), adam),
    "fixed, SGD": train(dice_sum, sgd),
}
plt.figure(figsize=(5.6, 2.8))
for (name, (seen, _)), line in zip(runs.items(), ("-", "--", ":", "-."), strict=True):
    plt.plot(seen, line, label=name)
plt.gca().set(xlabel="step", ylabel="loss", ylim=(0, 4.2))
plt.legend(loc="center right")
plt.show()


# %% [markdown]
# The loss that stands at 4 has the first of the nine faults (section 16.3).
#
# ## 16.1 Symptoms
#
# | What you see | Likely cause | In |
# |---|---|---|
# | The loss stands at the number of classes, 3.99 or 8.999; at 0.9998 with one class | numerator per example | 16.3 |
# | It moves only with a learning rate a thousand times larger | the same | 16.3 |
# | The loss is small from the start, and F1 is 0 | smoothing counted N times | 16.4 |
# | Dice behaves like accuracy, rare classes are never found | sums over classes | 16.5 |
# | Out of memory in the loss, or padding changes the result | mask of N × N | 16.6 |
# | Loss outside of 0 to 1, or too good; "index -100 out of bounds" | −100 as a label | 16.7 |
# | Two labels at 0.99 for one token; loss fine, argmax not | sigmoid for softmax | 16.8 |
# | NaN after many good steps; the loss jumps as p nears 1 | (1 − p)^α at p = 1 | 16.9 |
# | NaN, or a class stuck at 1, on long batches of a model in fp16 | sums in half precision | 16.10 |
# | Recall near 1, precision at the share of positives | mining keeps none | 16.11 |
# | Right answers drift back to 0.5 | α = 1, as in print | 16.12 |
# | Flat from the first step, with a model that is sure | saturated | 16.12 |
# | The loss of a perfect model is above 0 | no fault: a self-adjusting loss | [06](06_self_adjusting_dice.ipynb) |
# | Only the majority class is ever said | linear, smoothed, rare classes | 16.14 |
#
# If nothing fits, let `diagnose` look (section 16.13).
#
# Seven of the nine are in the code that the paper's authors released,
# [dice_loss_for_NLP](https://github.com/ShannonAI/dice_loss_for_NLP), file `loss/dice_loss.py` as of
# commit d1ff9e5.
#
# | Section | In `dice_loss.py` |
# |---|---|
# | 16.3 | several classes: a numerator for each example over a sum of the whole batch |
# | 16.4 | not in it: γ is added once |
# | 16.5 | several classes, squared: both sums for each example; its scripts use this form |
# | 16.6 | one logit: the input is flattened and the mask is not, so a mask of [N, 1] broadcasts |
# | 16.7 | several classes: −100 raises; one logit: it is computed with |
# | 16.8 | not in it: it takes a softmax for several classes |
# | 16.9 | (1 − p) ** α on probabilities |
# | 16.10 | sums in the dtype of the input |
# | 16.11 | the threshold's index is off, see there |
#
# A fault of another kind is in a *baseline*, its `focal_loss.py` (section 16.12).

# %% [markdown]
# ## 16.2 A batch to break things on
#
# The batch has nine labels as in CoNLL 2003, and five tokens in six are `O`. The logits are random, as before
# training.

# %% tags=["hide-input"]
def binary_batch(N, seed=0):
    generator = torch.Generator().manual_seed(seed)
    y = (torch.rand(N, generator=generator) < 0.1).float()
    return torch.randn(N, generator=generator) - 1, y


def gradient(loss, logits, *rest):
    leaf = logits.detach().clone().requires_grad_()
    return torch.autograd.grad(loss(leaf, *rest), leaf)[0]


x, y = tagger_batch(8192)
print("tokens per label:", torch.bincount(y).tolist())


# %% [markdown]
# ## 16.3 The loss that stands at C
#
# The numerator is written for each example, the denominator sums over the batch, and the mean comes last:

# %%
def mixed_dice(logits, y, smooth=1e-6):
    p, t = logits.softmax(-1), F.one_hot(y, logits.shape[-1])
    numerator = 2 * p * t + smooth  # [N, C]: one for each example
    denominator = (p + t).sum(0) + smooth  # [C]: one for the batch
    return (1 - numerator / denominator).mean(0).sum()


def set_dice(logits, y, smooth=1e-6):
    p, t = logits.softmax(-1), F.one_hot(y, logits.shape[-1])
    numerator = 2 * (p * t).sum(0) + smooth  # [C]: one for the batch
    denominator = (p + t).sum(0) + smooth
    return (1 - numerator / denominator).sum()


perfect = 20.0 * F.one_hot(y, 9)
for name, loss in (("mixed", mixed_dice), ("fixed", set_dice)):
    at_start, at_best = loss(x, y), loss(perfect, y)
    print(f"{name}: know-nothing {at_start:.4f}, perfect {at_best:.4f}")

# %% [markdown]
# From a model that knows nothing to a perfect one, the loss moves from 8.9999 to 8.9989.

# %% [markdown]
# (eq-16-1)=
# Leave γ aside. The loss that was meant is
#
# $$
# \mathcal{L} = \sum_c \Big( 1 - \frac{2\,O_c}{D_c} \Big) = C - \sum_c \frac{2\,O_c}{D_c},
# \qquad O_c = \sum_i p_{ic} y_{ic}, \qquad D_c = \sum_i (p_{ic} + y_{ic})
# $$
#
# and the one above is
#
# $$
# \begin{aligned}
# \tilde{\mathcal{L}} &= \sum_c \frac{1}{N} \sum_i \Big( 1 - \frac{2\,p_{ic}\,y_{ic}}{D_c} \Big) \\
# &= C - \frac{1}{N} \sum_c \frac{2\,O_c}{D_c} = C - \frac{C - \mathcal{L}}{N}
# \end{aligned} \tag{16.1}
# $$
#
# (eq-16-2)=
# and so
#
# $$ \nabla \tilde{\mathcal{L}} = \frac{1}{N} \nabla \mathcal{L} \tag{16.2} $$
#
# The table checks both:

# %% tags=["hide-input"]
rows = {}
for N in (128, 512, 2048, 8192, 32_768, 65_536):
    x64, y64 = tagger_batch(N)
    x64 = x64.double()
    value, right = mixed_dice(x64, y64, 0.0), set_dice(x64, y64, 0.0)
    g, g_right = gradient(mixed_dice, x64, y64, 0.0), gradient(set_dice, x64, y64, 0.0)
    torch.testing.assert_close(value, 9 - (9 - right) / N)  # Eq. 16.1
    torch.testing.assert_close(g, g_right / N)  # Eq. 16.2
    rows[f"{N:,}"] = [f"{value:.5f}", f"{right:.4f}", f"{g_right.norm() / g.norm():,.0f}"]
columns = ["mixed loss", "loss that was meant", "gradient is smaller by"]
pd.DataFrame(rows, columns).T.rename_axis("N")

# %% [markdown]
# Plain gradient descent hardly moves. Adam divides by the gradient's size, so the factor 1/N does no harm while
# the gradient stays above Adam's ε of 10⁻⁸. But γ = 1 added to *every* numerator turns the gradient, too:

# %%
for smooth in (1e-6, 1e-2, 1.0):
    a = gradient(mixed_dice, x, y, smooth).flatten()
    b = gradient(set_dice, x, y, smooth).flatten()
    cosine = F.cosine_similarity(a, b, dim=0)
    print(f"γ {smooth:<6g} cosine between the gradients {cosine:.2f}")

# %% tags=["hide-input"]
print(f"the loss that was meant begins at {runs['fixed, SGD'][0][0]:.2f} and ends at")
{name: round(meant, 2) for name, (_, meant) in runs.items()}

# %% [markdown]
# In [Figure 16.1](fig-16-1) all the mixed losses stand at 4, whether they learn or not. The loss that was meant
# tells them apart. With SGD the mixed loss has learnt next to nothing. With Adam it has learnt as much as the
# fixed one. With γ = 1 the loss that was meant stays above 2.

# %% [markdown]
# **Recognise it**: repeat the batch. The loss moves towards C.

# %%
small, y_small = x[:256], y[:256]
for copies in (1, 8):
    value = mixed_dice(small.repeat(copies, 1), y_small.repeat(copies))
    print(f"{copies} times: {value:.4f}")

# %% [markdown]
# **Fix**: sum the numerator over the same examples as the denominator. `DiceLoss` does so, and takes the mean
# over classes:

# %%
linear = DiceLoss(squared=False)
at_start, at_best = linear(x, y), linear(perfect, y)
print(f"DiceLoss: know-nothing {at_start:.3f}, perfect {at_best:.3f}")


# %% [markdown]
# ## 16.4 Smoothing counted N times
#
# γ stands inside the sums, so that N examples add Nγ above and below.

# %%
def smoothed_n_times(logits, y, smooth=1.0):
    p = logits.sigmoid()
    return 1 - (2 * p * y + smooth).sum() / (p + y + smooth).sum()


xb, yb = binary_batch(8192)
nothing, everything = torch.full_like(xb, -20.0), torch.full_like(xb, 20.0)
said = {"know-nothing": xb, "never": nothing, "always": everything}
once = BinaryDiceLoss(smooth=1.0, squared=False)
for name, loss in (("γ inside", smoothed_n_times), ("γ once", once)):
    costs = [f"{says} {loss(z, yb):.3f}" for says, z in said.items()]
    print(f"{name:9}", *costs)

# %% [markdown]
# A model that never says yes has an F1 of 0 and a loss of 0.09. With γ once it costs 0.999.

# %% [markdown]
# **Recognise it**: add easy negatives. A dice loss hardly changes, this one sinks.

# %%
more = torch.cat([nothing, torch.full((80_000,), -20.0)])
y_more = torch.cat([yb, torch.zeros(80_000)])
for name, loss in (("γ inside", smoothed_n_times), ("γ once", once)):
    print(f"{name:9} {loss(nothing, yb):.3f} → {loss(more, y_more):.3f}")


# %% [markdown]
# **Fix**: add γ after the sum, once.
#
# ## 16.5 A squared form that is the error rate
#
# [Eq. 8](eq-8) sums over **examples**. With `dim=1` for `dim=0` the sum runs over the classes of each example,
# and the shapes still fit.

# %%
def squared_over_classes(logits, y, smooth=1.0):
    p, t = logits.softmax(-1), F.one_hot(y, logits.shape[-1])
    numerator = 2 * (p * t).sum(1) + smooth
    return (1 - numerator / ((p**2).sum(1) + (t**2).sum(1) + smooth)).mean()


def hard(prediction):
    return 50.0 * F.one_hot(prediction, 9)


only_O = torch.zeros_like(y)
wrong_O = torch.where((y == 0) & (torch.arange(len(y)) % 5 == 0), 1, y)
rows = {}
taggers = {"says O to all": only_O, "20% of the O's wrong": wrong_O}
for name, said in taggers.items():
    error = (said != y).float().mean()
    here = squared_over_classes(hard(said), y)
    eq_8 = DiceLoss(squared=True)(hard(said), y)
    cells = (error, 2 / 3 * error, here, eq_8)
    rows[name] = [f"{value:.4f}" for value in cells]
pd.DataFrame(rows, ["error rate", "2/3 of it", "this loss", "Eq. 8"]).T


# %% [markdown]
# On hard predictions a right example costs $1 - (2+γ)/(2+γ) = 0$ and a wrong one $1 - γ/(2+γ) = 2/3$. So the
# loss **is** the error rate, times 2/3. A tagger that finds no entity and one that finds them all but errs at
# some O's cost nearly the same; Eq. 8 tells them apart. The released code takes each example and class alone;
# with γ = 1 that is the error rate itself. The paper's per-example losses ([Eq. 7](eq-7)) follow accuracy, too
# ([chapter 04](04_dice_loss.ipynb)).

# %% [markdown]
# **Recognise it**: compare the loss with `(prediction != y).float().mean()` at two hard predictions. **Fix**:
# `level="set"`, dicebook's default.
#
# ## 16.6 A mask that broadcasts to N × N
#
# A mask of shape [N, 1] times probabilities of shape [N] raises no error and gives a matrix.

# %%
def masked_dice(logits, y, mask):
    p, mask = logits.sigmoid(), mask.unsqueeze(-1)  # [N] and [N, 1]
    p, t = p * mask, y * mask  # [N, N]
    return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


xs, ys = binary_batch(512)
mask = (torch.arange(512) % 4 != 0).float()
kept = mask.bool()
sound = BinaryDiceLoss(squared=False)
print(f"with the mask {masked_dice(xs, ys, mask):.4f}")
print(f"without those rows {sound(xs[kept], ys[kept]):.4f}")
print(f"65,536 tokens: {65_536**2 * 4 / 2**30:.0f} GiB")
for name, loss in (("N × N", masked_dice), ("dicebook", sound)):
    leak = gradient(loss, xs, ys, mask)[~kept].abs().max()
    print(f"{name:9} largest gradient of a masked token {leak:.1e}")

# %% [markdown]
# Memory grows with the square of the batch, and masked tokens get a gradient.
#
# **Recognise it**: compare with the rows dropped by hand. **Fix**: give the mask the labels' shape. dicebook
# refuses any other:

# %%
try:
    BinaryDiceLoss(squared=False)(xs, ys, mask.unsqueeze(-1))
except ValueError as error:
    print(error)


# %% [markdown]
# ## 16.7 −100 as a label
#
# Tokenisers and collators mark what does not count by −100, and a loss may take it for a number:

# %%
def plain_dice(logits, y):
    p = logits.sigmoid()
    return 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)


rows = {}
for every in (256, 64, 16, 4):
    padded = ys.clone()
    padded[::every] = -100
    costs = [loss(xs, padded) for loss in (plain_dice, sound)]
    rows[f"1 in {every}"] = [f"{cost:.3f}" for cost in costs]
try:
    set_dice(x, torch.where(torch.arange(len(y)) % 4 == 0, -100, y))
except RuntimeError as error:
    print("multi-class:", str(error).splitlines()[0])
pd.DataFrame(rows, ["plain", "dicebook"]).T.rename_axis("padded")


# %% [markdown]
# Multi-class code stops, binary code goes on. With one token in 256 padded the loss is 13, which no dice loss
# can be. With every fourth it is 0.463, where the real tokens cost 0.877.

# %% [markdown]
# **Recognise it**: `y.min() < 0`, or a loss outside of [0, 1]. **Fix**: drop those rows; dicebook does, by
# `ignore_index=-100`.
#
# ## 16.8 Sigmoid where softmax is meant
#
# Where one label of nine is right, the nine probabilities must add up to 1. Sigmoids need not.

# %%
def sigmoid_dice(logits, y):
    p, t = logits.sigmoid(), F.one_hot(y, logits.shape[-1])
    return (1 - (2 * (p * t).sum(0) + 1) / ((p + t).sum(0) + 1)).mean()


token = torch.tensor([4.6, 4.7, -4.0, -4.0])
answers = {"sigmoids": token.sigmoid(), "softmax": token.softmax(-1)}
for name, p in answers.items():
    print(f"{name:9}", [f"{value:.2f}" for value in p])
for name, loss in (("sigmoid", sigmoid_dice), ("softmax", linear)):
    print(f"{name}: {loss(x, y):.4f}; at logits + 3: {loss(x + 3, y):.4f}")


# %% [markdown]
# **Recognise it**: add a constant to all logits, which a softmax does not see. **Fix**: softmax over the last
# dimension; for several right labels at once, `BinaryDiceLoss` on [..., C].
#
# ## 16.9 (1 − p)^α at p = 1
#
# The self-adjusting loss ([Eq. 12](eq-12)) with the exponent of the authors' code has
#
# $$ q = (1 - p)^α\,p, \qquad \frac{\mathrm{d}}{\mathrm{d}p}\,(1-p)^α = -α\,(1-p)^{α-1} $$
#
# For α < 1 the derivative is infinite at p = 1, which a float reaches.

# %%
def naive_dsc(logits, y, alpha=0.01):
    p = logits.sigmoid()
    q = (1 - p) ** alpha * p
    return 1 - (2 * (q * y).sum() + 1) / (q.sum() + y.sum() + 1)


one = torch.ones(1)
safe = make_loss("binary_dsc", alpha=0.01, squared=False)
rows = {}
for logit in (8.0, 16.0, 16.6, 16.7, 20.0, 30.0):
    z = torch.tensor([logit])
    cells = []
    for loss in (naive_dsc, safe):
        cells += [loss(z, one), gradient(loss, z, one)]
    rows[logit] = [f"{cell.item():.4g}" for cell in cells]
names = ["naive loss", "its gradient", "dicebook's loss", "its gradient "]
pd.DataFrame(rows, names).T.rename_axis("logit of one positive")

# %% [markdown]
# At a logit of 16.7 p rounds to 1. The gradient is NaN, and the value jumps from 0.05 to 0.5. In half precision
# it happens earlier:

# %%
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    grid = torch.arange(0, 20, 0.05).to(dtype)
    first = grid[grid.sigmoid() == 1][0].item()
    print(f"{dtype}: p is 1 from a logit of {first:.2f}")

# %% [markdown]
# **Recognise it**: look at the gradient of one positive at logit 20. **Fix**: never form 1 − p. In logits
#
# $$ 1 - p = σ(-x), \qquad q = \exp\big(\log σ(x) + α \log σ(-x)\big) $$
#
# which is exact and smooth:

# %%
z = torch.tensor([-20.0, 0.0, 20.0, 100.0], requires_grad=True)
q = torch.exp(F.logsigmoid(z) + 0.01 * F.logsigmoid(-z))
q.sum().backward()
print("q       ", [f"{v:.4f}" for v in q.tolist()])
print("gradient", [f"{v:.1e}" for v in z.grad.tolist()])


# %% [markdown]
# A clamp of p to 1 − 10⁻⁶ also stops the NaN, but the gradient beyond it is 0.
#
# ## 16.10 Sums in half precision
#
# float16 ends at 65,504. In a batch of 200,000 tokens, most of them O, $\sum p$ is larger.

# %%
def dice_as_given(logits, y):
    p = logits.softmax(-1)
    t = F.one_hot(y, logits.shape[-1]).to(p.dtype)
    return (1 - (2 * (p * t).sum(0) + 1) / (p.sum(0) + t.sum(0) + 1)).mean()


# %% tags=["hide-input"]
labels = tagger_batch(200_000)[1]
rows = {}
for name, size in (("knows nothing", 0.0), ("is sure", 4.0)):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        z = (size * F.one_hot(labels, 9)).to(dtype)
        of_O = gradient(dice_as_given, z, labels)[labels == 0, 0].abs().max()
        costs = [f"{loss(z, labels):.4f}" for loss in (dice_as_given, linear)]
        rows[name, str(dtype)[6:]] = [*costs, f"{of_O:.0e}"]
pd.DataFrame(rows, ["loss", "DiceLoss", "gradient of O's logit"]).T


# %% [markdown]
# In float16 the sum for O is infinite. At the start O's fraction is finite over infinite: its loss is exactly
# 1, and its gradient 0. Once the model is sure, the fraction is infinite over infinite, and the loss is NaN. On
# a GPU, torch's autocast runs softmax and sum in float32 and hides the fault; it shows in a model that was
# loaded in half precision, and in a loss that sums by `einsum`.
#
# **Recognise it**: `loss(logits.float(), y)` differs from `loss(logits, y)`. **Fix**: cast to float32 at the
# top of the loss.
#
# ## 16.11 Mining that keeps none
#
# Hard example mining keeps the negatives that are most wrong. A threshold at the wrong end keeps none.

# %%
def mined_dice(logits, y, ratio=3, end=0):
    p = logits.sigmoid()
    keep = int(ratio * y.sum())
    hardest = p[y == 0].topk(keep).values  # from the hardest down
    kept = (y == 1) | (p > hardest[end])  # end=0: above the hardest of all
    p, t = p[kept], y[kept]
    return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


always = xb + 6  # says yes to everything
for name, end in (("wrong end", 0), ("fixed", -1)):
    g = gradient(mined_dice, xb, yb, 3, end)[yb == 0]
    cost = mined_dice(always, yb, 3, end)
    reached = (g != 0).sum()
    print(f"{name}: {reached} of {len(g)} negatives have a gradient")
    print(f"  saying always yes costs {cost:.3f}")


# %% [markdown]
# Without a negative, saying yes to everything is perfect. A batch without positives keeps no negative either,
# as "three for each positive" is none.
#
# The released code has this for decisions with one logit. It sorts upwards, takes the element [−k + 1] for the k-th from the top, and keeps what is
# *strictly* larger. That index is one too high, and for k of 0 or 1 it counts from the other end. What it keeps
# of 1,000 negatives when k are wanted:

# %%
def kept_of(n, k):
    ordered = torch.arange(n)  # scores of the negatives, upwards
    return (ordered > ordered[-k + 1]).sum().item()


kept_for = {k: kept_of(1000, k) for k in (0, 1, 2, 3, 30)}
pd.Series(kept_for, name="kept").rename_axis("wanted").to_frame().T

# %% [markdown]
# Nearly all of them where none or one is wanted, none where two are, and k − 2 from then on. The released
# scripts want 0.3 negatives for each positive, so k stays at 0 or 1 up to six positives, and nothing is mined
# there.

# %% [markdown]
# **Recognise it**: count the negatives with a gradient, and the batches without a positive. **Fix**:
# `ohem_ratio` in dicebook's losses.
#
# ## 16.12 What is no bug and looks like one
#
# **Right answers drift back.** [Eq. 12](eq-12) with α = 1 pushes every positive above 0.5 down again ([chapter
# 06](06_self_adjusting_dice.ipynb)). Take α of 0.1 or less.
#
# **Flat from the first step.** Each dice loss has p(1 − p) in its gradient by the logit. Where the model is
# sure and wrong, cross entropy has its largest gradient and dice hardly any:

# %%
z = torch.tensor([-12.0, -6.0, -3.0, 0.0])
rows = {}
for name in ("binary_ce", "binary_dl", "binary_dsc"):
    slopes = [gradient(make_loss(name), logit, one) for logit in z.split(1)]
    rows[name.removeprefix("binary_")] = [f"{g.item():.1e}" for g in slopes]
pd.DataFrame(rows, z.tolist()).rename_axis("logit of a positive")


# %% [markdown]
# **Fix**: begin with some steps of cross entropy, or set the output bias to the log-odds of the classes'
# shares. (That is for a model that is sure and wrong. Against the cause in section 16.14 neither helped,
# [9.9](09_named_entities.ipynb).)
#
# A clamp log(p + 10⁻⁴), meant against log 0 in float16, makes cross entropy flat, too, and a baseline weak. The
# released `focal_loss.py` (commit d7704c1) has it:

# %%
def clamped(z):
    return -torch.log(z.sigmoid() + 1e-4).sum()


def whole(z):
    return F.softplus(-z).sum()


for loss in (clamped, whole):
    slope = gradient(loss, torch.tensor([-12.0])).item()
    print(f"a positive at logit −12, {loss.__name__}: gradient {slope:.3f}")

# %% [markdown]
# **Jumpy curves.** A batch with few positives says little about the set: with 1% positives 85% of the batches
# of 16 have none, and 8% of those of 256.

# %% [markdown]
# ## 16.13 One call
#
# `diagnose` makes all of these checks, and more, on any loss and a batch:

# %%
print(diagnose(mixed_dice, x[:512], y[:512]))


# %% [markdown]
# Each problem comes with its fix. Of `DiceLoss` it reports no problem. All the losses of this chapter at once:

# %% tags=["hide-input"]
def masked_or_not(logits, y, mask=None):
    return plain_dice(logits, y) if mask is None else masked_dice(logits, y, mask)


padded_yb = yb.clone()
padded_yb[-3:] = padded_yb[:3] = -100
suspects = {
    "16.3 numerator per example": (mixed_dice, x, y, "batch size"),
    "16.4 smoothing N times": (smoothed_n_times, xb, yb, "measure"),
    "16.5 squared over classes": (squared_over_classes, x, y, "measure"),
    "16.6 mask N × N": (masked_or_not, xb, yb, "mask"),
    "16.7 −100 as a label": (plain_dice, xb, padded_yb, "ignored labels"),
    "16.8 sigmoid": (sigmoid_dice, x, y, "shift"),
    "16.9 (1 − p)^α": (naive_dsc, xb, yb, "saturation"),
    "16.10 half precision": (dice_as_given, x, y, "half precision"),
    "16.11 mining": (mined_dice, xb, yb, "reach"),
    "16.12 α = 1": (lambda x, y: naive_dsc(x, y, 1.0), xb, yb, "sign"),
}

# %% tags=["hide-input"]
rows = {}
for name, (loss, logits, labels, check) in suspects.items():
    report = diagnose(loss, logits[:512], labels[:512])
    others = [finding.name for finding in report.problems if finding.name != check]
    rows[name] = [check, report[check].verdict, ", ".join(others)]
pd.DataFrame(rows, ["check", "verdict", "other problems"]).transpose()


# %% [markdown]
# Each fault is found by its own check. Three come as notes: to follow accuracy is right for cross entropy, and
# to sum in half precision under autocast. The last column is no false alarm: a sum over dimension 0, for
# instance, is wrong for [B, T, C].

# %% [markdown]
# ## 16.14 Sound, and yet it does not train
#
# The code of a linear dice loss over a set can be right, and a tagger trained with it may still say O everywhere. The
# paper prints no such loss. Its dice loss has squared denominators ([Eq. 8](eq-8)), its linear losses are taken of one
# example at a time ([Eq. 6](eq-6)), and the released scripts ask for the squared form. But the two are easily combined.
#
# (eq-16-3)=
# Take one class of a batch of n words, A of them gold, and a model that gives this class the same small
# probability p at every word, as at the start. The class's linear dice loss and its slope at p = 0 are
#
# $$
# \mathcal{L} = 1 - \frac{2Ap + γ}{np + A + γ}, \qquad
# \frac{\mathrm{d}\mathcal{L}}{\mathrm{d}p}\Big|_{0} = \frac{nγ - 2A(A + γ)}{(A + γ)^2} \tag{16.3}
# $$
#
# As long as $nγ > 2A(A + γ)$ that is **positive**: the class is pushed down, and stays there, as its gradient
# fades with p. With squared denominators $np$ becomes $np^2$, which is flat at 0, and the slope is $-2A/(A +
# γ)$, never positive. Both against autograd, for n = 600:

# %% tags=["hide-input"]
def slope_at_zero(A, n=600, **options):
    """Slope of the class's loss in a common small p, through the logits that a user gives."""
    z = torch.full((n,), -16.0, dtype=torch.float64)
    p = z[0].sigmoid()
    gold = (torch.arange(n) < A).double()
    return (gradient(BinaryDiceLoss(**options), z, gold).sum() / (p * (1 - p))).item()


rows = {}
for A in (1, 3, 10, 16, 17, 30):
    formula = (600 - 2 * A * (A + 1)) / (A + 1) ** 2  # Eq. 16.3 with γ = 1
    measured = slope_at_zero(A, squared=False), slope_at_zero(A, squared=True)
    rows[A] = [
        round(value, 2)
        for value in (formula, *measured, slope_at_zero(A, squared=False, smooth=1e-4))
    ]
columns = ["Eq. 16.3", "linear, γ = 1", "squared, γ = 1", "linear, γ = 10⁻⁴"]
slopes = pd.DataFrame(rows, columns).T.rename_axis("A")
slopes

# %% [markdown]
# With γ = 1 a class needs 17 gold words among 600 to be pulled up at all. In WNUT 2017 a batch of 600 holds six
# of its commonest tag other than O, so *all* of its entity tags are pushed down. Squares or a small γ make the
# slope negative. Given the counts of a corpus, `diagnose` trains a toy tagger, F1 in percent:

# %% tags=["hide-input"]
label_counts = [59570, 660, 548, 335, 264, 245, 221, 206, 203, 150, 142, 140, 46]  # O first
not_O = list(range(1, len(label_counts)))
starters = {
    "dice, linear": DiceLoss(squared=False, absent="keep"),
    "linear, absent skipped": DiceLoss(squared=False, absent="skip"),
    "linear, absent skipped, without O": DiceLoss(squared=False, absent="skip", classes=not_O),
    "linear, γ = 10⁻⁴": DiceLoss(squared=False, absent="keep", smooth=1e-4),
    "dice, squared": DiceLoss(squared=True, absent="keep"),
    "squared, absent skipped": DiceLoss(squared=True, absent="skip"),
    "cross entropy": make_loss("ce"),
}
toy = {
    name: diagnose(loss, counts=label_counts)["standing start"] for name, loss in starters.items()
}
rows = {name: [finding.verdict, round(finding.number)] for name, finding in toy.items()}
pd.DataFrame(rows, ["verdict", "F1 of the toy"]).transpose()

# %% [markdown]
# And MiniLM on 1,000 sentences of WNUT 2017, three passes ([The records](../docs/records.md)); means of three
# seeds, and the ranges:

# %% tags=["hide-input"]
linear_form = {"squared": False, "smooth": 1.0, "absent": "keep", "outside": True}
asked = {
    "dice, linear": linear_form,
    "linear, absent skipped, without O": {**linear_form, "absent": "skip", "outside": False},
    "linear, γ = 10⁻⁴": {**linear_form, "smooth": 1e-4},
    "dice, squared": {**linear_form, "squared": True},
    "squared, absent skipped": {**linear_form, "squared": True, "absent": "skip"},
}
tried = {}
for one_run in kept_records("first_try"):
    given = one_run["parameters"]
    usual = (given["corpus"], given["learning_rate"], given["batch_size"], given["precision"])
    moved = given["options"]["warm_start"] or given["options"]["outside_bias"]
    if usual != ("wnut17", 2e-4, 32, "bf16") or moved:
        continue
    options = {key: value for key, value in given["options"].items() if key in linear_form}
    named = [name for name, wanted in asked.items() if given["loss"] == "dl" and wanted == options]
    for name in named + ["cross entropy"] * (given["loss"] == "ce"):
        tried.setdefault(name, []).append(one_run["metrics"]["test"])

# %% tags=["hide-input"]
scores = {name: pd.DataFrame(tried[name])[["f1", "accuracy"]] for name in toy if name in tried}
real = pd.DataFrame({name: seeds.mean() for name, seeds in scores.items()}).T
shown = {
    name: {
        title: f"{s[metric].mean():.1f} ({s[metric].min():.1f} to {s[metric].max():.1f})"
        for metric, title in (("f1", "test F1, %"), ("accuracy", "tags right, %"))
    }
    for name, s in scores.items()
}
pd.DataFrame(shown).T

# %% [markdown]
# Linear dice over a set finds nothing, in the toy and on real text, and still has 93% of the tags
# right, all of them O. Squares or a small γ fix it.
#
# In the row without O two seeds of the three train. With the other the F1 is above cross entropy's with that
# seed, and **2% of the tags are right**: no class holds the words outside of entities. The model gives them
# some I- tag, and strict scoring of IOB2 tags ignores an I- that continues nothing. So print accuracy beside
# F1.

# %% [markdown]
# ## Summary
#
# - A dice loss that stands at C has its numerator per example and its denominator per batch. Its gradient is
#   the right one over N, and Adam may hide it.
# - γ belongs outside of the sums; the sums are over examples, not classes, and in float32.
# - Shapes that broadcast, −100, and sigmoids raise no error.
# - Never form 1 − p, and count the negatives that mining keeps.
# - A sound loss may still not leave the majority class: linear dice pushes a class with A gold words among n
#   down while nγ > 2A(A + γ). Squares or a small γ fix it.
# - Before a long run: `print(diagnose(loss, logits, labels, counts=counts))`.

# %% [markdown]
# ## Exercises
#
# **1 (recall).** Your loss with 5 classes prints 4.997 on batches of 1,024 tokens. Which loss did
# its author mean, and what is its value?

# %% tags=["solution", "hide-cell"]
print(f"Eq. 16.1 solved for L: {5 - 1024 * (5 - 4.997):.2f}, the sum of five dice losses")

# %% [markdown]
# **2 (by hand).** What does the loss of 16.4 cost for "says never" with a share π of positives, γ =
# 1 and many examples? Check it at π = 0.1.

# %% tags=["solution", "hide-cell"]
share = yb.mean().item()
print(f"1 − N/(πN + N) = π/(1 + π) = {share / (1 + share):.3f}")
print(f"measured {smoothed_n_times(nothing, yb):.3f}")


# %% [markdown]
# **3 (recognise).** Write a three-line test that fails for the loss of 16.3 and passes for the
# fixed one, for your own test suite.

# %% tags=["solution", "hide-cell"]
def gradient_survives_repetition(loss):
    g1, g8 = gradient(loss, small, y_small), gradient(loss, small.repeat(8, 1), y_small.repeat(8))
    return torch.allclose(g8.view(8, *g1.shape).sum(0), g1, rtol=0.01, atol=1e-7)


{loss.__name__: gradient_survives_repetition(loss) for loss in (mixed_dice, set_dice)}

# %% [markdown]
# **4 (Adam).** At which N does Adam's ε = 10⁻⁸ begin to swallow the gradients of 16.3? Estimate it
# from the median size of a logit's gradient.

# %% tags=["solution", "hide-cell"]
for N in (2048, 65_536):
    xN, yN = tagger_batch(N)
    size = gradient(mixed_dice, xN, yN).abs().median()
    print(f"N {N:6,}: median |gradient| of a logit {size:.1e}")
print("It falls with N squared; a weight adds N of them up, so 1/N is left over for Adam to see.")


# %% [markdown]
# **5 (a loss of your own).** Write a Tversky loss at set level from [Eq. 9](eq-9), and let
# `diagnose` look at it.

# %% tags=["solution", "hide-cell"]
def my_tversky(logits, y, alpha=0.3, beta=0.7):
    p = logits.float().softmax(-1)
    t = F.one_hot(y, logits.shape[-1])
    TP, FP, FN = ((a * b).sum(0) for a, b in ((p, t), (p, 1 - t), (1 - p, t)))
    return (1 - (TP + 1) / (TP + alpha * FP + beta * FN + 1)).mean()


report = diagnose(my_tversky, x[:512], y[:512])
print(report["call"], report["sign"], report["shape"], sep="\n")

# %% [markdown]
# **6 (small research).** How low does α have to be for `diagnose` to stop calling the
# self-adjusting loss's sign a problem? Why there?

# %% tags=["solution", "hide-cell"]
for alpha in (0.01, 0.1, 0.15, 0.2, 0.4):
    finding = diagnose(SelfAdjustingDiceLoss(alpha=alpha, squared=False), x[:512], y[:512])["sign"]
    print(f"α {alpha}: turning point {1 / (1 + alpha):.2f}, {finding.verdict}")
print(
    "The check tries p in steps of .03 and calls it a problem if one of .85 or less is pushed back."
)
print("With α = .2 the turning point is .83, but the first p tried above it is .86: only a note.")
print("So the problem begins a little above α = .2: at .85 an answer is not yet sure.")
