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
# In this chapter you train both, on the same paragraphs. We see why the second kind may stay silent, which loss and
# which start make it speak, and how you decide when a reader should give no answer. On SQuAD, with all layers of MiniLM,
# two passes and three seeds, a reader by decisions finds next to nothing from an output bias near 0. From the log prior
# and with a tuned threshold, we cannot distinguish it from the reader by choice. What we changed is not the loss. It is
# where the output bias starts.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who extract spans: answers, arguments, highlights.
# - **You need** [chapter 09](09_named_entities.ipynb) and the dice losses of
#   [chapter 07](07_all_losses.ipynb).
# - **You will be able to** train a reader in two ways, say which of them has an imbalance problem, and tune when it
#   stays silent.
# - **Time** about three quarters of an hour on a CPU core for the run of this page, a few minutes on a GPU. Without the
#   corpus, the same cells run in two minutes on a small one.
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
# ## 10.1 The parameters
#
# The next cell holds everything that you can change, as in [section 8.1](08_part_of_speech.ipynb). The corpus is SQuAD
# 1.1 {cite}`rajpurkar2016squad`, of which we take a part. (For the run of this page all three parts were drawn from
# different articles of SQuAD's training file. `dicebook data squad11` prepares the corpus as it was published, so your
# numbers will be a little different.) You can also set the parameters from the command line:
#
# ```bash
# dicebook data squad11 --out data     # fetch the corpus
# papermill --log-output notebooks/10_reading.ipynb out.ipynb \
#     -p loss ce,dl,dsc -p output_dir runs/10
# ```

# %% tags=["parameters"]
corpus: str = "squad11"  # registered name, or your file
encoder: str = "minilm"  # or "tiny", a folder, a hub model
loss: str = "ce,dl"  # of ce, wce, fl, dl, tl, dsc, MODULE:NAME
loss_options: dict = {}  # options by loss: {"dsc": {"alpha": 0.01}}
start: str = "prior"  # the output bias starts there; or at "zero"
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 2  # passes over the training questions
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # windows in a step
learning_rate: float = 1e-4  # the peak of its schedule
max_length: int = 192  # sub-words in a window, question included
train_size: int = 1500  # training questions; 0 for all
eval_size: int = 300  # scored questions of a split; 0 for all
device: str = "auto"  # "auto", "cpu", "cuda" or "mps"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing
by_choice: bool = True  # train the reader by choice, too
language: str = "auto"  # of the scoring rules: "auto", "en" or "zh"

# %%
from dicelab import chapters
from dicelab.training.experiment import ParameterError

experiment = chapters.experiment(
    "10_reading",
    globals(),
    also=["by_choice", "language"],
)
if not isinstance(by_choice, bool):
    wrong = f"expected True or False, got {by_choice!r}"
    raise ParameterError(f"parameter 'by_choice': {wrong}")
print(f"{experiment.corpus}, {experiment.encoder}")

# %% [markdown]
# ## 10.2 From a question to a score
#
# What does a reader get, and what must it return? It gets a paragraph and a question, and returns a span of the
# paragraph. We may not print paragraphs of the corpus here, so this one is ours:

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
ours = {
    "question": "Who designed it?",
    "context": PARAGRAPH,
    "answers": {
        "text": ["Agnes Tolland"],
        "answer_start": [PARAGRAPH.index("Agnes Tolland")],
    },
}
print(ours["question"], ours["answers"])

# %% [markdown]
# The corpus gives the text of an answer, and where it starts, in characters. Some corpora have questions without an
# answer, and then the reader should be silent. How many such questions are there?

# %%
from dicelab import corpora
from dicelab.training.sampling import sample

whole = corpora.load(experiment.corpus, task="reading")
texts = whole["train"]["question"]
language = corpora.language_of(experiment.corpus, language, texts)
questions = sample(whole, experiment)
known = corpora.CORPORA.get(experiment.corpus)
all_of = known is not None and known.scorer == "quoref"
gold = {split: rows["answers"] for split, rows in questions.items()}
for split, rows in gold.items():
    silent = sum(not answers["text"] for answers in rows)
    print(f"{split}: {len(rows):,} questions, {silent:,} without an answer")

