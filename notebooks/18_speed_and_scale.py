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
# # 18 Modules, speed and scale
#
# In the earlier chapters a loss was a formula, and we tried it on one batch at a time. Your training is
# different. Sentences are padded, the model runs in half precision, several processes share a batch, and you
# pay for every hour. Can you still use these losses, and what do they cost?
#
# In this chapter we turn a formula into a module that copes with padding and half precision. We measure what
# it costs, and find that it is a small part of a training step. Then we keep it exact where a batch is split
# over processes or micro-batches, and at the end we look at where the time of training really goes.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** engineers who will train with these losses, on one device or many.
# - **You need** [chapter 04](04_dice_loss.ipynb) for what a set-level loss is, and [chapter
#   06](06_self_adjusting_dice.ipynb) for its exponent.
# - **You will be able to** write a loss of your own in 25 lines, and say what it costs beside the rest of a
#   step. You can keep it exact over processes and micro-batches, and save time where it goes.
# - **Time** about half a minute on a CPU. A GPU does not help. Section 18.2 has recorded times of one GPU.
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
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from dicebook import DiceLoss, SelfAdjustingDiceLoss, backward_in_two_passes, make_loss
from dicelab import corpora, figures
from dicelab.records.runs import kept_folder
from dicelab.tasks import tagging
from dicelab.training.encoders import load_tokenizer

figures.use_style()
torch.set_num_threads(1)
kept = kept_folder() / "benchmarks"
spelled = {
    "ce, torch": "cross entropy (torch)",
    "ce": "dicebook cross entropy",
    "wce": "dicebook weighted cross entropy",
    "fl": "dicebook focal",
    "dl": "dicebook dice",
    "tl": "dicebook Tversky",
    "dsc": "dicebook self-adjusting dice",
}

# %% mystnb={"code_prompt_show": "Code of Figure 18.1", "figure": {"caption": "Figure 18.1. Share of a training step of BERT-base on a CPU, one thread, in percent.", "name": "fig-18-1"}, "image": {"alt": "Six short bars, all below 0.02 percent of a step: the two cross entropies are shortest, focal and dice are less than twice as long as torch's, and self-adjusting dice is longest."}} tags=["hide-input"]
bench = json.loads((kept / "losses.json").read_text())
step = pd.Series(bench["step"])
share = 100 * step.drop("step of BERT-base") / step["step of BERT-base"]
_, ax = plt.subplots(figsize=(6.4, 2.6))
ax.barh(share.index[::-1], share.iloc[::-1], color="#0072B2")
ax.set(xlabel="percent of a step", xlim=(0, 0.1))
plt.show()


# %% [markdown]
# We start with the question that is asked first: is a complicated loss slow? Look at the axis. It ends at a
# tenth of a percent of a training step, and no bar comes near it. This was a CPU. On a GPU the share is
# larger: dice takes less than a tenth of a step there, even with a small encoder (section 18.2). **Choose a
# loss by what it learns**, not by its speed.

# %% [markdown]
# ## 18.1 From a formula to a module
#
# Suppose you write the self-adjusting dice loss yourself. [Eq. 6.1](eq-6-1) is two lines of code. A module
# that you can train with needs four more things: powers that stay accurate near p = 1, several classes,
# padding, and sums in float32. We take them one by one.
#
# ### A power that stays exact
#
# The function $(1 - p)^α$ with α between zero and one has an infinite slope at p = 1. In mathematics that is no
# problem, because a sigmoid never reaches one. In float32 it does. Here is the formula as it is written, for
# positives with growing logits:

# %%
def q_as_written(x, alpha=0.01):  # Eq. 6.1
    p = x.sigmoid()
    return (1 - p) ** alpha * p


def loss_of_positives(q):
    return 1 - (2 * q + 1) / (q + 2)


