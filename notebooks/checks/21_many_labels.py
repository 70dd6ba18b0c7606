# The checks of 21_many_labels.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 21 Many labels, most of them rare
claim(
    "77 of 43,410 show grief, which makes 563 negatives for each positive",
    {"77": of_label["grief"], "43,410": comments, "563": comments / of_label["grief"] - 1},
)
claim("a third of the comments are neutral", abs(of_label["neutral"] / comments - 1 / 3) < 0.01)
claim(
    "Five of the 28 labels (orange) have fewer than one comment in a hundred",
    int((of_label < comments / 100).sum()) == 5,
    len(of_label) == 28,
    434 < comments / 100 < 435,
)

# %% A model that works
kept_run = real_run()
run_scores = {(row["model"], row["decision"]): row for row in kept_run["scores"]}
one_half, tuned_each = (
    {name: run_scores[name, way] for name in ("ce", "dl", "words")}
    for way in ("one half", "one a label")
)
claim(
    "dice has a macro F1 of 39.7, and cross entropy has 21.3",
    {"39.7": one_half["dl"]["macro_f1"], "21.3": one_half["ce"]["macro_f1"]},
)
claim(
    "entropy finds only 38 in a hundred of the labels there are, and dice finds 57",
    {"38": one_half["ce"]["recall"], "57": one_half["dl"]["recall"]},
)
claim(
    "the two are close: their intervals overlap",
    tuned_each["dl"]["interval"][0] < tuned_each["ce"]["interval"][1],
    tuned_each["ce"]["interval"][0] < tuned_each["dl"]["interval"][1],
)
claim(
    "its macro F1 is 41.5, which is no lower than that of either encoder",
    {"41.5": tuned_each["words"]["macro_f1"]},
    all(tuned_each[name]["macro_f1"] < tuned_each["words"]["macro_f1"] for name in ("ce", "dl")),
    all(
        tuned_each[name]["interval"][1] > tuned_each["words"]["interval"][0]
        for name in ("ce", "dl")
    ),
)
claim(
    "both encoders are ahead of it",
    all(
        run_scores[name, way]["f1"] > run_scores["words", way]["f1"] + 2
        for name in ("ce", "dl")
        for way in ("one half", "one threshold", "one a label")
    ),
)
claim("12,000 comments", {"12,000": kept_run["data"]["train"]})
of_each = pd.DataFrame(kept_run["each"]).set_index(["model", "label"])
by_loss = of_each["f1"].unstack("model")
rarest = of_each.loc["ce", "train"].nsmallest(2)
claim(
    "grief and pride, have fewer than thirty training",
    set(rarest.index) == {"grief", "pride"},
    rarest.max() < 30,
    by_loss.loc[rarest.index].max(axis=None) < 5,
)
claim(
    "is found nine times in ten, and realization, with more than 300 comments",
    (by_loss.loc["gratitude"] > 90).all(),
    of_each.loc[("ce", "realization"), "train"] > 300,
    (by_loss.loc["realization"] < 16).all(),
)
claim("The two losses lie close together", (by_loss["ce"] - by_loss["dl"]).abs().max() < 9)
mistaken = {row["label"]: row["given instead"] for row in kept_run["errors"]}
claim(
    "Most misses go to *neutral*",
    all(text.startswith("neutral") for label, text in mistaken.items() if label != "neutral"),
)
claim("such as anger and annoyance", "annoyance" in mistaken["anger"])
written = [(set(row["gold"]), set(row["ce"]), set(row["dl"])) for row in kept_run["own"]]
claim(
    "The model finds gratitude, sadness and remorse",
    all(
        any({label} <= gold & ce & dl for gold, ce, dl in written)
        for label in ("gratitude", "sadness", "remorse")
    ),
)
claim(
    "It calls pride, nervousness and relief neutral",
    all(
        ce == dl == {"neutral"}
        for gold, ce, dl in written
        if gold & {"pride", "nervousness", "relief"}
    ),
)
claim(
    "it reads a fly in a sandwich as grief",
    all("grief" in ce & dl for gold, ce, dl in written if "disgust" in gold),
)