# %% [markdown]
# How good is an answer that is nearly right? Two scores are usual. Both first remove upper case, articles and
# punctuation. **Exact match** (EM) counts an answer that equals a gold answer word for word. **F1** gives credit for
# shared words, or in Chinese (CMRC 2018<!-- a name -->) for shared characters. If a question has no answer, only silence counts as
# right.
#
# Some questions have several gold answers, and the corpora differ in what they do with them. In SQuAD they are
# alternatives, and the best of them counts. In Quoref they are all needed, so one of two names is not an exact match:

# %%
import pandas as pd

from dicelab.tasks import reading

one_of_two = [reading.Answer("Ada", 1.0)]
both_wanted = [{"text": ["Ada", "Grace"], "answer_start": [0, 8]}]
half_a_name = [reading.Answer("大学", 1.0)]
whole_name = [{"text": ["北京大学"], "answer_start": [0]}]
rules = {
    "“Ada”, alternatives (SQuAD)": (one_of_two, both_wanted, {}),
    "“Ada”, all (Quoref)": (one_of_two, both_wanted, {"all_of": True}),
    "“大学”, by word": (half_a_name, whole_name, {}),
    "“大学”, by character": (half_a_name, whole_name, {"language": "zh"}),
}
scored = {n: reading.score(*two, **how) for n, (*two, how) in rules.items()}
names = {"exact_match": "EM", "f1": "F1"}
pd.DataFrame(scored).T.rename(columns=names).round(1)

# %% [markdown]
# The last two lines have the gold answer “北京大学”.
#
# ## 10.3 What simple rules reach
#
# Before you train, you should know what you get without training. The first rule answers with the whole paragraph. The
# second one answers with the sentence that shares most words with the question. The third one is always silent. The
# brackets are [bootstrap intervals](bootstrap) over test questions.

# %%
import re

import numpy as np

from dicelab.tasks import span_scores


def best_sentence(row):
    """The sentence that shares most words with the question."""
    asked = set(span_scores.words(row["question"], language))
    sentences = re.split(r"(?<=[.!?。！？]) *", row["context"].strip())
    words = [set(span_scores.words(text, language)) for text in sentences]
    return sentences[int(np.argmax([len(asked & of) for of in words]))]


test = list(questions["test"])
answers = {
    "whole paragraph": [row["context"] for row in test],
    "best sentence": [best_sentence(row) for row in test],
    "silence": [""] * len(test),
}


# %%
def described(found, split="test"):
    """EM and F1 in percent, F1 with its interval over questions."""
    rules, each = {"language": language, "all_of": all_of}, []
    for said, truth in zip(found, gold[split], strict=True):
        each.append(reading.score([said], [truth], **rules))
    em, f1 = (np.array([row[of] for row in each]) for of in names)
    size = (2000, len(f1))
    draws = f1[np.random.default_rng(0).integers(len(f1), size=size)]
    low, high = np.quantile(draws.mean(1), [0.025, 0.975])
    interval = f"{f1.mean():.1f} [{low:.1f}, {high:.1f}]"
    return {"EM": f"{em.mean():.1f}", "F1": interval}


table = {}
for name, texts in answers.items():
    table[name] = described([reading.Answer(text, 1.0) for text in texts])
pd.DataFrame(table).T

# %% [markdown]
# ## 10.4 Windows, and what is imbalanced
#
# The encoder reads question and paragraph as one sequence, so that each word of the paragraph can look at the
# question. A long paragraph does not fit into the encoder. Therefore we divide it into windows that overlap, so that
# an answer at the edge of one window is whole in the next.

# %%
from dicelab.training.encoders import load_tokenizer

