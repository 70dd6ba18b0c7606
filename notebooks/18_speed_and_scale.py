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
# # 18 Speed and scale
#
# Is dice slow, and does it still mean the same on eight GPUs? The loss is a small part of a training step.
# *Set level* over several processes or micro-batches is exact if the sums are added before the fraction is
# taken.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** engineers who will train with these losses, on one device or many.
# - **You need** [chapter 04](04_dice_loss.ipynb) for what a set-level loss is.
# - **You will be able to** say what a loss costs beside the rest of a step, keep a set-level loss
#   exact over processes and micro-batches, and save the time that really is to be saved.
# - **Time** about half a minute on a CPU; the numbers of a GPU are not here yet.
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
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

from dicebook import DiceLoss, backward_in_two_passes
from dicelab import corpora, figures
from dicelab.claims import claim
from dicelab.records.runs import kept_folder
from dicelab.tasks import tagging
from dicelab.tasks.mrc_ner import MatchHead
from dicelab.training.encoders import load_tokenizer

figures.use_style()
torch.set_num_threads(1)
kept = kept_folder() / "benchmarks"

# %% mystnb={"figure": {"caption": "Figure 18.1. Share of a training step of BERT-base on one thread, in percent.", "name": "fig-18-1"}, "image": {"alt": "Six short bars, all below .05 percent of a step: torch's cross entropy shortest, focal, dice and Tversky five to six times as long, self-adjusting dice longest."}} tags=["hide-input"]
bench = json.loads((kept / "losses.json").read_text())
step = pd.Series(bench["step"])
share = 100 * step.drop("step of BERT-base") / step["step of BERT-base"]
_, ax = plt.subplots(figsize=(6.4, 2.6))
ax.barh(share.index[::-1], share.iloc[::-1], color="#0072B2")
ax.set(xlabel="percent of a step", xlim=(0, 0.1))
plt.show()

# %% [markdown]
# The axis ends at a tenth of a percent; no bar comes near it. **Choose a loss by what it learns.**
#
# ## 18.1 What a loss costs
#
# `make bench` times forward and backward of every loss on one thread, in turn with torch's cross
# entropy and the dice losses of other packages. This is its last recorded run, in milliseconds. A column is
# a number of sub-words and of classes.

# %% tags=["nbval-check-output", "hide-input"]
rows = pd.DataFrame(bench["rows"])
rows["shape"] = pd.Categorical(rows["shape"], rows["shape"].unique())
names = rows["loss"].unique()
times = rows.pivot(index="loss", columns="shape", values="milliseconds").loc[names]
print(f"one thread, {bench['environment']['capability']}, torch {bench['environment']['torch']}")
times.map(lambda value: "" if pd.isna(value) else f"{value:.2f}")

# %% [markdown]
# Beside torch's cross entropy a set-level dice loss costs between one and a half times and three and a half
# times as much. A loss with a general exponent costs more, for it
# takes logarithms of both $p$ and $1 - p$. So look at the milliseconds, and at the step that they are part
# of.

# %% tags=["nbval-check-output"]
print(f"a step of BERT-base, 8 sentences of 128 sub-words: {step['step of BERT-base']:.0f} ms")
print("share of it, in percent:")
share.round(3)

# %% [markdown]
# No loss takes a thousandth of the step.

# %% tags=["remove-cell"]
claim("No loss takes a thousandth of the step", (share < 0.1).all())
of_dice = times.loc["dicebook dice"] / times.loc["cross entropy (torch)"]
claim(
    "a set-level dice loss costs between one and a half times and three and a half times as much",
    of_dice.min() > 1.5,
    of_dice.max() < 3.5,
)
of_dsc = times.loc["dicebook self-adjusting dice"] > times.loc["dicebook dice"]
claim("A loss with a general exponent costs more", of_dsc[times.loc["dicebook dice"].notna()].all())

# %% tags=["remove-cell"]
claim("no bar comes near it", share.max() < 0.05)
of_dice_share = share["dicebook dice"] / share["cross entropy (torch)"]
assert 5 <= of_dice_share < 6

# %% [markdown]
# On a GPU such a loss is bound by the launches of its kernels, not by their arithmetic. The count
# of operations that compute, forward and backward, is what to compare there.

# %% tags=["nbval-check-output"]
rows.drop_duplicates("loss").set_index("loss")["operations"]

# %% [markdown]
# A hundred launches take about half a millisecond, beside the thousands of the encoder. If that counts,
# `torch.compile(loss, fullgraph=True)` fuses some of them (section 18.4).

# %% [markdown]
# Memory: the peak of forward and backward, gradient included, in multiples of the logits.

# %% tags=["nbval-check-output", "hide-input"]
rows.pivot(index="loss", columns="shape", values="peak_memory").loc[names].round(1)

