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
# You write a program that finds names in news. It takes you one line: say "not a name" to every word. You test
# it on a famous newspaper corpus, and it is right five times out of six. By its accuracy the program looks like
# a decent tagger, and yet it has found nothing. In most corpora of language, what we look for is rare, and the
# usual score and the usual loss both say that finding nothing is nearly right. In this chapter we count how
# rare it is, see what accuracy makes of it, and meet F1. F1 sees the problem, but it has no gradient that a
# network could be trained on.

# %% tags=["remove-cell"]
# Without dicebook, this cell installs it if `make repository` has set an address, and else says how.
try:
    __import__("dicebook")
except ModuleNotFoundError:
    _install = """print("dicebook is missing: in a clone, run pip install '.[book]'")"""
    get_ipython().run_cell(_install)

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt

from dicelab import corpora
from dicelab.figures import shares, use_style
from dicelab.records.runs import kept_records

use_style()
records = kept_records("imbalance")
real = {
    record["parameters"]["corpus"]: corpora.Imbalance(
        record["metrics"]["negative"], record["metrics"]["positive"]
    )
    for record in records
}

# %% mystnb={"code_prompt_show": "Code of Figure 1.1", "figure": {"caption": "Figure 1.1. The share of positives (orange) in six real corpora: half of the development questions of SQuAD 2.0, and the training split of the others where there is one.", "name": "fig-1-1"}, "image": {"alt": "Six bars of equal length, orange for positives. SQuAD 2.0 and 1.1: a thin line. WNUT 2017, Chinese GSD and Wikigold: between a twentieth and a sixth. MRPC: two thirds."}} tags=["hide-input"]
order = ["squad20", "squad11", "wnut17", "uner_zh_gsd", "wikigold", "mrpc"]
shares({name: real[name] for name in order})
plt.show()

# %% [markdown]
# We call the examples that we look for **positives**, and all others negatives. Figure 1.1 shows how rare the
# positives are in six real corpora. In the two corpora of reading, the positives are a thin line. In entity
# recognition they are between a twentieth and a sixth of all words. MRPC is different: there two thirds of the
# examples are positive.
#
# - **For** readers who have trained a classifier and found that 90% accuracy said nothing.
# - **You need** Python, fractions, and the idea of a training and a test set.
# - **You will be able to** say how unbalanced a corpus is and in which unit, why accuracy rewards finding
#   nothing, and which three properties of F1 the rest of the book is about.
# - **Time** about 15 seconds on a CPU; a GPU does not help. Symbols and terms: [Notation and
#   glossary](../docs/notation.md).

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import numpy as np
import pandas as pd
from seqeval.metrics import f1_score as entity_f1

from dicelab.figures import NEGATIVE
from dicelab.records import paper

# %% [markdown]
# ## 1.1 What is a negative?
#
# Before we can count negatives, we have to say what we count. In a tagging task an example is a **token**,
# which is a word or a punctuation mark. Below you see a sentence of a small corpus that this package makes for
# itself; every token has a tag. A token with the tag `O` belongs to no entity, and we call it a negative. Every
# other token is a positive, whatever the type of its entity.

# %%
entities = corpora.load("embedded-entities-en", task="tagging")
of_twelve = (r for r in entities["train"] if len(r["tokens"]) == 12)
row = next(r for r in of_twelve if len(set(r["tags"])) > 2)
pd.DataFrame([row["tags"]], columns=row["tokens"], index=["tag"])

# %%
negative = sum(tag == "O" for tag in row["tags"])
positive = len(row["tags"]) - negative
ratio = negative / positive
print(f"{negative} negatives, {positive} positives: {ratio:.1f} to 1")

# %% [markdown]
# In machine reading the task is to answer a question from a paragraph. A model answers by pointing at two
# places: the word where the answer starts, and the word where it ends. Here an example is a **position**. Every
# word of the paragraph is an example, once for every question that is asked about it. For each question two of
# these examples are positive, or none if the paragraph has no answer.
#
# > "given a chunk of text of an arbitrary length, only two tokens are positive (or of interest) with all the
# > rest being background" (the paper, Section 1)
#
# Suppose that somebody asks how long the work on a bridge took.