texts = (f"{r['question']} {r['context']}" for r in questions["train"])
length = experiment.max_length
tokenizer = load_tokenizer(experiment.encoder, texts, max_length=length)
encoded = reading.encode(
    questions,
    tokenizer,
    max_length=length,
    stride=length // 4,
)
splits = encoded.splits
n, windows = len(questions["train"]), len(splits["train"])
print(f"{n:,} questions in {windows:,} windows")

# %% [markdown]
# How do we write an answer as labels? Each position gets two: does an answer start here, and does one end
# here? Answers come in characters and the model sees sub-words, so we need to know which characters each
# sub-word covers. The tokenizer tells us. The function below does it for one window, and `reading.encode` for
# all of them:

# %%
import torch


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


ids = tokenizer(ours["question"], ours["context"])["input_ids"]
pieces = tokenizer.convert_ids_to_tokens(ids)
for name, column in zip(("start", "end"), labels_of(ours).T, strict=True):
    print(name, [pieces[i] for i in torch.nonzero(column == 1)])

# %%
negative, positive = encoded.counts()
print(f"{negative:,} positions with the answer no, {positive:,} with yes")
print(f"{negative / positive:.0f} negatives for each positive")


# %% [markdown]
# In SQuAD, [chapter 01](01_imbalance.ipynb) counts about sixty words for each start or end. That chapter counts each
# word once. A reader needs two decisions for each position, one for a start and one for an end, and positions are
# sub-words, so it has more negatives for each positive. But whether this is an imbalance for the *model* depends on how
# it answers, as we see next.
#
# ## 10.5 A choice, or many decisions
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
# Why would you want decisions at all? They can mark several answers at once, while a choice marks only one.
#
# The choice is a few lines. The label of a position is 1 at the answer and 0 elsewhere in the paragraph. Where a window
# has several answers, the model may choose any of them.

# %%
def choice_loss(outputs, labels):
    """Eq. 10.1 for starts and ends, a mean over windows."""
    total = 0.0
    for side in range(2):
        logits = (outputs.start_logits, outputs.end_logits)[side]
        target = labels[..., side]  # −100 outside of the paragraph
        none = torch.zeros_like(target, dtype=torch.bool)
        none[:, 0] = True  # "no answer" is the first position
        has = (target == 1).any(-1, keepdim=True)
        right = torch.where(has, target == 1, none)
        z = logits.masked_fill((target < 0) & ~none, -torch.inf)
        of_right = z.masked_fill(~right, -torch.inf).logsumexp(-1)
        total = total + (z.logsumexp(-1) - of_right).mean() / 2
    return total


# %%
from dicelab.training.trainer import build_loss


def loss_of(name):
    """A reader's loss, from outputs and labels."""
    if name == "choice":
        return reading.choice
    counts = encoded.counts()
    binary = build_loss(experiment, name, counts, binary=True)
    return reading.Decisions(binary)


torch.manual_seed(experiment.seed)
model = reading.model(experiment.encoder, tokenizer)
collate = reading.collator(tokenizer, as_choice=False)
batch = collate([splits["train"][i] for i in range(4)])
labels = batch.pop("labels")
outputs = model(**batch)
print("starts", list(outputs.start_logits.shape))
print("labels", list(labels.shape))
for name in ("choice", *experiment.losses):
    print(f"{name} {loss_of(name)(outputs, labels).item():.3f}")
theirs = reading.choice(outputs, labels)
torch.testing.assert_close(choice_loss(outputs, labels), theirs)


# %% [markdown]
# The library's choice, which trains, has the value of ours.
#
# ## 10.6 Training
#
# The reader by choice comes first. The function `train` is that of [section 9.4](09_named_entities.ipynb). After each
# pass we measure F1 on the validation questions, at the threshold of silence that suits the reader best.

# %%
def answers_of(logits, split, as_choice):
    """The best span of every question of a split."""
    return reading.decode(logits, encoded, split, as_choice=as_choice)


