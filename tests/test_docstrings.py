"""Every public name of the library has an example in its docstring, and the example is right."""

from __future__ import annotations

import doctest
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import dicebook

PUBLIC = [name for name in dicebook.__all__ if callable(getattr(dicebook, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_runs(name: str) -> None:
    names = {"torch": torch, "nn": nn, "SimpleNamespace": SimpleNamespace}
    names |= {public: getattr(dicebook, public) for public in PUBLIC}
    text = getattr(dicebook, name).__doc__
    example = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    assert example.examples
    said: list[str] = []
    assert doctest.DocTestRunner().run(example, out=said.append).failed == 0, "".join(said)
