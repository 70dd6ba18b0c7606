"""The English letters of the corpus of many labels.

``{thing}`` is a word of the topic and ``{fault}`` what is wrong with it; some words belong to two
topics, so that one word alone does not tell.
"""

from __future__ import annotations

from data_scripts.embedded.grammar import words

TOPICS: dict[str, float] = {
    "roads": 0.40,
    "rubbish": 0.25,
    "noise": 0.16,
    "water": 0.10,
    "parks": 0.07,
    "parking": 0.05,
    "lamps": 0.035,
    "buses": 0.025,
    "schools": 0.018,
    "animals": 0.012,
    "taxes": 0.008,
    "elections": 0.005,
}
"""Topic -> its share of the letters, by the default imbalance."""

THINGS: dict[str, tuple[str, ...]] = {
    "roads": ("road", "pavement", "crossing", "kerb", "bridge", "lane", "surface", "path", "sign"),
    "rubbish": words("bin bag litter skip collection heap cardboard glass lorry"),
    "noise": words("music party drill engine siren lorry club hammering barking"),
    "water": ("pipe", "drain", "tap", "meter", "pump", "gutter", "fountain", "leak", "supply"),
    "parks": ("park", "tree", "bench", "hedge", "lawn", "path", "fountain", "playground", "fence"),
    "parking": ("space", "permit", "meter", "garage", "ticket", "car", "sign", "kerb", "barrier"),
    "lamps": ("lamp", "light", "bulb", "post", "switch", "lantern", "cable", "timer", "crossing"),
    "buses": ("bus", "stop", "timetable", "driver", "route", "ticket", "shelter", "fare", "seat"),
    "schools": words("school teacher classroom pupil lesson playground gate canteen"),
    "animals": ("dog", "fox", "pigeon", "rat", "cat", "nest", "lead", "barking", "goose"),
    "taxes": ("tax", "bill", "band", "rate", "refund", "payment", "form", "notice", "sum"),
    "elections": ("vote", "ballot", "ward", "candidate", "poll", "register", "form", "station"),
}
FAULTS: dict[str, tuple[str, ...]] = {
    "roads": ("cracked", "uneven", "flooded", "blocked", "icy", "worn", "closed", "dangerous"),
    "rubbish": ("full", "overflowing", "smelly", "late", "missed", "torn", "dumped", "blocked"),
    "noise": ("loud", "unbearable", "endless", "deafening", "late", "constant", "shrill", "awful"),
    "water": ("leaking", "blocked", "dry", "brown", "frozen", "dripping", "flooded", "broken"),
    "parks": ("overgrown", "broken", "neglected", "fallen", "closed", "muddy", "dirty", "worn"),
    "parking": ("taken", "full", "wrong", "expired", "blocked", "too dear", "unfair", "closed"),
    "lamps": ("dark", "broken", "flickering", "out", "dim", "bent", "dead", "too bright"),
    "buses": ("late", "cancelled", "full", "too dear", "dirty", "rare", "cut", "never on time"),
    "schools": ("crowded", "closed", "cold", "too small", "understaffed", "far", "full", "old"),
    "animals": ("loose", "stray", "hungry", "lost", "aggressive", "dead", "wild", "in the cellar"),
    "taxes": ("too high", "wrong", "unpaid", "overdue", "unclear", "doubled", "unfair", "missing"),
    "elections": ("missing", "late", "unclear", "far away", "wrong", "closed", "invalid", "lost"),
}
RULES: dict[str, tuple[str, ...]] = {
    "where": (
        "in our street",
        "by the church",
        "near the market",
        "behind my house",
        "in the square",
    ),
    "when": ("since Monday", "every night", "again", "this month", "for weeks", "since the storm"),
}
ABOUT: tuple[str, ...] = (
    "the {thing} {where} is {fault} .",
    "the {thing} has been {fault} {when} .",
    "who looks after the {fault} {thing} {where} ?",
    "please do something about the {thing} , it is {fault} {when} .",
    "I write about the {thing} {where} .",
    "once more the {thing} is {fault} .",
)
FEINTS: tuple[str, ...] = (
    "the {thing} {where} is no trouble .",
    "I do not write about the {thing} .",
    "the {thing} is no longer {fault} , thank you .",
    "my neighbour will write about the {thing} himself .",
)
OPEN: tuple[str, ...] = (
    "Thank you for your answer .",
    "I look forward to hearing from you .",
    "You know my address .",
    "It was good to meet you at the fair .",
    "Kind regards to your colleagues .",
)
