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
# # 22 Your own data
#
# The book answers in general, and your file may be different. Try the few losses that matter on it, with equal
# effort for each, and decide on rows that no training has seen. One command does it, and this chapter takes
# the same steps one by one.
#
# ![Six boxes in a row. Read: columns and splits, what was found. Beat: answers that need no encoder. Search:
# each loss with the same rates and steps. Decide: the threshold that scores best. Test: fresh seeds, once, with
# intervals. Keep: the model with its threshold, and a report. Training rows serve the second and third box,
# validation rows the third and fourth, test rows the fifth alone.](../_static/fit-steps.svg)
#
# ```bash
# pip install 'dicebook[fit] @ git+https://github.com/dicebook/dicebook'
# dicebook fit my.tsv --minutes 30 --out runs/my
# dicebook predict runs/my/model new.txt
# ```
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who have a file, and want a model, a threshold and a number they can trust.
# - **You need** nothing but the file; for the reasons, [what to do on Monday](../docs/what_to_do.md).
# - **You will be able to** say what your model must beat, which loss to take on your data and how sure
#   that is, where to put the threshold, and keep a model that decides so without this package.
# - **Time** about a minute on a CPU as it stands; a corpus of your own with a pretrained encoder takes
#   half an hour there, and minutes on a GPU.
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

# %% [markdown]
# ## The steps
#
# ### 22.1 The parameters
#
# The corpus that stands here comes with the package and was made up by rule. It shows how things are
# done and concludes nothing. For your own:
#
# ```bash
# papermill --log-output notebooks/22_your_own_data.ipynb out.ipynb -p corpus my.tsv \
#     -p encoder minilm -p learning_rates "" -p seeds 3 -p steps 0 -p minutes 30 \
#     -p output_dir runs/chapter
# ```

# %% tags=["parameters"]
corpus: str = "embedded-entities-en"  # a file, a folder of splits, a name
encoder: str = "tiny"  # or "minilm", a folder, a hub model
loss: str = "ce,wce,dl"  # the arms, each with the same learning rates
seed: int = 0  # the first seed, and that of splits that are drawn
seeds: int = 2  # how many seeds the finals have; three or more for a result
steps: int = 152  # optimiser steps of a run; 0 takes them from `minutes`
minutes: float = 10.0  # how long the whole may take, where steps is 0
batch_size: int = 32  # rows in a step
learning_rates: str = "1e-3"  # tried; "" for three that suit the encoder
metric: str = ""  # "f1", "macro-f1" or "accuracy"; "" for the usual
text: str = ""  # the column of the text; "" looks for it
label: str = ""  # the column of the label; "" looks for it
positive: str = ""  # of two classes the one that is looked for
device: str = "auto"  # "auto", "cpu" or "cuda"
output_dir: str = ""  # model, report; killed runs resume; "" keeps nothing

# %% tags=["hide-input"]
import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dicelab import figures
from dicelab.claims import claim
from dicelab.fit import Fit, Model, Options
from dicelab.fit.report import about, by_class

figures.use_style()
pd.set_option("display.max_colwidth", 100)

# %%
temporary = tempfile.TemporaryDirectory()
tried = tuple(float(rate) for rate in learning_rates.split(",") if rate)
options = Options(
    source=corpus,
    encoder=encoder,
    losses=tuple(loss.split(",")),
    seed=seed,
    seeds=seeds,
    steps=steps or None,
    minutes=minutes,
    batch_size=batch_size,
    rates=tried or None,
    metric=metric or None,
    text=text or None,
    label=label or None,
    positive=positive or None,
    device=device,
    out=output_dir or temporary.name,
)
# With a length in steps lines need no clock, and are the same every time.
say = lambda line: print(line.split("; ")[0] if steps else line)
fit = Fit(options, say=say, chapter="22_your_own_data")

# %% tags=["remove-cell"]
# What the text says of this chapter's own runs holds for the parameters as they stand above.
printed = {"source": "embedded-entities-en", "encoder": "tiny", "losses": ("ce", "wce", "dl")}
printed |= {"seed": 0, "seeds": 2, "steps": 152, "rates": (1e-3,), "batch_size": 32}
as_printed = all(getattr(options, name) == value for name, value in printed.items())

# %% [markdown]
# ### 22.2 Read
#
# The task follows from the form of the file: a token a line with blank lines between sentences is
# tagging; a table with a text is sentences, with two texts pairs, with several labels in a cell several
# labels. Columns are found by their names, else by what they hold, and what was found is said. Splits
# that are missing are drawn: each class keeps its share, and equal texts stay on one side.

