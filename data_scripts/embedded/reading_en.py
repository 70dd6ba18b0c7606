"""The English paragraphs and questions of the reading corpus."""

from data_scripts.embedded.grammar import words

# Verb in the past and its participle, which may look alike.
VERBS: tuple[tuple[str, str], ...] = (
    *(("mended", "mended"), ("sold", "sold"), ("painted", "painted"), ("hid", "hidden")),
    *(("found", "found"), ("broke", "broken"), ("bought", "bought"), ("lost", "lost")),
)
OBJECTS: tuple[str, ...] = words(
    """lantern kettle ladder boat clock violin basket mirror piano wagon carpet barrel helmet
    saddle letter map lamp drum anchor vase"""
)
DAYS: tuple[str, ...] = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
PRICES: tuple[str, ...] = words(
    """two three five seven nine eleven twelve fifteen twenty thirty forty fifty sixty ninety"""
)
FACTS: dict[str, tuple[str, ...]] = {
    "who": ("{who} {past} the {object} .", "The {object} was {participle} by {who} ."),
    "where": ("The {object} stands in {where} .", "You will find the {object} in {where} ."),
    "when": ("The {object} arrived on {when} .", "On {when} the {object} arrived at last ."),
    "price": ("The {object} cost {price} coins .", "The price of the {object} was {price} coins ."),
}
QUESTIONS: dict[str, tuple[str, ...]] = {
    "who": ("Who {past} the {object} ?", "By whom was the {object} {participle} ?"),
    "where": ("Where is the {object} ?",),
    "when": ("When did the {object} arrive ?",),
    "price": ("How much did the {object} cost ?", "What was the price of the {object} ?"),
}
# What stands in a filler in the place of an answer answers nothing.
FILLERS: tuple[str, ...] = (
    "It rained all {when} and nobody was surprised .",
    "{who} talked about it for weeks .",
    "There was tea for {price} guests , and a little music .",
    "Everybody in {where} agreed that it was a good year .",
    "The road was {price} miles long and the evening was quiet .",
    "{who} remembers the rest no more .",
    "The newspaper of {where} printed a short note about it .",
    "A dog slept under the table until {when} .",
)
