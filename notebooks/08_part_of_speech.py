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
# You know from school that a word can be a noun, a verb, or a conjunction. A tagger has to say which, for every word
# of a text. Every word belongs to some class, so there is no large class of negatives. The imbalance is between the
# tags: nouns are everywhere, interjections are few, and the share of words that are right hardly changes if your
# tagger misses every interjection. Does dice loss find more of the rare tags? In this chapter you build a tagger from
# its parts, in plain PyTorch, write a dice loss in ten lines, and train the tagger twice on real text, with cross
# entropy and with this dice loss. After two passes at one learning rate, dice has a point less over all words, and five points less in
# the mean over tags. Where each loss had a search of its own, we could not tell which one finds more rare tags.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who want to see every step of a tagger once. The later chapters build on this one.
# - **You need** the losses of [chapter 07](07_all_losses.ipynb), and some acquaintance with BERT
#   {cite}`devlin2019bert`.
# - **You will be able to** train a tagger with any loss of this book in a loop of your own, score it by word and by
#   tag, and move its thresholds. You will also see what a loss does to rare tags, which the usual score hides.
# - **Time** about forty minutes on a CPU core for the run of this page, a few minutes on a GPU. Without the corpus,
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
# ## 8.1 The parameters
#
# The next cell holds everything that you can change. The corpus is the English Web Treebank {cite}`silveira2014ewt`,
# whose weblogs, emails and reviews carry the tags of the Penn Treebank. The encoder is MiniLM
# (`sentence-transformers/all-MiniLM-L6-v2`), which has read much English text before. You can also set the parameters from the command line:
#
# ```bash
# dicebook data ud_en_ewt --out data     # fetch the corpus
# papermill --log-output notebooks/08_part_of_speech.ipynb out.ipynb \
#     -p loss ce,dl,dsc -p output_dir runs/08
# ```

# %% tags=["parameters"]
corpus: str = "ud_en_ewt"  # registered name, or your file
encoder: str = "minilm"  # or "tiny", a folder, a hub model
loss: str = "ce,dl"  # of ce, wce, fl, dl, dsc, tl, or MODULE:NAME
loss_options: dict = {}  # options by loss
start: str = "prior"  # the output bias starts there; or at "zero"
seed: int = 0  # seeds weights, data order and dropout
epochs: int = 2  # passes over the training sentences
max_steps: int = -1  # stop after so many steps; -1: no limit
batch_size: int = 32  # sentences in a step
learning_rate: float = 5e-5  # the peak of its schedule
max_length: int = 128  # sub-words in a row; the rest is cut off
train_size: int = 0  # training sentences; 0 for all
eval_size: int = 0  # scored sentences of a split; 0 for all
device: str = "auto"  # "auto", "cpu", "cuda" or "mps"
precision: str = "auto"  # "auto", "fp32" or "bf16"
output_dir: str = ""  # keeps what is trained; "" keeps nothing

# %% [markdown]
# If you misspell a name or give an impossible value, the chapter ends here, before anything is loaded. If the corpus
# or the encoder is missing on your computer, the chapter says so and takes small ones that the book contains.

# %%
from dicelab import chapters

experiment = chapters.experiment("08_part_of_speech", globals())
print(f"{experiment.corpus}, {experiment.encoder}")

# %% [markdown]
# ## 8.2 A sentence and its tags
#
# In a corpus for tagging, each sentence is a list of words and a list of tags of the same length. The training
# sentences teach the model, the validation sentences help us choose, and the test sentences are for the final
# score alone. In the treebank's CoNLL-U files a line is a word, and its tag is column 5, XPOS. Lines whose number has a
# dash or a point (`3-4`, `8.1`) are no words. `sample` draws `train_size` sentences at random, if it is not 0.

# %%
from dicelab import corpora
from dicelab.training.experiment import Experiment, ParameterError
from dicelab.training.sampling import sample

splits = sample(corpora.load(experiment.corpus, task="tagging"), experiment)
if any("O" in tags for tags in splits["train"]["tags"]):
    wrong = "expected parts of speech, got entities (a tag O)"
    raise ParameterError(f"parameter 'corpus': {wrong}")
for name, rows in splits.items():
    n_words = sum(map(len, rows["tokens"]))
    print(f"{name}: {len(rows):,} sentences, {n_words:,} words")

# %% [markdown]
# We may not print sentences of the treebank here, so the next one is ours. It is a famous trap: the old *work* on
# the boats, and *man* is a verb.

# %%
import pandas as pd

sentence = "The old man the boats .".split()
its_tags = "DT JJ VBP DT NNS .".split()
pd.DataFrame([its_tags], columns=sentence, index=["tag"])

