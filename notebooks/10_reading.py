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
# # 10 Machine reading
#
# You give a model a paragraph and a question, and it marks the words that answer the question. You can build such a
# reader in two ways. One *chooses* a position among all positions of the paragraph, as most readers do. It has no
# imbalance to fight. The other *decides* at each position whether the answer starts there, yes or no. The paper's
# losses need such decisions. However, a paragraph of SQuAD has more than a hundred words, and the answer starts at
# one of them. So there are more than a hundred negatives for each positive.
#
# In this chapter we train both, on the same paragraphs. We see why the second kind may stay silent, which loss and
# which start make it speak, and how you decide when a reader should give no answer. On real questions, a reader by
# decisions first finds next to nothing. Then we change one thing, and with a tuned threshold it reaches the F1 of the
# reader by choice. What we change is not the loss. It is where the output bias starts.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who extract spans: answers, arguments, highlights.
# - **You need** [chapter 09](09_named_entities.ipynb) and the dice losses of
#   [chapter 07](07_all_losses.ipynb).
# - **You will be able to** train a reader in two ways, say which of them has an imbalance problem, and tune when it
#   stays silent.
# - **Time** about four minutes on a CPU core as it is. On SQuAD with a real encoder, hours on a CPU or
#   half an hour on a GPU.
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
import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy.special import logsumexp

from dicelab import corpora, figures, real_runs
from dicelab.records import paper, runs
from dicelab.tasks import reading, span_scores
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment, ParameterError
from dicelab.training.sampling import sample
from dicelab.training.trainer import build_loss, train

figures.use_style()
pd.set_option("display.max_colwidth", 60)


# %% tags=["remove-cell"]
def real_readers():
    """The kept readers of SQuAD 1.1, a row a run, and what is kept of their questions."""
    kept = json.loads((runs.kept_folder() / "gpu" / "chapters.json").read_text())
    names = {"ce": "cross entropy", "fl": "focal", "dl": "dice", "dsc": "self-adjusting dice"}
    starts = {"prior": "log prior", "zero": "near 0"}
    rows = [
        {
            "reader": "choice, cross entropy"
            if "choice" in r["run"]
            else f"decisions, {names[r['loss']]}, {starts[r['start']]}",
            "seed": r["seed"],
            "argmax": r["test F1"],
            "tuned": r["tuned"],
        }
        for r in kept["rows"]
        if r["run"].startswith("10_")
    ]
    return pd.DataFrame(rows), kept["squad11"]


# %% mystnb={"code_prompt_show": "Code of Figure 10.1", "figure": {"caption": "Figure 10.1. Readers of SQuAD 1.1, all layers of a small pretrained encoder, three seeds: F1 on 2,004 test questions, with a tuned threshold (full) and at argmax, which is the threshold 0 (hollow). The choice has six points, because it was trained twice with each seed. The dotted line is a rule that learns nothing: it answers with the sentence that has most words of the question. Section 10.9 says how the readers were trained.", "name": "fig-10-1"}, "image": {"alt": "Nine rows of dots. The choice, and decisions with cross entropy from the log prior and a tuned threshold, lie together at about fifty-two; dice and self-adjusting dice from either start lie between forty-two and fifty tuned, and a few points lower at argmax. Cross entropy from the log prior at argmax lies between six and nineteen. Cross entropy from near 0 and focal loss from either start lie at zero at argmax and below the dotted line at seventeen when tuned."}} tags=["hide-input"]
def draw_readers():
    rows, questions = real_readers()
    order = rows.groupby("reader")["tuned"].mean().sort_values().index
    _, ax = plt.subplots(figsize=(5.6, 3.2))
    for y, name in enumerate(order):
        loss = name.removeprefix("decisions, ").rsplit(", ", 1)[0]
        color = "black" if name.startswith("choice") else figures.style(loss)["color"]
        for way, fill in (("argmax", "none"), ("tuned", "full")):
            f1 = rows.loc[rows["reader"] == name, way]
            ax.plot(f1, [y] * len(f1), "o", color=color, fillstyle=fill)
    rule = questions["F1 of the sentence with most shared words"]
    ax.axvline(rule, color="black", ls=":", lw=1)
    ax.set(yticks=range(len(order)), yticklabels=order)
    ax.set(xlabel="F1, %", xlim=(-1.5, 60))
    plt.show()


draw_readers()


# %% [markdown]
# Compare two rows of the figure. Both are decisions with cross entropy. In one the output bias starts near 0, and in
# the other it starts at the log prior. The loss, the data and the number of steps are the same. Yet, with tuned
# thresholds, one reader is useless and the other is among the best. Section 10.9 explains the picture. First we look
# at what one reader can do.

# %% [markdown]
# (a-reader-that-works)=
# ## A reader that works
#
# What can you expect of such a reader on real questions? We gave the cells of sections 10.1 to 10.7 a real corpus and
# a pretrained encoder. The corpus has 4,000 training questions of SQuAD 1.1 {cite}`rajpurkar2016squad`. The encoder
# is MiniLM, and all of its six layers are trained. The results of this run are kept as a record, without the text of
# the corpus, and this section is drawn from that record. The command `make real CHAPTER=10` runs it again. Section
# 10.1 prints smaller parameters, with which the same cells train on made-up questions in a few minutes.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def real_run():
    """What the run on a real corpus left."""
    return runs.kept_page("10_reading")


def print_counts(page):
    data = page["data"]
    print(
        f"{data['train']:,} training questions, {data['test']:,} test questions;",
        f"{data['negatives per positive']:.0f} negatives per positive",
    )


print_counts(real_run())
real_runs.describe(real_run(), "choice")


