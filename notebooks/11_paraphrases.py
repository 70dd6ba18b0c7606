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
# # 11 Paraphrases
#
# "How old is he?" and "What is his age?" Do two such sentences say the same? You may know the task from a forum
# that looks for duplicates of your question. Here a positive has a few negatives, not hundreds. Does a loss made
# for F1 still help? On three of four tasks with real text, dice scores five to eight points of F1 above cross
# entropy at argmax. It does so from an output bias near 0 and from the log prior alike. However, once you tune both
# thresholds, every interval includes 0, and we cannot tell which loss is better.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who classify pairs of texts, or anything else with two classes.
# - **You need** the losses of [chapter 07](07_all_losses.ipynb) and the tuned threshold of
#   [chapter 02](02_cross_entropy.ipynb).
# - **You will be able to** train a classifier of pairs with any loss of this book, and see which F1 you get without
#   training. You can distinguish a better model from a moved threshold.
# - **Time** about a minute and a half on a CPU with the parameters as printed. With a real encoder, a loss on MRPC
#   takes ten minutes on a CPU core and one on a GPU.
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
import re
from dataclasses import asdict, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy import special, stats

from dicebook import TrainerLoss
from dicelab import corpora, figures, real_runs
from dicelab.records import paper, runs, searched
from dicelab.tables import minus, signed
from dicelab.tasks import pairs, thresholds
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment
from dicelab.training.sampling import sample
from dicelab.training.trainer import build_loss, train

figures.use_style()
pd.set_option("display.max_colwidth", 100)


# %% tags=["remove-cell"]
def titles():
    """The tasks of pairs, as the pictures call them."""
    return {
        "qqp_02": "QQP, 2% positive",
        "qqp_10": "QQP, 10% positive",
        "qqp_30": "QQP, 30% positive",
        "mrpc": "MRPC, no paraphrase",
    }


def kept_tasks():
    """The records of these tasks in the controlled study."""
    kept = searched.read_tasks()
    return {task: kept[task] for task in titles()}


def differences(arms=("dice", "dice_start")):
    """By task, arm and way to decide: minus cross entropy from the log prior."""
    return {
        task: {
            (arm, how): found
            for how in ("argmax", "tuned")
            for arm in arms
            if (found := searched.minus_start(records, arm, how))
        }
        for task, records in kept_tasks().items()
    }


# %% mystnb={"code_prompt_show": "Code of Figure 11.1", "figure": {"caption": "Figure 11.1. F1 of dice over the positive class minus F1 of cross entropy from the log prior, on the test set: means over searches with 95% intervals. Section 11.9 explains how the models were trained.", "name": "fig-11-1"}, "image": {"alt": "Four rows, each with two circles for argmax and two diamonds for the tuned threshold, hollow where dice starts near 0. The hollow circles lie at 8 for QQP with 2% positives, at 5 for QQP with 10%, just below 0 for QQP with 30%, and at 5 for MRPC. All intervals of the diamonds include 0."}} tags=["hide-input"]
def draw_differences():
    found = {titles()[task]: effects for task, effects in differences().items()}
    fig, ax = plt.subplots(figsize=(5.6, 4.2))
    figures.differences(found, ax=ax)
    fig.legend(loc="outside lower center", ncols=2, fontsize=9)
    plt.show()


draw_differences()


# %% [markdown]
# Section 11.9 explains this figure. Before that, we look at what a trained model can do.

# %% [markdown]
# (a-model-of-paraphrases)=
# ## A model that works
#
# What does a model of this chapter get right, and what wrong? We gave the cells of sections 11.1 to 11.7 a real
# corpus and a pretrained encoder. The corpus is a part of QQP, pairs of questions from Quora, in which half of the
# pairs are duplicates {cite}`wang2017bilateral`. The encoder is MiniLM, and all of its six layers are trained. (With
# the parameters that are printed in section 11.1, the same cells train in a minute on made-up sentences.) The result
# of the run is kept as a record, without the text of the corpus. Everything in this section is drawn from that
# record. `make real CHAPTER=11` runs it again.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def real_run():
    """What the run on a real corpus left."""
    return runs.kept_page("11_paraphrases")


def print_counts(page):
    data = page["data"]
    print(
        f"{data['train']:,} training pairs, {data['positive']:,} of them positive;",
        f"{data['test']:,} test pairs",
    )


print_counts(real_run())
real_runs.describe(real_run(), "ce")

# %% mystnb={"code_prompt_show": "Code of Figure 11.2", "figure": {"caption": "Figure 11.2. QQP, the real run: F1 of duplicates on the validation pairs after each pass.", "name": "fig-11-real"}, "image": {"alt": "Two curves over three passes that lie on one another. Both rise from 81 to 84."}} tags=["hide-input"]
real_runs.learning_curves(real_run())

