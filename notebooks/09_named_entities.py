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
# names? In this chapter we train one tagger with four losses, all else equal. Then we train the model of the
# paper's Table 5, which reads a sentence together with a question about one type of entity. Here is the answer in
# short: on real text, with a search of settings for each loss, we cannot tell whether dice or cross entropy finds
# more entities.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who train taggers and wonder whether another loss would find more entities.
# - **You need** the losses of [chapter 07](07_all_losses.ipynb), and some acquaintance with BERT
#   {cite}`devlin2019bert`.
# - **You will be able to** train a tagger with any loss of this book, or a model that finds entities as answers to
#   questions. You can tune its threshold, and compare losses fairly.
# - **Time** about three minutes on a CPU core with the parameters as printed. With a real encoder and corpus, half an
#   hour on two CPU cores or a few minutes on a GPU.
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
from copy import deepcopy
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from torch.nn.utils.rnn import pad_sequence
from transformers import get_linear_schedule_with_warmup

from dicebook import TrainerLoss, log_ratio_weights, start_at_prior
from dicelab import corpora, figures, real_runs
from dicelab.records import paper, runs, searched, speed
from dicelab.tables import minus, signed
from dicelab.tasks import entity_errors, mrc_ner, tagging
from dicelab.tasks.entity_queries import query
from dicelab.training.encoders import load_tokenizer
from dicelab.training.experiment import Experiment, ParameterError
from dicelab.training.sampling import sample
from dicelab.training.trainer import build_loss, device_of, train

figures.use_style()


# %% tags=["remove-cell"]
def tag_tasks():
    """The records of the controlled study, by its tasks of tagging, as the pictures call them."""
    names = {"wnut17": "WNUT 2017", "wikigold": "Wikigold", "uner_en_ewt": "UNER, English"}
    fields = ("ai", "literature", "music", "politics", "science")
    names |= {f"crossner_{field}": f"CrossNER, {field}" for field in fields}
    study = searched.read_tasks()
    return {name: study[task] for task, name in names.items()}


def on_wnut17():
    """How often O is right, F1 of the dictionary, and of an arm decided in a way."""
    records = tag_tasks()["WNUT 2017"]
    task = next(r for r in records if r["kind"] == "task")
    test = task["sizes"]["test"]
    f1 = {
        (arm, how): searched.mean_f1(records, arm, how)
        for arm in ("ce_start", "dice", "dice_start")
        for how in ("argmax", "tuned")
    }
    return 100 * (1 - test["positive"] / test["rows"]), task["baseline"], f1