# %% mystnb={"code_prompt_show": "Code of Figure 10.2", "figure": {"caption": "Figure 10.2. SQuAD, the real run: F1 on the validation questions after each pass, each reader at its best threshold of silence.", "name": "fig-10-real"}, "image": {"alt": "Three curves over two passes. The choice rises from 52 to 55, decisions with cross entropy from 49 to 54, and decisions with dice from 32 to 48."}} tags=["hide-input"]
def reader_names():
    """What tables and pictures call a reader."""
    return {
        "paragraph": "the whole paragraph",
        "sentence": "sentence with most words of the question",
        "choice": "choice, cross entropy",
        "ce": "decisions, cross entropy",
        "dl": "decisions, dice",
    }


real_runs.learning_curves(real_run(), names=reader_names())

# %% [markdown]
# The printed count says that there are 158 negatives for each positive. It is higher than the number of words,
# because the model sees sub-words.
#
# The scores on the test questions follow, with a 95% interval from draws of these questions. The first two rows are
# rules that learn nothing. A reader stays silent if its answer scores below a threshold. Before any tuning this
# threshold is 0: there, the reader holds its answer and silence to be equally good. Every question here has an
# answer, so each silence counts as wrong:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
real_runs.score_table(
    real_run(),
    {"exact_match": "EM", "f1": "F1"},
    reader_names(),
    model="reader",
    decision="threshold",
)

# %% [markdown]
# The two rules that learn nothing have an F1 of 6.1 and 16.4. All readers are far ahead of them once their threshold
# is tuned. At the threshold 0, decisions look much worse than the choice: with cross entropy they have an F1 of 29.7,
# and the choice has 54.8. However, this reader is only too often silent there. With a tuned threshold both have an F1
# of 55.0. Dice ends lower, at 47.5. It gained the most in its second pass, so two passes may be too few for it. What
# follows for you? Tune the threshold before you compare two readers.
#
# What do the answers of the reader by choice look like? The table sorts them by what is wrong with them, and by the
# question word. An answer *beside it* shares some words with the right answer, and an answer from *elsewhere* shares
# none:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
pd.DataFrame(real_run()["errors"]).T


# %% [markdown]
# Questions with *who* and *when* are answered best. None of the sixteen questions with *why* has exactly the right
# answer. A reason has no clear first and last word, so it is easy to miss by a word. But more than half of these
# sixteen answers are from elsewhere altogether. Over all questions, answers that are too long or too short are about
# as frequent as answers from elsewhere.
#
# Finally, we wrote a paragraph and twelve questions ourselves, and asked all three readers:
#
# > The lighthouse at Marrow Point was built in 1871, after three ships had been lost on the reef in a single winter. It
# > was designed by the engineer Agnes Tolland, who insisted on granite from the quarries at Penhale because brick had
# > failed on two earlier towers. The lamp first burned whale oil, and the keeper climbed 142 steps every four hours to
# > trim the wick. Electricity came in 1934. The last keeper left in 1988, when a timer took over his work. Today his
# > cottage is a small museum, which is open from May to September.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
def own_questions(page):
    readers = reader_names().items()
    rows = [
        {"question": row["question"]} | {title: row[n] for n, title in readers if n in row}
        for row in page["own"]
    ]
    return pd.DataFrame(rows).style.hide(axis="index")


own_questions(real_run())

# %% [markdown]
# All three readers agree on plain facts, such as years, names and places. The choice answers the question with *why*,
# while both readers by decisions name the engineer. One sentence holds two numbers, the steps and the hours. Only the
# choice keeps them apart. The question *what took over the work* is harder: decisions with cross entropy find *a
# timer*, and the other two readers give far too many words. [Chapter 22](22_your_own_data.ipynb) trains and keeps
# such a reader on a file of your own.
#
# ## The mechanics
#
# How does such a reader work? From here to section 10.7 we build one, step by step. So that you can run it anywhere,
# the questions are made up and the encoder starts from nothing. Therefore the scores of this part do not say which
# reader is better.
#
# ### 10.1 The parameters
#
# You know most of the parameters from [section 8.1](08_part_of_speech.ipynb). With a real corpus and encoder, you run
# the chapter like this:
#
# ```bash
# papermill notebooks/10_reading.ipynb out.ipynb -p corpus squad11 \
#     -p encoder bert-base-cased -p loss dl -p learning_rate 3e-5 -p epochs 2 \
#     -p max_length 384 -p output_dir runs/squad
# ```

# %% tags=["parameters"]
corpus: str = "embedded-reading-en"  # registered name, or your file
encoder: str = "tiny"  # or "minilm", a folder, a hub model
loss: str = "ce,dl"  # of ce, wce, fl, dl, tl, dsc, MODULE:NAME
loss_options: dict = {}  # options by loss: {"dsc": {"alpha": 0.01}}
start: str = "prior"  # the output bias starts at the log prior; or "zero"
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 5  # passes over the training questions
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # windows in a step
learning_rate: float = 2e-3  # the peak; pretrained: 2e-5 to 2e-4
max_length: int = 128  # sub-words in a window, question included
train_size: int = 0  # training questions; 0 for all
eval_size: int = 0  # scored questions of a split; 0 for all
device: str = "auto"  # "auto", "cpu" or "cuda"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing
by_choice: bool = True  # train the reader by choice, too
language: str = "auto"  # of the scoring rules: "auto", "en" or "zh"

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
experiment = Experiment.from_namespace(globals(), also=["by_choice", "language"])
if not isinstance(by_choice, bool):
    raise ParameterError(f"parameter 'by_choice': expected True or False, got {by_choice!r}")
