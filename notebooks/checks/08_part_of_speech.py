# The checks of 08_part_of_speech.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% A tagger that works
page = real_run()
row_of = {(row["model"], row["decision"]): row for row in page["scores"]}
ce_row, dice_row = row_of["ce", "argmax"], row_of["dl", "argmax"]
claim(
    "83.8% of the tags are right", {"83.8%": row_of["most frequent of the token", ""]["f1"] / 100}
)
claim("The tagger with cross entropy has 94.3", {"94.3": ce_row["f1"]})
claim(
    "Dice is one point lower here, and the intervals do not overlap",
    abs(ce_row["f1"] - dice_row["f1"] - 1) < 0.2,
    dice_row["interval"][1] < ce_row["interval"][0],
)
claim("94 words in a hundred are right", {"94": ce_row["f1"]})
claim(
    "the mean F1 of the 49 tags is 74.3",
    {"74.3": ce_row["macro_f1"], "49": page["data"]["tags"]},
)
moved_row = row_of["ce", "tuned"]
claim(
    "rises by five points to 79.5, and F1 falls by half a point",
    {"79.5": moved_row["macro_f1"]},
    abs(moved_row["macro_f1"] - ce_row["macro_f1"] - 5) < 0.5,
    abs(ce_row["f1"] - moved_row["f1"] - 0.5) < 0.2,
)
claim(
    "The most frequent confusion, in both directions",
    [set(row[:2]) for row in page["confused"][:2]] == [{"NN", "NNP"}] * 2,
)
right_of = {k: 100 * n["right"] / n["tokens"] for k, n in page["novelty"].items()}
claim(
    "right in 96 of a hundred cases, and new words in 78",
    {"96": right_of["met in training"], "78": right_of["new"]},
)
misled = {
    token: tag
    for row in page["own"]
    for token, gold_tag, tag in zip(row["tokens"], row["gold"], row["tags"], strict=True)
    if gold_tag != tag
}
claim("ten sentences of our own", len(page["own"]) == 10)
claim("Some of them are known to mislead readers", {"man", "duck", "Tarrow"} <= set(misled))
claim("a town that we invented, becomes a verb after", misled["Tarrow"] == "VB")

# %% 8.3
if as_printed:
    claim(
        "A quarter of the words are nouns, and no class is larger",
        abs(count["share, %"].iloc[0] - 25) < 2,
        most == "NOUN",
    )
    claim(
        "three tags have about a hundred or more negatives for each positive",
        (count["negatives per positive"] > 95).sum() == 3,
    )

# %% 8.4
# These scores must be those of the library, which come from other packages.
for name, mine in baselines.items():
    theirs = (tagging.score if joint else tagging.score_words)(gold, guesses[name])
    for metric in mine.keys() & theirs.keys():
        assert abs(mine[metric] - theirs[metric]) < 1e-9, (name, metric)

# %% 8.6
if as_printed:
    end = {n: t.history[-1] for n, t in trained.items()}
    micro = {n: e["validation_f1"] for n, e in end.items()}
    claim(
        "Its macro average lies far below its micro average",
        end["tl"]["validation_macro_f1"] < micro["tl"] - 20,
    )

# %% 8.7
if as_printed:
    found = pd.DataFrame(table).T
    raw, tuned = (found.xs(how, level=1)[["f1", "macro_f1"]] for how in ("argmax", "tuned"))
    claim(
        "Tuning τ changes both averages of the other five models by a point or less",
        (tuned - raw).drop("tl").abs().max().max() < 1,
    )
    claim(
        "it does not bring back what `tl` has lost",
        tuned["macro_f1"]["tl"] < raw["macro_f1"]["ce"] - 20,
    )

# %% 8.8
if as_printed:
    rare = f1.iloc[half:]
    claim("lie at zero for most of the rarer tags", (rare["tl"] == 0).mean() > 0.5)

# %% On real text
records = [r for r in runs.kept_records("ud_zh") if r["chapter"] == "08_part_of_speech"]
common, comparable = next(iter(runs.comparable(records)), ({}, []))
ud_baselines = {
    r["parameters"]["baseline"]: r["metrics"]["test"] for r in runs.kept_records("baselines/ud_zh")
}
if len(comparable) == len(records) == 21:  # more runs want another text
    over = runs.over_seeds(comparable)
    mean = {n: o.mean.mean for n, o in over.items()}
    gain = {n: o.gain for n, o in over.items() if o.gain}
    dice = [gain[n] for n in gain if n.startswith(("dl", "dsc"))]
    _, by_dictionary = (found["f1"] for found in ud_baselines.values())
    claim(
        "is fifteen points ahead of every model",
        abs(by_dictionary - max(mean.values()) - 15) < 1,
    )
    claim(
        "cross entropy leads the dice losses by about one point, and the intervals of these differences stay clear of zero",
        len(dice) == 3,
        all(abs(g.mean + 1) < 0.3 and g.high < 0 for g in dice),
    )
    claim(
        "four epochs with seven losses and three seeds each",
        len(mean) == 7,
        len(comparable) == 21,
        common["train_size"] == 0,
        common["epochs"] == 4,
    )

# %% 8.10
task = next(r for r in rare_tags() if r["kind"] == "task")
size = task["sizes"]["train"]
claim("about one word in thirteen", abs(size["rows"] / size["positive"] - 13) < 0.5)
gaps = [searched.minus_start(rare_tags(), "dice", how) for how in ("argmax", "tuned")]
claim(
    "they differ by less than a point",
    all(-1 < g.low < 0 < g.high < 1 for g in gaps),
)
claim(
    "differs from cross entropy by less than half a point, at argmax and tuned, and both intervals include 0",
    all(abs(g.mean) < 0.5 and g.low < 0 < g.high for g in gaps),
)
of_models = [float(f1) for name, f1 in row.items() if " minus " not in name and name != "baseline"]
claim(
    "All F1 are near 90, and the dictionary has 71",
    all(abs(f1 - 90) < 1 for f1 in of_models),
    {"71": float(row["baseline"])},
)
