"""The English sentences of the sentiment corpus.

``{same}`` is a word of the sentence's sentiment and ``{other}`` one of the opposite; ``{clause}``
and ``{counter}`` are clauses of the one and of the other.
"""

from data_scripts.embedded.grammar import words

GOOD: tuple[str, ...] = words(
    """lovely superb charming delicious splendid friendly generous clever graceful brilliant
    pleasant cheerful elegant tender witty warm delightful honest fresh moving perfect lively
    gentle tasty great bright inspired beautiful excellent good cosy memorable polished"""
)
BAD: tuple[str, ...] = words(
    """dreadful dull rude stale awful clumsy boring sloppy noisy dirty bitter tedious shabby gloomy
    careless bland greedy cold broken lazy lifeless horrible weak ugly tasteless confused
    terrible bad grim poor shallow stuffy painful"""
)
RULES: dict[str, tuple[str, ...]] = {
    "thing": words(
        """soup film concert hotel novel garden museum service music breakfast story room play
        singer waiter guide cake view"""
    ),
    "very": ("", "", "really", "quite", "rather", "very", "so"),
    "clause": words(
        """{plain} {plain} {plain} {plain} {plain} {flipped} {flipped} {flipped} {feint}"""
    ),
    "plain": (
        *(
            "the {thing} was {very} {same}",
            "we found the {thing} {same}",
            "the {thing} looked {same}",
        ),
        *("they served us a {same} {thing}", "everything about the {thing} was {same}"),
    ),
    "flipped": (
        *("the {thing} was not {very} {other}", "nothing about the {thing} was {other}"),
        *("nobody would call the {thing} {other}", "the {thing} was anything but {other}"),
        *("I cannot say that the {thing} was {other}", "the {thing} was never {other}"),
        *("the {thing} was far from {other}", "we expected a {other} {thing} and were wrong"),
    ),
    "feint": (
        *(
            "the {thing} was not only {same} but {same} too",
            "nobody denies that the {thing} was {same}",
        ),
        *("never before was the {thing} so {same}", "the {thing} was nothing less than {same}"),
    ),
}
SENTENCES: tuple[str, ...] = (
    *("{clause} .", "{clause} .", "{clause} .", "{clause} last week .", "{clause} , as usual ."),
    "{clause} , and {clause} .",
    "although {counter} , {clause} .",
    "{counter} , but {clause} .",
)
OPEN: tuple[str, ...] = (
    "the {thing} was what we had expected .",
    "some will like the {thing} and others will not .",
    "the {thing} was like any other {thing} .",
)