print(f"{len(experiment.losses)} losses on {experiment.corpus}: {', '.join(experiment.losses)}")

# %% tags=["remove-cell"]
# What the text says of this chapter's own runs holds for the parameters as they stand above.
printed = Experiment(
    corpus="embedded-reading-en",
    loss="ce,dl",
    epochs=5,
    learning_rate=2e-3,
    max_length=128,
)
as_printed = replace(experiment, output_dir="") == printed and by_choice

# %% [markdown]
# ### 10.2 From a question to a score
#
# What does a reader get, and what must it return? Here is one example, with its paragraph, its question and its answer:

# %%
whole = corpora.load(experiment.corpus, task="reading")
texts = whole["train"]["question"]
language = corpora.language_of(experiment.corpus, language, texts)
questions = sample(whole, experiment)
row = questions["train"][0]
print(row["context"], row["question"], row["answers"], sep=" \n\n")

# %% [markdown]
# An answer is a span of the paragraph. The corpus gives its text, and where it starts, in characters. Some questions
# have no answer in their paragraph, and then the reader should be silent. How many such questions are there?

# %% tags=["nbval-check-output"]
for split, rows in questions.items():
    silent = sum(not answers["text"] for answers in rows["answers"])
    print(f"{split}: {len(rows):,} questions, {silent:,} without an answer")

# %% [markdown]
# How good is an answer that is nearly right? Two scores are usual. Both first remove upper case, articles and
# punctuation. **Exact match** (EM) counts an answer that equals a gold answer word for word. **F1** gives credit for
# shared words, or in Chinese (CMRC 2018) for shared characters. If a question has no answer, only silence counts as
# right.
#
# Some questions have several gold answers, and the corpora differ in what they do with them. In SQuAD they are
# alternatives, and the best of them counts. In Quoref they are all needed, so one of two names is not an exact match:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
one_of_two = [reading.Answer("Ada", 1.0)]
both_wanted = [{"text": ["Ada", "Grace"], "answer_start": [0, 8]}]
half_a_name = [reading.Answer("大学", 1.0)]
whole_name = [{"text": ["北京大学"], "answer_start": [0]}]
rules = {
    "“Ada”, alternatives (SQuAD)": reading.score(one_of_two, both_wanted),
    "“Ada”, all needed (Quoref)": reading.score(one_of_two, both_wanted, all_of=True),
    "“大学” for “北京大学”, words": reading.score(half_a_name, whole_name),
    "“大学” for “北京大学”, characters (CMRC)": reading.score(
        half_a_name, whole_name, language="zh"
    ),
}
names = {"exact_match": "EM", "f1": "F1"}
pd.DataFrame(rules).T.rename(columns=names).round(1)

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
known = corpora.CORPORA.get(experiment.corpus)
all_of = known is not None and known.scorer == "quoref"  # all gold answers are needed
print(f"scored in {language}, {'all answers' if all_of else 'the best of the alternatives'}")

# %% [markdown]
# Before you train, you should know what you get without training. The simplest reader is always silent. It is right
# about every question that has no answer, and more than a third of the test questions have none. So it scores:

# %% tags=["nbval-check-output"]
gold = {split: rows["answers"] for split, rows in questions.items()}
nothing = [reading.Answer("", 0.0)] * len(questions["test"])
majority = reading.score(
    nothing,
    gold["test"],
    language=language,
    all_of=all_of,
)
print({name: round(value, 1) for name, value in majority.items()})

# %% [markdown]
# ### 10.3 Windows, and what is imbalanced
#
# The encoder reads question and paragraph as one sequence, so that each word of the paragraph can look at the
# question. A long paragraph does not fit into the encoder. Therefore we divide it into windows that overlap, so that
# an answer at the edge of one window is whole in the next.

# %%
texts = (f"{r['question']} {r['context']}" for r in questions["train"])
tokenizer = load_tokenizer(encoder, texts, max_length=max_length)
encoded = reading.encode(
    questions,
    tokenizer,
    max_length=max_length,
    stride=max_length // 4,
)
windows = encoded.splits["train"]
print(f"{len(questions['train']):,} questions in {len(windows):,} windows")


# %% [markdown]
# How do we write an answer as labels? Each position gets two: does an answer start here, and does one end
# here? Answers come in characters and the model sees sub-words, so we need to know which characters each
# sub-word covers. The tokenizer tells us. The function below does it for one window, and `reading.encode` for
# all of them:

# %%
def labels_of(row):
    """Two labels a position, start and end; -100 where none is asked."""
    pair = row["question"], row["context"]
    coded = tokenizer(*pair, return_offsets_mapping=True)
    texts, begins = row["answers"]["text"], row["answers"]["answer_start"]
    stops = [b + len(t) for b, t in zip(begins, texts, strict=True)]
    labels = torch.full((len(coded["input_ids"]), 2), -100)
    for i, (first, end) in enumerate(coded["offset_mapping"]):
        if coded.sequence_ids(0)[i] == 1:  # the paragraph, not the question
            labels[i, 0] = any(first <= begin < end for begin in begins)
            labels[i, 1] = any(first < stop <= end for stop in stops)
    return labels


pieces = tokenizer.convert_ids_to_tokens(windows[0]["input_ids"])
print(" ".join(pieces))
for name, column in zip(("start", "end"), labels_of(row).T, strict=True):
    print(name, [pieces[i] for i in torch.nonzero(column == 1)])

# %%
negative, positive = encoded.counts()
print(f"{negative:,} positions with the answer no, {positive:,} with yes")
print(f"{negative / positive:.0f} negatives for each positive")

