# The checks of 11_paraphrases.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% A model that works
page = real_run()
f1_of = {(row["model"], row["decision"]): row for row in page["scores"]}
claim(
    "an F1 of 66.7, because half of the pairs are positive", {"66.7": f1_of["always yes", ""]["f1"]}
)
claim(
    "reaches 75.1. So a rule without training already has most of the points",
    {"75.1": f1_of["shared words", ""]["f1"]},
    f1_of["shared words", ""]["f1"] > 0.9 * f1_of["ce", "tuned"]["f1"],
)
claim(
    "they differ by a tenth of a point, and their intervals are alike",
    all(abs(f1_of["ce", how]["f1"] - f1_of["dl", how]["f1"]) < 0.15 for how in ("argmax", "tuned")),
    abs(f1_of["ce", "tuned"]["interval"][0] - f1_of["dl", "tuned"]["interval"][0]) < 0.2,
    all(abs(f1_of[n, "tuned"]["f1"] - f1_of[n, "argmax"]["f1"]) < 0.3 for n in ("ce", "dl")),
    abs(page["cut_off"] - 0.5) < 0.06,
)
few, most = page["errors"]["few"], page["errors"]["most"]
claim(
    "the model misses more than a quarter of the duplicates",
    few["missed"] > few["paraphrases"] / 4,
)
claim(
    "it takes four in ten of the other pairs for duplicates",
    abs(most["taken for one"] / (most["pairs"] - most["paraphrases"]) - 0.4) < 0.05,
    most["missed"] / most["paraphrases"] < 0.1,
)
claim(
    "they give a probability near 0.8, about two in three are duplicates",
    all(
        0.6 < came[place] < 0.7
        for said, came in page["reliability"].values()
        for place in [min(range(10), key=lambda i: abs(said[i] - 0.8))]
    ),
)
agreed_on = [(row["p"] > page["cut_off"]) == row["gold"] for row in page["own"]]
claim("Only half of the answers are right", sum(agreed_on) * 2 == len(agreed_on) == 12)
sure = {row["one"].split()[-1]: row["p"] for row in page["own"] if not row["gold"]}
claim(
    "But it says yes, with a probability above 0.9",
    all(sure[word] > 0.9 for word in ("Geneva?", "water?", "winter?")),
)
claim("An F1 of 83 on the test set", {"83": f1_of["ce", "tuned"]["f1"]})

# %% 11.2
claim("An F1 of 80 there is what one has without looking", {"80": 200 * 0.67 / 1.67})
pi = gold.mean()
claim(
    '"Always yes" has a recall of one and a precision of π, the share of positives',
    abs(free["always yes"]["f1"] - 200 * pi / (1 + pi)) < 1e-9,
)

# %% 11.6
if as_printed:
    claim(
        "all three models are far too sure",
        len(reliable) == 3,
        min(error for *_, error in reliable.values()) > 0.15,
        all(came[0] > said[0] and came[-1] < said[-1] for said, came, _ in reliable.values()),
    )
    claim(
        "After twelve passes over 1,200 pairs the training loss of cross entropy is below 0.05",
        {"1,200": len(corpus_of_pairs["train"])},
        trained["ce"].history[-1]["loss"] < 0.05,
    )
    claim(
        "One pair of these 400 more or less moves F1 by about 0.3 points",
        {"400": len(gold), "0.3": 100 / gold.sum() / 2},
    )

