"""The script for a GPU, tried out on the CPU."""

from __future__ import annotations

import json

import pytest

from reproduce import gpu as everything


@pytest.mark.slow
def test_one_command_tries_out_everything_and_leaves_a_record(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(everything, "SYSTEMS", [(9, "pairs")])
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    monkeypatch.setattr(everything, "STEP", small)
    monkeypatch.setenv("DICEBOOK_DATA", str(tmp_path / "data"))
    options = ["--device", "cpu", "--no-compile", "--seconds", "0.01", "--out", str(tmp_path)]
    assert everything.main([*options, "--sizes", "tiny"]) == 0
    steps = json.loads((tmp_path / "record.json").read_text())["steps"]
    assert {name: found["ended"] for name, found in steps.items()} == dict.fromkeys(
        ("device", "smoke", "losses", "step", "speed", "batch", "table"), "well"
    )
    rows = steps["smoke"]["rows"]
    assert [(row["system"], row["loss"]) for row in rows] == [("pairs", "ce"), ("pairs", "dl")]
    assert {row["minus the CPU's, fp32"] for row in rows} == {0}  # it is the CPU
    for name in ("losses", "step"):
        rows = steps[name]["rows"]
        assert [row["loss"] for row in rows] == ["ce, torch", *everything.LOSSES]
        assert all(row["milliseconds"] > 0 for row in rows)
    assert [(row["encoder"], row["precision"]) for row in steps["speed"]["rows"]] == [
        ("tiny", "bf16"), ("tiny", "fp32")
    ]  # fmt: skip
    assert "MRPC is not in" in steps["batch"]["left out"]
    assert "Tables 9, 4, 7 are not in" in steps["table"]["left out"]
    assert "all went well" in capsys.readouterr().out


def test_a_step_that_fails_is_noted_and_the_next_one_runs(tmp_path, monkeypatch):
    def broken(given: object) -> dict[str, object]:
        raise RuntimeError("out of memory")

    monkeypatch.setitem(everything.STEPS, "smoke", broken)
    options = ["--device", "cpu", "--no-compile", "--seconds", "0.01", "--out", str(tmp_path)]
    assert everything.main([*options, "--only", "smoke", "losses"]) == 1
    steps = json.loads((tmp_path / "record.json").read_text())["steps"]
    assert (steps["smoke"]["ended"], steps["losses"]["ended"]) == ("badly", "well")
    assert "out of memory" in steps["smoke"]["error"]
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert everything.main(["--out", str(tmp_path)]) == 2
