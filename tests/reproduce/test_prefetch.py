"""What a machine without a network needs is fetched beforehand, at the pinned commits."""

from __future__ import annotations

from typing import Any

import pytest
from transformers import AutoConfig

from dicelab.training import encoders
from reproduce import prefetch


def test_every_encoder_of_a_table_is_fetched_at_its_commit(monkeypatch, capsys):
    asked: dict[str, Any] = {}

    def fetch(name: str, **options: Any) -> str:
        asked[name] = options["revision"]
        assert "model.safetensors" in options["allow_patterns"]
        return f"hub/{name}"

    monkeypatch.setattr(prefetch, "snapshot_download", fetch)
    assert prefetch.main(["--table", "5", "--profile", "paper"]) == 0
    assert asked == {
        "bert-large-cased": None,
        "bert-base-chinese": encoders.REVISIONS["bert-base-chinese"],
    }
    assert "bert-large-cased: hub/bert-large-cased\n" in capsys.readouterr().out
    assert prefetch.main(["--table", "2"]) == 2
    assert "expected a table of" in capsys.readouterr().err


def test_a_run_reads_the_commit_that_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(AutoConfig, "from_pretrained", lambda *a, **options: asked.append(options))
    encoders.from_pretrained(AutoConfig, "bert-base-cased")
    encoders.from_pretrained(AutoConfig, "bert-base-cased", revision="main")
    encoders.from_pretrained(AutoConfig, "bert-large-cased")
    commit = encoders.REVISIONS["bert-base-cased"]
    assert [options.get("revision") for options in asked] == [commit, "main", None]
    assert all(len(commit) == 40 for commit in encoders.REVISIONS.values())
