"""What the extras bring, where pip finds the package, and the error where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

# Where pip finds the project: a repository for git, with `@TAG` at its end where one is meant;
# empty once the package index has it. Written everywhere by `python tools/source.py`.
SOURCE = "git+https://github.com/dicebook/dicebook"

# Of each extra the modules that are imported first; the book's has all of the training's.
_TRAIN = ("accelerate", "datasets", "pydantic", "scipy", "sklearn", "transformers")
MODULES = {
    "train": _TRAIN,
    "fit": (*_TRAIN, "matplotlib"),
    "book": (*_TRAIN, "matplotlib"),
    "generate": ("faker",),
}


class MissingExtra(ModuleNotFoundError):
    """A part of dicebook was imported without the packages that it needs."""


def install_command(extra: str = "", source: str | None = None) -> str:
    """The command that installs dicebook.

    Args:
        extra: an extra.
        source: in place of :data:`SOURCE`.
    """
    source = SOURCE if source is None else source
    name = f"dicebook[{extra}]" if extra else "dicebook"
    if not source:
        return f"pip install '{name}'"
    return f"pip install '{name} @ {source}'"


def need(extra: str, *modules: str) -> None:
    """Check that an extra is installed; called first thing by the modules that use it.

    Args:
        extra: one of ``MODULES``.
        *modules: the modules of the extra that are asked for, where it is not all of them.

    Raises:
        MissingExtra: naming what is missing and the command that installs it.
    """
    missing = [name for name in modules or MODULES[extra] if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"this part of dicebook needs {', '.join(missing)}, not found here: "
            f"{install_command(extra)}",
            name=missing[0],
        )
