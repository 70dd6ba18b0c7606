"""What the extras bring, where pip finds the package, and the error where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

# Where pip finds the project: empty for the folder of a clone, `git+https://...` for a repository,
# with `@TAG` at its end where one is meant, "index" once the package index has it. See
# tools/source.py, which writes it.
SOURCE = ""

# Of each extra the modules that are imported first; the book's has all of the training's.
_TRAIN = ("accelerate", "datasets", "pydantic", "scipy", "sklearn", "transformers")
MODULES = {
    "train": _TRAIN,
    "fit": (*_TRAIN, "jinja2", "matplotlib", "pycrfsuite"),
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
    if not source:
        return f"pip install '.[{extra}]'" if extra else "pip install ."
    name = f"dicebook[{extra}]" if extra else "dicebook"
    return f"pip install '{name}'" if source == "index" else f"pip install '{name} @ {source}'"


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
            f"this part of dicebook needs {', '.join(missing)}, not found here"
            f"{'' if SOURCE else '; in a clone'}: {install_command(extra)}",
            name=missing[0],
        )