x = torch.tensor([5.0, 10, 16, 17, 20], requires_grad=True)
loss = loss_of_positives(q_as_written(x))
loss.sum().backward()
columns = {"p": x.sigmoid(), "loss": loss, "gradient": x.grad}
columns = {name: v.detach().double() for name, v in columns.items()}
pd.DataFrame(columns, index=x.tolist()).round(6)


# %% [markdown]
# At logit 17, p rounds to 1. The gradient is NaN from there on, and the loss has jumped from about 0.05 to 0.5.
# One such token in a batch makes every weight of the model NaN, because its gradient is added to all the
# others.
#
# (eq-18-1)=
# So we want the same q without ever subtracting p from 1. We have $1 - p = \sigma(-x)$. The logarithm of a
# sigmoid can be computed accurately for every x, so we multiply by adding logarithms:
#
# $$
# \begin{aligned}
# q &= \exp\!\big(\log\sigma(x) + \alpha \log\sigma(-x)\big), \\
# \frac{dq}{dx} &= q\,\big(1 - (1+\alpha)\,p\big)
# \end{aligned} \tag{18.1}
# $$
#
# Read aloud: q is p times a power of $1 - p$, both as logarithms. The second line is its slope, and nothing
# in it is divided by a number that could be zero.

# %%
def q_stable(x, alpha=0.01):  # Eq. 18.1
    return torch.exp(F.logsigmoid(x) + alpha * F.logsigmoid(-x))


x = x.detach().requires_grad_()
loss = loss_of_positives(q_stable(x))
loss.sum().backward()
columns = {"loss": loss.detach(), "gradient": x.grad}
pd.DataFrame(columns, index=x.tolist()).astype(float).round(6)

# %% [markdown]
# Now the gradient is finite at every logit. It is also small and positive, so training lowers the logits of
# these positives. That is no fault of the code: with this α a positive above a probability of 0.99 moves
# back, as chapter 06 shows. You could also clamp p to at most $1 - ε$. This avoids the NaN, but beyond the
# clamp the gradient is zero, so a negative with such a high p is never corrected.
#
# (eq-18-2)=
# The formula was for one logit. With several classes we treat each class as one class against the rest. For
# this we need one number that says how far a class is ahead of all others together. This number is its
# **margin**:
#
# $$
# \begin{aligned}
# m_c &= x_c - \log \textstyle\sum_{j \ne c} e^{x_j}, \\
# p_c &= \sigma(m_c), \quad 1 - p_c = \sigma(-m_c)
# \end{aligned} \tag{18.2}
# $$
#
# In words: the margin is the logit of the class minus a soft maximum of the other logits, the logarithm of
# the sum of their exponentials. Its sigmoid is the softmax probability of the class. Therefore everything
# that we did with a logit works with a margin.
#
# ### Padding, masks and ignored labels
#
# Sentences in a batch differ in length, and only the first piece of a word has a label. The other positions are
# marked by `-100`, as in transformers and torch. What do we want from a loss? It must give the same number as
# if those rows were not there. We test it on two short sentences, and to be strict we put NaN into the padding:

# %%
generator = torch.Generator().manual_seed(0)
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
    print(f"{name:4} {padded:.4f}  by ignore_index, mask or cutting")

# %% [markdown]
# All losses agree, whichever of the three ways you take, and no gradient reaches the padding.
#
# One special case is left: a batch in which *no* row counts. There torch's cross entropy is 0/0. Those of
# dicebook are 0, with a gradient of 0, so that one empty micro-batch does not end a training run.

# %% [markdown]
# ### Half precision
#
# Models are often trained in bf16, because it is fast. A number in bf16 has only 8 significant bits.
# Therefore p rounds to one at a logit that is common in a trained model (exercise 18.4). We take a few
# thousand tokens with logits in bf16 and compare two ways: the formula computed in bf16, as it is written,
# and dicebook, which computes in float32. The exact values come from float64.

# %%
x = (4 * torch.randn(4000, generator=generator)).bfloat16()
shares = torch.rand(4000, generator=generator)
y = (shares < x.float().sigmoid()).double()