# %% 11.8
if len(comparable) == 21:  # more runs want another text
    over = {s: runs.over_seeds(comparable, split=s) for s in ("test", "test_tuned")}
    mean = {s: {n: o.mean.mean for n, o in found.items()} for s, found in over.items()}
    gain = {n: o.gain for n, o in over["test"].items() if o.gain}
    floor = comparable[0]["metrics"]["majority"]["f1"]
    level = [n for n in mean["test"] if not n.startswith(("tl", "wce"))]
    (linear,) = [n for n in gain if n.startswith("tl")]
    claim(
        "The records hold three seeds of seven settings, all layers of MiniLM trained for three passes on 2,000 of the training pairs",
        {"2,000": common["train_size"]},
        "MiniLM" in common["encoder"],
        common["epochs"] == 3,
        {len(o.scores) for o in over["test"].values()} == {3},
        len(gain) == 6,
    )
    of_level = [mean["test"][n] for n in level]
    claim(
        "lie within half a point of each other and about three points above",
        len(level) == 5,
        max(of_level) - min(of_level) < 0.5,
        all(2.5 < x - floor < 3.5 for x in of_level),
    )
    mild = [gain[n] for n in level if n != "ce"]
    claim(
        "have intervals that reach a point and more to both sides",
        all(g.low < -1 and g.high > 1 for g in mild),
    )
    claim(
        "no difference larger than three points was seen",
        all(g.low > -3 and g.high < 3 for g in mild),
    )
    claim(
        'Tversky with linear denominators is behind, at the level of "always yes"',
        gain[linear].high < 0,
        abs(mean["test"][linear] - floor) < 0.6,
    )
    claim(
        "Weighted cross entropy has that level at argmax, too, though its interval includes 0",
        abs(mean["test"]["wce"] - floor) < 0.6,
        gain["wce"].low < 0 < gain["wce"].high,
    )
    lost = mean["test"]["ce"] - mean["test"]["wce"]
    claim(
        "Its threshold brings back half of that",
        abs((mean["test_tuned"]["wce"] - mean["test"]["wce"]) / lost - 0.5) < 0.15,
    )
if len(comparable) == 21:
    dice = [g for n, g in gain.items() if n.startswith(("dl", "dsc"))]
    claim(
        "no difference larger than two points was seen between cross entropy and squared dice losses",
        len(dice) == 3,
        all(g.low > -2 and g.high < 2 for g in dice),
    )
if as_printed:
    moved = scores["f1"].xs("tuned", level=1) - scores["f1"].xs("argmax", level=1)
    claim("part of a loss's F1 is the threshold", moved.abs().max() > 1)

# %% 11.9
gaps = differences()
three = ("qqp_02", "qqp_10", "mrpc")
near, prior = (
    {task: found[arm, "argmax"] for task, found in gaps.items()} for arm in ("dice", "dice_start")
)
claim(
    "From a bias near 0, dice is eight points higher where 2% of the training pairs are positive, and five points "
    "higher on MRPC and on QQP with 10%",
    {task: round(near[task].mean) for task in three} == {"qqp_02": 8, "qqp_10": 5, "mrpc": 5},
    all(near[task].low > 0 for task in three),
)
claim(
    "From the log prior its gains are about as large, though with 2% the interval just includes 0",
    [round(prior[task].mean) for task in ("qqp_02", "mrpc", "qqp_10")] == [7, 5, 6],
    all(abs(prior[task].mean - near[task].mean) < 1.5 for task in three),
    [prior[task].low > 0 for task in three] == [False, True, True],
    prior["qqp_02"].low > -0.2,
)
claim(
    "With 30% there is no such gap from either start",
    all(found["qqp_30"].low < 0 < found["qqp_30"].high for found in (near, prior)),
)
claim(
    "their F1 at argmax is 41.7, and that of dice is 24.7",
    {"41.7": float(mean_f1["qqp_02"]["class weights, argmax"])},
    {"24.7": float(mean_f1["qqp_02"]["dice, near 0, argmax"])},
)
claim(
    "with 2% positives, it gives cross entropy an F1 of 39.5",
    {"39.5": float(mean_f1["qqp_02"]["cross entropy, log prior, tuned"])},
)
tuned = [e for found in gaps.values() for (_, how), e in found.items() if how == "tuned"]
claim(
    "all eight intervals of dice include 0",
    len(tuned) == 8,
    all(e.low < 0 < e.high for e in tuned),
)
claim(
    "On three of four tasks with real text, dice scores five to eight points of F1 above cross entropy at argmax, whether its "
    "output bias starts near 0 or at the log prior",
    all(4.5 < found[task].mean < 8.5 for found in (near, prior) for task in three),
)

# %% 11.10
claim("The draws spread over nearly three points", 2.5 < high - low < 3)
deltas = [float(row.printed["delta"]) for row in paper.table(7).rows if row.loss != "ce"]
claim("The printed gains run from 0.05 to 0.92 points", {"0.05": min(deltas), "0.92": max(deltas)})
claim(
    "MRPC has 1,725 test pairs, about 1,147 of them paraphrases",
    {"1,725": n},
    round(0.665 * n) == positives,
)
