"""The generator of the embedded corpora, which dicebook ships as data.

Three tasks in English and Chinese, and three in English alone. A corpus depends on its arguments,
on ``VERSION`` and on the name lists of the installed Faker, and on nothing else. The card of these
corpora (``dicelab/corpora/embedded/README.md``) says how they are made and what they are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from datasets import DatasetDict

from data_scripts.embedded.draw import VERSION
from data_scripts.embedded.entity_tags import entities
from data_scripts.embedded.letters import labels
from data_scripts.embedded.opinions import sentiment
from data_scripts.embedded.paraphrase_pairs import paraphrases
from data_scripts.embedded.questions import reading
from data_scripts.embedded.word_classes import pos
from dicelab.corpora.errors import CorpusError

__all__ = [
    "NAMES",
    "VERSION",
    "entities",
    "labels",
    "load",
    "paraphrases",
    "pos",
    "reading",
    "sentiment",
]

_GENERATORS: dict[str, Callable[..., DatasetDict]] = {
    "pos": pos,
    "entities": entities,
    "reading": reading,
    "paraphrases": paraphrases,
    "sentiment": sentiment,
    "labels": labels,
}
_IN_CHINESE = ("pos", "entities", "paraphrases")

NAMES: dict[str, tuple[str, str]] = {
    f"embedded-{task}-en": (task, "en") for task in _GENERATORS
} | {f"embedded-{task}-zh": (task, "zh") for task in _IN_CHINESE}
"""Name of an embedded corpus -> its generator's name and its language."""


def load(
    name: str, size: int | None = None, imbalance: float | None = None, seed: int = 0
) -> DatasetDict:
    """Make the embedded corpus of a name.

    Args:
        name: one of ``NAMES``, such as ``"embedded-entities-en"``.
        size: rows of train; by default the generator's own.
        imbalance: negatives per positive; by default the generator's own.
        seed: seed of the generator.

    Returns:
        The splits train, validation and test, in the form of the corpus's task.

    Raises:
        CorpusError: the name is unknown, or an argument is not what was expected.
    """
    if name not in NAMES:
        raise CorpusError(f"embedded corpus: expected one of {', '.join(NAMES)}, got {name!r}")
    task, language = NAMES[name]
    settings = {"size": size, "imbalance": imbalance}
    options: dict[str, Any] = {key: value for key, value in settings.items() if value is not None}
    if task in _IN_CHINESE:
        options["language"] = language
    return _GENERATORS[task](seed=seed, **options)
