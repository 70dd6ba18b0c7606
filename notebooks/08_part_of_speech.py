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
# # 08 Parts of speech
#
# - **For** readers who train taggers without an `O`: every word has a class, and some classes are
#   rare.
# - **You need** the losses of [chapter 07](07_all_losses.ipynb); some acquaintance with BERT
#   {cite}`devlin2019bert`.
# - **You will be able to** train a part-of-speech tagger with any loss of this book, score it by
#   word or by span, and see what a loss does to the rare tags that the usual score hides.
# - **Time** about two minutes on a CPU core as it stands. A real encoder on a real treebank wants a GPU.
#
# Noun, verb, comma: in part-of-speech tagging every word is something. There is no heap of
# negatives as in the next chapter, and yet the paper reports gains of two points from dice losses.
# What is imbalanced here, then? This chapter counts it, trains one tagger with six losses, and
# looks at common and rare tags apart.

# %% tags=["remove-cell"]
# Where dicebook is missing, as on Colab, install what this chapter needs. Elsewhere nothing happens.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("dicebook") is None:
    subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", "dicebook[book]"])

# %% [markdown]
# ## The mechanics
#
# Made-up sentences and an encoder that starts from nothing: how an experiment works, and no ranking.
# The steps are those of all experiment chapters, told here once.
#
# ### 8.1 The parameters
#
# The next cell holds all that can be changed; `papermill` overwrites it from the command line:
#
# ```bash
# papermill notebooks/08_part_of_speech.ipynb out.ipynb -p corpus ud_zh \
#     -p encoder bert-base-chinese -p loss ce,dsc -p learning_rate 5e-5 -p epochs 4 \
#     -p max_length 192 -p output_dir runs/ud_zh
# ```

# %% tags=["parameters"]
corpus: str = "embedded-pos-zh"  # a registered name, or a path to your own file
encoder: str = "tiny"  # "tiny", "minilm", a local folder, or a model of the Hugging Face hub
loss: str = "ce,wce,fl,dl,dsc,tl"  # one or several of these
loss_options: dict = {
    "tl": {"squared": False, "absent": "keep"}
}  # options by loss; section 8.5 says why
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 12  # passes over the training sentences
max_steps: int = -1  # stop after so many steps; -1 for no such limit
batch_size: int = 32  # sentences in a step
learning_rate: float = 3e-3  # the peak of a linear schedule; 2e-5 to 2e-4 for a pretrained encoder
max_length: int = 64  # sub-words in a sentence; what is longer is cut
train_size: int = 0  # training sentences used, drawn by the seed; 0 for all
eval_size: int = 0  # sentences of each split that is scored; 0 for all
device: str = "auto"  # "auto", "cpu" or "cuda"
precision: str = "auto"  # "auto" (bf16 on a GPU that has it), "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves for TensorBoard, into output_dir
output_dir: str = ""  # checkpoints and records; a killed run resumes there. "" keeps nothing

# %% [markdown]
# A misspelt name or an impossible value ends here, before anything is loaded.

# %%
from dicebook.training.experiment import Experiment, ParameterError

experiment = Experiment.from_namespace(globals())
print(f"{len(experiment.losses)} losses on {experiment.corpus}: {', '.join(experiment.losses)}")

# %%
import textwrap
import warnings
from collections import Counter, defaultdict
from dataclasses import asdict, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from dicebook import TrainerLoss, corpora, figures, log_ratio_weights
from dicebook.claims import claim
from dicebook.reproduce import analysis, paper, runs
from dicebook.reproduce.analysis import CHECKPOINTS
from dicebook.tasks import tagging
from dicebook.training.encoders import load_tokenizer
from dicebook.training.sampling import sample
from dicebook.training.trainer import build_loss, train

figures.use_style()

# %% tags=["remove-cell"]
# What the text says of this chapter's own runs holds for the parameters as they stand above.
printed = Experiment(
    corpus="embedded-pos-zh",
    loss="ce,wce,fl,dl,dsc,tl",
    loss_options={"tl": {"squared": False, "absent": "keep"}},
    epochs=12,
    learning_rate=3e-3,
    max_length=64,
)
as_printed = replace(experiment, output_dir="") == printed

# %% [markdown]
# ### 8.2 From a sentence to a score, in two languages
#
# In English the words are given, and each gets one tag, here of Universal Dependencies
# {cite}`silveira2014ewt`.

# %%
english = corpora.load("embedded-pos-en", task="tagging")["train"][5]
pd.DataFrame([english["tags"]], columns=english["tokens"], index=["tag"])

# %% [markdown]
# As many predictions as truths: precision, recall, F1 and accuracy are one number. Chinese is written
# without spaces, and where a word ends has to be found out as well: every character gets a joint
# label, `B-NOUN` if a noun begins there and `I-NOUN` if one goes on.