# %% tags=["nbval-check-output"]
data = fit.read()
for line in about(fit.result):
    print(line)

# %% [markdown]
# Read these lines before any score. A row of the test split that stands in train, too, is no test. A
# class with five rows has no score worth the name. Texts that are cut lose what stands at their end.
#
# ### 22.3 What must be beaten
#
# Some answers need no model at all. For entities it is a dictionary: every stretch of words that train has
# as an entity is one. For sentences it is "always yes".

# %% tags=["nbval-check-output"]
problem, goal = fit.problem, fit.problem.goal
for name, counts in fit.floors().items():
    print(f"{name}: {goal.name} {goal.plain(counts.sum(0)):.1f}")

# %% [markdown]
# Then come linear models, because a logistic regression takes seconds. For sentences it reads words and
# characters, or what the frozen encoder makes of the text, or both. Cross-validation over train and validation
# together chooses the settings and the threshold. For tags it reads each word with its neighbours, and decodes
# valid tags alone. The best model so far is already in the folder, so you can stop at any time.

# %%
found = fit.linear()

# %% [markdown]
# ### 22.4 A plan
#
# A few timed steps tell how long a run may be. Every loss gets the same learning rates, the same number
# of steps and the same seeds. Where time is short, fewer learning rates are tried and fewer losses reach
# the finals, before the runs become shorter than they should be.

# %%
plan = fit.plan()
rates = ", ".join(f"{rate:g}" for rate in plan.rates)
length = f"{plan.steps} steps, {plan.epochs} passes"
print(f"{plan.runs} runs of {length}; learning rates {rates}")

# %% [markdown]
# ### 22.5 Search
#
# Each loss, each rate, one seed. Cross entropy starts with the log prior of each class as its bias, which
# is where it would arrive by itself after some steps. Weighted cross entropy has the weights of Equation
# 2, dice is squared and at set level. The epoch is kept that is best on validation *at its own
# threshold*. The test split is not touched.

# %%
best = fit.search()

# %% [markdown]
# ### 22.6 Where to put the threshold
#
# A tagger says O where the logit of O is the largest. Add a bias to that logit, and fewer or more words
# become entities: that is its threshold. Here is the score on validation at every bias, for each loss.

# %% mystnb={"figure": {"caption": "Figure 22.1. The score on validation when a bias is added to the logit of O, or of the positive class. The dot is the bias that is chosen; argmax is at 0."}, "image": {"alt": "Three curves over the bias from -6 to 6, each a hill with a dot on its top. At 0, the grey line of argmax, the curves lie at or below their tops."}} tags=["hide-input"]
validation = problem.splits["validation"]
biases = np.linspace(-6, 6, 49)
place = 0 if data.task == "tagging" else -1
for name, done in best.items():

    def at(bias, done=done):
        """The score with a bias at one logit."""
        vector = np.zeros(len(problem.labels))
        vector[place] = bias
        counts = problem.counts(validation, problem.decide(done.validation, vector))
        return float(problem.goal.plain(counts.sum(0)))

    look = figures.style(name)
    plt.plot(biases, [at(bias) for bias in biases], label=name, **look)
    plt.plot(done.bias[place], done.value, "o", color=look["color"])
plt.axvline(0, color="#7F7F7F", linewidth=1)
plt.xlabel("bias")
plt.ylabel(f"validation {problem.goal.name}, %")
plt.legend(title="loss", framealpha=1)
plt.show()

# %%
pd.DataFrame(
    {
        name: {
            "at argmax": done.argmax,
            "tuned": done.value,
            "bias": done.bias[place],
        }
        for name, done in best.items()
    }
).T.round(1)

# %% [markdown]
# How far a threshold moves a score depends on the data: look at your own curves. Two losses whose tops
# are equally high differ in where they put the threshold, and in nothing that you need. Where validation
# has few positives, its best threshold is mostly luck. The fit then takes the threshold with the largest
# *expected* F1 by the model's own probabilities.
#
# ### 22.7 Finals
#
# The best losses get further seeds, and now the test split is scored. The loss with the best mean on
# *validation* is taken. Then an interval says how sure the order of two losses is: a paired bootstrap
# that draws the test rows, the same for both, and the seeds anew.

# %%
finals = fit.finals()