# %%
paragraph = [
    "The",
    "bridge",
    "was",
    "opened",
    "after",
    "eight",
    "years",
    "of",
    "work",
]
answer = {paragraph.index("eight"), paragraph.index("years")}
pd.DataFrame(
    [[int(i in answer) for i in range(len(paragraph))]],
    columns=paragraph,
    index=["y"],
)

# %% [markdown]
# Two of the nine words are positive. In a longer paragraph there are still only two, among many more negatives.
# (If the answer is a single word, it is both start and end, and counts twice.) Notice that the ratio belongs to
# a unit. The same corpus, counted in characters, in word pieces (the parts into which a tokenizer cuts words)
# or in sentences, gives other ratios (exercise 1.4). So whenever you read such a ratio, ask what was counted.
# We do that now with the ratios of the paper.
#
# ## 1.2 Table 1, counted again
#
# > "Many NLP tasks such as tagging and machine reading comprehension (MRC) are faced with the severe data
# > imbalance issue" (the paper, abstract)
#
# The paper that this book is about {cite}`li2020dice` begins with a table of five corpora, and gives the ratio
# of negatives to positives for each. We put our own counts beside them. They come from a record that the
# command `dicebook data imbalance` wrote.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
table_1 = paper.table(1).rows
printed = pd.Series({row.corpus: row.value("ratio") for row in table_1}, name="paper")
rows = [(name, c.negative, c.positive, c.ratio) for name, c in real.items()]
ours = pd.DataFrame(rows, columns=["corpus", "negative", "positive", "ratio"]).set_index("corpus")
table = ours.join(printed, how="outer").sort_values("ratio", ascending=False)
for column, digits in {"negative": 0, "positive": 0, "ratio": 2, "paper": 2}.items():
    table[column] = table[column].map(f"{{:,.{digits}f}}".format).replace("nan", "–")
table


# %% [markdown]
# The imbalance depends on the task more than on the corpus. In reading there are about sixty to a hundred and
# forty negatives for each positive. In the recognition of entities there are five to nineteen. MRPC
# {cite}`dolan2005mrpc` has pairs of sentences that may be paraphrases, and there the *positives* are the
# majority. One printed ratio is wrong: for SQuAD 1.1 we count 58.88 negatives for each positive, where the
# table prints 55.9 (exercise 1.3). Nothing in the paper depends on it.
#
# <details><summary>Why some rows have no counts, and why the ratios of SQuAD 2.0 differ</summary>
#
# Rows without counts are corpora that we could not read. CoNLL 2003 {cite}`tjongkimsang2003conll` and OntoNotes
# 5 need a licence, and of Quoref {cite}`dasigi2019quoref` there is no copy in the record. Of SQuAD 2.0
# {cite}`rajpurkar2018squad2` we counted a part of the development set, while the paper counted the training
# set, so you cannot compare the two ratios. `squad11` is the training set of SQuAD 1.1
# {cite}`rajpurkar2016squad`, rebuilt with all its questions.
#
# </details>
#
# Large numbers of easy negatives are not a problem in themselves. They become one through the way in which we
# score a model.

# %% [markdown]
# ## 1.3 Accuracy rewards a tagger that finds nothing
#
# > "The most commonly used cross entropy criteria is actually accuracy-oriented" (the paper, abstract)
#
# **Accuracy** is the share of examples that are classified correctly. We use it to compare two taggers. The
# first is the one from the beginning: it says `O` to everything. The second has learned something. It remembers
# which tag each word had most often in the training data, and says `O` only to words that it has never seen. We
# hope for a score that clearly separates the two.