# %% [markdown]
# These are the scores on the test pairs, with a 95% interval from draws of these pairs:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
real_runs.score_table(
    real_run(),
    {"f1": "F1", "accuracy": "accuracy"},
    {"always yes": "always yes", "shared words": "shared words"},
)

# %% [markdown]
# Read the table from the top. "Always yes" already has an F1 of 66.7, because half of the pairs are positive ([Eq.
# 11.1](eq-11-1)). A count of shared words reaches 75.1. So a rule without training already has most of the points
# that the trained model has. We cannot tell which of the two losses is better: they differ by a tenth of a point, and
# their intervals are alike. Tuning changes nothing either, because the tuned threshold lies near one half if there
# are as many positives as negatives.
#
# Which pairs does the model with cross entropy get wrong? We sort the test pairs by how many words the two
# questions share. A duplicate is *missed* if the model says no, and another pair is *taken for one* if the model
# says yes:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
pd.DataFrame(real_run()["errors"]).T


# %% [markdown]
# Where the questions share few words, the model misses more than a quarter of the duplicates. Where they share
# most, it misses few, but it takes four in ten of the other pairs for duplicates. In other words, the model still
# leans on shared words.
#
# Can you trust its probabilities? We sort the test pairs by predicted probability, into ten equal groups, and look at
# the share of each group that is a duplicate:

# %% mystnb={"code_prompt_show": "Code of Figure 11.3", "figure": {"caption": "Figure 11.3. QQP, the real run: ten equal groups of test pairs by predicted probability, and the share of each that is a duplicate.", "name": "fig-11-reliable"}, "image": {"alt": "Predicted probability against the share of duplicates, with a grey diagonal. Both curves lie above the diagonal at the left, where a prediction of 0.1 comes true three times in ten, and below it at the right, where one of 0.8 comes true two times in three."}} tags=["hide-input"]
def draw_reliability(groups):
    _, ax = plt.subplots(figsize=(4.4, 3.4))
    ax.plot([0, 1], [0, 1], color="#C4C4C4", linewidth=1)
    for name, (said, came) in groups.items():
        look = {**figures.style(name), "label": runs.LOSS_WORDS[name]}
        ax.plot(said, came, marker="o", markersize=4, **look)
    ax.set(xlabel="predicted probability of a duplicate", ylabel="share of duplicates")
    ax.legend()
    plt.show()


draw_reliability(real_run()["reliability"])


# %% [markdown]
# Both models are too sure of themselves. Of the pairs to which they give a probability near 0.8, about two in three are
# duplicates. After three passes over five thousand pairs this is common, and exercise 5 shows the usual remedy.
#
# Finally, here are twelve pairs that we wrote ourselves. In half of them the second question only looks like the first:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
def own_pairs(page):
    says = {True: "yes", False: "no"}
    rows = [
        {
            "first": row["one"],
            "second": row["two"],
            "the same?": says[bool(row["gold"])],
            "model": f"{says[row['p'] > page['cut_off']]} ({row['p']:.2f})",
            "": "✓" if (row["p"] > page["cut_off"]) == row["gold"] else "",
        }
        for row in page["own"]
    ]
    return pd.DataFrame(rows).style.hide(axis="index")


own_pairs(real_run())

# %% [markdown]
# Only half of the answers are right. The model finds that *population* and *how many people live* go together, which
# no count of words would. However, it is easily misled. For example, it takes the train from Lyon to Geneva for the
# train from Geneva to Lyon, and rain water for sea water. In both cases its probability is above 0.9. How can an F1
# of 83 on the test set go with six right answers of twelve here? The test set has few pairs that were made to
# mislead. If your data has many, write some of your own and look.
#
# To try two questions of your own, type `dicebook try 11 "..." "..."`. A smaller model, a linear one on the frozen
# MiniLM, answers in seconds.

# %% [markdown]
# ## The mechanics
#
# How is such a model made, and how do you judge it? In this part we build one step by step. So that you can run
# every cell in a minute or two, the pairs are made up and the encoder starts from random weights. Therefore this
# part shows you how things work, but it cannot tell you which loss is best.
#
# ### 11.1 The parameters
#
# The next cell holds everything that you can change, as in [section 8.1](08_part_of_speech.ipynb). The losses are
# cross entropy (`ce`), dice loss (`dl`) and self-adjusting dice (`dsc`). For example, this command takes a real
# corpus and a real encoder:
#
# ```bash
# papermill notebooks/11_paraphrases.ipynb out.ipynb -p corpus mrpc \
#     -p encoder bert-base-cased -p loss ce,dsc -p learning_rate 2e-5 -p epochs 3 \
#     -p output_dir runs/mrpc
# ```

