# The checks of 19_other_remedies.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 19.2
for adjusted, plain in twins:
    torch.testing.assert_close(adjusted.losses, plain.losses)
    torch.testing.assert_close(adjusted.weight, plain.weight)
claim(
    "The losses of all 200 steps are equal, and the biases end τ s apart",
    {"200": len(twins[0][0].losses)},
    all(abs(theirs - ours - shift) < 1e-9 for ours, theirs, shift in rows.values()),
)

claim("The best τ is 0.35, which is a threshold of 0.26", {"0.35": tau_best, "0.26": t_best})

# %% 19.3
column = balanced["threshold"]
claim(
    "The threshold runs from 0.5 to 0.05, and passes 0.26 near β = 0.996",
    {"0.5": column.iloc[0], "0.05": column.iloc[-1], "0.26": column.iloc[2], "0.996": beta_best},
)


# %% 19.4
usual = thresholds["asymmetric, γ₊ 0, γ₋ 4, δ 0.05"]
claim("with its usual settings the threshold is at 0.128", {"0.128": usual})

# %% 19.5
claim("For the threshold 0.26 one keeps $k = 0.35$ of them", {"0.35": t_best / (1 - t_best)})
claim(
    "With the shift taken back, all values of F1 are within 0.02 of each other",
    sampling["F1 at m > 0"].idxmax() in (3.0, 6.7),
    sampling["F1 at m > 0"].iloc[0] < 0.4,
    sampling["F1 at m > −log k"].max() - sampling["F1 at m > −log k"].min() < 0.02,
)

# %% What else do they do?
claim(
    "Weights and dice find a better model, and all of their intervals exclude 0",
    all(
        gains[name].low > 0
        for name in ("class-balanced, β = 0.9999", "dice linear, set", "dice squared, set")
    ),
)

# %% 19.7
of_three = {arm: pooled[arm, "argmax"] for arm in ("logit_adjustment", "wce", "dice")}
tuned_of_three = {arm: pooled[arm, "tuned"] for arm in of_three}
claim(
    "On twenty-seven real tasks class weights gain 4.1 points of F1 over cross entropy at argmax, Tversky loss gains 3.3 and dice 1.8",
    {"3.3": pooled["tversky_start", "argmax"].over_all.mean},
    {"4.1": of_three["wce"].over_all.mean, "1.8": of_three["dice"].over_all.mean},
    len(effects["wce", "argmax"]) == len(effects["dice", "argmax"]) == 27,
    all(p.over_all.low < 0 < p.over_all.high for p in tuned_of_three.values()),
)
of_weights = {e.task: e.mean for e in effects["wce", "argmax"]}
largest = sorted(of_weights, key=of_weights.get)[-2:]
claim(
    "largest on two tasks in which positives are five times as frequent in the test as in training. There class weights gain 20 points and more",
    {"20": of_weights["sst2_02"]},
    of_weights["qqp_02"] > of_weights["sst2_02"],
    sorted(largest) == ["qqp_02", "sst2_02"],
)
claim(
    "the intervals of all remedies include 0, and no mean is further from 0 than a third of a point",
    all(p.over_all.low < 0 < p.over_all.high for (_, how), p in pooled.items() if how == "tuned"),
    all(abs(p.over_all.mean) < 1 / 3 for (_, how), p in pooled.items() if how == "tuned"),
)
plug_in = {e.task: e for e in searched.effects_of(study, searched.PLUG_IN)}
claim(
    "on `sst2_02` it loses 17.8 points, and on `qqp_02` 7.7",
    {"17.8": -plug_in["sst2_02"].mean, "7.7": -plug_in["qqp_02"].mean},
    plug_in["sst2_02"].high < 0,
    plug_in["qqp_02"].high < 0,
)
agreed = [e for t, e in plug_in.items() if t not in ("qqp_02", "qqp_30", "sst2_02", "sst2_30")]
claim(
    "On each of the twenty-three tasks whose shares agree, the interval includes 0",
    len(agreed) == 23,
    all(e.low <= 0 <= e.high for e in agreed),
)