def answers_at(threshold, logits, split, as_choice):
    """What a reader says that is silent below a threshold."""
    if all_of and not as_choice:
        cut = {"threshold": threshold}
        return reading.decode_several(logits, encoded, split, **cut)
    silence = reading.Answer("", 0.0)
    best = answers_of(logits, split, as_choice)
    return [a if a.score >= threshold else silence for a in best]


def scores_at(threshold, logits, split, as_choice):
    """Scores of a split with a threshold of silence."""
    found = answers_at(threshold, logits, split, as_choice)
    rules = {"language": language, "all_of": all_of}
    return reading.score(found, gold[split], **rules)


# %%
def tuned_threshold(logits, as_choice):
    """The threshold of silence with the best F1 on validation."""
    if all_of and not as_choice:
        tune = reading.tune_threshold_of_several
        return tune(logits, encoded, "validation")
    found = answers_of(logits, "validation", as_choice)
    return reading.tune_threshold(found, gold["validation"], language)


# %%
from dataclasses import replace

from dicelab.training.trainer import train


def experiment_of(name):
    """The parameters of a reader."""
    if name != "choice":
        return experiment.only(name)
    folder = output_dir and f"{output_dir}/choice"  # its loss is ce, too
    alone = {"loss": "ce", "loss_options": {}, "output_dir": folder}
    return replace(experiment, **alone)


# %%
def fit(name):
    """A reader: by choice, or by decisions with one of the losses."""
    as_choice = name == "choice"

    def evaluate(logits, split):
        threshold = tuned_threshold(logits, as_choice)
        return scores_at(threshold, logits, "validation", as_choice)

    return train(
        experiment_of(name),
        build_model=lambda: reading.model(encoder, tokenizer),
        counts=[encoded.counts()] * 2,
        splits=splits,
        collator=reading.collator(tokenizer, as_choice=as_choice),
        tokenizer=tokenizer,
        compute_loss=loss_of(name),
        evaluate=evaluate,
    )


# %%
readers = ["choice"] * by_choice + list(experiment.losses)
first = readers[0]
trained = {first: fit(first)}


# %% [markdown]
# ## 10.7 Decoding, and when to stay silent
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


# %% [markdown]
# Should the reader give this answer, or stay silent? We compare the span's score with the score of "no
# answer", which is that of the first position for a choice, and 0 for decisions. If the difference is below a
# threshold, the reader is silent. The threshold is either `0`, or `tuned` on the validation questions.

# %%
found, at = {}, {}


def decide(name):
    """What a reader says about the test questions, at two thresholds."""
    as_choice = name == "choice"
    logits = trained[name].logits
    best = tuned_threshold(logits["validation"], as_choice)
    for how, threshold in (("0", 0.0), ("tuned", best)):
        said = answers_at(threshold, logits["test"], "test", as_choice)
        found[name, how], at[name, how] = said, threshold
        table[f"{name}, {how}"] = described(said)


decide(first)
pd.DataFrame(table).T


# %% [markdown]
# With a tuned threshold the reader by choice has an F1 of 38.4, more than twice that of the best rule. At the threshold 0
# it is sometimes silent, and every silence is wrong here, because each question has an answer. After 1,500 questions and
# two passes it has not learned all that it could: the F1 on validation still rises steeply.
#
# ## 10.8 Errors, and questions of your own
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
# How often does each kind of error occur? We count them by question word, because it may be harder to find a reason than
# a name:

# %%
from collections import Counter

ASKED = ("who", "when", "where", "why", "how", "which", "what")
KINDS = ("right", "too long", "too short", "beside it", "elsewhere")
errors = {}
for said, row in zip(found[first, "tuned"], test, strict=True):
    text = row["question"].lower()
    word = next((word for word in ASKED if word in text), "other")
    of_word = errors.setdefault(word, Counter())
    said = said if isinstance(said, reading.Answer) else said[0]
    of_word[kind_of(said.text, row["answers"]["text"])] += 1
by_word = pd.DataFrame(errors).T.reindex(columns=[*KINDS, "silent"])
by_word.fillna(0).astype(int).reindex([w for w in ASKED if w in errors])


