"""Two baselines and a tiny encoder, written apart from dicebook's own tasks."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import torch
from seqeval.metrics import f1_score as span_f1
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.pipeline import make_pipeline
from transformers import (
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)

from dicelab.training.encoders import load_tokenizer, tiny_config

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def fit(model, inputs, labels, *, steps, rate, batch=32):
    """Train with AdamW and a one-cycle schedule."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=steps, pct_start=0.1
    )
    order = torch.tensor([], dtype=torch.long)
    for _ in range(steps):
        if len(order) < batch:
            order = torch.cat([order, torch.randperm(len(inputs["input_ids"]))])
        rows, order = order[:batch], order[batch:]
        length = int(inputs["attention_mask"][rows].sum(1).max())
        chosen = {key: value[rows, :length] for key, value in inputs.items()}
        wanted = {
            key: value[rows, :length].contiguous() if value.dim() == 2 else value[rows]
            for key, value in labels.items()
        }
        model(**chosen, **wanted).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    model.eval()


def logistic(train, labels, test):
    """Logistic regression on bags of features."""
    model = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=300, C=3))
    return model.fit([dict.fromkeys(x, 1) for x in train], labels).predict(
        [dict.fromkeys(x, 1) for x in test]
    )


def words(text):
    """Words of English, characters of Chinese."""
    return text.split() if " " in text else list(text)


def score_tags(gold, predicted, *, spans):
    """Micro F1 of spans, or accuracy of tags; in per cent."""
    if spans:
        return 100 * float(span_f1(gold, predicted, zero_division=0))
    return 100 * accuracy_score([*chain(*gold)], [*chain(*predicted)])


def tagging(corpus, *, spans, steps, rate):
    """Scores of the majority, of the token alone and of the tiny encoder."""
    train, test = corpus["train"], corpus["test"]
    gold = [list(tags) for tags in test["tags"]]
    flat = [tag for tags in train["tags"] for tag in tags]
    commonest = Counter(flat).most_common(1)[0][0]
    guessed = iter(
        logistic(
            [[t] for row in train["tokens"] for t in row],
            flat,
            [[t] for row in test["tokens"] for t in row],
        )
    )
    alone = [[str(next(guessed)) for _ in tags] for tags in gold]

    tokenizer = load_tokenizer("tiny", [" ".join(row) for row in train["tokens"]], max_length=96)
    names = sorted(set(flat))

    def encode(split):
        encoded = tokenizer(
            [list(row) for row in split["tokens"]],
            is_split_into_words=True,
            padding=True,
            truncation=True,
            return_tensors="pt",
            return_token_type_ids=True,
        )
        labels = torch.full(encoded["input_ids"].shape, -100)
        for i, tags in enumerate(split["tags"]):
            before = None
            for j, word in enumerate(encoded.word_ids(i)):
                if word is not None and word != before:
                    labels[i, j] = names.index(tags[word]) if tags[word] in names else 0
                before = word
        return {key: encoded[key] for key in INPUTS}, labels

    torch.manual_seed(0)
    model = BertForTokenClassification(tiny_config(tokenizer, num_labels=len(names)))
    inputs, labels = encode(train)
    fit(model, inputs, {"labels": labels}, steps=steps, rate=rate)
    inputs, labels = encode(test)
    with torch.no_grad():
        best = model(**inputs).logits.argmax(-1)
    tiny = [
        [names[p] for p in row[mask].tolist()]
        for row, mask in zip(best, labels != -100, strict=True)
    ]
    everywhere = [[commonest] * len(tags) for tags in gold]
    return tuple(score_tags(gold, made, spans=spans) for made in (everywhere, alone, tiny))


def labelling(corpus, *, steps, rate):
    """F1 of label 1 of the majority, of the bag of words and of the tiny encoder."""
    train, test = corpus["train"], corpus["test"]
    columns = [name for name in train.column_names if name != "label"]

    def bag(split):
        rows = zip(*(split[column] for column in columns), strict=True)
        for texts in rows:
            sets = [set(words(text)) for text in texts]
            shared = set.intersection(*sets)
            yield [f"all {w}" for w in shared] + [f"one {w}" for w in set.union(*sets) - shared]

    gold = list(test["label"])
    commonest = Counter(train["label"]).most_common(1)[0][0]
    alone = logistic(bag(train), list(train["label"]), bag(test))

    texts = [text for column in columns for text in train[column]]
    tokenizer = load_tokenizer("tiny", texts, max_length=96)

    def encode(split):
        encoded = tokenizer(
            *(list(split[column]) for column in columns),
            padding=True,
            truncation=True,
            return_tensors="pt",
            return_token_type_ids=True,
        )
        return {key: encoded[key] for key in INPUTS}

    torch.manual_seed(0)
    model = BertForSequenceClassification(tiny_config(tokenizer, num_labels=2))
    labels = {"labels": torch.tensor(train["label"])}
    fit(model, encode(train), labels, steps=steps, rate=rate)
    with torch.no_grad():
        tiny = model(**encode(test)).logits.argmax(-1).tolist()
    predictions = ([commonest] * len(gold), alone, tiny)
    return tuple(100 * f1_score(gold, made, zero_division=0) for made in predictions)


