"""Set-level losses under DistributedDataParallel equal one process with the whole batch."""

from __future__ import annotations

import pytest

from losses import distributed_worker
from tests.processes import run_on


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 3])
def test_gradients_equal_those_of_the_full_batch(processes: int) -> None:
    run_on(processes, distributed_worker.main)
