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
# You know from school that a word can be a noun, a verb, or a conjunction. A tagger has to say which, for every
# word of a text. Every word belongs to some class, so there is no large class of negatives. The imbalance is
# between the tags: nouns are everywhere, interjections are few, and the share of words that are right hardly
# changes if your tagger misses every interjection. Does another loss find more of the rare tags? We measured F1
# over six rare tags of English together. Dice and cross entropy differ by less than a point there, and we cannot
# tell which of them is better.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who train taggers without an `O`: every word has a class, and some classes are
#   rare.
# - **You need** the losses of [chapter 07](07_all_losses.ipynb), and some acquaintance with BERT
#   {cite}`devlin2019bert`.
# - **You will be able to** train a part-of-speech tagger with any loss of this book and score it by word or by span.
#   You will also see what a loss does to rare tags, which the usual score hides.
# - **Time** about two minutes on a CPU core with the parameters as printed. For a real encoder on a real treebank you
#   want a GPU.
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
import textwrap
import warnings
from collections import Counter, defaultdict
from dataclasses import asdict, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from dicebook import TrainerLoss, log_ratio_weights
from dicelab import corpora, figures, real_runs
from dicelab.records import paper, runs, searched
from dicelab.tasks import tagging
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment, ParameterError
from dicelab.training.sampling import sample
from dicelab.training.trainer import build_loss, train

figures.use_style()


# %% tags=["remove-cell"]
def rare_tags():
    """The records of the controlled study on six rare tags of English."""
    return searched.read_tasks()["ud_rare_tags"]


# %% mystnb={"code_prompt_show": "Code of Figure 8.1", "figure": {"caption": "Figure 8.1. Six rare tags of UD English against all others: F1 on the test set. The encoder is frozen, and only a small head on top of it is trained. A circle is the most probable class (argmax), a diamond is a tuned threshold. Section 8.10 explains the experiment.", "name": "fig-8-1"}, "image": {"alt": "Six rows. A dictionary has 71. Cross entropy, class weights, logit adjustment and dice, from a bias near 0 and from the log prior, lie on top of each other at about 90, at argmax and with a tuned threshold."}} tags=["hide-input"]
def draw_rare_tags():
    records = rare_tags()
    task = next(r for r in records if r["kind"] == "task")
    names = {
        "ce_start": "cross entropy",
        "wce": "class weights",
        "logit_adjustment": "logit adjustment",
        "dice": "dice, bias near 0",
        "dice_start": "dice, log prior",
    }
    _, ax = plt.subplots(figsize=(5.6, 2.4))
    ax.plot(task["baseline"], 0, "o", color="black")
    for row, (arm, name) in enumerate(names.items(), start=1):
        color = figures.style(name)["color"]
        ax.plot(searched.mean_f1(records, arm, "argmax"), row, "o", color=color)
        f1 = searched.mean_f1(records, arm, "tuned")
        ax.plot(f1, row, "D", color=color, fillstyle="none", ms=8, mew=1.5)
    ax.set(yticks=range(6), yticklabels=["a dictionary", *names.values()])
    ax.set(xlabel="F1 of the rare tags, %", xlim=(65, 95), ylim=(5.5, -0.5))
    plt.show()


draw_rare_tags()


# %% [markdown]
# The dictionary in Figure 8.1 gives each word the tag that it has most often in training. Every loss is far above
# it, and all losses end near the same F1.

# %% [markdown]
# (a-part-of-speech-tagger-that-works)=
# ## A tagger that works
#
# Let us first see what a tagger of this chapter can do. We gave the cells of sections 8.1 to 8.9 a real corpus and a
# pretrained encoder. The corpus is the English Web Treebank {cite}`silveira2014ewt`, whose weblogs, emails and
# reviews carry the tags of the Penn Treebank. The encoder is MiniLM, and all of its six layers are trained. (With the
# parameters that are printed in section 8.1, the same cells train in a minute on made-up Chinese sentences.) The
# result of the run is kept as a record, without the text of the corpus. Everything in this section is drawn from that
# record. `make real CHAPTER=08` runs it again. The time below was taken on a CPU core that was busy with other work,
# so your run will need less.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def real_run():
    """What the run on a real corpus left."""
    return runs.kept_page("08_part_of_speech")