# %% [markdown]
# About a third of the answers to *who*, *when* and *how* are exactly right, and none of those to *why*. A reason has no
# clear first and last word, so it is easy to miss by a word. But half of the answers to *why* are from elsewhere
# altogether. Over all questions, answers are more often too long than too short.
#
# You can also ask questions yourself. Give the question and the paragraph to the model as one sequence, keep
# the logits inside the paragraph, and take the best span:

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
OWN = """
When was the lighthouse built? | 1871
Who designed it? | Agnes Tolland
Where did the granite come from? | Penhale
Why did the engineer not want brick? | it had failed on two earlier towers
How many ships had been lost in one winter? | three
What did the lamp burn at first? | whale oil
How many steps did the keeper climb? | 142
How often did the keeper climb the steps? | every four hours
When did electricity come? | 1934
What took over the work of the keeper? | a timer
What is the cottage today? | a small museum
When is the museum open? | May to September
"""


# %%
def ask(names):
    """The answers of some readers to our questions."""
    rows = []
    for line in OWN.strip().splitlines():
        question, meant = line.split(" | ")
        said = {name: answer(name, question, PARAGRAPH) for name in names}
        rows.append({"question": question, "meant": meant, **said})
    return pd.DataFrame(rows)


ask([first])

# %% [markdown]
# The reader finds who designed the lighthouse, what the lamp burned, when electricity came, what the cottage is, and when
# the museum is open. One sentence has two numbers, the steps and the hours, and the reader does not keep them apart. The
# question with *why* is too hard for it. [Chapter 22](22_your_own_data.ipynb) trains and keeps such a reader on a file of your own.
#
# ## 10.9 The other readers
#
# Now we train the readers by decisions, from the same encoder and the same batches. The output bias starts at the
# log-odds of a positive position.

# %%
for name in readers[1:]:
    print(name)
    trained[name] = fit(name)
    decide(name)
negative, positive = encoded.counts()
print(f"{negative / positive:.0f} negatives for each positive")
pd.DataFrame(table).T

# %% [markdown]
# At the threshold 0 the reader by decisions with cross entropy answers no question, although it has learned: with a tuned
# threshold its F1 is 38.0, and that of the choice is 38.4. With 164 negatives for each positive, its log-odds still lie
# below 0 after two passes. Dice answers some questions at the threshold 0, and has 27.5 with a tuned one. Its F1 on
# validation doubles in the second pass, so two passes over 1,500 questions may be too few for it. This is one seed and
# one learning rate. What follows for you? Tune the threshold before you compare two readers.
#
# ## 10.10 Decisions from two starts
#
# At nearly every position, the right decision is "no". If the output bias is near 0, a reader that decides begins
# with a probability of about one half everywhere, and so it first has to learn to say "no". [Chapter
# 02](02_cross_entropy.ipynb) has a remedy: let the bias start at the log-odds of a positive, as detectors with focal
# loss do {cite}`lin2017focal`. Does it matter here?
#
# We trained readers on 6,000<!-- the draw --> questions of SQuAD 1.1, on a GPU, with all layers of MiniLM, two passes and one learning
# rate. Each loss had both starts and three seeds. The test questions are about other articles than the training
# questions (`dicelab/records/data/gpu/chapters.json` has the scores, `results/README.md` the draw). [Figure 10.1](fig-10-1)
# shows what they reached.

# %% tags=["remove-cell"]
import json

from dicelab.records import runs


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


