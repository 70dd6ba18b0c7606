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
# # 13 Accuracy-oriented tasks
#
# So far the score was F1, and a dice loss is made for F1. But what if your classes are about equally frequent, and
# your score is accuracy, as in most work on sentiment? The paper tries this, too, and concludes that its losses
# should not be used there. Does the warning hold, and how large is the harm?
#
# On real text we find that the warning holds, and that the harm is small. With two classes we cannot distinguish a
# dice loss over both of them from cross entropy: the intervals exclude a difference larger than 0.6 points. With
# five classes a dice loss costs nearly a point.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers whose classes are balanced, or whose score is accuracy, and who wonder whether a
#   dice loss would do harm.
# - **You need** [chapter 11](11_paraphrases.ipynb).
# - **You will be able to** say where accuracy and F1 need different decisions, and how large the difference can be. You
#   will also know what a dice loss costs on two real corpora, and how many test sentences a tenth of a point is.
# - **Time** one to two minutes on a CPU with the parameters as printed. A loss on SST-2 takes ten minutes on a GPU.
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
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from dicebook import TrainerLoss
from dicelab import corpora, figures, real_runs
from dicelab.records import paper, runs, searched
from dicelab.tables import minus, signed
from dicelab.tasks import pairs
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment, ParameterError
from dicelab.training.sampling import sample
from dicelab.training.trainer import build_loss, train

figures.use_style()


# %% tags=["remove-cell"]
def name_of(r):
    """A loss of the records in a word or three."""
    name = runs.LOSS_WORDS[r["parameters"]["loss"]]
    of = r["parameters"]["options"].get("classes")
    return name + (", positives alone" if of == "positive" else "")


def over_seeds():
    """Of SST-2 and SST-5 what the kept seeds say of each loss."""
    over = {}
    for c, title in (("sst2", "SST-2"), ("sst5", "SST-5")):
        kept = [r for r in runs.kept_records("accuracy") if r["parameters"]["corpus"] == c]
        words = {runs.loss_label(r): name_of(r) for r in kept}
        found = runs.over_seeds(kept, metric="accuracy")
        over[title] = {words[label]: one for label, one in found.items()}
    return over


# %% mystnb={"code_prompt_show": "Code of Figure 13.1", "figure": {"caption": "Figure 13.1. Accuracy minus that of cross entropy with the same seed, in points: ten seeds, the mean and its 95% interval.", "name": "fig-13-1"}, "image": {"alt": "Two panels. SST-2: four rows around zero, the intervals of focal loss, dice and self-adjusting dice within half a point of it, that of dice of the positives alone from 1.1 below zero to 0.1 above. SST-5: focal loss around zero; dice and self-adjusting dice wholly left of zero, at 0.8 and 0.9 below it."}} tags=["hide-input"]
def draw_accuracy():
    _, axes = plt.subplots(2, 1, figsize=(5.6, 4.2), sharex=True)
    for ax, (title, found) in zip(axes, over_seeds().items(), strict=True):
        base = found["cross entropy"].scores
        differences = {
            name: [one.scores[seed] - base[seed] for seed in base]
            for name, one in found.items()
            if name != "cross entropy"
        }
        x = "accuracy minus that of cross entropy, points" if ax is axes[1] else ""
        figures.scores(differences, xlabel=x, ax=ax)
        ax.axvline(0, color="#7F7F7F", linewidth=1)
        ax.set_title(title)
    plt.show()


draw_accuracy()


# %% [markdown]
# Section 13.4 explains this figure. Before that, we look at one model, and then at the reason why accuracy and F1 may
# need different losses.

# %% [markdown]
# (a-model-of-sentiment)=
# ## A model that works
#
# What does a classifier of this chapter get right, and what wrong? We gave the cells of sections 13.1 and 13.3 a real
# corpus and a pretrained encoder. The corpus is SST-2, sentences of film reviews {cite}`socher2013sst`. The encoder
# is MiniLM, and all of its six layers are trained. (With the parameters that are printed in section 13.1, the same
# cells train in a minute on made-up sentences.) The result of the run is kept as a record, without the text of the
# corpus. Everything in this section is drawn from that record. `make real CHAPTER=13` runs it again. The time below
# was taken on a CPU core that was busy with other work, so your run will need less.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def real_run():
    """What the run on a real corpus left."""
    return runs.kept_page("13_accuracy_tasks")


