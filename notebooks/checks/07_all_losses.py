# The checks of 07_all_losses.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 7.1
claim("the same value for p and 1 − p and is lowest at 0.5",
      abs(as_printed[0.1] - as_printed[0.9]) < 1e-12, as_printed.idxmin() == 0.5)  # fmt: skip

# %% 7.2
steep = {n: [v for e in pair for v in at_ends(sp.diff(e, p))] for n, pair in table2.items()}
dices = ["DL, Eq. 6", "DL, Eq. 7", "TL", "DSC"]
claim(
    "The first three losses can cost any amount",
    [n for n, v in ends.items() if v[0] == sp.oo] == ["CE", "WCE", "FL"],
)
claim(
    "by 1/(1+γ) = 1/2 for dice",
    all(
        v[0] == sp.Rational(1, 2) for n, v in ends.items() if n in ("DL, Eq. 6", "DL, Eq. 7", "DSC")
    ),
)
claim(
    "All reach zero, except DSC with α = 1, which stops at 1/3",
    [n for n, v in ends.items() if v[2] > 0] == ["DSC"],
    abs(ends["DSC"][2] - 1 / 3) < 1e-3,
)
claim("its negative costs 0 at p = 1", ends["DSC"][4] == 0)
claim(
    "A positive at p → 0 meets a slope of −∞ in CE, WCE and FL and a finite one in all the others",
    [n for n, v in steep.items() if v[0] == -sp.oo] == ["CE", "WCE", "FL"],
)
for name, pair in table2.items():
    inside = sp.lambdify(p, [sp.diff(e.subs(settings), p) for e in pair], "numpy")(at.numpy())
    claim(
        "For 0 < p < 1 the left column is negative",
        name == "DSC" or bool((inside[0] < 0).all()),
    )
    claim(
        "the right column is positive",
        name == "DSC" or bool((inside[1] > 0).all()),
    )

# %% 7.3
dices = ["DL, Eq. 6", "DL, Eq. 7", "TL", "DSC"]
order_of = {n: [k for k, _ in v] for n, v in powers.items()}
claim("the gradient of cross entropy and focal loss tends to a constant; that of all dice losses is proportional to p",
      all(order_of[n][0] == (1 if n in dices else 0) for n in powers))  # fmt: skip
claim("like p with CE, linear dice, Tversky and DSC, like p² with squared dice, like p³ with focal loss",
      {n: v[1] for n, v in order_of.items()} == {"CE": 1, "WCE": 1, "FL": 3, "DL, Eq. 6": 1, "DL, Eq. 7": 2, "TL": 1, "DSC": 1})  # fmt: skip
at_rest = {name: float(place) for name, place in resting.items() if " " not in place}
claim("Cross entropy comes to rest at 0.05, focal loss at 0.25, squared dice at 0.026",
      {"0.05": at_rest["CE"], "0.25": at_rest["FL"], "0.026": at_rest["DL, Eq. 7"]})  # fmt: skip
claim("Cross entropy rests at the share of positives, weighted with 19 at 0.5",
      abs(at_rest["CE"] - 0.05) < 1e-3, {"0.5": at_rest["WCE"]})  # fmt: skip
claim(
    "linear dice and Tversky at these prices only at p = 0",
    at_rest["DL, Eq. 6"] == at_rest["TL"] == 0,
)
claim("For DSC the start decides", resting["DSC"] == "0 or 1")
claim("self-adjusting dice with α = 1 goes to 0 or to 1", resting["DSC"] == "0 or 1")

# %% 7.4
mean_of = {key: value[0] for key, value in f1.items()}
every = [mean_of[n, b] for n in ("CE", "FL, f=2") for b in biases]
claim("*CE and focal* end at 0.45 wherever they start, weighted CE at 0.35",
      max(every) - min(every) < 0.015, {"0.45": sum(every) / 6, "0.35": mean_of["WCE, weight 19", 0.0]})  # fmt: skip
lively = ["DL linear, set", "DL squared, set", "TL .3 .7, set", "DSC α=.1, set", "DSC α=.01, set"]
every = [mean_of[n, b] for n in lively for b in biases]
claim("reach 0.49 to 0.52 from all three starts", {"0.49": min(every), "0.52": max(every)})
claim("Linear dice and Tversky at 0.5 end at 0 from everywhere",
      all(mean_of[n, b] == 0 for n in ("DL linear, example", "TL .5 .5, example") for b in biases))  # fmt: skip
squared_example = [mean_of["DL squared, example", b] for b in biases]
claim(
    "Squared dice gets only 0.40 and 0.36", {"0.40": squared_example[0], "0.36": squared_example[1]}
)
claim(
    "from +2 most of its seeds end at 0",
    sum(r["f1"] == 0 for r in results["DL squared, example", 2.0]) >= 3,
)
turned = [mean_of["DSC α=1, set", b] for b in biases]
claim(
    "0.38 from −3, nothing from 0, 0.07 from +2",
    turned[1] == 0,
    {"0.38": turned[0], "0.07": turned[2]},
)
u, v = imbalanced_blobs(2000, seed=0)
moved = {
    (name, bias): train_logistic(contest[name], u, v, bias=bias, steps=150)
    for name in ("DSC α=1, example", "DSC α=1, set", "DL linear, example")
    for bias in (-3.0, 0.0)
}
moved = {key: float(fit.weight.abs().max() + abs(fit.bias - key[1])) for key, fit in moved.items()}
claim(
    "Two rows of DSC with α = 1 did not move at all: from 0",
    [key for key, size in moved.items() if size < 1e-6]
    == [("DSC α=1, example", 0.0), ("DSC α=1, set", 0.0)],
    all(collapsed[name, "+0"] == ["0%"] for name in ("DSC α=1, example", "DSC α=1, set")),
)
compared = list(rows)
claim(
    "With a tuned threshold all stand between 0.50 and 0.52",
    {
        "0.50": min(tuned[n, -3.0][0] for n in compared),
        "0.52": max(tuned[n, -3.0][0] for n in compared),
    },
)