def print_counts(page):
    data = page["data"]
    print(f"{data['train']:,} training sentences, {data['words']:,} words, {data['tags']} tags")


print_counts(real_run())
real_runs.describe(real_run(), "dl")

# %% mystnb={"code_prompt_show": "Code of Figure 8.2", "figure": {"caption": "Figure 8.2. UD English EWT, the real run: macro F1, the mean over the tags, on the validation sentences after each pass.", "name": "fig-8-real"}, "image": {"alt": "Two lines from the first to the second pass. Cross entropy rises from 67 to 72, dice from 59 to 68."}} tags=["hide-input"]
real_runs.learning_curves(real_run(), "macro_f1", label="macro F1, %")

# %% [markdown]
# These are the scores on the test sentences, with a 95% interval from draws of these sentences. F1 over all words
# is here the same as accuracy. The macro average is the mean F1 of the 49 tags. In the rows *tuned* the logits are
# shifted, tag by tag, for the best macro F1 on the validation sentences, as section 8.7 explains:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
real_runs.score_table(
    real_run(),
    {"f1": "F1", "macro_f1": "macro F1"},
    {
        "most frequent of all": "the most frequent tag",
        "most frequent of the token": "the word's most frequent tag",
    },
)

# %% [markdown]
# We begin with the simplest tagger. It gives each word the tag that the word has most often in training, and it
# gives a new word the most frequent tag of all. In this way, 83.8% of the tags are right. The tagger with cross
# entropy has 94.3%. Dice is one point lower here, and the intervals do not overlap. However, these intervals come
# from draws of sentences. They do not show you what another seed or another learning rate would do, and here we
# have only one seed and one learning rate.
#
# The two averages tell different stories. With cross entropy, 94 words in a hundred are right. Yet the mean F1 of
# the 49 tags is 74.3, because a rare tag, which the tagger finds less well, counts as much as a frequent one. If we
# tune how much the logits favour rare tags, macro F1 rises by five points to 79.5, and F1 falls by half a point. So
# decide first which of the two scores you want.
#
# Which tags does the tagger with cross entropy confuse most often, and does it know new words?

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
_columns = ["gold", "predicted", "words"]
pd.DataFrame(real_run()["confused"], columns=_columns).head(6)

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
for _group, _n in real_run()["novelty"].items():
    _share = f"{100 * _n['right'] / _n['tokens']:.0f}%"
    print(f"{_group:15}: {_n['right']:,} of {_n['tokens']:,} words are right, {_share}")


# %% [markdown]
# The most frequent confusion, in both directions, is that of names (`NNP`) with common nouns (`NN`). This encoder
# puts all letters into lower case, so it does not see that a name begins with a capital letter. The tagger gets 96
# in a hundred words right if it has met them in training, and 78 if they are new.
#
# Finally, here are ten sentences of our own. Some of them are known to mislead readers. A tag in brackets is what
# the tagger said instead of our tag:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
def own_sentences(page):
    def word(token, gold, tag):
        return f"{token}/{gold}" if gold == tag else f"{token}/{gold} [{tag}]"

    rows = [
        {
            "": "✓" if row["tags"] == row["gold"] else "",
            "sentence": " ".join(map(word, row["tokens"], row["gold"], row["tags"])),
        }
        for row in page["own"]
    ]
    return pd.DataFrame(rows).style.hide(axis="index")


own_sentences(real_run())

