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
# - **For** engineers who will train with these losses, on one device or many.
# - **You need** [chapter 04](04_dice_loss.ipynb) for what a set-level loss is.
# - **You will be able to** say what a loss costs beside the rest of a step, keep a set-level loss
#   exact over processes and micro-batches, and save the time that really is to be saved.
# - **Time** about half a minute on a CPU; the numbers of a GPU are not here yet.
#
# Is dice slow? Does it still mean the same on eight GPUs? Both questions have short answers. The
# loss is a small part of a training step, and *set level* over several processes is exact if the
# sums are added before the fraction is taken.

# %%
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

from dicebook import DiceLoss, SelfAdjustingDiceLoss, backward_in_two_passes, corpora, figures
from dicebook.tasks import tagging
from dicebook.tasks.mrc_ner import MatchHead
from dicebook.training.encoders import load_tokenizer

figures.use_style()
torch.set_num_threads(1)
root = next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "results").is_dir())

# %% [markdown]
# ## 18.1 What a loss costs
#
# `make bench` times forward and backward of every loss on one thread, beside cross entropy and the
# dice losses of other packages, in turn, so that whatever else the machine does meets all of them
# alike. This is its last recorded run.

# %% tags=["nbval-check-output"]
bench = json.loads((root / "results" / "benchmarks" / "losses.json").read_text())
rows = pd.DataFrame(bench["rows"])
rows["shape"] = pd.Categorical(rows["shape"], rows["shape"].unique())
names = rows["loss"].unique()
times = rows.pivot(index="loss", columns="shape", values="ratio").loc[names]
times.map(lambda value: "" if pd.isna(value) else f"{value:.2f}")

# %% [markdown]
# A row is a loss, a column a number of tokens and classes, and the numbers are multiples of the
# cross entropy of torch. Set-level dice of this package is cheaper than cross entropy: with nine
# classes it costs a third of it for 16,384 tokens, and a quarter for 65,536. The reason is layout:
# over few classes, a softmax along the last dimension is slow on a CPU, and these losses turn the
# logits first. The other packages are called on turned logits too. MONAI's linear dice is the one
# that is faster. A general exponent costs more, for it needs a power and takes its softmax twice.
# The binary forms, in the last column, cost a third more than a binary cross entropy, and nearly
# four times as much with a general exponent.

# %%
peak = rows.pivot(index="loss", columns="shape", values="peak_memory").loc[names]
shape = "16384×9"
plt.scatter(times[shape], peak[shape], color="#999999")
ours = [name for name in names if name.startswith("dicebook") and pd.notna(times[shape][name])]
plt.scatter(times.loc[ours, shape], peak.loc[ours, shape], color="#0072B2")
for name in (*ours, "cross entropy (torch)", "MONAI dice, squared"):
    if name.endswith(("alpha 1", "Tversky", "squared")) and name.startswith("dicebook"):
        continue
    label = name.replace("dicebook ", "").replace("self-adjusting", "DSC")
    plt.annotate(label, (times[shape][name], peak[shape][name]), xytext=(4, -13), fontsize=9,
                 textcoords="offset points")  # fmt: skip
plt.xlabel("time, multiples of cross entropy")
plt.ylabel("peak memory, multiples of the logits")
plt.title("16,384 tokens, 9 classes; blue: this package")
plt.margins(0.25, 0.15)
plt.show()

# %% [markdown]
# Down and left is better. The gradient alone takes one unit of memory. The closed form needs 2.2,
# because it keeps the probabilities and nothing else for its backward pass. A general exponent
# would need more, for it looks at the top class and at the others apart. It keeps nothing, works on
# a quarter of the tokens at a time, and pays for that with time.

# %% [markdown]
# ### Bytes against bandwidth
#
# A loss does little arithmetic for each number it reads. Its floor is the time that the machine
# takes to move the bytes: read the logits twice, write the gradient once.


# %%
def seconds(call, repetitions=15):
    """Median time of a call."""
    taken = []
    for _ in range(repetitions):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return float(np.median(taken))


n, c = 65_536, 9
x, y = torch.randn(n, c), torch.randint(c, (n,))
copied = torch.empty_like(x)
bandwidth = 2 * x.nbytes / seconds(lambda: copied.copy_(x))
leaf = x.clone().requires_grad_()
taken = seconds(lambda: DiceLoss(squared=True)(leaf, y).backward())
floor = 3 * x.nbytes / bandwidth
print(
    f"{x.nbytes / 1e6:.1f} MB of logits; "
    f"the loss takes about {round(taken / floor, -1):.0f} times the floor"
)

# %% [markdown]
# The exponentials of the softmax and the turning of the layout are what stands between the two. A
# fused kernel would come closer. Whether that is worth writing depends on the share of the loss in
# a step, which is next.