# %%
chinese = corpora.load("embedded-pos-zh", task="tagging")
print(" ".join(chinese["train"][0]["tokens"]))
example = tagging.by_character(chinese)["train"][0]
pd.DataFrame([example["tags"]], columns=example["tokens"], index=["label"])

# %% [markdown]
# A word is now a span. It counts as found if its first character, its last one and its tag are
# right, so precision and recall part. This chapter tags by character where most characters are
# Chinese, else by word.

# %%
words = sample(corpora.load(experiment.corpus, task="tagging"), experiment)
training_text = "".join(word for row in words["train"]["tokens"] for word in row)
joint = 2 * sum("\u4e00" <= c <= "\u9fff" for c in training_text) > len(training_text)
if any("O" in tags for tags in words["train"]["tags"]):
    raise ParameterError("parameter 'corpus': expected parts of speech, got entities (a tag O)")
tagged = tagging.by_character(words) if joint else words
print(f"{experiment.corpus}: {'joint labels by character' if joint else 'one tag a word'}")

# %% [markdown]
# ### 8.3 What is imbalanced here?
#
# Seen from one tag, all the others are negatives. A dice loss looks at it so: one tag against the rest,
# then the mean over tags.

# %% tags=["nbval-check-output"]
frequency = Counter(tag for tags in words["train"]["tags"] for tag in tags)
count = pd.Series(dict(frequency.most_common()), name="words").to_frame()
total = count["words"].sum()
count["share, %"] = (100 * count["words"] / total).round(1)
count["negatives a positive"] = (total / count["words"] - 1).round(1)
count

# %% tags=["nbval-check-output"]
most, least = count.index[0], count.index[-1]
times = count["words"].iloc[0] / count["words"].iloc[-1]
print(f"{total:,} words, {len(count)} tags; {most} is {times:.0f} times as frequent as {least}")

# %% [markdown]
# A quarter of the words are nouns, and no class is larger; three tags have about a hundred or more
# negatives for each positive. The imbalance is **between the classes**, and it matters to a score only
# if the score asks for the rare ones.

# %% tags=["remove-cell"]
if as_printed:
    claim(
        "A quarter of the words are nouns, and no class is larger",
        abs(count["share, %"].iloc[0] - 25) < 2,
        most == "NOUN",
    )
    claim(
        "three tags have about a hundred or more negatives for each positive",
        (count["negatives a positive"] > 95).sum() == 3,
    )

# %% [markdown]
# ### 8.4 Two averages
#
# The paper reports the *micro* average: all words in one pot. The *macro* average is the mean of the
# tags' F1s: there a conjunction counts as much as a noun.


# %%
def found_words(tags):
    """The tagged words of a sentence: type, first token, token after the last."""
    if joint:
        return set(corpora.spans(tags, strict=True))
    return {(tag, i, i + 1) for i, tag in enumerate(tags)}


def per_tag(gold, predicted):
    """Right, predicted and gold words of every tag."""
    counts = defaultdict(lambda: [0, 0, 0])
    for pair in zip(gold, predicted, strict=True):
        g, p = map(found_words, pair)
        for column, found in enumerate((g & p, p, g)):
            for word in found:
                counts[word[0]][column] += 1
    columns = ["right", "predicted", "gold"]
    table = pd.DataFrame.from_dict(counts, orient="index", columns=columns)
    table["F1"] = 200 * table["right"] / (table["predicted"] + table["gold"])
    return table


# %%
def score(gold, predicted):
    """Micro precision, recall and F1, and F1 averaged over the tags of the gold."""
    table = per_tag(gold, predicted)
    right, n_predicted, n_gold = table[["right", "predicted", "gold"]].sum()
    return {
        "precision": float(100 * right / max(1, n_predicted)),
        "recall": float(100 * right / n_gold),
        "f1": float(200 * right / (n_predicted + n_gold)),
        "macro_f1": float(table.loc[table["gold"] > 0, "F1"].mean()),
    }


# %% [markdown]
# Two baselines that never look at a neighbour: the tag that a token has most often in training, and,
# for Chinese, the longest known word that begins where the last one ended, with its commonest tag.

# %% tags=["nbval-check-output"]
by_token = defaultdict(Counter)
for row in tagged["train"]:
    for token, tag in zip(row["tokens"], row["tags"], strict=True):
        by_token[token][tag] += 1
best_tag = {token: tags.most_common(1)[0][0] for token, tags in by_token.items()}
common = sum(by_token.values(), Counter()).most_common(1)[0][0]

word_tags = defaultdict(Counter)
for row in words["train"]:
    for word, tag in zip(row["tokens"], row["tags"], strict=True):
        word_tags[word][tag] += 1
dictionary = {word: tags.most_common(1)[0][0] for word, tags in word_tags.items()}
longest = max(map(len, dictionary))


