"""Where torch cannot compile, as 2.9 on Python 3.14, the tests that compile are skipped."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from torch.multiprocessing.spawn import ProcessRaisedException


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    try:
        return (yield)
    except (RuntimeError, ProcessRaisedException) as error:
        if "torch.compile is not supported" in str(error):
            pytest.skip("this torch does not compile on this Python")
        raise
