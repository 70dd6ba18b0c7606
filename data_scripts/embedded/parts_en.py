"""The English grammar of the part-of-speech corpus, as ``word/TAG``."""

from data_scripts.embedded.grammar import words

# Words that are a noun and a verb: "the walk", "they walk".
HOMOGRAPHS: tuple[str, ...] = words(
    """walk dance smile laugh whisper paint cook play turn call answer visit rest plan drink sail
    dream swing race ride swim climb jump march shout sigh whistle travel drift work talk fight
    hope wait hike slide wave nap yawn stroll search cheer wonder roar gallop mumble giggle
    tumble wander hurry stumble chatter snore sneeze"""
)
# Words that are an adjective and a noun: "a cold room", "the cold".
SHADES: tuple[str, ...] = words(
    """cold light green secret sweet square blue calm quiet red dark good white silver gold young
    plain chill damp deep brown pink"""
)
PEOPLE: tuple[str, ...] = words(
    """sailor baker teacher nurse child farmer painter driver king cousin gardener pilot singer
    neighbour porter mason shepherd dentist clerk stranger writer judge tailor widow juggler
    miner hermit drummer"""
)
THINGS: tuple[str, ...] = words(
    """boat garden letter window river bridge kettle piano ladder basket lantern village carpet
    market mirror pillow candle harbour wagon meadow tunnel helmet barrel saddle cottage
    fountain orchard parcel"""
)

RULES: dict[str, tuple[str, ...]] = {
    "who": ("the/DET {P}", "the/DET {A} {P}", "a/DET {P}", "every/DET {P}", "my/PRON {A} {P}"),
    "several": ("the/DET {PS}", "many/ADJ {PS}", "{A} {PS}", "the/DET {A} {PS}", "our/PRON {PS}"),
    "what": ("the/DET {N}", "the/DET {A} {N}", "a/DET {N}", "her/PRON {N}", "that/DET {A} {N}"),
    "where": (
        *("in/ADP {what}", "near/ADP {what}", "behind/ADP {what}", "without/ADP {what}"),
        *("like/ADP {who}", "before/ADP the/DET {H}", "after/ADP the/DET {H}", "past/ADP {what}"),
        *("to/ADP the/DET {N}", "with/ADP {who}", "in/ADP the/DET {S}", "by/ADP the/DET {A} {N}"),
    ),
    "how": (
        *("quickly/ADV", "fast/ADV", "hard/ADV", "early/ADV", "again/ADV", "there/ADV", "well/ADV"),
        *("back/ADV", "in/ADV", "up/ADV", "late/ADV", "so/ADV early/ADV", "very/ADV late/ADV"),
    ),
    "end": ("./PUNCT", "./PUNCT", "{where} ./PUNCT", "{how} ./PUNCT", "{how} {where} ./PUNCT"),
    "close": (
        "./PUNCT",
        "./PUNCT",
        "there/ADV ./PUNCT",
        "in/ADP {what} ./PUNCT",
        "near/ADP {what} ./PUNCT",
    ),
    "number": ("two/NUM", "three/NUM", "seven/NUM", "twelve/NUM", "forty/NUM", "19/NUM", "300/NUM"),
    "cry": ("oh/INTJ", "well/INTJ", "yes/INTJ", "no/INTJ", "hello/INTJ", "ah/INTJ", "please/INTJ"),
}

# No name, number or interjection.
COMMON: tuple[str, ...] = (
    "{several} {V} {end}",
    "{who} {VS} {end}",
    "{several} and/CCONJ {who} {V} {end}",
    "the/DET {H} of/ADP {who} was/AUX {A} {close}",
    "the/DET {HS} of/ADP {several} were/AUX {A} {close}",
    "{who} 's/PART {H} was/AUX long/ADJ {end}",
    "they/PRON {V} {end}",
    "they/PRON enjoyed/VERB the/DET {H} {end}",
    "we/PRON want/VERB to/PART {V} {end}",
    "we/PRON went/VERB to/ADP the/DET {H} {end}",
    "{who} can/AUX {V} {end}",
    "the/DET can/NOUN fell/VERB past/ADP {who} {end}",
    "she/PRON will/AUX {V} {end}",
    "her/PRON will/NOUN is/AUX {A} {close}",
    "{several} may/AUX {V} {end}",
    "do/AUX not/PART {V} {end}",
    "do/VERB a/DET {A} {H} {end}",
    "I/PRON know/VERB that/SCONJ {several} {V} {end}",
    "I/PRON know/VERB that/DET {H} {end}",
    "I/PRON know/VERB that/PRON {how} ./PUNCT",
    "{several} like/VERB {what} {end}",
    "{several} like/VERB the/DET {S} {close}",
    "{what} is/AUX {A} ,/PUNCT so/ADV {several} {V} {end}",
    "before/SCONJ {several} {V} ,/PUNCT {who} {VS} {end}",
    "a/DET fast/ADJ {H} is/AUX a/DET hard/ADJ {H} {end}",
    "the/DET early/ADJ {H} made/VERB {several} {V} {end}",
    "have/VERB a/DET {H} {end}",
    "{several} have/VERB no/DET {H} and/CCONJ no/DET {N} {end}",
    "a/DET {H} ,/PUNCT a/DET {N} and/CCONJ a/DET {H} ./PUNCT",
    "some/PRON {V} and/CCONJ some/PRON {V} {end}",
    "{HS} and/CCONJ {HS} tire/VERB {several} {end}",
    "{V} or/CCONJ {V} ,/PUNCT but/CCONJ {V} {end}",
)

# With a name, a number or an interjection.
RARE: tuple[str, ...] = (
    "{PN} {VS} {end}",
    "{PN} and/CCONJ {PN} {V} {end}",
    "{cry} ,/PUNCT the/DET {H} was/AUX {A} {close}",
    "{cry} ,/PUNCT {PN} ,/PUNCT do/AUX not/PART {V} {end}",
    "{number} {PS} {V} {end}",
    "the/DET {H} of/ADP {PN} {PN} lasted/VERB {number} days/NOUN {end}",
    "{PN} will/AUX {V} in/ADP May/PROPN {end}",
    "in/ADP {PN} ,/PUNCT {several} {V} {end}",
    "we/PRON saw/VERB {PN} {V} {number} times/NOUN {end}",
    "{PN} 's/PART {H} pleased/VERB {PN} {end}",
    "{cry} !/PUNCT {number} {HS} {end}",
)

DENSE: tuple[str, ...] = (
    "{cry} ,/PUNCT {PN} {PN} !/PUNCT",
    "{PN} {PN} ,/PUNCT {number} ;/PUNCT {PN} {PN} ,/PUNCT {number}",
    "{cry} ,/PUNCT {cry} ,/PUNCT {PN} {VS} ./PUNCT",
)