def longest_match(characters):
    """Joint labels by the dictionary of the training split; unknown characters are single words."""
    tags = []
    while len(tags) < len(characters):
        rest = "".join(characters[len(tags) : len(tags) + longest])
        word = next((rest[:n] for n in range(len(rest), 1, -1) if rest[:n] in dictionary), rest[0])
        tag = dictionary.get(word, most)
        tags += [f"B-{tag}", *[f"I-{tag}"] * (len(word) - 1)]
    return tags


# %% tags=["nbval-check-output"]
gold = tagged["test"]["tags"]
guesses = {
    "most frequent of all": [[common] * len(tags) for tags in gold],
    "most frequent of the token": [
        [best_tag.get(token, common) for token in tokens] for tokens in tagged["test"]["tokens"]
    ],
}
if joint:
    guesses["longest match"] = [longest_match(tokens) for tokens in tagged["test"]["tokens"]]
baselines = {name: score(gold, tags) for name, tags in guesses.items()}
pd.DataFrame(baselines).T.round(1)

# %% [markdown]
# Our scores must be those of `dicebook`, which come from other packages.

# %%
for name, mine in baselines.items():
    theirs = (tagging.score if joint else tagging.score_words)(gold, guesses[name])
    for metric in mine.keys() & theirs.keys():
        assert abs(mine[metric] - theirs[metric]) < 1e-9, (name, metric)

# %% [markdown]
# ### 8.5 The model and its losses
#
# An encoder, one linear layer on top, a row of logits for every token.

# %%
texts = (" ".join(tokens) for tokens in tagged["train"]["tokens"])
tokenizer = load_tokenizer(experiment.encoder, texts, max_length=experiment.max_length)
encoded = tagging.encode(tagged, tokenizer, max_length=experiment.max_length)
print(f"{len(encoded.labels)} labels; cut at {experiment.max_length} sub-words: {encoded.cut}")

# %%
torch.manual_seed(experiment.seed)
model = tagging.model(experiment.encoder, tokenizer, encoded.labels)
batch = tagging.collator(tokenizer)([encoded.splits["train"][i] for i in range(4)])
logits = model(**{k: batch[k] for k in ("input_ids", "attention_mask")}).logits
counts = encoded.counts()
with warnings.catch_warnings(record=True) as warned:
    criteria = {name: build_loss(experiment, name, counts) for name in experiment.losses}
for name, criterion in criteria.items():
    value = criterion(logits, batch["labels"]).item()
    print(f"{name:4} {value:.3f}  {textwrap.shorten(str(criterion), 80)}")
print("", *(textwrap.fill(f"warning: {w.message}", 88) for w in warned), sep="\n")

# %% [markdown]
# DL and DSC have squared denominators, the default of this book. The Tversky loss is asked for the
# *linear* one that the paper prints; with both weights at one half it is then the linear dice loss
# ([chapter 05](05_tversky.ipynb)). It is here as a warning, and the library warns, too.

# %% [markdown]
# ### 8.6 Training
#
# All experiment chapters train alike, so that only the loss differs: every loss starts from the same
# weights, sees the same batches in the same order, and has the same learning rate, which rises for a
# tenth of the steps and falls to zero; gradients are clipped at norm 1. One rate for all is
# controlled, not fair; the second part has records where each loss has its own. After each pass the
# validation split is scored and the best epoch kept, here by micro F1. The test split is predicted
# once, at the end. With `output_dir` set, a killed run goes on where it stopped.


# %%
def evaluate(logits, split):
    """Scores of a split's logits."""
    return score(split["tags"], tagging.decode(logits, split, encoded.labels))


# %%
trained = {}
for name in experiment.losses:
    print(name)
    trained[name] = train(
        experiment.only(name),
        build_model=lambda: tagging.model(experiment.encoder, tokenizer, encoded.labels),
        splits=encoded.splits,
        collator=tagging.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(criteria[name]),
        evaluate=evaluate,
    )

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 8.1. F1 on the validation split after each pass, micro above macro."}, "image": {"alt": "Two panels of six curves over twelve epochs. Above, micro F1: the cross entropies and focal loss rise together to above 90, the two squared dice losses to a few points below, linear Tversky stays near 70. Below, macro F1: five curves end above 90, linear Tversky near 43."}}
fig, axes = plt.subplots(2, 1, figsize=(5.6, 6), sharex=True, sharey=True)
for ax, metric, title in zip(axes, ("f1", "macro_f1"), ("micro", "macro"), strict=True):
    for name, result in trained.items():
        steps = [entry["epoch"] for entry in result.history]
        values = [entry[f"validation_{metric}"] for entry in result.history]
        ax.plot(steps, values, label=name, **figures.style(name))
    ax.set(ylabel=f"{title} F1, %", ylim=(0, 100))
axes[0].set_title("validation split")
axes[1].set_xlabel("epoch")
axes[1].legend(title="loss", ncols=2)
plt.show()

# %% [markdown]
# Look at `tl`, the linear one. Its macro average lies far below its micro average: the tags that it has
# learned are frequent ones.

