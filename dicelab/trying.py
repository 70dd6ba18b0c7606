"""``dicebook try``: a chapter's task on a sentence of one's own, by a head on frozen MiniLM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dicelab.fit.predicting import Model
from dicelab.records.kept import kept_folder
from dicelab.tasks.entity_errors import marked
from dicelab.tasks.raw_text import Sentence

#: What the classes of two corpora mean.
MEANINGS = {
    "11": {"0": "two questions", "1": "the same question"},
    "13": {"0": "blame", "1": "praise"},
}


def chapters(folder: Path | None = None) -> list[str]:
    """The numbers of the chapters that have a head."""
    return sorted(path.name for path in (folder or kept_folder() / "heads").iterdir())


def answer(chapter: str, texts: Sequence[str], folder: Path | None = None) -> str:
    """What a chapter's head says.

    Args:
        chapter: Its number, such as ``"09"``.
        texts: One text, or two where the chapter compares two.
        folder: The folder of the heads; that of the records unless given.

    Returns:
        Tags beside their words, entities in brackets, or classes with their probabilities.

    Raises:
        ValueError: The chapter has no head, or wants another number of texts.
        EncoderError: MiniLM is not there.
    """
    folder = folder or kept_folder() / "heads"
    number = chapter.zfill(2)
    if number not in chapters(folder):
        raise ValueError(f"chapter: expected one of {', '.join(chapters(folder))}, got {chapter!r}")
    model = Model(folder / number, "cpu")
    expected = 2 if model.info["task"] == "pairs" else 1
    if len(texts) != expected or not all(text.strip() for text in texts):
        raise ValueError(
            f"chapter {number}: expected {expected} text{'s' * (expected > 1)}, got {texts}"
        )
    lines = []
    if model.info["task"] == "tagging":
        words = Sentence.of(texts[0]).words
        tagged = model.tagged([words])[0]
        tags = [tag for tag, _ in tagged]
        if model.info["valid"]:
            lines.append(marked(words, tags))
        else:
            lines += [
                f"{word}\t{tag}\t{p:.2f}" for word, (tag, p) in zip(words, tagged, strict=True)
            ]
    else:
        logits = model.logits(*[[text] for text in texts])
        p = model.predict_proba([tuple(texts) if expected == 2 else texts[0]])[0]
        predicted = logits[0] > 0 if model.info["task"] == "labels" else p == p[logits[0].argmax()]
        for place in np.argsort(-p, kind="stable")[:3]:
            mark = "*" if predicted[place] else " "
            label = model.labels[place]
            lines.append(f"{mark} {MEANINGS.get(number, {}).get(label, label)}\t{p[place]:.2f}")
    source, score = model.info["corpus"], model.info["score"]
    lines.append(f"A linear model on frozen MiniLM, trained on {source}; {score}.")
    return "\n".join(lines)