def naive(x, y, alpha=0.1):  # Eq. 6.1 on the set, in the dtype of x
    q = q_as_written(x, alpha)
    return 1 - (2 * (q * y).sum() + 1) / (q.sum() + y.sum() + 1)


def value_and_gradient(loss, x, y):
    x = x.detach().clone().requires_grad_()
    value = loss(x, y)
    return value.item(), torch.autograd.grad(value, x)[0].double()


dsc = make_loss("binary_dsc", squared=False, alpha=0.1)
truth, exact = value_and_gradient(dsc, x.double(), y)
of = {"naive": (naive, y.bfloat16()), "dicebook": (dsc, y)}
for name, (loss, target) in of.items():
    value, gradient = value_and_gradient(loss, x, target)
    error = ((gradient - exact).norm() / exact.norm()).item()
    print(f"{name}: NaN gradients {int(gradient.isnan().sum())}, ", end="")
    print(f"loss {value:.4f} (exact {truth:.4f}), error {error:.1e}")


# %% [markdown]
# In bf16 the formula gives hundreds of NaN gradients. The error of dicebook is some tenths of a percent, and it
# comes from rounding the gradient itself to bf16, which no loss can avoid.
#
# Float16 has another weakness: the sum over many tokens overflows ([section
# 16.10](16_why_it_does_not_optimise.ipynb)). dicebook sums in float32.
#
# ### The module
#
# Now we put the pieces together. You will find margins ([Eq. 18.2](eq-18-2)), q ([Eq. 18.1](eq-18-1)), three
# sums for each class ([Eq. 8](eq-8)), the mean over classes ([Eq. 7.1](eq-7-1)), rows that do not count, and
# float32.

# %%
class OwnDice(torch.nn.Module):
    """Dice of logits [..., C] and labels [...] over the whole set."""

    def __init__(self, alpha=0.0, gamma=1.0, squared=True, classes=None):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma
        self.power = 2 if squared else 1
        self.classes = slice(None) if classes is None else classes

    def forward(self, logits, labels):
        x, labels = logits.flatten(0, -2).t(), labels.flatten()  # [C, N]
        x = x if x.dtype == torch.float64 else x.float()
        kept = labels != -100
        x = torch.where(kept, x, 0.0)  # NaN in padding stays out
        y = (labels == torch.arange(len(x)).to(labels)[:, None]).to(x)
        others = [torch.cat([x[:c], x[c + 1 :]]) for c in range(len(x))]
        m = x - torch.stack([o.logsumexp(0) for o in others])  # Eq. 18.2
        log_q = F.logsigmoid(m) + self.alpha * F.logsigmoid(-m)
        q = log_q.exp() * kept  # Eq. 18.1
        overlap, actual = (q * y).sum(1), y.sum(1)
        below = (q**self.power).sum(1) + actual + self.gamma
        score = (2 * overlap + self.gamma) / below  # Eq. 8
        return (1 - score[self.classes]).mean()  # Eq. 7.1


# %% [markdown]
# Is it right? We compare it with the library on the padded batch with its NaN. Value and gradient are the same,
# for four settings of the options.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
for options in (
    {},
    {"squared": False},
    {"alpha": 0.1},
    {"alpha": 1.0, "squared": False, "classes": [1, 2]},
):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chapters 06 and 07: a large α, a linear form
        theirs = SelfAdjustingDiceLoss(**{"alpha": 0.0, **options})
    x = batch.clone().requires_grad_()
    values = OwnDice(**options)(x, gold), theirs(x, gold)
    torch.testing.assert_close(*values)
    torch.testing.assert_close(*(torch.autograd.grad(v, x)[0] for v in values))