# %%
corpus = corpora.load("embedded-entities-en", task="tagging")
texts = [" ".join(tokens) for tokens in corpus["train"]["tokens"]]
tokenizer = load_tokenizer("tiny", texts, max_length=64)
encoded = tagging.encode(corpus, tokenizer, max_length=64)
torch.manual_seed(0)
model = tagging.model("tiny", tokenizer, encoded.labels)
batch = tagging.collator(tokenizer)([encoded.splits["train"][i] for i in range(32)])
labels = batch.pop("labels")
logits = model(**batch).logits.detach().requires_grad_()
of_step = seconds(lambda: F.cross_entropy(model(**batch).logits.mT, labels).backward(), 5)
for criterion in (DiceLoss(squared=True), SelfAdjustingDiceLoss(alpha=0.1)):
    share = seconds(lambda: criterion(logits, labels).backward()) / of_step  # noqa: B023
    print(f"{type(criterion).__name__}: about {100 * share:.0f}% of a step of the smallest encoder")

# %% [markdown]
# And that is an encoder of two layers. With a real one the loss does not show.

# %% [markdown]
# ## 18.2 One set, several processes
#
# The dice loss of a batch is not the mean of the dice losses of its halves. A trainer that gives
# each process its part and averages the gradients therefore trains with another loss. The mend is
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
    done = subprocess.run([*launch, script], cwd=root, capture_output=True, text=True, check=True)
print(done.stdout)

# %% [markdown]
# The first line is the size of the mistake that goes unnoticed, the second is rounding. Nothing but
# three numbers a class is sent. `TrainerLoss` asks for this by itself when `transformers.Trainer`
# runs on several processes.
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
        backward_in_two_passes(loss, lambda part: (linear(part[0]), part[1]), parts)  # noqa: B023
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

# %% tags=["nbval-check-output"]
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
# Grouping saves what padding wastes, for nothing.
#
# **Half precision and compiling.** `benchmarks/scale.py` trains a tagger in four ways, in turn, and
# compares the seconds for each sub-word that is no padding. Its recorded run:

# %% tags=["nbval-check-output"]
scale = json.loads((root / "results" / "benchmarks" / "scale.json").read_text())


def beside(times):
    """Median, lowest and highest of the rounds."""
    return pd.DataFrame(times, index=["time", "lowest", "highest"]).T.round(2)


print(f"{scale['encoder']} on {scale['corpus']}, {scale['machine']}; fp32, grouped by length = 1")
beside(scale["training"]["time"])

# %% [markdown]
# Padding every sentence to 128 makes training four and a half times as slow. That is the largest
# number of this chapter, and a setting. Steps in bf16 take three fifths of the time, on a CPU that
# has instructions for it. A compiled model is no faster here, and its first steps took a minute:
# batches grouped by length have many shapes, and on a CPU there are no launches to save.
#
# And the loss?

# %% tags=["nbval-check-output"]
print(f"compiling took {scale['losses']['seconds to compile']:.0f} seconds")
beside(scale["losses"]["time"])

# %% [markdown]
# This is self-adjusting dice with α = 1 on 65,536 rows of nine classes, as one would write it down,
# the same through `torch.compile`, and the closed form of this package. The compiler and our
# closed form are level: both need a fifth of the time, and their intervals overlap. The compiler
# fuses what we compute in passes, but it takes seconds to compile and needs a C++ compiler. The
# closed form needs neither.
#
# **The match head.** A reader of entities scores pairs of a start and an end. Written down plainly,
# that is a tensor of all pairs, $[B, L, L, 2H]$. Split the first linear layer into a part for the
# start and one for the end, score only candidate pairs, and it is gone.

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
slow = seconds(lambda: plain().sum().backward(retain_graph=True), 3)
fast = seconds(lambda: head(hidden, starts, ends).sum().backward(), 3)
print(f"equal scores; the plain head takes about {round(slow / fast, -1):.0f} times as long")

# %% [markdown]
# ## 18.5 Many runs, and a GPU
#
# A table of the paper is a grid of runs. `make reproduce` works it off on one machine and resumes
# after a kill; `--profile profiles/slurm` hands the runs to a cluster
# ([how](../docs/reproduce.md)). What does a run cost that hardly trains?

# %% tags=["nbval-check-output"]
one = scale["run of the grid"]
print(f"papermill, kernel, imports: {one['run'] - one['training']:.0f} seconds a run")

# %% [markdown]
# Sixteen seconds beside minutes or hours of training. On SLURM a scheduler adds its own rounds: two
# such runs at a time on one node, and the table, took about forty seconds in the project's test.
#
# No record of a run on a GPU is kept in `results/` so far, so this book says nothing about one.
# What should be expected: the loss is a few small kernels, bound by their launches.

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
