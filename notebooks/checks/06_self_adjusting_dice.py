# The checks of 06_self_adjusting_dice.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 6.2
P, Y, g = sp.symbols("p y gamma", real=True)
eq6, eq12 = ((2 * v * Y + g) / (v + Y + g) for v in (P, (1 - P) * P))
assert sp.simplify(eq6.subs(P, (1 - P) * P) - eq12) == 0

generator = torch.Generator().manual_seed(0)
target = (torch.rand(500, generator=generator) < 0.1).double()
logit = 3 * torch.randn(500, generator=generator)
for a, (level, ours) in product((1.0, 0.1), (("example", dsc_loss), ("set", dsc_loss_set))):
    theirs = BinarySelfAdjustingDiceLoss(squared=False, alpha=a, level=level)(logit, target)
    torch.testing.assert_close(theirs, ours(logit.sigmoid(), target, a).mean())

# %% 6.3
P, Y, g = sp.symbols("p y gamma", real=True)
eq12 = (2 * (1 - P) * P * Y + g) / ((1 - P) * P + Y + g)
printed = {
    1: (2 + g) * (2 * P - 1) / (1 + P - P**2 + g) ** 2,
    0: -g * (2 * P - 1) / (P - P**2 + g) ** 2,
}
for label, slope in printed.items():
    assert sp.simplify(sp.diff(1 - eq12.subs(Y, label), P) - slope) == 0
claim("At $p = 0.9$ the derivative is 0.549", {"0.549": of_positive[0.9]})

# %% 6.4
claim("has the derivative −0.673: it moves *up*", {"−0.673": of_negative.derivative[0.9]})
up, down = arrivals.values()
claim("Every positive ends at 0.5", {"0.5": up.mean()}, up.max() - up.min() < 0.01)
claim(
    "those below go down to 0, and those above go up to 1",
    (down.round(2) == [0, 0, 0, 1, 1, 1]).all(),
)

# %% 6.5
ends = {n: [sp.limit(sp.diff(e, P), P, 1, "-") for e in pair] for n, pair in formulas.items()}
claim("it crosses zero, and climbs; DSC does the opposite for a negative",
      ends["DSC"] == [sp.Rational(3, 4), -1])  # fmt: skip
for name, pair in formulas.items():
    slopes = [sp.lambdify(P, sp.diff(e, P), "numpy")(grid.numpy()) for e in pair]
    wrong = bool((slopes[0] > 0).any() or (slopes[1] < 0).any())
    claim("it is the only loss that ever is", wrong == (name == "DSC"))

# %% 6.6
above_0 = sp.Symbol("alpha", positive=True)
of_q = (1 - P) ** above_0 * P
printed = (1 - P) ** (above_0 - 1) * (1 - (1 + above_0) * P)
for share in (0.1, 0.5, 0.95):
    at_share = {P: share, above_0: 0.3}
    assert abs((sp.diff(of_q, P) - printed).subs(at_share)) < 1e-12
claim("The positives stop where the formula says",
      float((floors["1/(1+α)"] - floors["stops at"]).abs().max()) < 1e-3)  # fmt: skip
claim("$(1 - p)^{0.01}$ is above 0.95 for all $p < 0.99$", 0.01**0.01 > 0.95)

# %% 6.7
U, V, qi = sp.symbols("U V q_i", positive=True)
for label, slope in ((1, -2 * (V - U) / (V + qi) ** 2), (0, 2 * U / (V + qi) ** 2)):
    assert sp.simplify(sp.diff(1 - 2 * (U + qi * label) / (V + qi), qi) - slope) == 0
claim(
    "All seventy runs fall on the predicted side",
    f1.numel() == 70,
    f1[below].min() > 0.4,
    f1[~below].max() < 0.1,
)

# %% 6.8
linear, adjusted = (gradients[name] for name in ("Eq. 6, linear dice", "Eq. 12, DSC"))
claim("the factor took two percent off", round(1 - adjusted[0] / linear[0], 2) == 0.02)  # fmt: skip
ratios = {}
for level in ("example", "set"):
    x = torch.logit(torch.tensor([0.01, 0.9, 0.5])).requires_grad_()
    BinaryDiceLoss(squared=False, level=level)(x, torch.tensor([0.0, 0, 1])).backward()
    ratios[level] = (x.grad[0] / x.grad[1]).item()
claim(
    "is 0.39 of that at $p = 0.9$. On a set this ratio is only 0.11",
    {"0.39": ratios["example"], "0.11": ratios["set"]},
    ratios["set"] < ratios["example"],
)
claim("90 easy negatives outweigh one positive", {"90": gradients["cross entropy"][4]})
claim("with linear dice six, and with DSC five", round(linear[4]) == 6, round(adjusted[4]) == 5)
claim("With squared dice hundreds, and with focal loss hundreds of thousands",
      200 < gradients["Eq. 7, squared dice"][4] < 1000, gradients["focal loss, f = 2"][4] > 2e5)  # fmt: skip

# %% 6.9
middle, start = medians.loc["0.5"], medians.loc["-3"]
claim(
    "the easy negatives end at 0.00 and the easy positives at 0.76",
    {"0.00": middle.loc["cross entropy", "easy −"], "0.76": middle.loc["cross entropy", "easy +"]},
    middle.loc["cross entropy", "hard −"] > middle.loc["cross entropy", "hard +"],
)
focal, turned = middle.loc["focal loss, f = 2"], middle.loc["DSC, set level, α = 1"]
claim(
    "Focal loss stops earlier, at 0.07 and 0.60", {"0.07": focal["easy −"], "0.60": focal["easy +"]}
)
claim(
    "its easy negatives highest and its easy positives lowest. From −3 it learns",
    (turned.idxmax(), turned.idxmin()) == ("easy −", "easy +"),
    start.loc["DSC, set level, α = 1", "easy +"] > 0.5,
)
