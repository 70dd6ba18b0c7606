"""Set-level losses under DistributedDataParallel equal one process with the whole batch."""

from __future__ import annotations

import pytest

from losses import distributed_worker
from tests.processes import run_on


@pytest.mark.slow
def test_gradients_equal_those_of_the_full_batch() -> None:
    run_on(3, distributed_worker.main)
