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
# # 01 Imbalance: what we look for is rare
#
# - **For** readers who have trained a classifier and wondered why 90% accuracy felt like nothing.
# - **You need** Python and the idea of a training and a test set; no mathematics beyond
#   fractions.
# - **You will be able to** say how unbalanced a corpus is and in which unit, explain why accuracy
#   rewards a model for finding nothing, compute precision, recall and F1 by hand, and name the
#   three properties of F1 that the rest of the book struggles with.
# - **Time** about 15 seconds on a CPU; a GPU does not help.
# - Symbols and terms are on the page [Notation and glossary](../docs/notation.md).
#
# Here is a tagger for named entities that needs no training and no parameters, and that is right
# five times out of six on a famous newspaper corpus: it says "not a name" to every word. This
# chapter counts how many corpora are like that, and looks for a number that such a tagger cannot
# please.

# %% tags=["remove-cell"]
# Where dicebook is missing, as on Colab, install what this chapter needs. Elsewhere nothing happens.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("dicebook") is None:
    subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", "dicebook[book]"])

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from seqeval.metrics import f1_score as entity_f1

from dicebook import corpora
from dicebook.claims import claim
from dicebook.figures import shares, use_style
from dicebook.reproduce import paper
from dicebook.reproduce.runs import kept_records

use_style()

# %% [markdown]
# ## 1.1 What is a negative?
#
# Before counting we must say what is counted. In a tagging task the example is a **token**. Below
# is a sentence of a small corpus that this package makes for itself; each token has a tag, and
# `O` means that it belongs to no entity.

# %%
entities = corpora.load("embedded-entities-en", task="tagging")
row = next(r for r in entities["train"] if len(r["tokens"]) == 12 and len(set(r["tags"])) > 2)
pd.DataFrame([row["tags"]], columns=row["tokens"], index=["tag"])

# %% [markdown]
# A token tagged `O` is a negative, every other one a positive, whatever its type. For this
# sentence:

# %%
negative = sum(tag == "O" for tag in row["tags"])
positive = len(row["tags"]) - negative
print(f"{negative} negatives, {positive} positives: {negative / positive:.1f} to 1")

# %% [markdown]
# In machine reading the example is a **position**. A question is answered by pointing at two
# places of the paragraph, where the answer starts and where it ends. Each word of the paragraph
# is an example, once for every question asked about it, and two of them are positive.

# %% [markdown]
# > "given a chunk of text of an arbitrary length, only two tokens are positive (or of interest) with
# > all the rest being background" (the paper, Section 1)

# %%
paragraph = ["The", "bridge", "was", "opened", "after", "eight", "years", "of", "work"]
answer = {paragraph.index("eight"), paragraph.index("years")}
pd.DataFrame([[int(i in answer) for i in range(len(paragraph))]], columns=paragraph, index=["y"])

# %% [markdown]
# "How long did the work take?" makes two of nine words positive. The longer the paragraph, the
# rarer they are, for there are never more than two. (If the answer is one word, it is both start and
# end: the counts below still say two, one for each place to point at.) The unit matters: the same
# corpus counted in characters, in word pieces or in sentences gives other ratios. Exercise 1.5 tries
# it.
#
# ## 1.2 Table 1, counted again
#
# > "Many NLP tasks such as tagging and machine reading comprehension (MRC) are faced with the severe
# > data imbalance issue" (the paper, abstract)
#
# The paper this book is about {cite}`li2020dice` opens with a table of five corpora. These are
# its numbers, as printed, rounded as printed.

# %%
table_1 = paper.table(1).rows
pd.DataFrame([row.printed for row in table_1], index=[row.corpus_title for row in table_1])

# %% [markdown]
# Now ours, from two sources. The **embedded** corpora are made here and counted here; they exist
# so that the book runs anywhere, and they are unbalanced because we made them so. The **real**
# corpora cannot be shipped with a book, so their counts are read from a record,
# `results/imbalance.jsonl`, which `python -m data_scripts.imbalance` wrote when it had the files
# before it.

# %%
names = [name for name in corpora.EMBEDDED if name.endswith("-en") and "-pos-" not in name]
embedded = {}
for name in names:  # in part of speech, left out here, no token is a negative
    task = corpora.EMBEDDED[name]
    embedded[name] = corpora.imbalance(corpora.load(name, task=task), task=task)