# %% tags=["remove-cell"]
if as_printed:
    end = {n: t.history[-1] for n, t in trained.items()}
    micro = {n: e["validation_f1"] for n, e in end.items()}
    claim(
        "Its macro average lies far below its micro average",
        end["tl"]["validation_macro_f1"] < micro["tl"] - 20,
    )

# %% [markdown]
# ### 8.7 Scores, and a baseline that must not be missing
#
# Here there are as many thresholds as tags. One number can move them all: take τ times the logarithm
# of a label's share from its logit {cite}`menon2021logit`. The larger τ, the more often rare tags win.
# τ is tuned on the validation split for the macro average, for every loss alike.


# %%
def adjusted(logits, split, tau):
    """Tags of logits from which the logarithm of the labels' shares was taken τ times."""
    prior = np.log(np.maximum(counts, 1) / counts.sum())
    return tagging.decode(logits - tau * prior, split, encoded.labels)


# %%
test, validation = encoded.splits["test"], encoded.splits["validation"]
table = {("baseline", name): found for name, found in baselines.items()}
for name, result in trained.items():
    found = {
        tau: score(validation["tags"], adjusted(result.logits["validation"], validation, tau))
        for tau in np.linspace(-0.5, 2, 11).round(2).tolist()
    }
    tuned = max(found, key=lambda tau: (found[tau]["macro_f1"], -abs(tau)))
    for how, tau in (("argmax", 0.0), ("tuned", tuned)):
        tags = adjusted(result.logits["test"], test, tau)
        table[name, how] = {**score(gold, tags), "tau": tau}
pd.DataFrame(table).T.round(1)

# %% [markdown]
# Tuning τ moves the healthy models by a point or less; it does not wake what `tl` has lost. The same
# table on a treebank is in 8.10.

# %% tags=["remove-cell"]
if as_printed:
    found = pd.DataFrame(table).T
    raw, tuned = (found.xs(how, level=1)[["f1", "macro_f1"]] for how in ("argmax", "tuned"))
    claim(
        "Tuning τ moves the healthy models by a point or less",
        (tuned - raw).drop("tl").abs().max().max() < 1,
    )
    claim(
        "it does not wake what `tl` has lost", tuned["macro_f1"]["tl"] < raw["macro_f1"]["ce"] - 20
    )

# %% [markdown]
# ### 8.8 A score for each tag
#
# With a dozen test words, one word more or less is several points of F1.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 8.2. F1 of each tag on the test split, frequent tags on top. In brackets, words in training and in test."}, "image": {"alt": "A row for each of fifteen tags, a mark for each of four losses. The marks of cross entropy, weighted cross entropy and DSC lie above 70 in all rows, most above 85, lowest at names, where DSC is eight points below cross entropy. Linear Tversky lies between 60 and 100 in the frequent rows and at zero in most rows of the rarer half."}}
show = [name for name in ("ce", "wce", "dsc", "tl") if name in trained] or experiment.losses
f1 = pd.DataFrame(
    {name: per_tag(gold, adjusted(trained[name].logits["test"], test, 0.0))["F1"] for name in show}
)
n_test = per_tag(gold, gold)["gold"]
f1 = f1.reindex([tag for tag in count.index if n_test.get(tag, 0) > 0]).fillna(0)
fig, ax = plt.subplots(figsize=(5.6, 1.2 + 0.28 * len(f1)))
for name, marker in zip(show, "osD^v*", strict=False):
    ax.plot(f1[name], range(len(f1)), marker, color=figures.style(name)["color"], label=name)
labels = [f"{tag} ({frequency[tag]}, {n_test[tag]})" for tag in f1.index]
ax.set_yticks(range(len(f1)), labels, fontsize=9)
ax.invert_yaxis()
ax.set(xlabel="F1 on the test split, %", xlim=(-3, 103))
fig.legend(loc="outside upper center", ncols=len(show), title="loss")
plt.show()

# %%
half = len(f1) // 2
pd.DataFrame({"frequent half": f1[:half].mean(), "rare half": f1[half:].mean()}).T.round(1)

# %% [markdown]
# The triangles of `tl` lie at zero for most of the rarer tags. That is the collapse of
# [chapter 04](04_dice_loss.ipynb), one tag at a time. (Real rare tags follow in 8.11.)

# %% tags=["remove-cell"]
if as_printed:
    rare = f1.iloc[half:]
    claim("lie at zero for most of the rarer tags", (rare["tl"] == 0).mean() > 0.5)

# %% [markdown]
# ### 8.9 Errors that one loss makes and the other does not
#
# Sentences in which the first loss and DSC (or the last) disagree, and one of them is right.

# %%
first = experiment.losses[0]
last = "dsc" if "dsc" in experiment.losses[1:] else experiment.losses[-1]
predicted = {name: adjusted(trained[name].logits["test"], test, 0.0) for name in (first, last)}


