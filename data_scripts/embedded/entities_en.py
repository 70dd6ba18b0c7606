"""The English sentences of the entity corpus."""

from data_scripts.embedded.grammar import words

RULES: dict[str, tuple[str, ...]] = {
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": ("January", "March", "April", "May", "June", "August", "October", "December"),
    "number": ("two", "three", "four", "five", "seven", "nine", "twelve", "twenty", "forty"),
    "digit": ("2", "3", "4", "5", "6", "7", "8", "9", "11", "14", "30"),
    "adjective": words(
        """old small quiet green long young brown wise sharp bright new gray rich short strong
        sweet wooden narrow gentle cheap"""
    ),
    "trade": words(
        """baker cook mason carpenter bishop butler weaver potter miller hunter fisher shepherd
        porter tanner carter cooper turner page teacher nurse pilot painter doctor driver singer
        judge farmer"""
    ),
    "thing": words(
        """rose bell lamb rice cherry hammer lantern kettle ladder boat stone barrel fox parrot
        robin berry pearl ruby ivy daisy letter map clock violin basket blanket piano lamp
        turkey cup"""
    ),
    "spot": words(
        """hill marsh brook woods fields banks bridge church park lane market harbour station
        library garden mill school museum castle"""
    ),
    "when": (
        *(
            "on {day}",
            "last {month}",
            "this morning",
            "after lunch",
            "in the end",
            "at {digit} o'clock",
        ),
        *("last week", "in {month}", "before the rain came", "{number} years ago", "at last"),
        *("yesterday", "late in the evening", "during the Spring Fair", "as usual"),
    ),
    "where": (
        *("near the {spot}", "behind the {spot}", "by the {adjective} {spot}", "at the {spot}"),
        *("in Room {digit}", "under the {adjective} bridge", "across the {spot}"),
    ),
    "why": (
        *(
            "because the {spot} was closed",
            "for a {adjective} {thing}",
            "with a {adjective} {thing}",
        ),
        *("although the {trade} had warned everyone", "so that the {trade} could rest"),
        *("while the {trade} and the {trade} were away", "to see the {adjective} {thing}"),
    ),
    "more": ("", "", "", "{when}", "{where}", "{why}", "{when} {why}", "{where} {when}"),
}

# Several entities and few other words: what keeps the imbalance low when the knob asks for it.
DENSE: tuple[str, ...] = (
    "{PER} , {PER} and {PER} came from {LOC} .",
    "{ORG} beat {ORG} in {LOC} .",
    "{PER} left {ORG} for {ORG} .",
    "From {LOC} to {LOC} with {PER} and {PER} .",
    "{PER} ( {ORG} ) , {PER} ( {ORG} ) .",
    "{PER} prefers the {PRODUCT} to the {PRODUCT} .",
    "{ORG} sold {PRODUCT} and {PRODUCT} to {ORG} .",
    "{LOC} , {LOC} and {LOC} thanked {PER} .",
    "{PER} married {PER} in {LOC} .",
)