def print_counts(page):
    data = page["data"]
    print(
        f"{data['train']:,} training sentences, {data['by class']['1']:,} of them positive;",
        f"{data['test']:,} test sentences",
    )


print_counts(real_run())
real_runs.describe(real_run(), "ce")

# %% mystnb={"code_prompt_show": "Code of Figure 13.2", "figure": {"caption": "Figure 13.2. SST-2, the real run: accuracy on the validation sentences after each pass.", "name": "fig-13-real"}, "image": {"alt": "Two curves over three passes that lie close together. Both rise from 82 to 88 at the second pass and are level at the third."}} tags=["hide-input"]
real_runs.learning_curves(real_run(), "accuracy", label="accuracy, %")

# %% [markdown]
# These are the scores on the test sentences, with a 95% interval from draws of these sentences:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
real_runs.score_table(
    real_run(),
    {"accuracy": "accuracy", "f1": "F1"},
    {"majority": "the larger class for all", "bag of words": "bag of words"},
    interval_of="accuracy",
)

# %% [markdown]
# The bag of words is a linear model on the words and word pairs of a sentence. It trains in a second and already
# has an accuracy of 81.4. MiniLM with cross entropy has 88.3, seven points more. Dice over both classes is 0.4
# points lower, which is eight sentences of 1,821. This is one seed of each, and the intervals overlap, so we cannot
# tell which is better. [Figure 13.1](fig-13-1) compares the losses with ten seeds.
#
# Which sentences does the model get wrong? A bag of words can learn that *good* is praise and that *not good* is
# not, but it cannot learn what *not* does to a word further on. So we count errors among the sentences that have
# *not*, *never*, *but* or another such word, and among the others:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
pd.DataFrame(real_run()["errors"]).T


# %% [markdown]
# Sentences with such a word are harder for both. The model makes a third fewer errors than the bag of words on
# them, and 38% fewer on the others. Its gain is no larger where such a word occurs, so we see no sign that it has
# learned negation in particular.
#
# Twelve sentences of our own show the same. Most of them need more than a sum of good and bad words:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
def own_sentences(page):
    says = {True: "praise", False: "blame"}
    rows = [
        {
            "sentence": row["text"],
            "we meant": says[bool(row["gold"])],
            "model": f"{says[row['p'] > 0.5]} ({row['p']:.2f})",
            "": "✓" if (row["p"] > 0.5) == row["gold"] else "",
        }
        for row in page["own"]
    ]
    return pd.DataFrame(rows).style.hide(axis="index")


own_sentences(real_run())

# %% [markdown]
# The model gets half of them right. *Not a single dull minute* is blame for this model, perhaps because of *dull*,
# and *beautiful pictures of people I could not care about* is praise. Note how sure it is: in each of its six
# errors, the wrong class has a probability above 0.85. An accuracy of 88% on the test set does not tell you this.
#
# To try a sentence of your own, type `dicebook try 13 "..."`. A smaller model, a linear one on the frozen MiniLM,
# answers in seconds.
#
# ## The mechanics
#
# When can a loss made for F1 hurt your accuracy at all? In this part we first answer that with a calculation, and then
# train a small model, step by step.
#
# ### 13.1 The parameters
#
# The next cell holds everything that you can change, as in [section 8.1](08_part_of_speech.ipynb). For example, this
# command takes a real corpus and a real encoder:
#
# ```bash
# papermill notebooks/13_accuracy_tasks.ipynb out.ipynb -p corpus sst2 \
#     -p encoder bert-base-cased -p loss ce,dl,dsc -p learning_rate 2e-5 \
#     -p epochs 3 -p output_dir runs/sst2
# ```