def differing(tokens, mine, others):
    """Words of one tagging that are not in both."""
    glue = "" if joint else " "
    own = sorted(found_words(mine) - found_words(others), key=lambda word: word[1])
    return "  ".join(f"{glue.join(tokens[start:end])}/{tag}" for tag, start, end in own) or "–"


rows, better = [], Counter()
for i, tokens in enumerate(test["tokens"]):
    a, b = predicted[first][i], predicted[last][i]
    if a != b and gold[i] in (a, b):
        better[first if gold[i] == a else last] += 1
        cells = differing(tokens, a, b), differing(tokens, b, a), first if gold[i] == a else last
        rows.append([("" if joint else " ").join(tokens), *cells])
print(f"{len(rows)} sentences in which exactly one of the two is right: {dict(better)}")
pd.DataFrame(rows[:8], columns=["sentence", first, last, "right"])

# %% [markdown]
# Each character chooses its label alone, so a `B-NOUN` may be followed by an `I-VERB`, which continues
# nothing and is lost. How often does that happen?


# %%
def broken(tags):
    """Labels that continue nothing."""
    before = ["O", *tags[:-1]]
    return sum(t[:2] == "I-" and b[2:] != t[2:] for b, t in zip(before, tags, strict=True))


lost = {
    name: sum(map(broken, adjusted(result.logits["test"], test, 0.0)))
    for name, result in trained.items()
}
print(lost)

# %% [markdown]
# No loss of this book says that neighbours should agree. A decoder that allows no such pairs helps all
# of them: on entities, [section 9.12](09_named_entities.ipynb) measures how much.

# %% [markdown]
# ## On real text
#
# All that follows is drawn from records in `results/`; nothing of it is computed on this page.
#
# ### 8.10 Chinese, an encoder from nothing
#
# Universal Dependencies 1.4 for Chinese is free, and one of the paper's three. The records were made
# with this chapter's model and the same settings for every loss, over several seeds; they have micro
# F1 at argmax only, so neither τ nor the macro average is in them. The table shows the mean with a
# 95% interval, the difference from cross entropy on the same seeds, and the p-value of a paired
# test. The last two rows are the baselines of 8.4 on the same test split, which look at no model.

# %% tags=["hide-input"]
try:
    records = [r for r in runs.kept_records("ud_zh") if r["chapter"] == "08_part_of_speech"]
except FileNotFoundError:
    records = []
    print("no records of ud_zh are kept yet: run the command of section 8.1")
common, comparable = next(iter(runs.comparable(records)), ({}, []))
print(", ".join(f"{name} {value}" for name, value in common.items()))
print(f"{len(comparable)} runs with these settings, {len(records)} in all")

# %% tags=["hide-input"]
rows = {}
for metric in ("f1", "macro_f1"):
    if not all(metric in r["metrics"]["test"] for r in comparable):
        continue
    for name, found in runs.over_seeds(comparable, metric=metric).items():
        row = rows.setdefault(name, {"seeds": len(found.scores)})
        row[metric] = found.mean
        if found.gain:
            row[f"{metric} less ce"], row[f"p of {metric}"] = found.gain, f"{found.p_value:.3f}"
ud_baselines = {
    r["parameters"]["baseline"]: r["metrics"]["test"] for r in runs.kept_records("baselines/ud_zh")
}
rows |= {name: {"f1": round(found["f1"], 1)} for name, found in ud_baselines.items()}
pd.DataFrame(rows).T.fillna("")

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 8.3. UD Chinese 1.4. Above, test F1 of every seed and the mean with its 95% interval; grey, the two baselines. Below, F1 on the validation split after each pass.", "name": "fig-8-3"}, "image": {"alt": "Above, seven rows of three dots each, close together, between two grey lines at 51 and 72: six rows near 55, linear Tversky at 47, left of the first line. Below, seven curves over four passes; six rise together and flatten, linear Tversky stays below."}}
if comparable:
    fig, axes = plt.subplots(2, 1, figsize=(5.6, 6.6))
    figures.seeds(comparable, axes)
    for found in ud_baselines.values():
        axes[0].axvline(found["f1"], color="#7F7F7F", lw=1)
    plt.show()

# %% [markdown]
# Read the last row first. The dictionary, which learns nothing but a list of words, is fifteen
# points ahead of every model in the table: this small encoder, trained from nothing for four epochs
# on 4,000 sentences, has not learned to segment. All models are above the majority tag of a
# character except one. The order of losses among models that are this weak is a weak thing to know.
#
# Such as it is: cross entropy leads the dice losses by about one point, and the intervals of these
# differences stay clear of zero. Focal loss loses as much. Weighted cross entropy is ahead by less
# than its interval is wide, so it is not ahead. Tversky with linear denominators ends almost nine
# points behind, below the majority tag; which tags it loses is not in the records. The sign is the
# same for every seed, yet the p-value says .25, because a sign-flip test on three pairs cannot say
# less. What a pretrained encoder would do, the records do not say.

