# The checks of 02_cross_entropy.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 2.2
logits = torch.linspace(-4, 4, 9, requires_grad=True)
gold = torch.tensor([0, 1, 0, 0, 1, 0, 1, 1, 0.0])
ours = cross_entropy(logits.sigmoid(), gold)
theirs = make_loss("binary_ce")(logits, gold)
torch.testing.assert_close(ours, theirs)
torch.testing.assert_close(*(torch.autograd.grad(v, logits)[0] for v in (ours, theirs)))

# %% 2.3
margin = sp.symbols("x", real=True)
sigmoid = 1 / (1 + sp.exp(-margin))
for gold, loss in ((1, -sp.log(sigmoid)), (0, -sp.log(1 - sigmoid))):
    assert sp.simplify(sp.diff(loss, margin) - (sigmoid - gold)) == 0
claim("The two agree to three digits", abs(probability.mean() - y.mean()).item() < 5e-4)
sums = {v: class_gradients(torch.full_like(y, v), y) for v in (0.5, 0.05, 0.01)}
claim("950 against 50", sums[0.5] == [950, 50])
claim("At $p = 0.05$ the two are equal", sums[0.05][0] == sums[0.05][1])
claim("Below 0.05 the positives win", sums[0.01][1] > sums[0.01][0])

# %% Where training starts
entropy = -(share * share.log() + (1 - share) * (1 - share).log()).item()
claim("From 0, the gradient on the bias is large", 0.5 - share.item() > 0.4)
claim(
    "From the log prior, the loss is 0.199",
    {"0.199": entropy},
    abs(loss.item() - entropy) < 1e-6,
    abs(bias.grad.item()) < 1e-9,
)

# %% 2.4
always, trained = table["always negative"], table["cross entropy, p > 0.5"]
found = (said & gold).sum() / gold.sum()
claim(
    "Its accuracy is 96%, and it finds fewer than half",
    {"96%": trained["accuracy"]},
    0 < found < 0.5,
)
claim(
    "The lazy model has an accuracy of 95% and an F1 of 0",
    {"95%": always["accuracy"], "0": always["F1"]},
)
claim(
    "hardly more than a point of accuracy",
    0.008 < trained["accuracy"] - always["accuracy"] < 0.013,
)
claim(
    'the trained model says "positive" only about half as often as there are positives',
    0.45 < trained["said positive"] / y_test.sum() < 0.55,
)
claim("F1 from 0 to nearly a half", 0.47 < trained["F1"] < 0.5)
claim("One in three of the missed positives",
      abs(of_them / (~said & gold).sum().item() - 1 / 3) < 0.03)  # fmt: skip
claim("about one example in four is positive", 0.2 < (between & gold).sum() / between.sum() < 0.3)

# %% Tuning the threshold
claim("The interval of the gain lies well above 0", interval(gains).low > 0.02)
claim("the top of F1 is near a threshold of 0.3", abs(best - 0.3) < 0.05)

# %% How many positives does tuning need?
behind = {
    (n, name): (few[:, i] < other[:, None]).mean()
    for i, n in enumerate(SIZES)
    for name, other in (("dice", built_in), ("plug-in", own))
}
with_20 = SIZES.index(20)
low, high = np.quantile(chosen[:, with_20], [0.05, 0.95])
claim("With 20 positives, nine in ten of the tuned thresholds lie between 0.15 and 0.48",
      {"0.15": low, "0.48": high})  # fmt: skip
claim("It is still better than 0.5 in nearly all draws",
      (few[:, with_20] > at_half[:, None]).mean() > 0.9)  # fmt: skip
claim(
    "three in four tunings do worse than dice, and four in five worse than the plug-in threshold of the same model",
    abs(behind[20, "dice"] - 3 / 4) < 0.05,
    abs(behind[20, "plug-in"] - 4 / 5) < 0.05,
)
claim(
    "With 400 positives the tuned threshold and dice win equally often, and the plug-in threshold still wins more often than it loses",
    0.45 < behind[400, "dice"] < 0.55,
    abs(behind[400, "plug-in"] - 0.6) < 0.05,
)

