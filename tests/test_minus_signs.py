"""Numbers in a reader's tables have a true minus sign."""

from __future__ import annotations

import pandas as pd

from dicelab.tables import minus, signed


def test_a_number_has_the_sign_and_a_word_keeps_its_hyphen() -> None:
    assert minus("-0.2 [-0.7, 0.4]") == "−0.2 [−0.7, 0.4]"
    assert minus("BERT-base, CoNLL-2003 (-0.26)") == "BERT-base, CoNLL-2003 (−0.26)"


def test_a_table_has_its_decimals_the_sign_and_blanks() -> None:
    table = pd.DataFrame({"F1": [52.94, -0.04], "bias": [-1, None], "gain": ["-0.1", ""]})
    assert signed(table).to_numpy().tolist() == [["52.9", "−1.0", "−0.1"], ["0.0", "", ""]]
    assert signed(pd.Series([-1.235, 2.0]), 2).tolist() == ["−1.24", "2.00"]