# %% tags=["remove-cell"]
if len(comparable) == len(records) == 21:  # more runs want another text
    over = runs.over_seeds(comparable)
    mean = {n: o.mean.mean for n, o in over.items()}
    gain = {n: o.gain for n, o in over.items() if o.gain}
    dice = [gain[n] for n in gain if n.startswith(("dl", "dsc"))]
    linear = next(n for n in gain if n.startswith("tl"))
    per_character, by_dictionary = (found["f1"] for found in ud_baselines.values())
    claim(
        "is fifteen points ahead of every model in the table",
        abs(by_dictionary - max(mean.values()) - 15) < 1,
    )
    claim(
        "All models are above the majority tag of a character except one",
        [n for n in mean if mean[n] < per_character] == [linear],
    )
    claim(
        "cross entropy leads the dice losses by about one point, and the intervals of these differences stay clear of zero",
        len(dice) == 3,
        all(abs(g.mean + 1) < 0.3 and g.high < 0 for g in dice),
    )
    claim("Focal loss loses as much", abs(gain["fl"].mean + 1) < 0.3)
    claim(
        "Weighted cross entropy is ahead by less than its interval is wide",
        0 < gain["wce"].mean < gain["wce"].high - gain["wce"].low,
        gain["wce"].low < 0,
    )
    claim(
        "ends almost nine points behind, below the majority tag",
        abs(gain[linear].mean + 8.75) < 0.25,
    )
    claim(
        "The sign is the same for every seed, yet the p-value says .25",
        {".25": over[linear].p_value},
        gain[linear].high < 0,
    )
    claim("on 4,000 sentences", common["train_size"] == 0, common["epochs"] == 4)

# %% [markdown]
# ### 8.11 Six rare tags of English
#
# Chinese micro F1 cannot say what the chapter asks: do rare tags profit? The
# [evidence](../docs/protocol.md) of this book has a task for it. Of the English treebank
# {cite}`silveira2014ewt`, six rare tags are to be found, about one word in thirteen, and all others are
# `O`. A pretrained encoder that stays as it is, a trained head, sixteen trials on validation for each
# loss, twenty finals on draws of their own. F1 over the six tags, cross entropy beside squared dice:

# %% tags=["hide-input"]
evidence = analysis.Runs.read(runs.kept_folder() / "evidence")
rare_tags = analysis.compared(evidence, ["ud_rare_tags"])
pd.DataFrame(rare_tags)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 8.4. Six rare tags of UD English, frozen encoder, means over twenty finals. Above, validation F1 by steps, threshold tuned. Below, precision against recall on the test set under all thresholds; circles are argmax, diamonds the tuned threshold.", "name": "fig-8-4"}, "image": {"alt": "Above, two curves rise from about 70 to 92; dice is ahead at 30 steps, level at 120. Below, two curves of precision against recall lie on one another, flat near 1 up to a recall of .8 and falling steeply after; circles and diamonds stand together at the bend."}}
if rare_tags:
    fig, axes = plt.subplots(2, 1, figsize=(5.6, 7.4))
    figures.evidence(evidence, "ud_rare_tags", axes)
    plt.show()

# %% tags=["hide-input"]
by_tag = {}
for arm in ("ce", "dice") if rare_tags else ():
    for how in analysis.WAYS:
        of_finals = [
            r["test"][how]["types"] for r in evidence.finals["ud_rare_tags", arm, how].values()
        ]
        for tag, (_, _, true) in of_finals[0].items():
            f1s = [200 * f[tag][0] / max(1, f[tag][1] + true) for f in of_finals]
            by_tag.setdefault(tag, {"in test": true})[f"{arm}, {how}"] = np.mean(f1s)
pd.DataFrame(by_tag).T.sort_values("in test", ascending=False).round(1) if by_tag else None

# %% [markdown]
# No difference larger than .6 points was seen, at argmax or tuned: both losses stand at 89, and the
# dictionary at 71. The two curves of precision against recall are one. Dice is five points ahead
# after 30 steps and level after 120. Tag by tag no loss rescues what is hard: `X`, foreign words and
# leftovers, is found by neither (1%), while particles stand at 97. Only the interjections, a hundred
# and twenty words of the test set, are one to three points better with dice. So on real English, too,
# rare is not the same as hard, and a loss against rareness mends little where an encoder knows the
# words.

