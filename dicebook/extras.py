"""What the extras of the package bring, and the error where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

# Of each extra the modules that are imported first.
MODULES = {
    "train": ("accelerate", "datasets", "pydantic", "scipy", "seqeval", "sklearn", "transformers"),
    "book": ("matplotlib",),
    "generate": ("faker",),
}


class MissingExtra(ModuleNotFoundError):
    """A part of dicebook was imported without the packages that it needs."""


def need(extra: str) -> None:
    """Check that an extra is installed; called first thing by the modules that use it.

    Args:
        extra: one of ``MODULES``.

    Raises:
        MissingExtra: naming what is missing and the command that installs it.
    """
    missing = [name for name in MODULES[extra] if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"this part of dicebook needs {', '.join(missing)}, not found here: "
            f"pip install 'dicebook[{extra}]'",
            name=missing[0],
        )
