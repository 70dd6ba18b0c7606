# The checks of 04_dice_loss.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 4.1
logits, labels = torch.linspace(-4, 4, 10), torch.tensor([0.0, 1.0] * 5)
for equation, ours in (("eq7", dice_loss_per_example), ("eq8", dice_loss_of_set)):
    theirs = make_loss(f"binary_{equation}", smooth=0.5)(logits, labels)
    torch.testing.assert_close(theirs, ours(logits.sigmoid(), labels, 0.5))

# %% 4.2
guess, label, smooth = sp.symbols("p y gamma", nonnegative=True)
bracket = 1 - (2 * guess * label + smooth) / (guess**2 + label**2 + smooth)
for p, y in product((0, 1), repeat=2):
    wanted = 0 if p == y else 1 / (1 + smooth)
    assert sp.simplify(bracket.subs({guess: p, label: y}) - wanted) == 0
careful, eager = rows["careful"], rows["eager"]
claim(
    "careful 96% 0.333, eager 96% 0.714",
    {"96%": 1 - 2 * careful["error rate / 2"]},
    {"96%": 1 - 2 * eager["error rate / 2"]},
    {"0.333": 1 - careful["1 − F1 (scikit-learn)"], "0.714": 1 - eager["1 − F1 (scikit-learn)"]},
)
claim(
    "Eq. 7 gives both taggers 0.02, half of their error rate",
    {"0.02": careful["Eq. 7, γ = 1"]},
    {"0.02": eager["Eq. 7, γ = 1"]},
    all(np.isclose(r["Eq. 7, γ = 1"], r["error rate / 2"]) for r in rows.values()),
)
claim(
    "it says 0.667 and 0.286, exactly scikit-learn's $1 - F_1$",
    {"0.667": careful["Eq. 8, γ = 0"], "0.286": eager["Eq. 8, γ = 0"]},
    all(np.isclose(r["Eq. 8, γ = 0"], r["1 − F1 (scikit-learn)"]) for r in rows.values()),
)

# %% Per example
p, share, gamma = sp.symbols("p eta gamma", positive=True)
L1, L0 = (1 - p) / (1 + p + gamma), p / (p + gamma)
down, up = (1 - share) * gamma / (p + gamma) ** 2, share * (2 + gamma) / (1 + p + gamma) ** 2
assert sp.simplify(sp.diff(share * L1 + (1 - share) * L0, p) - (down - up)) == 0
falls = sp.simplify(sp.diff((1 + p + gamma) / (p + gamma), p))
claim("As $p$ grows, the first term shrinks faster than the second", bool(falls.is_negative))
ends = [sp.simplify(L1.subs(p, 0) - 1 / (1 + gamma)), sp.simplify(L0.subs(p, 1) - 1 / (1 + gamma))]
assert ends == [0, 0]

# %% At set level
probs = torch.tensor([0.1, 0.4, 0.8, 0.3], requires_grad=True)
truth = torch.tensor([0.0, 1.0, 1.0, 0.0])
for square in (False, True):
    S = (probs**2 if square else probs).sum() + truth.sum()
    D = 2 * (probs * truth).sum() / S
    (slope,) = torch.autograd.grad(1 - D, probs, retain_graph=True)
    formula = 2 * (D * probs - truth) / S if square else (D - 2 * truth) / S
    torch.testing.assert_close(slope, formula)