# %% tags=["remove-cell"]
done = {
    len(evidence.finals.get(("ud_rare_tags", a, h), {}))
    for a in ("ce", "dice")
    for h in analysis.WAYS
}
if done == {20}:
    size = evidence.tasks["ud_rare_tags"]["sizes"]["train"]
    claim("about one word in thirteen", abs(size["rows"] / size["positive"] - 13) < 0.5)
    gaps = [
        analysis.effect(evidence, analysis.less_ce("dice", h), "ud_rare_tags")
        for h in analysis.WAYS
    ]
    claim(
        "No difference larger than .6 points was seen, at argmax or tuned",
        {".6": max(max(-g.low, g.high) for g in gaps)},
        all(g.low < 0 < g.high for g in gaps),
    )
    tag_f1 = pd.DataFrame(by_tag).T.drop(columns="in test")
    told = pd.Series(rare_tags["ud_rare_tags"]).drop(
        [f"dice less ce, {how}" for how in analysis.WAYS]
    )
    claim(
        "both losses stand at 89, and the dictionary at 71",
        ((told.drop("baseline").astype(float) - 89.4).abs() < 0.5).all(),
        {"71": float(told["baseline"])},
    )
    at = np.linspace(0.2, 0.9, 71)
    one, other = (
        np.interp(at, recall, precision)
        for precision, recall in (
            evidence.precision_recall("ud_rare_tags", a) for a in ("ce", "dice")
        )
    )
    claim("The two curves of precision against recall are one", abs(one - other).max() < 0.02)
    early = [np.mean(evidence.curves("ud_rare_tags", a), axis=0) for a in ("ce", "dice")]
    claim(
        "Dice is five points ahead after 30 steps and level after 120",
        {"30": CHECKPOINTS[0], "120": CHECKPOINTS[2]},
        abs(early[1][0] - early[0][0] - 5) < 0.5,
        abs(early[1][2] - early[0][2]) < 1,
    )
    claim(
        "is found by neither (1%), while particles stand at 97",
        (tag_f1.loc["X"].round() == 1).all(),
        ((tag_f1.loc["PART"] - 97).abs() < 1).all(),
    )
    gain = [
        tag_f1.loc["INTJ", f"dice, {h}"] - tag_f1.loc["INTJ", f"ce, {h}"] for h in analysis.WAYS
    ]
    claim("are one to three points better with dice", min(gain) > 1, max(gain) < 3.1)

# %% [markdown]
# ### 8.12 Tables 3 and 4 of the paper, and what a GPU run would add
#
# Table 3 is Chinese, Table 4 English. F1 of the tagger with cross entropy, and the printed gains of
# the three losses over it.

# %% tags=["nbval-check-output"]
printed = {}
for number in (3, 4):
    for row in paper.table(number).rows:
        if row.loss:
            cell = f"{row.f1:.2f}" if row.loss == "ce" else f"{row.delta:+.2f}"
            printed.setdefault(f"T{number} {row.corpus_title}", {})[row.loss] = cell
pd.DataFrame(printed).T

# %% [markdown]
# In Chinese the dice losses gain up to two points, in English half a point or less. DSC is first in
# all five rows. What the paper leaves open:
#
# - **Were the words given?** Joint-POS, its first baseline, finds words and tags together. If the
#   tagger got the gold words, the two are not comparable; if it did not, an F1 near 97 or 98 would
#   be one for segmentation and tags together. The text does not say. Here the words are found.
# - **What is a span in English?** With one tag a word, precision equals recall. Table 4 prints two
#   numbers. [Chapter 15](15_audit.ipynb) tries the explanations, and recomputes every F1 from its
#   own precision and recall: the gain of focal loss on UD 1.4 shrinks, those on the Wall Street
#   Journal change sign or size.
# - **How many seeds?** No word on it, and gains such as +.02 and +.05 are printed as gains.
# - **Which tags gained?** Only micro F1 is reported. Whether rare tags profit, the reason to try a
#   loss against imbalance, is not shown.
#
# A GPU would add what these records lack: a Chinese BERT on UD 1.4 (CTB 5 and 6 are licensed), all
# layers trained, with macro F1 and τ beside micro F1. `make reproduce TABLE=3 PROFILE=paper` makes the
# rows, `TABLE=4` the English ones; hours stand in [From here to the paper](../docs/from_here_to_the_paper.md). The
# gains to be found or not are two points in Chinese and half a point in English.

# %% [markdown]
# ## Summary
#
# - *Made-up and real*: part-of-speech tagging has no negative class. Its imbalance is between tags, and micro F1 hardly
#   sees it; report macro F1 or F1 by tag beside it.
# - By word, precision, recall, F1 and accuracy are one number. By character, segmentation and tags
#   are one task, and words are spans.
# - *Real* text, an encoder from nothing, three seeds: on UD Chinese squared dice losses are a point
#   below cross entropy, a linear one nine, and all of them far below a dictionary without any model.
#   Show the baseline first.
# - *Real* text, each loss with its own search, twenty draws: on six rare tags of English no difference
#   larger than .6 points between squared dice and cross entropy.
# - *Made-up* text, one seed: a linear dice loss gives up most of the rarer tags. A loss against
#   imbalance can only mend what imbalance broke; whether it broke anything, F1 by tag tells.
# - Taking τ log-shares from the logits is the threshold baseline for many classes. It is free.
#
# ## Exercises
#
# **1.** A tagger calls every word by its right tag except that it calls all words of the rarest tag
# by the most frequent one. What are its micro and its macro F1 on the words of the test split? Say
# which falls more before you compute them.

