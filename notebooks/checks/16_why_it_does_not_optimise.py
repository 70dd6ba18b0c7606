# The checks of 16_why_it_does_not_optimise.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 16.3
for smooth in (1e-6, 1.0):
    assert torch.allclose(mixed_dice(x, y, smooth), mixed(x, y, smooth))
    assert torch.allclose(set_dice(x, y, smooth), dice_sum(x, y, smooth))
claim(
    "The mixed loss moves only from 8.9999 to 8.9989",
    {"8.9999": mixed_dice(x, y), "8.9989": mixed_dice(perfect, y)},
)
claim("With γ = 1 the cosine is only about a third", smooth == 1.0, 0.3 < cosine < 0.37)
meant = {name: end for name, (_, end) in runs.items()}
claim(
    "all the mixed losses stay at 4, whether the model learns or not",
    all(min(seen) > 3.9 for name, (seen, _) in runs.items() if name != "fixed, SGD"),
)
assert runs["fixed, SGD"][0][-1] < 0.5  # as the picture's description says
claim("With SGD the mixed loss has learned next to nothing", meant["mixed, SGD"] > 3.2)
claim(
    "With Adam it has learned as much as the fixed one",
    abs(meant["mixed, Adam"] - meant["fixed, SGD"]) < 0.05,
)
claim("With γ = 1 the loss that was meant stays above 2", meant["mixed, γ = 1, Adam"] > 2)
torch.testing.assert_close(DiceLoss(smooth=1e-6, squared=False)(x, y), set_dice(x, y) / 9)

# %% 16.4
claim("an F1 of 0 and a loss of 0.09", {"0.09": smoothed_n_times(nothing, yb)})
claim(
    "With γ once it costs 0.999", {"0.999": BinaryDiceLoss(smooth=1.0, squared=False)(nothing, yb)}
)

# %% 16.5
costs = {
    name: [loss(hard(said), y) for said in (only_O, wrong_O)]
    for name, loss in (("here", squared_over_classes), ("Eq. 8", DiceLoss(squared=True)))
}
claim(
    "Eq. 8 agrees: its two values are far apart. However, the loss above gives nearly the same cost",
    abs(costs["here"][0] - costs["here"][1]).item() < 0.005,
    (costs["Eq. 8"][0] - costs["Eq. 8"][1]).item() > 0.7,
)
p, t = hard(wrong_O).softmax(-1), F.one_hot(y, 9)
one_element = (1 - (2 * p * t + 1) / (p**2 + t**2 + 1)).sum(-1).mean()
claim(
    "with γ = 1 that is the error rate itself",
    abs(one_element - (wrong_O != y).float().mean()).item() < 1e-6,
)

# %% 16.7
claim("With one token in 256 padded the loss is 13", rows["1 in 256"][0] == "12.961")
claim(
    "In the other rows the loss is small: about half of the loss of the real tokens",
    all(0.4 < float(here) / float(real) < 0.6 for here, real in list(rows.values())[1:]),
)

# %% 16.9
claim("At a logit of 16.7 p rounds to 1", torch.tensor(16.7).sigmoid().item() == 1.0)
claim(
    "from 0.05 to 0.5",
    {"0.05": naive_dsc(torch.tensor([16.6]), one), "0.5": naive_dsc(torch.tensor([16.7]), one)},
)

# %% 16.11
claim(
    "Nearly all are kept where 0 or 1 is wanted, none where 2 are, and k − 2 from then on",
    kept_for == {0: 998, 1: 999, 2: 0, 3: 1, 30: 28},
)
claim("so k stays at 0 or 1 up to six positives", int(0.3 * 6) == 1, int(0.3 * 7) == 2)

# %% 16.12
claim(
    "With 1% positives 85% of the batches of 16 have none at all, and so have 8% of 256",
    {"85%": 0.99**16, "8%": 0.99**256},
)

# %% 16.13
claim("Of `DiceLoss` it reports no problem", not diagnose(linear, x[:512], y[:512]).problems)
verdicts = {name: cells[1] for name, cells in rows.items()}
claim(
    "Three come as notes",
    list(verdicts.values()).count("note") == 3,
    list(verdicts.values()).count("problem") == len(verdicts) - 3,
)

# %% 16.14
(wnut,) = [r["metrics"] for r in kept_records("imbalance") if r["parameters"]["corpus"] == "wnut17"]
assert label_counts[0] == wnut["negative"], "the counts above are those of WNUT 2017"
assert sum(label_counts[1:]) == wnut["positive"]
in_batch = 600 * label_counts[1] / sum(label_counts)
claim(
    "With γ = 1 a class needs 17 gold words among 600 to be pulled up at all",
    slopes["linear, γ = 1"][16] > 0,
    slopes["linear, γ = 1"][17] < 0,
)
claim(
    "In WNUT 2017 a batch of 600 words has about six of its commonest tag other than O",
    round(in_batch) == 6,
)
claim(
    "Squares or a small γ make the slope negative",
    (slopes[["squared, γ = 1", "linear, γ = 10⁻⁴"]] < 0).all(axis=None),
)
claim(
    "Formula and autograd agree", (slopes["Eq. 16.3"] - slopes["linear, γ = 1"]).abs().max() < 0.02
)
claim(
    "Linear dice over a set finds nothing, and still has 93% of the tags right",
    {"93%": real.accuracy["dice, linear"] / 100},
    scores["dice, linear"].f1.max() == 0,
    toy["dice, linear"].verdict == "problem",
)
claim(
    "Squares or a small γ fix it",
    min(scores[name].f1.min() for name in ("dice, squared", "linear, γ = 10⁻⁴")) > 25,
)
claim(
    "In these short runs cross entropy is lower than the dice losses that train",
    all(real.f1["cross entropy"] < f1 for f1 in real.f1.drop("cross entropy") if f1 > 0),
)
claim(
    'The two losses with the verdict "problem" find nothing',
    [round(found.number) for found in toy.values() if found.verdict == "problem"] == [0, 0],
)
claim(
    "the mean of three seeds, and the range in brackets",
    all(len(seeds) == 3 for seeds in scores.values()),
)
odd = scores["linear, absent skipped, without O"]
worst = odd.accuracy.idxmin()
claim(
    "The third has a higher F1 than cross entropy, and only 2% of its tags are right",
    {"2%": odd.accuracy[worst] / 100},
    odd.f1[worst] > scores["cross entropy"].f1[worst],
    (odd.accuracy > 90).sum() == 2,
)
of_three = pd.DataFrame(repaired).T.map(sum)
claim(
    "Only a γ of 0.0001 repairs all seeds of both corpora",
    of_three.index[(of_three == 3).all(axis=1)].tolist() == ["γ: 0.0001"],
)
claim(
    "No default loss is as much as five points below cross entropy with any seed",
    min(min(of.values()) for of in least.values()) > -5,
    {len(of) for of in least.values()} == {5},
)
