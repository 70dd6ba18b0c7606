# The checks of 21_many_labels.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 21 Many labels, most of them rare
claim(
    "77 of 43,410 show grief: 563 negatives a positive",
    {"77": of_label["grief"], "43,410": comments, "563": comments / of_label["grief"] - 1},
)
claim("a third of the comments are neutral", abs(of_label["neutral"] / comments - 1 / 3) < 0.01)
claim(
    "Five of the 28 labels (orange) stand on fewer than one comment in a hundred",
    int((of_label < comments / 100).sum()) == 5,
    len(of_label) == 28,
    434 < comments / 100 < 435,
)

# %% 21.3
claim(
    "after ten steps it gives hardly any label",
    early[10]["labels given"] < 0.2 * early["in the gold"]["labels given"],
)
claim(
    "in these few steps it does not",
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
    "passes weights and logit adjustment; macro dice stays ahead",
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
def shown(arm, way, over, other, metric, printed, sign=1):
    """The printed mean and ends of a difference, with what was recorded."""
    values = sorted(sign * v for v in of_pair[arm, way, over, other, metric][1:])
    values.insert(0, sign * of_pair[arm, way, over, other, metric][0])
    return dict(zip(printed, values, strict=True))


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
    "macro dice is 8.2 [7.4, 9.0] points of macro F1 ahead of cross entropy with a prior start",
    shown("dice_macro", "half", "bce_prior", "half", "macro", ["8.2", "7.4", "9.0"]),
)
claim(
    "and 9.4 [8.5, 10.4] of micro F1, with nothing tuned",
    shown("dice_macro", "half", "bce_prior", "half", "micro", ["9.4", "8.5", "10.4"]),
)
claim(
    "with one threshold, is the best of the table, 0.5 [0.3, 0.8] ahead of cross entropy",
    shown("dice_micro", "one", "bce_prior", "one", "micro", ["0.5", "0.3", "0.8"]),
)
claim(
    "Macro dice decided alike is −0.2 [−0.6, 0.3] from it",
    shown("dice_macro", "each", "bce_prior", "each", "macro", ["−0.2", "−0.6", "0.3"]),
)
claim(
    "At one half macro dice is 1.4 [0.8, 2.0] behind it",
    shown("dice_macro", "half", "bce_prior", "each", "macro", ["1.4", "0.8", "2.0"], -1),
)
claim(
    "Those thresholds cost cross entropy 5.7 [5.0, 6.5] points of micro F1 against one for all",
    shown("bce_prior", "one", "bce_prior", "each", "micro", ["5.7", "5.0", "6.5"]),
)
claim(
    "Shrinking buys micro F1, 2.8 [2.3, 3.4] points",
    shown("bce_prior", "shrunk", "bce_prior", "each", "micro", ["2.8", "2.3", "3.4"]),
)
claim(
    "points for 0.5 [0.1, 0.8] of macro F1",
    shown("bce_prior", "shrunk", "bce_prior", "each", "macro", ["0.5", "0.1", "0.8"], -1),
)
claim(
    "The plug-in threshold is −0.2 [−0.7, 0.4] from a tuned one for cross entropy",
    shown("bce_prior", "plug_in", "bce_prior", "each", "macro", ["−0.2", "−0.7", "0.4"]),
)
claim(
    "no difference larger than 0.6 was seen",
    {"0.6": max(map(abs, of_pair["dice_macro", "each", "bce_prior", "each", "macro"]))},
)
claim(
    "no difference larger than 0.6 points was seen",
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
    "At one half macro dice finds far more of them than cross entropy",
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


own, drawn = (runs.interval(of_few("each") - of_few(way)) for way in ("one", "shrunk"))
claim(
    "serve these four better than that of all, by 2.0 points of F1 [0.8, 3.3] over draws; shrinking takes 1.2 [0.1, 2.4]",
    {"2.0": own.mean, "0.8": own.low, "3.3": own.high},
    {"1.2": drawn.mean, "0.1": drawn.low, "2.4": drawn.high},
)
lost = {
    name: runs.interval((real["macro", "one a label"] - real["macro", "plug-in"])[name])
    for name in ARMS.values()
}
of_focal = lost["focal"]
claim(
    "it loses 8.1 [5.7, 10.5]", {"8.1": of_focal.mean, "5.7": of_focal.low, "10.5": of_focal.high}
)
claim(
    "for weights and adjusted logits 3.2 each",
    {"3.2": lost["weighted"].mean},
    {"3.2": lost["logit adjustment"].mean},
    min(lost["weighted"].low, lost["logit adjustment"].low) > 0,
)
of_dice = [lost[name] for name in ("dice, micro", "dice, macro")]
claim(
    "For dice no loss larger than 0.3 was seen",
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
    "The prior start alone adds 1.0 [0.6, 1.5]",
    {"1.0": begun.mean, "0.6": begun.low, "1.5": begun.high},
)
claim(
    "4.8 [4.1, 5.6] of micro F1 ahead",
    shown("dice_macro", "half", "bce_prior", "each", "micro", ["4.8", "4.1", "5.6"]),
)
said = np.mean([r["metrics"]["each"]["said"] for r in start])
claim(
    "they give ten thousand labels where 6,329 are right",
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

# %% 21.8
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
