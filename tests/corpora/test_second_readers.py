"""Other people's readers on real files: conllu, NLTK and pandas see the same rows as ours.

Ours stay because they name the file and the line of an error, and split words at no other spaces.
"""

from __future__ import annotations

import zipfile

import pandas as pd
import pytest

from data_scripts.treebanks import read_treebank
from dicelab.corpora import read_conllu, read_pairs, read_trees
from dicelab.corpora.trees import printed

conllu = pytest.importorskip("conllu")
nltk = pytest.importorskip("nltk")


@pytest.mark.parametrize(
    ("folder", "name", "column"),
    [
        ("ud_en_ewt", "en_ewt-ud-dev.conllu", "xpos"),
        ("ud_zh_gsd_r1.4", "zh-ud-train.conllu", "upos"),
    ],
)
def test_conllu(real_corpus, folder, name, column):
    path = real_corpus(folder) / name
    ours = read_conllu(path, column=column)
    with path.open(encoding="utf-8") as file:
        theirs = [
            [(token["form"], token[column]) for token in sentence if isinstance(token["id"], int)]
            for sentence in conllu.parse_incr(file)
        ]
    assert [list(zip(r["tokens"], r["tags"], strict=True)) for r in ours] == theirs


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "dev"])
def test_nltk_on_sentiment_trees(real_corpus, split):
    path = real_corpus("sst") / f"trees_{split}.txt"
    ours = read_trees(path)
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    trees = [nltk.Tree.fromstring(line, leaf_pattern=r"[^() \t]+") for line in lines]
    assert ours["label"] == [int(tree.label()) for tree in trees]
    assert ours["sentence"] == [" ".join(map(printed, tree.leaves())) for tree in trees]


@pytest.mark.slow
def test_nltk_on_a_tenth_of_the_wall_street_journal(real_corpus, tmp_path):
    with zipfile.ZipFile(real_corpus("nltk_treebank") / "treebank.zip") as archive:
        archive.extractall(tmp_path)
    paths = sorted((tmp_path / "treebank" / "combined").glob("wsj_*.mrg"))
    ours = read_treebank(paths)
    theirs = []
    for path in paths:
        for tree in nltk.Tree.fromstring(f"(TOP {path.read_text(encoding='utf-8')})"):
            theirs.append([(printed(w), tag) for w, tag in tree.pos() if tag != "-NONE-"])
    # NLTK keeps a tag as it stands; ours cuts a functional suffix off, which these files have not.
    assert [list(zip(r["tokens"], r["tags"], strict=True)) for r in ours] == theirs
    assert (len(ours), sum(map(len, ours["tags"]))) == (3914, 94084)
    assert len({tag for tags in ours["tags"] for tag in tags}) == 45


def test_pandas_on_mrpc(real_corpus):
    path = real_corpus("mrpc") / "msr_paraphrase_train.txt"
    ours = read_pairs(path)
    theirs = pd.read_csv(path, sep="\t", quoting=3, encoding="utf-8-sig", keep_default_na=False)
    assert ours["label"] == theirs["Quality"].tolist()
    assert ours["sentence1"] == theirs["#1 String"].tolist()
    assert ours["sentence2"] == theirs["#2 String"].tolist()