# %% [markdown]
# There is one "yes" for some eighty "no". This is not special to our made-up paragraphs. In SQuAD, [chapter
# 01](01_imbalance.ipynb) counts about sixty words for each start or end. That chapter counts each word once. A reader
# needs two decisions for each word, one for a start and one for an end, so it has twice as many negatives for each
# positive. That is why we spoke of more than a hundred above. But whether this is an imbalance for the *model*
# depends on how it answers, as we see next.

# %% [markdown]
# ### 10.4 A choice, or many decisions
#
# The model gives each position $i$ two numbers, $s_i$ for a start and $e_i$ for an end. What do we want of them? There
# are two ways to say it.
#
# (eq-10-1)=
# **As a choice.** We want the gold position to have a larger number than all others. So a softmax runs over the
# positions, and the loss is cross entropy:
#
# $$ -\log \frac{\exp s_{\text{gold}}}{\sum_i \exp s_i} \tag{10.1} $$
#
# Read aloud: the loss is low if the gold position has nearly all of the probability, and only the comparison
# with the other positions counts. A window without an answer chooses its first position. In this way every window
# raises exactly one position, and its negatives cannot outvote it, however many they are. An imbalance *between*
# windows remains: most windows of a long document hold no answer.
#
# (eq-10-2)=
# **As decisions.** Here we want each position to say for itself whether the answer starts there. Each position is a
# binary example with its own probability, $p_i = \sigma(s_i)$, and any binary loss $L$ of this book fits:
#
# $$ L\big(\{p_i\}, \{y_i\}\big), \qquad y_i = 1 \text{ at a start} \tag{10.2} $$
#
# In words: the loss compares all probabilities with all labels, and a label is 1 at a start and 0 elsewhere. Now each
# window has one positive, and all its other words are negatives. This is the imbalance that the paper wants to cure.
# Why would you want decisions at all? They can mark several answers at once, while a choice marks only one. The next
# cell computes both kinds of loss for one batch:

# %%
torch.manual_seed(experiment.seed)
model = reading.model(experiment.encoder, tokenizer)
batch = reading.collator(tokenizer)([windows[i] for i in range(4)])
labels = batch.pop("labels")
outputs = model(**batch)
starts = outputs.start_logits
print("starts", list(starts.shape), " labels", list(labels.shape))
print(f"as a choice: {reading.choice(outputs, labels).item():.3f}")
for name in experiment.losses:
    criterion = build_loss(experiment, name, encoded.counts(), binary=True)
    cost = reading.Decisions(criterion)(outputs, labels).item()
    print(f"{name:4} {cost:.3f}  {criterion}")


# %% [markdown]
# ### 10.5 Training
#
# We train one reader by choice, and one reader by decisions for each loss. To make the comparison fair, they share the
# encoder, the initial weights, the batches and the learning rate. The function `train` is the loop of
# [chapter 09](09_named_entities.ipynb). After each epoch we measure F1 on the validation questions, at the threshold of
# silence that suits the reader best.

# %%
def answers_of(logits, split, as_choice):
    """The best span of every question of a split."""
    return reading.decode(logits, encoded, split, as_choice=as_choice)


def scores_at(threshold, logits, split, as_choice):
    """Scores of a split with a threshold of silence."""
    if all_of and not as_choice:
        cut = {"threshold": threshold}
        found = reading.decode_several(logits, encoded, split, **cut)
        return reading.score(found, gold[split], all_of=True)
    found = answers_of(logits, split, as_choice)
    rules = {"language": language, "all_of": all_of}
    return reading.score(found, gold[split], threshold=threshold, **rules)


def tuned_threshold(logits, as_choice):
    """The threshold of silence with the best F1 on validation."""
    if all_of and not as_choice:
        tune = reading.tune_threshold_of_several
        return tune(logits, encoded, "validation")
    found = answers_of(logits, "validation", as_choice)
    return reading.tune_threshold(found, gold["validation"], language)


# %%
def fit(experiment, criterion, as_choice):
    """Train one reader."""

    def evaluate(logits, split):
        threshold = tuned_threshold(logits, as_choice)
        return scores_at(threshold, logits, "validation", as_choice)

    return train(
        experiment,
        build_model=lambda: reading.model(experiment.encoder, tokenizer),
        counts=[encoded.counts()] * 2,
        splits=encoded.splits,
        collator=reading.collator(tokenizer, as_choice=as_choice),
        tokenizer=tokenizer,
        compute_loss=criterion,
        evaluate=evaluate,
    )


# %%
# The reader by choice has its own folder: its loss is cross entropy, too.
folder = experiment.output_dir and f"{experiment.output_dir}/choice"
choice = replace(experiment, loss="ce", loss_options={}, output_dir=folder)
readers = {"choice": choice} if by_choice else {}
readers |= {name: experiment.only(name) for name in experiment.losses}
trained = {}
for name, of_reader in readers.items():
    print(name)
    criterion = reading.choice
    if name != "choice":
        binary = build_loss(experiment, name, encoded.counts(), binary=True)
        criterion = reading.Decisions(binary)
    trained[name] = fit(of_reader, criterion, as_choice=name == "choice")

# %% mystnb={"code_prompt_show": "Code of Figure 10.3", "figure": {"caption": "Figure 10.3. F1 on the validation questions after each pass, each reader at its best threshold of silence."}, "image": {"alt": "Three curves over five epochs, all starting near 34 and rising: dice over decisions to 49, cross entropy over decisions and the reader by choice to 46."}} tags=["hide-input"]
for name, result in trained.items():
    steps = [entry["epoch"] for entry in result.history]
    f1 = [entry["validation_f1"] for entry in result.history]
    label = name if name == "choice" else f"decisions, {name}"
    plt.plot(steps, f1, label=label, **figures.style(name))
