"""What MiniLM says of words and of texts, computed once and kept: frozen features."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from tqdm import tqdm
from transformers import AutoModel, AutoTokenizer

from dicelab.atomic import atomic
from dicelab.training.encoders import MINILM_SHA256, minilm_folder
from studies.evidence.tasks import cache_root

LAYERS, LONGEST, BATCH = 4, 128, 32


def words(sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """The last four layers at the first sub-word of each word.

    Args:
        sentences: their words.

    Returns:
        Float16 ``[words, 1536]``, the sentences one after the other; zeros for a word that has no
        sub-word of its own among the first 128.
    """
    return _cached("words", [list(sentence) for sentence in sentences])


def texts(sentences: Sequence[str]) -> np.ndarray:
    """The last four layers, averaged over the sub-words of each text. Float16 ``[texts, 1536]``."""
    return _cached("texts", list(sentences))


def principal(values: np.ndarray, fitted: int, components: int) -> torch.Tensor:
    """The first principal components of standardised features, on one common scale.

    Args:
        values: ``[N, D]``.
        fitted: as many rows from the first are looked at; no row of the test set may be.
        components: how many.

    Returns:
        Float32 ``[N, components]``, whose standard deviation over the rows looked at is 1.
    """
    x = torch.from_numpy(values).float()
    x = (x - x[:fitted].mean(0)) / (x[:fitted].std(0) + 1e-6)
    sample = x[:fitted][:: max(1, fitted // 20_000)]
    axes = torch.linalg.eigh(sample.T @ sample / len(sample)).eigenvectors
    scores = x @ axes[:, -components:]
    return scores / scores[:fitted].std()


def _cached(kind: str, items: list[Any]) -> np.ndarray:
    key = json.dumps([MINILM_SHA256, kind, LAYERS, LONGEST, items], ensure_ascii=False)
    digest = hashlib.sha256(key.encode()).hexdigest()[:24]
    path = Path(cache_root()) / f"seen-{kind}-{digest}.safetensors"
    if not path.exists():
        with atomic(path) as temporary:
            save_file({"features": _run(kind == "words", items)}, temporary)
    return load_file(path)["features"]


@torch.no_grad()
def _run(by_word: bool, items: list[Any]) -> np.ndarray:
    folder = minilm_folder()
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    model.eval()
    features: list[Any] = [None] * len(items)
    order = sorted(range(len(items)), key=lambda i: len(items[i]))
    for start in tqdm(range(0, len(order), BATCH), mininterval=10):
        chosen = order[start : start + BATCH]
        batch = tokenizer(
            [items[i] for i in chosen],
            is_split_into_words=by_word,
            padding=True,
            truncation=True,
            max_length=LONGEST,
            return_tensors="pt",
        )
        states = model(**batch, output_hidden_states=True).hidden_states
        layers = torch.cat(states[-LAYERS:], dim=-1)
        mask = batch["attention_mask"].unsqueeze(-1)
        means = ((layers * mask).sum(1) / mask.sum(1)).half().numpy()
        for k, i in enumerate(chosen):
            if by_word:
                features[i] = _first_subwords(layers[k], batch.word_ids(k), len(items[i]))
            else:
                features[i] = means[k][None]
    return np.concatenate(features)


def _first_subwords(layers: torch.Tensor, of_word: list[int | None], n: int) -> np.ndarray:
    rows = np.zeros((n, layers.shape[-1]), np.float16)
    placed = set()
    for position, word in enumerate(of_word):
        if word is not None and word not in placed:
            placed.add(word)
            rows[word] = layers[position].half().numpy()
    return rows