# %% [markdown]
# *Can you open a can?* and *record a new record* are no problem, because the tagger reads the neighbours of a word.
# It recognises *flies* as a verb, too. But *the old man the boats* misleads it, as it misleads a human reader: here
# *man* is a verb, and the sentence says that the old work on the boats. In *they watched her duck* the tagger takes
# the verb *duck* for a noun. *Tarrow*, a town that we invented, becomes a verb after *to*.
#
# To try a sentence of your own, type `dicebook try 08 "..."`. A smaller model, a linear one on the frozen MiniLM,
# answers in seconds.
#
# ## The mechanics
#
# How is such a tagger made? In this part we build one step by step, and the steps are the same in all chapters with
# experiments. So that you can run every cell in a minute or two, the sentences are made up and the encoder starts
# from random weights. Therefore this part shows you how things work, but it cannot tell you which loss is best.
#
# ### 8.1 The parameters
#
# The next cell holds everything that you can change. You can also change it from the command line, with `papermill`.
# For example, this command takes a real corpus and a real encoder:
#
# ```bash
# papermill notebooks/08_part_of_speech.ipynb out.ipynb -p corpus ud_zh \
#     -p encoder bert-base-chinese -p loss ce,dsc -p learning_rate 5e-5 -p epochs 4 \
#     -p max_length 192 -p output_dir runs/ud_zh
# ```

# %% tags=["parameters"]
corpus: str = "embedded-pos-zh"  # registered name, or your file
encoder: str = "tiny"  # or "minilm", a folder, a hub model
loss: str = "ce,wce,fl,dl,dsc,tl"  # any of these, or MODULE:NAME
loss_options: dict = {
    "tl": {"squared": False, "absent": "keep"}
}  # options by loss; section 8.5 says why
start: str = "prior"  # the output bias starts at the log prior; or "zero"
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 12  # passes over the training sentences
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # sentences in a step
learning_rate: float = 3e-3  # the peak; pretrained: 2e-5 to 2e-4
max_length: int = 64  # sub-words in a row; longer ones go on
train_size: int = 0  # training sentences; 0 for all
eval_size: int = 0  # scored sentences of a split; 0 for all
device: str = "auto"  # "auto", "cpu" or "cuda"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing

# %% [markdown]
# If you misspell a name or give an impossible value, the chapter ends here, before anything is loaded.

# %%
experiment = Experiment.from_namespace(globals())
print(f"{len(experiment.losses)} losses: {', '.join(experiment.losses)}")

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
# In English the words are given, and each word gets one tag. The tags of this example are those of Universal
# Dependencies {cite}`silveira2014ewt`:

# %%
english = corpora.load("embedded-pos-en", task="tagging")["train"][5]
pd.DataFrame([english["tags"]], columns=english["tokens"], index=["tag"])

# %% [markdown]
# The tagger predicts exactly one tag for each word. A wrong tag is therefore two errors at once: a false positive
# for the tag that was predicted, and a false negative for the correct tag. Over all tags there are as many errors
# of each kind, so precision, recall, F1 and accuracy are one number. Chinese is different: it is written without
# spaces, so a tagger also has to find where a word ends. We solve both tasks at once with joint labels, one for
# each character. For example, `B-NOUN` begins a noun and `I-NOUN` continues it:

# %%
chinese = corpora.load("embedded-pos-zh", task="tagging")
print(" ".join(chinese["train"][0]["tokens"]))
example = tagging.by_character(chinese)["train"][0]
labels, characters = example["tags"][:9], example["tokens"][:9]
pd.DataFrame([labels], columns=characters, index=["label"])

# %% [markdown]
# In Chinese a word is therefore a span. It counts as found if its first character, its last character and its tag
# are all right. A tagger may now predict more words than there are, or fewer, so precision and recall differ. This
# chapter tags by character if most characters of the corpus are Chinese, and otherwise by word.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
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
# No class of this task is called negative. However, a dice loss looks at one tag after the other, and then takes
# the mean over the tags. While it looks at one tag, all words with other tags are negatives. How many such
# negatives are there?

# %% tags=["nbval-check-output"]
frequency = Counter(tag for tags in words["train"]["tags"] for tag in tags)
count = pd.Series(dict(frequency.most_common()), name="words").to_frame()
total = count["words"].sum()
count["share, %"] = (100 * count["words"] / total).round(1)
count["negatives per positive"] = (total / count["words"] - 1).round(1)
count

# %% tags=["nbval-check-output"]
most, least = count.index[0], count.index[-1]
times = count["words"].iloc[0] / count["words"].iloc[-1]
print(f"{total:,} words, {len(count)} tags")
print(f"{most} is {times:.0f} times as frequent as {least}")


