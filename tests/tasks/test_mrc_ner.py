"""Named entities as reading: the split match head, candidates, losses, decoding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset, DatasetDict
from torch import nn

from dicebook import make_loss
from dicelab.corpora.tags import Span, spans
from dicelab.tasks import mrc_ner
from dicelab.tasks.entity_queries import query
from dicelab.training.encoders import load_tokenizer

ROWS = [
    {
        "tokens": ["Ada", "Lovelace", "met", "Grace", "in", "Paris", "."],
        "tags": ["B-PER", "I-PER", "O", "B-PER", "O", "B-LOC", "O"],
    },
    {"tokens": ["Nobody", "came", "."], "tags": ["O", "O", "O"]},
]


@pytest.fixture(scope="module")
def tokenizer():
    texts = [" ".join(row["tokens"]) for row in ROWS] + [query("PER"), query("LOC")]
    return load_tokenizer("tiny", 3 * texts, max_length=64)


@pytest.fixture(scope="module")
def encoded(tokenizer):
    corpus = DatasetDict(
        {name: Dataset.from_list(ROWS) for name in ("train", "validation", "test")}
    )
    return mrc_ner.encode(corpus, tokenizer, max_length=64)


@pytest.fixture
def reader(tokenizer):
    torch.manual_seed(0)
    return mrc_ner.model("tiny", tokenizer, candidates=4)


def test_one_question_for_each_sentence_and_type(encoded, tokenizer) -> None:
    assert encoded.types == ["LOC", "PER"]
    split = encoded.splits["train"]
    assert list(zip(split["sentence"], split["type"], strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    for row in split:
        gold = [
            s for s in spans(ROWS[row["sentence"]]["tags"]) if s.type == encoded.types[row["type"]]
        ]
        words = {p: w for w, p in enumerate(row["first_subword"])}
        assert [(words[s], words[e] + 1) for s, e in row["spans"]] == [
            (s.start, s.end) for s in gold
        ]
    assert encoded.counts() == (2 * 2 * 10 - 6, 6)
    text = tokenizer.decode(split[0]["input_ids"])
    assert "Which places are named" in text
    assert text.index("Which") < text.index("Ada")


class PlainMatchHead(nn.Module):
    """The usual head: every pair's two hidden states side by side, ``[B, L, L, 2H]``."""

    def __init__(self, split: mrc_ner.MatchHead) -> None:
        super().__init__()
        self.weight = torch.cat([split.start.weight, split.end.weight], 1)
        self.bias, self.out = split.start.bias, split.out

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        length = hidden.shape[1]
        starts = hidden[:, :, None].expand(-1, -1, length, -1)
        ends = hidden[:, None].expand(-1, length, -1, -1)
        pairs = nn.functional.linear(torch.cat([starts, ends], -1), self.weight, self.bias)
        return self.out(nn.functional.gelu(pairs)).squeeze(-1)


def test_the_split_head_is_the_plain_head() -> None:
    torch.manual_seed(0)
    head, hidden = mrc_ner.MatchHead(16), torch.randn(2, 6, 16)
    starts, ends = torch.randint(0, 6, (2, 5)), torch.randint(0, 6, (2, 5))
    rows = torch.arange(2)[:, None]
    plain = PlainMatchHead(head)(hidden)[rows, starts, ends]
    torch.testing.assert_close(head(hidden, starts, ends), plain, atol=1e-5, rtol=0)


def test_gold_pairs_are_candidates_in_training_only(encoded, tokenizer, reader) -> None:
    batch = mrc_ner.collator(tokenizer)(list(encoded.splits["train"]))
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    pairs = reader.train()(**inputs)["pairs"]
    for row, question in zip(pairs.tolist(), encoded.splits["train"], strict=True):
        assert all(list(span) in row for span in question["spans"])
        real = [tuple(pair) for pair in row if pair[0] >= 0]
        assert all(s <= e for s, e in real)
        assert {p for pair in real for p in pair} <= set(question["first_subword"])
    reader.eval()
    with torch.inference_mode():
        seen = reader(**inputs)["pairs"]
        blind = reader(**{name: v for name, v in inputs.items() if name != "spans"})["pairs"]
    assert torch.equal(seen, blind)