# %% tags=["parameters"]
corpus: str = "embedded-paraphrases-en"  # registered name, or your file
encoder: str = "tiny"  # or "minilm", a folder, a hub model
loss: str = "ce,dl,dsc"  # of ce, wce, fl, dl, tl, dsc, MODULE:NAME
loss_options: dict = {}  # such as {"dsc": {"alpha": 0.01}}
start: str = "prior"  # the output bias starts at the log prior; or "zero"
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 12  # passes over the training pairs
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # pairs in a step
learning_rate: float = 1e-3  # the peak; pretrained: 2e-5 to 2e-4
max_length: int = 96  # sub-words in a pair; longer ones are cut
train_size: int = 0  # training pairs; 0 for all
eval_size: int = 0  # scored pairs of a split; 0 for all
device: str = "auto"  # "auto", "cpu" or "cuda"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
experiment = Experiment.from_namespace(globals())
print(f"{len(experiment.losses)} losses on {experiment.corpus}: {', '.join(experiment.losses)}")

# %% tags=["remove-cell"]
# What the text says of this chapter's own runs holds for the parameters as they stand above.
printed = Experiment(
    corpus="embedded-paraphrases-en",
    loss="ce,dl,dsc",
    epochs=12,
    learning_rate=1e-3,
    max_length=96,
)
as_printed = replace(experiment, output_dir="") == printed

# %% [markdown]
# ### 11.2 From two sentences to a score
#
# An example is now a pair of sentences with a label. We look at two positive pairs and two negative ones:

# %%
every_pair = corpora.load(experiment.corpus, task="pairs")
corpus_of_pairs = sample(every_pair, experiment)
labels = np.array(corpus_of_pairs["train"]["label"])
of_each = [np.flatnonzero(labels == label)[:2] for label in (1, 0)]
pd.DataFrame(corpus_of_pairs["train"].select(np.concatenate(of_each)))

# %% [markdown]
# The label is 1 if the two sentences say the same. Compare the pairs: it is not enough to count
# shared words. How many pairs of each kind are there?

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input", "nbval-check-output"]
count = corpora.imbalance(corpus_of_pairs, task="pairs")
print(f"{count.negative:,} negative pairs, {count.positive:,} positive pairs in train")
print(f"{count.ratio:.2f} negatives for each positive")


# %% [markdown]
# The score is the F1 of the positive pairs. How high is it before we train anything? Three rules do not look at the
# pair: always no, always yes, and a coin that says yes as often as the training pairs are positive. A fourth rule
# counts shared words and says yes if there are many of them. We choose on the validation pairs how many are enough.

# %%
def shared_words(rows):
    """Words in common, as a share of all words of both sentences."""
    found = []
    for one, two in zip(rows["sentence1"], rows["sentence2"], strict=True):
        a = set(re.findall(r"\w+", one.lower()))
        b = set(re.findall(r"\w+", two.lower()))
        found.append(len(a & b) / max(1, len(a | b)))
    return np.array(found)


# %% tags=["nbval-check-output"]
gold = np.array(corpus_of_pairs["test"]["label"])
share = count.positive / (count.positive + count.negative)
coin = np.random.default_rng(0).random(len(gold)) < share
overlap = {}
for split in ("validation", "test"):
    overlap[split] = shared_words(corpus_of_pairs[split][:])
truth = corpus_of_pairs["validation"]["label"]
enough = thresholds.best_f1(overlap["validation"], truth, sum(truth))
answers = {
    "always no": np.zeros_like(gold),
    "always yes": np.ones_like(gold),
    "a coin": coin.astype(int),
    "shared words": (overlap["test"] > enough).astype(int),
}
free = {name: pairs.score(gold, guess) for name, guess in answers.items()}
pd.DataFrame(free).T.round(1)

# %% [markdown]
# (eq-11-1)=
# "Always yes" does surprisingly well. Can we say in advance how well? Its recall is one, because it misses no positive. Its
# precision is π, the share of positives, because it calls all pairs positive. F1 is their harmonic mean, so
#
# $$ F_1(\text{always yes}) = \frac{2\pi}{1 + \pi} \tag{11.1} $$
#
# In words: double the share of positives, and divide by one plus that share. The more positives there are, the higher
# is this F1. For example, in MRPC two pairs of three are paraphrases, so you have an F1 of 80 there without looking
# at a single sentence. Put this number beside every F1 that you read or report.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input", "nbval-check-output"]
for name, positives in {"QQP": 0.37, "MRPC": 0.67}.items():
    always_yes = 200 * positives / (1 + positives)
    print(f"{name}: π = {positives:.2f}, always yes has F1 {always_yes:.1f}")

# %% [markdown]
# ### 11.3 The model
#
# How does an encoder read a pair? We put both sentences into one sequence. One linear layer on top of its first
# position then gives two logits for the pair:

