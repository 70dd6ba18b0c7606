"""Names of people, places and companies, from the lists of Faker.

Faker adds and removes names between its versions. Three habits keep a corpus as it is for as long
as possible: a list is ordered by the SHA-256 of its names and not by Faker's order; only its first
names in that order are used, so that a new name displaces one other at most; and no random
generator of Faker's is called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

Language = Literal["en", "zh"]
Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")

_EVERYWHERE = range(0, 60)
_OWN = {"train": range(60, 84), "validation": range(84, 92), "test": range(92, 100)}


def _digest(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def _stable(names: Iterable[str], limit: int) -> tuple[str, ...]:
    return tuple(sorted(set(names), key=_digest)[:limit])


@cache
def lists(language: Language) -> dict[str, tuple[str, ...]]:
    """Return Faker's names of one language, in an order of our own.

    Args:
        language: ``"en"`` (Faker's en_US) or ``"zh"`` (zh_CN).

    Returns:
        ``"given"`` and ``"family"`` names of people, and for Chinese also ``"place"`` and
        ``"company"``. English places and companies are built from the names of people.
    """
    if language == "en":
        from faker.providers.person.en_US import Provider as English

        return {
            "given": _stable((n for n in English.first_names if n.isascii() and n.isalpha()), 640),
            "family": _stable((n for n in English.last_names if n.isascii() and n.isalpha()), 950),
        }
    from faker.providers.address.zh_CN import Provider as ChineseAddress
    from faker.providers.company.zh_CN import Provider as ChineseCompany
    from faker.providers.person.zh_CN import Provider as Chinese

    places = (*ChineseAddress.cities, *ChineseAddress.districts)
    return {
        "given": _stable(Chinese.first_names, 110),
        "family": _stable((n for n in Chinese.last_names if len(n) == 1), 240),
        "place": _stable((n for n in places if 2 <= len(n) <= 3), 120),
        "company": _stable((n for n in ChineseCompany.company_prefixes if len(n) <= 4), 70),
    }


def of_split(names: Sequence[str], split: Split) -> tuple[str, ...]:
    """Return the names that one split may use.

    Of all names 60 per cent are for every split; 24, 8 and 8 per cent are for train, validation
    and test alone. A name's place depends on its hash, thus lists that share a name agree.

    Args:
        names: any names.
        split: the split whose names are wanted.
    """

    def allowed(name: str) -> bool:
        place = _digest("split:" + name) % 100
        return place in _EVERYWHERE or place in _OWN[split]

    return tuple(name for name in names if allowed(name))


def fingerprint() -> str:
    """Return a hash of all names in use: if it changes, so do the embedded corpora."""
    text = repr([(language, sorted(lists(language).items())) for language in ("en", "zh")])
    return hashlib.sha256(text.encode()).hexdigest()