plt.xlabel("epoch")
plt.ylabel("F1 on the validation split, %")
plt.legend()
plt.show()


# %% [markdown]
# All three readers rise above the score of silence. For cross entropy over decisions, this needs the right start.
# About one position in eighty is positive, and the bias begins at the log-odds of this share. You can see what
# happens otherwise if you set `start` to `"zero"`: cross entropy over decisions then stays silent. It first learns
# that nearly everything is "no", and training ends before it learns more. Dice over decisions learns from that start
# as well.

# %% [markdown]
# ### 10.6 Scores, and when to stay silent
#
# The model gives numbers for positions, and we need a span. The score of a span is the sum of its start's number and
# its end's number. We want the span with the highest score. A span must not end before it starts, and it must not be
# too long. There are few enough spans to try them all:

# %%
def best_span(starts, ends, longest=30):
    """First and last sub-word of the best span, and its score."""
    scores = starts[:, None] + ends[None, :]  # rows: starts; columns: ends
    length = np.arange(len(ends)) - np.arange(len(starts))[:, None]
    scores[(length < 0) | (length >= longest)] = -np.inf
    first, last = np.unravel_index(scores.argmax(), scores.shape)
    return first, last, scores[first, last]


window = encoded.splits["test"][0]
inside = slice(*window["context_span"])
name, result = list(trained.items())[-1]
starts, ends = (side[0][inside] for side in result.logits["test"])
first, last, best = best_span(starts, ends)
begin, end = window["offsets"][first][0], window["offsets"][last][1]
asked = questions["test"][0]
print(asked["question"], "|", asked["context"][begin:end], f"| {best:.1f}")

# %% [markdown]
# Should the reader give this answer, or stay silent? We compare the span's score with the score of "no
# answer", which is that of the first position for a choice, and 0 for decisions. If the difference is below a
# threshold, the reader is silent. The threshold is either `0`, or `tuned` on the validation questions.

# %%
table = {("always silent", ""): majority}
found = {}
for name, result in trained.items():
    as_choice = name == "choice"
    found[name] = answers_of(result.logits["test"], "test", as_choice)
    best = tuned_threshold(result.logits["validation"], as_choice)
    for how, threshold in (("0", 0.0), ("tuned", best)):
        logits = result.logits["test"]
        scores = scores_at(threshold, logits, "test", as_choice)
        table[name, how] = {**scores, "threshold": threshold}
shown = pd.DataFrame(table).T.rename(columns=names).round(1)
shown.astype(object).fillna("")

# %% [markdown]
# With tuned thresholds, the three readers are within five points of each other. From one seed on made-up questions we
# cannot say which is better. But keep two habits for your own comparisons. First, compare tuned readers with tuned
# readers. Second, if you report a gain over cross entropy, say which one you mean: the choice among positions, or the
# decisions.

# %% [markdown]
# #### Answered, and right
#
# In practice you may prefer a reader that answers only when it is sure. Then you need a number that says how sure it
# is, and you answer the surest questions first. Decisions have such a number: the log-odds of start and end. The
# logits of a choice do not say how sure it is, because you can add a constant to all of them and the loss does not
# change. So we rank the answers of a choice by the probability that its softmax gives to the span.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
first, last = next(iter(trained)), experiment.losses[-1]


def as_log_probabilities(logits, split):
    """Logits of a reader by choice, normalised over the positions that each window may choose."""
    rows = encoded.splits[split]
    where = zip(rows["no_answer"], rows["context_span"], strict=True)
    candidates = [np.r_[null, first:last] for null, (first, last) in where]
    return [
        [x - logsumexp(x[at]) for x, at in zip(side, candidates, strict=True)] for side in logits
    ]


def ranking(name):
    """For each test question a number that says how sure a reader is of its answer."""
    logits, as_choice = trained[name].logits["test"], name == "choice"
    if as_choice:
        logits = as_log_probabilities(logits, "test")
    return [answer.score for answer in reading.decode(logits, encoded, "test", as_choice=False)]


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def matches(name, i, threshold=None):
    """Whether a reader's best span of a test question is an exact match."""
    rules = {"threshold": threshold, "language": language, "all_of": all_of}
    return reading.score([found[name][i]], [gold["test"][i]], **rules)["exact_match"] == 100


# %% mystnb={"code_prompt_show": "Code of Figure 10.4", "figure": {"caption": "Figure 10.4. Answered, and right: the share of exact matches among the answers of which a reader is surest."}, "image": {"alt": "Share answered from left to right against the share that matches. The three curves lie between 0.5 and 0.7 for the surest tenth, run close together from there on, and end at 0.3 for all."}} tags=["hide-input"]
precision = {}
for name in trained:
    best_first = np.argsort(-np.array(ranking(name)), kind="stable")
    em = [matches(name, i) for i in best_first]
    asked = np.arange(1, len(em) + 1)
    precision[name] = np.cumsum(em) / asked
    label = name if name == "choice" else f"decisions, {name}"
    plt.plot(asked / len(em), precision[name], label=label, **figures.style(name))
plt.xlabel("share of the questions that are answered, surest first")
plt.ylabel("share of these answers that match")
plt.ylim(0, 1.03)
plt.legend()
plt.show()

