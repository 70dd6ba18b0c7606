"""The English sentences of the paraphrase corpus."""

# Each row: words of one meaning, then words of another. Words of a row fit the same place.
CONTRASTS: dict[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = {
    "verb": (
        (("bought", "purchased"), ("sold", "auctioned")),
        (("mended", "repaired"), ("broke", "damaged")),
        (("praised", "admired"), ("criticised", "blamed")),
        (("found", "discovered"), ("lost", "misplaced")),
    ),
    "object": (
        (("boat", "ship"), ("cart", "wagon")),
        (("stone", "rock"), ("feather", "plume")),
        (("picture", "painting"), ("poem", "verse")),
        (("coat", "jacket"), ("hat", "cap")),
    ),
    "kind": (
        (("big", "large"), ("small", "little")),
        (("old", "ancient"), ("new", "modern")),
    ),
    "time": (
        (("before noon", "in the morning"), ("at dusk", "in the evening")),
        (("in spring", "at springtime"), ("in autumn", "at harvest time")),
    ),
}
FORMS: tuple[str, ...] = (
    "{name} {verb} the {kind} {object} {time} .",
    "{time} , {name} {verb} the {kind} {object} .",
    "it was {name} who {verb} the {kind} {object} {time} .",
    "what {name} {verb} {time} was the {kind} {object} .",
)
# Frames in pairs of the same words: the first one affirms what the second one denies.
AFFIRM: tuple[str, ...] = (
    "it is true , and not a rumour , that {name} {verb} the {kind} {object} {time} .",
    "{name} , not a stranger , {verb} the {kind} {object} {time} .",
    "{name} {verb} the {kind} {object} {time} ; this is no lie but a fact .",
    "whoever says that {name} {verb} the {kind} {object} {time} is right , not wrong .",
)
DENY: tuple[str, ...] = (
    "it is a rumour , and not true , that {name} {verb} the {kind} {object} {time} .",
    "a stranger , not {name} , {verb} the {kind} {object} {time} .",
    "{name} {verb} the {kind} {object} {time} ; this is no fact but a lie .",
    "whoever says that {name} {verb} the {kind} {object} {time} is wrong , not right .",
)
