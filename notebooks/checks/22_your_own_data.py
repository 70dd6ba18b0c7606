# The checks of 22_your_own_data.py: each cell runs at the end of the section that it names.

from seqeval.metrics.sequence_labeling import get_entities

from dicelab.claims import claim

# %% 22.7
if as_printed:
    claim(
        "what tuning adds, and here it adds little",
        all(done.value - done.argmax < 5 for done in best.values()),
    )
    claim(
        "weighted cross entropy scored far higher than cross entropy, and still the interval is wide: two seeds",
        fit.result.chosen == "wce",
        rival[0] == "ce",
        rival[1].mean > 10,
        rival[1].high - rival[1].low > 15,
        len(fit.result.arms["wce"].runs) == 2,
    )

# %% 22.8
f1_by_model = {name: [of[name] for of in by_size.values()] for name in MODELS}
claim(
    "None of these curves is flat at its end",
    list(by_size) == [100, 400, 1600],
    all(np.diff(f1).min() > 2.5 for f1 in f1_by_model.values()),
)
claim(
    "With 100 sentences, cross entropy is behind the linear model, and the mean is ahead at each size",
    f1_by_model["ce"][0] < f1_by_model["shapes+states"][0],
    all(of["mean"] == max(of.values()) for of in by_size.values()),
)

# %% 22.9
by_word = Model(folder, device="cpu")
by_word.info["valid"] = False
if data.task == "tagging":
    pieces = pipeline(task, str(folder), ignore_labels=[], device="cpu")(text)
    starts = np.cumsum([0, *(len(word) + 1 for word in row)])[:-1]
    first = {piece["start"]: piece["entity"] for piece in reversed(pieces)}
    claim(
        "a pipeline takes the most likely tag of each word",
        [first[start] for start in starts] == by_word.words([row])[0],
    )
if as_printed:
    claim(
        "a word then gets the tag of its first sub-word",
        [told(piece)[1] for piece in plain(text)]
        == [span[0] for span in get_entities(by_word.words([row])[0])],
    )

# %% 22.11
claim(
    "only the interval for the linear model on words excludes 0",
    [over["all of fit"].split("[")[1][0] != "−" for over in ahead.values()]
    == [True, False, False, False],
)
claim(
    "In nine of the thirty draws the Trainer scored higher",
    len(of_method) == 30,
    (of_method["trainer"] > of_method["fit"]).sum() == 9,
)