# %% tags=["parameters"]
corpus: str = "embedded-sentiment-en"  # registered name, or your file
encoder: str = "tiny"  # or "minilm", a folder, a hub model
loss: str = "ce,dl,dsc"  # of ce, wce, fl, dl, tl, dsc, MODULE:NAME
loss_options: dict = {"dsc": {"squared": True}}  # options by loss
start: str = "prior"  # the output bias starts at the log prior; or "zero"
seed: int = 0  # the first; of weights, order, dropout
epochs: int = 3  # passes over the training sentences
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # sentences in a step
learning_rate: float = 5e-4  # the peak; pretrained: 2e-5 to 2e-4
max_length: int = 64  # sub-words in a sentence; what is longer is cut
train_size: int = 0  # training sentences; 0 for all
eval_size: int = 0  # scored sentences of a split; 0 for all
device: str = "auto"  # "auto", "cpu" or "cuda"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing
seeds: int = 1  # how many seeds, from `seed` on
choose_by: str = "accuracy"  # keeps a pass; or "f1", "f1_tuned"

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
experiment = Experiment.from_namespace(globals(), also=["seeds", "choose_by"])
if not isinstance(seeds, int) or seeds < 1:
    raise ParameterError(f"parameter 'seeds': expected 1 or more, got {seeds!r}")
if choose_by not in ("accuracy", "f1", "f1_tuned"):
    expected = "accuracy, f1 or f1_tuned"
    raise ParameterError(f"parameter 'choose_by': expected {expected}, got {choose_by!r}")
print(f"{len(experiment.losses)} losses, {seeds} seeds, on {experiment.corpus}")

# %% [markdown]
# ### 13.2 Where accuracy and F1 want different decisions
#
# Suppose that you can trust a model's probabilities: of the sentences with $p = 0.7$, seven in ten are positive. At
# which threshold should you say yes? For accuracy the best threshold is always one half, because above it a yes is
# more often right than wrong. For F1 it is half of the best F1 that can be reached {cite}`lipton2014thresholding`. No
# F1 is higher than one, so this threshold is one half at most, and usually it is lower.
#
# How much do the two differ? Let us take calibrated probabilities, drawn from a Beta distribution with 40% positives,
# and compute the expected scores at every threshold.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
p = np.sort(stats.beta(0.8, 1.2).ppf((np.arange(20_000) + 0.5) / 20_000))[::-1]
share = p.mean()
tp = np.cumsum(p)  # expected true positives if the first k are called positive
k = np.arange(1, len(p) + 1)
positives = p.sum()
f1 = 2 * tp / (k + positives)
accuracy = (tp + (len(p) - k) - (positives - tp)) / len(p)
f1_of_negatives = 2 * (len(p) - k - (positives - tp)) / (len(p) - k + len(p) - positives)
macro = (f1 + f1_of_negatives) / 2
scores = {"accuracy": accuracy, "F1": f1, "macro F1": macro}

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input", "nbval-check-output"]
for name, values in scores.items():
    print(f"{name:9} best {values.max():.3f} at the threshold {p[values.argmax()]:.3f}")
print(f"half of the best F1: {f1.max() / 2:.3f}")
print(f"accuracy at the threshold of F1: {accuracy[f1.argmax()]:.3f}")

# %% mystnb={"code_prompt_show": "Code of Figure 13.3", "figure": {"caption": "Figure 13.3. Expected scores of calibrated probabilities at every threshold. The dot on each curve is its best threshold."}, "image": {"alt": "Three curves over the threshold from 0 to 1. Accuracy is best, 0.76, at 0.5. F1 is best, 0.71, at 0.36 and falls steeply above 0.6. Macro F1 is best, 0.75, at 0.45 and close to accuracy up to there."}} tags=["hide-input"]
for name, values in scores.items():
    (line,) = plt.plot(p, values, label=name)
    plt.plot(p[values.argmax()], values.max(), "o", color=line.get_color())
plt.xlabel("threshold")
plt.ylabel("expected score")
plt.legend()
plt.show()

