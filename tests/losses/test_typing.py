"""Editors and type checkers know the options of each loss, and refuse those of another."""

from __future__ import annotations

import inspect

import pytest

import dicebook
from dicebook.losses import modules
from dicebook.losses.modules import Loss

KINDS = [kind for kind in vars(modules).values() if inspect.isclass(kind)]
KINDS = [kind for kind in KINDS if issubclass(kind, Loss) and "function" in vars(kind)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_option_has_the_default_of_the_function(kind: type[Loss]) -> None:
    own = {"alpha": 0.1} if "SelfAdjusting" in kind.__name__ else {}
    own |= {"fp_weight": 0.5, "fn_weight": 0.5} if "Tversky" in kind.__name__ else {}
    theirs = inspect.signature(kind.function).parameters
    for name, option in inspect.signature(kind).parameters.items():
        assert option.default == own.get(name, theirs[name].default), name
        assert option.annotation in theirs[name].annotation, name
    fixed = {name for name, option in theirs.items() if option.kind is option.KEYWORD_ONLY}
    assert fixed - set(kind.option_names) <= {"alpha", "fp_weight", "fn_weight"}


@pytest.mark.parametrize("kind", KINDS)
def test_errors_name_the_loss_and_each_of_its_options(kind: type[Loss]) -> None:
    assert getattr(dicebook, kind.__name__) is kind
    known = f"{kind.__name__} has no option 'gamme'; its options are {', '.join(kind.option_names)}"
    with pytest.raises(TypeError, match=f"^{known}$"):
        kind(gamme=2)
    with pytest.raises(TypeError, match=f"^{kind.__name__} takes options by name alone"):
        kind(1.0)


def test_a_class_below_has_a_signature_of_its_own() -> None:
    class Mine(dicebook.DiceLoss):
        def __init__(self, times: float) -> None:
            super().__init__(smooth=times)

    assert list(inspect.signature(Mine).parameters) == ["times"]
    assert Mine(2.0).smooth == 2.0