# %% [markdown]
# `DT` is a determiner, `JJ` an adjective, `VBP` a verb in the present tense, and `NNS` a noun in the plural. The
# tagger predicts exactly one tag for each word. A wrong tag is therefore two errors at once: a false positive for
# the tag that was predicted, and a false negative for the correct tag. Over all tags there are as many errors of each
# kind, so precision, recall, F1 and accuracy are one number. (This needs every tag of the test words to be in
# training, as it is here.)
#
# ## 8.3 What is imbalanced here?
#
# No class of this task is called negative. However, a dice loss looks at one tag after the other, and then takes the
# mean over the tags. While it looks at one tag, all words with other tags are negatives. How many such negatives are
# there?

# %%
from collections import Counter

frequency = Counter(tag for tags in splits["train"]["tags"] for tag in tags)
tags = sorted(frequency)
total = frequency.total()
count = pd.Series(dict(frequency.most_common()), name="words").to_frame()
count["negatives per positive"] = (total / count["words"] - 1).round(1)
print(f"{len(tags)} tags")
count.iloc[[0, 1, 2, len(tags) // 2, -3, -2, -1]]

# %% [markdown]
# The largest class, singular nouns (`NN`), has one word in eight. Half of the 49 tags have 235 or more negatives for
# each positive. At the end of the list are `RBS`, a superlative adverb such as *most*, `AFX`, a prefix that stands
# alone, and `WP$`, the word *whose*, with 14 words in all of training. Seen tag by tag, this task is imbalanced. Does
# that matter? It depends on your score: you will notice it only if your score looks at each tag.
#
# ## 8.4 Two averages
#
# There are two ways to make one number out of many tags. The *micro* average counts all words together, so a frequent
# tag counts more than a rare one. The *macro* average is the mean of the F1s of the tags, so a conjunction counts as
# much as a noun. The paper reports the micro average. We compute both, from three counts for each sentence and tag:
# how often the tag is predicted and right, how often it is predicted, and how often it is there.

# %%
import numpy as np

from dicelab.metrics.counts import Counts

number = {tag: i for i, tag in enumerate(tags)}


def count_tags(gold, predicted):
    """Right, predicted and actual words: three tables [sentences, tags]."""
    shape = (len(gold), len(tags))
    right, found, actual = (np.zeros(shape, int) for _ in range(3))
    for row, pair in enumerate(zip(gold, predicted, strict=True)):
        for true, guess in zip(*pair, strict=True):
            found[row, number[guess]] += 1
            if true in number:  # a tag that is not in training is missed
                actual[row, number[true]] += 1
                right[row, number[true]] += true == guess
    return Counts(right, found, actual)


# %%
def scores(counts):
    """Micro and macro F1 in percent."""
    all_words, by_tag = counts.sum(0).sum(0), counts.sum(0)
    there = by_tag.actual > 0
    macro = by_tag.f1[there].mean()
    both = {"micro F1": all_words.f1, "macro F1": macro}
    return {name: 100 * float(f1) for name, f1 in both.items()}


# %% [markdown]
# `Counts` is a small class of three arrays. Its `f1` is $2\,tp/(predicted + actual)$, the harmonic mean of precision
# and recall, and 0 where nothing is predicted and nothing is there. A tag that no word of the split has is left out of
# the macro average.
#
# ## 8.5 What a simple rule reaches
#
# You can judge a score only if you know what a simple rule reaches. The first rule gives every word the most frequent
# tag of all. The second one is a dictionary: it gives a word the tag that it has most often in training, and it gives
# a new word the most frequent tag of all.

# %%
from collections import defaultdict

seen = defaultdict(Counter)
for row in splits["train"]:
    for word, tag in zip(row["tokens"], row["tags"], strict=True):
        seen[word][tag] += 1
most = frequency.most_common(1)[0][0]
best = {word: of.most_common(1)[0][0] for word, of in seen.items()}

gold, test_words = splits["test"]["tags"][:], splits["test"]["tokens"][:]
rules = {
    "most frequent tag": [[most] * len(row) for row in gold],
    "dictionary": [[best.get(w, most) for w in row] for row in test_words],
}
floors = {name: count_tags(gold, said) for name, said in rules.items()}
pd.DataFrame({name: scores(of) for name, of in floors.items()}).T.round(1)

# %% [markdown]
# The dictionary has 83.8% of the words right. A trained tagger has to be clearly better than the dictionary, or it is
# not worth its seconds. What can it use that the dictionary cannot? The neighbours of a word.
#
# ## 8.6 From words to sub-words
#
# An encoder does not read words. It cuts them into *sub-words*, pieces that it has in its vocabulary. Which piece of
# a word gets the tag? We give it to the first one. All other pieces, and the special tokens at both ends, get the
# label −100, and every loss of this book leaves out positions with this label.

# %%
from dicelab.training.encoders import load_tokenizer

texts = (" ".join(words) for words in splits["train"]["tokens"])
tokenizer = load_tokenizer(
    experiment.encoder,
    texts,
    max_length=experiment.max_length,
)


def cut(words):
    """Sub-words of a sentence, and the word that each begins, or −100."""
    coded = tokenizer(
        words,
        is_split_into_words=True,
        truncation=True,
        max_length=experiment.max_length,
    )
    begins, before = [], None
    for word in coded.word_ids():
        new = word is not None and word != before
        begins.append(word if new else -100)
        before = word
    return coded["input_ids"], begins


# %%
own = "Who brought the flumps to Tarrow ?".split()
ids, begins = cut(own)
pieces = tokenizer.convert_ids_to_tokens(ids)
pd.DataFrame({"sub-word": pieces, "begins word": begins}).T

# %% [markdown]
# *Flumps* and *Tarrow* are words that we invented, so they are in no vocabulary, and the tokenizer puts them together
# from pieces. (`load_tokenizer` is `AutoTokenizer.from_pretrained`. It looks at the texts only for the tiny encoder,
# which has no vocabulary yet.) We encode all sentences in this way. For training we replace the place of a word by the number of its
# tag.

# %%
encoded = {}
for name, rows in splits.items():
    encoded[name] = [cut(words) for words in rows["tokens"]]
training = []
tagged = zip(encoded["train"], splits["train"]["tags"], strict=True)
for (ids, begins), its_tags in tagged:
    labels = [number[its_tags[w]] if w >= 0 else -100 for w in begins]
    training.append((ids, labels))
for name, rows in encoded.items():
    read = sum(word >= 0 for _, begins in rows for word in begins)
    lost = sum(map(len, splits[name]["tokens"])) - read
    print(f"{name}: {lost} words beyond {experiment.max_length} sub-words")

# %% [markdown]
# A step of training reads several sentences at once, a *batch*. In a batch the shorter sentences are filled up with
# padding. So that there is little of it, we put sentences of similar length together: we shuffle all sentences,
# sort blocks of fifty batches by length, cut them, and shuffle the batches again.

# %%
import torch
from torch.nn.utils.rnn import pad_sequence


def padded(rows, fill):
    """Lists of numbers as one tensor, the shorter ones filled up."""
    tensors = [torch.tensor(row) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=fill)


def batches(rows, size, generator):
    """Batches of sentences: places in `rows`, sub-words, mask, labels."""
    lengths = torch.tensor([len(ids) for ids, _ in rows])
    order = torch.randperm(len(rows), generator=generator)
    blocks = [b[lengths[b].argsort()] for b in order.split(50 * size)]
    parts = [part for block in blocks for part in block.split(size)]
    for i in torch.randperm(len(parts), generator=generator).tolist():
        places = parts[i].tolist()
        ids, labels = zip(*(rows[place] for place in places), strict=True)
        ids = padded(ids, tokenizer.pad_token_id)
        mask = (ids != tokenizer.pad_token_id).long()
        yield places, ids, mask, padded(labels, -100)


# %% [markdown]
# ## 8.7 The model
#
# The model is the encoder with one linear layer on top. At every position, this layer gives a row of *logits*, one for
# each tag. The softmax of the logits is the model's probability of each tag.

# %%
from transformers import AutoModelForTokenClassification

from dicebook.decision import start_at_prior
from dicelab.training.devices import device_of
from dicelab.training.encoders import load_model

counts = torch.tensor([frequency[tag] for tag in tags])


def new_tagger():
    """The encoder, and a new linear layer that starts at the log prior."""
    torch.manual_seed(experiment.seed)
    model = load_model(
        AutoModelForTokenClassification,
        experiment.encoder,
        tokenizer,
        labels=tags,
    )
    if experiment.start == "prior":
        start_at_prior(model, counts)
    return model.to(device_of(experiment))


# %%
model = new_tagger()
size = model.config
print(f"{size.num_hidden_layers} layers of width {size.hidden_size}")
print(f"{model.num_parameters():,} weights")

# %% [markdown]
# `load_model` is `AutoModelForTokenClassification.from_pretrained` with the names of our tags (`num_labels`, `id2label`
# and `label2id`). The encoder's file has no layer for tags, so this layer is new. Where `encoder` is
# `"tiny"`, it is a model with random weights instead, whose configuration is
# `BertConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256)`.
#
# `start_at_prior` is one line: `model.classifier.bias.data = (counts / counts.sum()).log()`. The new layer's weights
# are small, with a standard deviation of 0.02<!-- the default of transformers -->, so the untrained model gives each tag about its share of the training words, for every word. Section
# [2.3](start-bias) shows why this is a good place to start.
#
# ## 8.8 A dice loss in ten lines
#
# Cross entropy over the words is `F.cross_entropy(logits.flatten(0, 1), labels.flatten())` in torch, with its own
# `ignore_index=-100`. The dice loss of this chapter is [Eq. 8](eq-8), for many classes. What do we
# want? For each tag, a number that is large if the probabilities $p$ of this tag lie on the words that have it
# ($y = 1$) and nowhere else. The dice coefficient of the tag is such a number:
#
# $$
# \mathrm{dice} = \frac{2 \sum p\,y + \gamma}{\sum p^2 + \sum y^2 + \gamma}
# $$
#
# The sums run over all words of the batch. The numerator counts the probability on the right words, twice. The
# denominator counts all probability and all words of the tag, each squared. The constant $\gamma = 1$ keeps the
# fraction defined if a tag is rare. The loss is one minus this number, and its mean over the tags. A tag that no word
# of the batch has is left out, because there would be nothing to find. This is `DiceLoss()` with its defaults, and
# `dl` is its short name.

# %%
import torch.nn.functional as F


def dice_loss(logits, labels):
    """One minus dice, squared, mean over the tags of the batch."""
    kept = labels != -100
    p = logits[kept].float().softmax(-1)  # [words, tags]
    y = F.one_hot(labels[kept], p.shape[-1]).float()  # [words, tags]
    numerator = 2 * (p * y).sum(0) + 1
    denominator = (p**2).sum(0) + (y**2).sum(0) + 1
    present = y.sum(0) > 0
    return (1 - numerator / denominator)[present].mean()


# %% [markdown]
# Is this the loss of the library? We compare the two on a batch, value and gradient, with the untrained model. The
# cell also shows what the model returns.

# %%
from dicelab.training.trainer import build_loss

order = torch.Generator().manual_seed(experiment.seed)
_, ids, mask, labels = next(batches(training, 8, order))
with torch.no_grad():
    logits = model(
        input_ids=ids.to(model.device),
        attention_mask=mask.to(model.device),
    ).logits.cpu()
print("logits", list(logits.shape), "labels", list(labels.shape))

values, gradients = [], []
theirs = build_loss(Experiment(corpus="any", loss="dl"), "dl", counts)
for function in (dice_loss, theirs):
    leaf = logits.clone().requires_grad_()
    values.append(function(leaf, labels))
    gradients += torch.autograd.grad(values[-1], leaf)
torch.testing.assert_close(values[0], values[1])
torch.testing.assert_close(gradients[0], gradients[1])
print(f"dice loss {values[0]:.4f}")

# %% [markdown]
# They agree, so from here on you may use either. The loop takes the library's, because then the parameter `loss` can
# name any loss of this book.
#
# ## 8.9 The loop
#
# Training repeats one step: compute the loss of a batch and its gradient, and move the weights a little against the
# gradient. The gradient is clipped at norm 1, so that no single batch can throw the model far away. On a GPU the
# encoder computes in half precision, and the loss does not.

# %%
from dicelab.training.devices import precision_of

on = device_of(experiment)
half = precision_of(experiment.precision, on) == "bf16"


def step(model, loss, optimizer, ids, mask, labels):
    """One step against the gradient of a batch's loss; the loss."""
    ids, mask, labels = (tensor.to(on) for tensor in (ids, mask, labels))
    with torch.autocast(on.type, torch.bfloat16, enabled=half):
        logits = model(input_ids=ids, attention_mask=mask).logits
    value = loss(logits, labels)
    value.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return value.item()


# %% [markdown]
# After each pass we score the validation sentences. For this we need the logits of every word, and the tag that has
# the largest one. A word beyond `max_length` gets the most frequent tag.

# %%
@torch.no_grad()
def logits_of(model, rows):
    """For each sentence the logits of its words, an array [words, tags]."""
    model.eval()
    found = [None] * len(rows)
    order = torch.Generator().manual_seed(0)
    for places, ids, mask, begins in batches(rows, 64, order):
        out = model(input_ids=ids.to(on), attention_mask=mask.to(on))
        logits = out.logits.float().cpu().numpy()
        for place, row, begin in zip(places, logits, begins, strict=True):
            found[place] = row[begin.numpy() >= 0]
    return found


# %%
def tags_of(logits, sentences, shift=0.0):
    """The tag of the largest logit, after a shift of each tag's logits."""
    said = []
    for of, words in zip(logits, sentences, strict=True):
        best = [tags[i] for i in (of + shift).argmax(-1)]
        said.append(best + [most] * (len(words) - len(best)))
    return said


def score(logits, split, shift=0.0):
    """The three counts of a split's logits."""
    rows = splits[split]
    said = tags_of(logits, rows["tokens"], shift)
    return count_tags(rows["tags"], said)


# %% [markdown]
# Now the loop. The learning rate rises for a tenth of all planned steps and then falls to zero. We keep the weights of the
# pass with the highest micro F1 on validation.

# %%
from copy import deepcopy

from transformers import get_linear_schedule_with_warmup


def set_up(model, planned):
    """The optimizer, and the schedule of its learning rate."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=experiment.learning_rate, weight_decay=0.01
    )
    rate = get_linear_schedule_with_warmup(
        optimizer,
        num_warmup_steps=planned // 10,
        num_training_steps=planned,
    )
    return optimizer, rate


# %%
def fit(model, loss):
    """Train a model to its best pass; the loss of each step."""
    passes, size = experiment.epochs, experiment.batch_size
    planned = passes * -(-len(training) // size)
    steps = planned if experiment.max_steps < 0 else experiment.max_steps
    optimizer, rate = set_up(model, planned)
    order = torch.Generator().manual_seed(experiment.seed)
    losses, highest, best = [], -1.0, {}
    while len(losses) < steps:
        model.train()
        for _, *batch in batches(training, size, order):
            losses.append(step(model, loss, optimizer, *batch))
            rate.step()
            report(losses, steps)
            if len(losses) == steps:
                break
        reached = validate(model)
        if reached > highest:
            highest, best = reached, deepcopy(model.state_dict())
    model.load_state_dict(best)
    return losses


# %%
def report(losses, steps):
    """A line every hundred steps."""
    if len(losses) % 100 == 0 or len(losses) == steps:
        recent = np.mean(losses[-100:])
        print(f"step {len(losses):4} of {steps}: loss {recent:.3f}")


def validate(model):
    """Micro F1 on the validation sentences, printed with the macro F1."""
    logits = logits_of(model, encoded["validation"])
    reached = scores(score(logits, "validation"))
    print("validation", {of: round(f1, 1) for of, f1 in reached.items()})
    return reached["micro F1"]


# %% [markdown]
# That is all. We train with cross entropy first. If you set `output_dir`, the function `kept` saves the weights of each
# loss as soon as its training has ended. If the command is interrupted later, the same command takes these weights and
# goes on with the next loss.

# %%
from dicelab.training.trainer import kept

logs = {}


def trained(name):
    """A tagger trained with a loss of the parameters."""
    model = new_tagger()
    loss = build_loss(experiment, name, counts).to(on)
    one = experiment.only(name)
    logs[name] = kept(one, model, lambda: fit(model, loss))
    return model


first, last = experiment.losses[0], experiment.losses[-1]
models = {first: trained(first)}

# %% [markdown]
# ## 8.10 Scores beside the floors
#
# We predict the test sentences once, and set the scores beside those of the simple rules. In brackets are bootstrap
# intervals: 95% of the scores of a thousand sets of sentences that are drawn from the test sentences with replacement
# ([section 2.4](bootstrap)). They say how much the choice of test sentences matters. They do not say what
# another seed or another learning rate would do.

# %%
from dicelab.metrics.goal import Goal
from dicelab.metrics.intervals import interval

there = tuple(np.flatnonzero(floors["dictionary"].actual.sum(0)))
goals = {
    "micro F1": Goal("f1", tuple(range(len(tags)))),
    "macro F1": Goal("macro-f1", (), macro=there),
}


def with_intervals(counts):
    """Both averages with their intervals."""
    found = {name: interval(counts, goal) for name, goal in goals.items()}
    return {name: str(of) for name, of in found.items()}


test = {first: logits_of(models[first], encoded["test"])}
table = {**floors, first: score(test[first], "test")}
pd.DataFrame({name: with_intervals(of) for name, of in table.items()}).T

# %% [markdown]
# With cross entropy, the tagger has 94.3% of the words right, ten points more than the dictionary. The two averages
# tell different stories. The mean F1 of the tags is only 74.4, because a rare tag, which the tagger finds less well,
# counts as much as a frequent one. (Why does the score of 74.4 lie so near the lower end of its interval? A tag with
# one or two test words is missing from many draws. Then its low F1 is not counted, and the mean is higher.) Can we
# find more of the rare tags without training anew?
#
# ## 8.11 One number that moves all thresholds
#
# With two classes, you can move one threshold after training. Here there are as many thresholds as tags. How could we
# tune them all with one number? We want a number that favours rare tags, the more the rarer they are. So we subtract
# τ times the logarithm of a tag's share from its logit {cite}`menon2021logit`. This logarithm is most negative for
# the rarest tags. Therefore the larger τ is, the more often rare tags win. A negative τ favours the frequent tags.
# We tune τ on the validation sentences, for the macro average.

# %%
log_share = np.log(counts.numpy() / total)


def tuned(model):
    """The τ with the best macro F1 on validation, near 0 if equal."""
    logits = logits_of(model, encoded["validation"])
    reached = {}
    for tau in np.linspace(-0.5, 1.5, 9):
        counts = score(logits, "validation", -tau * log_share)
        reached[tau] = scores(counts)["macro F1"]
    return max(reached, key=lambda tau: (reached[tau], -abs(tau)))


taus = {first: tuned(models[first])}
shift, label = -taus[first] * log_share, f"{first}, τ = {taus[first]:.2f}"
table[label] = score(test[first], "test", shift)
pd.DataFrame({name: with_intervals(of) for name, of in table.items()}).T

# %% [markdown]
# Macro F1 rises by six points to 80.3, and micro F1 falls to 93.9. So decide first which of the two scores you want.
# The τ of 1.25 was chosen on the validation sentences, so the test sentences had no part in it.
#
# ## 8.12 Errors
#
# Which tags does the tagger confuse most often, and does it know new words?

# %%
said = tags_of(test[first], test_words)
confused, known = Counter(), defaultdict(Counter)
for row in zip(test_words, gold, said, strict=True):
    for word, true, guess in zip(*row, strict=True):
        if true != guess:
            confused[true, guess] += 1
        met = "met in training" if word in seen else "new word"
        known[met].update(words=1, right=int(true == guess))
for met, of in sorted(known.items()):
    share = of["right"] / of["words"]
    print(f"{met}: {of['right']:,} of {of['words']:,} right, {share:.0%}")
worst = [(*pair, n) for pair, n in confused.most_common(5)]
pd.DataFrame(worst, columns=["tag", "predicted", "words"])

# %% [markdown]
# The most frequent confusion, in both directions, is that of names (`NNP`) with common nouns (`NN`). MiniLM puts all
# letters into lower case, so it does not see that a name begins with a capital letter. (`NNPS` is a name in the
# plural, and `ADD` an address of the web or of mail.) The tagger gets 96% of the words right if it has met them in
# training, and 78% if they are new.
#
# ## 8.13 Sentences of your own
#
# What does the tagger say about a sentence that you wrote yourself? Here are ten of ours, with our tags. Some of them
# are known to mislead readers. Put yours in their place. A tag in brackets is what the tagger said instead:

# %%
OWN = """
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
"""


# %%
def tag(model, sentences):
    """The tags of sentences, each a list of words."""
    return tags_of(logits_of(model, [cut(s) for s in sentences]), sentences)


lines = [line.split() for line in OWN.split("\n") if line]
pairs = [[token.rsplit("/", 1) for token in line] for line in lines]
answers = tag(models[first], [[word for word, _ in row] for row in pairs])
n_right = 0
for row, said in zip(pairs, answers, strict=True):
    shown = []
    for (word, gold_tag), guess in zip(row, said, strict=True):
        right = gold_tag == guess
        n_right += right
        shown.append(word if right else f"{word}/{gold_tag} [{guess}]")
    print(*shown)
print(f"{n_right} of {sum(map(len, pairs))} words are right")

# %% [markdown]
# *Can you open a can?* and *record a new record* are no problem, because the tagger reads the neighbours of a word. It
# recognises *flies* as a verb, too. But *the old man the boats* misleads it, as it misleads a human reader. In *they
# watched her duck* it takes the verb *duck* for a noun. *Tarrow*, a town that we invented, becomes a verb after *to*,
# and *to* gets the tag that it has before a verb.
#
# To try a sentence without training, type `dicebook try 08 "..."`. A smaller model, a linear one on the frozen MiniLM,
# answers in seconds.
#
# ## 8.14 The other loss
#
# Now we train the same model with dice loss. Only the loss differs: the weights before training, the batches, their
# order and the learning rate are the same.

# %%
for name in experiment.losses[1:]:
    print(name)
    models[name] = trained(name)
    test[name] = logits_of(models[name], encoded["test"])
    taus[name] = tuned(models[name])
    shift = -taus[name] * log_share
    table[name] = score(test[name], "test")
    label = f"{name}, τ = {taus[name]:.2f}"
    table[label] = score(test[name], "test", shift)

# %%
pd.DataFrame({name: with_intervals(of) for name, of in table.items()}).T

# %% [markdown]
# With dice loss, 93.3% of the words are right, a point less than with cross entropy. Its macro F1 is that of the
# dictionary. Tuning adds nothing here: the best τ on validation is 0. Are the differences larger than the chance of
# the test sentences? Both models tagged the same sentences. So we draw the sentences once for both, and look at the
# interval of the difference.

# %%
from dicelab.metrics.intervals import difference

by_loss = {
    name: {
        "argmax": score(test[name], "test"),
        "τ tuned": score(test[name], "test", -taus[name] * log_share),
    }
    for name in (first, last)
}
minus = {}
for how in ("argmax", "τ tuned"):
    pair = [[by_loss[name][how]] for name in (last, first)]
    for average, goal in goals.items():
        gap = difference(*pair, goal.plain)
        text = f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]"
        minus.setdefault(how, {})[average] = text
print(f"{last} minus {first}, points of F1")
pd.DataFrame(minus).T

# %% [markdown]
# All four intervals exclude 0. With τ tuned for each loss, the difference in macro F1 is even larger, because cross
# entropy gains six points from its τ and dice gains none. Which tags are behind this?

# %%
by_tag = {name: by_loss[name]["argmax"].sum(0) for name in by_loss}
f1 = {name: 100 * of.f1 for name, of in by_tag.items()}
each = pd.DataFrame(f1, index=tags)
each.insert(0, "training words", [frequency[tag] for tag in tags])
each = each.iloc[list(there)].round(1)
for name in by_tag:
    none = (each[name] == 0).sum()
    print(f"{name}: {none} of {len(each)} tags have an F1 of 0")
gap = (each[first] - each[last]).abs()
each.loc[gap.nlargest(4).index]

# %% mystnb={"code_prompt_show": "Code of Figure 8.1", "figure": {"caption": "Figure 8.1. F1 of each tag on the test sentences against its words in training, on a logarithmic axis. A vertical line joins the marks of the two losses on one tag. Tags with fewer than ten test words are not drawn.", "name": "fig-8-1"}, "image": {"alt": "F1 against the words of a tag in training, from 100 to 27,000. Above 3,000 words all marks of both losses lie together above 85. Between 300 and 1,000 most lie between 77 and 100. At four tags lines join marks that are apart: cross entropy has 98 for the dollar sign and 86 for NFP where dice has 0, 12 for ADD where dice has 0, and 91 for UH where dice has 77. Six tags have 0 with both."}} tags=["hide-input"]
import matplotlib.pyplot as plt

_, ax = plt.subplots(figsize=(5.8, 3.2))
_shown = each[[by_tag[first].actual[number[tag]] >= 10 for tag in each.index]]
_x = _shown["training words"]
ax.vlines(_x, _shown[first], _shown[last], color="0.7", lw=1)
for _name, _marker, _size in ((first, "o", 7), (last, "D", 4)):
    _look = {"color": figures.style(_name)["color"], "ms": _size, "label": _name}
    ax.plot(_x, _shown[_name], _marker, **_look)
for _tag, _row in _shown.iterrows():
    if abs(_row[first] - _row[last]) > 10:
        _place = (_row["training words"], _row[first])
        ax.annotate(
            _tag, _place, xytext=(-5, 0), textcoords="offset points", ha="right", va="center"
        )
ax.set(xscale="log", xlabel="words with the tag in training", ylabel="F1 on the test sentences, %")
ax.legend(title="loss", loc="center right")
plt.show()

# %% [markdown]
# Above three thousand training words the two marks of a tag lie on each other. Further left they part. Cross entropy
# misses nine tags altogether, and dice misses three more: the dollar sign (`$`), unusual punctuation such as a smiley
# (`NFP`), and addresses (`ADD`). Interjections (`UH`) lose 14 points. Why? Look at the gradient in the logit of a tag
# (exercise 3). With dice it has the factor $p$, the probability of the tag. A rare tag starts at its log prior, so its
# $p$ is near 0.001, and the push on it is a thousand times weaker than it would be with a $p$ near one. Cross entropy
# pushes a word of the tag with $1 - p$, which is largest where $p$ is near 0. You can test this explanation: with `-p
# start zero`, every tag begins at a $p$ of one in 49.
#
# ## 8.15 How sure is this?
#
# This page has one seed and one learning rate of each loss. To compare losses you need several of both. The controlled
# study of [chapter 17](17_when_does_dice_help.ipynb) has them, also for six rare tags of this
# treebank {cite}`silveira2014ewt`. There, with a frozen encoder and five searches for each loss, dice and cross entropy
# differ by less than a point on these tags, and the intervals include 0. The paper reports gains of between 0.3 and
# 2.2<!-- Table 3 --> points in Chinese and of about half a point or less in English. [The paper's tables](../docs/tables.md) sets them
# beside ours, and [chapter 15](15_audit.ipynb) asks which of them can be compared.

# %% [markdown]
# ## Summary
#
# - Part-of-speech tagging has no negative class. Its imbalance is between the tags, and micro F1 hardly sees it, so
#   report macro F1 or F1 by tag beside it.
# - If words are given, precision, recall, F1 and accuracy are one number.
# - A tagger is an encoder, a linear layer and a short loop. The dice loss of this chapter has ten lines.
# - On this page (*real* text, MiniLM with all layers, two passes, one seed and one learning rate), dice is 1.0
#   points lower in micro F1 and 4.9 in macro F1, mostly because it misses three rare tags that cross entropy finds. With a
#   search for each loss, on six rare tags and a frozen encoder, we cannot tell which is better.
# - To move all thresholds at once, subtract τ times the logarithm of each tag's share from its logit, and tune τ.
#
# ## Exercises
#
# **1.** A tagger gives every word its right tag, with one exception: to all words of the rarest tag it gives the
# most frequent tag. What are its micro and its macro F1 on the words of the test sentences? Say which falls more
# before you compute them.

# %% mystnb={"code_prompt_show": "Solution 8.1"} tags=["solution", "hide-cell"]
in_test = Counter(true for row in gold for true in row)
rarest = min(in_test, key=lambda tag: (frequency[tag], tag))
lazy = [[most if true == rarest else true for true in row] for row in gold]
{name: round(f1, 2) for name, f1 in scores(count_tags(gold, lazy)).items()}

# %% [markdown]
# **2.** Which weights does [Eq. 2](eq-2) give to the tags? By what factor does the rarest weigh more than the most
# frequent? Train with them: `-p loss wce`.

# %% mystnb={"code_prompt_show": "Solution 8.2"} tags=["solution", "hide-cell"]
from dicebook import log_ratio_weights

weights = pd.Series(log_ratio_weights(counts, K=1.0).numpy(), tags)
print(f"largest over smallest weight: {weights.max() / weights.min():.0f}")
weights.sort_values().round(2).iloc[[0, 1, -2, -1]]

# %% [markdown]
# **3.** What is the gradient of `dice_loss` in one logit? Write $g_{ic}$ for the derivative in the probability
# $p_{ic}$ of word $i$ and tag $c$, and go through the softmax from there. Check your formula against PyTorch.

# %% mystnb={"code_prompt_show": "Solution 8.3"} tags=["solution", "hide-cell"]
# dice_c = N_c / D_c, N_c = 2 Σ_i p_ic y_ic + 1, D_c = Σ_i (p_ic² + y_ic²) + 1, and the loss is the
# mean of 1 − dice_c over m tags. So g_ic = −(2 y_ic D_c − 2 p_ic N_c) / (m D_c²), and the softmax
# has ∂p_ic/∂z_ik = p_ic ([c = k] − p_ik): the derivative in z_ik is p_ik (g_ik − Σ_c p_ic g_ic).
z = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
y = F.one_hot(torch.tensor([0, 0, 0, 1, 1, 2]), 3).float()
p = z.softmax(-1).detach()
N, D = 2 * (p * y).sum(0) + 1, (p**2 + y**2).sum(0) + 1
g = -(2 * y * D - 2 * p * N) / (3 * D**2)
mine = p * (g - (p * g).sum(-1, keepdim=True))
(autograd,) = torch.autograd.grad(dice_loss(z, y.argmax(-1)), z)
torch.testing.assert_close(mine, autograd)
mine.round(decimals=3)

# %% [markdown]
# **4.** Chinese is written without spaces, so a tagger also has to find where a word ends. The usual way is one label
# for each character: `B-NOUN` begins a noun, and `I-NOUN` continues it. A word counts as found if its first character,
# its last character and its tag are all right. Score a prediction that tags all characters right and starts one word
# a character too late. Are precision and recall still one number?

# %% mystnb={"code_prompt_show": "Solution 8.4"} tags=["solution", "hide-cell"]
from dicelab.tasks import tagging

true = "B-NOUN I-NOUN B-VERB I-VERB B-NOUN B-PUNCT".split()  # 小猫 喜欢 鱼 。
said = "B-NOUN I-NOUN I-NOUN B-VERB B-NOUN B-PUNCT".split()  # the verb begins too late
said_split = "B-NOUN B-NOUN B-VERB I-VERB B-NOUN B-PUNCT".split()  # one word too many
for name, row in {"too late": said, "one too many": said_split}.items():
    found = tagging.score([true], [row])
    print(name, {k: round(found[k], 1) for k in ("precision", "recall", "f1", "accuracy")})

# %% [markdown]
# The run of this page:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
from dataclasses import asdict
from pathlib import Path

from dicelab.records import runs

_where = f"{on.type}, {torch.get_num_threads()} threads"
for _name, _log in logs.items():
    _passes = np.array_split(_log["losses"], experiment.epochs)
    chapters.end_run(
        "08_part_of_speech",
        _name,
        experiment.output_dir and Path(experiment.output_dir) / _name,
        _log["losses"],
        parameters=asdict(experiment.only(_name)),
        metrics={"test": scores(score(test[_name], "test"))},
        history=[{"epoch": i, "loss": p.mean()} for i, p in enumerate(_passes, 1) if len(p)],
        measured={"device": _where, "seconds": _log["seconds"]},
    )
print(", ".join(f"{name} {version}" for name, version in runs.versions().items()))
