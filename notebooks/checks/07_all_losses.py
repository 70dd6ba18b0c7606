# The checks of 07_all_losses.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 7.1
claim("the same value for p and 1 − p and is lowest at 0.5",
      abs(as_printed[0.1] - as_printed[0.9]) < 1e-12, as_printed.idxmin() == 0.5)  # fmt: skip

ours = {
    "cross entropy": make_loss("binary_ce", reduction="none"),
    "weighted cross entropy": make_loss("binary_wce", weight=[1.0, 19.0], reduction="none"),
    "focal loss": make_loss("binary_fl", gamma=2.0, reduction="none"),
    "dice, Eq. 6": make_loss("binary_eq6", reduction="none"),
    "dice, Eq. 7": make_loss("binary_eq7", reduction="none"),
    "Tversky": make_loss("binary_eq10", fp_weight=0.3, fn_weight=0.7, reduction="none"),
    "DSC": make_loss("binary_eq12", reduction="none"),
}
inside = torch.linspace(0.1, 0.9, 9)
for name, pair in table2.items():
    for y, formula in zip((1.0, 0.0), pair, strict=True):
        loss = ours[name](torch.logit(inside), torch.full_like(inside, y))
        expected = sp.lambdify(p, formula.subs(settings), "numpy")(inside.numpy())
        torch.testing.assert_close(loss, torch.as_tensor(expected))

# %% 7.2
steep = {n: [v for e in pair for v in at_ends(sp.diff(e, p))] for n, pair in table2.items()}
claim(
    "A positive at p → 0 meets a slope of −∞ in CE, WCE and FL and a finite one in all the others",
    [n for n, v in steep.items() if v[0] == -sp.oo]
    == ["cross entropy", "weighted cross entropy", "focal loss"],
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
claim(
    "Linear dice and Tversky at these prices rest only at $p = 0$",
    at_rest["dice, Eq. 6"] == at_rest["Tversky"] == 0,
)

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
claim(
    "the example level collapses for linear dice, TL at 0.5 and DSC",
    all(
        mean_of[n, b] < 0.11
        for n in ("dice linear, example", "Tversky 0.5, 0.5, example", "DSC α = 1, example")
        for b in biases
    ),
)

# %% 7.5
claim("every O word ends as O although O has no term", shares_of_O["keep"] == 1)

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
f1_of = {name: seeds["f1"] for name, seeds in of_seeds.items()}
small, squares = f1_of["linear dice, γ = 0.0001"], f1_of["squared dice, γ = 1"]
claim("Linear dice finds nothing, with any seed", f1_of["linear dice, γ = 1"].max() == 0)
claim(
    "we changed γ to 0.0001, and nothing else; it finds about as much as the squared form",
    abs(small.mean() - squares.mean()) < 3,
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

# %% Exercises
own, present, absent = terms_of["at all-O", "linear"]
claim(
    "The other classes' terms hold the model at `O`, those of absent classes most of all",
    150 < (present + absent) / own < 250,
    absent > present > 0,
)
