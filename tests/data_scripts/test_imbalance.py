"""The counts that chapter 01 draws its table from."""

from __future__ import annotations

from pathlib import Path

from data_scripts.imbalance import main
from dicelab.records.runs import kept_records, read_records

ROOT = Path(__file__).resolve().parents[2]


def test_counts_are_recorded_and_counted_again_in_place(tmp_path, capsys):
    corpus, record = tmp_path / "tiny.conll", tmp_path / "results" / "imbalance.jsonl"
    corpus.write_text("Rome\tB-LOC\nis\tO\nold\tO\n\nYes\tO\n")
    assert main([f"wnut17={corpus}", f"wikigold={corpus}", "--record", str(record)]) == 0
    assert "wnut17" in capsys.readouterr().out
    first, second = read_records(record)
    assert [first["parameters"]["corpus"], second["parameters"]["corpus"]] == ["wikigold", "wnut17"]
    assert first["metrics"] == {"rows": 2, "negative": 3, "positive": 1}

    corpus.write_text("Rome\tB-LOC\nis\tO\n")
    assert main([f"wnut17={corpus}", "--record", str(record)]) == 0
    assert [r["metrics"]["negative"] for r in read_records(record)] == [3, 1]


def test_committed_wnut17_row_is_what_the_file_holds(real_corpus) -> None:
    words = tags = 0
    for line in (real_corpus("wnut17") / "wnut17train.conll").read_text().splitlines():
        if line.strip():
            words += 1
            tags += line.split("\t")[1].strip() != "O"
    rows = {r["parameters"]["corpus"]: r["metrics"] for r in kept_records("imbalance")}
    assert (rows["wnut17"]["negative"], rows["wnut17"]["positive"]) == (words - tags, tags)
