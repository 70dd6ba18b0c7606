"""A type checker finds an option that is misspelt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from dicebook.losses.modules import Loss, LossOptions

ROOT = Path(__file__).resolve().parents[2]
RIGHT = """\
from dicebook import DiceLoss, SelfAdjustingDiceLoss, make_loss

LOSSES = [SelfAdjustingDiceLoss(alpha=0.1), DiceLoss(classes=[1, 2]), make_loss("dsc", alpha=0.1)]
"""
WRONG = """\
from dicebook import SelfAdjustingDiceLoss, make_loss

ONE = SelfAdjustingDiceLoss(alphas=0.1)
TWO = make_loss("dsc", alphas=0.1)
THREE = make_loss("dsc", alpha="much")
"""


def kinds(kind: type[Loss]) -> list[type[Loss]]:
    return [kind, *(below for child in kind.__subclasses__() for below in kinds(child))]


def test_the_typed_options_are_those_of_the_losses() -> None:
    names = {name for kind in kinds(Loss) for name in getattr(kind, "option_names", ())}
    assert set(get_type_hints(LossOptions)) == names


@pytest.mark.slow
def test_mypy_finds_a_misspelt_option(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    command += ["--config-file=", f"--cache-dir={tmp_path / 'cache'}"]
    files = [str(tmp_path / "right.py"), str(tmp_path / "wrong.py")]
    done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line.split(":")[1] for line in errors if "wrong.py" in line] == ["3", "4", "5"], done
    assert len(errors) == 3, done.stdout
    assert 'did you mean "alpha"' in errors[0]