# %% [markdown]
# A quarter of the words are nouns, and no class is larger. Three tags have about a hundred or more negatives for each
# positive. Seen tag by tag, this task is imbalanced. Does that matter? It depends on your score: you will notice it
# only if your score looks at each tag.

# %% [markdown]
# ### 8.4 Two averages
#
# There are two ways to make one number out of many tags. The *micro* average counts all words together, so a frequent
# tag counts more than a rare one. The *macro* average is the mean of the F1s of the tags, so a conjunction counts as
# much as a noun. The paper reports the micro average. We compute both:

# %%
def found_words(tags):
    """Tagged words of a sentence: type, first token, end."""
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
    both = table["predicted"] + table["gold"]
    table["F1"] = 200 * table["right"] / both
    return table


# %%
def score(gold, predicted):
    """Micro precision, recall and F1, and the mean F1 of the tags."""
    table = per_tag(gold, predicted)
    right, n_predicted, n_gold = table[["right", "predicted", "gold"]].sum()
    return {
        "precision": float(100 * right / max(1, n_predicted)),
        "recall": float(100 * right / n_gold),
        "f1": float(200 * right / (n_predicted + n_gold)),
        "macro_f1": float(table.loc[table["gold"] > 0, "F1"].mean()),
    }


# %% [markdown]
# You can judge a score only if you know what a simple rule reaches. So we add three baselines. The first gives every
# token the most frequent label of all. The second gives a token the label that it has most often in training. The
# third is for Chinese. It goes through the sentence from left to right and takes the longest word that it knows from
# training. It gives this word its most frequent tag, and goes on after the word.

# %% mystnb={"code_prompt_show": "Code"} tags=["nbval-check-output", "hide-input"]
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


# %% mystnb={"code_prompt_show": "Code of this table"} tags=["nbval-check-output", "hide-input"]
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
# On the made-up sentences the longest match is the best of the three, in both averages. A trained tagger should be
# better still.
#
# ### 8.5 The model and its losses
#
# The model is an encoder with one linear layer on top, which gives a row of logits for every token. We train it
# with cross entropy (`ce`), weighted cross entropy (`wce`), focal loss (`fl`), dice loss (`dl`), self-adjusting
# dice (`dsc`) and Tversky loss (`tl`):

# %%
texts = (" ".join(tokens) for tokens in tagged["train"]["tokens"])
tokenizer = load_tokenizer(encoder, texts, max_length=max_length)
encoded = tagging.encode(tagged, tokenizer, max_length=max_length)
print(f"{len(encoded.labels)} labels")
print(f"cut at {max_length} sub-words: {encoded.cut}")

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
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
# Dice loss and self-adjusting dice have squared denominators, the default of this book. We give the Tversky loss
# the *linear* denominator that the paper prints. Because both of its weights are one half, it is then the linear
# dice loss ([chapter 05](05_tversky.ipynb)). We include it to show you how it fails, and the library warns of it,
# too.

# %% [markdown]
# ### 8.6 Training
#
# Only the loss differs between the runs. Every loss starts from the same weights and sees the same batches in the
# same order. The learning rate is the same as well: it rises for a tenth of the steps and then falls to zero.
# Gradients are clipped at norm 1. After each pass we score the validation split, and we keep the best epoch, here
# by micro F1. The test split is predicted only once, at the end.
#
# If you set `output_dir`, a run that was interrupted continues where it stopped, and the last cell writes a record. In
# [chapter 09](09_named_entities.ipynb) you can look inside the loop.

# %%
def evaluate(logits, split):
    """Scores of a split's logits."""
    tags = tagging.decode(logits, split, encoded.labels)
    return score(split["tags"], tags)


def new_model():
    """The encoder and a new linear layer over the labels."""
    return tagging.model(encoder, tokenizer, encoded.labels)


# %%
trained = {}
for name in experiment.losses:
    print(name)
    trained[name] = train(
        experiment.only(name),
        build_model=new_model,
        counts=counts,
        splits=encoded.splits,
        collator=tagging.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(criteria[name]),
        evaluate=evaluate,
    )