# %% [markdown]
# If a reader knows when it is right, its curve starts high and falls. All three readers have such a curve. Among the
# surest tenth of their answers, more than half match. Among all answers, three in ten match. So you can let such a
# reader answer only where it is sure, and leave the rest to a person.
#
# How you rank matters. Suppose that we rank the answers of the choice by their difference from "no answer",
# as we did for silence. This difference can be large even for a span of small probability. Then the choice
# looks as if it did not know when it is right:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
by_score = sorted(range(len(gold["test"])), key=lambda i: -found[first][i].score)
tenth = len(by_score) // 10
share = np.mean([matches(first, i) for i in by_score[:tenth]])
print(f"{first}, by that difference: of the surest tenth {share:.2f} match")


# %% [markdown]
# ### 10.7 Errors
#
# A score hides what goes wrong. An answer that is no exact match may be a word too long, or it may be about something
# else. We compare its words with those of the gold answer, and name the difference:

# %%
def kind_of(said, truths):
    """What is wrong with an answer, beside the gold ones."""
    if not said:
        return "silent" if truths else "right"
    if span_scores.best_of(truths, said, language)[0]:
        return "right"
    words = set(span_scores.words(said, language))
    of_gold = [set(span_scores.words(t, language)) for t in truths]
    if any(some <= words for some in of_gold if some):
        return "too long"
    if any(words <= some for some in of_gold):
        return "too short"
    shared = any(words & some for some in of_gold)
    return "beside it" if shared else "elsewhere"


# %% [markdown]
# How often does each kind of error occur? We count the answers of the first reader, at the threshold 0. We count them
# by question word, because it may be harder to find a place than a name:

# %%
def errors_of(name):
    """Kinds of errors of a reader at argmax, by the question word."""
    asked = ("who", "when", "where", "why", "how", "which", "what")
    kinds = ("right", "too long", "too short", "beside it", "elsewhere")
    kinds += ("silent",)
    counts = {word: dict.fromkeys(kinds, 0) for word in (*asked, "other")}
    for answer, row in zip(found[name], questions["test"], strict=True):
        text = row["question"].lower()
        word = next((word for word in asked if word in text), "other")
        said = answer.text if answer.score > 0 else ""
        counts[word][kind_of(said, row["answers"]["text"])] += 1
    return {word: row for word, row in counts.items() if any(row.values())}


first, last = next(iter(trained)), experiment.losses[-1]
errors = errors_of(first)
pd.DataFrame(errors).T


# %% [markdown]
# The reader by choice answers *when* best. Most of its errors are answers from elsewhere. Nearly half of these answer
# a question that has no answer. A higher threshold of silence would remove some of them.
#
# #### Questions of your own
#
# You can also ask questions yourself. Give the question and the paragraph to the model as one sequence, keep
# the logits inside the paragraph, and take the best span of section 10.6:

# %%
def answer(name, question, context):
    """The best span of a trained reader, however low its score is."""
    coded = tokenizer(
        question,
        context,
        truncation="only_second",
        max_length=experiment.max_length,
        return_offsets_mapping=True,
        return_tensors="pt",
    )
    parts = coded.sequence_ids(0)  # 0 for the question, 1 for the paragraph
    inside = [i for i, part in enumerate(parts) if part == 1]
    places = coded.pop("offset_mapping")[0, inside]
    model = trained[name].model.eval()
    with torch.no_grad():
        outputs = model(**{k: coded[k].to(model.device) for k in batch})
    sides = outputs.start_logits[0], outputs.end_logits[0]
    starts, ends = (side[inside].float().cpu().numpy() for side in sides)
    begin, end, _ = best_span(starts, ends)
    return context[places[begin][0] : places[end][1]]


# %%
PARAGRAPH = """
The lighthouse at Marrow Point was built in 1871, after three ships had been
lost on the reef in a single winter. It was designed by the engineer Agnes
Tolland, who insisted on granite from the quarries at Penhale because brick
had failed on two earlier towers. The lamp first burned whale oil, and the
keeper climbed 142 steps every four hours to trim the wick. Electricity came
in 1934. The last keeper left in 1988, when a timer took over his work.
Today his cottage is a small museum, which is open from May to September.
""".replace("\n", " ").strip()
OWN_QUESTIONS = """
When was the lighthouse built?
Who designed it?
Where did the granite come from?
Why did the engineer not want brick?
How many ships had been lost in one winter?
What did the lamp burn at first?
How many steps did the keeper climb?
How often did the keeper climb the steps?
When did electricity come?
What took over the work of the keeper?
What is the cottage today?
When is the museum open?
"""

# %%
own = []
for question in OWN_QUESTIONS.strip().splitlines():
    answers = {name: answer(name, question, PARAGRAPH) for name in trained}
    own.append({"question": question, **answers})
for row in own[:3]:
    print(row["question"], "|", row[first])

# %% [markdown]
# A reader that was trained on made-up questions has met almost none of these words. If you run the chapter
# with a pretrained encoder and SQuAD, the answers become sensible.
#
# #### Errors that one makes and the other does not
#
# Finally, do the choice and the decisions fail on the same questions? The table has some on which exactly one
# of them is right:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
rows = []
for i, row in enumerate(questions["test"]):
    said = [found[n][i].text if found[n][i].score > 0 else "–" for n in (first, last)]
    if matches(first, i, 0.0) != matches(last, i, 0.0):
        rows.append([row["question"], ", ".join(row["answers"]["text"]) or "–", *said])
print(f"{len(rows)} of {len(gold['test'])} questions on which exactly one of the two is right")
pd.DataFrame(rows[:6], columns=["question", "gold", first, f"decisions, {last}"])