# %%
rows = corpus_of_pairs["train"]
sentences = (f"{row['sentence1']} {row['sentence2']}" for row in rows)
tokenizer = load_tokenizer(encoder, sentences, max_length=max_length)
encoded = pairs.encode(corpus_of_pairs, tokenizer, max_length=max_length)
print(tokenizer.decode(encoded.splits["train"][0]["input_ids"]))
print(f"pairs cut at {experiment.max_length} sub-words: {encoded.cut}")

# %%
torch.manual_seed(experiment.seed)
model = pairs.model(encoder, tokenizer, encoded.labels)
first_rows = [encoded.splits["train"][i] for i in range(batch_size)]
batch = pairs.collator(tokenizer)(first_rows)
inputs = {key: batch[key] for key in batch if key != "labels"}
logits = model(**inputs).logits
print("logits", list(logits.shape), " labels", list(batch["labels"].shape))
for name in experiment.losses:
    criterion = build_loss(experiment, name, encoded.counts())
    value = criterion(logits, batch["labels"]).item()
    print(f"{name:4} {value:.3f}  {criterion}")


# %% [markdown]
# A set-level loss needs a set, and the set is the batch. If you tag words, a batch of sentences has hundreds of
# decisions. Here a batch has 32 pairs and therefore 32 decisions, a small and noisy sample of F1 (exercise 4). There
# is a second difference: the dice losses average over both classes, but the score is about the positives alone. The
# option `classes` would change that.

# %% [markdown]
# ### 11.4 Training
#
# `train` is the `Trainer` of transformers with a loss of this book. Before the first step it sets the bias of the
# output layer to the log prior, which it takes from `counts`. If you want to see the loop written out, look at
# [section 9.5](09_named_entities.ipynb).

# %%
def evaluate(logits, split):
    """Scores of a split's logits."""
    return pairs.score(split["label"], pairs.decode(logits))


trained = {}
for name in experiment.losses:
    print(name)
    criterion = build_loss(experiment, name, encoded.counts())
    trained[name] = train(
        experiment.only(name),
        build_model=lambda: pairs.model(encoder, tokenizer, encoded.labels),
        counts=encoded.counts(),
        splits=encoded.splits,
        collator=pairs.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(criterion),
        evaluate=evaluate,
    )

# %% mystnb={"code_prompt_show": "Code of Figure 11.4", "figure": {"caption": "Figure 11.4. F1 of the positive pairs on the validation split after each pass. The grey line is always yes."}, "image": {"alt": "Three curves over twelve epochs and a grey horizontal line at 54. All start at zero. After the second epoch the two dice losses are above the grey line and cross entropy is below it. At the end dice and self-adjusting dice are near 64, cross entropy is on the line."}} tags=["hide-input"]
for name, result in trained.items():
    steps = [entry["epoch"] for entry in result.history]
    f1 = [entry["validation_f1"] for entry in result.history]
    plt.plot(steps, f1, label=name, **figures.style(name))
yes = pairs.score(corpus_of_pairs["validation"]["label"], [1] * len(encoded.splits["validation"]))
plt.axhline(yes["f1"], color="#7F7F7F", linewidth=1, label="always yes")
plt.xlabel("epoch")
plt.ylabel("F1 on the validation split, %")
plt.legend(title="loss")
plt.show()

# %% [markdown]
# The grey line is "always yes". Where a curve is on this line, its F1 is no better than that of a rule which never
# looks at the pair. If a curve rises above the line, is its model better, or only its threshold?

# %% [markdown]
# ### 11.5 Scores, and two baselines
#
# Each model gives us log-odds for every pair, and we call a pair positive if they are above a threshold. Which one?
# `argmax` uses the threshold 0. `tuned` uses the threshold that has the best F1 on the validation pairs. We tune it for
# every loss alike:

# %%
splits = encoded.splits
truth = splits["validation"]["label"]
floor = ("always yes", "shared words")
table = {(name, ""): free[name] for name in floor}
validated, predicted = {}, {(name, ""): answers[name] for name in floor}
for name, result in trained.items():
    chosen_on = result.logits["validation"]
    threshold = pairs.tune_threshold(chosen_on, truth)
    for how, t in (("argmax", 0.0), ("tuned", threshold)):
        says = pairs.decode(result.logits["test"], threshold=t)
        predicted[name, how] = says
        table[name, how] = {**pairs.score(gold, says), "threshold": t}
        chosen = pairs.decode(chosen_on, threshold=t)
        validated[name, how] = pairs.score(truth, chosen)

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
scores = pd.DataFrame(table).T.round(1)
scores = scores.assign(**{"validation f1": pd.DataFrame(validated).loc["f1"].round(1)})
signed(scores)

# %% [markdown]
# Compare the rows `tuned` with each other. Each model then has its own best threshold, so a difference that is left
# comes from what the models learned. But do not read too much into it, because a single one of these 400 pairs moves
# F1 by about 0.3 points. Nor is the best threshold of a small validation split always the best on the test split, so
# a row `tuned` can be lower than its row `argmax`.
#
# #### Precision against recall
#
# Does one of the models rank the pairs better, whatever the threshold? To see this, we draw precision against recall
# for all thresholds at once:

# %% mystnb={"code_prompt_show": "Code of Figure 11.5", "figure": {"caption": "Figure 11.5. Each curve is one model under all thresholds, on the validation split. Grey: always yes at any recall."}, "image": {"alt": "Precision against recall for three models, falling from the top left to the grey line at the lower right, the share of the positives. The curves cross."}} tags=["hide-input"]
labels = np.array(splits["validation"]["label"])
curves = {}
for name, result in trained.items():
    order = np.argsort(-pairs.margins(result.logits["validation"]))
    hits = np.cumsum(labels[order])
    curves[name] = (hits / np.arange(1, len(labels) + 1), hits / labels.sum())
figures.precision_recall(curves)
plt.axhline(labels.mean(), color="#7F7F7F", linewidth=1)
plt.ylim(0, 1.03)
plt.title("validation split; grey: always yes at any recall")
plt.legend(title="loss")
plt.show()


# %% [markdown]
# If a curve lies above another one everywhere, its model ranks the pairs better. If two curves cross, it depends on the
# threshold which model is better.

# %% [markdown]
# ### 11.6 How sure are the models?
#
# You may need more than a decision: how likely is it that two sentences say the same? We check whether the
# probabilities are true. For this we sort the test pairs by predicted probability into ten equal groups, and compute
# the share of positives in each group:

# %%
def reliability(p, truth, groups=10):
    """Of equal groups: mean p, share of positives; their mean distance."""
    parts = np.array_split(np.argsort(p), groups)
    said = np.array([p[part].mean() for part in parts])
    came = np.array([truth[part].mean() for part in parts])
    sizes = np.array([len(part) for part in parts])
    return said, came, float(sizes @ abs(said - came) / len(p))


# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
probability = {
    name: special.expit(pairs.margins(result.logits["test"])) for name, result in trained.items()
}
reliable = {name: reliability(p, gold) for name, p in probability.items()}
pd.DataFrame(
    {
        name: {
            "calibration error": 100 * reliable[name][2],
            "pairs with p from 0.1 to 0.9": 100 * ((p > 0.1) & (p < 0.9)).mean(),
        }
        for name, p in probability.items()
    }
).T.round(1)

# %% mystnb={"code_prompt_show": "Code of Figure 11.6", "figure": {"caption": "Figure 11.6. Ten equal groups of test pairs by predicted probability, and the share of each that is positive."}, "image": {"alt": "Predicted probability against the share of positives, with a grey diagonal. All three curves run flatter than the diagonal: where a model says nearly 0 the share is well above, where it says nearly 1 well below."}} tags=["hide-input"]
plt.plot([0, 1], [0, 1], color="#C4C4C4", linewidth=1)
for name, (said, came, _) in reliable.items():
    plt.plot(said, came, marker="o", markersize=4, label=name, **figures.style(name))
plt.xlabel("predicted probability of a paraphrase")
plt.ylabel("share of paraphrases")
plt.legend(title="loss")
plt.show()

# %% [markdown]
# The grey line is where the probabilities are true: of the pairs to which a model on this line gives 0.7, seven in
# ten are positive. The calibration error in the table is the mean distance from this line, in percentage points. The
# column beside it says for how many percent of the pairs a model is unsure, with a probability between 0.1 and 0.9.
# All three models are far too sure. Why? After twelve passes over 1,200 pairs the training loss of cross entropy is
# below 0.05. The model is sure of nearly every training pair, and it remains sure on new ones.

# %% [markdown]
# ### 11.7 Errors
#
# Which pairs does the first model, that of cross entropy, get wrong with its tuned threshold? We sort the test
# pairs into three equal groups by how many words their two sentences share. An error is of one of two kinds: a
# positive pair is *missed*, or a negative one is *taken for one*.

# %%
first, last = experiment.losses[0], experiment.losses[-1]


def errors_by_overlap(says):
    """Errors among the pairs with few, some and most shared words."""
    groups = np.array_split(np.argsort(overlap["test"], kind="stable"), 3)
    found = {}
    for title, rows in zip(("few", "some", "most"), groups, strict=True):
        truth, said = gold[rows], says[rows]
        found[title] = {
            "pairs": len(rows),
            "paraphrases": int(truth.sum()),
            "missed": int((truth > said).sum()),
            "taken for one": int((said > truth).sum()),
        }
    return found


errors = errors_by_overlap(predicted[first, "tuned"])
pd.DataFrame(errors).T

# %% [markdown]
# The pairs with the highest loss are those on which the model was sure and wrong. Read some of them before you
# change a model, because in real corpora the label itself is often wrong or arguable.