# %% 21.3
claim(
    "after ten steps it gives hardly any label",
    early[10]["labels given"] < 0.2 * early["in the gold"]["labels given"],
)
claim(
    "In these few steps some labels do not get there",
    early[300]["kinds ever given"] < 12,
    early["in the gold"]["kinds ever given"] == 12,
)
claim("its share, 1/200", abs(200 * counts["train"]["elections"] / len(data["train"]) - 1) < 0.1)

# %% 21.4
half = means.xs("one half", level=1)["macro"]
claim("plain cross entropy is last", half.idxmin() == "cross entropy")
knowing = ["weighted", "logit adjustment", "dice, macro"]
claim(
    "are more than ten points ahead of it",
    (half[knowing] > half["cross entropy"] + 10).all(),
)
each = means.xs("one a label", level=1)
others = each["macro"].drop(["dice, macro", "focal"])
claim(
    "is now ahead of weights and logit adjustment. Macro dice stays ahead",
    others.idxmax() == "cross entropy, prior",
    each["macro"].idxmax() == "dice, macro",
)
claim(
    "cross entropy with a prior start gains more than ten points",
    each["macro"]["cross entropy, prior"] > half["cross entropy, prior"] + 10,
)
apart = means.xs("one half", level=1).agg(lambda of: of.max() - of.min())
claim("lie less than half as far apart in micro F1", apart["micro"] < apart["macro"] / 2)

# %% 21.5
gap = mean["promised"] - mean["test"]
claim(
    "With two positives the part promises an F1 that the test split does not give",
    gap[2] > 5,
)
claim("From a few dozen on the promise is less than five points off", gap[50] < 5)
claim("The rarest topic has 5 positives in validation", {"5": counts["validation"].min()})

# %% 21.6
middle = reliable.iloc[2:4]
claim(
    "Where cross entropy says 0.1 to 0.3 or 0.3 to 0.6, about so many labels are there",
    bool((middle["cross entropy, prior"] > [8, 25]).all()),
    bool((middle["cross entropy, prior"] < [40, 75]).all()),
)
claim(
    "Where the weighted loss says so, fewer are",
    bool((middle["weighted"] < middle["cross entropy, prior"]).all()),
)