records = kept_records("imbalance")
real = {
    record["parameters"]["corpus"]: corpora.Imbalance(
        record["metrics"]["negative"], record["metrics"]["positive"]
    )
    for record in records
}


# %% tags=["hide-input"]
def rows_of(counts, source):
    return [(name, c.negative, c.positive, c.ratio, source) for name, c in counts.items()]


columns = ["corpus", "negative", "positive", "ratio", "source"]
ours = rows_of(real, "record") + rows_of(embedded, "counted here")
ours = pd.DataFrame(ours, columns=columns).set_index("corpus")
printed = pd.Series({row.corpus: row.value("ratio") for row in table_1}, name="paper")
table = ours.join(printed, how="outer").sort_values("ratio", ascending=False)
for column, digits in {"negative": 0, "positive": 0, "ratio": 2, "paper": 2}.items():
    table[column] = table[column].map(f"{{:,.{digits}f}}".format).replace("nan", "–")
table[["negative", "positive", "ratio", "paper", "source"]].fillna("–")

# %% [markdown]
# Rows without counts are corpora of the paper that we may not or could not read here: CoNLL 2003
# {cite}`tjongkimsang2003conll` and OntoNotes 5 are licensed, and of Quoref
# {cite}`dasigi2019quoref` there is no copy in the record. SQuAD 2.0 {cite}`rajpurkar2018squad2`
# is in the record with a part of its development set, not with the training set that the paper
# counted, so its two ratios are not comparable. `squad11` is a copy of the training
# set of SQuAD 1.1 {cite}`rajpurkar2016squad`, rebuilt with all its questions.
#
# Read the ratios of the real corpora from the top. In reading, a positive stands among fifty to a
# hundred and forty negatives. In the recognition of entities it stands among five to nineteen. In
# MRPC {cite}`dolan2005mrpc`, pairs of sentences that may be paraphrases, the ratio is below one:
# there the *positives* are the majority.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 1.1. Positives and negatives in six real corpora.", "name": "fig-1-1"}, "image": {"alt": "Six bars of equal length, orange for positives. SQuAD 2.0 and 1.1: a thin line. WNUT 2017, Chinese GSD and Wikigold: between a twentieth and a sixth. MRPC: two thirds."}}
order = ["squad20", "squad11", "wnut17", "uner_zh_gsd", "wikigold", "mrpc"]
shares({name: real[name] for name in order})
plt.show()

# %% [markdown]
# Each bar is a whole corpus. The orange part is what the task is about. In the two bars of
# reading it is a thin line; in entity recognition it is between a twentieth and a sixth; in MRPC
# it is two thirds. "Imbalanced" is one word for quite different situations.

# %% tags=["remove-cell"]
share = {name: real[name].positive / sum(real[name]) for name in order}
reading, entity = order[:2], order[2:5]
claim(
    "a positive stands among fifty to a hundred and forty negatives",
    all(50 < real[n].ratio < 145 for n in reading),
)
claim("it stands among five to nineteen", all(4.5 < real[n].ratio < 19.5 for n in entity))
claim("in entity recognition it is between a twentieth and a sixth; in MRPC it is two thirds",
      all(0.045 < share[n] < 0.18 for n in entity), abs(share["mrpc"] - 2 / 3) < 0.02)  # fmt: skip

# %% [markdown]
# ## 1.3 One row does not add up
#
# A printed ratio can be checked against the printed counts beside it. 170K stands for anything
# from 169,500 to 170,500, and so each row allows a range of ratios. Is the printed one in it?

# %%
check = []
for row in table_1:
    (few, many), (low, high) = row.bounds("negatives"), row.bounds("positives")
    smallest, largest = few / high, many / low
    stands = smallest <= row.bounds("ratio")[1] and row.bounds("ratio")[0] <= largest
    check.append((row.corpus_title, smallest, row.value("ratio"), largest, stands))
columns = ["corpus", "lowest", "printed", "highest", "possible"]
pd.DataFrame(check, columns=columns).set_index("corpus").round(2)

