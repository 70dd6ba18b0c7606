# The checks of 10_reading.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% A reader that works
kept_run = real_run()
run_f1 = {(row["reader"], row["threshold"]): row["f1"] for row in kept_run["scores"]}
claim(
    "have an F1 of 6.1 and 16.4, and all readers are far ahead of them once",
    {"6.1": run_f1["paragraph", ""], "16.4": run_f1["sentence", ""]},
    min(run_f1[name, "tuned"] for name in ("choice", "ce", "dl")) > 30 + run_f1["sentence", ""],
)
claim(
    "with cross entropy they have an F1 of 29.7, and the choice has 54.8",
    {"29.7": run_f1["ce", "0"], "54.8": run_f1["choice", "0"]},
)
claim(
    "With a tuned threshold both have an F1 of 55.0",
    {"55.0": run_f1["ce", "tuned"]},
    {"55.0": run_f1["choice", "tuned"]},
)
claim("there are 158 negatives", {"158": kept_run["data"]["negatives per positive"]})
claim("Dice ends lower, at 47.5", {"47.5": run_f1["dl", "tuned"]})
second_pass = {
    name: passes[1]["validation_f1"] - passes[0]["validation_f1"]
    for name, passes in kept_run["history"].items()
}
claim("It gained the most in its second pass", max(second_pass, key=second_pass.get) == "dl")
sorted_errors = pd.DataFrame(kept_run["errors"]).T
right_share = sorted_errors["right"] / sorted_errors.sum(axis=1)
claim(
    "Questions with *who* and *when* are answered best",
    set(right_share.nlargest(2).index) == {"who", "when"},
)
claim(
    "None of the sixteen questions with *why* has exactly the right answer",
    sorted_errors.loc["why", "right"] == 0,
    sorted_errors.loc["why"].sum() == 16,
    sorted_errors.loc["why", "elsewhere"] > 8,
)
all_errors = sorted_errors.sum()
claim(
    "answers that are too long or too short are about as frequent as answers from elsewhere",
    abs((all_errors["too long"] + all_errors["too short"]) / all_errors["elsewhere"] - 1) < 0.1,
)

# %% 10.2
quoref, cmrc = (rules[name] for name in list(rules)[1::2])
claim("one of two names is not an exact match", quoref["exact_match"] == 0, quoref["f1"] > 0)
claim("in Chinese (CMRC 2018) for shared characters", abs(cmrc["f1"] - 200 / 3) < 1e-9)

# %% 10.3
if len(windows) == len(questions["train"]):  # one window a question
    collate = reading.collator(tokenizer, as_choice=False)
    for i in range(0, len(windows), 20):
        assert torch.equal(collate([windows[i]])["labels"][0], labels_of(questions["train"][i]))

if as_printed:
    claim("one yes among some eighty no", abs(negative / positive - 80) < 5)
(squad,) = [
    r["metrics"]
    for r in runs.kept_records("imbalance")
    if r["parameters"]["counted"].startswith("train-v1.1")
]
claim(
    "about sixty words for each start or end", abs(squad["negative"] / squad["positive"] - 60) < 2
)

# %% 10.5
if as_printed:
    curve = {n: [e["validation_f1"] for e in t.history] for n, t in trained.items()}
    silent = 100 * np.mean([not g["text"] for g in gold["validation"]])
    claim(
        "All three readers rise above the score of silence",
        all(max(c) > silent + 5 for c in curve.values()),
    )

# %% 10.6
if len(encoded.splits["test"]) == len(questions["test"]):  # one window a question
    logits = result.logits["test"]
    by_package = reading.decode(logits, encoded, "test", as_choice=False, candidates=10**6)
    for i, (window, answer) in enumerate(zip(encoded.splits["test"], by_package, strict=True)):
        inside = slice(*window["context_span"])
        first, last, best = best_span(logits[0][i][inside], logits[1][i][inside])
        assert np.isclose(best, answer.score)
        begin, end = window["offsets"][first][0], window["offsets"][last][1]
        assert questions["test"][i]["context"][begin:end].strip() == answer.text

if as_printed:
    f1 = pd.DataFrame(table).T["f1"]
    tuned = [f1[n, "tuned"] for n in trained]
    claim("Tuned, the three readers are within five points of each other", np.ptp(tuned) < 5)

# %% Answered, and right
if as_printed:
    at = {n: [p[int(len(p) * x) - 1] for x in (0.1, 0.4, 1)] for n, p in precision.items()}
    claim(
        "a curve that starts high and falls. All three readers have one",
        all(a > b > c for a, b, c in at.values()),
    )
    claim(
        "of their surest tenth more than half of the answers match",
        all(x[0] > 0.5 for x in at.values()),
    )
    claim("of all answers three in ten", all(round(10 * x[2]) == 3 for x in at.values()))
    claim("the choice looks as if it did not know when it is right", share < 0.45)