# %% 21.7
best = real.groupby("loss").mean()
moved = [
    best.loc[ARMS[a]][m, FOUND[way]] - best.loc[ARMS[b]][m, FOUND[other]] - mean
    for (a, way, b, other, m), (mean, _, _) in of_pair.items()
    if (a, way, b, other) in PAIRS
]
assert np.abs(moved).max() < 0.05, "the table and the differences come from other runs"
claim(
    "twenty draws", real.groupby("loss").size().eq(20).all(), compared["parameters"]["draws"] == 20
)
claim(
    "macro dice is 8.2 points of macro F1 ahead of cross entropy that starts at the log prior",
    {"8.2": of_pair["dice_macro", "half", "bce_prior", "half", "macro"][0]},
    of_pair["dice_macro", "half", "bce_prior", "half", "macro"][1] > 0,
)
claim(
    "and 9.4 points of micro F1",
    {"9.4": of_pair["dice_macro", "half", "bce_prior", "half", "micro"][0]},
    of_pair["dice_macro", "half", "bce_prior", "half", "micro"][1] > 0,
)
claim(
    "half a point ahead of cross entropy",
    abs(of_pair["dice_micro", "one", "bce_prior", "one", "micro"][0] - 0.5) < 0.1,
    of_pair["dice_micro", "one", "bce_prior", "one", "micro"][1] > 0,
)
claim(
    "Macro dice, decided in the same way, is 0.2 points lower, and the interval includes zero",
    {"0.2": -of_pair["dice_macro", "each", "bce_prior", "each", "macro"][0]},
    of_pair["dice_macro", "each", "bce_prior", "each", "macro"][1] < 0,
    of_pair["dice_macro", "each", "bce_prior", "each", "macro"][2] > 0,
)
claim(
    "Macro dice at one half is 1.4 points of macro F1 lower than cross entropy with its tuned thresholds",
    {"1.4": -of_pair["dice_macro", "half", "bce_prior", "each", "macro"][0]},
)
claim(
    "Thresholds of their own cost cross entropy 5.7 points of micro F1",
    {"5.7": of_pair["bce_prior", "one", "bce_prior", "each", "micro"][0]},
)
claim(
    "shrinking gains 2.8 points of micro F1",
    {"2.8": of_pair["bce_prior", "shrunk", "bce_prior", "each", "micro"][0]},
)
claim(
    "and costs half a point of macro F1",
    abs(of_pair["bce_prior", "shrunk", "bce_prior", "each", "macro"][0] + 0.5) < 0.1,
)
claim(
    "For cross entropy we cannot distinguish it from a tuned one",
    of_pair["bce_prior", "plug_in", "bce_prior", "each", "macro"][1] < 0,
    of_pair["bce_prior", "plug_in", "bce_prior", "each", "macro"][2] > 0,
)
claim(
    "the interval of their difference excludes more than 0.6 points",
    {"0.6": max(map(abs, of_pair["dice_macro", "each", "bce_prior", "each", "macro"]))},
)
claim(
    "is the best of the table",
    best["micro"].max().idxmax() == "one threshold",
    best["micro", "one threshold"].idxmax() == "dice, micro",
)
claim(
    "With a threshold for each label cross entropy has the best macro F1 of the table",
    best["macro"].max().idxmax() == "one a label",
    best["macro", "one a label"].idxmax() == "cross entropy, prior",
)
claim(
    "macro dice has a far better macro F1 than cross entropy",
    of_pair["dice_macro", "half", "bce_prior", "half", "macro"][1] > 5,
)
far = max(abs(v) for v in of_pair["dice_macro", "each", "bce_prior", "each", "macro"])
claim("the two lie within a point of macro F1", far < 1)
start = [r for r in of_draws if r["parameters"]["loss"] == "bce_prior"]
positives = np.mean([r["metrics"]["positives"]["tune"] for r in start], axis=0)
few = pd.Series(positives, start[0]["metrics"]["labels"]).nsmallest(4)
claim(
    "Grief has seven positives to tune on, pride ten, relief and nervousness about fifteen",
    list(few.index) == ["grief", "pride", "relief", "nervousness"],
    list(few.round()) in ([7, 10, 14, 15], [7, 10, 14, 16]),
)


def of_few(way):
    at = np.isin(start[0]["metrics"]["labels"], few.index)
    return np.array([np.mean(np.array(r["metrics"][way]["each"])[at]) for r in start])


