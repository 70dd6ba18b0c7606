"""Kernels that start warm: forked from a process that has imported what the chapters import.

A fresh kernel spends about nine seconds of a core on importing torch and transformers.
Below this command, kernels of the name ``python3`` start without that, whoever asks for them:
papermill, nbval or JupyterLab. Nothing else is shared: each has its own folder, environment and paths.

    python notebooks/warm.py make --jobs=2 ...
    python notebooks/warm.py --fork notebooks/execute.py 03_dice_and_f1  # below it: forked, too

The variables of ``SETTINGS`` and the packages' own variables have the values of the first line.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

# What the chapters, execute.py and the kernel itself import. Not dicebook, which may be edited; nor
# matplotlib_inline, which shows pictures only where it finds a running kernel.
PACKAGES = (
    *("ipykernel.kernelapp", "datasets", "jupytext", "matplotlib.pyplot", "pandas", "papermill"),
    *("scipy.optimize", "sklearn.metrics", "sympy", "torch._dynamo", "transformers.trainer"),
    "transformers.models.bert.modeling_bert",
)
# Read when Python or a package starts. The pid says that another process looks after the kernel.
SETTINGS = {
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "JPY_PARENT_PID": "1",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
ADDRESS = "WARM_KERNELS"


def fork(command: list[str]) -> int:
    """Have a command of Python's forked, wait for it, and pass on signals; alone, simply run it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        try:
            line.connect(os.environ[ADDRESS])
        except (KeyError, OSError):
            os.execv(sys.executable, [sys.executable, *command])
        asked = {"command": command, "folder": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(line, [json.dumps(asked).encode()], [0, 1, 2])
        pid = int(line.recv(32))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        return int(line.recv(32) or 1)


def serve(listener: socket.socket, packages: list[str]) -> None:
    """Import the packages, then fork for everyone who asks."""
    import builtins
    import importlib
    from types import SimpleNamespace

    import IPython

    own = {os.path.dirname(os.path.abspath(__file__)), *os.environ.pop("PYTHONPATH", "").split(":")}
    sys.path[:] = [path for path in sys.path if path not in own]
    # pandas, tqdm and transformers look around when they are imported: they are to see a kernel.
    outside, importing = IPython.get_ipython, True
    shell = SimpleNamespace(config={"IPKernelApp": {}}, kernel=None)
    builtins.get_ipython = IPython.get_ipython = lambda: shell if importing else outside()
    for package in packages:
        importlib.import_module(package)
    importing = False
    del builtins.get_ipython
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    while True:
        line, _ = listener.accept()
        asked, files, _, _ = socket.recv_fds(line, 1 << 20, 3)
        if os.fork() == 0:
            listener.close()
            become(line, json.loads(asked), files)
        line.close()
        for file in files:
            os.close(file)


def become(line: socket.socket, asked: dict, files: list[int]) -> None:
    """Run what was asked for, as its own process would; it ends with whoever asked."""
    import random
    import runpy
    import threading

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    line.send(str(os.getpid()).encode())
    threading.Thread(target=lambda: (line.recv(1), os._exit(1)), daemon=True).start()
    if "numpy" in sys.modules:  # Python's own numbers are drawn anew after a fork
        sys.modules["numpy"].random.seed(random.getrandbits(32))
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    code = 0
    try:
        if asked["command"][0] == "-m":
            sys.argv = asked["command"][1:]
            sys.path[:0] = ["", *paths]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv = asked["command"]
            sys.path[:0] = [os.path.dirname(os.path.abspath(sys.argv[0])), *paths]
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        line.send(str(code).encode())
        os._exit(code)


def main(command: list[str]) -> int:
    """Run a command below which kernels start warm."""
    import subprocess
    import tempfile

    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
    ):
        spec = f"{folder}/kernels/python3/kernel.json"
        os.makedirs(os.path.dirname(spec))
        this = [sys.executable, "-S", os.path.abspath(__file__)]
        kernel = [*this, "--fork", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        with open(spec, "w") as file:
            json.dump({"argv": kernel, "display_name": "Python 3", "language": "python"}, file)
        listener.bind(f"{folder}/socket")
        listener.listen(64)
        serving = [sys.executable, __file__, "--serve", str(listener.fileno())]
        files = [listener.fileno()]
        server = subprocess.Popen(serving, env={**os.environ, **SETTINGS}, pass_fds=files)
        paths = [folder, *filter(None, [os.environ.get("JUPYTER_PATH")])]
        below = {ADDRESS: f"{folder}/socket", "JUPYTER_PATH": os.pathsep.join(paths)}
        try:
            return subprocess.call(command, env={**os.environ, **below})
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fork"]:
        sys.exit(fork(sys.argv[2:]))
    if sys.argv[1:2] == ["--serve"]:
        chosen = os.environ.get("WARM_PACKAGES", " ".join(PACKAGES)).split()
        serve(socket.socket(fileno=int(sys.argv[2])), chosen)
    sys.exit(main(sys.argv[1:]))