# %%
rows = {}
for name, arm in finals.items():
    tuned = fit.result.scores(name)
    plain = fit.result.scores(name, argmax=True)
    rows[name] = {
        "validation": round(arm.validation, 1),
        "test": np.mean(tuned).round(1),
        "test at argmax": np.mean(plain).round(1),
        "by seed": " ".join(f"{one:.1f}" for one in tuned),
    }
pd.DataFrame(rows).T

# %%
rival = fit.result.rival()
if rival is not None:
    other, gap = rival
    interval = f"[{gap.low:.1f}, {gap.high:.1f}]"
    pair = f"{fit.result.chosen} minus {other}"
    print(f"{pair}: {gap.mean:+.1f} points {interval}")
    visible = f"{gap.visible:.1f} points"
    print(f"a difference of {visible} would probably have been seen")

# %% [markdown]
# An interval that includes zero does not say that two losses are equal. It says that these rows and seeds
# cannot tell them apart, and the second line says how large a difference would have had to be. Here
# weighted cross entropy is ahead of cross entropy, and the interval excludes zero: the early lead
# of weights, which [chapter 17](17_when_does_dice_help.ipynb) sees on real text after few steps.

# %% tags=["remove-cell"]
if as_printed:
    claim(
        "weighted cross entropy is ahead of cross entropy, and the interval excludes zero",
        fit.result.chosen == "wce",
        rival[0] == "ce",
        rival[1].low > 0,
    )

# %% [markdown]
# ### 22.8 Would more data help?
#
# The chosen loss on a quarter and on half of the training rows. Where the score still rises at the end,
# labelling more rows is the remedy, and no loss is.

# %%
curve = fit.curve()

# %% mystnb={"figure": {"caption": "Figure 22.2. The chosen loss on 25, 50 and 100% of the training rows, threshold tuned for each."}, "image": {"alt": "The test score over the number of training rows, three points joined by lines that rise from left to right."}} tags=["hide-input"]
plt.plot([share * len(data.splits["train"]) for share in curve], list(curve.values()), "o-")
plt.xlabel("training rows")
plt.ylabel(f"test {problem.goal.name}, %")
plt.xlim(0, None)
plt.show()

# %% [markdown]
# Here it still rises.

# %% tags=["remove-cell"]
if as_printed:
    claim("Here it still rises", curve[0.25] < curve[0.5] < curve[1.0])

# %% [markdown]
# ### 22.9 Keep
#
# `dicebook fit` now compares the best linear model with the best loss on validation, and keeps the better one:
# that step is `fit.choose()`. On this corpus it keeps the linear model, because the words give the entities away
# and the tiny encoder was never pretrained. We leave the step out, because this chapter is about losses, and keep
# the fine-tuned model.
#
# The threshold is added to the bias of the model's last layer. After that plain argmax, in any runtime,
# is the tuned decision, and nobody has to remember a number. The folder is what `save_pretrained` writes.

# %% tags=["remove-cell"]
if as_printed:
    claim(
        "On this corpus it keeps the linear model",
        fit.result.best_linear().value > max(arm.validation for arm in finals.values()),
    )

# %%
folder = fit.keep()
model = Model(folder, device="cpu")
if data.task == "tagging":
    row = data.splits["test"][0]["tokens"]
    print(list(zip(row, model.words([row])[0], strict=True)))
bias = fit.result.bias.round(2).tolist()
print("bias added:", dict(zip(problem.labels, bias, strict=True)))

# %% [markdown]
# Plain transformers reads it, and says the same. For tags ask for `aggregation_strategy="first"`: a word then gets
# the tag of its first sub-word, as in training. Without it, each sub-word gets a tag of its own, and the later ones
# were never trained.

# %%
from transformers import pipeline

kind = "token" if data.task == "tagging" else "text"
task = f"{kind}-classification"
how = {}
if kind == "token":
    how = {"aggregation_strategy": "first"}
plain = pipeline(task, str(folder), device="cpu", **how)
text = problem.row_texts(data.splits["test"])[0]


def told(piece):
    said = piece.get("entity_group", piece.get("label"))
    return piece.get("word", ""), said


print([told(piece) for piece in plain(text)])

# %% tags=["remove-cell"]
from seqeval.metrics.sequence_labeling import get_entities