of_macro = [r["metrics"] for r in of_draws if r["parameters"]["loss"] == "dice_macro"]
claim(
    "at one half, the F1 of macro dice on grief, pride, relief and nervousness is 0",
    all(
        f1 == 0
        for metrics in of_macro
        for label, f1 in zip(metrics["labels"], metrics["half"]["each"], strict=True)
        if label in few.index
    ),
)
own, drawn = (runs.interval(of_few("each") - of_few(way)) for way in ("one", "shrunk"))
claim(
    "serve these four better than the common one, by 2.0 points of F1. Shrinking them towards the common one takes 1.2 points",
    {"2.0": own.mean, "1.2": drawn.mean},
    own.low > 0,
    drawn.low > 0,
)
lost = {
    name: runs.interval((real["macro", "one a label"] - real["macro", "plug-in"])[name])
    for name in ARMS.values()
}
of_focal = lost["focal"]
claim("it loses 8.1 points", {"8.1": of_focal.mean}, of_focal.low > 0)
claim(
    "for weights and adjusted logits 3.2 each",
    {"3.2": lost["weighted"].mean},
    {"3.2": lost["logit adjustment"].mean},
    min(lost["weighted"].low, lost["logit adjustment"].low) > 0,
)
of_dice = [lost[name] for name in ("dice, micro", "dice, macro")]
claim(
    "For dice the interval excludes a loss of more than 0.3 points",
    {"0.3": max(one.high for one in of_dice)},
    max(one.low for one in of_dice) < 0,
)
added = real["macro", "one a label"] - real["macro", "one half"]
claim(
    "a threshold for each label still adds 9.0 points of macro F1",
    {"9.0": added["cross entropy"].mean()},
)
begun = real["macro", "one half"]
begun = runs.interval(begun["cross entropy, prior"] - begun["cross entropy"])
claim(
    "The start at the prior alone is worth 1.0 point",
    {"1.0": begun.mean},
    begun.low > 0,
)
claim(
    "but it is 4.8 points of micro F1 higher",
    {"4.8": of_pair["dice_macro", "half", "bce_prior", "each", "micro"][0]},
)
said = np.mean([r["metrics"]["each"]["said"] for r in start])
claim(
    "about ten thousand, while the test comments have 6,329",
    9_900 < said < 10_100,
    {"6,329": sum(start[0]["metrics"]["positives"]["test"])},
)

# %% All layers
claim("Three draws with every layer of MiniLM trained", deep.groupby("loss").size().eq(3).all())
own = deep["macro", "one a label"].unstack("draw")
claim(
    "gives no label at one half in any draw",
    deep.loc["cross entropy"]["micro", "one half"].max() == 0,
)
claim(
    "make 7.5 points of macro F1 of it; from the prior they make 34.9",
    {"7.5": own.loc["cross entropy"].mean(), "34.9": own.loc["cross entropy, prior"].mean()},
)
claim(
    "Weighted cross entropy, 25.7, and macro dice, 23.7, stay behind that in every draw",
    {"25.7": own.loc["weighted"].mean(), "23.7": own.loc["dice, macro"].mean()},
    (own.loc[["weighted", "dice, macro"]].max() < own.loc["cross entropy, prior"]).all(),
)
ranked = pd.Series(
    {
        (ARMS[r["parameters"]["loss"]], r["parameters"]["seed"]): r["metrics"]["ranking"][
            "average_precision"
        ]
        for r in all_layers
    }
).unstack()
claim(
    "and so does their average precision",
    (ranked.loc[["weighted", "dice, macro"]].max() < ranked.loc["cross entropy, prior"]).all(),
)
gap = of_all.loc["dice, macro"] - of_all.loc["cross entropy, prior"]
claim(
    "ahead by 2.1 points of micro F1 and behind by 0.8 of macro F1",
    {"2.1": gap["micro", "one half"], "0.8": -gap["macro", "one half"]},
)
claim("dice is behind where all layers are", gap["macro", "one a label"] < -5)

# %% 21.9
if embedded:
    claim("With the wrong one the answer is read off the padding", right < 1e-3 < wrong)
    claim("`score` is a linear layer without one", bias is None)
near_five = torch.tensor([5.0, 5.0 + 2**-5], dtype=torch.bfloat16)
claim(
    "two neighbouring logits of bf16 are 0.03 apart",
    {"0.03": (near_five[1] - near_five[0]).item()},
    (torch.tensor(5.0 + 2**-7).bfloat16() == 5.0).item(),
)
near_nine = torch.tensor([9.0, 9.0 + 2**-4], dtype=torch.bfloat16)
claim(
    "beyond −8 twice as far",
    (near_nine[1] - near_nine[0]).item() == 2 * (near_five[1] - near_five[0]).item(),
    (torch.tensor(9.0 + 2**-6).bfloat16() == 9.0).item(),
)
claim("with $B$ starting at zero", same < 1e-5)