# One to three entities. The verbs and prepositions tell the type; the name alone seldom does.
PLAIN: tuple[str, ...] = (
    "{PER} told the {trade} a story about the {adjective} {thing} {more} .",
    "the {trade} asked {PER} to mend the {thing} {more} .",
    "{PER} wanted to see the {spot} before the others {more} .",
    "{PER} , a {adjective} {trade} , laughed and sat down {more} .",
    "yesterday {PER} and the {trade} baked bread {where} {more} .",
    "'' I never liked the {thing} , '' said {PER} {more} .",
    "the {adjective} {trade} smiled when {PER} began to sing {more} .",
    "nobody knew why {PER} had married the {trade} {more} .",
    "{PER} is {number} years old and plays the piano {more} .",
    "the letter from {PER} reached {PER} {when} {more} .",
    "her brother {PER} works as a {trade} in {LOC} {more} .",
    "the road to {LOC} was closed {when} {more} .",
    "the train from {LOC} stops {where} {more} .",
    "it rained in {LOC} and the {spot} was empty {more} .",
    "we moved to {LOC} {when} {why} .",
    "{LOC} lies {number} miles north of {LOC} , beyond the {spot} {more} .",
    "the mayor of {LOC} opened a {adjective} {spot} {more} .",
    "tourists who visit {LOC} always photograph the {spot} {more} .",
    "{PER} grew up in {LOC} {where} {more} .",
    "the people of {LOC} planted a {adjective} {thing} {where} {more} .",
    "{ORG} hired a {adjective} {trade} {more} .",
    "shares in {ORG} fell by {number} per cent {when} {more} .",
    "the board of {ORG} met {when} {where} .",
    "{ORG} will close its office in {LOC} {more} .",
    "{PER} joined {ORG} as a {trade} {when} {more} .",
    "workers at {ORG} asked for longer breaks {more} .",
    "{ORG} won the match against {ORG} {when} {more} .",
    "the {trade} sued {ORG} {why} {more} .",
    "a spokesman for {ORG} praised the {adjective} {thing} {more} .",
    "{ORG} , founded by {PER} , builds {adjective} boats {more} .",
    "the new {PRODUCT} weighs less than a {thing} {more} .",
    "she charged her {PRODUCT} {when} {where} {more} .",
    "{ORG} unveiled the {PRODUCT} {when} {more} .",
    "my {PRODUCT} broke down {where} {when} {more} .",
    "the battery of the {PRODUCT} lasts {number} hours {more} .",
    "{PER} drove a {PRODUCT} to {LOC} {more} .",
    "buyers of the {PRODUCT} complained about the {adjective} screen {more} .",
    "{ANY} was in the news again {when} {more} .",
    "nobody had heard of {ANY} before {when} {more} .",
    "everybody talked about {ANY} and the {adjective} {thing} {more} .",
)

# No entity, many words that could be one.
NONE: tuple[str, ...] = (
    "{trade} wanted at the {adjective} {spot} , good pay {more} .",
    "the {trade} and the {trade} met {where} {more} .",
    "the {trade} told the {trade} a story {where} {more} .",
    "a {adjective} {trade} sold the {thing} to a {trade} {more} .",
    "{trade} and {trade} were two trades that people respected {more} .",
    "{thing} and {thing} were on sale {where} {when} {more} .",
    "{adjective} {thing} for sale , ask the {trade} {more} .",
    "the Grand Hall and the Blue Door opened {when} {more} .",
    "'' Good Morning , Captain , '' said the {trade} {more} .",
    "read Chapter {digit} and Part {digit} {when} {more} .",
    "the path to the {spot} was closed {when} {more} .",
    "it rained {where} and the {adjective} {spot} was empty {more} .",
    "we walked to the {spot} {when} {why} .",
    "the {adjective} {spot} lies {number} miles north of the {spot} {more} .",
    "shares in the {adjective} mine fell by {number} per cent {when} {more} .",
    "the President and the Bishop shared a {thing} {more} .",
    "the new {thing} weighs less than the old {thing} {more} .",
    "her brother works as a {trade} {where} {more} .",
    "a {adjective} Winter Concert was held {where} {when} {more} .",
    "{spot} and {spot} looked {adjective} {when} {more} .",
    "no {thing} , no {thing} , only a {adjective} {thing} {where} {more} .",
)

TOWN_STARTS: tuple[str, ...] = ("North", "East", "West", "South", "New", "Lake", "Port", "Fort")
TOWN_ENDS: tuple[str, ...] = words(
    """town ton land ville berg burgh borough bury view port mouth stad furt chester fort haven
    side shire"""
)
COMPANY_FORMS: tuple[str, ...] = (
    *("{name} Group", "{name} Ltd", "{name} Inc", "{name} and Sons", "{name} Brothers"),
    *("{name} , {other} and {name}", "{name} & {other}", "{place} Rovers", "{place} United"),
    *("University of {place}", "Bank of {place}", "{place} Museum", "{name} Motors"),
)
PRODUCT_ENDS: tuple[str, ...] = words("2 3 5 7 9 Pro Mini Air Classic X1 S")
