# The checks of 16_why_it_does_not_optimise.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 16.3
claim(
    "The mixed loss moves only from 8.9999 to 8.9989",
    {"8.9999": mixed_dice(x, y), "8.9989": mixed_dice(perfect, y)},
)
claim("With γ = 1 the cosine is only about a third", smooth == 1.0, 0.3 < cosine < 0.37)

# %% 16.4
claim("an F1 of 0 and a loss of 0.09", {"0.09": smoothed_n_times(nothing, yb)})
claim(
    "With γ once it costs 0.999", {"0.999": BinaryDiceLoss(smooth=1.0, squared=False)(nothing, yb)}
)

# %% 16.5
p, t = hard(wrong_O).softmax(-1), F.one_hot(y, 9)
one_element = (1 - (2 * p * t + 1) / (p**2 + t**2 + 1)).sum(-1).mean()
claim(
    "with γ = 1 that is the error rate itself",
    abs(one_element - (wrong_O != y).float().mean()).item() < 1e-6,
)

# %% 16.7
claim("With one token in 256 padded the loss is 13", rows["1 in 256"][0] == "12.961")

# %% 16.9
claim(
    "from 0.05 to 0.5",
    {"0.05": naive_dsc(torch.tensor([16.6]), one), "0.5": naive_dsc(torch.tensor([16.7]), one)},
)

# %% 16.11
claim(
    "Nearly all are kept where 0 or 1 is wanted, none where 2 are, and k − 2 from then on",
    kept_for == {0: 998, 1: 999, 2: 0, 3: 1, 30: 28},
)

# %% 16.12
p = torch.tensor(-12.0).sigmoid()
claim("a gradient of 0.06 instead of 1", {"0.06": p * (1 - p) / (p + 1e-4), "1": 1 - p})

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
    "In WNUT 2017 a batch of 600 words has about six of its commonest tag other than O",
    round(in_batch) == 6,
)
claim(
    'The two losses with the verdict "problem" find nothing',
    [round(found.number) for found in toy.values() if found.verdict == "problem"] == [0, 0],
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