# %% [markdown]
# So what does the library do beyond these lines? It treats more cases, and says clearly what is wrong with an
# input:
#
# | here | in the library | and what it adds |
# |---|---|---|
# | `x`, `labels`, `kept`, `y` | `batch.multi_class` | one clear error for each wrong input; masks; soft targets |
# | `m` | `equations.margins` | the same sums in one pass |
# | `q` | `equations.self_adjusted` | |
# | `overlap`, `actual` | `statistics.of_examples`, `.sum()` | hard negatives; sums of other batches and processes |
# | `score` | `equations.dice_coefficient` | 1 where it is 0/0 |
# | the last line | `statistics.average_over_classes` | weights, absent classes, other reductions |
#
# These lines contain many more operations than a cross entropy. Do they cost time?

# %% [markdown]
# ## 18.2 What a loss costs
#
# `make bench` times forward and backward of every loss on one thread of a CPU, in turn with torch's cross entropy
# and the dice losses of other packages. Here is its last recorded run, in milliseconds. For example, the column
# 4096×9 has 4,096 sub-words and nine classes:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["nbval-check-output", "hide-input"]
rows = pd.DataFrame(bench["rows"])
rows["shape"] = pd.Categorical(rows["shape"], rows["shape"].unique())
names = [name for name in spelled.values() if name in set(rows["loss"])]
times = rows.pivot(index="loss", columns="shape", values="milliseconds").loc[names]
print(f"one thread, {bench['environment']['capability']}, torch {bench['environment']['torch']}")
times.dropna(axis=1, how="all").map(lambda value: "" if pd.isna(value) else f"{value:.2f}")

# %% [markdown]
# Compare the row of dice with the first row. With 17 classes or more, a set-level dice loss costs between two
# and three times as much as torch's cross entropy. With nine classes it costs less, because torch's softmax of
# short rows takes a slow path on this processor. A loss with a general exponent costs more, because it takes
# logarithms of both $p$ and $1 - p$. The record is of an earlier form of the losses. Since nobody should choose a
# loss by its speed, a second way for CPUs is gone from the library, and today's losses take up to four times as
# long as these.
#
# However, a loss is only one part of a training step. What is its share of the whole?

# %% [markdown]
# On a CPU every recorded loss takes less than a five-thousandth of the step. In other words, the encoder does nearly
# all of the work. A GPU is different. It computes these small tensors so fast that starting each operation takes
# longer than the operation itself, and a dice loss has many operations. We timed an earlier form of the losses on
# one NVIDIA H200, for 4,096 sub-words and nine labels, in milliseconds:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["nbval-check-output", "hide-input"]
timed = json.loads((kept_folder() / "gpu" / "losses.json").read_text())
now = pd.DataFrame(timed["losses"]["rows"]).set_index("loss")
of_gpu = pd.DataFrame({"plain": now["milliseconds"], "compiled": now["milliseconds, compiled"]})
of_gpu.round(2).astype(object).where(of_gpu.notna(), "").rename(spelled)

# %% [markdown]
# On this GPU dice takes 1.5 milliseconds, about 11 times as much as torch's cross entropy. With
# `torch.compile` it takes 0.9. This sounds like much. However, with an encoder of MiniLM's size a whole step with
# torch's cross entropy took 18 milliseconds. With the other losses it took between 17 and 24 milliseconds, and not
# in the order of their operations. So from the time of a whole step we cannot say which loss is faster. If the
# time of the loss matters to you, compile the loss.
#
# So time should not decide about your loss. The next question is one of correctness.

# %% [markdown]
# ## 18.3 One set, several processes (DDP)
#
# If you train on several devices, each of them sees a part of the batch. For cross entropy this does no harm,
# because the mean of equal parts is the mean of the whole. A dice loss is a fraction of sums, and the mean of
# two fractions is not the fraction of the whole. A trainer that gives each process its part and averages the
# gradients therefore trains with another loss.
#
# The remedy is to add up three sums for each class over the processes *before* the fraction is taken. In
# dicebook you write `process_group="world"`. We compare two processes with unequal parts against one process
# with all rows:

# %%
SCRIPT = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as Parallel
from dicebook import DiceLoss