# %% mystnb={"code_prompt_show": "Code of Figure 9.1", "figure": {"caption": "Figure 9.1. WNUT 2017, real text. F1 of entities on the test set: circles at argmax, diamonds with a tuned threshold. The F1 of a loss is a mean over searches (section 9.11). The grey cross is not an F1: it is the share of words that are O.", "name": "fig-9-1"}, "image": {"alt": "Five rows. A tagger that says O to every word has its cross at 93% and its circle at 0. A dictionary has 12. Cross entropy and dice, from a bias near 0 and from the log prior, all have their two marks close together, between 36 and 39."}} tags=["hide-input"]
def draw_found():
    outside, dictionary, f1 = on_wnut17()
    _, ax = plt.subplots(figsize=(5.6, 2.5))
    ax.plot(outside, 0, "X", color=figures.NEGATIVE, ms=9)
    beside = {"xytext": (-8, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
    ax.annotate("words right", (outside, 0), size=9, color="#6F6F6F", **beside)
    ax.plot([0, dictionary], [0, 1], "o", color="black")
    for row, arm in enumerate(("ce_start", "dice", "dice_start"), start=2):
        color = figures.style("ce" if arm == "ce_start" else "dice")["color"]
        ax.plot(f1[arm, "argmax"], row, "o", color=color)
        ax.plot(f1[arm, "tuned"], row, "D", color=color, fillstyle="none", ms=8, mew=1.5)
    names = [
        "O to every word",
        "a dictionary",
        "cross entropy",
        "dice, bias near 0",
        "dice, log prior",
    ]
    ax.set(yticks=range(5), yticklabels=names, ylim=(4.5, -0.5), xlim=(-3, 100))
    ax.set_xlabel("F1 of entities, %")
    plt.show()


draw_found()


# %% [markdown]
# How do you read Figure 9.1? A tagger that says `O` to every word is right for 93% of the words, and its F1 is 0,
# because it finds no entity. A dictionary gives each word the tag that it has most often in training. Cross entropy
# and dice have three times its F1, and they lie close together.

# %% [markdown]
# (a-tagger-that-works)=
# ## A tagger that works
#
# Let us first see what a tagger of this chapter can do. We gave the cells of sections 9.1 to 9.7 a real corpus and a
# pretrained encoder. The corpus is WNUT 2017 {cite}`derczynski2017wnut`, which has tweets, forum posts and comments.
# The encoder is MiniLM, and all of its six layers are trained. (With the parameters that are printed in section 9.1,
# the same cells train in a minute on made-up sentences.) The result of the real run is kept as a record, without the
# text of the corpus. Everything in this section is drawn from that record. `make real CHAPTER=09` runs it again. The
# time below was taken on a CPU core that was busy with other work, so your run will need less.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def real_run():
    """What the run on a real corpus left."""
    return runs.kept_page("09_named_entities")


def print_counts(page):
    data = page["data"]
    print(
        f"{data['train']:,} training sentences, {data['words']:,} words,",
        f"{data['outside, %']:.0f}% of them O",
    )


print_counts(real_run())
real_runs.describe(real_run(), "ce")

# %% mystnb={"code_prompt_show": "Code of Figure 9.2", "figure": {"caption": "Figure 9.2. WNUT 2017, the real run: F1 of entities on the validation sentences after each pass.", "name": "fig-9-real"}, "image": {"alt": "Two curves over four passes. Cross entropy rises from 43 to 57, steeply at first and then level. Dice starts higher, at 52, dips at the third pass and ends at 56."}} tags=["hide-input"]
real_runs.learning_curves(real_run())

# %% [markdown]
# These are the scores on the test sentences, with a 95% interval from draws of these sentences:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
real_runs.score_table(
    real_run(),
    {"precision": "precision", "recall": "recall", "f1": "F1"},
    {"majority": "O to every word", "dictionary": "a dictionary"},
    model="tagger",
)

# %% [markdown]
# The first two rows tell you how hard this corpus is. Its makers chose test sentences with new names. Therefore a
# dictionary of the training entities finds nothing at all: not one of them occurs in the test sentences in exactly
# the same letters. (The dictionary of Figure 9.1 looks up single words, and therefore finds a few.) The tagger with
# cross entropy and a tuned threshold has an F1 of 43.6. Its precision is higher than its recall: about half of what
# it finds is right, and it finds a little more than a third of what is there. Dice is three points lower here, but
# this is one seed of each and one learning rate, and the intervals overlap. [Section 9.11](fig-9-5) compares the two
# losses properly.
#
# Which errors remain? For each type of entity the table counts what the tagger with cross entropy and a tuned
# threshold did. An entity has a *wrong boundary* if the tagger found a part of it, or more than it. It is *missed* if
# the tagger found none of its words. It is *invented* if no word of it belongs to a gold entity.

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
pd.DataFrame(real_run()["errors"]).T

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
for _group, _n in real_run()["novelty"].items():
    _share = f"{100 * _n['right'] / _n['gold']:.0f}%"
    print(f"{_group:6} in training: {_n['right']} of {_n['gold']} entities are found, {_share}")


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
# Finally, here are a dozen sentences that we wrote ourselves. The brackets show what the tagger found:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
def own_sentences(page):
    rows = [
        {"right": "✓" if row["tagged"] == row["gold"] else "", "tagged": row["tagged"]}
        | {"what we meant": "" if row["tagged"] == row["gold"] else row["gold"]}
        for row in page["own"]
    ]
    return pd.DataFrame(rows).style.hide(axis="index")


own_sentences(real_run())

# %% [markdown]
# The tagger finds places and persons, also those that we invented. The two sentences that name nothing stay empty,
# although one of them has two names of months. The made-up titles and bands are missed, as the table above lets us
# expect, and *Apple* becomes a product beside the *iPod*.
#
# To try a sentence of your own, type `dicebook try 09 "..."`. A smaller model, a linear one on the frozen MiniLM,
# answers in seconds. [Chapter 22](22_your_own_data.ipynb) trains and keeps such a model on a file of your own.

# %% [markdown]
# ## The mechanics
#
# How is such a tagger made, and where does the loss enter? In this part we build one step by step. So that you can
# run every cell in a few minutes, the sentences are made up and the encoder starts from random weights. Therefore
# this part shows you how things work, but it cannot tell you which loss is best. Real text follows in sections 9.9
# to 9.12.
#
# ### 9.1 The parameters
#
# The next cell holds everything that you can change, as in [section 8.1](08_part_of_speech.ipynb). For example, this
# command runs the chapter with a real corpus and a real encoder:
#
# ```bash
# papermill notebooks/09_named_entities.ipynb out.ipynb -p corpus wnut17 \
#     -p encoder bert-base-cased -p loss ce,dsc -p learning_rate 5e-5 -p epochs 4 \
#     -p output_dir runs/wnut17
# ```

# %% tags=["parameters"]
corpus: str = "embedded-entities-en"  # registered name, or your file
encoder: str = "tiny"  # or "minilm", a folder, a hub model
loss: str = "ce,fl,dl,dsc"  # of ce, wce, fl, dl, tl, dsc, MODULE:NAME
loss_options: dict = {}  # by loss: {"dsc": {"squared": False}}, see 9.9
start: str = "prior"  # the output bias starts at the log prior; or "zero"
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 10  # passes over the training sentences
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # sentences in a step
learning_rate: float = 2e-3  # the peak; pretrained: 2e-5 to 2e-4
max_length: int = 64  # sub-words in a row; longer ones go on
train_size: int = 0  # training sentences; 0 for all
eval_size: int = 0  # scored sentences of a split; 0 for all
device: str = "auto"  # "auto", "cpu" or "cuda"
precision: str = "auto"  # "auto", "fp32", "bf16" or "fp16"
tensorboard: bool = False  # curves into output_dir
output_dir: str = ""  # checkpoints, records; "" keeps nothing
reader_epochs: int = 6  # passes of the reader of 9.8; 0 leaves it out
language: str = "auto"  # of its questions: "auto", "en" or "zh"

# %% [markdown]
# The losses are cross entropy (`ce`), focal loss (`fl`), dice loss (`dl`) and self-adjusting dice (`dsc`). The last
# two parameters belong to this chapter alone. They are about the *reader*, the model of section 9.8 that finds
# entities by questions.

# %%
experiment = Experiment.from_namespace(
    globals(),
    also=["reader_epochs", "language"],
)
if not isinstance(reader_epochs, int) or reader_epochs < 0:
    wrong = f"expected 0 or more, got {reader_epochs!r}"
    raise ParameterError(f"parameter 'reader_epochs': {wrong}")
listed = ", ".join(experiment.losses)
print(f"{len(experiment.losses)} losses on {experiment.corpus}: {listed}")

# %% tags=["remove-cell"]
# What the text says of this chapter's own runs holds for the parameters as they stand above.
printed = Experiment(
    corpus="embedded-entities-en",
    loss="ce,fl,dl,dsc",
    epochs=10,
    learning_rate=2e-3,
    max_length=64,
)
as_printed = replace(experiment, output_dir="") == printed and reader_epochs == 6

# %% [markdown]
# ### 9.2 From a sentence to a score
#
# What does the tagger learn from? A corpus of entities is a list of sentences in which every word carries a tag. In the
# scheme IOB2, `B-PER` begins a person, `I-PER` continues it, and `O` means that the word is outside of every entity.
# For example:

# %%
whole = corpora.load(experiment.corpus, task="tagging")
asks = reader_epochs and encoder != "tiny"  # tiny gets the type's name
if asks or language != "auto":
    texts = map(" ".join, whole["train"]["tokens"])
    language = corpora.language_of(experiment.corpus, language, texts)
entities = sample(whole, experiment)
lengths = [len(tokens) for tokens in entities["train"]["tokens"]]
for name, split in entities.items():
    found = sum(len(corpora.spans(tags)) for tags in split["tags"])
    print(f"{name}: {len(split):,} sentences, {found:,} entities")
example = entities["train"][int(np.argmax(np.array(lengths) >= 8))]
pd.DataFrame([example["tags"]], columns=example["tokens"], index=["tag"])

# %% [markdown]
# In the training sentences most words carry one and the same tag, `O`:

# %% tags=["nbval-check-output"]
count = corpora.imbalance(entities, task="tagging")
share = 100 * count.negative / (count.negative + count.positive)
print(
    f"{count.negative:,} words outside,",
    f"{count.positive:,} inside of an entity",
)
print(
    f"{count.ratio:.1f} negatives for each positive:",
    f"{share:.1f}% of the words are O",
)

# %% [markdown]
# The score looks at whole entities. A predicted entity is right if its first word, its last word and its type are
# all right. If any of the three is wrong, we count two errors: one gold entity is not found, and one predicted entity
# is wrong. Precision, recall and F1 count entities in this way. The library prints two scores of this kind. They
# differ in an `I-` tag that continues nothing: in `f1`, our score, it begins no entity, and in `f1_conlleval`, the
# score of many papers, it begins one. How does a tagger score that says `O` to every word of the test sentences?

# %% tags=["nbval-check-output"]
gold = entities["test"]["tags"]
nothing = [["O"] * len(tags) for tags in gold]
majority = tagging.score(gold, nothing)
print({name: round(value, 1) for name, value in majority.items()})

# %% [markdown]
# Its accuracy is high, and it finds no entity. This is why you should judge a tagger by F1 over entities, and not
# only by the share of its words that are right.

# %% [markdown]
# ### 9.3 Words to sub-words
#
# Our tags belong to words, but an encoder reads sub-words. Which of them gets the tag? We give it to the first sub-word
# of each word. The other sub-words and the special tokens get the label −100, and every loss of `dicebook` leaves out
# positions with this label.

# %%
texts = (" ".join(tokens) for tokens in entities["train"]["tokens"])
tokenizer = load_tokenizer(encoder, texts, max_length=max_length)
encoded = tagging.encode(entities, tokenizer, max_length=max_length)
row = encoded.splits["train"][0]
pieces = tokenizer.convert_ids_to_tokens(row["input_ids"])
pd.DataFrame({"sub-word": pieces, "label": row["labels"]})[:12].T


# %% [markdown]
# `tagging.encode` does this for a whole corpus. For one sentence, you can write the loop yourself:

# %%
def align(tokens, tags):
    """Sub-words of a sentence, and each word's tag at its first one."""
    coded = tokenizer(
        tokens,
        is_split_into_words=True,
        truncation=True,
        max_length=experiment.max_length,
    )
    labels, before = [], None
    for word in coded.word_ids():
        begins = word is not None and word != before
        labels.append(encoded.labels.index(tags[word]) if begins else -100)
        before = word
    return coded["input_ids"], labels


aligned = [align(row["tokens"], row["tags"]) for row in entities["train"]]

# %%
print(f"{len(encoded.labels)} labels: {', '.join(encoded.labels)}")
print(f"words cut off at {experiment.max_length} sub-words: {encoded.cut}")

# %% [markdown]
# ### 9.4 The model and its losses
#
# The model is the encoder with one linear layer on top. At every position this layer gives a row of logits, one for
# each label. With the parameters as printed the encoder is small, starts from random weights, and knows the sub-words
# of the training sentences only. A loss needs to know nothing else about the model. Therefore you can exchange the loss and leave all the
# rest as it is:

# %%
import torch

torch.manual_seed(experiment.seed)
model = tagging.model(experiment.encoder, tokenizer, encoded.labels)
four = [encoded.splits["train"][i] for i in range(4)]
batch = tagging.collator(tokenizer)(four)
inputs = {k: batch[k] for k in ("input_ids", "attention_mask")}
logits = model(**inputs).logits
print("logits", list(logits.shape), " labels", list(batch["labels"].shape))
size = model.config
print(
    f"{size.num_hidden_layers} layers of width {size.hidden_size},",
    f"{size.vocab_size:,} sub-words, {model.num_parameters():,} weights",
)

# %% [markdown]
# The losses are classes of `dicebook`, for example `dicebook.CrossEntropyLoss`. They take the logits as the model gives
# them, with the labels in the last place. (The loss of the same name in PyTorch wants them in the second place.) If you
# add weighted cross entropy, its weights come from the counts of the training split ([Eq. 2](eq-2)).

# %%
counts = encoded.counts()
for name in experiment.losses:
    criterion = build_loss(experiment, name, counts)
    value = criterion(logits, batch["labels"]).item()
    print(f"{name:4} {value:.3f}  {criterion}")


# %% [markdown]
# Before training the model gives every label about the same probability, so cross entropy is close to the logarithm
# of the number of labels. The two dice losses work at set level: the whole batch is one set, and each label is
# compared with all the others. Both have squared denominators. [Eq. 8](eq-8) prints the dice loss in this form. For
# self-adjusting dice it is a choice of this book, because [Eq. 12](eq-12) has a linear denominator. Section 9.9
# shows what squared denominators change.

# %% [markdown]
# ### 9.5 Training
#
# Now we train. Here is the whole training loop in plain PyTorch. Only the schedule of the learning rate comes from
# `transformers`. We pad each batch to its longest sentence, and the padding gets the label −100, so no loss sees it.

# %%
def padded(lists, fill):
    """Lists of numbers as one tensor, the shorter ones filled up."""
    tensors = [torch.tensor(numbers) for numbers in lists]
    return pad_sequence(tensors, batch_first=True, padding_value=fill)


def padded_batches(rows, size, generator=None):
    """Padded sub-words, their mask and labels; shuffled by a generator."""
    order = torch.arange(len(rows))
    if generator is not None:
        order = torch.randperm(len(rows), generator=generator)
    for some in order.split(size):
        ids, labels = zip(*(rows[i] for i in some), strict=True)
        ids = padded(ids, tokenizer.pad_token_id)
        yield ids, ids != tokenizer.pad_token_id, padded(labels, -100)


# %% [markdown]
# In each step we compute the loss of a batch and its gradient, clip the gradient at norm 1, and update the weights.

# %%
def step(model, loss, batch, optimizer, schedule):
    """One step of the weights against the gradient of one batch's loss."""
    ids, mask, labels = (tensor.to(model.device) for tensor in batch)
    value = loss(model(input_ids=ids, attention_mask=mask).logits, labels)
    value.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()


# %% [markdown]
# After each pass we score the validation sentences.

# %%
def evaluate(logits, split):
    """Entity scores of a split's logits."""
    tags = tagging.decode(logits, split, encoded.labels)
    return tagging.score(split["tags"], tags)


def logits_of(model, split):
    """Logits of all rows of a split, of shape [rows, length, labels]."""
    rows = list(zip(split["input_ids"], split["labels"], strict=True))
    parts = []
    model.eval()
    with torch.no_grad():
        for batch in padded_batches(rows, 128):
            ids, mask, _ = (tensor.to(model.device) for tensor in batch)
            logits = model(input_ids=ids, attention_mask=mask).logits.cpu()
            room = experiment.max_length - logits.shape[1]
            parts.append(torch.nn.functional.pad(logits, (0, 0, 0, room)))
    return torch.cat(parts).numpy()


# %% [markdown]
# The learning rate rises during the first tenth of the steps and then falls to zero. We keep the weights of the best
# pass.

# %%
def set_up(model, steps):
    """An optimizer for a model, and the schedule of its learning rate."""
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=experiment.learning_rate,
        weight_decay=0.01,
    )
    warmup = steps // 10
    schedule = get_linear_schedule_with_warmup(optimizer, warmup, steps)
    return optimizer, schedule


# %%
def fit_by_hand(loss, start):
    """A trained tagger, and its F1 on validation after each pass."""
    torch.manual_seed(experiment.seed)
    model = tagging.model(experiment.encoder, tokenizer, encoded.labels)
    if start == "prior":
        start_at_prior(model, counts)
    model.to(device_of(experiment))
    steps = experiment.epochs * -(-len(aligned) // experiment.batch_size)
    optimizer, schedule = set_up(model, steps)
    order = torch.Generator().manual_seed(experiment.seed)
    validation, scores, best = encoded.splits["validation"], [], {}
    for _ in range(experiment.epochs):
        model.train()
        for batch in padded_batches(aligned, experiment.batch_size, order):
            step(model, loss, batch, optimizer, schedule)
        f1 = evaluate(logits_of(model, validation), validation)["f1"]
        scores.append(f1)
        if scores[-1] == max(scores):
            best = deepcopy(model.state_dict())
    model.load_state_dict(best)
    return model, scores


# %%
by_hand = {}
for name in experiment.losses[:1] + experiment.losses[-1:]:
    for start in ("zero", "prior"):
        criterion = build_loss(experiment, name, counts)
        criterion.to(device_of(experiment))
        made, after = fit_by_hand(criterion, start)
        by_hand[name, start] = after
        print(f"{name:4} {start:6}", [round(f1) for f1 in after])
test = encoded.splits["test"]
f1 = evaluate(logits_of(made, test), test)["f1"]
print(f"test F1 of the last, {name} from the log prior: {f1:.1f}")

# %% [markdown]
# One line of this loop is easy to overlook. The function `start_at_prior` sets the output bias to the log prior of
# the tags ([section 2.3](start-bias)). Without it, the bias starts at 0. What does this line change?

# %% mystnb={"code_prompt_show": "Code of Figure 9.3", "figure": {"caption": "Figure 9.3. Two losses, each from two starts: F1 on the validation split after each pass. Dashed lines: the output bias starts at 0. Solid lines: it starts at the log prior."}, "image": {"alt": "Four curves over ten epochs. Cross entropy from a bias of 0 starts at 0 and ends lowest, near 34; from the log prior it starts at 15 and ends near 46. Self-adjusting dice starts near 15 from both and ends near 45 from 0 and near 51 from the log prior."}} tags=["hide-input"]
for (name, start), f1 in by_hand.items():
    dashes = "-" if start == "prior" else "--"
    style = {**figures.style(name), "linestyle": dashes}
    plt.plot(range(1, len(f1) + 1), f1, label=f"{name}, {start}", **style)
plt.xlabel("epoch")
plt.ylabel("F1 on the validation split, %")
plt.legend(title="loss, start")
plt.show()


# %% [markdown]
# Compare the dashed curves with the solid ones. From a bias of 0, cross entropy finds no entity in the first pass,
# because it learns first that most words are `O`. From the log prior it finds some at once, and it ends more than
# five points higher. Self-adjusting dice finds some in the first pass from either start, and it gains less from the
# log prior.
#
# What follows for you? If you compared the two losses from a bias of 0, much of what you saw would come from the
# start. Therefore we give every loss of this chapter the log prior (the parameter `start`).

# %% [markdown]
# In your own work you need not write this loop. The library's `train` does the same with `transformers.Trainer`. It
# puts sentences of similar length into a batch, so its scores differ a little from those above. It also continues a
# run that was interrupted, and uses a GPU with half precision. If a step is divided into smaller batches, it keeps the loss exact. It warns you when a model puts
# everything into one class. The test sentences are predicted only once, at the end.

# %%
def new_tagger():
    """The encoder and a new linear layer on top."""
    return tagging.model(experiment.encoder, tokenizer, encoded.labels)


trained = {}
for name in experiment.losses:
    print(name)
    trained[name] = train(
        experiment.only(name),
        build_model=new_tagger,
        counts=counts,
        splits=encoded.splits,
        collator=tagging.collator(tokenizer),
        tokenizer=tokenizer,
        compute_loss=TrainerLoss(build_loss(experiment, name, counts)),
        evaluate=evaluate,
    )

# %% [markdown]
# ### 9.6 Scores, and a baseline that must not be missing
#
# Our tagger says `O` wherever `O` has the largest logit. This rule need not be the best one for F1. We can change it
# without training: add one number to the logit of `O`, the *bias of O*. A negative number makes `O` less likely, so
# the tagger predicts more entities. In other words, this bias is the tagger's decision threshold. We tune it on the
# validation sentences, for every loss alike.

# %%
test, validation = encoded.splits["test"], encoded.splits["validation"]
gold = test["tags"]  # by row: a sentence that is cut in windows has several


def best_bias(logits, split):
    """The bias of O with the highest F1, the smallest of equal ones."""
    tried = {}
    for bias in np.linspace(-6, 6, 25):
        shifted = logits.copy()
        shifted[..., encoded.labels.index("O")] += bias
        tried[bias] = evaluate(shifted, split)["f1"]
    return max(tried, key=lambda bias: (tried[bias], -abs(bias)))


# %% [markdown]
# In the library, `tune_outside_bias` does this and also returns the score at each candidate.

# %%
curves, table = {}, {("majority", "argmax"): majority}
validated = {}
for name, result in trained.items():
    bias, curves[name] = tagging.tune_outside_bias(
        result.logits["validation"], validation, encoded.labels
    )
    by_bias = {point["outside_bias"]: point["f1"] for point in curves[name]}
    for how, b in (("argmax", 0.0), ("tuned", bias)):
        logits = result.logits["test"]
        tags = tagging.decode(logits, test, encoded.labels, outside_bias=b)
        table[name, how] = {**tagging.score(gold, tags), "bias of O": b}
        validated[name, how] = by_bias[b]
scored = pd.DataFrame(table).T
scored["validation f1"] = pd.Series(validated)
signed(scored)

# %% [markdown]
# Papers usually print the rows `argmax`. The rows `tuned` are the same models with a tuned threshold. Why do we
# show both? If cross entropy caught up with a dice loss once both thresholds are tuned, that dice loss would only
# have moved the threshold. This does not happen here. Tuning moves no row by more than two points, and both dice
# losses stay a few points above cross entropy.
#
# Does dice learn more, then? Before you conclude that, look at two things that this table lacks. The first is a
# better baseline than `O` everywhere: a dictionary of all entities in the training sentences. It marks them wherever
# they occur in the same letters, the longest first, each with the type that it has most often.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
from dicelab.fit.floors import entities_by_dictionary

looked_up = entities_by_dictionary(entities["train"], test)
by_dictionary = tagging.score(gold, looked_up)
print(f"a dictionary of the training sentences: F1 {by_dictionary['f1']:.1f}")

# %% [markdown]
# The dictionary has an F1 of 38.0. All four taggers are above it, so they have learned more than a list of names.
#
# The second is chance. The table has one seed and one learning rate, on made-up sentences. Before you believe the
# order of the rows, run the chapter again with `seed` 1. [Section 17.4](17_when_does_dice_help.ipynb) trains cross
# entropy and dice from the log prior on two real corpora of entities, with six draws of each. There dice is ahead on
# one corpus in short runs, and one to two points behind on both after 307 steps.

# %% [markdown]
# #### Precision against recall
#
# So far we have looked at two thresholds of each model. What if we look at all of them? If two losses lay on the same
# curve, they would differ by their threshold alone.

# %% mystnb={"code_prompt_show": "Code of Figure 9.4", "figure": {"caption": "Figure 9.4. Each curve is one model under all thresholds of O. The mark on it is argmax."}, "image": {"alt": "Precision against recall on the validation split. The four curves rise together to a precision near 0.5 at a recall of 0.45. Cross entropy is highest at small recalls and ends first, before 0.5; focal loss and the two dice losses go on to recalls of 0.52 to 0.57."}} tags=["hide-input"]
figures.precision_recall(
    {
        name: (
            [point["precision"] / 100 for point in curve],
            [point["recall"] / 100 for point in curve],
        )
        for name, curve in curves.items()
    }
)
for name, curve in curves.items():
    point = next(point for point in curve if point["outside_bias"] == 0)
    x, y = point["recall"] / 100, point["precision"] / 100
    plt.plot(x, y, "o", color=figures.style(name)["color"])
plt.title("validation split, bias of O from −6 to 6")
plt.legend(loc="upper right", title="loss", facecolor="white", framealpha=1, frameon=True)
plt.show()

# %% [markdown]
# The curves are close, but they are not the same. Cross entropy is the most precise at a recall of 0.3. The two
# dice losses, however, reach recalls that it does not reach with any threshold of `O`. Therefore the models differ
# in what they have learned, and not only in their threshold. One seed cannot tell you whether that is due to the
# loss.

# %% [markdown]
# ### 9.7 Errors
#
# A score tells you how many entities are wrong, but not what is wrong with them. To find out, we compare each gold
# entity with the predicted entities that share a word with it:

# %%
first, last = experiment.losses[0], experiment.losses[-1]
predicted, biases = {}, {}
for name in (first, last):
    biases[name] = table[name, "tuned"]["bias of O"]
    logits = trained[name].logits["test"]
    predicted[name] = tagging.decode(logits, test, encoded.labels)


def error_of(entity, found):
    """What is wrong with a gold entity, beside those found."""
    if entity in found:
        return "right"
    words = set(range(entity.start, entity.end))
    near = [e for e in found if words & set(range(e.start, e.end))]
    if any((e.start, e.end) == (entity.start, entity.end) for e in near):
        return "wrong type"
    return "wrong boundary" if near else "missed"


# %% [markdown]
# In the library, `entity_errors.kinds_of_errors` does this for all sentences, and it also counts the invented entities.
# Here are the errors of the first loss with its tuned threshold:

# %%
logits = trained[first].logits["test"]
threshold = {"outside_bias": biases[first]}
tags = tagging.decode(logits, test, encoded.labels, **threshold)
errors = entity_errors.kinds_of_errors(gold, tags)
train_rows, test_rows = entities["train"][:], test[:]
novelty = entity_errors.recall_by_novelty(train_rows, test_rows, tags)
pd.DataFrame(errors).T


# %% [markdown]
# #### Sentences of your own
#
# How would you tag a new sentence? Split it into words, give its sub-words to the model, and read the tag of each
# word at its first sub-word, with the tuned bias of `O`:

# %%
def tag(tokens, name):
    """The tags of a sentence, a list of words, by a trained tagger."""
    coded = tokenizer(tokens, is_split_into_words=True, return_tensors="pt")
    places = [coded.word_ids().index(i) for i in range(len(tokens))]
    model = trained[name].model.eval()
    names = ("input_ids", "attention_mask")
    inputs = {name: coded[name].to(model.device) for name in names}
    with torch.no_grad():
        scores = model(**inputs).logits[0, places].float().cpu().numpy()
    scores[:, encoded.labels.index("O")] += biases[name]
    return [encoded.labels[i] for i in scores.argmax(-1)]


# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
OWN_SENTENCES = entity_errors.OWN_SENTENCES

# %%
own = []
for line in OWN_SENTENCES.strip().splitlines():
    tokens, true = entity_errors.unmarked(line)
    found = entity_errors.marked(tokens, tag(tokens, first))
    own.append({"gold": line, "tagged": found})
for row in own[:3]:
    print(row["tagged"])


# %% [markdown]
# With the parameters as printed, the tagger was trained on made-up sentences and has met almost none of these words.
# You find what the tagger of the real run makes of the same sentences at the [top of the
# chapter](a-tagger-that-works).
#
# #### Errors that one loss makes and the other does not
#
# Two losses with similar scores need not make the same errors. In these test sentences the first and the last of the
# losses disagree at argmax, and one of them is right:

# %%
def spans_in_words(tokens, tags):
    """The entities of a sentence, readable."""
    found = corpora.spans(tags, strict=True)
    named = [(" ".join(tokens[e.start : e.end]), e.type) for e in found]
    return ", ".join(f"{words} ({kind})" for words, kind in named) or "–"


rows = []
for i, tokens in enumerate(test["tokens"]):
    a, b = predicted[first][i], predicted[last][i]
    said = [spans_in_words(tokens, tags) for tags in (gold[i], a, b)]
    if said[1] != said[2] and said[0] in said[1:]:
        rows.append([" ".join(tokens), *said])
print(f"{len(rows)} sentences in which exactly one of the two is right")
pd.set_option("display.max_colwidth", 90)
pd.DataFrame(rows[:6], columns=["sentence", "gold", first, last])

# %% [markdown]
# ### 9.8 The same entities as answers
#
# A tagger is not the only way to find entities. The model of the paper's Table 5, BERT-MRC {cite}`li2020mrc`, treats
# them as answers to questions. It reads each sentence once for every type, after a question such as this one:

# %%
types = [
    [entity.type for entity in corpora.spans(tags)]  # of one sentence
    for tags in entities["train"]["tags"]
]
kinds = sorted(set().union(*types))
print(kinds[0], "→", query(kinds[0], language))

# %% [markdown]
# For every word the model makes two decisions: does an entity of that type *start* here, and does one *end* here? For
# each pair of a likely start and a likely end it makes a third one: do the two *match*? Each of these decisions has a
# binary loss, and we train on the sum. A real encoder reads the question itself. The tiny encoder, which has never
# seen a question, gets the name of the type instead.

# %%
if encoder == "tiny":
    room = 16  # sub-words of a question
    queries = {kind: kind for kind in kinds}
    texts = [" ".join(tokens) for tokens in entities["train"]["tokens"]]
    texts += 20 * kinds
    reader_tokenizer = load_tokenizer(
        "tiny",
        texts,
        max_length=max_length + room,
    )
    options = {"candidates": 4}  # starts and ends paired: short sentences
else:
    room, queries, reader_tokenizer, options = 40, None, tokenizer, {}
asked = mrc_ner.encode(
    entities,
    reader_tokenizer,
    queries=queries,
    language=language,
    max_length=min(max_length + room, reader_tokenizer.model_max_length),
)
print(
    f"{len(asked.splits['train']):,} questions",
    f"for {len(entities['train']):,} sentences",
)

# %% [markdown]
# #### Where the imbalance grows
#
# What happens if you put a question about persons to a sentence without a person? There is no answer, and all decisions
# are negative. Let us count, for each type, what the training sentences have:

# %% tags=["nbval-check-output"]
grown = {}
for kind in kinds:
    answers = np.array([of_one.count(kind) for of_one in types])
    grown[kind] = {
        "questions": len(answers),
        "without answer, %": 100 * np.mean(answers == 0),
        "starts": answers.sum(),
        "negatives a start": sum(lengths) / answers.sum() - 1,
    }
pd.DataFrame(grown).T.round(1)

# %%
negative, positive = asked.counts()
print(
    f"tagger: {count.ratio:.1f} negatives per positive;",
    f"starts and ends: {negative / positive:.1f}",
)


# %% [markdown]
# The reader gets four questions about every sentence, and three times out of four the right answer is "nothing here".
# In addition, only the first and the last word of a name are positive. Therefore seven negatives to a positive
# become more than fifty. With eighteen types, as in OntoNotes 5, there would be even more. If dice loss helps where
# positives are few, it should help here.

# %% [markdown]
# #### Training the reader
#
# We train the first and the last of the losses in their binary forms, from the same start. A model that finds
# nothing at a probability of one half may still rank the candidates well. Therefore we judge each epoch at its best
# threshold. Thresholds are log-odds here: 0 is a probability of one half, and −3 is a probability of one in twenty.

# %%
def reader_scores(outputs, split, threshold):
    """Entity scores; start, end and match are all above a threshold."""
    tagged = entities[split]["tags"]
    truth = [corpora.spans(tags, strict=True) for tags in tagged]
    found = mrc_ner.decode(outputs, asked, split, threshold=threshold)
    return mrc_ner.score(truth, found)


def tuned_scores(outputs):
    """Scores of the validation split at the threshold with the best F1."""
    best = mrc_ner.tune_threshold(outputs, asked, "validation")
    return reader_scores(outputs, "validation", best)


# %%
def new_reader():
    """The encoder and new layers for starts, ends and matches."""
    return mrc_ner.model(experiment.encoder, reader_tokenizer, **options)


readers = {}
for name in dict.fromkeys([first, last]) if reader_epochs else ():
    print("reader,", name)
    folder = output_dir and str(Path(output_dir) / "reader")
    settings = replace(
        experiment.only(name),
        epochs=reader_epochs,
        output_dir=folder,
    )
    criterion = build_loss(experiment, name, asked.counts(), binary=True)
    readers[name] = train(
        settings,
        build_model=new_reader,
        counts=[asked.counts()] * 2,
        splits=asked.splits,
        collator=mrc_ner.collator(reader_tokenizer),
        tokenizer=reader_tokenizer,
        compute_loss=mrc_ner.MrcLoss(criterion),
        evaluate=lambda outputs, split: tuned_scores(outputs),
    )

# %%
reader_table, reader_validated = {}, {}
for name, result in readers.items():
    outputs = result.logits["validation"]
    best = mrc_ner.tune_threshold(outputs, asked, "validation")
    validation_scores = reader_scores(outputs, "validation", best)
    reader_validated[name] = validation_scores
    print(f"{name}: validation F1 {validation_scores['f1']:.1f}, tuned")
    for how, t in (("argmax", 0.0), ("tuned", best)):
        scores = reader_scores(result.logits["test"], "test", t)
        reader_table["reader", name, how] = {**scores, "threshold": t}
ways = product((first, last), ("argmax", "tuned"))
of_tagger = {("tagger", *way): table[way] for way in ways}
both = pd.DataFrame({**of_tagger, **reader_table}).T
signed(both.drop(columns=["accuracy", "f1_conlleval"]))


# %% [markdown]
# The reader starts at the log prior, too: its biases are the log-odds of the shares of starts and of ends. From
# there cross entropy learns well. Against our expectation, self-adjusting dice is more than five points lower, at a
# probability of one half (`argmax`) and with a tuned threshold alike. With the tagger, cross entropy was lower. So
# one run on made-up text says little about which loss is better.
#
# Tuning gains more with both readers than with the taggers. What follows for you? Where decisions are this
# imbalanced, tune the threshold before you compare losses.

# %% [markdown]
# ## On real text
#
# Made-up sentences have shown you how a tagger works. They cannot tell you which loss finds more entities. For that
# we need real text, several seeds, and a fair choice of the learning rate. All that follows is drawn from records
# in `dicelab/records/data`.
#
# ### 9.9 Which losses train at the first try?
#
# You have a script that trains with cross entropy, and you exchange the loss. Does it still train?
# We tried this. The runs (`kept_records("first_try")`) train a pretrained encoder on a part of a real corpus for a few passes,
# with the learning rate that suits cross entropy, and tune nothing. The table has some of its rows. It gives F1 of
# entities on validation and, for WNUT 2017, how many tags are right, in percent. Each cell has the mean over seeds,
# their range, and after × the number of seeds.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def setup(parameters):
    """A run's loss and options, as a row of the table."""
    options, words = parameters["options"], [parameters["loss"]]
    if "fp_weight" in options and options["fp_weight"] != 0.5:
        words[0] += f" {options['fp_weight']:g}/{options['fn_weight']:g}"
    if "squared" in options:
        words.append("squared" if options["squared"] else "linear")
        words += [f"smooth {options['smooth']:g}"] * (options["smooth"] != 1)
        words += ["without O"] * (not options["outside"])
        words += ["absent classes skipped"] * (options["absent"] == "skip")
    words += ["warm start"] * options["warm_start"]
    words += [f"bias of O {options['outside_bias']:+d}"] * (options["outside_bias"] != 0)
    usual = {"learning_rate": 2e-4, "batch_size": batches[parameters["corpus"]]}
    words += [f"{k} {parameters[k]:g}" for k, v in usual.items() if parameters[k] != v]
    words += [parameters["precision"]] * (parameters["precision"] != "bf16")
    return ", ".join(words)


first_try = runs.kept_records("first_try")
batches = {r["parameters"]["corpus"]: r["parameters"]["batch_size"] for r in reversed(first_try)}

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
tried = pd.DataFrame(
    {
        "corpus": r["parameters"]["corpus"],
        "setup": setup(r["parameters"]),
        "seed": r["parameters"]["seed"],
        "f1": r["metrics"]["validation"]["f1"],
        "tags": r["metrics"]["validation"].get("accuracy"),
    }
    for r in first_try
).drop_duplicates(["corpus", "setup", "seed"])
by_setup = tried.groupby(["setup", "corpus"], sort=False)["f1"]
real = ["wnut17", "crossner_ai", "ud_en_ewt", "mrpc", "squad11"]


# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
def spread(f1):
    """Mean, range and number of seeds."""
    low_to_high = f" [{f1.min():.1f}, {f1.max():.1f}]" if len(f1) > 1 else ""
    return f"{f1.mean():.1f}{low_to_high} ×{len(f1)}"


def named(setup):
    """A row's loss by its name."""
    return re.sub(r"^[a-z]+", lambda loss: runs.LOSS_WORDS[loss[0]], setup)


some = ["ce", "dl, linear", "dl, linear, smooth 0.0001", "dl, squared"]
some += ["dl, squared, absent classes skipped", "dl, linear, without O, absent classes skipped"]
cells = by_setup.agg(spread).unstack().reindex(index=some, columns=real[:2])
right_tags = tried[tried["corpus"] == "wnut17"].groupby("setup")["tags"].agg(spread)
cells.insert(1, "wnut17: tags right", right_tags)
cells.rename(index=named).fillna("")

# %% [markdown]
# With linear denominators and γ = 1, dice and Tversky find no entity on WNUT 2017, after any of the passes. With
# squared denominators they do, and so does cross entropy. Why? Suppose that γ is large compared with the few gold
# words of a class in a batch. Then a linear denominator pushes down all probabilities of that class, small ones as
# well. A squared denominator hardly pushes small probabilities. [Section 16.14](16_why_it_does_not_optimise.ipynb)
# derives this. A γ of 0.0001 repairs the linear form, too.
#
# However, what looks like a repair need not be one. If you leave `O` out of the mean over classes, and also the
# classes that a batch lacks, linear dice trains with two seeds of three. With the third seed its F1 looks no worse,
# on either corpus, yet nine tags in ten or more are wrong. How can that be? Our F1 does not count an `I-` tag that
# continues no entity. So a model can give such tags to the words that should be `O`, and F1 does not see it. The
# other changes that we tried were a higher learning rate, other batches, a bias of `O`, and a warm start of one
# pass. None of them repairs more than one seed of three.
#
# What follows for you? Keep the defaults: the library squares the denominators and skips the classes that a batch
# lacks. We checked them on five corpora: these two, English parts of speech, MRPC and SQuAD. With no seed was a
# default loss as much as five points below cross entropy. To see the collapse yourself, run this chapter's small
# encoder with `-p loss dsc -y "{loss_options: {dsc: {squared: false}}}"`.

# %% tags=["remove-cell"]
kept = tried.set_index(["corpus", "setup", "seed"])["f1"].sort_index()


def by_default(name, corpus):
    """F1 by seed of a loss with its defaults; decisions of yes or no have no absent classes."""
    absent = ", absent classes skipped" * (corpus != "squad11")
    return kept.loc[corpus, "ce" if name == "ce" else f"{name}, squared{absent}"]


gaps = {
    (name, corpus): (by_default(name, corpus) - by_default("ce", corpus)).dropna()
    for name in ("dl", "dsc", "tl")
    for corpus in real
}

# %% [markdown]
# ### 9.10 WNUT 2017, a small encoder, several seeds
#
# The table above says which losses train. It does not say which of them is best, because a seed can move a score by
# more than a loss does. By how much? WNUT 2017 {cite}`derczynski2017wnut` has tweets, forum posts and comments, and
# hardly an entity of its test split occurs in training. We trained the tagger of this chapter with MiniLM on 1,700 of
# the training sentences, with seven losses and three seeds each. Within a row only the seed differs:

# %% tags=["remove-cell"]
records = [r for r in runs.kept_records("wnut17") if r["chapter"] == "09_named_entities"]
groups = runs.comparable(records)
common, largest = groups[0]

# %% mystnb={"code_prompt_show": "Code of Figure 9.5", "figure": {"caption": "Figure 9.5. WNUT 2017, 1,700 training sentences. Above: test F1 of every seed at argmax, and the mean with its 95% interval. Below: F1 on the validation split after each pass.", "name": "fig-9-4"}, "image": {"alt": "Above, seven rows of three dots. Cross entropy, dice and self-adjusting dice with both exponents lie around one place, focal loss a little right of them, weighted cross entropy to the left, linear Tversky at zero. Below, validation F1 after each pass: all but linear Tversky rise steeply in the first passes and flatten together."}} tags=["hide-input"]
fig, axes = plt.subplots(2, 1, figsize=(5.6, 6.8))
figures.seeds(largest, axes)
plt.show()

# %% [markdown]
# From one seed to the next, F1 moves by up to five points. Therefore three seeds cannot rank cross entropy, dice and
# self-adjusting dice, whose means lie within a point of each other. However, two things are clear. Linear Tversky
# finds no entity with any seed, whatever the threshold. And weighted cross entropy shows you what a threshold does.
# At argmax it is eight points below cross entropy. With a tuned threshold, which the figure does not show, it has the
# highest mean F1 of all.

# %% [markdown]
# ### 9.11 A search for each loss
#
# The runs above share one learning rate, which suits cross entropy. Would the answer change if each loss had its
# own? The controlled study of [chapter 17](17_when_does_dice_help.ipynb) tries that. It trains only a small network
# with one hidden layer, the *head*, on top of a frozen encoder. Each loss gets five searches of sixteen trials
# each, which choose its settings on validation. The winner of each search is then trained four times on fresh draws
# of the data. [Figure 9.6](fig-9-5) shows the eight tasks with entities, for squared dice ([Eq. 8](eq-8)) from both
# starts.

# %% mystnb={"code_prompt_show": "Code of Figure 9.6", "figure": {"caption": "Figure 9.6. F1 of dice minus F1 of cross entropy from the log prior, on the test sets of eight tasks with entities: means over searches with 95% intervals.", "name": "fig-9-5"}, "image": {"alt": "Eight rows with two circles and two diamonds each, hollow where dice starts near 0. Nearly all lie within two points of 0, and the intervals of the hollow marks all include it."}} tags=["hide-input"]
gaps = {
    name: {
        (arm, how): found
        for how in ("argmax", "tuned")
        for arm in ("dice", "dice_start")
        if (found := searched.minus_start(kept, arm, how))
    }
    for name, kept in tag_tasks().items()
}
fig, ax = plt.subplots(figsize=(6.2, 6.6))
figures.differences(gaps, ax=ax)
fig.legend(loc="outside lower center", ncols=2, fontsize=9)
plt.show()

# %% [markdown]
# We expected that dice would be ahead at argmax at least, since it is made for F1. It is not. From a bias near 0, all
# 16 intervals include 0, and no mean is further from 0 than a point and a half. From the log prior, one of the 16
# intervals excludes 0. On the literature part of CrossNER, with tuned thresholds, dice is 2.5 points lower. Do not
# read much into it: among the figure's 32 intervals, one or two are expected to exclude 0 by chance alone.
#
# What follows for you? Once each loss has its own learning rate, and cross entropy starts at the log prior, we cannot
# tell which of the two finds more entities. The rate itself, however, may matter a great deal. You see it best where
# all layers are trained. [Figure 9.7](fig-9-6) has short runs of MiniLM: the tweets of WNUT 2017, and beside them
# comments of which a few express fear, as a task whose rows are whole texts. All thresholds are tuned.

# %% mystnb={"code_prompt_show": "Code of Figure 9.7", "figure": {"caption": "Figure 9.7. F1 on validation by learning rate, after 76 steps (above) and 307 (below), on WNUT 2017 (left) and on GoEmotions with the label fear (right). Means over two draws of the data. The learning rate is the highest one, after a warm-up.", "name": "fig-9-6"}, "image": {"alt": "Four panels with a curve for each of three losses. On the left, the curves rise to a top in the middle and fall again, together. On the right, above, they rise steeply; below, they are flat at low rates and fall at the highest ones."}} tags=["hide-input"]
all_layers = speed.read_corpora()
compared = ("ce_start", "wce", "dice_start")
fig, axes = plt.subplots(2, 2, figsize=(7, 5.6), sharex="col", sharey=True)
panels = product((64, 256), ("wnut17", "goemotions_fear"))
for ax, (length, task) in zip(axes.flat, panels, strict=True):
    figures.by_rate(all_layers[task], compared, length, ax=ax)
    steps = {64: 76, 256: 307}[length]
    ax.set_title(f"{speed.CORPORA[task]}, {steps} steps", fontsize=10)
    ax.set_ylim(0, 70)
    ax.label_outer()
handles = axes[0, 0].get_legend_handles_labels()
fig.legend(*handles, loc="outside lower center", ncols=3, fontsize=9)
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
# And how many labelled sentences do you need? [Figure 9.8](fig-9-7) has 100, 400 and 1,600 training sentences of WNUT
# 2017. Two models are linear: one sees words and their shapes, and the other one sees the states of the frozen MiniLM,
# too. Beside them is MiniLM with all layers trained for 100 steps, with cross entropy and with dice. The last one is
# the mean of the logits of the better linear model and of the better loss. `dicebook fit` keeps this mean, unless
# another model is clearly ahead of it on validation ([section 22.9](22_your_own_data.ipynb)).

# %% mystnb={"code_prompt_show": "Code of Figure 9.8", "figure": {"caption": "Figure 9.8. F1 of entities on 1,287 test sentences of WNUT 2017, by the number of training sentences; one draw, tuned thresholds, valid tags.", "name": "fig-9-7"}, "image": {"alt": "Five curves over 100, 400 and 1,600 sentences. All rise. The linear model on words and shapes lies far below, from 9 to 23. The mean is highest everywhere, from 34 to 46. The linear model on states, dice and cross entropy lie between, and come closer to one another from left to right."}} tags=["hide-input"]
MODELS = {
    "mean": "mean of two models",
    "shapes+states": "linear, with frozen states",
    "dl": "dice, all layers",
    "ce": "cross entropy, all layers",
    "shapes": "linear, words and shapes",
}
by_size = {
    record["parameters"]["train_size"]: {m: s["f1"] for m, s in record["metrics"].items()}
    for record in runs.kept_records("data_size")
}
looks = {name: figures.style(name) for name in ("ce", "dl")}
for (name, title), mark in zip(MODELS.items(), "Dsoo^", strict=True):
    look = looks.get(name, {"color": "black" if name == "mean" else figures.NEGATIVE})
    plt.plot(list(by_size), [of[name] for of in by_size.values()], **look, marker=mark, label=title)
plt.xscale("log")
plt.xticks(list(by_size), [f"{size:,}" for size in by_size])
plt.minorticks_off()
plt.xlabel("training sentences")
plt.ylabel("test F1, %")
plt.ylim(0, None)
plt.legend(fontsize=9)
plt.show()


# %% [markdown]
# Every curve rises, and none is flat at its end, so more labelled sentences would help each model. With 100 sentences,
# cross entropy is behind the linear model on the same encoder. This is one draw with one learning rate, so it cannot
# tell you whether dice needs fewer sentences than cross entropy. The mean is ahead of its parts at each size. And there
# may be an even cheaper way to a higher F1.

# %% [markdown]
# ### 9.12 The same logits, decoded in another way
#
# One cheaper way begins after training: a decoder turns the logits into tags, and you can change the decoder. You
# have met the bias of `O`, and two other decoders also leave the model as it is. We begin with *valid*. Among all
# sequences of tags in which every `I-` continues an entity of its type, it takes the sequence with the largest sum
# of logits. Viterbi's algorithm finds this sequence, without transition weights (in the library
# `tagging.decode(..., valid=True)`):

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


# %% [markdown]
# The other decoder, *confidence*, starts from *valid*, with a bias of `O` at which the tagger predicts too many
# entities. It then keeps an entity only if the mean log-probability of its tags is above a threshold. What does
# each decoder add? We decoded the logits of heads on a frozen encoder, ten draws for each loss, with biases
# and thresholds from validation. The table has the test F1 of argmax, and what the others add to it:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
decodings = runs.kept_records("decoding")
DECODERS = {
    "argmax": "test",
    "valid": "test_valid",
    "bias": "test_tuned",
    "bias, valid": "test_tuned_valid",
    "confidence": "test_confidence",
}


def of_draws(corpus, loss, way, metric="f1"):
    """A score of every draw."""
    chosen = {"corpus": corpus, "loss": loss}.items()
    kept_draws = [r for r in decodings if chosen <= r["parameters"].items()]
    return np.array([r["metrics"][DECODERS[way]][metric] for r in kept_draws])


# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
decoded_corpora = list(dict.fromkeys(r["parameters"]["corpus"] for r in decodings))
added = {
    (corpus, loss, way): runs.interval(
        of_draws(corpus, loss, way) - (way != "argmax") * of_draws(corpus, loss, "argmax")
    )
    for corpus, loss, way in product(decoded_corpora, ("ce", "dl"), DECODERS)
}
as_text = {
    key: f"{g.mean:.1f}"
    if key[2] == "argmax"
    else minus(f"{g.mean:+.1f} [{g.low:+.1f}, {g.high:+.1f}]")
    for key, g in added.items()
}
pd.Series(as_text).unstack()[list(DECODERS)].loc[decoded_corpora]

# %% [markdown]
# *Valid* has nothing to tune, and it is ahead of argmax with both losses, on all three corpora and with every draw.
# It gains less than a point on WNUT 2017, six on CrossNER, and four to five on Wikigold. Why so much? A head that
# sees one word at a time contradicts itself. For example, for a hundred entities that argmax finds on CrossNER, there
# are some forty `I-` tags that continue nothing.
#
# On top of *valid*, the bias of `O` and *confidence* add a point and a half at most, and on Wikigold *confidence*
# takes a point away. What a decoder adds differs between the two losses by a point at most. So use *valid* with any
# loss.
#
# Does the gain remain when the encoder is trained, too? Here are the taggers of section 9.6, which we trained as a
# whole:

# %%
for name in (first, last):
    logits = trained[name].logits["test"]
    valid = tagging.decode(logits, test, encoded.labels, valid=True)
    at_argmax = table[name, "argmax"]["f1"]
    decoded = tagging.score(gold, valid)["f1"]
    print(f"{name:4} argmax {at_argmax:.1f}, valid {decoded:.1f}")

# %% [markdown]
# On these made-up sentences the gain remains for both losses. For a pretrained encoder on real text we have no record of
# it.

# %% [markdown]
# ### 9.13 Table 5 of the paper
#
# How does all this compare with what the paper prints? Its Table 5 uses a larger encoder, and the reader in the place
# of the tagger. For CoNLL 2003 {cite}`tjongkimsang2003conll` it has these rows:

# %% tags=["nbval-check-output"]
for row in paper.table(5).rows:
    if row.corpus == "conll03" and row.precision:
        p, r, f = row.precision, row.recall, row.f1
        print(f"{row.model:14} P {p:.2f}  R {r:.2f}  F1 {f:.2f}")

# %% [markdown]
# The gain printed for self-adjusting dice (DSC) over the first row is 0.29. It disappears when
# [chapter 15](15_audit.ipynb) recomputes the F1 of the first row from the precision and recall of that row. On the
# other three corpora of the table the gains are larger. However, the table does not tell you how many seeds were
# run, or how the threshold was chosen.

# %% [markdown]
# None of our runs above has this setting. If you have a GPU, `make reproduce TABLE=5 PROFILE=paper` makes the rows
# over seeds, at argmax and with tuned thresholds. [The paper's tables](../docs/tables.md) tells
# you how many hours that takes.

# %% [markdown]
# ## Summary
#
# - Judge a tagger by F1 over entities and by the share of its tags that are right. Either of the two alone can look
#   healthy while the tagger is useless.
# - Before you compare losses, give them the same start, such as the log prior, and tune the threshold of each.
# - On eight tasks of *real* text, with five searches for each loss, we cannot tell whether dice or cross entropy
#   finds more entities.
# - A linear dice loss with γ = 1 finds no entity on WNUT 2017, so use the squared form.
# - A decoder of valid sequences adds between half a point and six points to either loss, without training or
#   tuning.

# %% [markdown]
# ## Exercises
#
# **1.** A tagger finds the boundaries of all entities and gets every type wrong. What are its
# accuracy and its F1 on the test split? Write down your guess before you compute it.

# %% mystnb={"code_prompt_show": "Solution 9.1"} tags=["solution", "hide-cell"]
kinds = sorted({tag[2:] for tags in gold for tag in tags if tag != "O"})
other = dict(zip(kinds, kinds[1:] + kinds[:1], strict=True))
wrong = [[t if t == "O" else t[:2] + other[t[2:]] for t in tags] for tags in gold]
{name: round(value, 1) for name, value in tagging.score(gold, wrong).items()}

# %% [markdown]
# **2.** What happens to precision and recall if you forbid `O` altogether?

# %% mystnb={"code_prompt_show": "Solution 9.2"} tags=["solution", "hide-cell"]
never = tagging.decode(trained[first].logits["test"], test, encoded.labels, outside_bias=-1e4)
{name: round(value, 1) for name, value in tagging.score(gold, never).items()}

# %% [markdown]
# **3.** Some scorers let an entity begin with `I-`. Replace every `B-` of a prediction by `I-`, and compare the
# strict score with the number of entities that a lenient scorer finds.

# %% mystnb={"code_prompt_show": "Solution 9.3"} tags=["solution", "hide-cell"]
inside = [[t.replace("B-", "I-") for t in tags] for tags in predicted[last]]
pairs = zip(inside, gold, strict=True)
lenient = sum(len(set(corpora.spans(i)) & set(corpora.spans(g))) for i, g in pairs)
strict = tagging.score(gold, inside)
print(f"strict recall {strict['recall']:.1f}, entities found by a lenient count: {lenient}")

# %% [markdown]
# **4.** Use `corpora.rebalance` to drop sentences from the embedded corpus until it has twenty negatives for each
# positive. What weights does [Eq. 2](eq-2) give to its labels, and which label gets the largest?

# %% mystnb={"code_prompt_show": "Solution 9.4"} tags=["solution", "hide-cell"]
english = corpora.load("embedded-entities-en", task="tagging")
english["train"] = corpora.rebalance(english["train"], 20, task="tagging")
rare = tagging.encode(english, tokenizer, max_length=64)
weights = log_ratio_weights(torch.as_tensor(rare.counts()), K=1.0)
pd.Series(weights.numpy().round(2), index=rare.labels)

# %% [markdown]
# **5.** Could the difference between the first and the last loss be due to the choice of test sentences alone? Draw the
# test split a thousand times with replacement.

# %% mystnb={"code_prompt_show": "Solution 9.5"} tags=["solution", "hide-cell"]
draw = np.random.default_rng(0).integers(len(gold), size=(1000, len(gold)))


def parts(tags_by_sentence):
    """Right, predicted and gold entities of every sentence."""
    found = [[set(corpora.spans(t, strict=True)) for t in x] for x in (tags_by_sentence, gold)]
    return np.array([(len(p & g), len(p), len(g)) for p, g in zip(*found, strict=True)])


f1 = {}
for name in (first, last):
    right, n_predicted, n_gold = parts(predicted[name])[draw].sum(1).T
    f1[name] = 200 * right / np.maximum(1, n_predicted + n_gold)
low, high = np.quantile(f1[last] - f1[first], [0.025, 0.975])
between = minus(f"between {low:+.1f} and {high:+.1f}")
print(f"{last} minus {first}: 95% of the draws {between} points of F1")

# %% [markdown]
# ## The record
#
# If you set `output_dir`, the cells below write one JSON file for each loss, with the parameters and the scores of
# the run.

# %%
for name, result in trained.items():
    record = runs.make_record(
        chapter="09_named_entities",
        parameters=asdict(experiment.only(name)),
        metrics={
            "test": table[name, "argmax"],
            "test_tuned": table[name, "tuned"],
            "validation_tuned": {"f1": validated[name, "tuned"]},
            "majority": majority,
        },
        history=result.history,
        measured=result.measured,
    )
    if experiment.output_dir:
        runs.write_record(Path(experiment.output_dir) / name, record)
    print(f"{name}: F1 {record['metrics']['test']['f1']:.1f}")


# %% tags=["remove-cell"]
def f1_interval(tags):
    """95% of the F1 of draws of the test sentences, with replacement."""
    spans = [[set(corpora.spans(t, strict=True)) for t in x] for x in (tags, gold)]
    counts = [(len(p & g), len(p) + len(g)) for p, g in zip(*spans, strict=True)]
    return real_runs.f1_interval(*zip(*counts, strict=True))


silent = [["O"] * len(tags) for tags in gold]
decided = {("majority", ""): silent, ("dictionary", ""): looked_up}
for name in trained:
    for how in ("argmax", "tuned"):
        logits, bias = trained[name].logits["test"], table[name, how]["bias of O"]
        decided[name, how] = tagging.decode(logits, test, encoded.labels, outside_bias=bias)
page = real_runs.keep(
    experiment,
    data={
        **{split: len(rows) for split, rows in entities.items()},
        "words": int(count.negative + count.positive),
        "outside, %": float(share),
    },
    results=trained,
    scores=[
        {
            "tagger": name,
            "decision": how,
            **tagging.score(gold, tags),
            "interval": f1_interval(tags),
        }
        for (name, how), tags in decided.items()
    ],
    errors=errors,
    novelty=novelty,
    own=own,
)

# %%
for name, result in readers.items():
    record = runs.make_record(
        chapter="09_named_entities, reader",
        parameters={
            **asdict(experiment.only(name)),
            "epochs": reader_epochs,
            "language": language,
        },
        metrics={
            "test": reader_table["reader", name, "argmax"],
            "test_tuned": reader_table["reader", name, "tuned"],
            "validation_tuned": {"f1": reader_validated[name]["f1"]},
            "majority": majority,
        },
        history=result.history,
        measured=result.measured,
    )
    if experiment.output_dir:
        runs.write_record(Path(output_dir) / "reader" / name, record)
    print(f"reader, {name}: F1 {record['metrics']['test']['f1']:.1f}")
