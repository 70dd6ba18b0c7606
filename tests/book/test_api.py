"""Every export has its place in the API reference of the built book."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

pytestmark = pytest.mark.slow
EXPORTING = (
    "dicebook",
    "dicebook.decision",
    "dicelab.corpora",
    "dicelab.fit",
    "dicebook.diagnosis",
    "dicebook.losses",
    "dicebook.losses.functional",
)
#: These export what is one module's for an import of one line.
FORWARDING = {"dicelab.tasks.mrc_ner"}


@pytest.fixture(scope="module")
def documented(html: Path) -> set[str]:
    """Full names of all that the reference describes."""
    with (html / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, uri: uri)
    return {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}


def test_every_package_that_exports_is_looked_at() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = [p for package in ("dicebook", "dicelab") for p in (root / package).rglob("*.py")]
    found = [p for p in sources if "\n__all__ = " in p.read_text("utf-8")]
    names = {".".join(p.relative_to(root).with_suffix("").parts) for p in found}
    lazily = {"dicebook"}  # makes its list when a loss is first asked for
    assert {name.removesuffix(".__init__") for name in names} | lazily == {*EXPORTING, *FORWARDING}


@pytest.mark.parametrize("module", EXPORTING)
def test_every_export_is_described(module: str, documented: set[str]) -> None:
    package = importlib.import_module(module)
    for name in set(package.__all__) - {"__version__"}:
        value = getattr(package, name)
        if hasattr(value, "__qualname__"):
            place = f"{value.__module__}.{value.__qualname__}"
        elif hasattr(value, "__path__") or hasattr(value, "__spec__"):
            place = value.__name__
        else:  # a constant does not know where it comes from
            place = next((d for d in documented if d.endswith(f".{name}")), f"{module}.{name}")
        assert place in documented, f"{module}.{name}"