# %%
def train_memory(split):
    """The most frequent tag of each word."""
    words, tags = (np.concatenate(split[key]) for key in ("tokens", "tags"))
    seen = pd.DataFrame({"word": words, "tag": tags}).groupby("word").tag
    return seen.agg(lambda tags: tags.value_counts().idxmax()).to_dict()


def evaluate(memory, split):
    """Accuracy over tokens and F1 over entities, in %."""
    gold = split["tags"]
    guess = [[memory.get(word, "O") for word in s] for s in split["tokens"]]
    right = np.concatenate(gold) == np.concatenate(guess)
    found = entity_f1(list(gold), guess, zero_division=0)
    return 100 * right.mean(), 100 * found


# %%
memory = train_memory(entities["train"])
scores = {
    "always O": evaluate({}, entities["test"]),
    "memory": evaluate(memory, entities["test"]),
}
pd.DataFrame(scores, index=["accuracy", "F1"]).T.round(1)

# %% [markdown]
# The tagger that finds nothing is right for almost nine tokens in ten. The memory gains five points of
# accuracy, but thirty points of F1. We have not explained F1 yet; for now it is enough that it counts whole
# entities, and gives 0 to a tagger that finds none. How much do these gaps depend on the imbalance? The
# function `rebalance` leaves out sentences until the corpus has the ratio that we want, so we can try several
# ratios.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
ratios = [2, 4, 7, 15, 30]
curves = []
for ratio in ratios:
    test = corpora.rebalance(entities["test"], ratio, task="tagging")
    curves.append([*evaluate({}, test), *evaluate(memory, test)])
columns = ["accuracy, always O", "F1, always O", "accuracy, memory", "F1, memory"]
curves = pd.DataFrame(curves, index=pd.Index(ratios, name="ratio"), columns=columns)

# %% mystnb={"code_prompt_show": "Code of Figure 1.2", "figure": {"caption": "Figure 1.2. With more imbalance the accuracies of two taggers come together, and their F1 does not. The embedded corpus of made-up sentences, with sentences left out until it has each ratio.", "name": "fig-1-2"}, "image": {"alt": "Dashed lines are accuracy: those of both taggers climb towards 100 and come close at 30 negatives for each positive. Full lines are F1: that of always O lies on zero at every ratio, that of the memory stays far above it."}} tags=["hide-input"]
looks = [(NEGATIVE, "--"), (NEGATIVE, "-"), ("0.15", "--"), ("0.15", "-")]
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
# As the imbalance grows, both dashed lines rise above 95% and come together. At thirty negatives for each
# positive, accuracy separates the two taggers by only 1.4 points. The full lines, F1, stay at least 17 points
# apart. If you had only the accuracy, you would conclude that both taggers are excellent and that the second
# was not worth the trouble. Why does F1 see what accuracy does not?

# %% [markdown]
# ## 1.4 F1, and what it does not count
#
# A decision can be right or wrong, and it can be "positive" or "negative". That makes four outcomes: true and
# false positives (TP, FP), and true and false negatives (TN, FN). **Precision** asks: of what we found, which
# share is right? **Recall** asks: of what there was to find, which share did we find? A good tagger needs both,
# so we want one number that is high only if both are high.
#
# (eq-1-1)=
# F1 is such a number, the harmonic mean of the two. We put in the definitions, and the mean becomes simple:
#
# $$
# \begin{aligned}
# \mathrm{Pre} &= \frac{TP}{TP+FP}, \qquad \mathrm{Rec} = \frac{TP}{TP+FN}, \\
# F_1 &= \frac{2\,\mathrm{Pre}\,\mathrm{Rec}}{\mathrm{Pre}+\mathrm{Rec}} = \frac{2\,TP}{2\,TP + FP + FN}
# \end{aligned} \tag{1.1}
# $$
#
# The numerator of the last fraction counts every true positive twice. The denominator adds every false positive
# (a false alarm) and every false negative (a miss). If nothing is found, the numerator is 0, and so is F1.
#
# Three properties of this fraction matter as soon as we want to train for it.
#
# **First, true negatives do not occur in it.** Add a million easy negatives, all of them classified correctly.
# Accuracy goes to almost 100%, and F1 does not move (chapter 03).
#
# **Second, it belongs to a set and not to an example.** If you cut a set into parts of equal size, its accuracy
# is the mean of the accuracies of the parts. For F1 this is not true. Therefore a loss that is computed example
# by example, or batch by batch, and then averaged, is something other than the F1 of the whole (chapters 03 and
# 04).
#
# **Third, it is a staircase.** A model gives probabilities, and a threshold turns them into decisions. F1 sees
# only the decisions. A small improvement of the model changes nothing, until one decision flips, and then F1 jumps.
# The derivative is zero wherever it exists, so gradient descent cannot use F1 itself. We need something smooth that
# takes its place. That is usually cross entropy, with which chapter 02 begins.

