"""One run a card: a command waits for a free GPU of this machine, and sees that one alone.

    python -m reproduce.cards 0,1 -- python -m reproduce.systems ...

A run takes a card by a lock on a file, which the system gives back when the run ends, however it
ends. So two tables may be made at once. Without cards, and in a job of SLURM, which has been given
its card already, the command runs as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

EVERY = 1.0  # seconds between two looks for a free card


class CardError(ValueError):
    """More cards are asked for than there are."""


def cards(count: int | None = None, environment: Mapping[str, str] | None = None) -> list[str]:
    """The GPUs that runs may take: as ``CUDA_VISIBLE_DEVICES`` lists them, else all there are.

    Args:
        count: how many of them; None for all, 0 for none.
        environment: the environment's variables; None for this process's.

    Raises:
        CardError: if there are fewer.
    """
    listed = (os.environ if environment is None else environment).get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        import torch  # takes seconds, and a list makes it needless

        available = [str(number) for number in range(torch.cuda.device_count())]
    else:
        available = [name.strip() for name in listed.split(",") if name.strip() not in ("", "-1")]
    if count is not None and count > len(available):
        raise CardError(f"GPUS={count}: expected at most {len(available)}, the GPUs that are here")
    return available if count is None else available[:count]


def driver() -> str:
    """The version of NVIDIA's driver; empty where none answers."""
    if not shutil.which("nvidia-smi"):
        return ""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    return process.stdout.split("\n")[0].strip() if process.returncode == 0 else ""


def why_none() -> str:
    """In a sentence what of driver and torch is there, where torch sees no GPU."""
    import torch

    if torch.version.cuda is None:
        built = f"torch {torch.__version__} is built without CUDA: install a build with it"
    else:
        built = (
            f"torch {torch.__version__} is built for CUDA {torch.version.cuda}. A driver that is "
            "older than that CUDA (13 needs at least 580, 12 at least 525) makes torch see no GPU: "
            "renew it, or install torch built for an older CUDA, see pytorch.org/get-started"
        )
    nvidia = f"NVIDIA's driver here is {driver()}" if driver() else "no driver of NVIDIA answers"
    return f"torch sees no GPU here; {nvidia}, and {built}"


def take(names: Sequence[str]) -> str:
    """Wait for a free card and keep it until this process, and what it becomes, ends."""
    import fcntl  # of Unix alone, as the workflow is

    folder = Path(tempfile.gettempdir()) / f"dicebook-cards-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    while True:
        for name in names:
            lock = os.open(folder / f"{name.replace('/', '-')}.lock", os.O_CREAT | os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                continue
            os.set_inheritable(lock, True)
            return name
        time.sleep(EVERY)


def main(arguments: Sequence[str]) -> int:
    """Take a card and become the command; only if there is none to run does this return."""
    names, dashes, *command = arguments
    if dashes != "--" or not command:
        print("error: expected CARDS -- COMMAND ...", file=sys.stderr)
        return 2
    if names and "SLURM_JOB_ID" not in os.environ:
        os.environ["CUDA_VISIBLE_DEVICES"] = take(names.split(","))
    os.execvp(command[0], command)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
