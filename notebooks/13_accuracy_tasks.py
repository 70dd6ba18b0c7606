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
# On real text, with a frozen MiniLM, a head with one hidden layer whose bias starts near 0, and ten seeds, we find that the warning holds, and
# that the harm is small. With the two classes of SST-2 we cannot distinguish a dice loss over both of them from cross
# entropy: the intervals exclude a difference larger than 0.6 points. With the five classes of SST-5 a dice loss costs
# nearly a point.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers whose classes are balanced, or whose score is accuracy, and who wonder whether a
#   dice loss would do harm.
# - **You need** [chapter 11](11_paraphrases.ipynb).
# - **You will be able to** say where accuracy and F1 need different decisions, and how large the difference can be. You
#   will also know what a dice loss costs on two real corpora, and how many test sentences a tenth of a point is.
# - **Time** about twenty minutes on a CPU core for the run of this page, a minute or two on a GPU. Without the corpus,
#   the same cells run in a minute on a small one.
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
# ## 13.1 The parameters
#
# The next cell holds everything that you can change, as in [section 8.1](08_part_of_speech.ipynb). The corpus is
# SST-2, sentences of film reviews {cite}`socher2013sst`. You can also set the parameters from the command line:
#
# ```bash
# dicebook data sst2 --out data     # fetch the corpus; sst5 has five classes
# papermill --log-output notebooks/13_accuracy_tasks.ipynb out.ipynb \
#     -p loss ce,dl,dsc -p output_dir runs/13
# ```

# %% tags=["parameters"]
corpus: str = "sst2"  # registered name, or your file
encoder: str = "minilm"  # or "tiny", a folder, a hub model
loss: str = "ce,dl"  # of ce, wce, fl, dl, tl, dsc, MODULE:NAME
loss_options: dict = {}  # such as {"dsc": {"squared": True}}
start: str = "prior"  # the output bias starts there; or at "zero"
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 3  # passes over the training sentences
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # sentences in a step
learning_rate: float = 5e-5  # the peak of its schedule
max_length: int = 64  # sub-words in a sentence; what is longer is cut
train_size: int = 0  # training sentences; 0 for all
eval_size: int = 0  # scored sentences of a split; 0 for all
device: str = "auto"  # "auto", "cpu", "cuda" or "mps"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing

# %%
from dicelab import chapters

experiment = chapters.experiment("13_accuracy_tasks", globals())
print(f"{experiment.corpus}, {experiment.encoder}")

# %% [markdown]
# ## 13.2 Where accuracy and F1 want different decisions
#
# Suppose that you can trust a model's probabilities: of the sentences with $p = 0.7$, seven in ten are positive. At
# which threshold should you say yes? For accuracy the best threshold is always one half, because above it a yes is
# more often right than wrong. For F1 it is half of the best F1 that can be reached {cite}`lipton2014thresholding`. No
# F1 is higher than one, so this threshold is one half at most, and usually it is lower.
#
# How much do the two differ? Let us take calibrated probabilities, drawn from a Beta distribution with 40% positives,
# and compute the expected scores if we call the $k$ most probable sentences positive, for every $k$.

# %%
import numpy as np
from scipy import stats


def expected(a, b, n=20_000):
    """Expected scores at every threshold, of p from Beta(a, b)."""
    p = np.sort(stats.beta(a, b).ppf((np.arange(n) + 0.5) / n))[::-1]
    k, positives = np.arange(1, n + 1), p.sum()
    tp = np.cumsum(p)  # true positives among the first k
    tn = (n - k) - (positives - tp)
    f1 = 2 * tp / (k + positives)
    of_negatives = 2 * tn / ((n - k) + (n - positives))
    macro = (f1 + of_negatives) / 2
    scores = {"accuracy": (tp + tn) / n, "F1": f1, "macro F1": macro}
    return p, scores


# %% tags=["nbval-check-output"]
p, curves = expected(0.8, 1.2)
for name, values in curves.items():
    at = values.argmax()
    print(f"{name:9} best {values[at]:.3f} at the threshold {p[at]:.3f}")
best_f1 = curves["F1"].argmax()
there = curves["accuracy"][best_f1]
print(f"half of the best F1: {curves['F1'].max() / 2:.3f}")
print(f"accuracy at the threshold of F1: {there:.3f}")