# %%
margin = pairs.margins(trained[first].logits["test"])
loss_of = np.logaddexp(0, np.where(gold == 1, -margin, margin))
worst = np.argsort(-loss_of)[:5]
pd.DataFrame(corpus_of_pairs["test"].select(worst)).assign(
    **{"probability of a paraphrase": special.expit(margin[worst]).round(2)}
)


# %% [markdown]
# #### Pairs of your own
#
# What does the model say about two sentences of your own? To find out, we need the sub-words of the pair, the model,
# and the tuned threshold:

# %%
def probability(one, two, name):
    """The probability that two sentences say the same."""
    model = trained[name].model.eval()
    coded = tokenizer(one, two, truncation=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(**coded.to(model.device)).logits
    return float(special.expit(pairs.margins(logits.float().cpu())[0]))


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
OWN_PAIRS = """
1 | How do I keep basil alive in winter? | What is the best way to get a basil plant through the winter?
0 | How do I keep basil alive in winter? | How do I dry basil for the winter?
1 | Is it safe to drink rain water? | Can you drink water from the rain without harm?
0 | Is it safe to drink rain water? | Is it safe to drink sea water?
1 | How can I learn to swim as an adult? | What is a good way for grown-ups to learn swimming?
0 | How can I learn to swim as an adult? | How can I teach an adult to swim?
1 | Why do cats purr? | What makes a cat purr?
0 | Why do cats purr? | Why do cats hate water?
1 | How many people live in Iceland? | What is the population of Iceland?
0 | Which train goes from Lyon to Geneva? | Which train goes from Geneva to Lyon?
1 | How do I mend a bicycle tyre? | How can I repair a flat tire on my bike?
0 | What happens if I stop drinking coffee? | What happens if I start drinking coffee?
"""

# %%
own = []
cut_off = special.expit(table[first, "tuned"]["threshold"])
for line in OWN_PAIRS.strip().splitlines():
    label, one, two = line.split(" | ")
    p = probability(one, two, first)
    own.append({"one": one, "two": two, "gold": int(label), "p": p})
agreed = sum((row["p"] > cut_off) == row["gold"] for row in own)
print(f"{agreed} of {len(own)} are right; above {cut_off:.2f} means yes")

# %% [markdown]
# With the parameters as printed, the model was trained on made-up sentences and has met few of these words. You find
# what the model of the real run makes of them at the [top of the chapter](a-model-of-paraphrases).
#
# #### Errors that one loss makes and the other does not
#
# Two losses with similar scores need not make the same errors. Let us count the pairs on which the first and the last
# loss disagree:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
says = {name: pairs.decode(trained[name].logits["test"]) for name in (first, last)}
differ = np.flatnonzero(says[first] != says[last])
right = {name: int((says[name][differ] == gold[differ]).sum()) for name in says}
print(f"{first} and {last} disagree on {len(differ)} of {len(gold)} pairs")
print(f"right there: {right}")
shown = [
    (r["sentence1"], r["sentence2"], r["label"], says[first][i], says[last][i])
    for i, r in ((int(i), corpus_of_pairs["test"][int(i)]) for i in differ[:5])
]
pd.DataFrame(shown, columns=["sentence 1", "sentence 2", "gold", first, last])

# %% [markdown]
# Is one of the two better? Only the pairs on which they disagree can tell us. If both losses were equally good,
# each such pair would be the toss of a fair coin. Therefore we compute how probable an outcome at least as uneven
# as ours would be with a fair coin. This probability is the p-value. If it is large, we cannot tell which loss is
# better. The test is the sign test, and for classifiers it is known as McNemar's test.

# %%
if len(differ):
    test = stats.binomtest(right[last], len(differ))
    print(f"if both are equally accurate, the p-value is {test.pvalue:.3f}")

# %% [markdown]
# ## On real text
#
# Made-up pairs have shown you how to train and judge a model. They cannot tell you which loss finds more
# paraphrases. For that we need real text and several seeds. The runs that follow are kept as records in `dicelab/records/data`.
#
# ### 11.8 MRPC, where the positives are the majority
#
# The Microsoft Research Paraphrase Corpus {cite}`dolan2005mrpc` pairs sentences of news. We trained with seven
# settings of the losses and three seeds each. All layers of MiniLM were trained for three passes on 2,000 of the
# training pairs, with one learning rate for all. The table has F1 on the test set, mean and 95% interval over
# seeds:

# %% tags=["remove-cell"]
try:
    records = runs.kept_records("mrpc")
except FileNotFoundError:
    records = []
common, comparable = next(iter(runs.comparable(records)), ({}, []))
loss_names = {runs.loss_label(r): runs.loss_name(r) for r in comparable}

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
rows = {}
for split in ("test", "test_tuned") if comparable else ():
    how = "argmax" if split == "test" else "tuned"
    for name, found in runs.over_seeds(comparable, split=split).items():
        row = rows.setdefault(loss_names[name], {})
        row[how] = f"{found.mean.mean:.1f}"
        row[f"{how}, minus cross entropy"] = minus(str(found.gain or ""))
pd.DataFrame(rows).T

# %% [markdown]
# How far apart are the losses? Cross entropy, focal loss, dice and both exponents of self-adjusting dice lie within
# half a point of each other and about three points above "always yes". The intervals of their differences from cross
# entropy reach a point and more to both sides. Therefore these runs exclude a difference larger than three points. A
# gain as small as the paper's could hide in them.
#
# Two losses are different. Tversky with linear denominators is behind, at the level of "always yes". At argmax,
# weighted cross entropy has that level, too, though the interval of its difference includes 0. Why? The positives
# are the majority here, so [Eq. 2](eq-2) gives them the lower weight, and the model calls fewer pairs positive. A
# tuned threshold brings back about half of what was lost. Would dice gain more if the positives were rarer?

# %% [markdown]
# ### 11.9 Pairs whose positives are rarer
#
# The controlled study of [chapter 17](17_when_does_dice_help.ipynb) tries this, and [Figure 11.1](fig-11-1) shows
# its differences. The study trains only a small head with one hidden layer on top of a frozen encoder, and searches
# the settings of each loss several times. Four of its tasks are about pairs, from two corpora. On MRPC the
# positives are now the pairs that are *no* paraphrase, about a third. On QQP we remove duplicates from the training
# pairs until 30%, 10% or 2% of them are positive. The test set of QQP always has 10%.
#
# The table has the mean F1 on the test set. It compares cross entropy from the log prior, class weights, and dice
# from a bias near 0 and from the log prior. The baseline is "always yes":

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
beside = ("ce_start", "wce", "dice", "dice_start")
mean_f1 = {task: searched.compared(found, beside) for task, found in kept_tasks().items()}
pd.DataFrame(mean_f1).rename(columns=titles())

# %% [markdown]
# We expect dice to be ahead at argmax, because cross entropy calls too few pairs positive when positives are rare.
# That is what we see. From a bias near 0, dice is eight points higher where 2% of the training pairs are positive. On
# MRPC, and on QQP with 10%, it is five points higher. From the log prior its gains are about as large, though with 2%
# the interval just includes 0. With 30% there is no such gap from either start.
#
# However, dice is not the only way to close this gap. Class weights do it as well, and with 2% positives they gain
# more. Their F1 at argmax is 41.7, while that of dice is 24.7. A tuned threshold also gains more than dice without
# one: with 2% positives, it gives cross entropy an F1 of 39.5. And once both thresholds are tuned, all eight
# intervals of dice include 0.
#
# What follows for you? If you can tune a threshold, do that first. If you cannot, class weights or dice are worth a
# try.

# %% [markdown]
# ### 11.10 The paper's Table 7
#
# The paper trains larger encoders on all of MRPC and QQP, and it reports these gains:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input", "nbval-check-output"]
titled = {"mrpc": "MRPC", "qqp": "QQP"}
printed = {}
for row in paper.table(7).rows:
    change = "" if row.loss == "ce" else minus(f" ({float(row.printed['delta']):+.2f})")
    of_model = printed.setdefault((titled[row.corpus], row.backbone), {})
    of_model[row.loss.upper()] = row.printed["f1"] + change
pd.DataFrame(printed).T

# %% [markdown]
# The printed gains run from 0.05 to 0.92 points. Are they more than chance? MRPC has 1,725 test pairs, about 1,147
# of them paraphrases. How far does F1 move if the test pairs are drawn again? We take a classifier whose precision
# and recall are both 88%, so that it has the F1 of the first row, and draw its test pairs 4,000 times:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input", "nbval-check-output"]
draw = np.random.default_rng(0)
n, positives = 1725, 1147
tp, fp = round(0.88 * positives), round(0.12 * positives)  # P and R are 0.88
shares = [tp / n, fp / n, (positives - tp) / n, 1 - (positives + fp) / n]
parts = draw.multinomial(n, shares, 4000)
f1 = 200 * parts[:, 0] / (2 * parts[:, 0] + parts[:, 1] + parts[:, 2])
low, high = np.quantile(f1, [0.025, 0.975])
print(f"F1 {f1.mean():.1f}, 95% of the draws from {low:.1f} to {high:.1f}")

# %% [markdown]
# The draws spread over nearly three points. You can compare two classifiers more precisely if both are scored on
# the *same* pairs. Still, with one run each this corpus cannot show a gain of a tenth of a point. In addition, the
# F1 values of the baselines are, digit for digit, *accuracies* published elsewhere
# ([section 15.8](15_audit.ipynb)).
#
# If you have a GPU, `make reproduce TABLE=7 PROFILE=paper` trains the paper's encoders, on all of QQP as well.
# [The paper's tables](../docs/tables.md) says how many hours that takes.

# %% [markdown]
# ## Summary
#
# - "Always yes" has an F1 of 2π/(1 + π). Put this number beside every score.
# - The F1 of a model depends on its threshold, so compare losses with tuned thresholds.
# - On *real* text with fewer positives than negatives, dice at argmax is five to eight points of F1 above cross
#   entropy on three of four tasks. Class weights are ahead as well, and with tuned thresholds every interval
#   includes 0.
# - On MRPC as it is, the 95% intervals over three seeds exclude a difference larger than two points between cross
#   entropy and squared dice losses. The linear Tversky loss ends at the level of "always yes".

# %% [markdown]
# ## Exercises
#
# **1.** What accuracy does "always yes" have on MRPC, and what accuracy does "always no" have? Which of the two
# does a model resemble that starts at the log prior and has learned nothing yet?

# %% mystnb={"code_prompt_show": "Solution 11.1"} tags=["solution", "hide-cell"]
print(f"always yes {100 * positives / n:.1f}, always no {100 * (1 - positives / n):.1f}")

# %% [markdown]
# **2.** Show Eq. 11.1 from the counts. With N examples and πN positives, what are TP, FP and FN of
# "always yes"?

# %% mystnb={"code_prompt_show": "Solution 11.2"} tags=["solution", "hide-cell"]
import sympy as sp

N, pi = sp.symbols("N pi", positive=True)
sp.simplify(2 * pi * N / (2 * pi * N + (1 - pi) * N))

# %% [markdown]
# **3.** Exchange the labels, and score the *negative* pairs instead. Do the losses keep their order?

# %% mystnb={"code_prompt_show": "Solution 11.3"} tags=["solution", "hide-cell"]
swapped = {
    name: pairs.score(1 - gold, 1 - pairs.decode(result.logits["test"]))["f1"]
    for name, result in trained.items()
}
pd.DataFrame(
    {"F1 of positives": scores["f1"].xs("argmax", level=1), "of negatives": swapped}
).round(1)

# %% [markdown]
# **4.** How noisy is F1 in a batch of 32? Take the first model, draw batches from the test pairs,
# and look at the spread of their F1.

# %% mystnb={"code_prompt_show": "Solution 11.4"} tags=["solution", "hide-cell"]
batches = np.random.default_rng(0).integers(len(gold), size=(500, 32))
of_batches = [pairs.score(gold[b], says[first][b])["f1"] for b in batches]
print(f"standard deviation of a batch's F1: {np.std(of_batches):.1f} points")

# %% [markdown]
# **5.** (Research.) Temperature scaling divides the logits by a number chosen on the validation
# split. Can it change F1 at argmax? Can it improve the calibration?

# %% mystnb={"code_prompt_show": "Solution 11.5"} tags=["solution", "hide-cell"]
from scipy.optimize import minimize_scalar


def cross_entropy_at(log_temperature, logits, y):
    """Mean cross entropy of scaled log-odds."""
    m = pairs.margins(logits) / np.exp(log_temperature)
    return np.logaddexp(0, np.where(y == 1, -m, m)).mean()


for name, result in trained.items():
    found = minimize_scalar(
        cross_entropy_at,
        args=(result.logits["validation"], labels),
        bounds=(-3, 6),
        method="bounded",
    )
    print(f"{name:4} temperature {np.exp(found.x):.1f}: no sign changes, so F1 at argmax stays")

# %% tags=["remove-cell"]
# The record of each training, a file each, if `output_dir` is set.
for name, result in trained.items():
    record = runs.make_record(
        chapter="11_paraphrases",
        parameters=asdict(experiment.only(name)),
        metrics={
            "test": table[name, "argmax"],
            "test_tuned": table[name, "tuned"],
            "validation_tuned": validated[name, "tuned"],
            "majority": free["always yes"],
        },
        history=result.history,
        measured=result.measured,
    )
    if experiment.output_dir:
        runs.write_record(Path(experiment.output_dir) / name, record)
    print(f"{name}: F1 {record['metrics']['test']['f1']:.1f}")

# %% tags=["remove-cell"]
page = real_runs.keep(
    experiment,
    data={
        **{split: len(rows) for split, rows in corpus_of_pairs.items()},
        "positive": count.positive,
        "negative": count.negative,
    },
    results=trained,
    scores=[
        {
            "model": name,
            "decision": how,
            **table[name, how],
            "interval": real_runs.f1_interval(says * gold, says + gold),
        }
        for (name, how), says in predicted.items()
    ],
    errors=errors,
    own=own,
    cut_off=float(cut_off),
    reliability={
        name: [said.tolist(), came.tolist()] for name, (said, came, _) in reliable.items()
    },
)
