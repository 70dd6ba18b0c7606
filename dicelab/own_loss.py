"""A reader's own loss by its name, ``MODULE:NAME``, on the command line and in the chapters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def own_loss(name: str, options: Mapping[str, Any]) -> Callable[..., Any]:
    """The loss that a module calls by a name.

    Args:
        name: ``MODULE:NAME``, of a module in the folder one works in, or of one that is installed.
        options: keyword arguments, where the name is that of a class.

    Returns:
        An object of the class; or what the name stands for, if that is no class.

    Raises:
        ValueError: if there is no such module or name, if the class does not take the options, or
            if there are options for a function.
    """
    module, _, attribute = name.rpartition(":")
    sys.path.insert(0, "")
    try:
        loss = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        # One that the reader's module itself misses is another matter, with a traceback.
        if not error.name or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ValueError(
            f"no module {module!r}, here or installed; expected a loss as MODULE:NAME"
        ) from None
    except AttributeError:
        raise ValueError(f"module {module!r} has no {attribute!r}; expected MODULE:NAME") from None
    finally:
        sys.path.remove("")
    if isinstance(loss, type):
        try:
            return loss(**options)
        except TypeError as error:
            raise ValueError(f"loss {name!r}: {error}") from None
    if options:
        raise ValueError(f"loss {name!r} is no class, so it takes no options; got {dict(options)}")
    return loss