# %% 10.7
if as_printed:
    right_of = {word: row["right"] / sum(row.values()) for word, row in errors.items()}
    claim("answers *when* best", max(right_of, key=right_of.get) == "when")
    away = sum(row["elsewhere"] for row in errors.values())
    wrong = sum(sum(row.values()) - row["right"] for row in errors.values())
    needless = sum(
        answer.score > 0 and not row["answers"]["text"]
        for answer, row in zip(found[first], questions["test"], strict=True)
    )
    claim("Most of its errors are answers from elsewhere", away > wrong / 2)
    claim("Nearly half of these", 0.42 < needless / away < 0.5)

# %% Errors that one makes and the other does not
if as_printed:
    claim("on about one question in five", abs(len(rows) / len(gold["test"]) - 0.2) < 0.03)

# %% 10.8
kept = {r["parameters"]["reader"]: r for r in records}
if len(records) == 2 == len(kept):  # more runs want another text
    by = {name: r["metrics"]["test"] for name, r in kept.items()}
    claim(
        "by eight points of exact match and ten of F1",
        abs(by["choice"]["em"] - by["decisions"]["em"] - 8) < 0.5,
        abs(by["choice"]["f1"] - by["decisions"]["f1"] - 10) < 0.5,
    )
    claim(
        "over 3,595 questions", *({"3,595": r["parameters"]["train_size"]} for r in kept.values())
    )
    claim(
        "keeps no threshold of silence",
        not any("threshold" in r["metrics"]["test"] for r in kept.values()),
    )

# %% 10.9
of_squad, real_questions = real_readers()
means = of_squad.groupby("reader")[["argmax", "tuned"]].mean()
by_seed = of_squad.groupby(["reader", "seed"])["tuned"].mean().unstack()
cross, by_dice = "decisions, cross entropy", "decisions, dice"
chosen = "choice, cross entropy"
rule = real_questions["F1 of the sentence with most shared words"]
claim("6,000 questions", {"6,000": real_questions["train"]})
claim("three seeds", by_seed.shape == (9, 3), not by_seed.isna().any(axis=None))
claim("whole paragraph, F1 is 6.3", {"6.3": real_questions["F1 of the whole paragraph"]})
claim("shares most words with the question, it is 17.0", {"17.0": rule})
claim("The choice has 51.6 at argmax", {"51.6": means.loc[chosen, "argmax"]})
claim("At argmax it answers no question", means.loc[f"{cross}, near 0", "argmax"] == 0)
claim("its mean F1 is 5.8", {"5.8": means.loc[f"{cross}, near 0", "tuned"]})
claim("with a tuned threshold, has 52.2", {"52.2": means.loc[f"{cross}, log prior", "tuned"]})
claim("its threshold is tuned as well, 52.0", {"52.0": means.loc[chosen, "tuned"]})
claim(
    "From near 0 and tuned it has 48.5, and from the log prior 46.0",
    {"48.5": means.loc[f"{by_dice}, near 0", "tuned"]},
    {"46.0": means.loc[f"{by_dice}, log prior", "tuned"]},
)
claim(
    "With each seed, cross entropy from the log prior is a few points higher than dice from either start",
    *(
        (by_seed.loc[f"{cross}, log prior"] - by_seed.loc[f"{by_dice}, {start}"] > 2).all()
        for start in ("near 0", "log prior")
    ),
)
claim(
    "There dice from near 0 has 44.7, and cross entropy from the log prior 14.1",
    {"44.7": means.loc[f"{by_dice}, near 0", "argmax"]},
    {"14.1": means.loc[f"{cross}, log prior", "argmax"]},
)
claim(
    "Focal loss stays below the rule from both starts",
    (by_seed.filter(like="focal", axis="index") < rule).all(axis=None),
)

# %% 10.10
claim(
    "On SQuAD it has to the digit what they report for BERT-large on the development sets",
    all(printed[name, "BERT"]["ce"] == value for name, value in of_bert_large.items()),
)
f1_of = {
    where: {n: float(x.split(" / ")[1]) for n, x in row.items()} for where, row in printed.items()
}
gains = {where: row["dsc"] - row["ce"] for where, row in f1_of.items()}
claim(
    "lie between 0.7 and 2.6 points of F1, the largest on Quoref",
    {"0.7": min(gains.values()), "2.6": max(gains.values())},
    max(gains, key=gains.get)[0] == "quoref",
)