# %% [markdown]
# In this table a dash means silence. The readers differ on about one question in five. So they make different errors,
# although their scores are nearly the same.
#
# ## On real text
#
# The mechanics are clear, but so far we have not seen which reader is better. For this we turn to real questions. All
# that follows is drawn from records in `dicelab/records/data`.
#
# ### 10.8 SQuAD 1.1: the choice beside the decisions
#
# We took a first look with one seed, a small pretrained encoder and two passes over 3,595 questions of SQuAD 1.1
# {cite}`rajpurkar2016squad`. The choice is ahead of the decisions with dice, by eight points of exact match and ten
# of F1. All these questions have an answer, and the record has no scores with a tuned threshold. Do decisions always
# cost this much, or does the cost come from the way they were trained?

# %% tags=["remove-cell"]
records = runs.kept_records("squad11")

# %% [markdown]
# ### 10.9 Decisions from two starts
#
# At nearly every position, the right decision is "no". If the output bias is near 0, a reader that decides begins
# with a probability of about one half everywhere, and so it first has to learn to say "no". [Chapter
# 02](02_cross_entropy.ipynb) has a remedy: let the bias start at the log-odds of a positive, as detectors with focal
# loss do {cite}`lin2017focal`. Does it matter here?
#
# We trained readers on 6,000 questions of SQuAD 1.1, on a GPU, with all layers of MiniLM, two passes and one learning
# rate. Each loss had both starts and three seeds. The test questions are about other articles than the training
# questions (`dicelab/records/data/gpu/chapters.json` has the scores, `results/README.md` the draw). [Figure 10.1](fig-10-1)
# shows what they reached.
#
# **Do these readers read?** We first ask what rules that learn nothing reach. If you answer every question with the
# whole paragraph, F1 is 6.3. If you answer with the sentence that shares most words with the question, it is 17.0.
# The choice has an F1 of 51.6 at argmax, that is, with its threshold at 0. So it does read.
#
# **Decisions with cross entropy from near 0 do not read.** At argmax this reader answers no question. With a tuned
# threshold its mean F1 is 5.8, which is lower than that of either rule.
#
# **From the log prior they do.** The same loss, with a tuned threshold, has an F1 of 52.2. The choice, when its
# threshold is tuned as well, has 52.0. So the wrong start cost the whole reader, and the change from a choice to
# decisions cost nothing that we can see.
#
# **Dice needs the right start less.** With a tuned threshold it has an F1 of 48.5 from near 0, and 46.0 from the log
# prior. With each seed, cross entropy from the log prior is a few points higher than dice from either start. However,
# there are only three seeds, and all losses share a learning rate that was not searched. Therefore we do not say how
# large this difference is in general.
#
# **At argmax the order is reversed.** There dice from near 0 has an F1 of 44.7, and cross entropy from the log prior
# has 14.1. If you cannot tune a threshold, use the choice, or dice.
#
# Focal loss stays below the rule of the best sentence from both starts. We do not know whether another learning rate
# would help it.

# %% [markdown]
# ### 10.10 The paper's Table 6
#
# Decisions can reach the F1 of a choice. Does a dice loss make them better? The paper reports gains of its dice
# losses, in Table 6:

# %% tags=["nbval-check-output"]
printed = {}
for row in paper.table(6).rows:
    if row.loss:
        cells = (row.printed.get(name, "–") for name in ("em", "f1"))
        of_reader = printed.setdefault((row.corpus, row.backbone), {})
        of_reader[row.loss] = " / ".join(cells)
pd.DataFrame(printed).T

# %% [markdown]
# Each cell is EM / F1. The first column is cross entropy, and the gains of DSC over it lie between 0.7 and
# 2.6 points of F1. The largest is on Quoref, where a question may have several answers. Part of that gain
# could come from the way a reader answers: a choice gives one span, while decisions can give several.
#
# Where does the first column come from? In the rows of BERT, the paper cites {cite:t}`devlin2019bert` for it. On
# SQuAD it equals, digit for digit, what they report for BERT-large on the development sets:

# %%
of_bert_large = {"squad11": "84.1 / 90.9", "squad20": "78.7 / 81.9"}
for name, published in of_bert_large.items():
    in_table_6 = printed[name, "BERT"]["ce"]
    print(f"{name}: Table 6 {in_table_6}, published {published}")

# %% [markdown]
# So the baseline of the BERT rows on SQuAD is a choice, and it is the large model. The other columns use losses that
# the paper writes for decisions, and the authors' scripts name BERT-base ([chapter 15](15_audit.ipynb)). Therefore a
# gain may mix three effects: that of the loss, that of the way to answer, and that of the size of the model. To find
# out, you would train cross entropy both ways, and decisions from both starts. The command `make reproduce TABLE=6
# PROFILE=paper` makes the paper's rows ([The paper's tables](../docs/tables.md) says how many
# hours it takes).

# %% [markdown]
# ## Summary
#
# - A reader that chooses has no imbalance within a window. One that decides has more than a hundred negatives for
#   each positive on SQuAD, and some eighty here.
# - *Real* text, three seeds: from a bias near 0, decisions with cross entropy answer nothing. From the log
#   prior, with a tuned threshold, they are level with the choice.
# - Dice is a few points lower with tuned thresholds, but it is ahead of cross entropy over decisions at argmax. So if
#   you cannot tune a threshold, use the choice, or dice.
# - *Made-up* text, one seed: with the right start and tuned thresholds, the three readers are within five
#   points of each other.
# - Tune the threshold of silence for every reader before you compare them.

# %% [markdown]
# ## Exercises
#
# **1.** A reader by decisions says p = 0.01 everywhere. What is its mean cross entropy
# with one positive among eighty-one positions? And what is its loss if it says p = 1/81?