# %% mystnb={"code_prompt_show": "Code of Figure 8.3", "figure": {"caption": "Figure 8.3. F1 on the validation split after each pass. Above: micro F1. Below: macro F1."}, "image": {"alt": "Two panels of six curves over twelve epochs. Above, micro F1: the cross entropies and focal loss rise together to above 90, the two squared dice losses to a few points below, linear Tversky stays near 60. Below, macro F1: five curves end above 90, linear Tversky near 30."}} tags=["hide-input"]
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
# The linear loss, `tl`, is far behind. Compare its two averages: its macro average lies far below its micro
# average. In other words, it has learned the frequent tags and not the others.

# %% [markdown]
# ### 8.7 One number that moves all thresholds
#
# With two classes, you can move one threshold after training. Here there are as many thresholds as tags. How could we
# tune them all with one number? We want a number that favours rare tags, the more the rarer they are. So we subtract
# τ times the logarithm of a label's share from its logit {cite}`menon2021logit`. This logarithm is most negative for
# the rarest labels. Therefore the larger τ is, the more often rare tags win. A negative τ favours the frequent tags.
# We tune τ on the validation split for the macro average, for every loss alike.

# %%
def adjusted(logits, split, tau):
    """Tags of logits minus τ times the log of the labels' shares."""
    prior = np.log(np.maximum(counts, 1) / counts.sum())
    return tagging.decode(logits - tau * prior, split, encoded.labels)


# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
test, validation = encoded.splits["test"], encoded.splits["validation"]
gold = test["tags"]  # by row: a sentence that is split into windows has several
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
pd.DataFrame(table).T.round(1).astype(object).fillna("")

# %% [markdown]
# Tuning τ changes both averages of the other five models by a point or less, and it does not bring back what `tl`
# has lost. In other words, a moved threshold cannot give you a tag that the model has not learned. Which tags has
# `tl` not learned?

# %% [markdown]
# ### 8.8 A score for each tag
#
# To see this, we draw F1 tag by tag. The numbers in brackets say how many words have the tag in training and in
# test:

# %% mystnb={"code_prompt_show": "Code of Figure 8.4", "figure": {"caption": "Figure 8.4. F1 of each tag on the test split, with the frequent tags on top. The numbers in brackets say how many words have the tag in training and in test."}, "image": {"alt": "A row for each of fifteen tags, a mark for each of four losses. The marks of cross entropy, weighted cross entropy and DSC lie above 70 in all rows, most above 85, lowest at names, where DSC is eight points below cross entropy. Linear Tversky lies between 60 and 100 in the frequent rows and at zero in most rows of the rarer half."}} tags=["hide-input"]
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
halves = {"frequent half": f1[:half].mean(), "rare half": f1[half:].mean()}
pd.DataFrame(halves).T.round(1)

# %% [markdown]
# The triangles of `tl` lie at zero for most of the rarer tags. This is the collapse that you have met in
# [chapter 04](04_dice_loss.ipynb). The table has the mean F1 of the frequent and of the rarer half of the tags. In
# these made-up sentences the rarer half is even the easier one for the other losses.

# %% [markdown]
# ### 8.9 Errors
#
# The other losses make errors, too. Which labels does cross entropy confuse most often, and how often is it right
# for a token that it has not met in training? In Chinese a token is a character, and its label also says where a
# word begins.

# %%
first = experiment.losses[0]
last = "dsc" if "dsc" in experiment.losses[1:] else experiment.losses[-1]
predicted = {
    name: adjusted(trained[name].logits["test"], test, 0.0)
    for name in (first, last)
}  # fmt: skip


def tokens_of(tags):
    """Token, gold label and predicted label, over all test sentences."""
    for row in zip(test["tokens"], gold, tags, strict=True):
        yield from zip(*row, strict=True)


of_first = tokens_of(predicted[first])
confused = Counter((g, p) for _, g, p in of_first if g != p)
columns = ["gold", "predicted", "tokens"]
often = [(*pair, n) for pair, n in confused.most_common(8)]
pd.DataFrame(often, columns=columns)

# %%
novelty = defaultdict(Counter)
for token, g, p in tokens_of(predicted[first]):
    met = "met in training" if token in by_token else "new"
    novelty[met].update(right=int(g == p), tokens=1)