def test_a_fourth_head_says_whether_there_is_an_entity(encoded, tokenizer) -> None:
    torch.manual_seed(0)
    reader = mrc_ner.model("tiny", tokenizer, answerable=True, dropout=0.0)
    batch = mrc_ner.collator(tokenizer)(list(encoded.splits["train"]))
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    outputs = reader.train()(**inputs)
    has = torch.tensor([float(bool(row["spans"])) for row in encoded.splits["train"]])
    three, four = (
        mrc_ner.MrcLoss(make_loss("binary_ce"), answerable=weight)(outputs, batch["labels"])
        for weight in (0.0, 0.4)
    )
    expected = nn.functional.binary_cross_entropy_with_logits(outputs["answerable"], has)
    torch.testing.assert_close(four - three, 0.4 * expected)
    with torch.inference_mode():
        reader.eval()
        before = reader(**inputs)["match_logits"]
        assert reader.answerable is not None
        reader.answerable.bias.sub_(100)
        after = reader(**inputs)["match_logits"]
    assert (before > -50).all()
    assert (after < -50).all()


def test_the_loss_is_a_weighted_sum_of_three(encoded, tokenizer, reader) -> None:
    batch = mrc_ner.collator(tokenizer)(list(encoded.splits["train"]))
    outputs = reader.train()(**{n: v for n, v in batch.items() if n != "labels"})
    found = mrc_ner.MrcLoss(make_loss("binary_ce"), (1.0, 2.0, 3.0))(outputs, batch["labels"])
    logits: list[list[torch.Tensor]] = [[], [], []]
    gold: list[list[float]] = [[], [], []]
    for i, row in enumerate(encoded.splits["train"]):
        entities = {tuple(span) for span in row["spans"]}
        for position in row["first_subword"]:
            for side in (0, 1):
                logits[side].append(outputs["logits"][i, position, side])
                gold[side].append(float(any(span[side] == position for span in entities)))
        for pair, logit in zip(
            outputs["pairs"][i].tolist(), outputs["match_logits"][i], strict=True
        ):
            if pair[0] >= 0:
                logits[2].append(logit)
                gold[2].append(float(tuple(pair) in entities))
    bce = nn.functional.binary_cross_entropy_with_logits
    parts = [bce(torch.stack(a), torch.tensor(b)) for a, b in zip(logits, gold, strict=True)]
    torch.testing.assert_close(found, parts[0] + 2 * parts[1] + 3 * parts[2])
    found.backward()
    assert all(p.grad is not None for p in reader.match.parameters())


def outputs_for(encoded, tokenizer, certain: dict[tuple[int, int, int], float]):
    """Outputs in which the given (row, first word, last word) have the given log-odds."""
    split = encoded.splits["test"]
    width = max(map(len, split["input_ids"]))
    logits = np.full((len(split), width, 2), -9.0)
    pairs = np.full((len(split), 4, 2), -1)
    match = np.full((len(split), 4), -9.0)
    for k, ((row, first, last), odds) in enumerate(certain.items()):
        s, e = (split[row]["first_subword"][word] for word in (first, last))
        logits[row, s, 0] = logits[row, e, 1] = match[row, k] = odds
        pairs[row, k] = s, e
    return logits, pairs, match


def test_decoding_flat_and_nested(encoded, tokenizer) -> None:
    outputs = outputs_for(
        encoded, tokenizer, {(1, 0, 1): 2.0, (0, 1, 1): 5.0, (1, 3, 3): 0.5, (3, 0, 0): -1.0}
    )
    ada, lovelace, grace = Span("PER", 0, 2), Span("LOC", 1, 2), Span("PER", 3, 4)
    assert mrc_ner.decode(outputs, encoded, "test") == [[lovelace, grace], []]
    assert mrc_ner.decode(outputs, encoded, "test", nested=True) == [[ada, lovelace, grace], []]
    assert mrc_ner.decode(outputs, encoded, "test", threshold=1.0) == [[lovelace], []]
    assert mrc_ner.score([[ada, grace]], [[ada, lovelace]]) == pytest.approx(
        {"precision": 50, "recall": 50, "f1": 50}
    )


def test_a_type_unseen_in_training_is_counted(tokenizer) -> None:
    corpus = DatasetDict(
        train=Dataset.from_list(ROWS),
        test=Dataset.from_list([{"tokens": ["ACL"], "tags": ["B-ORG"]}]),
    )
    encoded = mrc_ner.encode(corpus, tokenizer, max_length=64)
    assert encoded.types == ["LOC", "PER"]
    assert encoded.unseen == {"train": {}, "test": {"ORG": 1}}
    assert all(row["spans"] == [] for row in encoded.splits["test"])