# %% [markdown]
# The logits of a step are small beside the activations of its encoder: 4,096 sub-words with nine
# classes are 0.15 MB, so that eight times as much is 1.2 MB.

# %% tags=["remove-cell"]
claim("4,096 sub-words with nine classes are 0.15 MB", {"0.15": 4096 * 9 * 4 / 1e6})
claim("eight times as much is 1.2 MB", {"1.2": 8 * 4096 * 9 * 4 / 1e6})

# %% [markdown]
# ## 18.2 One set, several processes (DDP)
#
# The dice loss of a batch is not the mean of the dice losses of its halves. A trainer that gives
# each process its part and averages the gradients therefore trains with another loss. The fix is
# to add up three sums a class over the processes *before* the fraction is taken:
# `process_group="world"`. The script below starts two processes with unequal parts and compares
# their gradient with that of one process that sees everything.

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
    DiceLoss(squared=True, process_group=group)(model(x[rows]), y[rows]).backward()
    return linear.weight.grad

exact = gradient(slice(None), None, lambda model: model)
for name, group in (("each its own set", None), ("one set", "world")):
    error = (gradient(part, group, Parallel) - exact).norm() / exact.norm()
    if dist.get_rank() == 0:
        print(f"{name:17} relative error of the gradient {error.item():.1g}")
dist.destroy_process_group()
"""

# %%
with tempfile.TemporaryDirectory() as folder:
    script = Path(folder) / "two_processes.py"
    script.write_text(SCRIPT)
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
    ]
    done = subprocess.run([*launch, script], capture_output=True, text=True, check=True)
print(done.stdout)

# %% [markdown]
# The first line is the mistake that goes unnoticed: an error of 1 is as long as the gradient itself (with
# labels that can be learned it is smaller than with these random ones). The second is rounding.
# `TrainerLoss` asks for this by itself when `transformers.Trainer` runs on several processes.
#
# ## 18.3 One set, several micro-batches
#
# Gradient accumulation has the same problem, in time instead of in space.

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
        backward_in_two_passes(loss, lambda part: (linear(part[0]), part[1]), parts)
    else:
        for part in parts:
            (loss(linear(part[0]), part[1]) / len(parts)).backward()
    gradients[way] = linear.weight.grad
exact = gradients["all at once"]
for way in ("mean of the parts", "two passes"):
    error = ((gradients[way] - exact).norm() / exact.norm()).item()
    print(f"{way}: {'exact up to rounding' if error < 1e-5 else f'{100 * error:.0f}% off'}")

# %% [markdown]
# Two passes cost a second forward pass and no memory.

# %% [markdown]
# ## 18.4 Where the time of training goes
#
# **Padding.** A batch is as long as its longest sentence. How many positions are padding, if
# sentences are taken as they come, padded to a fixed length, or grouped by length?

# %%
corpus = corpora.load("embedded-entities-en", task="tagging")
texts = [" ".join(tokens) for tokens in corpus["train"]["tokens"]]
tokenizer = load_tokenizer("tiny", texts, max_length=64)
encoded = tagging.encode(corpus, tokenizer, max_length=64)
lengths = np.array([len(ids) for ids in encoded.splits["train"]["input_ids"]])
order = np.random.default_rng(0).permutation(len(lengths))
batches = {
    "padded to 64": [np.append(lengths[order[i : i + 32]], 64) for i in range(0, len(order), 32)],
    "padded to the longest": [lengths[order[i : i + 32]] for i in range(0, len(order), 32)],
    "grouped by length": [np.sort(lengths)[i : i + 32] for i in range(0, len(order), 32)],
}
for name, found in batches.items():
    positions = sum(
        32 * part.max() if name[-2:] == "64" else len(part) * part.max() for part in found
    )
    print(f"{name:22} {positions / lengths.sum():.2f} positions for each sub-word")

# %% [markdown]
# **Half precision and compiling.** `benchmarks/scale.py` trains a tagger in four ways, in turn, and
# compares the seconds for each sub-word that is no padding. Its recorded run:

# %% tags=["nbval-check-output"]
scale = json.loads((kept / "scale.json").read_text())


def beside(times):
    """Median, lowest and highest of the rounds."""
    return pd.DataFrame(times, index=["time", "lowest", "highest"]).T.round(2)


print(f"{scale['encoder']} on {scale['corpus']}, {scale['machine']}; fp32, grouped by length = 1")
beside(scale["training"]["time"])

# %% [markdown]
# Padding every sentence to 128 makes training four and a half times as slow. Steps in bf16 take three fifths
# of the time, on a CPU that has instructions for it. A compiled model is no faster here, and its first
# steps took a minute: batches grouped by length have many shapes. And the loss?

# %% tags=["nbval-check-output"]
beside(scale["losses"]["time"])

# %% [markdown]
# This is self-adjusting dice on 65,536 rows of nine classes: as one would write it down, and this
# package's, which is stable at any margin, each plain and compiled, in multiples of the first. The
# compiler brings the plain formula to less than a quarter of its time. Ours costs twice the plain
# formula and gains less by compiling, for it looks at the top class of each row apart.

# %% tags=["remove-cell"]
of_loss = {name: middle for name, (middle, _, _) in scale["losses"]["time"].items()}
claim(
    "The compiler brings the plain formula to less than a quarter of its time",
    of_loss["as written down, compiled"] < 0.25,
)
claim(
    "Ours costs twice the plain formula and gains less by compiling",
    1.5 < of_loss["this package"] < 2.5,
    of_loss["this package, compiled"] < of_loss["this package"],
)

# %% [markdown]
# **The match head.** A reader of entities scores pairs of a start and an end. Written down plainly,
# that is a tensor of all pairs, $[B, L, L, 2H]$. If the first linear layer is split into a part for the
# start and one for the end, and only candidate pairs are scored, that tensor is not needed.

# %%
B, L, H, k = 2, 64, 128, 8
head, hidden = MatchHead(H), torch.randn(B, L, H, requires_grad=True)
weight = torch.cat([head.start.weight, head.end.weight], 1)


def plain():
    """All pairs, with the head's own weights."""
    pairs = [hidden[:, :, None].expand(-1, -1, L, -1), hidden[:, None].expand(-1, L, -1, -1)]
    inner = F.linear(torch.cat(pairs, -1), weight, head.start.bias)
    return head.out(F.gelu(inner)).squeeze(-1)