novelty = {met: dict(of) for met, of in sorted(novelty.items())}
pd.DataFrame(novelty).T


# %% [markdown]
# Characters that are new to the tagger get the right label far less often than the others. So if your text has many
# new words, count the errors on them separately.
#
# #### Sentences of your own
#
# What does the tagger say about a sentence that you wrote yourself? Give the sentence to this function:

# %%
def tag(tokens, name):
    """The labels of a sentence, a list of tokens, by a trained tagger."""
    coded = tokenizer(tokens, is_split_into_words=True, return_tensors="pt")
    places = [coded.word_ids().index(i) for i in range(len(tokens))]
    model = trained[name].model.eval()
    names = ("input_ids", "attention_mask")
    inputs = {name: coded[name].to(model.device) for name in names}
    with torch.no_grad():
        best = model(**inputs).logits[0, places].argmax(-1).tolist()
    return [encoded.labels[i] for i in best]


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
OWN_SENTENCES = {
    "en": """
The/DT old/JJ man/VBP the/DT boats/NNS ./.
She/PRP fed/VBD her/PRP$ duck/NN by/IN the/DT pond/NN ./.
They/PRP watched/VBD her/PRP duck/VB under/IN the/DT table/NN ./.
Time/NN flies/VBZ like/IN an/DT arrow/NN ./.
Can/MD you/PRP open/VB a/DT can/NN ?/.
We/PRP will/MD record/VB a/DT new/JJ record/NN tomorrow/NN ./.
Who/WP brought/VBD the/DT flumps/NNS to/IN Tarrow/NNP ?/.
He/PRP runs/VBZ faster/RBR than/IN a/DT faster/JJR horse/NN ./.
thx/UH ,/, see/VBP ya/PRP tmrw/NN !/.
That/DT that/WDT is/VBZ ,/, is/VBZ ./.
""",
    "zh": """
小猫/NOUN 喜欢/VERB 吃/VERB 鱼/NOUN 。/PUNCT
我们/PRON 明天/NOUN 去/VERB 北京/PROPN 。/PUNCT
她/PRON 买/VERB 了/PART 三/NUM 本/NOUN 书/NOUN 。/PUNCT
这/DET 个/NOUN 学生/NOUN 很/ADV 聪明/ADJ 。/PUNCT
老师/NOUN 在/ADP 学校/NOUN 工作/VERB 。/PUNCT
他/PRON 和/CCONJ 朋友/NOUN 看/VERB 电影/NOUN 。/PUNCT
""",
}

# %%
own = []
for line in OWN_SENTENCES["zh" if joint else "en"].strip().splitlines():
    pairs = (token.rsplit("/", 1) for token in line.split())
    tokens, tags = zip(*pairs, strict=True)
    if joint:
        tokens, tags = tagging.tag_characters(tokens, tags)
    tokens, tags = list(tokens), list(tags)
    own.append({"tokens": tokens, "gold": tags, "tags": tag(tokens, first)})
both = [(row["gold"], row["tags"]) for row in own]
right = sum(g == t for pair in both for g, t in zip(*pair, strict=True))
tokens = sum(len(labels) for labels, _ in both)
print(f"{right} of {tokens} tokens are right")

# %% [markdown]
# ## On real text
#
# The runs of the mechanics were on made-up sentences, and the first section had one run of each loss on real text.
# Is there a difference between dice and cross entropy on real text if we train more often? All that follows is
# drawn from records in `dicelab/records/data`.

# %% [markdown]
# ### 8.10 Six rare tags of English
#
# We begin with rare tags, because there a loss made for F1 should help most. In one task of the controlled study
# ([chapter 17](17_when_does_dice_help.ipynb)) the tagger has to find six rare tags of the English treebank
# {cite}`silveira2014ewt`. Together they cover about one word in thirteen, and all other tags become `O`. The
# encoder is pretrained and frozen. On top of it we train only a small network with one hidden layer, the *head*,
# and we search the settings of each loss several times.
#
# The table has F1 over the six tags. It also has the F1 of dice minus that of cross entropy (CE) whose output bias
# starts at the log prior. Dice is there twice: once from a bias near 0 and once from the log prior. The baseline is
# the dictionary of Figure 8.1.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
row = searched.compared(rare_tags(), ["ce_start", "dice", "dice_start"])
for how in ("argmax", "tuned"):
    for arm in ("dice", "dice_start"):
        if difference := searched.minus_start(rare_tags(), arm, how):
            name = searched.ARM_NAMES[arm]
            row[f"{name}, minus CE, {how}"] = str(difference)
