# The checks of 06_self_adjusting_dice.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 6.1
free = torch.tensor([0.01, 0.5, 0.9], requires_grad=True)
none = torch.zeros(3)
slopes = {}
for gamma in (0.0, 1.0):
    score = (2 * free * none + gamma) / (free + none + gamma)  # Eqs. 5 and 6
    (slopes[gamma],) = torch.autograd.grad(score.sum(), free)
claim(
    "the score of a negative is 0 for every p, so its gradient is exactly 0",
    bool((slopes[0.0] == 0).all()),
    bool((slopes[1.0] < 0).all()),
)

# %% 6.4
claim("The derivative at 0.9 is +0.549", {"0.549": of_positive[0.9]})
claim("has the derivative −0.673: it moves *up*", {"−0.673": of_negative.derivative[0.9]})
claim("its loss falls from 0.2 at p = 0.5 to nothing at p = 1", {"0.2": of_negative.loss[0.5]},
      dsc_loss(torch.tensor(1.0), torch.tensor(0.0)) == 0)  # fmt: skip
up, down = arrivals.values()
claim("Every positive ends at 0.5", {"0.5": up.mean()}, up.max() - up.min() < 0.01)
claim("those below 0.5 go to 0, those above go to 1", (down.round(2) == [0, 0, 0, 1, 1, 1]).all())

# %% 6.5
claim(
    "For a positive, FL and DL do reach 0 at p = 1", ends["FL"][0] == 0, ends["DL, Eq. 7"][0] == 0
)
claim("CE is at −1 there and TL at −1/4", ends["CE"][0] == -1, ends["TL"][0] == sp.Rational(-1, 4))
claim("+3/4 at the end", ends["DSC"][0] == sp.Rational(3, 4))
claim("For a negative DSC ends at −1", ends["DSC"][1] == -1)
on_logit = {
    n: [sp.simplify(sp.diff(e, P) * P * (1 - P)) for e in pair] for n, pair in formulas.items()
}
at = {n: [sp.limit(e[0], P, where) for where in (0, 1)] for n, e in on_logit.items()}
claim(
    "On the logit of a positive every gradient vanishes at p = 1",
    all(v[1] == 0 for v in at.values()),
)
alarm = {n: sp.limit(e[1], P, 1) for n, e in on_logit.items()}
claim(
    "only CE and FL lower a negative at p = 1: their gradient is 1 there, that of the others 0",
    [n for n, slope in alarm.items() if slope == 1] == [n for n in alarm if n[:2] in ("CE", "FL")],
    all(slope in (0, 1) for slope in alarm.values()),
)
claim(
    "those of DL, TL and DSC vanish at p = 0",
    [n for n, v in at.items() if v[0] == 0] == ["DL, Eq. 7", "TL", "DSC"],
)
claim(
    "at p = 0.01 the gradient of dice is 0.0098",
    {"0.0098": -float(on_logit["DL, Eq. 7"][0].subs(P, 0.01))},
    -float(on_logit["CE"][0].subs(P, 0.01)) > 0.9,
)
claim("and that of DSC at 0.5", on_logit["DSC"][0].subs(P, sp.Rational(1, 2)) == 0)

# %% 6.6
kinds = ["floor, example", "floor, set", "floor, set, squared"]
claim(
    "With α = 0.1 and less the floor of a squared set, the library's default, is the lowest",
    bool((floors.loc[[0.01, 0.1], kinds].idxmin(axis=1) == kinds[2]).all()),
)
for options, key in (({"squared": False}, "floor, set"), ({}, "floor, set, squared")):
    at_best = torch.logit(stops[1]).expand(20000)
    many = BinarySelfAdjustingDiceLoss(alpha=0.1, **options)(at_best, torch.ones(20000))
    assert abs(many - floors[key][0.1]) < 1e-4  # the library's own, on 20,000 positives
claim("(1 − p)^0.01 lies between 0.95 and 1 for all p below 0.99", 0.01**0.01 > 0.95)
claim(
    "The two gradients are nearly at right angles with α = 1",
    abs(cosines[1.0]) < 0.1,
)
claim(
    "on 500 random logits, half of them positive",
    len(logit) == 500,
    0.4 < (logit > 0).double().mean().item() < 0.6,
)
claim("With 0.01, as in the authors' scripts, they are almost the same", cosines[0.01] > 0.999)

