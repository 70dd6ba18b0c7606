"""The checkpoints of a run: which one to go on from, and one run at a time in a folder."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open

from dicelab.training.experiment import ParameterError

COMPLETE = "complete"


def first_process() -> bool:
    """Whether this is the only process of a run, or the first of a distributed one."""
    return int(os.environ.get("RANK", "0")) == 0


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder against other runs, until the block or the process ends.

    Of the processes of one distributed run the first holds it for all.

    Args:
        folder: a run's folder; it is made.

    Raises:
        ParameterError: if another run holds it.
    """
    if not first_process():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ParameterError(
            f"parameter 'output_dir': another run is at work in {folder}; wait until it has ended, "
            "or choose another folder"
        ) from None
    try:
        yield
    finally:
        lock.release()


def last_whole(folder: Path) -> str | None:
    """The newest checkpoint that can be gone on from, or None; what cannot be read is removed.

    A kill can leave a checkpoint half written, a broken disk or an interrupted copy a shortened
    one. The trainer must meet neither: it could take one for the best.

    Args:
        folder: a run's folder.
    """
    for checkpoint in sorted(folder.glob("checkpoint-*"), key=_step, reverse=True):
        if (checkpoint / COMPLETE).exists():
            broken = _broken(checkpoint)
            if broken is None:
                return str(checkpoint)
            print(f"  {broken} is damaged; {checkpoint.name} is not used", file=sys.stderr)
        shutil.rmtree(checkpoint)
    return None


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.split("-")[1])


def _broken(checkpoint: Path) -> Path | None:
    """A file of a checkpoint, or of the best one before it, that is cut short or missing."""
    state = checkpoint / "trainer_state.json"
    try:
        best = json.loads(state.read_text(encoding="utf-8"))["best_model_checkpoint"]
    except (OSError, ValueError, KeyError):
        return state
    # A folder may have been moved since; of the path that was written the name holds.
    folders = {checkpoint, checkpoint.parent / Path(best).name if best else checkpoint}
    for path in sorted(path for place in folders for path in _weights(place)):
        if path.suffix == ".safetensors":
            try:
                with safe_open(path, framework="numpy"):
                    continue
            except (OSError, SafetensorError):
                return path
        elif not zipfile.is_zipfile(path):  # as torch.save writes
            return path
    return None


def _weights(checkpoint: Path) -> list[Path]:
    patterns = ("*.safetensors", "*.pt", "*.pth")
    files = [path for pattern in patterns for path in checkpoint.glob(pattern)]
    return files or [checkpoint / "model.safetensors"]


@contextlib.contextmanager
def room_in(folder: Path, needed: int) -> Iterator[None]:
    """Say in one sentence that the disk is full, where writing a checkpoint fails for that.

    Args:
        folder: the run's folder.
        needed: bytes of a checkpoint.

    Raises:
        OSError: with ``errno.ENOSPC``, naming the folder and the bytes.
    """
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        free = shutil.disk_usage(folder).free
        if free > needed and getattr(error, "errno", None) != errno.ENOSPC:
            raise
        words = f"no space left: a checkpoint takes {needed / 1e6:.0f} MB, {free / 1e6:.0f} MB free"
        raise OSError(errno.ENOSPC, words, str(folder)) from error
