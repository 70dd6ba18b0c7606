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
# # 09 Named entities
#
# Suppose that you have trained a tagger to find the names in a text. It is right for nine words in ten, and it
# finds nothing: most words of a text name nothing, and it has learned only that. Would another loss have found the
# names? In this chapter you train a tagger of names on real text with two losses, all else equal, and tune its
# threshold. Then you train the model of the paper's Table 5, which reads a sentence together with a question about
# one type of entity. Here is the answer in short. On eight tasks, with a frozen MiniLM, a head with one hidden layer
# and a search of settings for each loss, we cannot tell whether dice or cross entropy finds more entities.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who train taggers and wonder whether another loss would find more entities.
# - **You need** [chapter 08](08_part_of_speech.ipynb), which builds a tagger from its parts.
# - **You will be able to** train a tagger of entities with any loss of this book, or a model that finds entities as
#   answers to questions. You can tune its threshold, and compare losses fairly.
# - **Time** about an hour on a CPU core for the run of this page, a few minutes on a GPU. Without the corpus, the same
#   cells run in two minutes on a small one.
#
# </details>

# %% tags=["remove-cell"]
# Without dicebook, this cell installs it if `make repository` has set an address, and else says how.
try:
    __import__("dicebook")
except ModuleNotFoundError:
    _install = """print("dicebook is missing: in a clone, run pip install '.[book]'")"""
    get_ipython().run_cell(_install)

# %% tags=["remove-cell"]
from dicelab import figures

figures.use_style()

# %% [markdown]
# ## 9.1 The parameters
#
# The next cell holds everything that you can change, as in [section 8.1](08_part_of_speech.ipynb). The corpus is WNUT
# 2017 {cite}`derczynski2017wnut`, which has tweets, forum posts and comments. The last three parameters belong to
# the *reader*, the model of section 9.11 that finds entities by questions. You can also set the parameters from the
# command line:
#
# ```bash
# dicebook data wnut17 --out data     # fetch the corpus
# papermill --log-output notebooks/09_named_entities.ipynb out.ipynb \
#     -p loss ce,dl,dsc -p output_dir runs/09
# ```

# %% tags=["parameters"]
corpus: str = "wnut17"  # registered name, or your file
encoder: str = "minilm"  # or "tiny", a folder, a hub model
loss: str = "ce,dl"  # of ce, wce, fl, dl, tl, dsc, MODULE:NAME
loss_options: dict = {}  # such as {"dsc": {"alpha": 0.01}}
start: str = "prior"  # the output bias starts there; or at "zero"
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 4  # passes over the training sentences
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # sentences in a step
learning_rate: float = 1e-4  # the peak of its schedule
max_length: int = 128  # sub-words in a row; longer ones go on
train_size: int = 0  # training sentences; 0 for all
eval_size: int = 0  # scored sentences of a split; 0 for all
device: str = "auto"  # "auto", "cpu", "cuda" or "mps"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing
reader_epochs: int = 3  # passes of the reader; 0 leaves it out
reader_size: int = 500  # its training sentences; 0 for all
language: str = "auto"  # of its questions: "auto", "en" or "zh"

# %%
from dicelab import chapters
from dicelab.training.experiment import ParameterError

experiment = chapters.experiment(
    "09_named_entities",
    globals(),
    also=["reader_epochs", "reader_size", "language"],
)
for of in ("reader_epochs", "reader_size"):
    given = globals()[of]
    if not isinstance(given, int) or given < 0:
        wrong = f"expected 0 or more, got {given!r}"
        raise ParameterError(f"parameter {of!r}: {wrong}")
print(f"{experiment.corpus}, {experiment.encoder}")

# %% [markdown]
# ## 9.2 A sentence and its entities
#
# What does the tagger learn from? A corpus of entities is a list of sentences in which every word carries a tag. In the
# scheme IOB2, `B-person` begins a person, `I-person` continues it, and `O` means that the word is outside of every
# entity. We may not print sentences of the corpus here, so this one is ours:

# %%
import pandas as pd

tokens = "Nora Achterberg posted a photo from Leeds".split()
its_tags = "B-person I-person O O O O B-location".split()
pd.DataFrame([its_tags], columns=tokens, index=["tag"])


# %% [markdown]
# The score will look at whole entities. So we need a function that reads them from the tags. An `I-` tag that
# continues no entity of its type is ignored, which is the strict reading of IOB2.

# %%
def entities_of(tags):
    """The entities of a sentence: first word, end, type."""
    found, start = set(), None
    for i, tag in enumerate([*tags, "O"]):
        if start is not None and tag != "I-" + tags[start][2:]:
            found.add((start, i, tags[start][2:]))
            start = None
        if tag.startswith("B-"):
            start = i
    return found


sorted(entities_of(its_tags))

# %%
from collections import Counter

from dicelab import corpora
from dicelab.training.sampling import sample

whole = corpora.load(experiment.corpus, task="tagging")
if reader_epochs and (language != "auto" or encoder != "tiny"):
    texts = map(" ".join, whole["train"]["tokens"])
    language = corpora.language_of(experiment.corpus, language, texts)