if data.task == "tagging":
    pieces = pipeline(task, str(folder), ignore_labels=[], device="cpu")(text)
    starts = np.cumsum([0, *(len(word) + 1 for word in row)])[:-1]
    first = {piece["start"]: piece["entity"] for piece in reversed(pieces)}
    claim(
        "Plain transformers reads it, and says the same",
        [first[start] for start in starts] == model.words([row])[0],
    )
if as_printed:
    claim(
        "a word then gets the tag of its first sub-word",
        [told(piece)[1] for piece in plain(text)]
        == [span[0] for span in get_entities(model.words([row])[0])],
    )

# %% [markdown]
# ### 22.10 The verdict

# %%
result = fit.report()
print(result)
pd.DataFrame(by_class(result)).set_index("class").round(1)

# %% [markdown]
# All of it stands in `report.html`, one page that loads nothing from elsewhere, with the curve of
# precision and recall, the reliability of the probabilities and the errors of which the model was
# surest. Look at the errors first: some of them are errors of the labels.

# %% tags=["remove-cell"]
if not output_dir:
    temporary.cleanup()

# %% [markdown]
# ## Summary
#
# - Read what is said about the data before any score.
# - Beat a dictionary and a linear model, or keep the linear model.
# - Give each loss the same rates, steps and seeds; compare them with their thresholds tuned.
# - The threshold belongs in the bias of the last layer.
# - A difference whose interval includes zero is a difference that was not measured, not one that is not
#   there.
#
# ## Exercises
#
# **Exercise 22.1.** A decision says yes where $z_1 - z_0 > t$. Which bias, added to $z_1$, gives the
# same decisions by argmax? Show it on random logits.

# %% tags=["solution", "hide-cell"]
rng = np.random.default_rng(0)
z, t = rng.normal(size=(1000, 2)), 0.7
by_threshold = z[:, 1] - z[:, 0] > t
by_argmax = (z + np.array([0, -t])).argmax(1) == 1
assert (by_threshold == by_argmax).all()
print("the bias is -t")

# %% [markdown]
# **Exercise 22.2.** Validation has ten positives among five hundred rows. Draw scores for which the best
# threshold is known, and see how far the threshold that is best on validation scatters around it.

# %% tags=["solution", "hide-cell"]
from dicelab.metrics.goal import Goal
from dicelab.tasks.thresholds import best_cut, plug_in_cut

goal = Goal("f1", (1,))


def draw(positives, rows):
    """Log-odds of a calibrated model: positives around +1, the others around -1, and the prior."""
    gold = np.arange(rows) < positives
    margins = 2 * (rng.normal(size=rows) + np.where(gold, 1.0, -1.0))
    return margins + np.log(positives / (rows - positives)), gold.astype(int)


truth = best_cut(*draw(4_000, 200_000), goal)
found = np.array([best_cut(*draw(10, 500), goal) for _ in range(200)])
print(
    f"best {truth:.2f}; chosen on ten positives {found.mean():.2f}, give or take {found.std():.2f}"
)

# %% [markdown]
# **Exercise 22.3.** In the same draws take the threshold with the largest expected F1 by a logistic curve
# (`plug_in_cut`). Does it scatter less?

# %% tags=["solution", "hide-cell"]
drawn = [draw(10, 500) for _ in range(200)]
scatter = {
    "best on validation": np.std([best_cut(*one, goal) for one in drawn]),
    "expected F1": np.std([plug_in_cut(*one) for one in drawn]),
}
print({name: round(float(value), 2) for name, value in scatter.items()})
assert scatter["expected F1"] < scatter["best on validation"]

# %% [markdown]
# **Exercise 22.4.** Two models decide the same 100 rows. The first is right on 90; the second differs from it on
# four rows alone, of which the first has three right and the second one. Is the interval of the difference
# wider or narrower than that of two models with these scores which err independently?

# %% tags=["solution", "hide-cell"]
from dicelab.metrics.counts import Counts
from dicelab.metrics.intervals import difference


def of_right(right):
    """Counts of a model that is right on some rows of class 1."""
    return Counts.of_classes(np.ones(len(right), int), right.astype(int), 2)


accuracy = Goal("accuracy", (0, 1)).plain
first = np.arange(100) < 90
paired = first.copy()
paired[[0, 1, 2]], paired[99] = False, True
alone = rng.permutation(paired)
widths = [
    (gap := difference([of_right(first)], [of_right(other)], accuracy)).high - gap.low
    for other in (paired, alone)
]
print([round(width, 1) for width in widths])
assert widths[0] < widths[1]