# %% [markdown]
# Four rows are in order. The row of SQuAD 1.1 is not: 10.3 million to 175 thousand is at least
# 58.4 to 1, and the table says 55.9. Now that we have counts of our own we can say which of the
# three numbers is off.

# %%
squad = real["squad11"]
questions = next(r for r in records if r["parameters"]["corpus"] == "squad11")["metrics"]["rows"]
assert squad.positive == 2 * questions
print(f"{squad.negative:,} negatives, {squad.positive:,} = 2 x {questions:,} positives")
print(f"ratio: {squad.ratio:.2f}")

# %% [markdown]
# Both counts round to what is printed, and the positives are twice the number of questions. The ratio
# is 58.88. The printed 55.9 does not follow from the counts; nothing in
# the paper rests on the difference, but it is the first of several numbers that a reader should
# compute again.

# %% tags=["remove-cell"]
claim("The ratio is 58.88", {"58.88": squad.ratio})
claim("Four rows are in order. The row of SQuAD 1.1 is not",
      [title for title, *_, stands in check if not stands] == ["SQuAD 1.1"])  # fmt: skip
claim("is at least 58.4 to 1", {"58.4": next(c[1] for c in check if c[0] == "SQuAD 1.1")})

# %% [markdown]
# ## 1.4 Accuracy likes a tagger that finds nothing
#
# > "The most commonly used cross entropy criteria is actually accuracy-oriented" (the paper, abstract)
#
# **Accuracy** is the share of examples that are classified correctly. We give it two taggers. The
# first says `O` to everything. The second remembers which tag each word had most often in the
# training data, and says `O` to words it has never seen. Neither is good; the second at least
# tries.


# %%
def train_memory(split):
    """The most frequent tag of each word."""
    seen = pd.DataFrame(
        {"word": np.concatenate(split["tokens"]), "tag": np.concatenate(split["tags"])}
    )
    return seen.groupby("word").tag.agg(lambda tags: tags.value_counts().idxmax()).to_dict()


def evaluate(memory, split):
    """Accuracy over tokens and F1 over entities, in %."""
    gold = split["tags"]
    guess = [[memory.get(word, "O") for word in tokens] for tokens in split["tokens"]]
    right = np.concatenate(gold) == np.concatenate(guess)
    return 100 * right.mean(), 100 * entity_f1(list(gold), guess, zero_division=0)


# %%
memory = train_memory(entities["train"])
scores = {"always O": evaluate({}, entities["test"]), "memory": evaluate(memory, entities["test"])}
pd.DataFrame(scores, index=["accuracy", "F1"]).T.round(1)

# %% [markdown]
# The tagger that finds nothing is right for almost nine tokens in ten. The one that finds
# something gains five points of accuracy and thirty of F1. How large these two gaps are depends
# on the imbalance, and `rebalance` changes it, by leaving sentences out.

# %% tags=["remove-cell"]
nothing, something = scores["always O"], scores["memory"]
claim("is right for almost nine tokens in ten", 85 < nothing[0] < 90)
claim(
    "gains five points of accuracy and thirty of F1",
    abs(something[0] - nothing[0] - 5) < 1,
    abs(something[1] - nothing[1] - 30) < 3,
)

# %%
ratios = [2, 4, 7, 15, 30]
curves = []
for ratio in ratios:
    test = corpora.rebalance(entities["test"], ratio, task="tagging")
    curves.append([*evaluate({}, test), *evaluate(memory, test)])
columns = ["accuracy, always O", "F1, always O", "accuracy, memory", "F1, memory"]
curves = pd.DataFrame(curves, index=pd.Index(ratios, name="ratio"), columns=columns)
curves.round(1)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 1.2. Accuracy and F1 of two taggers, by imbalance.", "name": "fig-1-2"}, "image": {"alt": "Dashed lines are accuracy: those of both taggers climb towards 100 and come close at 30 negatives for each positive. Full lines are F1: that of always O lies on zero at every ratio, that of the memory stays far above it."}}
looks = [("#999999", "--"), ("#999999", "-"), ("#D55E00", "--"), ("#D55E00", "-")]
for name, (color, dashes) in zip(curves, looks, strict=True):
    plt.plot(curves.index, curves[name], color=color, linestyle=dashes, marker="o", label=name)