# %% 6.7
claim("All cells fall on the predicted side", f1[below].min() > 0.4, f1[~below].max() < 0.1)
claim(
    "the turning point is where it was",
    all(low > 0.25 and high < 0.12 for low, high in elsewhere.values()),
)
x, y = imbalanced_blobs(2000, seed=0)

# %% 6.8
linear, adjusted = (gradients[name] for name in ("Eq. 6, linear dice", "Eq. 12, DSC"))
claim("0.0097 with linear dice and 0.0095 with DSC: the factor took two percent off",
      {"0.0097": linear[0], "0.0095": adjusted[0]}, round(1 - adjusted[0] / linear[0], 2) == 0.02)  # fmt: skip
ratios = {}
for level in ("example", "set"):
    x = torch.logit(torch.tensor([0.01, 0.9, 0.5])).requires_grad_()
    BinaryDiceLoss(squared=False, level=level)(x, torch.tensor([0.0, 0, 1])).backward()
    ratios[level] = (x.grad[0] / x.grad[1]).item()
claim(
    "is 0.39 of that at p = 0.9, and on a set it is 0.11 of it",
    {"0.39": ratios["example"], "0.11": ratios["set"]},
    ratios["set"] < ratios["example"],
)
claim("Squared dice has 0.0002, focal loss three millionths",
      {"0.0002": gradients["Eq. 7, squared dice"][0]}, 2.5e-6 < gradients["FL, f = 2"][0] < 3.5e-6)  # fmt: skip
claim("90 easy negatives outweigh one positive; with linear dice 6 and with DSC 5",
      {"90": gradients["CE"][4], "6": linear[4], "5": adjusted[4]})  # fmt: skip
claim("with squared dice 425, with focal loss hundreds of thousands",
      {"425": gradients["Eq. 7, squared dice"][4]}, gradients["FL, f = 2"][4] > 2e5)  # fmt: skip
claim("an easy negative keeps 98% of the gradient of linear dice", {"98%": adjusted[0] / linear[0]})
claim("Squaring leaves 2% of it, focal loss 0.03%",
      {"2%": gradients["Eq. 7, squared dice"][0] / linear[0], "0.03%": gradients["FL, f = 2"][0] / linear[0]})  # fmt: skip

# %% 6.9
up, down = arrivals.values()
middle, start = medians.loc["0.5"], medians.loc["-3"]
claim("the easy negatives end at 0.00 and the easy positives at 0.91",
      {"0.00": middle.loc["CE", "easy −"], "0.91": middle.loc["CE", "easy +"]},
      middle.loc["CE", "hard −"] > middle.loc["CE", "hard +"])  # fmt: skip
claim("Focal loss asks for less: 0.06 and 0.70",
      {"0.06": middle.loc["FL, f = 2", "easy −"], "0.70": middle.loc["FL, f = 2", "easy +"]})  # fmt: skip
claim(
    "the ends, 0.00 and 0.99",
    {"0.00": middle.loc["DL, set level", "easy −"], "0.99": middle.loc["DL, set level", "easy +"]},
)
upside_down = middle.loc["DSC, set level, α = 1"]
claim(
    "its easy negatives at 1.00 and its easy positives at 0.11",
    {"1.00": upside_down["easy −"], "0.11": upside_down["easy +"]},
)
claim(
    "From −3 it learns the right way round",
    start.loc["DSC, set level, α = 1", "easy +"]
    > 0.5
    > start.loc["DSC, set level, α = 1", "easy −"],
)
claim(
    "Above 0.5 a positive moves down, to 0.5, and a negative up, to 1",
    of_positive[0.9] > 0 > of_negative.derivative[0.9],
    (up.round(2) == 0.5).all(),
    (down[3:].round(2) == 1).all(),
)
claim("above it every run collapsed", f1[~below].max() < 0.1)
claim(
    "with α = 0.1 it is 0.105 for a positive at example level, 0.166 for a linear set, 0.054 for a squared one",
    {"0.105": floors["floor, example"][0.1], "0.166": floors["floor, set"][0.1]},
    {"0.054": floors["floor, set, squared"][0.1]},
)
