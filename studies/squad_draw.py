"""Draw 6,000, 1,000 and 2,000 questions of SQuAD 1.1, for readers that learn to read in a minute.

    python -m studies.squad_draw FILE FOLDER     # writes FOLDER/{train,validation,test}.json

FILE is the training file of SQuAD 1.1. Articles are shuffled; the parts come from different ones,
and at most some twenty questions from each. An answer whose place in the paragraph was guessed when
the file was rebuilt (``"offset": "guess"``; the official file has none) is left out. The readers of
section 10.9 were trained on this draw, on a GPU::

    papermill notebooks/10_reading.ipynb out.ipynb -p corpus FOLDER -p encoder minilm \\
        -p device cuda -p precision bf16 -p epochs 2 -p start zero -p seed 1 -p output_dir runs
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

SEED = 20261127


class Part(NamedTuple):
    """Which shuffled articles a part is drawn from, how many questions, how many an article."""

    first: int
    last: int | None
    questions: int
    of_article: int


PARTS = {
    "train": Part(0, 300, 6000, 20),
    "validation": Part(300, 360, 1000, 20),
    "test": Part(360, None, 2000, 25),
}


def draw(squad: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The parts, in SQuAD's form; of whole paragraphs, so one may be a few questions larger."""
    rng = random.Random(SEED)
    articles = list(squad["data"])
    rng.shuffle(articles)
    return {
        name: {"version": "1.1", "data": list(_some(articles[part.first : part.last], part, rng))}
        for name, part in PARTS.items()
    }


def _some(
    articles: Iterable[dict[str, Any]], part: Part, rng: random.Random
) -> Iterable[dict[str, Any]]:
    total = 0
    for article in articles:
        paragraphs = [p for p in map(_sure, article["paragraphs"]) if p["qas"]]
        rng.shuffle(paragraphs)
        selected: list[dict[str, Any]] = []
        count = 0
        for paragraph in paragraphs:
            if count >= part.of_article or total >= part.questions:
                break
            selected.append(paragraph)
            count += len(paragraph["qas"])
            total += len(paragraph["qas"])
        if selected:
            yield {"title": article["title"], "paragraphs": selected}
        if total >= part.questions:
            return


def _sure(paragraph: dict[str, Any]) -> dict[str, Any]:
    questions = [
        {
            "id": asked["id"],
            "question": asked["question"],
            "answers": [
                {"text": a["text"], "answer_start": a["answer_start"]} for a in asked["answers"]
            ],
        }
        for asked in paragraph["qas"]
        if asked["answers"][0].get("offset") != "guess"
    ]
    return {"context": paragraph["context"], "qas": questions}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="train-v1.1.json")
    parser.add_argument("folder", type=Path, help="where the three parts go")
    args = parser.parse_args()
    parts = draw(json.loads(args.file.read_text(encoding="utf-8")))
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        count = sum(len(p["qas"]) for a in part["data"] for p in a["paragraphs"])
        (args.folder / f"{name}.json").write_text(json.dumps(part), encoding="utf-8")
        print(f"{name}: {count:,} questions of {len(part['data'])} articles")


if __name__ == "__main__":
    main()