plt.xscale("log")
plt.xticks(ratios, ratios)
plt.minorticks_off()
plt.xlabel("negatives for each positive")
plt.ylabel("%")
plt.gcf().legend(loc="outside upper center", ncols=2)
plt.show()

# %% [markdown]
# Dashed lines are accuracy, full lines are F1; grey is the tagger that finds nothing. As the
# imbalance grows, both dashed lines climb towards 100 and come together: at 30 to 1 accuracy
# tells the two taggers apart by 1.4 points. The full lines stay 17 points apart and more. The grey
# one lies on zero at every ratio.

# %% tags=["remove-cell"]
apart = curves["accuracy, memory"] - curves["accuracy, always O"]
claim(
    "both dashed lines climb towards 100 and come together",
    bool(curves["accuracy, always O"].is_monotonic_increasing),
    bool(apart.is_monotonic_decreasing),
)
claim("tells the two taggers apart by 1.4 points", {"1.4": apart[30]})
claim("The full lines stay 17 points apart and more", curves["F1, memory"].min() > 17)
claim("The grey one lies on zero at every ratio", bool((curves["F1, always O"] == 0).all()))

# %% [markdown]
# ## 1.5 F1, and what it does not count
#
# Take all examples and compare prediction and truth. There are four outcomes: true and false
# positives (TP, FP), true and false negatives (TN, FN). **Precision** is the share of what was
# found that is right, **recall** the share of what is right that was found, and F1 is their
# harmonic mean.
#
# (eq-1-1)=
# Put the definitions in, and the mean simplifies:
#
# $$ P = \frac{TP}{TP+FP}, \qquad R = \frac{TP}{TP+FN}, \qquad
#    F_1 = \frac{2PR}{P+R} = \frac{2\,TP}{2\,TP + FP + FN} \tag{1.1} $$


# %%
def confusion(y, guess):
    """TP, FP, FN, TN of two 0/1 arrays."""
    y, guess = np.asarray(y, bool), np.asarray(guess, bool)
    return (y & guess).sum(), (~y & guess).sum(), (y & ~guess).sum(), (~y & ~guess).sum()


def f1(y, guess):
    tp, fp, fn, _ = confusion(y, guess)
    return 2 * tp / max(2 * tp + fp + fn, 1)


# %% [markdown]
# **First property: true negatives do not occur in it.** We score a classifier on 1,000 examples,
# then add a million easy negatives, all classified correctly.

# %%
rng = np.random.default_rng(0)
y = rng.random(1000) < 0.1
guess = np.where(rng.random(1000) < 0.2, ~y, y)  # wrong once in five
y_more, guess_more = (np.concatenate([v, np.zeros(1_000_000, bool)]) for v in (y, guess))
for name, (a, b) in {"before": (y, guess), "after": (y_more, guess_more)}.items():
    print(f"{name:7} accuracy {100 * (a == b).mean():6.2f} %   F1 {100 * f1(a, b):.2f} %")

# %% [markdown]
# Accuracy goes from four fifths to almost 100%. F1 does not move in any digit. This is what we
# were looking for: a number that easy negatives cannot buy.
#
# **Second property: it belongs to a set, not to an example.** The accuracy of a set is the mean
# of the accuracies of its parts. We cut the 1,000 examples in ten and try the same with F1.

# %%
parts = np.split(np.arange(1000), 10)
print(f"accuracy: whole {100 * (y == guess).mean():.2f}, ", end="")
print(f"mean of the parts {100 * np.mean([(y[i] == guess[i]).mean() for i in parts]):.2f}")
print(f"F1:       whole {100 * f1(y, guess):.2f}, ", end="")
print(f"mean of the parts {100 * np.mean([f1(y[i], guess[i]) for i in parts]):.2f}")

