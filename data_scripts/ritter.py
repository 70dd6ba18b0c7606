"""Ritter's tweets: part of speech in user-generated text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conll
from dicelab.corpora.forms import to_dataset
from dicelab.corpora.loading import with_missing_splits

from .corpus import Recipe, main
from .fetch import RemoteFile

FILE = "pos.txt"

#: The file's five slips, whose tags are none of the Penn Treebank's nor of the four for Twitter:
#: word and tag in the file -> the tag that such words have elsewhere in it.
SLIPS = {
    ("please", "VPP"): "VB",
    ("a", "TD"): "DT",
    ("[", "NONE"): "(",
    ("]", "NONE"): ")",
    ('"..', "O"): ":",
}


def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
    """One file of token and tag, without splits."""
    rows = read_conll(raw / FILE, tags="plain", repairs=repairs).to_list()
    for row in rows:
        pairs = list(zip(row["tokens"], row["tags"], strict=True))
        row["tags"] = [SLIPS.get(pair, pair[1]) for pair in pairs]
        if slips := sum(pair in SLIPS for pair in pairs):
            repairs["slips of the tag repaired (see SLIPS in data_scripts/ritter.py)"] += slips
    columns = {name: [row[name] for row in rows] for name in ("tokens", "tags")}
    train = to_dataset(columns, task="tagging")
    return with_missing_splits({"train": train}, "tagging", seed)


RECIPE = Recipe(
    name="ritter",
    citation="Ritter, Clark, Mausam, Etzioni (2011), Named Entity Recognition in Tweets: An "
    "Experimental Study, EMNLP",
    convert=convert,
    files=(
        RemoteFile(
            FILE,
            "https://raw.githubusercontent.com/aritter/twitter_nlp/"
            "65f3d77134c40d920db8d431c5c6faef1c051c94/data/annotated/" + FILE,
            "c7a1c7a8aa2076363ec3e726a772579c202d15af660bb45b0f2e59d5327c06dc",
        ),
    ),
    folders=("ritter_pos",),
    published={"all": {"sentences": 787, "tokens": 15185}},
    published_by="an independent count of the upstream file; Ritter et al. (2011) say about 800",
    note="The paper does not say which split it took: 80/10/10 by tweet is drawn by --seed.",
)

if __name__ == "__main__":
    raise SystemExit(main(RECIPE))