def test_candidates_do_not_limit_the_entities(tokenizer) -> None:
    many = 12
    row = {"tokens": ["Ada", "."] * many, "tags": ["B-PER", "O"] * many}
    encoded = mrc_ner.encode(DatasetDict(train=Dataset.from_list([row])), tokenizer, max_length=64)
    (question,) = encoded.splits["train"]
    assert len(question["spans"]) == many
    reader = mrc_ner.model("tiny", tokenizer, candidates=4)
    batch = mrc_ner.collator(tokenizer)([question])
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    pairs = reader.train()(**inputs)["pairs"][0].tolist()
    assert all(span in pairs for span in question["spans"])
    with torch.no_grad():
        reader.boundaries.bias.fill_(50.0)  # the reader is sure of every word
        assert reader.eval()(**inputs)["pairs"].shape[1] == 16**2
        reader.boundaries.bias.fill_(-50.0)
        assert reader(**inputs)["pairs"].shape[1] == 4**2


def test_parts_add_up_and_a_step_that_was_broken_off_leaves_nothing(encoded, tokenizer, reader):
    criterion = mrc_ner.MrcLoss(make_loss("binary_dl"))
    batch = mrc_ner.collator(tokenizer)(list(encoded.splits["train"]))
    outputs = reader.train()(**{n: v for n, v in batch.items() if n != "labels"})
    rows = len(batch["labels"])
    whole = criterion(outputs, batch["labels"], num_items_in_batch=rows)
    assert criterion(outputs, batch["labels"], num_items_in_batch=2 * rows) == 0
    criterion.reset()
    again = criterion(outputs, batch["labels"], num_items_in_batch=rows)
    assert again.item() == whole.item()
    first, last = (
        criterion(
            {name: value[part] for name, value in outputs.items()},
            batch["labels"][part],
            num_items_in_batch=rows,
        )
        for part in (slice(0, 1), slice(1, rows))
    )
    assert first == 0
    torch.testing.assert_close(last, whole)


def test_the_tuned_threshold_lies_between_what_is_right_and_what_is_not(encoded, tokenizer) -> None:
    """Of the search itself the spans' test is: both tasks call it."""
    wrong = {(0, 1, 1): 0.5, (3, 0, 0): 0.75}
    outputs = outputs_for(encoded, tokenizer, {(1, 0, 1): 2.0, (1, 3, 3): 1.5, **wrong})
    tuned = mrc_ner.tune_threshold(outputs, encoded, "test")
    assert 0.75 < tuned < 1.5
    gold = [set(spans(row["tags"])) for row in ROWS]
    found = mrc_ner.decode(outputs, encoded, "test", threshold=tuned)
    assert mrc_ner.score(gold, found)["precision"] == 100


def test_a_saved_reader_is_the_same_reader(tmp_path: Path, encoded, tokenizer, reader) -> None:
    batch = mrc_ner.collator(tokenizer)(list(encoded.splits["test"]))
    inputs = {name: v for name, v in batch.items() if name not in ("labels", "spans")}
    reader.queries = encoded.queries
    reader.eval().save_pretrained(tmp_path)
    again = mrc_ner.EntityReader.from_pretrained(tmp_path)
    assert (again.candidates, again.queries) == (4, encoded.queries)
    with torch.inference_mode():
        torch.testing.assert_close(
            again(**inputs)["match_logits"], reader(**inputs)["match_logits"]
        )
    assert not list(tmp_path.glob("*.bin"))
    text, everything = "Ada met Grace", {"threshold": -1e9, "nested": True}
    found = mrc_ner.predict(again, tokenizer, text, **everything)
    assert found == mrc_ner.predict(reader, tokenizer, text, **everything) != [[]]
    with pytest.raises(ValueError, match="a reader with questions"):
        mrc_ner.predict(mrc_ner.model("tiny", tokenizer), tokenizer, text)
    (tmp_path / "heads.safetensors").unlink()
    with pytest.raises(OSError, match="heads"):
        mrc_ner.EntityReader.from_pretrained(tmp_path)