# %% [markdown]
# For accuracy both are the same; for F1 they are not. A loss computed example by example, or
# batch by batch, and averaged, is therefore something other than the F1 of the whole. Chapter 04
# shows how much this matters.
#
# **Third property: it is a staircase.** A model gives probabilities; the threshold makes
# decisions of them. Below we move the probability of one missed positive from 0 to 1 and watch
# F1.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 1.3. F1 as the probability of one missed positive moves.", "name": "fig-1-3"}, "image": {"alt": "F1 is flat, jumps once at one half, and is flat again."}}
p = np.where(guess, 0.9, 0.1)
missed = np.flatnonzero(y & ~guess)[0]
moved = np.linspace(0, 1, 201)
steps = []
for value in moved:
    p[missed] = value
    steps.append(100 * f1(y, p > 0.5))
plt.plot(moved, steps, color="#D55E00")
plt.xlabel("probability of one missed positive")
plt.ylabel("F1 of the set, %")
plt.show()

# %% tags=["hide-input"]
print(f"different values of F1: {len(set(steps))}")

# %% [markdown]
# The curve is flat, jumps once at one half, and is flat again. Its derivative is zero wherever it
# exists, so gradient descent cannot use F1 itself. Something smooth has to stand in for it.
#
# ## 1.6 Who pulls on the model?
#
# Usually cross entropy stands in. The pull of an example on the model's output is then $p - y$
# (chapter 02 derives it). A fresh model says $p = 0.5$ to everything, so that every example pulls
# equally hard. We add up the pulls for the corpora of the table.

# %%
pulls = {}
for name in order:
    n_negative, n_positive = real[name]
    base = n_positive / (n_negative + n_positive)
    pulls[name] = (
        n_negative * 0.5 / (n_positive * 0.5),
        n_negative * base / (n_positive * (1 - base)),
    )
pd.DataFrame(pulls, index=["fresh, p = 0.5", "p = share of positives"]).T.round(2)

# %% [markdown]
# At first the negatives pull as many times harder as there are more of them: 59 times in SQuAD
# 1.1. The second column speaks for cross entropy. As soon as the model has learned how
# rare positives are, both sides pull equally hard, and it begins to tell them apart. Imbalance
# does not make cross entropy blind. It costs a start, and it leaves the threshold of one half in
# a place where few examples reach it; chapter 02 tunes that threshold and sees how far it goes.

# %% tags=["remove-cell"]
claim("59 times in SQuAD 1.1", {"59": pulls["squad11"][0]})
claim("both sides pull equally hard", all(np.isclose(after, 1) for _, after in pulls.values()))
parts_f1 = np.mean([f1(y[i], guess[i]) for i in parts])
claim("for F1 they are not", abs(parts_f1 - f1(y, guess)) > 0.001)
claim("F1 does not move in any digit", f1(y, guess) == f1(y_more, guess_more))

# %% [markdown]
# ## 1.7 The way ahead
#
# | chapter | question |
# |---|---|
# | 02 | What do weights change in cross entropy, and what does a threshold? |
# | 03 | What are dice coefficient and F1 to each other, and what does smoothing do? |
# | 04 | How does dice become a loss, and is it one of examples or of sets? |
# | 05 | What if a miss costs more than a false alarm? |
# | 06 | What does the self-adjusting factor do, and when does it turn against us? |
# | 07 | All of them side by side: which one to choose? |
#
# ## Summary
#
# - Imbalance is a ratio *in a unit*: tokens, positions, pairs. From MRPC to SQuAD it spans a
#   factor of more than a hundred.
# - Table 1 of the paper can be counted again. SQuAD 1.1 gives 58.88 negatives for each positive
#   where the table prints 55.9.
# - Accuracy tends to 100% for a model that finds nothing. Its F1 is zero.
# - F1 ignores true negatives, belongs to a set rather than to an example, and has no useful
#   gradient. Each of these three returns in a later chapter.
# - Under cross entropy the majority pulls harder at first, in proportion to the ratio, and no
#   longer once the model knows the ratio.
#
# %% tags=["remove-cell"]
ratios = [count.ratio for count in real.values()]
claim(
    "From MRPC to SQuAD it spans a factor of more than a hundred", max(ratios) / min(ratios) > 100
)
claim("SQuAD 1.1 gives 58.88 negatives for each positive", {"58.88": squad.ratio})

# %% [markdown]
# ## Exercises
#
# **Exercise 1.1 (recall).** Which accuracy does "always negative" reach on each corpus of the paper's Table 1?

