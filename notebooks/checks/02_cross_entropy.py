# The checks of 02_cross_entropy.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 2.3
margin = sp.symbols("x", real=True)
sigmoid = 1 / (1 + sp.exp(-margin))
for gold, loss in ((1, -sp.log(sigmoid)), (0, -sp.log(1 - sigmoid))):
    assert sp.simplify(sp.diff(loss, margin) - (sigmoid - gold)) == 0

# %% Where training starts
entropy = -(share * share.log() + (1 - share) * (1 - share).log()).item()
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
    'the trained model says "positive" only about half as often as there are positives',
    0.45 < trained["said positive"] / y_test.sum() < 0.55,
)

# %% Tuning the threshold
claim("The interval of the gain lies well above 0", interval(gains).low > 0.02)

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

# %% 2.7
claim(
    "The slopes differ by a few hundredths, the bias by 3.02",
    bool((frame["difference"][:2].abs() < 0.1).all()),
    {"3.02": frame["difference"]["bias"]},
)
claim("The two curves agree to 0.01", float(np.abs(gap.mean(0)).max()) < 0.01)
by_K = {K: log_ratio_weights([1900, 100], K=K).double() for K in (1, 3)}
ratio = {K: float(w[1] / w[0]) for K, w in by_K.items()}
claim("counts a positive 58 times at $K = 1$", {"58": ratio[1]})
claim("The ratio 2.8 that is best for this toy comes out near $K = 3$",
      {"2.8": 1 / t_best - 1}, abs(ratio[3] - 2.8) < 0.3)  # fmt: skip
