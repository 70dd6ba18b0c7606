# The checks of 13_accuracy_tasks.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% A model that works
page = real_run()
score_of = {row["model"]: row for row in page["scores"]}
by_sentiment = {name: row["accuracy"] for name, row in score_of.items()}
claim("already has an accuracy of 81.4", {"81.4": by_sentiment["bag of words"]})
claim(
    "MiniLM with cross entropy has 88.3, seven points more",
    {"88.3": by_sentiment["ce"]},
    abs(by_sentiment["ce"] - by_sentiment["bag of words"] - 7) < 0.5,
)
claim(
    "Dice over both classes is 0.4 points lower, which is eight sentences of 1,821",
    {"0.4": by_sentiment["ce"] - by_sentiment["dl"], "1,821": page["data"]["test"]},
    round((by_sentiment["ce"] - by_sentiment["dl"]) * page["data"]["test"] / 100) == 8,
    score_of["dl"]["interval"][1] > score_of["ce"]["interval"][0],
)
turned, others = page["errors"]["with such a word"], page["errors"]["without"]
claim(
    "Sentences with such a word are harder for both",
    all(
        turned[f"errors of the {who}"] / turned["sentences"]
        > others[f"errors of the {who}"] / others["sentences"]
        for who in ("model", "bag of words")
    ),
)
fewer = [
    1 - of["errors of the model"] / of["errors of the bag of words"] for of in (turned, others)
]
claim(
    "The model makes a third fewer errors than the bag of words on them, and 38% fewer on the others",
    abs(fewer[0] - 1 / 3) < 0.02,
    {"38%": fewer[1]},
)
wrong_on = [row for row in page["own"] if (row["p"] > 0.5) != row["gold"]]
claim("Half of them are right", len(wrong_on) == 6, len(page["own"]) == 12)
claim(
    "in each of its six errors, the wrong class has a probability above 0.85",
    all(abs(row["p"] - row["gold"]) > 0.85 for row in wrong_on),
)
claim("An accuracy of 88% on the test set", {"88%": by_sentiment["ce"] / 100})

# %% 13.2
best = {name: (values.max(), p[values.argmax()]) for name, values in scores.items()}
claim("calibrated probabilities, drawn from a Beta distribution with 40% positives", {"40%": share})
claim(
    "The best threshold for F1 lies well below one half, that for accuracy at one half",
    best["F1"][1] < 0.4,
    abs(best["accuracy"][1] - 0.5) < 0.001,
)
claim(
    "a model that decides for F1 gives away about two points of accuracy",
    abs(100 * (accuracy.max() - accuracy[f1.argmax()]) - 2) < 0.5,
)
claim(
    "is between, and close to accuracy",
    best["F1"][1] < best["macro F1"][1] < 0.5,
    best["accuracy"][0] - best["macro F1"][0] < 0.02,
)

# %% 13.3
learnt = set(sentences["train"]["sentence"])
if experiment.corpus == "embedded-sentiment-en":
    claim(
        "None of the validation and test sentences stands in the training sentences",
        all(learnt.isdisjoint(sentences[split]["sentence"]) for split in ("validation", "test")),
    )

# %% 13.4
kept = runs.kept_records("accuracy")
both_dice = ("dice", "self-adjusting dice")
if len(kept) == 90:
    two, five = over["SST-2"], over["SST-5"]
    level = [two[n].gain for n in both_dice]
    claim(
        "the intervals exclude a difference larger than 0.6 points. With five classes a dice loss "
        "costs nearly a point",
        {"0.6": max(max(-g.low, g.high) for g in level)},
        all(-1 < five[n].gain.mean < -0.75 for n in both_dice),
    )
    claim(
        "their intervals exclude a difference larger than 0.6 points",
        {"0.6": max(max(-g.low, g.high) for g in level)},
        all(g.low < 0 < g.high for g in level),
    )
    alone = two["dice, positives alone"].gain
    claim(
        "Dice of the positives alone is half a point lower, and its interval just includes zero",
        abs(alone.mean + 0.5) < 0.1,
        0 < alone.high < 0.2,
    )
    claim(
        "On SST-5 dice and self-adjusting dice are behind, by 0.8 and 0.9 points, and both intervals exclude zero",
        {"0.8": -five["dice"].gain.mean, "0.9": -five["self-adjusting dice"].gain.mean},
        all(five[n].gain.high < 0 for n in both_dice),
    )
    base = five["cross entropy"].scores
    worse = {n: sum(five[n].scores[s] < base[s] for s in base) for n in both_dice}
    claim("Of the ten seeds nine or ten say so, for either", min(worse.values()) >= 9)
    claim("Focal loss is level", five["focal"].gain.low < 0 < five["focal"].gain.high)

# %% 13.5
of_two = rare["sst2_02"]
first_three = tuple(searched.ARM_NAMES.values())[:3]
claim('"Always no" has an accuracy of 90.0', {"90.0": of_two["accuracy, always no"]})
claim(
    "within two tenths of a point of each other",
    np.ptp([of_two[f"accuracy, {a}"] for a in searched.ARM_NAMES.values()]) < 0.25,
    all(abs(of_two[f"accuracy, {a}"] - 91.2) < 0.4 for a in first_three),
)
claim(
    "that of class weights is twenty points higher than that of cross entropy",
    abs(of_two["F1, class weights"] - of_two["F1, cross entropy, log prior"] - 20) < 0.6,
)
claim(
    "every model of the table stays within three points",
    all(abs(v - 90) < 3 for row in rare.values() for k, v in row.items() if k[0] == "a"),
)

# %% 13.6
fewer_right = {
    (row.corpus, row.loss): cells[-1] for row, cells in zip(paper.table(9).rows, rows, strict=True)
}
claim(
    "On SST-2 dice loss gets ten sentences fewer right than cross entropy, and self-adjusting dice "
    "one",
    fewer_right["sst2", "dsc"] == 1,
    fewer_right["sst2", "dl"] == 10,
)
claim(
    "On SST-5 it is twenty-one and eight",
    fewer_right["sst5", "dsc"] == 8,
    fewer_right["sst5", "dl"] == 21,
)

# %% 13.7
best_of = {c: max(one.mean.mean for one in found.values()) for c, found in over.items()}
claim(
    "A frozen encoder reaches 83% on SST-2 and 44% on SST-5",
    {"83": best_of["SST-2"], "44": best_of["SST-5"]},
)
in_print = {r.corpus: r.value("accuracy") for r in paper.table(9).rows if r.loss == "ce"}
claim("the paper's reach 95 and 56", {"95": in_print["sst2"], "56": in_print["sst5"]})
