"""CrossNER: entities in five domains of Wikipedia, with a hundred or two sentences to train on."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset

from dicelab.corpora.conll import read_conll

from .corpus import Recipe, main
from .fetch import RemoteFile

BASE = (
    "https://raw.githubusercontent.com/zliucr/CrossNER/"
    "2e7ba2a7798c961e3f29fbc51252c5a8d40224bf/ner_data/"
)
FILES = {"train": "train", "validation": "dev", "test": "test"}
SHA256 = {
    "ai": (
        "484217a660f52927bd5157507c22fc103b36306364329f62f80fc8acb897b187",
        "b47ffda6de5901a454a873feac1bebe782e54ce7edf9deb729cab3d769212eee",
        "7595ad386e0a98067100fe47f86811b38867a236011fee97cfaa90f778c37bcf",
    ),
    "literature": (
        "0647e403a85040742c2f4041cf002146a81aa2e13adda19d0e82a8bcd493c18b",
        "99281a51943cf7e3c2a58b3dc45c0e5ab6d329624ebf2ba6b4801c428396162f",
        "77267f8b3e8afe993865c64cfc605f65671f6a0ac9cba65de970f12180fed20e",
    ),
    "music": (
        "3774c38e0ebbeb4b98dbfae137071e4911e8764cdb7f247599009841f68d9fb5",
        "e256f1949df52a61a3bb60095a0f41c1060843f1014b0f3d22d8371611b72e78",
        "c66e345f959ac65593f76c6b1bd8c6d75f2a6f0bc197389b2e6700d101fd094c",
    ),
    "politics": (
        "1d8be31abb58463349496fe21b13d70114cf015294a9ff9cce77af9b83e8aa84",
        "4f1f30eb832f4c5fe474f67ca45e875d863bddf0bbe432262d272ef13639fa8f",
        "05cadc5e129d394f7f92b4a052cf4b6ea4c60878d32a833e500cf046c297455f",
    ),
    "science": (
        "8f6a26096cc7be6790b5790bf5f5b5c8928d8b73d4632e7d45dc8bffad0504ac",
        "87ec141c7b41b3b52ec861737c4030d65c6e53954ed3d8106baca8603bbf8f24",
        "3616d59d4d2b9dbf4c1126f8d8ba47ff97886223c95f93649bfd527343e64ced",
    ),
}
SENTENCES = {
    "ai": (100, 350, 431),
    "literature": (100, 400, 416),
    "music": (100, 380, 465),
    "politics": (200, 541, 651),
    "science": (200, 450, 543),
}


def recipe(domain: str) -> Recipe:
    """The recipe of one domain."""

    def convert(raw: Path, seed: int, repairs: Counter[str]) -> Mapping[str, Dataset]:
        return {
            split: read_conll(raw / f"{domain}_{name}.txt", repairs=repairs)
            for split, name in FILES.items()
        }

    return Recipe(
        name=f"crossner_{domain}",
        citation="Liu, Xu, Yu, Dai, Ji, Cahyawijaya, Madotto, Fung (2021), CrossNER: Evaluating "
        "Cross-Domain Named Entity Recognition, AAAI",
        convert=convert,
        files=tuple(
            RemoteFile(
                f"{domain}_{name}.txt",
                f"{BASE}{domain}/{name}.txt",
                digest,
                mirror_names=(f"{domain}/{name}.txt",),
            )
            for name, digest in zip(FILES.values(), SHA256[domain], strict=True)
        ),
        folders=("crossner",),
        published={
            split: {"sentences": number}
            for split, number in zip(FILES, SENTENCES[domain], strict=True)
        },
        published_by="an independent count of the upstream files",
        note="Not a corpus of the paper: many rare types, and little to train on.",
    )


RECIPES = [recipe(domain) for domain in SHA256]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--domain", choices=sorted(SHA256), required=True)
    chosen, others = parser.parse_known_args()
    sys.exit(main(recipe(chosen.domain), others))
