"""List the corpora that can be prepared: ``dicebook data``."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

from .corpus import Recipe


def recipes() -> list[Recipe]:
    """Every recipe of a script of this package, by task and name."""
    found: list[Recipe | None] = []
    for info in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not info.name.startswith("_"):
            module = import_module(f".{info.name}", __package__)
            found += getattr(module, "RECIPES", [getattr(module, "RECIPE", None)])
    return sorted(filter(None, found), key=lambda recipe: (recipe.corpus.task, recipe.name))


def main() -> None:
    """Print two lines a corpus: its command, task, what it is, and how it is verified."""
    for recipe in recipes():
        corpus = recipe.corpus
        print(f"{corpus.name:18} {corpus.task:10} {corpus.title}")
        print(f"{'':29} {corpus.licence}; verified: {recipe.verified}")
        print(f"{'':29} {corpus.command('DIR')}")


if __name__ == "__main__":
    main()
