"""Failures that are injected into fit and predict: one sentence, nothing lost, and it goes on."""

from __future__ import annotations

import errno
import gzip
import io
import json
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors import SafetensorError

from dicelab import load_model
from dicelab.__main__ import main
from dicelab.corpora import text
from dicelab.fit.options import FitError, Options
from dicelab.training.encoders import EncoderError, from_pretrained
from tests.checkout import ROOT
from tests.fit import made_up

FULL = OSError(errno.ENOSPC, "No space left on device")
# What may fail in the middle of a fit, and how.
INJECTED = {
    "a full disk at a record": ("dicelab.fit.state.write_json", FULL),
    "a full disk at the predictions": ("dicelab.fit.fitting.write_predictions", FULL),
    "a full disk at the kept model": (
        "dicelab.fit.fitting.keep",
        SafetensorError("I/O error: No space left on device (os error 28)"),
    ),
    "a run's model cannot be read": (
        "transformers.AutoModelForSequenceClassification.from_pretrained",
        SafetensorError("Error while deserializing header: incomplete metadata"),
    ),
    "ctrl-C while a run trains": ("dicelab.fit.training.train", KeyboardInterrupt()),
}


def command(folder: Path, source: Path) -> list[str]:
    given = ["--label", "flag", "--encoder", "tiny", "--device", "cpu", "--minutes", "1"]
    return ["fit", str(source), *given, "--losses", "ce", "--no-linear", "--out", str(folder)]


@pytest.fixture(autouse=True, scope="module")
def two_steps() -> Iterator[None]:
    """Each run of a fit has two steps, which is no option of the command."""
    known = Options.__init__

    def short(self: Options, **given: Any) -> None:
        known(self, **{**given, "steps": 2, "seeds": 1, "rates": (1e-3,)})

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Options, "__init__", short)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A file and the folder of its fit, which ended."""
    folder = tmp_path_factory.mktemp("whole")
    source = made_up.sentences(folder / "my.tsv")
    assert main(command(folder / "out", source)) == 0
    return source, folder / "out"


@pytest.mark.slow
@pytest.mark.parametrize("failure", INJECTED)
def test_a_failure_in_a_fit_is_one_sentence_and_the_same_command_goes_on(
    failure: str,
    whole: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place, error = INJECTED[failure]

    def fail(*args: Any, **given: Any) -> Any:
        raise error

    source, done = whole
    before = source.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(place, fail)
        code = main(command(tmp_path / "out", source))
    told = capsys.readouterr().err
    assert code == (130 if isinstance(error, KeyboardInterrupt) else 1)
    assert "Traceback" not in told
    assert len([line for line in told.splitlines() if line.startswith("dicebook: ")]) == 1
    assert source.read_bytes() == before
    assert main(command(tmp_path / "out", source)) == 0
    of_both = [
        json.loads((folder / "record.json").read_text(encoding="utf-8"))["metrics"]
        for folder in (done, tmp_path / "out")
    ]
    assert of_both[0] == of_both[1]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


DAMAGED: dict[str, Callable[[Path], None]] = {
    "weights cut short": lambda folder: cut(folder / "model.safetensors"),
    "weights gone": lambda folder: (folder / "model.safetensors").unlink(),
    "config cut short": lambda folder: cut(folder / "config.json"),
    "facts cut short": lambda folder: cut(folder / "dicebook.json"),
    "facts of something else": lambda folder: (folder / "dicebook.json").write_text("{}") and None,
    "tokenizer cut short": lambda folder: cut(folder / "tokenizer.json"),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_model_is_said_in_one_sentence(
    damage: str, whole: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, done = whole
    model = shutil.copytree(done / "model", tmp_path / "model")
    DAMAGED[damage](model)
    with pytest.raises(FitError, match="got a damaged one"):
        load_model(model)
    assert main(["predict", str(model), str(source), "--out", str(tmp_path / "p.tsv")]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"dicebook: {model}: expected a whole model")
    assert "Traceback" not in told
    assert not (tmp_path / "p.tsv").exists()


def test_weights_that_are_no_safetensors_and_code_of_a_folder_are_refused(tmp_path: Path) -> None:
    from transformers import AutoModel, BertConfig, BertModel

    config = BertConfig(
        vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4
    )
    config.save_pretrained(tmp_path)

    class Evil:
        def __reduce__(self) -> Any:
            return (tmp_path / "ran").touch, ()

    torch.save(BertModel(config).state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(EncoderError, match="safetensors"):
        from_pretrained(AutoModel, str(tmp_path))
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
    own = {"auto_map": {"AutoModel": "mine.Model"}, "model_type": "mine"}
    (tmp_path / "config.json").write_text(json.dumps(own))
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    with pytest.raises(EncoderError):
        from_pretrained(AutoModel, str(tmp_path))
    assert not (tmp_path / "ran").exists()


def test_a_packed_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "LARGEST", 1_000_000)
    bomb, fine = tmp_path / "bomb.tsv.gz", tmp_path / "fine.tsv.gz"
    bomb.write_bytes(gzip.compress(b"0" * 1_000_001))
    fine.write_bytes(gzip.compress(b"0" * 1_000_000))
    assert len(text.read_bytes(fine)) == 1_000_000
    with pytest.raises(ValueError, match="unpacked, got more"):
        text.read_bytes(bomb)


@pytest.mark.slow
def test_predict_reads_what_is_piped_into_it(
    whole: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, done = whole
    assert main(["predict", str(done), str(source)]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(source.read_bytes())))
    assert main(["predict", str(done), "-"]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.slow
def test_a_full_disk_at_the_predictions_leaves_no_half_of_them(
    whole: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(descriptor: int) -> None:
        raise FULL

    source, done = whole
    monkeypatch.setattr("dicelab.atomic.os.fsync", full)
    assert main(["predict", str(done), str(source), "--out", str(tmp_path / "p.tsv")]) == 1
    told = capsys.readouterr().err
    assert told.splitlines()[-1].startswith("dicebook: ")
    assert "No space left on device" in told
    assert "Traceback" not in told
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_card_that_is_not_there_is_said(
    whole: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, done = whole
    monkeypatch.chdir(tmp_path)
    for words in (["predict", str(done), str(source)], ["fit", str(source), "--label", "flag"]):
        assert main([*words, "--device", "cuda"]) == 1
        assert "expected a CUDA GPU for 'cuda', found none" in capsys.readouterr().err
    assert not any(tmp_path.iterdir()), "said before any work"


@pytest.mark.slow
def test_ctrl_c_while_python_imports_is_one_sentence(tmp_path: Path) -> None:
    source = made_up.sentences(tmp_path / "my.tsv")
    told = [sys.executable, "-m", "dicelab", *command(tmp_path / "out", source)]
    with subprocess.Popen(told, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(1000):  # until the first libraries are being imported
            loaded = Path(f"/proc/{process.pid}/maps")
            if not loaded.exists() or "libtorch" in loaded.read_text():
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "Traceback" not in error
    assert "dicebook: stopped" in error