index = torch.arange(k).repeat(B, 1)
starts, ends = index[:, :, None].expand(-1, k, k).flatten(1), index[:, None].expand(-1, k, k)
ends = ends.flatten(1)
of_pairs = plain()[:, :k, :k].flatten(1)
torch.testing.assert_close(head(hidden, starts, ends), of_pairs, atol=1e-5, rtol=1e-4)


# %%
def seconds(call, repetitions=3):
    """Median time of a call."""
    taken = []
    for _ in range(repetitions):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return float(np.median(taken))


slow = seconds(lambda: plain().sum().backward(retain_graph=True))
fast = seconds(lambda: head(hidden, starts, ends).sum().backward())
print(f"equal scores; the plain head takes about {round(slow / fast, -1):.0f} times as long")

# %% [markdown]
# ## 18.5 Many runs, and a GPU
#
# A table of the paper is a grid of runs. `make reproduce` works it off on one machine and resumes
# after a kill; `--profile reproduce/slurm` hands the runs to a cluster
# ([how](../docs/reproduce.md)). A run that hardly trains costs this much:

# %% tags=["nbval-check-output"]
one = scale["run of the grid"]
print(f"papermill, kernel, imports: {one['run'] - one['training']:.0f} seconds a run")

# %% [markdown]
# No record of a run on a GPU is kept in `results/` so far, so this book says nothing about one.

# %% [markdown]
# ## Summary
#
# - The loss is a small part of a step. Choose it by what it learns.
# - Set level means one set. Over processes: `process_group="world"`. Over micro-batches: two
#   passes.
# - Padding and pair tensors are where time can be saved; then half precision; last the loss.

# %% [markdown]
# ## Exercises
#
# **1.** How many bytes does `process_group="world"` send in a step, for nine classes?

# %% tags=["solution", "hide-cell"]
print(3 * 9 * 4, "bytes")

# %% [markdown]
# **2.** Compute the dice loss of two halves and of the whole of a batch by hand, from the sums.

# %% tags=["solution", "hide-cell"]
from dicebook import dice_statistics

logits3 = torch.randn(240, 3)
first, second = dice_statistics(logits3[:120], y[:120]), dice_statistics(logits3[120:], y[120:])
mean = (first.loss() + second.loss()) / 2
print(f"mean of the halves {mean:.4f}, the whole {(first + second).loss():.4f}")

# %% [markdown]
# **3.** How large is the tensor of all pairs for B = 4, L = 512, H = 1024 in fp32?

# %% tags=["solution", "hide-cell"]
print(f"{4 * 512 * 512 * 2 * 1024 * 4 / 2**30:.0f} GiB")

# %% [markdown]
# **4.** In section 18.2 the parts have 40 and 260 rows. Does the mistake go away when they are
# equal?

# %% tags=["solution", "hide-cell"]
linear = torch.nn.Linear(4, 3)
(slope,) = torch.autograd.grad(loss(linear(x), y), linear.weight)
two = [torch.autograd.grad(loss(linear(a), b), linear.weight)[0] for a, b in
       ((x[:120], y[:120]), (x[120:], y[120:]))]  # fmt: skip
print(f"it gets smaller: {100 * ((sum(two) / 2 - slope).norm() / slope.norm()).item():.0f}% off")
