"""Where torch cannot compile, as 2.9 on Python 3.14, the tests that compile are skipped."""

from __future__ import annotations

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    try:
        return (yield)
    except RuntimeError as error:
        if "torch.compile is not supported" in str(error):
            pytest.skip(str(error))
        raise
