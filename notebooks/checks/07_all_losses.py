# The checks of 07_all_losses.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 7.1
claim("the same value for p and 1 − p and is lowest at 0.5",
      abs(as_printed[0.1] - as_printed[0.9]) < 1e-12, as_printed.idxmin() == 0.5)  # fmt: skip

ours = {
    "cross entropy": make_loss("binary_ce", reduction="none"),
    "weighted cross entropy": make_loss(
        "binary_wce", weight=torch.tensor([1.0, 19.0]), reduction="none"
    ),
    "focal loss": make_loss("binary_fl", gamma=2.0, reduction="none"),
    "dice, Eq. 6": make_loss("binary_eq6", reduction="none"),
    "dice, Eq. 7": make_loss("binary_eq7", reduction="none"),
    "Tversky": make_loss("binary_eq10", fp_weight=0.3, fn_weight=0.7, reduction="none"),
    "DSC": make_loss("binary_eq12", reduction="none"),
}
inside = torch.linspace(0.1, 0.9, 9)
for name, pair in table2.items():
    for y, formula in zip((1.0, 0.0), pair, strict=True):
        x = torch.logit(inside).requires_grad_()
        loss = ours[name](x, torch.full_like(x, y))
        slope = torch.autograd.grad(loss.sum(), x)[0] / (inside * (1 - inside))
        for theirs, expression in ((loss, formula), (slope, sp.diff(formula, p))):
            expected = sp.lambdify(p, expression.subs(settings), "numpy")(inside.numpy())
            torch.testing.assert_close(theirs, torch.as_tensor(expected))

