# The checks of 05_tversky.py: each cell runs at the end of the section that it names.

from dicebook import BinaryDiceLoss
from dicelab.claims import claim

# %% 5.1
claim("precision, 3/6", index_of["precision"] == 3 / 6)
claim("recall, 3/4", index_of["recall"] == 3 / 4)
claim("0.5 and 0.5 give dice, 0.6, in between", {"0.6": index_of["dice"]})

# %% 5.2
assert ratio == c
claim(
    "a false positive costs 0.2 and a false negative 0.8",
    {"0.2": rows["F2"]["alpha"]},
    {"0.8": rows["F2"]["beta"]},
)
claim("b = 2 means a price ratio of 4", {"4": rows["F2"]["beta"] / rows["F2"]["alpha"]})

# %% 5.3
claim(
    "The last two columns agree to the third digit, from a threshold of 0.04 to 0.68",
    max(abs(row[2] - row[3]) for row in found) < 5e-4,
    {"0.04": found[0][2], "0.68": found[-1][2]},
)
claim("The threshold never exceeds α", all(row[2] < row[0] for row in found))

# %% 5.4
claim(
    "5.21 with γ = 1, 1.8 with γ = 0.1",
    {"5.21": delivered[1], "1.8": delivered[0.1]},
)
claim(
    "Only a large γ gives the ratio that was set", delivered[10] > 0.9 * 9 > 0.6 * 9 > delivered[1]
)

# %% 5.6
match = sp.solve((tversky - squared).subs({y: 0, p: 1}), s)[0]
left = sp.factor((tversky - squared).subs({y: 0, s: match}))
x, target = torch.linspace(-4, 4, 9), torch.tensor([0.0, 1, 0, 1, 0, 1, 0, 1, 0])
rows = {}
for level in ("example", "set"):
    for form, square in (("linear", False), ("squared", True)):
        options = {"level": level, "squared": square}
        tl = BinaryTverskyLoss(fp_weight=0.5, fn_weight=0.5, smooth=1.0, **options)(x, target)
        dl = BinaryDiceLoss(smooth=2.0, **options)(x, target)
        torch.testing.assert_close(tl, dl)
        rows[level, form] = [tl.item(), dl.item()]
claim(
    "The library's squared Tversky has no such gap",
    abs(rows["set", "squared"][0] - rows["set", "squared"][1]) < 1e-12,
)
claim("the two differ everywhere between 0 and 1", sp.solve(sp.numer(left), p) in ([1], [0, 1]))
claim(
    "At α = β = 0.5 Eq. 10 is the **linear** dice of Eq. 6 with smoothing **2γ**, not the squared loss of Eq. 7",
    all(sp.simplify((tversky - linear).subs({y: k, s: 2 * gamma})) == 0 for k in (0, 1)),
    left != 0,
)
claim(
    "The library's squared Tversky is the squared dice, again with 2γ",
    all(abs(tl - dl) < 1e-12 for (_, form), (tl, dl) in rows.items() if form == "squared"),
)

# %% 5.7
means = {key: values.mean(0) for key, values in scores.items()}
order = torch.stack([means["set", a] for a in weights])
claim(
    "precision climbs from 0.19 to 0.82",
    {"0.19": order[0, 0], "0.82": order[-1, 0]},
    (order[:, 0].diff() > 0).all(),
)
claim(
    "recall falls from 0.87 to 0.15",
    {"0.87": order[0, 1], "0.15": order[-1, 1]},
    (order[:, 1].diff() < 0).all(),
)
claim(
    "highest in the middle, at 0.52, where the loss is dice",
    {"0.52": order[:, 2].max()},
    weights[order[:, 2].argmax()] == 0.5,
)
claim("The best possible F1 on these blobs is 0.518", {"0.518": found[2][1]})
claim("α = 0.2 already reaches the best F1, at 0.35 some runs end with no prediction at all",
      max(weights, key=lambda a: means["example", a][2]) == 0.2,
      0 < (scores["example", 0.35][:, 2] == 0).sum() < 5)  # fmt: skip
claim(
    "from 0.5 on *every* run does",
    all((scores["example", a] == 0).all() for a in weights if a >= 0.5),
)
claim(
    "α ≥ 0.5 predicts nothing", all((scores["example", a] == 0).all() for a in weights if a >= 0.5)
)
claim("The error rate can fall from 0.050 to 0.040", {"0.050": 0.05, "0.040": (fp + fn).min()})

# %% 5.8
claim(
    "At every price Tversky is ahead, and no interval holds 0",
    all(g.low > 0 for g in gains.values()),
)
claim(
    "by 0.03 to 0.07 of $F_b$",
    {"0.03": min(g.mean for g in gains.values()), "0.07": max(g.mean for g in gains.values())},
)
claim("by 0.03 to 0.07 of $F_b$ at four prices", all(g.low > 0 for g in gains.values()))
