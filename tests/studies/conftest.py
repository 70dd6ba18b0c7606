"""Raw files of two corpora for tiny studies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studies.evidence import tasks as first
from studies.evidence_2 import runs

TRAIN = [("Ada", "B-PER"), ("Lovelace", "I-PER"), ("wrote", "O"), ("code", "O")]
TEST = [("Bo", "B-PER"), ("sat", "O"), ("in", "O"), ("Rome", "B-LOC")]


def _conll(path: Path, sentence: list[tuple[str, str]], times: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    block = "\n".join("\t".join(pair) for pair in sentence)
    path.write_text("\n\n".join([block] * times) + "\n")


@pytest.fixture
def raw_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Files of two corpora, as ``dicebook data`` leaves them; features made up from the words."""
    data = tmp_path / "data"
    for name, sentence in (
        ("wnut17train.conll", TRAIN),
        ("emerging.dev.conll", TEST),
        ("emerging.test.annotated", TEST),
    ):
        _conll(data / "wnut17" / "raw" / name, sentence, 40)
    emotions = data / "goemotions" / "raw"
    emotions.mkdir(parents=True)
    (emotions / "labels.txt").write_text("fear\ngrief\nneutral\n")
    for part in ("train", "dev", "test"):
        lines = [f"text {i % 5}\t{'1,0' if i % 5 == 0 else '2'}\tid{i}\n" for i in range(60)]
        (emotions / f"{part}.tsv").write_text("".join(lines))
    monkeypatch.setenv("DICEBOOK_DATA", str(data))
    monkeypatch.setenv("DICEBOOK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    monkeypatch.setattr(first, "encoder_folder", lambda: tmp_path)

    def extract(folder, kind, rows, name):
        words = [w for row in rows for w in (row.texts if kind == "tags" else row.texts[:1])]
        rng = np.random.default_rng(0)
        of_word = {w: rng.normal(size=16).astype(np.float16) for w in sorted(set(words))}
        return np.stack([of_word[w] for w in words])

    monkeypatch.setattr(first, "_extract", extract)
    runs._data.cache_clear()
    yield data
    runs._data.cache_clear()