# %% mystnb={"code_prompt_show": "Code of Figure 13.1", "figure": {"caption": "Figure 13.1. F1 wants a lower threshold than accuracy, and macro F1 is between them. Expected scores of calibrated probabilities (40% positives) at every threshold. The dot on each curve is its best threshold."}, "image": {"alt": "Three curves over the threshold from 0 to 1. Accuracy is best, 0.76, at 0.5. F1 is best, 0.71, at 0.36 and falls steeply above 0.6. Macro F1 is best, 0.75, at 0.45 and close to accuracy up to there."}} tags=["hide-input"]
import matplotlib.pyplot as plt

_, ax = plt.subplots(figsize=(5.0, 3.0))
for _name, _values in curves.items():
    (_line,) = ax.plot(p, _values, label=_name)
    ax.plot(p[_values.argmax()], _values.max(), "o", color=_line.get_color())
ax.set(xlabel="threshold", ylabel="expected score")
ax.legend()
plt.show()

# %% [markdown]
# The best threshold for F1 lies well below one half, and that for accuracy at one half. So a model that decides for
# F1 gives away about two points of accuracy. Macro F1 is the mean of the F1 of both classes. Its best threshold
# lies between the other two, and its curve is close to that of accuracy around there.
#
# Which of these scores does a dice loss resemble? `DiceLoss` on two logits compares each class with the rest and
# averages, so it is a soft *macro* F1 (exercise 4). Therefore it has little reason to hurt accuracy. Only
# `BinaryDiceLoss`, or `classes=[1]`, is a soft F1 of the positives. Does this hold on real text?
#
# ## 13.3 Sentences and labels
#
# An example is a sentence with a label, 1 for praise and 0 for blame. We may not print sentences of the corpus here,
# so these are ours:

# %%
import pandas as pd

ours = [
    ("a quiet film that stays with you for days", 1),
    ("two hours that feel like four", 0),
]
pd.DataFrame(ours, columns=["sentence", "label"])

# %%
from dicelab import corpora
from dicelab.training.sampling import sample

rows = sample(corpora.load(experiment.corpus, task="sentences"), experiment)
for name, split in rows.items():
    by_class = np.bincount(split["label"]).tolist()
    print(f"{name}: {len(split):,} sentences, by class {by_class}")

# %% [markdown]
# ## 13.4 What simple rules reach
#
# A model has to beat two baselines. The first gives all sentences the larger class of training. The second is the bag
# of words: it sees the words and pairs of neighbours, but no order beyond them.

# %%
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from dicelab.tasks import pairs

gold = np.array(rows["test"]["label"])
labels = np.array(rows["train"]["label"])
bag_of_words = make_pipeline(
    TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
    LogisticRegression(C=10, max_iter=1000),
)
bag_of_words.fit(rows["train"]["sentence"], labels)
said = {
    "larger class": np.full_like(gold, np.bincount(labels).argmax()),
    "bag of words": bag_of_words.predict(rows["test"]["sentence"]),
}
floors = {name: pairs.score(gold, says) for name, says in said.items()}
pd.DataFrame(floors).T.round(1)

# %% [markdown]
# The bag of words trains in a second and already has an accuracy of 81.4.
#
# ## 13.5 The model and its training
#
# The model and its training are those of [section 11.5](11_paraphrases.ipynb), with one sentence in the place of two.
# We keep the pass with the best *accuracy* on the validation sentences. Be careful with that rule if one of your
# classes is rare: the most accurate pass may be a pass after which the model never finds this class.

# %%
from dicebook import TrainerLoss
from dicelab.training.encoders import load_tokenizer
from dicelab.training.trainer import build_loss, train

tokenizer = load_tokenizer(
    experiment.encoder,
    rows["train"]["sentence"],
    max_length=experiment.max_length,
)
encoded = pairs.encode(rows, tokenizer, max_length=experiment.max_length)
splits, counts = encoded.splits, encoded.counts()


def new_model():
    """The encoder, and a new linear layer with a logit a class."""
    return pairs.model(experiment.encoder, tokenizer, encoded.labels)


def evaluate(logits, split):
    """Scores of a split's logits."""
    return pairs.score(split["label"], pairs.decode(logits))


# %%
def fit(name):
    """A model trained with one loss, kept at its best accuracy."""
    return train(
        experiment.only(name),
        build_model=new_model,
        counts=counts,
        splits=splits,
        collator=pairs.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build_loss(experiment, name, counts)),
        evaluate=evaluate,
        best="accuracy",
    )


first, last = experiment.losses[0], experiment.losses[-1]
trained = {first: fit(first)}