# %% tags=["solution", "hide-cell"]
for row in table_1:
    n_negative, n_positive = row.value("negatives"), row.value("positives")
    accuracy = 100 * n_negative / (n_negative + n_positive)
    print(f"{row.corpus_title:14} {accuracy:.1f} %")

# %% [markdown]
# **Exercise 1.2 (pencil).** "Always positive" is as lazy as "always negative". Show that its F1 is $2\pi/(1+\pi)$
# with $\pi$ the share of positives, and compute it for MRPC and for SQuAD 1.1. What does that say
# about comparing the F1 scores of two corpora?

# %% tags=["solution", "hide-cell"]
# Recall is 1 and precision is π, so their harmonic mean is 2π / (1 + π).
for name in ("mrpc", "squad11"):
    n_negative, n_positive = real[name]
    share = n_positive / (n_negative + n_positive)
    everything = 2 * n_positive / (2 * n_positive + n_negative)  # TP = positives, FP = negatives
    assert np.isclose(everything, 2 * share / (1 + share))
    print(f"{name}: F1 of 'always positive' is {100 * everything:.1f} %")
# An F1 of 81 is worth nothing on MRPC and would be excellent on positions in SQuAD. F1 is blind to
# true negatives, not to the share of positives.

# %% [markdown]
# **Exercise 1.3 (predict, then run).** A classifier guesses "positive" with probability $q$, whatever the input. Which $q$
# maximises its expected F1 (take the ratio of expectations)? Write it down, then check by simulation with 10%
# positives.

# %% tags=["solution", "hide-cell"]
# TP = πq, FP = (1-π)q, FN = π(1-q): F1 = 2πq / (π + q), which grows with q, so q = 1.
share, truth = 0.1, np.arange(100_000) < 10_000
for q in (0.1, 0.5, 1.0):
    simulated = f1(truth, rng.random(truth.size) < q)
    expected = 2 * share * q / (share + q)
    assert abs(simulated - expected) < 0.01
    print(f"q = {q}: expected {expected:.3f}")
# Verdict: the best guesser says "positive" to everything.

# %% [markdown]
# **Exercise 1.4 (apply).** In part-of-speech tagging each token has exactly one of many classes, none of them
# negative. Show on random tags that F1, with TP, FP and FN summed over all classes, is the
# accuracy.

# %% tags=["solution", "hide-cell"]
gold, tagged = rng.integers(0, 17, 5000), rng.integers(0, 17, 5000)
sums = np.sum([confusion(gold == k, tagged == k)[:3] for k in range(17)], axis=0)
micro = 2 * sums[0] / (2 * sums[0] + sums[1] + sums[2])
assert np.isclose(micro, (gold == tagged).mean())
# Every mistake is a false positive of one class and a false negative of another, so FP = FN and
# precision, recall and F1 all equal the share of correct tokens.

# %% [markdown]
# **Exercise 1.5 (small research).** The ratio depends on the unit. Count the training split of the embedded
# corpus of entities by tokens, by characters and by whole sentences (positive if they hold an
# entity). Then cut words into pieces of three letters, as a tokenizer might, and count pieces.
# Which units make the task look easy?

# %% tags=["solution", "hide-cell"]
pairs = [
    (w, t != "O") for r in entities["train"] for w, t in zip(r["tokens"], r["tags"], strict=True)
]
units = {
    "tokens": [y for _, y in pairs],
    "characters": [y for w, y in pairs for _ in w],
    "pieces of three letters": [y for w, y in pairs for _ in range(0, len(w), 3)],
    "sentences": [any(t != "O" for t in tags) for tags in entities["train"]["tags"]],
}
for unit, labels in units.items():
    print(f"{unit:24} {(len(labels) - sum(labels)) / sum(labels):.2f} to 1")
# Names are longer than other words, so finer units look more balanced; by sentences, the positives
# are the majority. None of it changes how hard the task is.

# %% [markdown]
# ## Further reading
#
# - {cite:t}`forman2010`: F1 over the folds of a cross-validation; the second property of section 1.5
#   and what it does to published numbers.
# - {cite:t}`powers2014`: a case against F1, for measures that count true negatives too. Read it beside
#   exercise 1.2.