# %% mystnb={"code_prompt_show": "Solution 10.1"} tags=["solution", "hide-cell"]
for p in (0.01, 1 / 81):
    print(f"p = {p:.4f}: {-(np.log(p) + 80 * np.log(1 - p)) / 81:.4f}")

# %% [markdown]
# **2.** Now take the squared dice loss of [Eq. 8](eq-8) with γ = 1, for a batch of 32 such windows. What does it cost to say
# "no" everywhere, and what is the least that the loss can be?

# %% mystnb={"code_prompt_show": "Solution 10.2"} tags=["solution", "hide-cell"]
positives = 2 * 32
for p in (0.0, 1 / 81):
    overlap, size = p * positives, p**2 * 81 * positives + positives
    print(f"p = {p:.4f}: {1 - (2 * overlap + 1) / (size + 1):.3f}; the least is 0")

# %% [markdown]
# **3.** Allow only short answers. What happens to EM and F1 of the reader by choice if an answer may have at most
# three sub-words?

# %% mystnb={"code_prompt_show": "Solution 10.3"} tags=["solution", "hide-cell"]
short = reading.decode(
    trained[first].logits["test"], encoded, "test", as_choice=by_choice, max_answer_length=3
)
rules = {"language": language, "all_of": all_of}
scores = reading.score(short, gold["test"], threshold=0, **rules)
{name: round(value, 1) for name, value in scores.items()}

# %% [markdown]
# **4.** Split the score of the reader by choice into questions with and without an answer. On which of them
# does the tuned threshold gain?

# %% mystnb={"code_prompt_show": "Solution 10.4"} tags=["solution", "hide-cell"]
has = np.array([bool(answers["text"]) for answers in gold["test"]])
for how in ("0", "tuned"):
    threshold = table[first, how]["threshold"]
    parts = {}
    for kind, chosen in (("answerable", has), ("unanswerable", ~has)):
        some = [found[first][i] for i in np.flatnonzero(chosen)]
        truth = [gold["test"][i] for i in np.flatnonzero(chosen)]
        scores = reading.score(some, truth, threshold=threshold, **rules)
        parts[kind] = round(scores["exact_match"], 1)
    print(how, parts)

# %% [markdown]
# **5.** (Research.) Does cross entropy over decisions leave silence if positives weigh more?
# Use the loss `wce` with the weights of [Eq. 2](eq-2). Compare its gradient at the start of training, at a
# positive and at a negative position, with that of plain cross entropy.

# %% mystnb={"code_prompt_show": "Solution 10.5"} tags=["solution", "hide-cell"]
from dicebook import log_ratio_weights, make_loss

s = torch.full((81,), -4.4, requires_grad=True)  # p = 1/81 everywhere
y = torch.zeros(81)
y[0] = 1
weights = log_ratio_weights(torch.tensor([negative, positive]))
for criterion in (make_loss("binary_ce"), make_loss("binary_wce", weight=weights)):
    (slope,) = torch.autograd.grad(criterion(s, y), s)
    pull = -slope[0].item() / slope[1:].sum().item()
    print(
        f"{type(criterion).__name__}: the positive pulls {pull:.1f} times as hard as all negatives"
    )

# %% [markdown]
# ## The record

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
for name, result in trained.items():
    kind = "choice" if name == "choice" else "decisions"
    record = runs.make_record(
        chapter="10_reading",
        parameters={**asdict(readers[name]), "reader": kind, "language": language},
        metrics={
            "test": {**table[name, "0"], "em": table[name, "0"]["exact_match"]},
            "test_tuned": {**table[name, "tuned"], "em": table[name, "tuned"]["exact_match"]},
            "majority": majority,
        },
        history=result.history,
        measured=result.measured,
    )
    if experiment.output_dir:
        of_reader = readers[name]
        runs.write_record(Path(of_reader.output_dir) / of_reader.loss, record)
    print(f"{name}: F1 {record['metrics']['test']['f1']:.1f}")


# %% tags=["remove-cell"]
def f1_interval(answers, threshold=0.0, draws=2000):
    """95% of the F1 of draws of the test questions, with replacement."""
    rules = {"threshold": threshold, "language": language, "all_of": all_of}
    pairs = zip(answers, gold["test"], strict=True)
    each = np.array([reading.score([said], [truth], **rules)["f1"] for said, truth in pairs])
    draw = np.random.default_rng(0).integers(len(each), size=(draws, len(each)))
    return np.quantile(each[draw].mean(1), [0.025, 0.975]).tolist()


def best_sentence(row):
    """The sentence that shares most words with the question; among equals the first."""
    asked = set(span_scores.words(row["question"], language))
    sentences = re.split(r"(?<=[.!?。！？]) *", row["context"].strip())
    shared = [len(asked & set(span_scores.words(text, language))) for text in sentences]
    return sentences[int(np.argmax(shared))]


floors = {
    "paragraph": [reading.Answer(row["context"], 1.0) for row in questions["test"]],
    "sentence": [reading.Answer(best_sentence(row), 1.0) for row in questions["test"]],
}
decided = {(name, ""): (answers, 0.0) for name, answers in floors.items()}
decided |= {
    (name, how): (found[name], table[name, how]["threshold"])
    for name in trained
    for how in ("0", "tuned")
}
rules = {"language": language, "all_of": all_of}
page = real_runs.keep(
    experiment,
    data={
        **{split: len(rows) for split, rows in questions.items()},
        "negatives per positive": negative / positive,
    },
    results=trained,
    scores=[
        {
            "reader": name,
            "threshold": how,
            **reading.score(said, gold["test"], threshold=at, **rules),
            "interval": f1_interval(said, at),
        }
        for (name, how), (said, at) in decided.items()
    ],
    errors=errors,
    own=own,
)
