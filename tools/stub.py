"""Write dicebook/losses/modules.pyi: what editors and type checkers read of the modules.

    python tools/stub.py

A module takes its options from the signature of its function when it is made, which only a running
Python sees. Here they are written out, and a test compares them.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

from dicebook.losses import modules
from dicebook.losses.modules import EQUATIONS, LOSS_NAMES, Loss, SetLoss

PATH = Path(modules.__file__).with_suffix(".pyi")
BATCH = """
        self,
        input: Tensor,
        target: Tensor,
        mask: Tensor | None = None,
        sample_weight: Tensor | None = None,
    """
HEAD = f"""# Written by tools/stub.py.
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict, Unpack

from torch import Tensor, nn

from dicebook.losses.batch import Absent, Average, Classes, Level, Reduction, Weight
from dicebook.losses.statistics import DiceStatistics, Group

class Loss(nn.Module):
    function: Callable[..., Tensor]
    option_names: tuple[str, ...]
    def options(self) -> dict[str, Any]: ...
    def forward({BATCH}) -> Tensor: ...
    def __call__({BATCH}) -> Tensor: ...
    def _on(self, input: Any) -> dict[str, Any]: ...

class SetLoss(Loss):
    collect: Callable[..., DiceStatistics]
    level: Level
    reduction: Reduction
    process_group: Group
    def statistics({BATCH}) -> DiceStatistics: ...
    def loss_of(self, statistics: DiceStatistics) -> Tensor: ...
"""
TAIL = """
LOSS_NAMES: tuple[str, ...]
EQUATIONS: dict[str, tuple[str, dict[str, Any]]]
_SYNONYMS: dict[str, str]

def make_loss(name: LossName, **options: Unpack[LossOptions]) -> Loss: ...
def _warn_standing_start() -> None: ...
"""


def text() -> str:
    """The stub."""
    kinds = [kind for kind in vars(modules).values() if inspect.isclass(kind)]
    kinds = [kind for kind in kinds if issubclass(kind, Loss) and "function" in vars(kind)]
    written, options = [HEAD], dict[str, str]()
    for kind in kinds:
        given = inspect.signature(kind).parameters.values()
        options |= {parameter.name: parameter.annotation for parameter in given}
        arguments = [
            f"        {p.name}: {p.annotation}"
            + ("" if p.default is p.empty else f" = {p.default!r}")
            for p in given
        ]
        base = "SetLoss" if issubclass(kind, SetLoss) else "Loss"
        names = [p.name for p in given if p.name not in ("level", "reduction", "process_group")]
        attributes = [f"    {name}: Any" for name in names]
        written += [f"\nclass {kind.__name__}({base}):", *attributes]
        written += ["    def __init__(\n        self,\n        *,", ",\n".join(arguments)]
        written += [",\n    ) -> None: ..."]
    equations = [*EQUATIONS, *(f"binary_{name}" for name in EQUATIONS)]
    names = [*LOSS_NAMES, *modules._SYNONYMS, *equations]
    names += [f"binary_{name}" for name in modules._SYNONYMS if name != "bce"]
    written += ["\nLossName = Literal[", *(f"    {name!r}," for name in names), "]"]
    written += ["\nclass LossOptions(TypedDict, total=False):"]
    written += [f"    {name}: {options[name]}" for name in sorted(options)]
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PATH), "-"]
    plain = "\n".join([*written, TAIL])
    formatted = subprocess.run(command, input=plain, capture_output=True, text=True, check=True)
    return formatted.stdout


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