def several(corpus, *, steps, rate):
    """Micro F1 of the commonest label, of the bag of words and of the tiny encoder."""
    train, test = corpus["train"], corpus["test"]
    names = sorted({name for row in train["labels"] for name in row})

    def hot(split):
        return torch.tensor([[float(n in row) for n in names] for row in split["labels"]])

    gold, learned = hot(test), hot(train)
    majority = torch.zeros_like(gold)
    majority[:, learned.sum(0).argmax()] = 1
    bags = [[words(text) for text in split["sentence"]] for split in (train, test)]
    columns = [logistic(bags[0], learned[:, i].tolist(), bags[1]) for i in range(len(names))]
    alone = torch.tensor([list(column) for column in columns]).T

    tokenizer = load_tokenizer("tiny", list(train["sentence"]), max_length=96)
    torch.manual_seed(0)
    kind = {"num_labels": len(names), "problem_type": "multi_label_classification"}
    model = BertForSequenceClassification(tiny_config(tokenizer, **kind))
    encoded = [
        tokenizer(
            list(split["sentence"]),
            padding=True,
            truncation=True,
            return_tensors="pt",
            return_token_type_ids=True,
        )
        for split in (train, test)
    ]
    inputs = [{key: part[key] for key in INPUTS} for part in encoded]
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(steps):
        rows = torch.randint(len(learned), (32,))
        length = int(inputs[0]["attention_mask"][rows].sum(1).max())
        chosen = {key: value[rows, :length] for key, value in inputs[0].items()}
        optimizer.zero_grad()
        model(**chosen, labels=learned[rows]).loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        tiny = (model(**inputs[1]).logits > 0).float()
    return tuple(
        100 * f1_score(gold, made, average="micro", zero_division=0)
        for made in (majority, alone, tiny)
    )


def reading(corpus, *, steps, rate):
    """Exact match of no answer at all, of the likeliest word by itself and of the tiny encoder."""
    train, test = corpus["train"], corpus["test"]

    def bags(split):
        for context, question in zip(split["context"], split["question"], strict=True):
            asked = words(question)[:2]
            for word in words(context):
                yield [word, f"{' '.join(asked)}|{word}", f"{asked}"]

    def inside(split):
        for row in split:
            pieces = words(row["context"])
            gap = 1 if " " in row["context"] else 0
            start = 0
            for piece in pieces:
                end = start + len(piece)
                yield any(
                    a < end and start < a + len(t)
                    for t, a in zip(
                        *(row["answers"][k] for k in ("text", "answer_start")), strict=True
                    )
                )
                start = end + gap

    gold = [row["answers"]["text"][0] if row["answers"]["text"] else "" for row in test]
    likely = iter(logistic(list(bags(train)), list(inside(train)), list(bags(test))))
    alone = []
    for context in test["context"]:
        glue = " " if " " in context else ""
        alone.append(glue.join(w for w in words(context) if next(likely)))

    tokenizer = load_tokenizer(
        "tiny", [*dict.fromkeys(train["context"]), *train["question"]], max_length=192
    )

    def encode(split):
        encoded = tokenizer(
            list(split["question"]),
            list(split["context"]),
            padding=True,
            truncation="only_second",
            return_tensors="pt",
            return_offsets_mapping=True,
            return_token_type_ids=True,
        )
        ends = []
        for i, answers in enumerate(split["answers"]):
            covered = [0]
            if answers["text"]:
                start = answers["answer_start"][0]
                end = start + len(answers["text"][0])
                covered = [
                    j
                    for j, part in enumerate(encoded.sequence_ids(i))
                    if part == 1
                    and encoded["offset_mapping"][i][j][0] < end
                    and encoded["offset_mapping"][i][j][1] > start
                ]
            ends.append((covered[0], covered[-1]))
        labels = torch.tensor(ends)
        wanted = {"start_positions": labels[:, 0], "end_positions": labels[:, 1]}
        return {key: encoded[key] for key in INPUTS}, wanted, encoded["offset_mapping"]

    torch.manual_seed(0)
    model = BertForQuestionAnswering(tiny_config(tokenizer))
    inputs, labels, _ = encode(train)
    fit(model, inputs, labels, steps=steps, rate=rate)
    inputs, _, offsets = encode(test)
    with torch.no_grad():
        output = model(**inputs)
    tiny = []
    for i, context in enumerate(test["context"]):
        pairs = (output.start_logits[i][:, None] + output.end_logits[i][None]).triu()
        pairs = pairs.masked_fill(torch.ones_like(pairs).tril(-1).bool(), -torch.inf)
        pairs[0, 1:] = -torch.inf
        start, end = divmod(int(pairs.argmax()), pairs.shape[1])
        tiny.append(context[int(offsets[i][start][0]) : int(offsets[i][end][1])] if start else "")
    predictions = ([""] * len(gold), alone, tiny)
    return tuple(
        100 * sum(a == b for a, b in zip(gold, made, strict=True)) / len(gold)
        for made in predictions
    )