rows = sample(whole, experiment)
for name, split in rows.items():
    n = sum(len(entities_of(tags)) for tags in split["tags"])
    print(f"{name}: {len(split):,} sentences, {n:,} entities")
tags_of_train = Counter(t for tags in rows["train"]["tags"] for t in tags)
words, outside = tags_of_train.total(), tags_of_train["O"]
print(f"{words:,} training words, {100 * outside / words:.0f}% of them O")

# %% [markdown]
# In the training sentences most words carry one and the same tag, `O`.
#
# ## 9.3 Entity F1, and what simple rules reach
#
# A predicted entity is right if its first word, its last word and its type are all right. If any of the three is wrong,
# we count two errors: one gold entity is not found, and one predicted entity is wrong. Precision, recall and F1 count
# entities in this way, over all types together.

# %%
import numpy as np

from dicelab.metrics.counts import Counts


def count_entities(gold, predicted):
    """Right, predicted and actual entities, [sentences, 1] each."""
    found = []
    for true, said in zip(gold, predicted, strict=True):
        true, said = entities_of(true), entities_of(said)
        found.append([len(true & said), len(said), len(true)])
    return Counts(*np.array(found).T[..., None])


# %% [markdown]
# Two simple rules show what a score is worth. The first says `O` to every word. The second is a dictionary: it marks
# the entities of the training sentences wherever they occur in the same letters, the longest first, each with the type
# that it has most often.

# %%
from dicelab.metrics.goal import Goal
from dicelab.metrics.intervals import interval
from dicelab.tasks.baselines import entities_by_dictionary

goal = Goal("f1", (0,))


def describe(gold, predicted):
    """The scores of predicted tags, in percent."""
    counts = count_entities(gold, predicted)
    parts = counts.sum(0)[0]
    right = np.concatenate(gold) == np.concatenate(predicted)
    return {
        "precision": f"{100 * parts.precision:.1f}",
        "recall": f"{100 * parts.recall:.1f}",
        "F1": str(interval(counts, goal)),
        "tags right": f"{100 * right.mean():.1f}",
    }


# %%
true = rows["test"]["tags"][:]
rules = {
    "O everywhere": [["O"] * len(tags) for tags in true],
    "dictionary": entities_by_dictionary(rows["train"], rows["test"]),
}
table = {name: describe(true, tags) for name, tags in rules.items()}
pd.DataFrame(table).T

# %% [markdown]
# The brackets are [bootstrap intervals](bootstrap) over test sentences. A tagger that says `O` to every word has 93% of
# the tags right, and its F1 is 0. This is why you should judge a tagger by F1 over entities, and not only by the share
# of its tags that are right. The dictionary finds nothing either: the makers of this corpus chose test sentences with
# new names, and not one entity of training occurs in them in exactly the same letters. (An F1 of 0 has an exact
# interval.)
#
# ## 9.4 The model and its training
#
# The model is the tagger of [chapter 08](08_part_of_speech.ipynb): an encoder with one linear layer on top, which gives
# a row of logits at the first sub-word of each word. `tagging.encode` cuts words into sub-words as we did in [section
# 8.6](08_part_of_speech.ipynb), and reads a sentence that is too long in several windows.

# %%
from dicelab.tasks import tagging
from dicelab.training.encoders import load_tokenizer

texts = (" ".join(tokens) for tokens in rows["train"]["tokens"])
tokenizer = load_tokenizer(
    experiment.encoder,
    texts,
    max_length=experiment.max_length,
)
encoded = tagging.encode(rows, tokenizer, max_length=experiment.max_length)
splits, labels, counts = encoded.splits, encoded.labels, encoded.counts()
gold = {name: split["tags"][:] for name, split in splits.items()}
print(f"{len(labels)} labels: {', '.join(labels)}")
print(f"words cut off: {encoded.cut}")

# %% [markdown]
# You know the loop from [section 8.9](08_part_of_speech.ipynb). From here on we call it: `train` is the `Trainer` of
# transformers with a loss of this book. Before the first step it sets the output bias to the log prior of the tags,
# which it takes from `counts`, and it keeps the pass with the best F1 on the validation sentences. If memory is short,
# it computes one step in pieces. Then it adds the sums of the pieces before it divides, so the loss is that of the
# whole batch. Which loss is trained is one line.

# %%
from dicebook import TrainerLoss
from dicelab.training.trainer import build_loss, train


def new_tagger():
    """The encoder, and a new linear layer with a logit for each tag."""
    return tagging.model(experiment.encoder, tokenizer, labels)


def evaluate(logits, split):
    """Scores of a split's logits."""
    said = tagging.decode(logits, split, labels)
    counts = count_entities(split["tags"], said).sum(0)[0]
    return {"f1": 100 * float(counts.f1)}


# %%
def fit(name):
    """A tagger trained with one loss."""
    return train(
        experiment.only(name),
        build_model=new_tagger,
        counts=counts,
        splits=splits,
        collator=tagging.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build_loss(experiment, name, counts)),
        evaluate=evaluate,
    )