# %% [markdown]
# The best threshold for F1 lies well below one half, and that for accuracy at one half. So a model that decides for
# F1 gives away about two points of accuracy. Macro F1 is the mean of the F1 of both classes. Its best threshold
# lies between the other two, and its curve is close to that of accuracy around there.
#
# Which of these scores does a dice loss resemble? `DiceLoss` on two logits compares each class with the rest and
# averages, so it is a soft *macro* F1. Therefore it has little reason to hurt accuracy. Only `BinaryDiceLoss`, or
# `classes=[1]`, is a soft F1 of the positives. Section 13.4 will show whether this holds on real text.

# %% [markdown]
# ### 13.3 Training for accuracy
#
# So that you can train in a minute, the sentences here are made up. Therefore this section shows you how things work,
# but it cannot tell you which loss is best. No sentence of validation or test occurs in the training sentences.

# %% tags=["nbval-check-output"]
whole = corpora.load(experiment.corpus, task="sentences")
sentences = sample(whole, experiment)
gold = np.array(sentences["test"]["label"])
classes, sizes = np.unique(sentences["train"]["label"], return_counts=True)
largest = np.full(len(gold), classes[sizes.argmax()])
majority = pairs.score(gold, largest)
by_class = dict(zip(classes.tolist(), sizes.tolist(), strict=True))
print(f"training sentences by class: {by_class}")

# %%
pd.DataFrame(sentences["train"].select(range(3)))

# %% [markdown]
# A model has to beat two baselines. The first gives all sentences the larger class. The second is the bag of words:
# it sees the words and pairs of neighbours, but no order beyond them.

# %%
bag_of_words = make_pipeline(
    TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
    LogisticRegression(C=10, max_iter=1000),
)
texts = sentences["train"]["sentence"]
bag_of_words.fit(texts, sentences["train"]["label"])
by_words = bag_of_words.predict(sentences["test"]["sentence"])
baselines = {
    "the larger class": majority,
    "bag of words": pairs.score(gold, by_words),
}
pd.DataFrame(baselines).T.round(1)

# %% [markdown]
# The model is the classifier of [chapter 11](11_paraphrases.ipynb), with one sentence in the place of two. We keep
# the pass with the best *accuracy* on the validation sentences. Be careful with that rule if one of your classes is
# rare: the most accurate pass may be a pass after which the model never finds this class. In this case,
# `-p choose_by f1_tuned` keeps the pass with the best tuned F1 of class 1 instead.

# %%
tokenizer = load_tokenizer(encoder, texts, max_length=max_length)
encoded = pairs.encode(sentences, tokenizer, max_length=max_length)


def tuned(logits):
    """The threshold with the best F1 on validation, for two classes."""
    truth = encoded.splits["validation"]["label"]
    two = logits.shape[-1] == 2
    return pairs.tune_threshold(logits, truth) if two else None


def evaluate(logits, split):
    """Scores of a split's logits; of two classes also tuned F1."""
    scores = pairs.score(split["label"], pairs.decode(logits))
    threshold = tuned(logits)
    if threshold is not None:
        decided = pairs.decode(logits, threshold=threshold)
        scores["f1_tuned"] = pairs.score(split["label"], decided)["f1"]
    return scores


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
if choose_by == "f1_tuned" and len(encoded.labels) != 2:
    raise ParameterError(
        f"parameter 'choose_by': f1_tuned needs two classes, got {len(encoded.labels)}"
    )

# %%
counts = encoded.counts()


def fit(one):
    """Train with one loss and one seed, from the log prior."""
    return train(
        one,
        build_model=lambda: pairs.model(encoder, tokenizer, encoded.labels),
        counts=counts,
        splits=encoded.splits,
        collator=pairs.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build_loss(one, one.loss, counts)),
        evaluate=evaluate,
        best=choose_by,
    )


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def scored(result):
    """Test scores; of two classes also those of validation and test at the tuned threshold."""
    found = {"test": pairs.score(gold, pairs.decode(result.logits["test"]))}
    threshold = tuned(result.logits["validation"])
    if threshold is not None:
        found["test"]["threshold"] = 0.0
    for split in ("validation", "test") if threshold is not None else ():
        decided = pairs.decode(result.logits[split], threshold=threshold)
        found[f"{split}_tuned"] = pairs.score(encoded.splits[split]["label"], decided)
        found[f"{split}_tuned"]["threshold"] = threshold
    return found


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
trained, results = {}, {}
for name in experiment.losses:
    for number in range(experiment.seed, experiment.seed + seeds):
        several = f"/seed-{number}" if seeds > 1 else ""
        folder = experiment.output_dir and experiment.output_dir + several
        one = replace(experiment.only(name), seed=number, output_dir=folder)
        print(name, "seed", number)
        trained[name, number] = one, fit(one)
        results[name, number] = scored(trained[name, number][1])

