# The checks of 05_tversky.py: each cell runs at the end of the section that it names.

from dicebook import make_loss
from dicebook.losses import equations
from dicelab.claims import claim

# %% 5.1
counts = [torch.tensor(float(len(s))) for s in (said & gold, said - gold, gold - said)]
in_said, in_gold = (torch.tensor([float(i in s) for i in range(24)]) for s in (said, gold))
for name, (a, b) in prices.items():
    library = equations.tversky_index(*counts, gamma=0.0, alpha=a, beta=b)
    loss = make_loss("binary_eq9", fp_weight=a, fn_weight=b)(80 * in_said - 40, in_gold)
    torch.testing.assert_close(library, torch.tensor(index_of[name]))
    torch.testing.assert_close(1 - loss, torch.tensor(index_of[name]))

# %% 5.2
TP, FP, FN = sp.symbols("TP FP FN", positive=True)
b, c, alpha, beta = sp.symbols("b c alpha beta", positive=True)
precision, recall = TP / (TP + FP), TP / (TP + FN)
F = (1 + b**2) * precision * recall / (b**2 * precision + recall)
TI = TP / (TP + alpha * FP + beta * FN)
in_counts = (1 + b**2) * TP / ((1 + b**2) * TP + FP + b**2 * FN)
of_b = {alpha: 1 / (1 + b**2), beta: b**2 / (1 + b**2)}
assert sp.simplify(F - in_counts) == sp.simplify(in_counts - TI.subs(of_b)) == 0
scaled = TI.subs({alpha: c * alpha, beta: c * beta}, simultaneous=True)
assert sp.simplify((1 / scaled - 1) / (1 / TI - 1)) == c
claim(
    "a false positive costs 0.2 and a false negative costs 0.8",
    {"0.2": rows["F2"]["α"]},
    {"0.8": rows["F2"]["β"]},
)

# %% 5.3
eta, T, alpha, beta = sp.symbols("eta T alpha beta", positive=True)
TP, FP, FN = sp.symbols("TP FP FN", positive=True)
TI = TP / (TP + alpha * FP + beta * FN)
gain = (sp.diff(TI, TP) - sp.diff(TI, FN)) * eta + sp.diff(TI, FP) * (1 - eta)
gain = gain.subs(FN, sp.solve(sp.Eq(TI, T), FN)[0])  # T is the index itself
(general,) = sp.solve(gain, eta)
assert sp.simplify(general - alpha * T / (1 - T + alpha * T + beta * T)) == 0
assert sp.simplify(general.subs(beta, 1 - alpha) - alpha * T) == 0
claim(
    "The last two columns agree to the third digit, over a wide range of thresholds",
    max(abs(row[2] - row[3]) for row in found) < 5e-4,
    found[0][2] < 0.05 < 0.6 < found[-1][2],
)

# %% 5.4
p, alpha, beta, gamma = sp.symbols("p alpha beta gamma", positive=True)
below = p + beta * (1 - p) + gamma
printed = {
    1: (beta * (1 - p) / below, -beta * (1 + gamma) / below**2),
    0: (alpha * p / (alpha * p + gamma), alpha * gamma / (alpha * p + gamma) ** 2),
}
for label, (loss, slope) in printed.items():
    assert sp.simplify(tversky_loss(p, label, alpha, beta, gamma) - loss) == 0
    assert sp.simplify(sp.diff(loss, p) - slope) == 0
assert printed[1][0].subs(p, 0) == beta / (beta + gamma)
assert printed[0][0].subs(p, 1) == alpha / (alpha + gamma)
ratio = cost_ratio(alpha, beta, gamma)
claim("As γ vanishes, the ratio goes to 1", sp.limit(ratio, gamma, 0) == 1,
      sp.simplify(sp.limit(ratio, gamma, sp.oo) - beta / alpha) == 0)  # fmt: skip
claim("5.21 with the usual γ = 1", {"5.21": delivered[1]})

# %% 5.5
logit = 3 * torch.randn(1000, generator=generator)
ours = {
    "example": tversky_loss(logit.sigmoid(), y, 0.3, 0.7).mean(),
    "set": tversky_loss_set(logit.sigmoid(), y, 0.3, 0.7),
}
for level, value in ours.items():
    theirs = BinaryTverskyLoss(squared=False, fp_weight=0.3, fn_weight=0.7, level=level)(logit, y)
    torch.testing.assert_close(theirs, value)

# %% 5.6
p, gamma = sp.symbols("p gamma", positive=True)
s, y = sp.symbols("s y", real=True)
half = sp.Rational(1, 2)
tversky = tversky_loss(p, y, half, half, gamma)
linear = 1 - (2 * p * y + s) / (p + y + s)  # Eq. 6
squared = 1 - (2 * p * y + s) / (p**2 + y**2 + s)  # Eq. 7
match = sp.solve((tversky - squared).subs({y: 0, p: 1}), s)[0]
left = sp.factor((tversky - squared).subs({y: 0, s: match}))
claim(
    "Tversky loss with α = β = 0.5 and smoothing γ is the linear dice of Eq. 6 with smoothing 2γ",
    all(sp.simplify((tversky - linear).subs({y: k, s: 2 * gamma})) == 0 for k in (0, 1)),
    left != 0,
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
    "F1 is highest in the middle, where the loss is dice, about the best F1 that is possible",
    abs(order[:, 2].max() - found[2][1]) < 0.01,
    weights[order[:, 2].argmax()] == 0.5,
)
claim("α = 0.2 already reaches the best F1, at 0.35 some runs end with no prediction at all",
      max(weights, key=lambda a: means["example", a][2]) == 0.2,
      0 < (scores["example", 0.35][:, 2] == 0).sum() < 5)  # fmt: skip
claim(
    "an error rate of 0.050, and the best classifier has one of 0.040",
    {"0.050": 0.05, "0.040": (fp + fn).min()},
)