# %% [markdown]
# ## 13.6 Scores beside the floors, and two thresholds
#
# We decide at argmax, which is the threshold one half, and once more at the threshold with the best F1 on validation.
# The intervals of accuracy are those of the [bootstrap](bootstrap) over test sentences.

# %%
from dicelab.metrics.counts import Counts
from dicelab.metrics.goal import Goal
from dicelab.metrics.intervals import interval

n_classes = len(encoded.labels)
goal = Goal("accuracy", ())


def decide(name):
    """The decisions of a trained model on the test sentences."""
    logits = trained[name].logits
    said[f"{name}, argmax"] = pairs.decode(logits["test"])
    if n_classes == 2:
        truth = splits["validation"]["label"]
        t = pairs.tune_threshold(logits["validation"], truth)
        said[f"{name}, tuned"] = pairs.decode(logits["test"], threshold=t)


# %%
def score_table():
    """Accuracy with its interval, and F1, of all that was said."""
    table = {}
    for name, says in said.items():
        found = interval(Counts.of_classes(gold, says, n_classes), goal)
        f1 = pairs.score(gold, says)["f1"]
        table[name] = {"accuracy": str(found), "F1": f"{f1:.1f}"}
    return pd.DataFrame(table).T


# %%
decide(first)
score_table()

# %% [markdown]
# MiniLM with cross entropy has an accuracy of 88.3, seven points more than the bag of words. The
# threshold that is tuned for F1 costs 0.4 points of accuracy on these sentences, and it gains no F1 on them either.
#
# ## 13.7 Errors
#
# Which sentences does the model get wrong? A bag of words can learn that *good* is praise and that *not good* is
# not, but it cannot learn what *not* does to a word further on. So we count errors among the sentences that have
# *not*, *never*, *but* or another such word, and among the others:

# %%
import re

turning = re.compile(r"\b(not|no|never|nor|nothing|but|yet|although)\b|n't")
lowered = [text.lower() for text in rows["test"]["sentence"]]
turns = np.array([bool(turning.search(text)) for text in lowered])
errors = {}
for title, of in (("with such a word", turns), ("without", ~turns)):
    errors[title] = {"sentences": of.sum()}
    for name in ("bag of words", f"{first}, argmax"):
        errors[title][f"errors, {name}"] = (said[name] != gold)[of].sum()
errors = pd.DataFrame(errors).T
of_words = errors.iloc[:, 1].replace(0, np.nan)
errors["fewer, %"] = 100 * (1 - errors.iloc[:, 2] / of_words)
errors.round().astype("Int64")

# %% [markdown]
# Sentences with such a word are harder for both. The model makes a third fewer errors than the bag of words on
# them, and 38% fewer on the others. Its gain is no larger where such a word occurs, so we see no sign that it has
# learned negation in particular.
#
# ## 13.8 Sentences of your own
#
# What does the model say about a sentence that you wrote yourself? Here are twelve of ours. Most of them need more
# than a sum of good and bad words. Put yours in their place.

# %%
import torch