# %%
first, last = experiment.losses[0], experiment.losses[-1]
trained = {first: fit(first)}


# %% [markdown]
# ## 9.5 The bias of O
#
# Our tagger says `O` wherever `O` has the largest logit. This rule need not be the best one for F1. We can change it
# without training: add one number to the logit of `O`, the *bias of O*. A negative number makes `O` less likely, so
# the tagger predicts more entities. In other words, this bias is the tagger's decision threshold. We tune it on the
# validation sentences.

# %%
def tags_by(name, split, bias=0.0):
    """The tags of a split by a trained tagger, with a bias of O."""
    logits = trained[name].logits[split]
    return tagging.decode(logits, splits[split], labels, outside_bias=bias)


curves, biases = {}, {}


def tune(name):
    """The bias of O with the highest F1, the smallest of equal ones."""
    curves[name] = {}
    for bias in np.linspace(-6, 6, 25):
        said = tags_by(name, "validation", bias)
        curves[name][bias] = count_entities(gold["validation"], said).sum(0)
    f1 = {bias: float(of.f1[0]) for bias, of in curves[name].items()}
    return max(f1, key=lambda bias: (f1[bias], -abs(bias)))


# %% [markdown]
# (a-tagger-that-works)=
# ## 9.6 Scores beside the floors

# %%
said = {}


def decide(name):
    """The tags of the test sentences, at argmax and tuned."""
    biases[name] = tune(name)
    for how, bias in (("argmax", 0.0), ("tuned", biases[name])):
        said[name, how] = tags_by(name, "test", bias)
        table[f"{name}, {how}"] = describe(gold["test"], said[name, how])


decide(first)
ours = 100 * count_entities(gold["test"], said[first, "tuned"]).sum(0).f1[0]
theirs = tagging.score(gold["test"], said[first, "tuned"])["f1"]
assert np.isclose(ours, theirs)  # the library's strict score
print(f"tuned bias of O: {biases[first]:.1f}")
pd.DataFrame(table).T


# %% [markdown]
# The tagger with cross entropy and a tuned threshold has an F1 of 43.6. Its precision is higher than its recall: about
# half of what it finds is right, and it finds a little more than a third of what is there. Tuning moved the F1 by about
# a point. Papers usually print the row `argmax`.
#
# ## 9.7 Errors
#
# A score tells you how many entities are wrong, but not what is wrong with them. To find out, we compare each gold
# entity with the predicted entities that share a word with it. An entity has a *wrong boundary* if the tagger found a
# part of it, or more than it. It is *missed* if the tagger found none of its words. It is *invented* if no word of it
# belongs to a gold entity.

# %%
def error_of(entity, found):
    """What is wrong with a gold entity, beside those found."""
    if entity in found:
        return "right"
    start, end, _ = entity
    near = [e for e in found if e[0] < end and start < e[1]]
    if any(e[:2] == (start, end) for e in near):
        return "wrong type"
    return "wrong boundary" if near else "missed"


errors = Counter()
for true, guess in zip(gold["test"], said[first, "tuned"], strict=True):
    true, guess = entities_of(true), entities_of(guess)
    errors.update((e[2], error_of(e, guess)) for e in true)
    apart = (e for e in guess if error_of(e, true) == "missed")
    errors.update((e[2], "invented") for e in apart)
kinds = ("right", "wrong type", "wrong boundary", "missed", "invented")
by_type = pd.Series(errors).unstack().reindex(columns=kinds)
by_type.fillna(0).astype(int)

# %%
from dicelab.tasks import entity_errors

novelty = entity_errors.recall_by_novelty(
    rows["train"][:],
    splits["test"][:],
    said[first, "tuned"],
)
for group, n in novelty.items():
    share = 100 * n["right"] / max(1, n["gold"])
    print(f"{group} in training: {n['right']} of {n['gold']}, {share:.0f}%")

# %% [markdown]
# Most errors are entities that the tagger does not see at all. It finds persons and locations best, which are
# frequent in training and often have familiar words. For products, groups and creative works it misses more than
# half. Where it does find the words of a product or a corporation, it often gives them another type. For example,
# only the sentence can say whether *Apple* names a company or a thing.
#
# The last two lines explain the F1. Nearly all test entities are new to the tagger. It has met 24 of them in
# training, if we ignore upper and lower case, and it finds 21 of these 24. Of the others it finds 36%, and these it
# can know only from their context and from what the encoder has learned before.
#
# ## 9.8 Sentences of your own
#
# How would you tag a new sentence? Split it into words, give its sub-words to the model, and read the tag of each
# word at its first sub-word, with the tuned bias of `O`:

# %%
import torch