pd.DataFrame({"UD, rare tags": row})

# %% [markdown]
# All F1 are near 90, and the dictionary has 71 ([Figure 8.1](fig-8-1)). We might have expected that dice finds more
# of the rare tags. However, dice from a bias near 0 differs from cross entropy by less than half a point, at argmax
# and with tuned thresholds, and both intervals include 0. Why? With an F1 near 90 these tags are rare, but they are
# not hard. What follows for you? If a frozen encoder already finds your rare tags, do not expect much from another
# loss.

# %% [markdown]
# ### 8.11 Tables 3 and 4 of the paper
#
# The paper reports gains. Its Table 3 is about Chinese and its Table 4 about English. Here you see the F1 of its
# tagger with cross entropy, and the printed gains of the three losses over it:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input", "nbval-check-output"]
printed = {}
for number in (3, 4):
    for row in paper.table(number).rows:
        if row.loss:
            cell = f"{row.f1:.2f}" if row.loss == "ce" else f"{row.delta:+.2f}"
            printed.setdefault(f"T{number} {row.corpus_title}", {})[row.loss.upper()] = cell
pd.DataFrame(printed).T

# %% [markdown]
# In Chinese the dice losses gain between 0.3 and 2.2 points, in English about half a point or less. DSC is first in
# all five rows. Before you rely on these gains, note three questions that the paper leaves open:
#
# - **Were the words given?** Joint-POS, its first baseline, finds words and tags together. If the paper's tagger
#   got the gold words, the two cannot be compared. In this chapter the tagger has to find the words.
# - **What is a span in English?** With one tag for each word, precision equals recall. Table 4 prints different
#   numbers for the two ([chapter 15](15_audit.ipynb)).
# - **How many seeds, and which tags gained?** The paper reports only micro F1, so you cannot see whether rare tags
#   gain.
#
# We also trained this chapter's model from random weights on UD 1.4 for Chinese, four epochs with seven losses and
# three seeds each (`kept_records("ud_zh")`). A dictionary, the longest match of section 8.4, is fifteen
# points ahead of every model. Therefore these runs say little about which loss is better. In them cross entropy
# leads the dice losses by about one point, and the intervals of these differences exclude 0.
#
# If you have a GPU, `make reproduce TABLE=3 PROFILE=paper` makes the rows with a Chinese BERT whose layers are all
# trained, and `TABLE=4` makes the English ones. [The paper's tables](../docs/tables.md) says how many
# hours that takes.

# %% [markdown]
# ## Summary
#
# - Part-of-speech tagging has no negative class. Its imbalance is between the tags, and micro F1 hardly sees it, so
#   report macro F1 or F1 by tag beside it.
# - If words are given, precision, recall, F1 and accuracy are one number. If they have to be found, words are spans.
# - On six rare tags in *real* English text, dice and cross entropy differ by less than a point, and we cannot tell
#   which is better.
# - A linear dice loss gives up most of the rarer tags (*made-up* text, one seed), so use the squared form.
# - To move all thresholds at once, subtract τ times the logarithm of each label's share from its logit, and tune τ.
#
# ## Exercises
#
# **1.** A tagger gives every word its right tag, with one exception: to all words of the rarest tag it gives the
# most frequent tag. What are its micro and its macro F1 on the words of the test split? Say which falls more before
# you compute them.

# %% mystnb={"code_prompt_show": "Solution 8.1"} tags=["solution", "hide-cell"]
truth_tags = words["test"]["tags"]
lazy = [[most if tag == least else tag for tag in tags] for tags in truth_tags]
{name: round(value, 2) for name, value in tagging.score_words(truth_tags, lazy).items()}