OWN = """
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
@torch.no_grad()
def praise(name, text):
    """The probability of the classes above the middle one."""
    model = trained[name].model.eval()
    coded = tokenizer(text, truncation=True, return_tensors="pt")
    logits = model(**coded.to(model.device)).logits[0].float()
    return float(logits.softmax(-1)[(n_classes + 1) // 2 :].sum())


n_right, lines = 0, OWN.strip().splitlines()
for line in lines:
    label, text = line.split(" | ")
    p_praise = praise(first, text)
    right = (p_praise > 0.5) == (label == "1")
    n_right += right
    word = "praise" if p_praise > 0.5 else "blame"
    print(f"{word:6} ({p_praise:.2f})", "" if right else "WRONG", text)
print(f"{n_right} of {len(lines)} are right")

# %% [markdown]
# The model gets half of them right. *Not a single dull minute* is blame for this model, perhaps because of *dull*,
# and *beautiful pictures of people I could not care about* is praise. Note how sure it is: in each of its
# errors, the wrong class has a probability above 0.85. An accuracy of 88% on the test set does not tell you this.
#
# To try a sentence of your own without training, type `dicebook try 13 "..."`. A smaller model, a linear one on the
# frozen MiniLM, answers in seconds.
#
# ## 13.9 The other loss
#
# Now we train the same model with dice loss over both classes. The start, the batches, their order and the learning
# rate are the same.

# %%
for name in experiment.losses[1:]:
    trained[name] = fit(name)
    decide(name)
score_table().iloc[2:]

# %%
from dicelab.metrics.intervals import difference

says = (said[f"{name}, argmax"] for name in (last, first))
two = ([Counts.of_classes(gold, of, n_classes)] for of in says)
gap = difference(*two, goal.plain)
print(f"{last} minus {first}, points of accuracy at argmax:")
print(f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]")

# %% [markdown]
# Dice is 0.4 points lower at argmax, which is eight sentences of 1,821. The interval includes 0, and this is one seed
# and one learning rate, so we cannot tell which loss is better.
#
# A score does not show you how a loss treats a single sentence. We can see that without training. Take one sentence
# and the logit of its right label. We call minus the gradient with respect to this logit the *pull* of the loss:
# how hard it moves the sentence towards the right label. To compare the losses, we draw each pull as a share of its
# largest value.

# %%
from dicebook import make_loss

margin = torch.linspace(-7, 7, 701)
both = torch.stack([-margin, margin], dim=-1) / 2
pulls = {}
for name, options in {"ce": {}, "dl": {}, "dsc": {"squared": True}}.items():
    z = torch.cat([both, both.flip(-1)]).requires_grad_()  # either label
    y = torch.arange(2).flip(0).repeat_interleave(701)
    make_loss(name, **options)(z, y).backward()
    pull = -z.grad[:701, 1]
    pulls[name] = pull / pull.max()

# %% mystnb={"code_prompt_show": "Code of Figure 13.2", "figure": {"caption": "Figure 13.2. A dice loss hardly pulls at a sentence on which the model is sure, right or wrong. The pull of each loss towards the right label, as a share of its largest, with two classes of equal size.", "name": "fig-13-pull"}, "image": {"alt": "Pull against the probability of the right label. Cross entropy falls on a line from 1 at 0 to 0 at 1. Dice loss is a hill from 0 over 1 at 0.4 to 0. Self-adjusting dice is the same hill, but it begins at 0.06 below zero and ends at 0.18 below it."}} tags=["hide-input"]
_, ax = plt.subplots(figsize=(5.0, 3.0))
for _name, _pull in pulls.items():
    ax.plot(torch.sigmoid(margin), _pull, label=_name, **figures.style(_name))
ax.set(xlabel="probability of the right label", ylabel="pull, as a share of the largest")
ax.legend(title="loss")
plt.show()

# %% [markdown]
# Cross entropy pulls hardest where the model is sure and wrong. A dice loss pulls hardest where the right label has
# a probability near 0.4. Where the model is sure, a dice loss hardly pulls at all, whether the model is wrong or
# right. In other words, it gives up the sentences on which the model is sure and wrong. The pull of self-adjusting
# dice is even negative at both ends, beyond the turning point of [chapter 06](06_self_adjusting_dice.ipynb). Does
# this matter for real sentences, over several seeds?
#
# ## 13.10 SST-2 and SST-5, with ten seeds
#
# What follows is drawn from records in `dicelab/records/data`. The Stanford Sentiment Treebank {cite}`socher2013sst`
# has sentences with five degrees of judgement. In SST-2 the task is to say good or bad, in SST-5 to name the degree.
# The two classes of SST-2 are nearly balanced. Those of SST-5 are not: the largest has about twice as many sentences
# as the smallest.
#
# We train only a small head with one hidden layer on top of a frozen MiniLM. Each loss has
# a learning rate and a number of steps of its own, chosen by *accuracy* on validation, and each of ten seeds draws
# its own training sentences. Dice and self-adjusting dice have squared denominators and average over all classes.
# On SST-2 we add dice of the positive class alone. All start from a bias near 0. The table has 95% intervals in brackets, and in the column *p*
# the p-value of a permutation test of the differences.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
from dicelab.records import runs
from dicelab.tables import minus


def _name_of(record):
    name = runs.LOSS_WORDS[record["parameters"]["loss"]]
    of = record["parameters"]["options"].get("classes")
    return name + (", positives alone" if of == "positive" else "")


_over, _rows = {}, {}
for _corpus, _title in (("sst2", "SST-2"), ("sst5", "SST-5")):
    _kept = runs.kept_records("accuracy")
    _kept = [record for record in _kept if record["parameters"]["corpus"] == _corpus]
    _words = {runs.loss_label(record): _name_of(record) for record in _kept}
    _found = runs.over_seeds(_kept, metric="accuracy")
    _over[_title] = {_words[label]: one for label, one in _found.items()}
    for _name, _one in _over[_title].items():
        _rows[_title, _name] = {
            "accuracy": str(_one.mean),
            "minus cross entropy": minus(str(_one.gain or "")),
            "p": f"{_one.p_value:.3f}" if _one.gain else "",
        }
pd.DataFrame(_rows).T

# %% [markdown]
# We expect little harm on SST-2, where two classes are nearly balanced, and that is what we see. We cannot
# distinguish dice over both classes and self-adjusting dice from cross entropy: their intervals exclude a
# difference larger than 0.6 points. Dice of the positives alone is half a point lower, and its interval just
# includes zero. The means have the order that section 13.2 predicts.
#
# On SST-5 the result is different. Dice and self-adjusting dice are lower than cross entropy, by 0.8 and 0.9
# points, and both intervals exclude zero. Of the ten seeds nine or ten show it, for either loss. The interval of focal
# loss includes zero.
#
# Why do the dice losses lose here? Two reasons are possible. First, a dice loss averaged over the classes is a soft
# macro F1, which gives a small class as much weight as a large one, while accuracy does not. Second, a dice loss
# hardly moves the sentences on which the model is sure and wrong, as Figure 13.2 shows. Our records have accuracy
# alone and no macro F1, so they cannot say which reason it is. What follows for you? If accuracy is your score,
# cross entropy is the safe choice.
#
# ## 13.11 The same sentences with rare positives
#
# Accuracy is the usual score where classes are balanced. What does it tell you where they are not? The controlled study
# ([chapter 17](17_when_does_dice_help.ipynb)) removes positives of SST-2 from training until 30%, 10% or 2% of the sentences
# are positive, and tests with 10%. Its models were *chosen by F1*. The table has their F1 and their accuracy at argmax.
# It compares cross entropy from the log prior, class weights, and dice from both starts.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
from dicelab.records import searched

_study = searched.read_tasks()
_rare = {}
for _level in ("sst2_30", "sst2_10", "sst2_02"):
    _size = next(r["sizes"]["test"] for r in _study[_level] if r["kind"] == "task")
    _n, _row = _size["rows"], _rare.setdefault(_level, {})
    _row["accuracy, always no"] = 100 * (1 - _size["positive"] / _n)
    for _arm, _name in searched.ARM_NAMES.items():
        _finals = searched.finals_of(_study[_level], _arm, "argmax")
        _tests = [r["test"]["argmax"] for r in _finals]
        _wrong = [t["predicted"] + t["gold"] - 2 * t["found"] for t in _tests]
        _row[f"accuracy, {_name}"] = 100 * (1 - np.mean(_wrong) / _n)
        _row[f"F1, {_name}"] = np.mean([t["f1"] for t in _tests])
_by_level = pd.DataFrame(_rare).rename(columns=lambda of: f"{int(of[-2:])}% positives")
_by_level.sort_index(key=lambda names: names.str[0], kind="stable").round(1)

# %% [markdown]
# "Always no" has an accuracy of 90.0 and an F1 of 0. Take the column with the fewest positives in training. All four
# models have nearly the same accuracy, about one point above "always no". Their F1, however, is not alike at all:
# that of class weights is twenty points higher than that of cross entropy. In accuracy every model of the table is
# within three points of "always no". What follows for you? With rare positives accuracy barely reacts to errors on
# them, so do not compare models by it.
#
# ## 13.12 The paper's Table 9, in sentences
#
# Now you can read the paper's own table. It prints accuracies in percent. We add how uncertain each of them is, and
# how many sentences fewer than with cross entropy are right:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input", "nbval-check-output"]
from dicelab.records import paper

_sizes = {"sst2": 1821, "sst5": 2210}
_rows = []
for _row in paper.table(9).rows:
    _n, _a = _sizes[_row.corpus], _row.value("accuracy") / 100
    _half = 100 * 1.96 * np.sqrt(_a * (1 - _a) / _n)
    _ce = next(r for r in paper.table(9).rows if (r.corpus, r.loss) == (_row.corpus, "ce"))
    _fewer = round(_n * (_ce.value("accuracy") - _row.value("accuracy")) / 100)
    _loss = runs.LOSS_WORDS[_row.loss]
    _rows.append([_row.corpus_title, _loss, _row.printed["accuracy"], f"{_half:.1f}", _fewer])
_columns = ["corpus", "loss", "accuracy", "half of its 95% interval"]
pd.DataFrame(_rows, columns=[*_columns, "fewer right than cross entropy"])

# %% [markdown]
# How many sentences do these differences come to? The last column counts them. On SST-2 dice loss gets ten sentences
# fewer right than cross entropy, and self-adjusting dice one. On SST-5 it is twenty-one and eight. Each test set has
# about two thousand sentences. With so many, an accuracy is uncertain by one point to each side on SST-2 and by two
# on SST-5. So the table by itself shows no difference, although on SST-5 its signs are those of our records above.
#
# The paper's encoders have an accuracy of 95% and 56%, and our frozen one has 83% and 44%. Perhaps the losses come
# closer to one another if the model gets fewer sentences wrong. If you have a GPU, you can find out:
# `make reproduce TABLE=9 PROFILE=paper`. [The paper's tables](../docs/tables.md) says how many hours that takes.

# %% [markdown]
# ## Summary
#
# - With calibrated probabilities, the best threshold for accuracy is one half. For F1 it is half of the best F1,
#   which is usually lower.
# - A dice loss averaged over both classes is a soft macro F1, and the best decisions for that are nearly those for
#   accuracy.
# - On *real* text (frozen MiniLM, a head with one hidden layer, ten seeds), we cannot distinguish dice losses over both
#   classes from cross entropy on SST-2: the intervals exclude a difference larger than 0.6 points. On the five classes
#   of SST-5 the dice losses cost 0.8 and 0.9 points.
# - With rare positives, models of the same accuracy have very different F1.
# - In the paper's Table 9 the losses differ by one to twenty-one sentences, which is within the uncertainty of its
#   test sets.
#
# ## Exercises
#
# **1.** With balanced classes and a perfect model, which threshold is the best for F1, and which for accuracy?

# %% mystnb={"code_prompt_show": "Solution 13.1"} tags=["solution", "hide-cell"]
print("Any threshold between 0 and 1: both are perfect. Half of the best F1 is one half.")

# %% [markdown]
# **2.** Make the positives rare (a share of 5%) in section 13.2. How far apart are the two
# thresholds now, and what does the threshold of F1 cost in accuracy?

# %% mystnb={"code_prompt_show": "Solution 13.2"} tags=["solution", "hide-cell"]
q, rare = expected(0.1, 1.9)
at = rare["F1"].argmax()
print(f"F1 is best at {q[at]:.2f}, with accuracy {rare['accuracy'][at]:.4f}")
print(f"the best accuracy is {rare['accuracy'].max():.4f}")

# %% [markdown]
# **3.** How many test sentences do you need to distinguish 94.9% from 94.84% with two independent test
# sets, at 5% significance and a power of 80%?

# %% mystnb={"code_prompt_show": "Solution 13.3"} tags=["solution", "hide-cell"]
a, b = 0.9490, 0.9484
quantiles = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
needed = quantiles**2 * (a * (1 - a) + b * (1 - b)) / (a - b) ** 2
print(f"about {needed / 1e6:.1f} million sentences each")

# %% [markdown]
# **4.** Show that `DiceLoss` on two logits is the mean of two binary dice losses, one for each
# class.

# %% mystnb={"code_prompt_show": "Solution 13.4"} tags=["solution", "hide-cell"]
from dicebook import BinaryDiceLoss, DiceLoss

x, y = torch.randn(50, 2), torch.randint(0, 2, (50,))
margins = x[:, 1] - x[:, 0]
halves = [BinaryDiceLoss()(margins, y), BinaryDiceLoss()(-margins, 1 - y)]
torch.testing.assert_close(DiceLoss()(x, y), sum(halves) / 2)
print(f"both {DiceLoss()(x, y).item():.3f}")

# %% [markdown]
# The run of this page:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
from dataclasses import asdict
from pathlib import Path

for _name, _result in trained.items():
    _ways = {"argmax": "test", "tuned": "test_tuned"}
    _kept = {split: f"{_name}, {how}" for how, split in _ways.items()}
    chapters.end_run(
        "13_accuracy_tasks",
        _name,
        experiment.output_dir and Path(experiment.output_dir) / _name,
        _result.first_losses,
        parameters=asdict(experiment.only(_name)),
        metrics={
            **{of: pairs.score(gold, said[key]) for of, key in _kept.items() if key in said},
            "majority": floors["larger class"],
        },
        history=_result.history,
        measured=_result.measured,
    )
print(", ".join(f"{name} {version}" for name, version in runs.versions().items()))