@torch.no_grad()
def tag(tokens, name):
    """The tags of a sentence, a list of words, by a trained tagger."""
    coded = tokenizer(tokens, is_split_into_words=True, return_tensors="pt")
    places = [coded.word_ids().index(i) for i in range(len(tokens))]
    model = trained[name].model.eval()
    parts = ("input_ids", "attention_mask")
    inputs = {part: coded[part].to(model.device) for part in parts}
    scores = model(**inputs).logits[0, places].float().cpu().numpy()
    scores[:, labels.index("O")] += biases[name]
    return [labels[i] for i in scores.argmax(-1)]


# %% [markdown]
# Here are a dozen sentences that we wrote. The brackets show what the tagger found, and below a wrong line is what we
# meant. Put yours in their place: a text with a sentence on each line.

# %%
OWN = entity_errors.OWN_SENTENCES

n_right, lines = 0, OWN.strip().splitlines()
for line in lines:
    tokens, _ = entity_errors.unmarked(line)
    found = entity_errors.marked(tokens, tag(tokens, first))
    n_right += found == line
    print(found)
    if found != line:
        print("    meant:", line)
print(f"{n_right} of {len(lines)} sentences are right")

# %% [markdown]
# The tagger finds places and persons, also those that we invented. The two sentences that name nothing stay empty,
# although one of them has two names of months. The made-up titles and bands are missed, as the table above lets us
# expect, and *Apple* becomes a product beside the *iPod*.
#
# To try a sentence of your own without training, type `dicebook try 09 "..."`. A smaller model, a linear one on the
# frozen MiniLM, answers in seconds. [Chapter 22](22_your_own_data.ipynb) trains and keeps such a model on a file of
# your own.
#
# ## 9.9 The other loss
#
# Now we train the same tagger with dice loss. The start, the batches, their order and the learning rate are the same.

# %%
for name in experiment.losses[1:]:
    trained[name] = fit(name)
    decide(name)
pd.DataFrame(table).T.iloc[2:]

# %%
from dicelab.metrics.intervals import difference

print(f"{last} minus {first}, points of F1")
for how in ("argmax", "tuned"):
    two = (said[name, how] for name in (last, first))
    both = ([count_entities(gold["test"], tags)] for tags in two)
    gap = difference(*both, goal.plain)
    print(f"{how}: {gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]")

# %% [markdown]
# At argmax the interval includes 0. With tuned thresholds dice is 3.4 points lower, and this interval excludes 0. It is
# over test sentences alone, of one seed and one learning rate, so it ranks nothing: section 9.13 has a search for each
# loss.
#
# So far we have looked at two thresholds of each tagger. What if we look at all of them? If two losses lay on the same
# curve, they would differ by their threshold alone.

# %% mystnb={"code_prompt_show": "Code of Figure 9.1", "figure": {"caption": "Figure 9.1. Up to a recall of one half the two curves lie together, and beyond it cross entropy goes further. WNUT 2017, validation sentences: each curve is one tagger under all biases of O from \u22126 to 6. The mark on it is argmax.", "name": "fig-9-4"}, "image": {"alt": "Precision against recall from 0.1 to 0.6 for two taggers, with grey lines of equal F1. Between recalls of 0.2 and 0.42 both lie at a precision of 0.8, then both fall. Cross entropy ends at a recall of 0.58 and a precision of 0.45. Dice turns at a recall of 0.55 and falls to a precision of 0.13. The mark of cross entropy lies at 0.49 and 0.69, that of dice at 0.53 and 0.60."}} tags=["hide-input"]
import matplotlib.pyplot as plt

_points = {name: (list(of.values()), figures.style(name)) for name, of in curves.items()}
figures.precision_recall(
    {
        name: ([of.precision[0] for of in all_of], [of.recall[0] for of in all_of])
        for name, (all_of, _) in _points.items()
    }
)
for _name, (_, _look) in _points.items():
    _at = curves[_name][0.0]
    plt.plot(_at.recall[0], _at.precision[0], "o", color=_look["color"])
_most = max(of.recall[0] for all_of, _ in _points.values() for of in all_of)
plt.xlim(0.1, 1.02 * max(_most, 0.2) + 0.02)
plt.legend(loc="lower left", title="loss", facecolor="white", framealpha=1, frameon=True)
plt.show()

# %% [markdown]
# Up to a recall of one half the two curves lie together, as if the losses differed by their threshold alone. Beyond it the
# tagger with cross entropy goes on to a higher recall, and the one with dice only becomes less precise. One seed cannot
# tell you whether that is due to the loss.
#
# ## 9.10 Two starts
#
# We gave both losses the same start, the log prior of the tags ([section 2.3](start-bias)). What does this line change?
# From a bias of 0, cross entropy learns first that most words are `O`, and finds no entity until it knows that. From the
# log prior it finds some at once. [Section 17.4](17_when_does_dice_help.ipynb) measures it.
#
# What follows for you? If you compared two losses from a bias of 0, much of what you saw would come from the start.
# Therefore we give every loss of this book the log prior (the parameter `start`). There is another way to see nothing:
# a *linear* dice loss over a set may find no entity at all. [Section 7.5](07_all_losses.ipynb) derives this and shows
# it on WNUT 2017. The library's losses are squared, so you do not meet it here.
#
# ## 9.11 The same entities as answers
#
# A tagger is not the only way to find entities. The model of the paper's Table 5, BERT-MRC {cite}`li2020mrc`, treats
# them as answers to questions. It reads each sentence once for every type, after a question such as this one:

# %%
from dicelab.tasks.entity_queries import query

types = [
    [kind for *_, kind in entities_of(tags)]  # of one sentence
    for tags in rows["train"]["tags"]
]
kinds = sorted(set().union(*types))
print(kinds[0], "→", query(kinds[0], language))

# %% [markdown]
# For every word the model makes two decisions: does an entity of that type *start* here, and does one *end* here? For
# each pair of a likely start and a likely end it makes a third one: do the two *match*? Each of these decisions has a
# binary loss, and we train on the sum.
#
# What happens if you put a question about persons to a sentence without a person? There is no answer, and all decisions
# are negative. Let us count, for each type, what the training sentences have:

# %%
grown = {}
for kind in kinds:
    answers = np.array([of_one.count(kind) for of_one in types])
    grown[kind] = {
        "without answer, %": 100 * np.mean(answers == 0),
        "starts": answers.sum(),
        "negatives a start": words / answers.sum() - 1,
    }
print(f"tagger: {outside / (words - outside):.0f} negatives a positive")
pd.DataFrame(grown).T.round().astype(int)

# %% [markdown]
# For each type, at least 85 sentences in a hundred have no answer, and only the first and the last word of a name are
# positive. So nineteen negatives for each positive become a hundred and more. If dice loss helps where positives are few, it should help here.
#
# The reader asks six questions of each sentence, so a pass takes six times as long as that of the tagger. For this
# page we train it on a part of the sentences. A real encoder reads the question itself. The tiny encoder, which has
# never seen a question, gets the name of the type instead.

# %%
from dataclasses import replace

from dicelab.tasks import mrc_ner