# %% tags=["solution", "hide-cell"]
truth_tags = words["test"]["tags"]
lazy = [[most if tag == least else tag for tag in tags] for tags in truth_tags]
{name: round(value, 2) for name, value in tagging.score_words(truth_tags, lazy).items()}

# %% [markdown]
# **2.** Which weights does [Eq. 2](eq-2) give to the labels? By what factor does the rarest weigh
# more than the most frequent?

# %% tags=["solution", "hide-cell"]
weights = pd.Series(log_ratio_weights(torch.as_tensor(counts), K=1.0).numpy(), encoded.labels)
print(f"largest over smallest weight: {weights.max() / weights.min():.0f}")
weights.sort_values().round(2).iloc[[0, 1, -2, -1]]

# %% [markdown]
# **3.** Which two tags does the first of the losses confuse most often? Count on the tokens of the
# test split.

# %% tags=["solution", "hide-cell"]
confused = Counter(
    (g, p)
    for pair in zip(gold, predicted[first], strict=True)
    for g, p in zip(*pair, strict=True)
    if g != p
)
pd.DataFrame(
    [(g, p, n) for (g, p), n in confused.most_common(5)], columns=["gold", "predicted", "tokens"]
)

# %% [markdown]
# **4.** Suppose that only the tags are asked for, and the boundaries of words are free of charge.
# Score the joint labels as one tag a character, without `B-` and `I-`. By how much does that raise
# F1, and what does this say about comparing two papers?

# %% tags=["solution", "hide-cell"]
bare = [
    [[tag.removeprefix("B-").removeprefix("I-") for tag in tags] for tags in side]
    for side in (gold, predicted[first])
]
print(f"by span {score(gold, predicted[first])['f1']:.1f}", end=", ")
print(f"by token {tagging.score_words(*bare)['f1']:.1f}")

# %% [markdown]
# **5.** Is the difference in macro F1 between the two losses of section 8.9 more than chance in
# the choice of test sentences? Draw the test split five hundred times with replacement.

# %% tags=["solution", "hide-cell"]
tags_seen = sorted(n_test.index)
counted = np.zeros((2, len(gold), len(tags_seen), 2))  # right words; predicted and gold words
for side, name in enumerate((first, last)):
    for i, pair in enumerate(zip(gold, predicted[name], strict=True)):
        g, p = map(found_words, pair)
        for column, found in enumerate((g & p, [*g, *p])):
            for word in found:
                if word[0] in tags_seen:
                    counted[side, i, tags_seen.index(word[0]), column] += 1
macro = []
draw = np.random.default_rng(0).integers(len(gold), size=(500, len(gold)))
for one in counted:
    right, both = np.stack([one[d].sum(0) for d in draw]).transpose(2, 0, 1)
    macro.append((200 * right / np.maximum(1, both)).mean(1))
low, high = np.quantile(macro[1] - macro[0], [0.025, 0.975])
print(f"{last} less {first}: 95% of the draws between {low:+.1f} and {high:+.1f} points")

# %% [markdown]
# **6 (small research).** Make the rare tags rarer with `corpora.rebalance`, to forty other words
# for each word of theirs. How many have they left, and does weighted cross entropy help them then?
# Write the corpus to a file, run this chapter on it with five seeds, and compare macro F1 with
# `runs.paired_test`.

# %% tags=["solution", "hide-cell"]
from dicebook import corpora

few = ("INTJ", "NUM", "PROPN")
chinese = corpora.load("embedded-pos-zh", task="tagging")["train"]
rarer = corpora.rebalance(chinese, 40, task="tagging", positive=few)
for name, data in {"as it is": chinese, "rarer": rarer}.items():
    left = Counter(tag for tags in data["tags"] for tag in tags)
    print(f"{name}: {len(data)} sentences, { ({tag: left[tag] for tag in few}) }")

# %% [markdown]
# ### The record
#
# The last cell leaves what this run was and what came of it, in one JSON file a loss, if
# `output_dir` is set.

# %%
for name, result in trained.items():
    record = runs.make_record(
        chapter="08_part_of_speech",
        parameters=asdict(experiment.only(name)),
        metrics={
            "test": table[name, "argmax"],
            "test_tuned": table[name, "tuned"],
            "majority": baselines["most frequent of the token"],
        },
        history=result.history,
        measured=result.measured,
    )
    if experiment.output_dir:
        runs.write_record(Path(experiment.output_dir) / name, record)
    shown = record["metrics"]["test"]
    print(f"{name}: F1 {shown['f1']:.1f}, macro F1 {shown['macro_f1']:.1f}")
