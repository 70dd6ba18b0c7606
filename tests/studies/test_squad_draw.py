"""The draw of SQuAD 1.1 that section 10.9 trains its readers on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies import squad_draw


def question(number: int, *, guessed: bool = False) -> dict[str, Any]:
    answer: dict[str, Any] = {"text": "Oslo", "answer_start": 0}
    return {
        "id": str(number),
        "question": "Where?",
        "answers": [answer | ({"offset": "guess"} if guessed else {})],
    }


def made_up(articles: int) -> dict[str, Any]:
    """Articles of ten paragraphs with five questions each, the last of which was guessed."""
    paragraph = {"context": "Oslo.", "qas": [question(n, guessed=n == 4) for n in range(5)]}
    return {"data": [{"title": str(n), "paragraphs": [paragraph] * 10} for n in range(articles)]}


def counts(parts: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {
        name: (
            sum(len(p["qas"]) for a in part["data"] for p in a["paragraphs"]),
            len({article["title"] for article in part["data"]}),
        )
        for name, part in parts.items()
    }


def test_parts_have_their_questions_and_share_no_article() -> None:
    parts = squad_draw.draw(made_up(500))
    # Four questions of a paragraph are sure: twenty an article are five paragraphs, 25 are seven.
    assert counts(parts) == {"train": (6000, 300), "validation": (1000, 50), "test": (2000, 72)}
    titles = [{a["title"] for a in part["data"]} for part in parts.values()]
    assert not (titles[0] & titles[1] | titles[0] & titles[2] | titles[1] & titles[2])
    kept = [q for p in parts.values() for a in p["data"] for s in a["paragraphs"] for q in s["qas"]]
    assert all(q["id"] != "4" and set(q["answers"][0]) == {"text", "answer_start"} for q in kept)
    assert parts == squad_draw.draw(made_up(500)), "the seed decides"


def test_the_real_draw_is_the_one_of_the_record(
    root: Path, real_corpus: Callable[[str], Path]
) -> None:
    (file,) = real_corpus("squad11").glob("train-*.json")
    kept = json.loads((root / "results" / "gpu" / "chapters.json").read_text())["squad11"]
    found = counts(squad_draw.draw(json.loads(file.read_text(encoding="utf-8"))))
    assert {name: found[name][0] for name in found} == {name: kept[name] for name in found}