# %% 7.2
inside_p = torch.linspace(0.1, 0.9, 9)
steep = {n: [v for e in pair for v in at_ends(sp.diff(e, p))] for n, pair in table2.items()}
dices = ["dice, Eq. 6", "dice, Eq. 7", "Tversky", "DSC"]
claim(
    "The first three losses can cost any amount",
    [n for n, v in ends.items() if v[0] == sp.oo]
    == ["cross entropy", "weighted cross entropy", "focal loss"],
)
claim(
    "by 1/(1+γ) = 1/2 for dice",
    all(
        v[0] == sp.Rational(1, 2)
        for n, v in ends.items()
        if n in ("dice, Eq. 6", "dice, Eq. 7", "DSC")
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
    [n for n, v in steep.items() if v[0] == -sp.oo]
    == ["cross entropy", "weighted cross entropy", "focal loss"],
)
for name, pair in table2.items():
    inside = sp.lambdify(p, [sp.diff(e.subs(settings), p) for e in pair], "numpy")(inside_p.numpy())
    claim(
        "For 0 < p < 1 the left column is negative",
        name == "DSC" or bool((inside[0] < 0).all()),
    )
    claim(
        "the right column is positive",
        name == "DSC" or bool((inside[1] > 0).all()),
    )

# %% 7.3
dices = ["dice, Eq. 6", "dice, Eq. 7", "Tversky", "DSC"]
order_of = {n: [k for k, _ in v] for n, v in powers.items()}
claim("the gradient of cross entropy and focal loss tends to a constant; that of all dice losses is proportional to p",
      all(order_of[n][0] == (1 if n in dices else 0) for n in powers))  # fmt: skip
claim("like p with CE, linear dice, Tversky and DSC, like p² with squared dice, like p³ with focal loss",
      {n: v[1] for n, v in order_of.items()} == {"cross entropy": 1, "weighted cross entropy": 1, "focal loss": 3, "dice, Eq. 6": 1, "dice, Eq. 7": 2, "Tversky": 1, "DSC": 1})  # fmt: skip
at_rest = {name: float(place) for name, place in resting.items() if " " not in place}
claim("Cross entropy comes to rest at 0.05", {"0.05": at_rest["cross entropy"]})
claim("Focal loss rests at one quarter", abs(at_rest["focal loss"] - 0.25) < 0.005)
claim("squared dice at about half of the share", abs(at_rest["dice, Eq. 7"] - 0.025) < 0.0015)
claim("Cross entropy rests at the share of positives, and with balanced weights at 0.5",
      abs(at_rest["cross entropy"] - 0.05) < 1e-3, {"0.5": at_rest["weighted cross entropy"]})  # fmt: skip
claim(
    "Linear dice and Tversky at these prices rest only at $p = 0$",
    at_rest["dice, Eq. 6"] == at_rest["Tversky"] == 0,
)
claim("For DSC the start decides", resting["DSC"] == "0 or 1")
claim("Self-adjusting dice with α = 1 goes to one of the two ends", resting["DSC"] == "0 or 1")

# %% 7.4
mean_of = {key: value[0] for key, value in f1.items()}
every = [mean_of[n, b] for n in ("cross entropy", "focal loss, f = 2") for b in biases]
claim("*CE and focal* end at 0.45 wherever they start, weighted CE at 0.35",
      max(every) - min(every) < 0.015, {"0.45": sum(every) / 6, "0.35": mean_of["weighted cross entropy, 19", 0.0]})  # fmt: skip
lively = [
    "dice linear, set",
    "dice squared, set",
    "Tversky α = 0.3, β = 0.7, set",
    "DSC α = 0.1, set",
    "DSC α = 0.01, set",
]
every = [mean_of[n, b] for n in lively for b in biases]
claim("ahead of cross entropy, from all three starts; near cross entropy with a tuned threshold",
      min(every) > max(mean_of["cross entropy", b] for b in biases) + 0.02,
      all(abs(v - tuned["cross entropy", -3.0][0]) < 0.03 for v in every))  # fmt: skip
claim("Linear dice and Tversky loss end at 0 from everywhere",
      all(mean_of[n, b] == 0 for n in ("dice linear, example", "Tversky 0.5, 0.5, example") for b in biases))  # fmt: skip
squared_example = [mean_of["dice squared, example", b] for b in biases]
claim("Squared dice stays below cross entropy",
      all(v < mean_of["cross entropy", b] for v, b in zip(squared_example, biases, strict=True)))  # fmt: skip
claim(
    "from 2 most of its seeds end at 0",
    sum(r["f1"] == 0 for r in results["dice squared, example", 2.0]) >= 3,
)
turned = [mean_of["DSC α = 1, set", b] for b in biases]
claim(
    "depends on the start, and is below cross entropy from every start",
    turned[1] < turned[2] < turned[0],
    all(v < mean_of["cross entropy", b] for v, b in zip(turned, biases, strict=True)),
)
u, v = imbalanced_blobs(2000, seed=0)
moved = {
    (name, bias): train_logistic(contest[name], u, v, bias=bias, steps=150)
    for name in ("DSC α = 1, example", "DSC α = 1, set", "dice linear, example")
    for bias in (-3.0, 0.0)
}
moved = {key: float(fit.weight.abs().max() + abs(fit.bias - key[1])) for key, fit in moved.items()}
claim(
    "Two rows of DSC with α = 1 did not move at all: from 0",
    [key for key, size in moved.items() if size < 1e-6]
    == [("DSC α = 1, example", 0.0), ("DSC α = 1, set", 0.0)],
    all(collapsed[name, "+0"] == ["0%"] for name in ("DSC α = 1, example", "DSC α = 1, set")),
)
compared = list(rows)
claim(
    "With a tuned threshold the losses all reach nearly the same F1, a little above one half",
    min(tuned[n, -3.0][0] for n in compared) > 0.495,
    max(tuned[n, -3.0][0] for n in compared) < 0.525,
)


def seedwise(name, key, other="cross entropy", other_key="tuned"):
    pairs = zip(results[name, -3.0], results[other, -3.0], strict=True)
    return interval([one[key] - two[other_key] for one, two in pairs])


claim(
    "cross entropy loses 0.05 and weighted cross entropy 0.15",
    {
        "0.05": -seedwise("cross entropy", "f1").mean,
        "0.15": -seedwise("weighted cross entropy, 19", "f1").mean,
    },
)
claim(
    "are not distinguishable from tuned cross entropy",
    all(seedwise(n, "f1").low < 0 < seedwise(n, "f1").high for n in compared[3:]),
)
claim(
    "every interval includes 0",
    all(seedwise(n, "tuned").low < 0 < seedwise(n, "tuned").high for n in compared[1:]),
)
gap = seedwise("DSC α = 0.1, set", "f1", "dice linear, set", "f1")
claim("DSC with a small α is not distinguishable from linear dice", gap.low < 0 < gap.high)
claim(
    "the set level works from every start if the turning point is respected",
    min(mean_of[n, b] for n in lively for b in biases) > 0.45,
)
claim(
    "the example level collapses for linear dice, TL at 0.5 and DSC",
    all(
        mean_of[n, b] < 0.11
        for n in ("dice linear, example", "Tversky 0.5, 0.5, example", "DSC α = 1, example")
        for b in biases
    ),
)
claim(
    "Cross entropy with a tuned threshold is in the same range as the best of them here",
    max(tuned[n, -3.0][0] for n in compared) - tuned["cross entropy", -3.0][0] < 0.03,
)

# %% A model that cannot be right
means = {name: torch.tensor(runs).mean(0).tolist() for name, runs in elsewhere.items()}
claim(
    "linear dice reaches 0.41 where cross entropy has 0.34",
    {"0.41": means["dice linear, set"][1], "0.34": means["cross entropy"][1]},
)
claim("weighted cross entropy comes close to linear dice",
      means["weighted cross entropy, 19"][1] > means["dice linear, set"][1] - 0.03)  # fmt: skip
claim(
    "The intervals of all three exclude 0",
    all(
        ahead[n].low > 0
        for n in ("dice linear, set", "dice squared, set", "weighted cross entropy, 19")
    ),
)
claim(
    "Linear dice and weighted cross entropy call nearly all far negatives positive",
    all(means[n][2] > 0.97 for n in ("dice linear, set", "weighted cross entropy, 19")),
)
claim(
    "cross entropy calls two thirds of them positive", abs(means["cross entropy"][2] - 2 / 3) < 0.06
)
claim(
    "tuned too, linear dice and weighted cross entropy are ahead of cross entropy",
    ahead["dice linear, set"].low > 0,
    ahead["weighted cross entropy, 19"].low > 0,
)

# %% 7.5
claim("every O word ends as O although O has no term", shares_of_O["keep"] == 1)
claim("most O words end in a class that the batch lacks", shares_of_O["skip"] < 0.5)
for classes in ([0, 1, 2], [1, 2]):
    theirs = dicebook.DiceLoss(squared=False, classes=classes)(logits, labels)
    value = macro_dice(logits, labels, classes)
    torch.testing.assert_close(theirs, value)
    torch.testing.assert_close(*(torch.autograd.grad(v, logits)[0] for v in (theirs, value)))

# %% Why linear denominators can find nothing
n, G = sp.symbols("n G", positive=True)
of_class = {
    "linear": 1 - (2 * G * p + g) / (n * p + G + g),
    "squared": 1 - (2 * G * p + g) / (n * p**2 + G + g),
}
at_zero = {"linear": (n * g - 2 * G * (G + g)) / (G + g) ** 2, "squared": -2 * G / (G + g)}
for form, loss in of_class.items():
    assert sp.simplify(sp.diff(loss, p).subs(p, 0) - at_zero[form]) == 0
slope_at = {a: float(at_zero["linear"].subs({n: 600, g: 1, G: a})) for a in (16, 17)}
claim(
    "must have 17 gold tokens of a class before the class's own term raises p",
    slope_at[16] > 0 > slope_at[17],
)
claim("goes to 0 if the batch has up to 16 gold tokens, and to 1 from 17 on",
      (where.linear[:3] < 0.001).all(), (where.linear[3:] > 0.99).all())  # fmt: skip
claim("With squares it settles in between", ((where.squared > 0.01) & (where.squared < 0.9)).all())
claim(
    "the mean of three seeds, and their range", all(len(seeds) == 3 for seeds in of_seeds.values())
)
f1_of = {name: seeds["f1"] for name, seeds in of_seeds.items()}
small, squares = f1_of["linear dice, γ = 0.0001"], f1_of["squared dice, γ = 1"]
claim("Linear dice finds nothing, with any seed", f1_of["linear dice, γ = 1"].max() == 0)
claim(
    "we changed γ to 0.0001, and nothing else; it finds about as much as the squared form",
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
    lost["f1"].iloc[0] > f1_of["cross entropy"].mean(),
)

# %% Linear or squared denominators?
means_of = {name: seeds["f1"].mean() for name, seeds in of_seeds.items()}
claim("the squared one has a mean F1 of 31.5", {"31.5": means_of["squared dice, γ = 1"]})
claim(
    "With a tiny γ it has a mean F1 of 29.3",
    {"29.3": means_of["linear dice, γ = 0.0001"]},
)
linear_gap, squared_gap = (ahead[f"dice {form}, set"] for form in ("linear", "squared"))
claim(
    "linear dice even gains a little more than squared dice over tuned cross entropy",
    0 < linear_gap.mean - squared_gap.mean < 0.03,
    linear_gap.low < squared_gap.high,
)

# %% Exercises
own, present, absent = terms_of["at all-O", "linear"]
start = [terms_of["at the start", form] for form in ("linear", "squared")]
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
