"""Several processes from a test, set up as torchrun sets them up.

They fork from a server that imports torch and transformers once, for a process that imports them
anew takes longer than what it is to compute.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
from collections.abc import Callable

import torch

multiprocessing.set_forkserver_preload(["transformers.trainer", "datasets"])


def run_on(processes: int, worker: Callable[..., None], *arguments: object) -> None:
    """Call a function in every one of several processes; what one of them raises is raised here.

    Args:
        processes: how many.
        worker: a function of a module; it may start the process group "gloo" from the environment.
        *arguments: of the worker.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.start_processes(
        _process, (processes, port, worker, arguments), processes, start_method="forkserver"
    )


def _process(
    rank: int, processes: int, port: int, worker: Callable[..., None], arguments: tuple[object, ...]
) -> None:
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(processes),
        LOCAL_WORLD_SIZE=str(processes),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        CUDA_VISIBLE_DEVICES="",
    )
    torch.set_num_threads(1)
    worker(*arguments)