# %% [markdown]
# ## Summary
#
# - Imbalance is a ratio *in a unit*, such as tokens, positions or pairs, and from MRPC to SQuAD it spans a
#   factor of more than a hundred.
# - As positives become rarer, the accuracy of a model that finds nothing goes to 100%, and its F1 is zero.
# - F1 ignores true negatives, belongs to a set rather than to an example, and has no useful gradient.

# %% [markdown]
# ## Exercises
#
# **Exercise 1.1 (recall).** Which accuracy does "always negative" reach on each corpus of the paper's Table 1?

# %% mystnb={"code_prompt_show": "Solution 1.1"} tags=["solution", "hide-cell"]
for row in table_1:
    n_negative, n_positive = row.value("negatives"), row.value("positives")
    accuracy = 100 * n_negative / (n_negative + n_positive)
    print(f"{row.corpus_title:14} {accuracy:.1f} %")

# %% [markdown]
# **Exercise 1.2 (pencil).** "Always positive" is as lazy as "always negative". Show that its F1 is $2\pi/(1+\pi)$
# with $\pi$ the share of positives, and compute it for MRPC and for SQuAD 1.1. What does that say
# about comparing the F1 scores of two corpora?

# %% mystnb={"code_prompt_show": "Solution 1.2"} tags=["solution", "hide-cell"]
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
# **Exercise 1.3 (apply).** A printed ratio can be checked against the printed counts beside it: 170K can
# be anything from 169,500 to 170,500, so that each row of the paper's Table 1 allows a range of ratios.
# Which row does not add up, and which of its three numbers is off?

# %% mystnb={"code_prompt_show": "Solution 1.3"} tags=["solution", "hide-cell"]
check = []
for row in table_1:
    (few, many), (low, high) = row.bounds("negatives"), row.bounds("positives")
    check.append((row.corpus_title, few / high, row.value("ratio"), many / low))
columns = ["corpus", "lowest", "printed", "highest"]
print(pd.DataFrame(check, columns=columns).set_index("corpus").round(2))
squad = real["squad11"]
print(f"counted: {squad.negative:,} to {squad.positive:,} is {squad.ratio:.2f}")
# SQuAD 1.1: 10.3 million to 175 thousand is at least 58.4 to 1, and the table says 55.9. Our counts
# round to both printed ones, and the positives are twice the number of questions: the ratio is off.
# Nothing in the paper rests on it.

# %% [markdown]
# **Exercise 1.4 (small research).** The ratio depends on the unit. Count the training split of the embedded
# corpus of entities by tokens, by characters and by whole sentences (positive if they contain an entity). Then
# cut words into pieces of three letters, as a tokenizer might, and count pieces. Which units make the task look
# easy?

# %% mystnb={"code_prompt_show": "Solution 1.4"} tags=["solution", "hide-cell"]
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
# - {cite:t}`forman2010`: F1 over the folds of a cross-validation; the second property of section 1.4
#   and what it does to published numbers.
# - {cite:t}`powers2014`: a case against F1, for measures that count true negatives too. Read it beside
#   exercise 1.2.