# %% mystnb={"code_prompt_show": "Code of Figure 10.1", "figure": {"caption": "Figure 10.1. With a tuned threshold and the log prior, decisions with cross entropy are at the choice; from near 0 they are below a rule that learns nothing. Readers of SQuAD 1.1, all layers of a small pretrained encoder, three seeds: F1 on 2,004 test questions, with a tuned threshold (full) and at argmax, which is the threshold 0 (hollow). The choice has six points, because it was trained twice with each seed. The dotted line is a rule that learns nothing: it answers with the sentence that has most words of the question.", "name": "fig-10-1"}, "image": {"alt": "Nine rows of dots. The choice, and decisions with cross entropy from the log prior and a tuned threshold, lie together at about fifty-two; dice and self-adjusting dice from either start lie between forty-two and fifty tuned, and a few points lower at argmax. Cross entropy from the log prior at argmax lies between six and nineteen. Cross entropy from near 0 and focal loss from either start lie at zero at argmax and below the dotted line at seventeen when tuned."}} tags=["hide-input"]
import matplotlib.pyplot as plt


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

# %% mystnb={"code_prompt_show": "Code and table of Figure 10.1"} tags=["hide-cell"]
_rows, _questions = real_readers()
for _what, _n in _questions.items():
    print(f"{_what}: {_n}")
_rows.groupby("reader")[["argmax", "tuned"]].mean().round(1)

# %% [markdown]
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
# ## 10.11 The paper's Table 6
#
# Decisions can reach the F1 of a choice. Does a dice loss make them better? The paper reports gains of its dice
# losses, in Table 6:

# %% tags=["nbval-check-output"]
from dicelab.records import paper

printed = {}
for row in paper.table(6).rows:
    if row.loss:
        cells = (row.printed.get(name, "–") for name in ("em", "f1"))
        of_reader = printed.setdefault((row.corpus, row.backbone), {})
        of_reader[row.loss] = " / ".join(cells)
pd.DataFrame(printed).T

# %% [markdown]
# Each cell is EM / F1. The first column is cross entropy, and the gains of DSC over it lie between 0.7 and
# 2.6<!-- Table 6 --> points of F1. The largest is on Quoref, where a question may have several answers. Part of that gain
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
#   each positive on SQuAD.
# - *Real* text (SQuAD, all layers of MiniLM, two passes, three seeds): from a bias near 0, decisions with cross entropy
#   answer nothing. From the log prior, with a tuned threshold, we cannot distinguish them from the choice.
# - Dice is a few points lower with tuned thresholds, but it is ahead of cross entropy over decisions at argmax. So if
#   you cannot tune a threshold, use the choice, or dice.
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
# **3.** Allow only short answers. What happens to EM and F1 of the first reader if an answer may have at most
# three sub-words?

# %% mystnb={"code_prompt_show": "Solution 10.3"} tags=["solution", "hide-cell"]
short = reading.decode(
    trained[first].logits["test"],
    encoded,
    "test",
    as_choice=first == "choice",
    max_answer_length=3,
)
described(short)

# %% [markdown]
# **4.** How often is each reader silent, at the threshold 0 and at the tuned one?

# %% mystnb={"code_prompt_show": "Solution 10.4"} tags=["solution", "hide-cell"]
quiet = {}
for (name, how), said in found.items():
    texts = [
        of.text if isinstance(of, reading.Answer) else "".join(a.text for a in of) for of in said
    ]
    quiet.setdefault(name, {})[how] = f"{100 * np.mean([not text for text in texts]):.0f}%"
pd.DataFrame(quiet).T

# %% [markdown]
# The run of this page:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
from dataclasses import asdict
from pathlib import Path

_majority = scores_at(np.inf, trained[first].logits["test"], "test", True)

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
for _name, _result in trained.items():
    _choice, _one = _name == "choice", experiment_of(_name)
    _scores = {
        how: scores_at(at[_name, how], _result.logits["test"], "test", _choice)
        for how in ("0", "tuned")
    }
    chapters.end_run(
        "10_reading",
        _name,
        output_dir and Path(_one.output_dir) / _one.loss,
        _result.first_losses,
        parameters={
            **asdict(_one),
            "reader": "choice" if _choice else "decisions",
            "language": language,
        },
        metrics={"test": _scores["0"], "test_tuned": _scores["tuned"], "majority": _majority},
        history=_result.history,
        measured=_result.measured,
    )
print(", ".join(f"{name} {version}" for name, version in runs.versions().items()))