# %% Where should the threshold be?
claim(
    "predicts 0.261, half of the best F1, and the best of all thresholds is 0.260",
    {"0.261": f1_best / 2, "0.260": t_best},
)

# %% The paper's formula for the weights

said = upside_down.predict(x_test) > 0
claim(
    "The model calls 1563 of 2000 test examples positive",
    {"1563": int(said.sum()), "2000": len(said)},
)
claim("is right about one in sixteen", 15 < 1 / y_test[said].mean() < 17)
everything = {b: negative_weight(torch.full_like(y, b), y).item() for b in (1e1, 1e2, 1e4)}
claim("falls below 0 and has no minimum", bool((upside_down.losses[50:].diff() < 0).all()),
      all(value < -b for b, value in everything.items()))  # fmt: skip

# %% 2.5
inside = torch.linspace(-4, 4, 9, requires_grad=True)
ours = weighted_cross_entropy(inside.sigmoid(), gold, alpha)
theirs = binary_cross_entropy(inside, gold, weight=alpha)
torch.testing.assert_close(ours, theirs)
torch.testing.assert_close(*(torch.autograd.grad(v, inside)[0] for v in (ours, theirs)))

# %% 2.6
inputs = torch.cat([x, torch.ones(len(x), 1)], 1)  # the last column carries the bias
per_example = (0.5 - y)[:, None] * inputs
weights = torch.where(y == 1, 0.5 / 0.05, 0.5 / 0.95)
chance = weights / len(y)
generator = torch.Generator().manual_seed(0)


def batches(probability, count=20_000, size=16):
    draws = torch.multinomial(probability, count * size, replacement=True, generator=generator)
    return draws.view(count, size)


resampled = per_example[batches(chance)].mean(1)
reweighted = (weights[:, None] * per_example)[batches(torch.ones_like(y))].mean(1)
exact = (weights[:, None] * per_example).mean(0)
spread = [v.var(0).sum().sqrt().item() for v in (resampled, reweighted)]
torch.testing.assert_close(resampled.mean(0), exact, atol=0.05, rtol=0)
torch.testing.assert_close(reweighted.mean(0), exact, atol=0.1, rtol=0)
claim("the weighted gradient is three times as noisy", 2.5 < spread[1] / spread[0] < 3.5)
claim("Both are $-11/16$ exactly", expected == weighted == Fraction(-11, 16))
claim("Without weights the gradient is $1/10$", plain == Fraction(1, 10))

# %% 2.7
claim(
    "The slopes differ by a few hundredths, the bias by 3.02",
    bool((frame["difference"][:2].abs() < 0.1).all()),
    {"3.02": frame["difference"]["bias"]},
)
claim("the balanced weights move it to 0.05", {"0.05": 1 / 20})
claim("threshold is 0.26", {"0.26": t_best}, float(gain.mean()) > 0.1)
trained = table["cross entropy, p > 0.5"]
claim("the plain model had 0.497 at threshold 0.5", {"0.497": trained["F1"]})
claim(
    'So "balanced" weights, the default advice, cost F1 here',
    f1_score(z_heavy > 0, y_test) < trained["F1"],
)
claim("The two curves agree to 0.01", float(np.abs(gap.mean(0)).max()) < 0.01)
by_K = {K: log_ratio_weights([1900, 100], K=K).double() for K in (1, 3)}
ratio = {K: float(w[1] / w[0]) for K, w in by_K.items()}
claim("counts a positive 58 times at $K = 1$", {"58": ratio[1]})
claim("The ratio 2.8 that is best for this toy comes out near $K = 3$",
      {"2.8": 1 / t_best - 1}, abs(ratio[3] - 2.8) < 0.3)  # fmt: skip

# %% Summary
behind = {
    (n, name): (few[:, i] < other[:, None]).mean()
    for i, n in enumerate(SIZES)
    for name, other in (("dice", built_in), ("plug-in", own))
}
claim(
    "the threshold does worse than dice's built-in one in most draws, and worse than the plug-in threshold",
    behind[20, "dice"] > 0.5,
    behind[20, "plug-in"] > 0.5,
)
claim("leave [0, 1] on both sides", log_ratio_weights([990, 10], K=1).max() > 1,
      log_ratio_weights([900, 100], K=0).min() < 0)  # fmt: skip