dist.init_process_group("gloo")
torch.manual_seed(0)
x, y = torch.randn(300, 4), torch.randint(3, (300,))
part = slice(0, 40) if dist.get_rank() == 0 else slice(40, 300)

def gradient(rows, group, wrap):
    torch.manual_seed(1)
    linear = torch.nn.Linear(4, 3)
    model = wrap(linear)
    loss = DiceLoss(squared=True, process_group=group)
    loss(model(x[rows]), y[rows]).backward()
    return linear.weight.grad

exact = gradient(slice(None), None, lambda model: model)
for name, group in (("each its own set", None), ("one set", "world")):
    error = (gradient(part, group, Parallel) - exact).norm() / exact.norm()
    if dist.get_rank() == 0:
        print(f"{name}: relative error of the gradient {error:.1g}")
dist.destroy_process_group()
"""

# %%
with tempfile.TemporaryDirectory() as folder:
    script = Path(folder) / "two_processes.py"
    script.write_text(SCRIPT)
    launch = [sys.executable, "-m", "torch.distributed.run"]
    launch += ["--standalone", "--nproc_per_node", "2", script]
    how = {"capture_output": True, "text": True, "check": True}
    done = subprocess.run(launch, **how)
print(done.stdout)

# %% [markdown]
# Without the option the error is as large as the gradient itself. With labels that can be learned, the error
# is smaller than with these random ones, but it does not vanish. With the option only rounding is left. If
# you use `transformers.Trainer` on several processes, `TrainerLoss` sets this by itself.
#
# ## 18.4 One set, several micro-batches
#
# Perhaps you have only one device, and your batch does not fit into its memory. Then you split it into
# micro-batches and accumulate their gradients. For a dice loss this is the same problem again:

# %% tags=["nbval-check-output"]
torch.manual_seed(0)
x, y = torch.randn(240, 4), torch.randint(3, (240,))
parts = [(x[i : i + 40], y[i : i + 40]) for i in range(0, 240, 40)]
loss = DiceLoss(squared=True)
gradients = {}
for way in ("all at once", "mean of the parts", "two passes"):
    torch.manual_seed(1)
    linear = torch.nn.Linear(4, 3)
    if way == "all at once":
        loss(linear(x), y).backward()
    elif way == "two passes":
        forward = lambda part: (linear(part[0]), part[1])
        backward_in_two_passes(loss, forward, parts)
    else:
        for part in parts:
            (loss(linear(part[0]), part[1]) / len(parts)).backward()
    gradients[way] = linear.weight.grad
exact = gradients["all at once"]
for way in ("mean of the parts", "two passes"):
    error = ((gradients[way] - exact).norm() / exact.norm()).item()
    off = "exact up to rounding" if error < 1e-5 else f"{error:.0%} off"
    print(f"{way}: {off}")

# %% [markdown]
# The mean of the parts is wrong by a quarter of the gradient, and two passes are exact. The first pass computes
# the sums of all parts, and the second one the gradients. You pay with a second forward pass, but not with
# memory.

# %% [markdown]
# ## 18.5 Where the time of training goes
#
# If the loss does not cost much, where does your time go? We begin with the place where most is wasted.
#
# **Padding.** A batch is as long as its longest sentence, and the rest is filled with padding that the encoder
# computes for nothing. How many positions does a batch have for each real sub-word? That depends on whether you
# pad to a fixed length, take sentences as they come, or group them by length:

# %%
corpus = corpora.load("embedded-entities-en", task="tagging")
texts = [" ".join(tokens) for tokens in corpus["train"]["tokens"]]
tokenizer = load_tokenizer("tiny", texts, max_length=64)
encoded = tagging.encode(corpus, tokenizer, max_length=64)
train = encoded.splits["train"]["input_ids"]
lengths = np.array([len(ids) for ids in train])
shuffled = np.random.default_rng(0).permutation(lengths)
steps = range(0, len(lengths), 32)


def padded(ordered):
    """Positions, if each batch is as long as its longest sentence."""
    parts = [ordered[i : i + 32] for i in steps]
    return sum(len(part) * part.max() for part in parts)


positions = {
    "padded to 64": 32 * 64 * len(steps),
    "padded to the longest": padded(shuffled),
    "grouped by length": padded(np.sort(lengths)),
}
print("positions for each sub-word")
(pd.Series(positions) / lengths.sum()).round(2)

# %% [markdown]
# With a fixed length the encoder computes more than three positions for each one that counts. Grouped by
# length, there is hardly any waste.
#
# **Half precision.** The next remedy is a switch. `benchmarks/scale.py` trains a tagger in four ways, in turn, and
# compares the seconds for each sub-word that is no padding. The table has its recorded run, with the median, the
# lowest and the highest of its rounds:

# %% tags=["nbval-check-output"]
scale = json.loads((kept / "scale.json").read_text())
print(f"{scale['encoder']} on {scale['corpus']}, {scale['machine']}")
print("fp32, grouped by length = 1")
columns = ["time", "lowest", "highest"]
pd.DataFrame(scale["training"]["time"], columns).T.round(2)

# %% [markdown]
# If you pad every sentence to 128, training is four and a half times as slow. Steps in bf16 take three fifths
# of the time, on a CPU that has instructions for it. A compiled model is no faster here, and its first steps
# took a minute, because batches grouped by length have many shapes. So first look at padding, then at half
# precision, and only then at the loss.

# %% [markdown]
# ## Summary
#
# - A module needs more than a formula: margins and logarithms instead of $1 - p$, rows that do not count, and
#   sums in float32 ([Eq. 18.1](eq-18-1), [18.2](eq-18-2)).
# - The loss is a small part of a step. Choose it by what it learns.
# - Set level means one set. Over processes, set `process_group="world"`. Over micro-batches, take two passes.
# - To save time, look at padding first, then at half precision, and last at the loss.

# %% [markdown]
# ## Exercises
#
# **Exercise 18.1.** How many bytes does `process_group="world"` send in a step, for nine classes?

# %% mystnb={"code_prompt_show": "Solution 18.1"} tags=["solution", "hide-cell"]
print(3 * 9 * 4, "bytes")

# %% [markdown]
# **Exercise 18.2.** Split a batch into two halves. Compute the dice loss of each half and of the whole from
# their sums, by hand.

# %% mystnb={"code_prompt_show": "Solution 18.2"} tags=["solution", "hide-cell"]
from dicebook import dice_statistics

logits3 = torch.randn(240, 3)
first, second = dice_statistics(logits3[:120], y[:120]), dice_statistics(logits3[120:], y[120:])
mean = (first.loss() + second.loss()) / 2
print(f"mean of the halves {mean:.4f}, the whole {(first + second).loss():.4f}")

# %% [markdown]
# **Exercise 18.3.** In section 18.3 the two parts have different sizes. Does the mistake go away when they
# are equal?

# %% mystnb={"code_prompt_show": "Solution 18.3"} tags=["solution", "hide-cell"]
linear = torch.nn.Linear(4, 3)
(slope,) = torch.autograd.grad(loss(linear(x), y), linear.weight)
two = [torch.autograd.grad(loss(linear(a), b), linear.weight)[0] for a, b in
       ((x[:120], y[:120]), (x[120:], y[120:]))]  # fmt: skip
print(f"it gets smaller: {100 * ((sum(two) / 2 - slope).norm() / slope.norm()).item():.0f}% off")

# %% [markdown]
# **Exercise 18.4.** Find, for float32, float16 and bfloat16, the smallest logit (in steps of 1/8) at which p
# rounds to 1.

# %% mystnb={"code_prompt_show": "Solution 18.4"} tags=["solution", "hide-cell"]
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    steps = torch.arange(0, 40, 0.125).to(dtype)
    print(str(dtype)[6:], steps[steps.sigmoid() == 1][0].item())