claim(
    "The free probabilities end where the formula says",
    gap_linear < 0.01,
    gap_squared < 0.01,
)
asked = {"Eq. 7": p_eq7, "dice linear": p_linear, "Eq. 8": p_squared}
cut_of = {name: eta[p > 0.5].min().item() for name, p in asked.items()}
half = torch.tensor(0.5, requires_grad=True)
eq7_slopes = {  # of Eq. 7 with γ = 1 at one half: of a negative, and of a positive
    y: torch.autograd.grad((half - y) ** 2 / (half**2 + y + 1), half)[0].item() for y in (0, 1)
}
claim(
    "At one half it pushes a negative down with a slope of 0.64 and a positive up with 0.494",
    {"0.64": eq7_slopes[0], "0.494": -eq7_slopes[1]},
)
claim(
    "Eq. 7 crosses later still, at 0.56",
    {"0.56": eq7_slopes[0] / (eq7_slopes[0] - eq7_slopes[1])},
    abs(cut_of["Eq. 7"] - eq7_slopes[0] / (eq7_slopes[0] - eq7_slopes[1])) < 0.01,
)
claim(
    "the linear one at 0.27, half of F1, and the squared one at 0.30",
    {"0.27": cut_of["dice linear"], "0.30": cut_of["Eq. 8"]},
    abs(cut_of["dice linear"] - D_linear / 2) < 0.005,
    cut_of["Eq. 8"] > D_linear / 2 + 0.02,
)

# %% 4.4
claim(
    "scores 0 from every start, on every data set",
    all((scores(runs, eq6, b, "f1") == 0).all() for b in STARTS),
)
claim("from 2 three of its eight runs end at 0", (scores(runs, eq7, 2.0, "f1") == 0).sum() == 3)
for name, b in product((linear, eq8), STARTS):
    claim("reach about 0.52 from everywhere", {"0.52": scores(runs, name, b, "f1").mean()})
claim(
    "the interval of Eq. 8 minus cross entropy includes 0",
    gains["f1"].low > 0,
    gains["tuned"].low < 0 < gains["tuned"].high,
)
started = list(product((eq6, eq7, linear, eq8), (-3.0, 0.0)))
claim(
    "Everything started at −3 or 0 ends within 0.02 of cross entropy",
    all(abs(scores(runs, n, b, "tuned").mean() - ce["tuned"].mean()) < 0.02 for n, b in started),
)

# %% The collapse of Eq. 6
p, gamma = sp.symbols("p gamma", positive=True)
per_example = {
    1: (p / (p + gamma), (1 - p) / (1 + p + gamma), gamma / (p + gamma) ** 2),
    2: (
        p**2 / (p**2 + gamma),
        (1 - p) ** 2 / (p**2 + 1 + gamma),
        2 * gamma * p / (p**2 + gamma) ** 2,
    ),
}
for power, (negative, positive, printed) in per_example.items():
    assert sp.simplify(sp.diff(negative, p) - printed) == 0
    at_0 = sp.limit(printed, p, 0)
    assert sp.simplify(at_0 - (1 / gamma if power == 1 else 0)) == 0
    raises = -sp.diff(positive, p).subs({p: 0, gamma: 1})
    claim("A positive has a slope of similar size under both", bool(0.7 < raises < 1.1))

# %% Where no straight line is right
claim("Here dice beats the tuned threshold", i.low > 0.01)
claim("cross entropy calls 65% of the far negatives positive", {"65%": above["cross entropy"]})

# %% The dice of a batch is not the dice of the set
claim("85% of the batches of 16 have none", {"85%": shares["1.0% positives"][0]})
said, silent = expected_batch_dice(16, tp, wrong), expected_batch_dice(16, 0.0, 0.01)
claim("On the whole set the model has an F1 of 0.63", {"0.63": 2 * tp / (2 * tp + wrong)})
claim("The expected dice of its batches is 0.948", {"0.948": said})
claim("by only 0.024", {"0.024": said - silent})

# %% Does it matter in training?
claim(
    "the best threshold is 0.35, and in batches of 16 it is 0.44",
    {"0.35": best_cut["set"], "0.44": best_cut[16]},
)
ends = {key: np.mean(values) for key, values in by_batch.items()}
claim(
    "collapses in batches of 16 and 64, in every run; at 256 it recovers",
    zeros[linear]["batch of 16"] == zeros[linear]["batch of 64"] == 6,
    ends[linear, 256] > 0.5,
)