# %% [markdown]
# **2.** Which weights does [Eq. 2](eq-2) give to the labels? By what factor does the rarest weigh
# more than the most frequent?

# %% mystnb={"code_prompt_show": "Solution 8.2"} tags=["solution", "hide-cell"]
weights = pd.Series(log_ratio_weights(torch.as_tensor(counts), K=1.0).numpy(), encoded.labels)
print(f"largest over smallest weight: {weights.max() / weights.min():.0f}")
weights.sort_values().round(2).iloc[[0, 1, -2, -1]]

# %% [markdown]
# **3.** Which two labels does self-adjusting dice confuse most often on the test split? Are they those of section
# 8.9?

# %% mystnb={"code_prompt_show": "Solution 8.3"} tags=["solution", "hide-cell"]
of_last = Counter((g, p) for _, g, p in tokens_of(predicted[last]) if g != p)
pd.DataFrame([(*pair, n) for pair, n in of_last.most_common(5)], columns=columns)

# %% [markdown]
# **4.** Suppose that only the tags count, and that a wrong boundary of a word costs nothing.
# Score the joint labels as one tag for each character, without `B-` and `I-`. By how much does that raise
# F1, and what does this tell you about comparing two papers?

# %% mystnb={"code_prompt_show": "Solution 8.4"} tags=["solution", "hide-cell"]
bare = [
    [[tag.removeprefix("B-").removeprefix("I-") for tag in tags] for tags in side]
    for side in (gold, predicted[first])
]
print(f"by span {score(gold, predicted[first])['f1']:.1f}", end=", ")
print(f"by token {tagging.score_words(*bare)['f1']:.1f}")

# %% [markdown]
# **5.** Could the difference in macro F1 between cross entropy and self-adjusting dice be due to the choice of test
# sentences alone? Draw the test split five hundred times with replacement.

# %% mystnb={"code_prompt_show": "Solution 8.5"} tags=["solution", "hide-cell"]
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
print(f"{last} minus {first}: 95% of the draws between {low:+.1f} and {high:+.1f} points")

# %% [markdown]
# **6 (small research).** Make the rare tags rarer with `corpora.rebalance`, so that there are forty other words for
# each word of theirs. How many words are left of each rare tag, and does weighted cross entropy help these tags?
# Write the corpus to a file, run this chapter on it with five seeds, and compare macro F1 with `runs.paired_test`.

# %% mystnb={"code_prompt_show": "Solution 8.6"} tags=["solution", "hide-cell"]
from dicelab import corpora

few = ("INTJ", "NUM", "PROPN")
chinese = corpora.load("embedded-pos-zh", task="tagging")["train"]
rarer = corpora.rebalance(chinese, 40, task="tagging", positive=few)
for name, data in {"as it is": chinese, "rarer": rarer}.items():
    left = Counter(tag for tags in data["tags"] for tag in tags)
    print(f"{name}: {len(data)} sentences, { ({tag: left[tag] for tag in few}) }")

# %% tags=["remove-cell"]
# The record of each training, a file each, if `output_dir` is set.
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


# %% tags=["remove-cell"]
def f1_interval(tags):
    """95% of the micro F1 of draws of the test sentences, with replacement."""
    spans = [[found_words(t) for t in side] for side in (tags, gold)]
    counts = [(len(p & g), len(p) + len(g)) for p, g in zip(*spans, strict=True)]
    return real_runs.f1_interval(*zip(*counts, strict=True))


says = {(name, ""): tags for name, tags in guesses.items()}
says |= {
    (name, how): adjusted(trained[name].logits["test"], test, table[name, how]["tau"])
    for name in trained
    for how in ("argmax", "tuned")
}
page = real_runs.keep(
    experiment,
    data={
        **{split: len(rows) for split, rows in words.items()},
        "words": int(total),
        "tags": len(count),
    },
    results=trained,
    scores=[
        {"model": name, "decision": how, **score(gold, tags), "interval": f1_interval(tags)}
        for (name, how), tags in says.items()
    ],
    confused=often,
    novelty=novelty,
    own=own,
)