# %%
table = {
    (f"{name}, seed {n}", split): scores
    for (name, n), splits in results.items()
    for split, scores in splits.items()
}
signed(pd.DataFrame(table).T)

# %% [markdown]
# The rows `test` decide at argmax. The rows `validation_tuned` and `test_tuned` use the threshold with the best F1
# on validation, and their accuracy is lower, as section 13.2 predicts.
#
# Which sentences does the first model get wrong? Here we repeat the count from the top of the chapter. Some
# sentences have a word that reverses the rest or contrasts with it, for example *not* or *but*. We count the errors
# of the model and of the bag of words on them, and on the others:

# %%
first = experiment.losses[0]
said = pairs.decode(trained[first, seed][1].logits["test"])
turning = re.compile(r"\b(not|no|never|nor|nothing|but|yet|although)\b|n't")
lowered = [text.lower() for text in sentences["test"]["sentence"]]
turns = np.array([bool(turning.search(text)) for text in lowered])
errors = {
    title: {
        "sentences": int(rows.sum()),
        "errors of the model": int((said != gold)[rows].sum()),
        "errors of the bag of words": int((by_words != gold)[rows].sum()),
    }
    for title, rows in (("with such a word", turns), ("without", ~turns))
}
pd.DataFrame(errors).T


# %% [markdown]
# #### Sentences of your own
#
# What does the model say about a sentence that you wrote yourself?