def seedwise(name, key, other="CE", other_key="tuned"):
    pairs = zip(results[name, -3.0], results[other, -3.0], strict=True)
    return interval([one[key] - two[other_key] for one, two in pairs])


claim(
    "cross entropy loses 0.05 against tuned cross entropy, weighted cross entropy 0.15",
    {"0.05": -seedwise("CE", "f1").mean, "0.15": -seedwise("WCE, weight 19", "f1").mean},
)
claim(
    "stand about where tuned cross entropy does",
    all(seedwise(n, "f1").low < 0 < seedwise(n, "f1").high for n in compared[3:]),
)
claim(
    "no interval excludes zero",
    all(seedwise(n, "tuned").low < 0 < seedwise(n, "tuned").high for n in compared[1:]),
)
gap = seedwise("DSC α=.1, set", "f1", "DL linear, set", "f1")
claim("DSC with α = 0.1 is not distinguishable from linear dice", gap.low < 0 < gap.high)
claim(
    "the set level works from every start if the turning point is respected",
    min(mean_of[n, b] for n in lively for b in biases) > 0.45,
)
claim(
    "the example level collapses for linear dice, TL at 0.5 and DSC",
    all(
        mean_of[n, b] < 0.11
        for n in ("DL linear, example", "TL .5 .5, example", "DSC α=1, example")
        for b in biases
    ),
)
claim(
    "Cross entropy with a tuned threshold is in the same range as the best of them here",
    max(tuned[n, -3.0][0] for n in compared) - tuned["CE", -3.0][0] < 0.03,
)

# %% A model that cannot be right
means = {name: torch.tensor(runs).mean(0).tolist() for name, runs in elsewhere.items()}
claim(
    "linear dice reaches 0.41 where cross entropy has 0.34",
    {"0.41": means["DL linear, set"][1], "0.34": means["CE"][1]},
)
claim("squared dice 0.38", {"0.38": means["DL squared, set"][1]})
claim("weighted cross entropy 0.40", {"0.40": means["WCE, weight 19"][1]})
claim(
    "Those three intervals do not hold 0",
    all(ahead[n].low > 0 for n in ("DL linear, set", "DL squared, set", "WCE, weight 19")),
)
claim(
    "Linear dice and weighted cross entropy call nearly all far negatives positive",
    all(means[n][2] > 0.97 for n in ("DL linear, set", "WCE, weight 19")),
)
claim("cross entropy calls two thirds of them positive", abs(means["CE"][2] - 2 / 3) < 0.06)
claim(
    "tuned too, linear dice and weighted cross entropy are ahead of cross entropy",
    ahead["DL linear, set"].low > 0,
    ahead["WCE, weight 19"].low > 0,
)

# %% 7.5
claim("every O word ends as O although O has no term", shares_of_O["keep"] == 1)
claim("most O words end in a class that the batch lacks", shares_of_O["skip"] < 0.5)

# %% Why linear denominators can find nothing
slope_at = {a: float(at_zero["linear"].subs({n: 600, g: 1, G: a})) for a in (16, 17)}
claim(
    "must hold 17 gold tokens of a class before its own term raises p",
    slope_at[16] > 0 > slope_at[17],
)
claim("Linear, it ends at 0 up to 16 gold tokens and at 1 from 17 on",
      (where.linear[:3] < 0.001).all(), (where.linear[3:] > 0.99).all())  # fmt: skip
claim("squared, it ends between", ((where.squared > 0.01) & (where.squared < 0.9)).all())
claim(
    "the mean of three seeds, and their range", all(len(seeds) == 3 for seeds in of_seeds.values())
)
f1_of = {name: seeds["f1"] for name, seeds in of_seeds.items()}
small, squares = f1_of["linear dice, γ = .0001"], f1_of["squared dice, γ = 1"]
claim("Linear dice finds nothing, with any seed", f1_of["linear dice, γ = 1"].max() == 0)
claim(
    "with γ = 0.0001, and nothing else changed, it finds about as much as the squared form",
    abs(small.mean() - squares.mean()) < 3,
)
claim(
    "Both are ahead of cross entropy after the same number of steps",
    (small > f1_of["cross entropy"]).all(),
    (squares > f1_of["cross entropy"]).all(),
)
lost = of_seeds["linear dice, absent skipped, no O"].sort_values("accuracy").round(1)
claim(
    "One of its three seeds has an F1 of 25 with 2 tags in a hundred right",
    {"25": lost["f1"].iloc[0], "2": lost["accuracy"].iloc[0]},
    lost["accuracy"].iloc[1] > 90,
)

# %% Exercises
own, present, absent = terms_of["at all-O", "linear"]
start = [terms_of["at the start", form] for form in of_class]
assert all(min(t) > 0 and t[0] == max(t) for t in start)
assert own < start[0][0] / 20
claim(
    "The other classes' terms hold the model at `O`, those of absent classes most of all",
    150 < (present + absent) / own < 250,
    absent > present > 0,
)
own, present, absent = terms_of["at all-O", "squared"]
assert present < 0 < absent < -present
assert own + present + absent < 0
