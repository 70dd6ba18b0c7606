import numpy as np
import pytest
import torch

from dicelab.claims import claim


def test_claims_that_hold():
    claim("Half of .521 is .261", {".521": 0.5213, ".261": np.float64(0.2607)})
    claim("85% of 1,563, or −.95", {"85%": 0.8515, "1,563": 1563, "−.95": torch.tensor(-0.954)})
    claim("more", True, np.bool_(True), torch.tensor(True))


@pytest.mark.parametrize(
    ("printed", "value"),
    [(".52", 0.5251), (".52", 0.5149), (".520", 0.5206), ("85%", 0.856), ("−.95", 0.95),
     ("3", 3.6), ("3", float("nan")), ("1,563", 1.563)],
)  # fmt: skip
def test_a_value_that_does_not_round_to_its_number_is_named(printed, value):
    with pytest.raises(AssertionError) as error:
        claim(f"it is {printed} here", {printed: value})
    expected = f"the text prints {printed}, computed {value:.6g}"
    assert str(error.value) == f"the text claims “it is {printed} here”, but {expected}"


@pytest.mark.parametrize("false", [False, np.bool_(False), torch.tensor(False)])
def test_a_false_condition_is_counted_out(false):
    with pytest.raises(AssertionError, match="“it grows”, but condition 2 of 2 is false"):
        claim("it grows", True, false)


@pytest.mark.parametrize("evidence", [(), ({},), (0.3,), ("yes",), (None,), (torch.tensor(0.3),)])
def test_what_cannot_fail_is_no_evidence(evidence):
    with pytest.raises(TypeError, match=r"evidence|expected conditions"):
        claim("it grows", *evidence)


@pytest.mark.parametrize("printed", [".53", ".5", "52", "1", ".95", "Half", 0.52])
def test_a_number_must_stand_in_the_words(printed):
    with pytest.raises(ValueError, match=r"does not stand in|could not convert"):
        claim("Half of .52, 1,563, 1.5 and −.95", {printed: 0.52})