# %%
def probability(text, name):
    """The probability of each class for a sentence."""
    model = trained[name, seed][1].model.eval()
    coded = tokenizer(text, truncation=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(**coded.to(model.device)).logits[0]
    return special.softmax(logits.float().cpu().numpy())


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
OWN_SENTENCES = """
1 | a quiet film that stays with you for days
0 | two hours that feel like four
1 | i expected nothing and left the cinema beaming
0 | the cast is wonderful , the script is not
1 | not a single dull minute
0 | it is never funny and never sad , only loud
1 | clumsy here and there , but what a heart
0 | beautiful pictures of people i could not care about
1 | my grandmother and my teenage son both loved it
0 | somebody should have told the director when to stop
1 | you will not see a braver debut this year
0 | it might have been good , had anyone wanted it to be
"""

# %%
own = []
for line in OWN_SENTENCES.strip().splitlines():
    label, text = line.split(" | ")
    p = probability(text, first)
    praise = p[(len(p) + 1) // 2 :].sum()  # the classes above the middle
    own.append({"text": text, "gold": int(label), "p": float(praise)})
agreed = sum((row["p"] > 0.5) == row["gold"] for row in own)
print(f"{agreed} of {len(own)} are right")

# %% [markdown]
# With the parameters as printed, the model was trained on made-up sentences and has met few of these words. You find
# what the model of the real run makes of them at the [top of the chapter](a-model-of-sentiment).
#
# #### The pull of a loss
#
# A score does not show you how a loss treats a single sentence. We can see that without training. Take one sentence
# and the logit of its right label. We call minus the gradient with respect to this logit the *pull* of the loss:
# how hard it moves the sentence towards the right label. To compare the losses, we draw each pull as a share of its
# largest value.

# %% mystnb={"code_prompt_show": "Code of Figure 13.4", "figure": {"caption": "Figure 13.4. The pull of each loss towards the right label, as a share of its largest, with two classes of equal size."}, "image": {"alt": "Pull against the probability of the right label. Cross entropy falls on a line from 1 at 0 to 0 at 1. Dice loss is a hill from 0 over 1 at 0.4 to 0. Self-adjusting dice is the same hill, but it begins at 0.06 below zero and ends at 0.18 below it."}} tags=["hide-input"]
margin = torch.linspace(-7, 7, 701)
both = torch.stack([-margin, margin], dim=-1) / 2
for name in experiment.losses:
    x = torch.cat([both, both.flip(-1)]).requires_grad_()
    y = torch.cat([torch.ones(701), torch.zeros(701)]).long()
    build_loss(experiment.only(name), name, encoded.counts())(x, y).backward()
    pull = -x.grad[:701, 1]
    plt.plot(torch.sigmoid(margin), pull / pull.max(), label=name, **figures.style(name))
plt.xlabel("probability of the right label")
plt.ylabel("pull, as a share of the largest")
plt.legend()
plt.show()

# %% [markdown]
# Cross entropy pulls hardest where the model is sure and wrong. A dice loss pulls hardest where the right label has
# a probability near 0.4. Where the model is sure, a dice loss hardly pulls at all, whether the model is wrong or
# right. In other words, it gives up the sentences on which the model is sure and wrong. The pull of self-adjusting
# dice is even negative at both ends, beyond the turning point of [chapter 06](06_self_adjusting_dice.ipynb). Does
# this matter for real sentences?

# %% [markdown]
# ## On real text
#
# What follows is drawn from the paper's table and from records in `dicelab/records/data`.
#
# ### 13.4 SST-2 and SST-5 as they come
#
# The Stanford Sentiment Treebank {cite}`socher2013sst` has sentences of film reviews with five degrees of judgement. In
# SST-2 the task is to say good or bad, in SST-5 to name the degree. The two classes of SST-2 are nearly balanced. Those
# of SST-5 are not: the largest has about twice as many sentences as the smallest.
#
# We train only a small head with one hidden layer on top of a frozen encoder. Each loss has
# a learning rate and a number of steps of its own, chosen by *accuracy* on validation, and each of ten seeds draws
# its own training sentences. Dice and self-adjusting dice have squared denominators and average over all classes.
# On SST-2 we add dice of the positive class alone. The table has 95% intervals in brackets, and in the column *p*
# the p-value of a permutation test of the differences. [Figure 13.1](fig-13-1) shows the differences.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
over = over_seeds()
rows = {}
for title, found in over.items():
    for name, one in found.items():
        rows[title, name] = {
            "accuracy": str(one.mean),
            "minus cross entropy": minus(str(one.gain or "")),
            "p": f"{one.p_value:.3f}" if one.gain else "",
        }
pd.DataFrame(rows).T

# %% [markdown]
# We expect little harm on SST-2, where two classes are nearly balanced, and that is what we see. We cannot
# distinguish dice over both classes and self-adjusting dice from cross entropy: their intervals exclude a
# difference larger than 0.6 points. Dice of the positives alone is half a point lower, and its interval just
# includes zero. The means have the order that section 13.2 predicts.
#
# On SST-5 the result is different. Dice and self-adjusting dice are lower than cross entropy, by 0.8 and 0.9
# points, and both intervals exclude zero. Of the ten seeds nine or ten show it, for either loss. Focal loss is
# level.
#
# Why do the dice losses lose here? Two reasons are possible. First, a dice loss averaged over the classes is a soft
# macro F1, which gives a small class as much weight as a large one, while accuracy does not. Second, a dice loss
# hardly moves the sentences on which the model is sure and wrong, as Figure 13.4 shows. Our records have accuracy
# alone and no macro F1, so they cannot say which reason it is. What follows for you? If accuracy is your score,
# cross entropy is the safe choice.

# %% [markdown]
# ### 13.5 The same sentences with rare positives
#
# Accuracy is the usual score where classes are balanced. What does it tell you where they are not? The controlled study
# ([chapter 17](17_when_does_dice_help.ipynb)) removes positives of SST-2 from training until 30%, 10% or 2% of the sentences
# are positive, and tests with 10%. Its models were *chosen by F1*.
#
# The table has their F1 and their accuracy at argmax. It compares cross entropy from the log prior, class weights,
# and dice from both starts.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
study = searched.read_tasks()
levels = ("sst2_30", "sst2_10", "sst2_02")
rare = {}
for level in levels:
    size = next(r["sizes"]["test"] for r in study[level] if r["kind"] == "task")
    n, row = size["rows"], rare.setdefault(level, {})
    row["accuracy, always no"] = 100 * (1 - size["positive"] / n)
    for arm, name in searched.ARM_NAMES.items():
        finals = searched.finals_of(study[level], arm, "argmax")
        tests = [r["test"]["argmax"] for r in finals]
        wrong = [t["predicted"] + t["gold"] - 2 * t["found"] for t in tests]
        row[f"accuracy, {name}"] = 100 * (1 - np.mean(wrong) / n)
        row[f"F1, {name}"] = np.mean([t["f1"] for t in tests])
by_level = pd.DataFrame(rare).rename(columns=lambda level: f"{int(level[-2:])}% positives")
by_level.sort_index(key=lambda names: names.str[0], kind="stable").round(1)

# %% [markdown]
# "Always no" has an accuracy of 90.0 and an F1 of 0. Take the column with the fewest positives in training. All four
# models have nearly the same accuracy, about one point above "always no". Their F1, however, is not alike at all:
# that of class weights is twenty points higher than that of cross entropy. In accuracy every model of the table is
# within three points of "always no". What follows for you? With rare positives accuracy barely reacts to errors on
# them, so do not compare models by it.

# %% [markdown]
# ### 13.6 The paper's Table 9, in sentences
#
# Now you can read the paper's own table. It prints accuracies in percent. We add how uncertain each of them is, and
# how many sentences fewer than with cross entropy are right:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input", "nbval-check-output"]
sizes = {"sst2": 1821, "sst5": 2210}
rows = []
for row in paper.table(9).rows:
    n, a = sizes[row.corpus], row.value("accuracy") / 100
    half = 100 * 1.96 * np.sqrt(a * (1 - a) / n)
    ce = next(r for r in paper.table(9).rows if (r.corpus, r.loss) == (row.corpus, "ce"))
    fewer = round(n * (ce.value("accuracy") - row.value("accuracy")) / 100)
    loss_name = runs.LOSS_WORDS[row.loss]
    rows.append([row.corpus_title, loss_name, row.printed["accuracy"], f"{half:.1f}", fewer])
columns = ["corpus", "loss", "accuracy", "half of its 95% interval"]
pd.DataFrame(rows, columns=[*columns, "fewer right than cross entropy"])

# %% [markdown]
# How many sentences do these differences come to? The last column counts them. On SST-2 dice loss gets ten sentences
# fewer right than cross entropy, and self-adjusting dice one. On SST-5 it is twenty-one and eight. Each test set has
# about two thousand sentences. With so many, an accuracy is uncertain by one point to each side on SST-2 and by two
# on SST-5. So the table by itself shows no difference, although on SST-5 its signs are those of our records above.

# %% [markdown]
# ### 13.7 The same comparison with all layers trained
#
# Our encoder is frozen. Its accuracy is 83% on SST-2 and 44% on SST-5. The paper's encoders have 95% and 56%. Perhaps
# the losses come closer to one another if the model gets fewer sentences wrong. If you have a GPU, you can find out
# by training all layers: `make reproduce TABLE=9 PROFILE=paper`. [The paper's
# tables](../docs/tables.md) says how many hours that takes.

# %% [markdown]
# ## Summary
#
# - With calibrated probabilities, the best threshold for accuracy is one half. For F1 it is half of the best F1,
#   which is usually lower.
# - A dice loss averaged over both classes is a soft macro F1, and the best decisions for that are nearly those for
#   accuracy.
# - On *real* text, with ten seeds, we cannot distinguish dice losses over both classes from cross entropy on SST-2:
#   the intervals exclude a difference larger than 0.6 points. On the five classes of SST-5 the dice losses cost 0.8
#   and 0.9 points.
# - With rare positives, models of the same accuracy have very different F1.
# - In the paper's Table 9 the losses differ by one to twenty-one sentences, which is within the uncertainty of its
#   test sets.

# %% [markdown]
# ## Exercises
#
# **1.** With balanced classes and a perfect model, which threshold is the best for F1, and which for accuracy?

# %% mystnb={"code_prompt_show": "Solution 13.1"} tags=["solution", "hide-cell"]
print("Any threshold between 0 and 1: both are perfect. Half of the best F1 is one half.")

# %% [markdown]
# **2.** Make the positives rare (a share of 5%) in section 13.2. How far apart are the two
# thresholds now, and what does the threshold of F1 cost in accuracy?

# %% mystnb={"code_prompt_show": "Solution 13.2"} tags=["solution", "hide-cell"]
q = np.sort(stats.beta(0.1, 1.9).ppf((np.arange(20_000) + 0.5) / 20_000))[::-1]
hits, called = np.cumsum(q), np.arange(1, len(q) + 1)
rare_f1 = 2 * hits / (called + q.sum())
rare_accuracy = (hits + (len(q) - called) - (q.sum() - hits)) / len(q)
at = rare_f1.argmax()
print(f"F1 is best at {q[at]:.2f}, with accuracy {rare_accuracy[at]:.4f}")
print(f"the best accuracy is {rare_accuracy.max():.4f}")

# %% [markdown]
# **3.** How many test sentences do you need to distinguish 94.9% from 94.84% with two independent test
# sets, at 5% significance and a power of 80%?

# %% mystnb={"code_prompt_show": "Solution 13.3"} tags=["solution", "hide-cell"]
a, b = 0.9490, 0.9484
z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
needed = z**2 * (a * (1 - a) + b * (1 - b)) / (a - b) ** 2
print(f"about {needed / 1e6:.1f} million sentences each")

# %% [markdown]
# **4.** Show that `DiceLoss` on two logits is the mean of two binary dice losses, one for each
# class.

# %% mystnb={"code_prompt_show": "Solution 13.4"} tags=["solution", "hide-cell"]
from dicebook import BinaryDiceLoss, DiceLoss

x, y = torch.randn(50, 2), torch.randint(0, 2, (50,))
margin = x[:, 1] - x[:, 0]
halves = [BinaryDiceLoss()(margin, y), BinaryDiceLoss()(-margin, 1 - y)]
torch.testing.assert_close(DiceLoss()(x, y), sum(halves) / 2)
print(f"both {DiceLoss()(x, y).item():.3f}")

# %% [markdown]
# **5.** Do two losses with the same accuracy make the same errors? Count the test sentences on
# which the first and the last loss disagree, with the first seed.

# %% mystnb={"code_prompt_show": "Solution 13.5"} tags=["solution", "hide-cell"]
one, two = (
    pairs.decode(trained[name, experiment.seed][1].logits["test"])
    for name in (experiment.losses[0], experiment.losses[-1])
)
print(f"they disagree on {(one != two).sum()} of {len(gold)} sentences")

# %% tags=["remove-cell"]
# The record of each training, a file each, if `output_dir` is set.
for (name, number), (one, result) in trained.items():
    record = runs.make_record(
        chapter="13_accuracy_tasks",
        parameters=asdict(one),
        metrics={**results[name, number], "majority": majority},
        history=result.history,
        measured=result.measured,
    )
    if one.output_dir:
        runs.write_record(Path(one.output_dir) / name, record)
    print(f"{name}, seed {number}: accuracy {record['metrics']['test']['accuracy']:.1f}")

# %% tags=["remove-cell"]
answers = {"majority": largest, "bag of words": by_words}
answers |= {
    name: pairs.decode(trained[name, experiment.seed][1].logits["test"])
    for name in experiment.losses
}
page = real_runs.keep(
    experiment,
    data={
        **{split: len(rows) for split, rows in sentences.items()},
        "by class": {str(label): n for label, n in by_class.items()},
    },
    results={name: trained[name, experiment.seed][1] for name in experiment.losses},
    scores=[
        {
            "model": name,
            "decision": "argmax" if name in experiment.losses else "",
            **pairs.score(gold, guess),
            "interval": real_runs.resampled(
                (guess == gold)[:, None], lambda right: 100 * right[:, 0] / len(gold)
            ),
        }
        for name, guess in answers.items()
    ],
    errors=errors,
    own=own,
)