smaller = {"train_size": reader_size, "eval_size": reader_size // 2}
part = sample(rows, replace(experiment, **smaller)) if reader_size else rows
if encoder == "tiny":
    room = 16  # sub-words of a question
    queries, options = {kind: kind for kind in kinds}, {"candidates": 4}
    texts = [" ".join(of) for of in rows["train"]["tokens"]] + 20 * kinds
    length = experiment.max_length + room
    reader_tokenizer = load_tokenizer("tiny", texts, max_length=length)
else:
    room, queries, options = 40, None, {}
    reader_tokenizer = tokenizer

# %%
asked = mrc_ner.encode(
    part,
    reader_tokenizer,
    queries=queries,
    language=language,
    max_length=min(
        experiment.max_length + room,
        reader_tokenizer.model_max_length,
    ),
)
negative, positive = asked.counts()
print(f"{len(asked.splits['train']):,} questions")
print(f"starts and ends: {negative / positive:.0f} negatives a positive")


# %% [markdown]
# A model that finds nothing at a probability of one half may still rank the candidates well. Therefore we judge each
# pass at its best threshold. Thresholds are log-odds here: 0 is a probability of one half, and −3 is a probability of
# one in twenty.

# %%
def reader_scores(outputs, split, threshold):
    """Scores; start, end and match are all above a threshold."""
    tagged = part[split]["tags"]
    truth = [corpora.spans(tags, strict=True) for tags in tagged]
    found = mrc_ner.decode(outputs, asked, split, threshold=threshold)
    return mrc_ner.score(truth, found)


def tuned_scores(outputs):
    """Scores of the validation split at the threshold with the best F1."""
    best = mrc_ner.tune_threshold(outputs, asked, "validation")
    return reader_scores(outputs, "validation", best)


# %%
def new_reader():
    """The encoder, and new layers for starts, ends and matches."""
    name = experiment.encoder
    return mrc_ner.model(name, reader_tokenizer, **options)


def fit_reader(name):
    """A reader trained with the binary form of a loss."""
    folder = output_dir and f"{output_dir}/reader"
    passes = {"epochs": reader_epochs, "output_dir": folder}
    one = replace(experiment.only(name), **passes, **smaller)
    loss = build_loss(one, name, asked.counts(), binary=True)
    return train(
        one,
        build_model=new_reader,
        counts=[asked.counts()] * 2,
        splits=asked.splits,
        collator=mrc_ner.collator(reader_tokenizer),
        tokenizer=reader_tokenizer,
        compute_loss=mrc_ner.MrcLoss(loss),
        evaluate=lambda outputs, split: tuned_scores(outputs),
    )


# %%
readers, reader_table = {}, {}
for name in dict.fromkeys([first, last]) if reader_epochs else ():
    print("reader,", name)
    readers[name] = fit_reader(name)

# %%
for name, result in readers.items():
    outputs = result.logits["validation"]
    best = mrc_ner.tune_threshold(outputs, asked, "validation")
    for how, t in (("argmax", 0.0), ("tuned", best)):
        scores = reader_scores(result.logits["test"], "test", t)
        reader_table[name, how] = {**scores, "threshold": t}
pd.DataFrame(reader_table).T.round(1)


# %% [markdown]
# At a probability of one half, the reader with cross entropy finds nothing, and with a tuned threshold it has an F1 of
# 23.4. Dice finds entities at once, and with a tuned threshold it has an F1 of 37.1. So where nearly two hundred decisions
# are negative for each positive one, dice is ahead, as the paper expects. How far does this carry? It is one seed, one
# learning rate and some three hundred steps on 500 sentences, scored on half as many. In [section
# 17.4](17_when_does_dice_help.ipynb), such leads of short runs were gone after more steps, and we have no longer run of
# this reader. If you train one on so little data, compare both losses.
#
# ## 9.12 The same logits, decoded in another way
#
# Is there a cheaper way to a higher F1 than another loss? A decoder turns the logits into tags, and you can change the
# decoder. You have met the bias of `O`. Another decoder is *valid*. Among all sequences of tags in which every `I-`
# continues an entity of its type, it takes the sequence with the largest sum of logits. Viterbi's algorithm finds this
# sequence, without transition weights (in the library `tagging.decode(..., valid=True)`):

# %%
def viterbi(scores, labels):
    """The best valid tags of a sentence, from scores [words, labels]."""
    begins = np.array([label[0] != "I" for label in labels])
    follows = begins | [[a[2:] == b[2:] for b in labels] for a in labels]
    total, back = np.where(begins, scores[0], -np.inf), []
    for row in scores[1:]:
        ways = np.where(follows, total[:, None], -np.inf)
        back.append(ways.argmax(0))
        total = ways.max(0) + row
    best = [total.argmax()]
    for come_from in reversed(back):
        best.append(come_from[best[-1]])
    return [labels[i] for i in reversed(best)]


# %%
for name in (first, last):
    logits = trained[name].logits["test"]
    valid = tagging.decode(logits, splits["test"], labels, valid=True)
    for how, tags in (("argmax", said[name, "argmax"]), ("valid", valid)):
        f1 = 100 * count_entities(gold["test"], tags).sum(0).f1[0]
        print(f"{name}, {how}: {f1:.1f}")

# %% [markdown]
# It adds 1.4 points to the tagger with cross entropy and half a point to the one with dice, and it has nothing to tune.
#
# Does it matter more where the encoder is frozen? We decoded the logits of heads on a frozen MiniLM, ten draws for each
# loss, with biases and thresholds from validation. *Confidence* starts from *valid*, with a bias of `O` at which the
# tagger predicts too many entities, and keeps an entity only if the mean log-probability of its tags is above a
# threshold. The table has the test F1 of argmax, and what the others add to it:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
from itertools import product

from dicelab.records import runs
from dicelab.tables import minus

_decoders = {
    "argmax": "test",
    "valid": "test_valid",
    "bias": "test_tuned",
    "bias, valid": "test_tuned_valid",
    "confidence": "test_confidence",
}
_drawn = {}
for _record in runs.kept_records("decoding"):
    for _way, _key in _decoders.items():
        _of = _record["parameters"]
        _f1 = _record["metrics"][_key]["f1"]
        _drawn.setdefault((_of["corpus"], _of["loss"], _way), []).append(_f1)
_shown = {}
for (_corpus, _loss, _way), _f1 in _drawn.items():
    _gain = runs.interval(np.array(_f1) - np.array(_drawn[_corpus, _loss, "argmax"]))
    _text = f"{_gain.mean:+.1f} [{_gain.low:+.1f}, {_gain.high:+.1f}]"
    _shown[_corpus, _loss, _way] = f"{np.mean(_f1):.1f}" if _way == "argmax" else minus(_text)
pd.Series(_shown).unstack()[list(_decoders)]

# %% [markdown]
# *Valid* has nothing to tune, and it is ahead of argmax with both losses, on all three corpora and with every draw.
# It gains less than a point on WNUT 2017, six on CrossNER, and four to five on Wikigold. Why so much? A head that
# sees one word at a time contradicts itself: it often predicts an `I-` tag that continues nothing.
#
# On top of *valid*, the bias of `O` and *confidence* add a point and a half at most, and on Wikigold *confidence*
# takes a point away. What a decoder adds differs between the two losses by a point at most. So use *valid* with any
# loss.
#
# ## 9.13 A search for each loss
#
# The two taggers of this page share one learning rate, which suits cross entropy. Would the answer change if each loss
# had its own? The controlled study of [chapter 17](17_when_does_dice_help.ipynb) tries that. It trains only a head with
# one hidden layer, on top of a frozen MiniLM. Each loss gets five searches of sixteen trials each, which choose its
# settings on validation. The winner of each search is then trained four times on fresh draws of the data. [Figure
# 9.2](fig-9-5) shows the eight tasks with entities, for squared dice ([Eq. 8](eq-8)) from both starts.

# %% mystnb={"code_prompt_show": "Code of Figure 9.2", "figure": {"caption": "Figure 9.2. Nearly all differences lie within two points of 0, and one interval of 32 excludes it. F1 of dice minus F1 of cross entropy from the log prior, on the test sets of eight tasks with entities, frozen MiniLM and a head with one hidden layer: means over searches with 95% intervals.", "name": "fig-9-5"}, "image": {"alt": "Eight rows with two circles and two diamonds each, hollow where dice starts near 0. Nearly all lie within two points of 0, and the intervals of the hollow marks all include it."}} tags=["hide-input"]
from dicelab.records import searched

_names = {"wnut17": "WNUT 2017", "wikigold": "Wikigold", "uner_en_ewt": "UNER, English"}
_fields = ("ai", "literature", "music", "politics", "science")
_names |= {f"crossner_{field}": f"CrossNER, {field}" for field in _fields}
_study = searched.read_tasks()
gaps = searched.gaps(_study, _names)
_figure, ax = plt.subplots(figsize=(6.2, 6.6))
figures.differences(gaps, ax=ax)
_figure.legend(loc="outside lower center", ncols=2, fontsize=9)
plt.show()

# %% mystnb={"code_prompt_show": "Code and table of Figure 9.2"} tags=["hide-cell"]
_table = {
    name: {
        f"{arm}, {how}": f"{e.mean:.1f} [{e.low:.1f}, {e.high:.1f}]" for (arm, how), e in of.items()
    }
    for name, of in gaps.items()
}
pd.DataFrame(_table).T

# %% [markdown]
# We expected that dice would be ahead at argmax at least, since it is made for F1. It is not. From a bias near 0, all
# 16 intervals include 0, and no mean is further from 0 than a point and a half. From the log prior, one of the 16
# intervals excludes 0. On the literature part of CrossNER, with tuned thresholds, dice is 2.5 points lower. Do not
# read much into it: among the figure's 32 intervals, one or two are expected to exclude 0 by chance alone.
#
# What follows for you? Once each loss has its own learning rate, and cross entropy starts at the log prior, we cannot
# tell which of the two finds more entities, with these frozen encoders. Do not compare F1s across experiments either.
# A classifier of spans whose layers are all trained for three passes has 45.6<!-- chapter 20 --> on WNUT 2017
# ([chapter 20](20_spans.ipynb)). What is trained, for how long, and how entities are read moves F1 by more than the
# loss does.
#
# The learning rate itself may matter a great deal. You see it best where all layers are trained.
# [Figure 9.3](fig-9-6) has short runs of MiniLM: the tweets of WNUT 2017, and beside them
# comments of which a few express fear, as a task whose rows are whole texts. All thresholds are tuned.

# %% mystnb={"code_prompt_show": "Code of Figure 9.3", "figure": {"caption": "Figure 9.3. Each loss gains more from its best rate than the best loss is ahead of the worst. F1 on validation by learning rate, MiniLM with all layers, after 76 steps (above) and 307 (below), on WNUT 2017 (left) and on GoEmotions with the label fear (right). Means over two draws of the data. The learning rate is the highest one, after a warm-up.", "name": "fig-9-6"}, "image": {"alt": "Four panels with a curve for each of three losses. On the left, the curves rise to a top in the middle and fall again, together. On the right, above, they rise steeply; below, they are flat at low rates and fall at the highest ones."}} tags=["hide-input"]
from dicelab.records import speed

_all_layers = speed.read_corpora()
_figure, axes = plt.subplots(2, 2, figsize=(7, 5.6), sharex="col", sharey=True)
_panels = product((64, 256), ("wnut17", "goemotions_fear"))
for ax, (_length, _task) in zip(axes.flat, _panels, strict=True):
    figures.by_rate(_all_layers[_task], ("ce_start", "wce", "dice_start"), _length, ax=ax)
    _steps = {64: 76, 256: 307}[_length]
    ax.set_title(f"{speed.CORPORA[_task]}, {_steps} steps", fontsize=10)
    ax.set_ylim(0, 70)
    ax.label_outer()
_handles = axes[0, 0].get_legend_handles_labels()
_figure.legend(*_handles, loc="outside lower center", ncols=3, fontsize=9)
plt.show()

# %% [markdown]
# Follow one curve from left to right. In every panel, each loss gains more from the right rate than the best loss is
# ahead of the worst one. Two rules help you to search. First, the fewer steps you have, the higher the rate should
# be: on WNUT 2017, the short runs want rates that are two to four times as high. Second, a rate that suits tags may be
# too high for whole texts with a rare label. At such a rate the longer runs of cross entropy on fear lose half of
# their F1. For this reason, `dicebook fit` begins with a lower rate where your rows are whole texts.
#
# Other encoders want other rates. For one of the size of BERT, such as `bert-base-cased` or the more recent
# `answerdotai/ModernBERT-base`, most people begin between 2e-5 and 5e-5. So search the rate before you try another
# loss.
#
# ## 9.14 Table 5 of the paper
#
# How does all this compare with what the paper prints? Its Table 5 uses a larger encoder, and the reader in the place
# of the tagger. For CoNLL 2003<!-- a name --> {cite}`tjongkimsang2003conll` it has these rows:

# %% tags=["nbval-check-output"]
from dicelab.records import paper

for row in paper.table(5).rows:
    if row.corpus == "conll03" and row.precision:
        p, r, f = row.precision, row.recall, row.f1
        print(f"{row.model:14} P {p:.2f}  R {r:.2f}  F1 {f:.2f}")

# %% [markdown]
# The gain printed for self-adjusting dice (DSC) over the first row is 0.29. It disappears when
# [chapter 15](15_audit.ipynb) recomputes the F1 of the first row from the precision and recall of that row. On the
# other three corpora of the table the gains are larger. However, the table does not tell you how many seeds were
# run, or how the threshold was chosen.
#
# None of our runs above has this setting. If you have a GPU, `make reproduce TABLE=5 PROFILE=paper` makes the rows
# over seeds, at argmax and with tuned thresholds. [The paper's tables](../docs/tables.md) tells
# you how many hours that takes.

# %% [markdown]
# ## Summary
#
# - Judge a tagger by F1 over entities and by the share of its tags that are right. Either of the two alone can look
#   healthy while the tagger is useless.
# - Before you compare losses, give them the same start, such as the log prior, and tune the threshold of each.
# - On eight tasks of *real* text (frozen MiniLM, a head with one hidden layer, five searches for each loss), we cannot
#   tell whether dice or cross entropy finds more entities.
# - One short run of a reader by questions, with two hundred negatives for each positive, had a higher F1 with dice, tuned
#   and at argmax. Longer runs of it are missing.
# - A decoder of valid sequences adds between half a point and six points to either loss on frozen encoders, without
#   training or tuning.
#
# ## Exercises
#
# **1.** A tagger finds the boundaries of all entities and gets every type wrong. What are the share of its tags that
# are right and its F1 on the test split? Write down your guess before you compute it.

# %% mystnb={"code_prompt_show": "Solution 9.1"} tags=["solution", "hide-cell"]
other = dict(zip(kinds, kinds[1:] + kinds[:1], strict=True))
wrong = [
    [t if t == "O" else t[:2] + other.get(t[2:], kinds[0]) for t in tags] for tags in gold["test"]
]
describe(gold["test"], wrong)

# %% [markdown]
# **2.** What happens to precision and recall if you forbid `O` altogether?

# %% mystnb={"code_prompt_show": "Solution 9.2"} tags=["solution", "hide-cell"]
describe(gold["test"], tags_by(first, "test", -1e4))

# %% [markdown]
# **3.** Some scorers let an entity begin with `I-`. Replace every `B-` of a prediction by `I-`, and compare the
# strict score with the number of entities that a lenient scorer finds.

# %% mystnb={"code_prompt_show": "Solution 9.3"} tags=["solution", "hide-cell"]
inside = [[t.replace("B-", "I-") for t in tags] for tags in said[last, "argmax"]]
pairs = zip(inside, gold["test"], strict=True)
lenient = sum(len(set(corpora.spans(i)) & set(corpora.spans(g))) for i, g in pairs)
strict = tagging.score(gold["test"], inside)
print(f"strict recall {strict['recall']:.1f}, entities found by a lenient count: {lenient}")

# %% [markdown]
# **4.** Is `viterbi` of section 9.12 the library's decoder? Compare the two on the test sentences.

# %% mystnb={"code_prompt_show": "Solution 9.4"} tags=["solution", "hide-cell"]
of_test, logits = splits["test"][:], trained[last].logits["test"]
alike = [
    viterbi(scores[places], labels) == tags
    for scores, places, tags in zip(logits, of_test["first_subword"], valid, strict=True)
    if len(places) and min(places) >= 0 and len(places) == len(tags)
]
print(f"{sum(alike)} of {len(alike)} sentences are alike")

# %% [markdown]
# The run of this page:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
from dataclasses import asdict
from pathlib import Path

_none = [["O"] * len(tags) for tags in gold["test"]]
_majority = tagging.score(gold["test"], _none)


def _keep(folder, one, result, at_argmax, tuned):
    """Tell of a run, and write its record where there is a folder for it."""
    chapters.end_run(
        "09_named_entities" + f", {folder}" * bool(folder),
        f"{folder}, {one['loss']}" if folder else one["loss"],
        output_dir and Path(output_dir) / folder / one["loss"],
        result.first_losses,
        parameters=one,
        metrics={"test": at_argmax, "test_tuned": tuned, "majority": _majority},
        history=result.history,
        measured=result.measured,
    )


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
_ways = ("argmax", "tuned")
for _name, _result in trained.items():
    _scores = (tagging.score(gold["test"], said[_name, how]) for how in _ways)
    _keep("", asdict(experiment.only(_name)), _result, *_scores)
for _name, _result in readers.items():
    _one = asdict(replace(experiment, **smaller).only(_name))
    _one |= {"epochs": reader_epochs, "language": language}
    _keep("reader", _one, _result, *(reader_table[_name, how] for how in _ways))
print(", ".join(f"{name} {version}" for name, version in runs.versions().items()))
