# The checks of 04_dice_loss.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 4.2
careful, eager = rows["careful"], rows["eager"]
claim(
    "Eq. 7 cannot tell the two apart: 0.02 and 0.02, half of the error rate",
    {"0.02": careful["Eq. 7, γ = 1"]},
    {"0.02": eager["Eq. 7, γ = 1"]},
    all(np.isclose(r["Eq. 7, γ = 1"], r["error rate / 2"]) for r in rows.values()),
)
claim(
    "it says 0.667 and 0.286, exactly scikit-learn's $1 - F_1$",
    {"0.667": careful["Eq. 8, γ = 0"], "0.286": eager["Eq. 8, γ = 0"]},
    all(np.isclose(r["Eq. 8, γ = 0"], r["1 − F1 (scikit-learn)"]) for r in rows.values()),
)
moved = max(abs(r["Eq. 8, γ = 1"] - r["Eq. 8, γ = 0"]) for r in rows.values())
claim("γ = 1 moves it by at most 0.011", {"0.011": moved})

# %% At set level
claim(
    "The free probabilities end where the formula says",
    gap_linear < 0.01,
    gap_squared < 0.01,
    abs(dice_linear - D_linear) < 0.001,
    abs(dice_squared - D_squared) < 0.001,
)
asked = {"Eq. 7": p_eq7, "dice linear": p_linear, "Eq. 8": p_squared}
cut_of = {name: eta[p > 0.5].min().item() for name, p in asked.items()}
claim("Eq. 7 at 0.57", {"0.57": cut_of["Eq. 7"]})
claim(
    "the set-level losses at 0.27 (linear, half of F1) and 0.30 (squared)",
    {"0.27": cut_of["dice linear"], "0.30": cut_of["Eq. 8"]},
    abs(cut_of["dice linear"] - D_linear / 2) < 0.005,
    cut_of["Eq. 8"] > D_linear / 2 + 0.02,
)

# %% 4.4
claim(
    "scores 0 from every start, on every data set",
    all((scores(runs, eq6, b, "f1") == 0).all() for b in STARTS),
)
claim(
    "stays behind cross entropy",
    all(scores(runs, eq7, b, "f1").mean() < ce["f1"].mean() - 0.02 for b in STARTS),
)
claim("from +2 three of its eight runs end at 0", (scores(runs, eq7, 2.0, "f1") == 0).sum() == 3)
for name, b in product((linear, eq8), STARTS):
    claim("reach about 0.52 from everywhere", {"0.52": scores(runs, name, b, "f1").mean()})
claim(
    "At threshold 0.5 Eq. 8 wins; against the tuned threshold the interval holds 0",
    gains["f1"].low > 0,
    gains["tuned"].low < 0 < gains["tuned"].high,
)
claim("0.095 is the F1 of calling everything positive", {"0.095": 2 * 0.05 / 1.05})
claim("it learned no direction", scores(runs, eq6, 2.0, "tuned").max() < 0.11)
started = list(product((eq6, eq7, linear, eq8), (-3.0, 0.0)))
claim(
    "Everything started at −3 or 0 ends within 0.02 of cross entropy",
    all(abs(scores(runs, n, b, "tuned").mean() - ce["tuned"].mean()) < 0.02 for n, b in started),
)

# %% Where no straight line is right
claim("Here dice beats the tuned threshold", i.low > 0.01)
claim("cross entropy calls 65% of the far negatives positive", {"65%": above["cross entropy"]})
claim("calls all of them positive", above[eq8] == 1)
turned = {n: np.mean(a["second toy"]) - np.mean(a["first toy"]) for n, a in angles.items()}
claim(
    "Cross entropy turned its weights by 34 degrees because of the far negatives, Eq. 8 by five",
    {"34": turned["cross entropy"]},
    round(turned[eq8]) == 5,
)

# %% The dice of a batch is not the dice of the set
claim("85% of the batches of 16 hold none", {"85%": shares["1.0% positives"][0]})
empty, no_gold = torch.tensor([0.2, 0.4, 0.05, 0.1], requires_grad=True), torch.zeros(4)
for square, wanted_slope in {
    False: 2.0 / (empty.sum() + 2) ** 2 * torch.ones(4),
    True: 4.0 * empty / ((empty**2).sum() + 2) ** 2,
}.items():
    dice_now = 2.0 / ((empty**2 if square else empty).sum() + 2)
    library = make_loss("binary_dl", squared=square, smooth=2.0)(empty.logit(), no_gold)
    torch.testing.assert_close(library, 1 - dice_now)
    (slope,) = torch.autograd.grad(1 - dice_now, empty)
    torch.testing.assert_close(slope, wanted_slope.detach())
constant = dice_loss_of_set(empty, no_gold, gamma=0.0)
claim("With γ = 0 the loss is the constant 1", constant == 1)
said, silent = expected_batch_dice(16, tp, wrong), expected_batch_dice(16, 0.0, 0.01)
claim("The set has an F1 of 0.63", {"0.63": 2 * tp / (2 * tp + wrong)})
claim("Its batches have an expected dice of 0.948", {"0.948": said})
claim("with an F1 of 0, gets 0.924", {"0.924": silent})
claim("only 0.024 less", {"0.024": said - silent})
draw = np.random.default_rng(0).multinomial(16, [tp, wrong, 1 - tp - wrong], size=200_000)
simulated = ((2 * draw[:, 0] + 1) / (2 * draw[:, 0] + draw[:, 1] + 1)).mean()
assert abs(simulated - said) < 0.002

# %% Does it matter in training?
claim("the best threshold is 0.44 instead of 0.35", {"0.35": best_cut["set"], "0.44": best_cut[16]})
ends = {key: np.mean(values) for key, values in by_batch.items()}
claim(
    "collapses in batches of 16 and 64, in every run; at 256 it recovers",
    zeros[linear]["batch of 16"] == zeros[linear]["batch of 64"] == 6,
    ends[linear, 256] > 0.5,
)
claim("The squared loss and cross entropy never collapse",
      sum(zeros[eq8].values()) == sum(zeros["cross entropy"].values()) == 0)  # fmt: skip
claim(
    "of the squared loss, 0.40, is not below that of cross entropy",
    {"0.40": ends[eq8, 16]},
    ends[eq8, 16] > ends["cross entropy", 16],
)
claim("at 16 the squared loss does worse than at 256",
      ends[eq8, 16] < ends[eq8, 256] - 0.1)  # fmt: skip

# %% Summary
claim(
    "Eq. 7 from +2 in three runs of eight, the set-level losses never",
    all((scores(runs, n, b, "f1") > 0).all() for n, b in product((linear, eq8), STARTS)),
    [int((scores(runs, eq7, b, "f1") == 0).sum()) for b in STARTS] == [0, 0, 3],
)
asked = {"Eq. 7": p_eq7, "dice linear": p_linear, "Eq. 8": p_squared}
cut_of = {name: eta[p > 0.5].min().item() for name, p in asked.items()}
claim("a threshold a little above it", 0 < cut_of["Eq. 8"] - cut_of["dice linear"] < 0.05)
turned = {n: np.mean(a["second toy"]) - np.mean(a["first toy"]) for n, a in angles.items()}
claim("hardly those of Eq. 8", abs(turned[eq8]) < 6 < 30 < turned["cross entropy"])
