"""The scripts of MRPC and QQP."""

from __future__ import annotations

import json
import zipfile

from data_scripts import corpus, mrpc, qqp
from dicelab.corpora import load
from dicelab.corpora.delimited import EMPTY, FRAGMENTS

HEADER = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"


def test_mrpc_from_its_real_files(real_corpus, tmp_path, capsys):
    argv = ["--out", str(tmp_path), "--mirror", str(real_corpus("mrpc").parent), "--quiet"]
    assert corpus.main(mrpc.RECIPE, argv) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["train", "pairs", "4,076", "4,076"] in lines
    assert ["train", "positive", "2,753", "2,753"] in lines
    assert ["test", "pairs", "1,725", "1,725"] in lines
    assert ["test", "positive", "1,147", "1,147"] in lines
    card = json.loads((tmp_path / "mrpc/card.json").read_text(encoding="utf-8"))
    assert card["repairs"] == {"byte order mark removed": 2}
    loaded = load("mrpc", task="pairs", root=tmp_path)
    assert {split: len(rows) for split, rows in loaded.items()} == {
        "train": 3669,
        "validation": 407,
        "test": 1725,
    }


def test_qqp_leaves_out_and_counts_fragments_of_broken_rows(tmp_path, capsys):
    train = (
        HEADER
        + '1\t1\t2\t"How" so?\tHow is that?\t1\n'
        + "2\t3\t4\tWhat is\nthis?\tWhat is it?\t1\n"  # one row, broken in two
        + "3\t5\t6\tHow do I code?\t\t0\n"  # the release has two such pairs
        + "".join(f"{n}\t{n}\t{n}\tWhy {n}?\tWhy not {n}?\t1\n" for n in range(4, 12))
    )
    (tmp_path / "mirror/qqp").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "mirror/qqp" / "QQP-clean.zip", "w") as archive:
        archive.writestr("QQP/train.tsv", train)
        archive.writestr("QQP/dev.tsv", HEADER + "9\t7\t8\tWhy?\tWhy not?\t0\n")
        archive.writestr("QQP/test.tsv", "id\tquestion1\tquestion2\n0\tWho?\tWho is?\n")
    argv = ["--out", str(tmp_path), "--mirror", str(tmp_path / "mirror"), "--quiet"]
    assert corpus.main(qqp.RECIPE, argv) == 1
    assert "the counts differ from the published ones" in capsys.readouterr().err
    assert corpus.main(qqp.RECIPE, [*argv, "--accept-counts"]) == 0
    card = json.loads((tmp_path / "qqp/card.json").read_text(encoding="utf-8"))
    assert card["repairs"] == {FRAGMENTS: 2, EMPTY: 1}
    loaded = load("qqp", task="pairs", root=tmp_path)
    assert {split: len(rows) for split, rows in loaded.items()} == {
        "train": 9,
        "validation": 1,
        "test": 1,
    }
    rows = loaded["train"].to_list() + loaded["validation"].to_list()
    assert {"sentence1": '"How" so?', "sentence2": "How is that?", "label": 1} in rows
    assert {"sentence1": "How do I code?", "sentence2": "", "label": 0} in rows
