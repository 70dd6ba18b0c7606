# The checks of 06_self_adjusting_dice.py: each cell runs at the end of the section that it names.

from dicebook import make_loss
from dicebook.losses import equations
from dicelab.claims import claim

# %% 6.1
said = (p > 0.5).double()
library = equations.dice_coefficient(said * y, said, y, gamma=0.0)
torch.testing.assert_close(library, found.nan_to_num(1.0))
free = torch.tensor([0.01, 0.5, 0.9], requires_grad=True)
none = torch.zeros(3)
slopes = {}
for gamma in (0.0, 1.0):
    score = (2 * free * none + gamma) / (free + none + gamma)  # Eqs. 5 and 6
    (slopes[gamma],) = torch.autograd.grad(score.sum(), free)
claim(
    "the score of a negative is 0 for every $p$, so it has no gradient at all",
    bool((slopes[0.0] == 0).all()),
    bool((slopes[1.0] < 0).all()),
)

# %% 6.2
P, Y, g = sp.symbols("p y gamma", real=True)
eq6, eq12 = ((2 * v * Y + g) / (v + Y + g) for v in (P, (1 - P) * P))
assert sp.simplify(eq6.subs(P, (1 - P) * P) - eq12) == 0
generator = torch.Generator().manual_seed(0)
target = (torch.rand(500, generator=generator) < 0.1).double()
logit = (3 * torch.randn(500, generator=generator)).requires_grad_()
for a in (1.0, 0.1, 0.01):
    for level, ours in (("example", dsc_loss), ("set", dsc_loss_set)):
        value = ours(logit.sigmoid(), target, a).mean()
        theirs = BinarySelfAdjustingDiceLoss(squared=False, alpha=a, smooth=1.0, level=level)(
            logit, target
        )
        torch.testing.assert_close(theirs, value)
        gradients = [torch.autograd.grad(v, logit)[0] for v in (theirs, value)]
        torch.testing.assert_close(*gradients)
torch.testing.assert_close(
    make_loss("binary_eq12")(logit, target), dsc_loss(logit.sigmoid(), target).mean()
)

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
claim("Its loss is highest in the middle, and falls to nothing at $p = 1$", of_negative.loss.idxmax() == 0.5,
      dsc_loss(torch.tensor(1.0), torch.tensor(0.0)) == 0)  # fmt: skip
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
kinds = ["floor, example", "floor, set", "floor, set, squared"]
claim(
    "The floor of a squared set, the library's default, is the lowest if α is 0.1 or less",
    bool((floors.loc[[0.01, 0.1], kinds].idxmin(axis=1) == kinds[2]).all()),
)
for options, key in (({"squared": False}, "floor, set"), ({}, "floor, set, squared")):
    at_best = torch.logit(stops[1]).expand(20000)
    many = BinarySelfAdjustingDiceLoss(alpha=0.1, **options)(at_best, torch.ones(20000))
    assert abs(many - floors[key][0.1]) < 1e-4  # the library's own, on 20,000 positives
claim("$(1 - p)^{0.01}$ is above 0.95 for all $p < 0.99$", 0.01**0.01 > 0.95)
claim(
    "With α = 1 the two gradients are nearly at right angles",
    abs(cosines[1.0]) < 0.1,
)
claim(
    "on five hundred random logits on both sides of 0, with one label in twelve positive",
    len(logit) == 500,
    0.4 < (logit > 0).double().mean().item() < 0.6,
    abs(target.mean().item() - 1 / 12) < 0.005,
)
claim("With α = 0.01, as in the authors' scripts, they are almost the same", cosines[0.01] > 0.999)

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
claim(
    "It is where it was",
    all(low > 0.25 and high < 0.12 for low, high in elsewhere.values()),
)
x, y = imbalanced_blobs(2000, seed=0)

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
claim("Squared dice leaves a small part of it, and focal loss next to nothing",
      gradients["Eq. 7, squared dice"][0] < 0.03 * linear[0],
      gradients["focal loss, f = 2"][0] < 0.001 * linear[0])  # fmt: skip
claim("90 easy negatives outweigh one positive", {"90": gradients["cross entropy"][4]})
claim("with linear dice six, and with DSC five", round(linear[4]) == 6, round(adjusted[4]) == 5)
claim("With squared dice hundreds, and with focal loss hundreds of thousands",
      200 < gradients["Eq. 7, squared dice"][4] < 1000, gradients["focal loss, f = 2"][4] > 2e5)  # fmt: skip
value = focal_loss(logit.sigmoid(), target).mean()
theirs = BinaryFocalLoss(gamma=2.0)(logit, target)
torch.testing.assert_close(theirs, value)
torch.testing.assert_close(*(torch.autograd.grad(v, logit)[0] for v in (value, theirs)))
on_logit = {
    n: [sp.simplify(sp.diff(e, P) * P * (1 - P)) for e in pair] for n, pair in formulas.items()
}
missed = {n: sp.limit(e[0], P, 0) for n, e in on_logit.items()}
claim("there only cross entropy and focal loss raise it",
      [n for n, slope in missed.items() if slope != 0] == ["cross entropy", "focal loss"])  # fmt: skip
alarm = {n: sp.limit(e[1], P, 1) for n, e in on_logit.items()}
claim("Only cross entropy and focal loss lower it at the far right",
      [n for n, slope in alarm.items() if slope != 0] == ["cross entropy", "focal loss"])  # fmt: skip

# %% 6.9
up, down = arrivals.values()
middle, start = medians.loc["0.5"], medians.loc["-3"]
claim("the easy negatives end at 0.00 and the easy positives at 0.91",
      {"0.00": middle.loc["cross entropy", "easy −"], "0.91": middle.loc["cross entropy", "easy +"]},
      middle.loc["cross entropy", "hard −"] > middle.loc["cross entropy", "hard +"])  # fmt: skip
claim("Focal loss is satisfied with less, 0.06 and 0.70",
      {"0.06": middle.loc["focal loss, f = 2", "easy −"], "0.70": middle.loc["focal loss, f = 2", "easy +"]})  # fmt: skip
for name in ("dice, set level", "DSC, set level, α = 0.1"):
    claim("goes to the ends", middle.loc[name, "easy −"] < 0.01, middle.loc[name, "easy +"] > 0.98)
upside_down = middle.loc["DSC, set level, α = 1"]
claim("its easy negatives at the top and its easy positives at the bottom",
      upside_down["easy −"] > 0.95, upside_down["easy +"] < 0.2)  # fmt: skip
claim(
    "From −3 it learns in the right direction",
    start.loc["DSC, set level, α = 1", "easy +"]
    > 0.5
    > start.loc["DSC, set level, α = 1", "easy −"],
)
claim(
    "above $p = 0.5$ it moves positives down and negatives up",
    of_positive[0.9] > 0 > of_negative.derivative[0.9],
    (up.round(2) == 0.5).all(),
    (down[3:].round(2) == 1).all(),
)
claim("above it every run collapsed", f1[~below].max() < 0.1)
claim("The loss has a floor above zero", bool((floors.filter(like="floor") > 0).all(axis=None)))
