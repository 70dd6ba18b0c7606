# The checks of 19_other_remedies.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 19.1
claim(
    "its threshold is 0.5 with every exponent",
    {"0.5": both["focal, γ = 5"][0]},
    all(abs(c - 0.5) < 0.01 for pair in both.values() for c in pair),
)

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
claim(
    "With τ = 1 the threshold is 0.05, and F1 is lower than without any adjustment",
    {"0.05": swept["threshold"][1.0]},
    swept["F1"][1.0] < swept["F1"][0.0],
)
claim("0.26 on the book's toy", {"0.26": f1_best / 2}, abs(t_best - 0.26) < 0.005)

# %% 19.3
column = balanced["threshold"]
claim(
    "The threshold runs from 0.5 to 0.05, and passes 0.26 near β = 0.996",
    {"0.5": column.iloc[0], "0.05": column.iloc[-1], "0.26": column.iloc[2], "0.996": beta_best},
)
for b, threshold in zip(betas, column, strict=True):
    assert abs(threshold - built_in_threshold(partial(class_balanced, beta=b))) < 1e-9


# %% 19.4
logits, labels = torch.linspace(-4, 4, 9), torch.arange(9.0) % 2
torch.testing.assert_close(  # with equal exponents and nothing forgiven it is focal loss
    asymmetric(logits, labels, 2.0, 2.0, 0.0),
    make_loss("binary_fl", gamma=2.0, reduction="none")(logits, labels),
)
far = 1e6  # a smoothing term of a million
torch.testing.assert_close(  # the ε-term is γ times Eq. 6 as γ → ∞
    (poly(logits, labels, 1.0) - cross_entropy(logits, labels)).mean(),
    far * make_loss("binary_eq6", smooth=far)(logits, labels),
    rtol=1e-5,
    atol=1e-5,
)
for name, loss in three.items():
    assert abs(thresholds[name] - threshold_on_request(loss)) < 0.01
for largest in (0.5, 2.0, 15.0):
    one, two = (1 / (1 + math.exp(-d)) for d in (largest, largest * (100 / 1900) ** 0.25))
    assert abs(two / (one + two) - built_in_threshold(partial(ldam, largest=largest))) < 1e-9
    assert two / (one + two) > 1 / 3
claim("with the usual largest margin it is 0.473", {"0.473": thresholds["LDAM"]})
claim("Poly loss is symmetric, so its threshold is 0.5", {"0.5": thresholds["poly"]})
usual = thresholds["asymmetric, γ₊ 0, γ₋ 4, δ 0.05"]
claim("with its usual settings the threshold is at 0.128", {"0.128": usual})

# %% 19.5
claim("For the threshold 0.26 one keeps $k = 0.35$ of them", {"0.35": t_best / (1 - t_best)})
claim("between six and seven negatives for each positive", 6 < 19 * t_best / (1 - t_best) < 7)
claim(
    "With the shift taken back, all values of F1 are within 0.02 of each other",
    sampling["F1 at m > 0"].idxmax() in (3.0, 6.7),
    sampling["F1 at m > 0"].iloc[0] < 0.4,
    sampling["F1 at m > −log k"].max() - sampling["F1 at m > −log k"].min() < 0.02,
)

# %% What else do they do?
claim(
    "Logit adjustment is level with cross entropy to the last digit",
    found["logit adjustment, τ = 1"] == found["cross entropy"],
)
claim(
    "Weights and dice find a better model, and all of their intervals exclude 0",
    all(
        gains[name].low > 0
        for name in ("class-balanced, β = 0.9999", "dice linear, set", "dice squared, set")
    ),
)
claim(
    "the asymmetric loss, poly loss and LDAM are within 0.01 of cross entropy",
    all(abs(gains[name].mean) < 0.01 for name in ("LDAM", "poly, ε = 2", "asymmetric")),
)

# %% 19.7
of_three = {arm: pooled[arm, "argmax"] for arm in ("logit_adjustment", "wce", "dice")}
tuned_of_three = {arm: pooled[arm, "tuned"] for arm in of_three}
claim(
    "logit adjustment and class weights gain about four points each",
    all(abs(of_three[arm].over_all.mean - 4) < 0.3 for arm in ("logit_adjustment", "wce")),
    of_three["dice"].over_all.mean > 0,
)
claim(
    "On twenty-seven real tasks class weights gain 4.1 points of F1 over cross entropy at argmax, Tversky loss gains 3.3 and dice 1.8",
    {"3.3": pooled["tversky_start", "argmax"].over_all.mean},
    {"4.1": of_three["wce"].over_all.mean, "1.8": of_three["dice"].over_all.mean},
    len(effects["wce", "argmax"]) == len(effects["dice", "argmax"]) == 27,
    all(p.over_all.low < 0 < p.over_all.high for p in tuned_of_three.values()),
)
claim(
    "none of eight remedies is distinguishable from cross entropy",
    sum(how == "tuned" and arm != "ce" for arm, how in pooled) == 8,
    all(p.over_all.low < 0 < p.over_all.high for (_, how), p in pooled.items() if how == "tuned"),
)
later = ("focal_start", "dsc_start", "tversky_start")
claim(
    "Focal loss, self-adjusting dice and Tversky loss, all from the log prior, have two",
    all(e.searches == 2 for arm in later for e in effects[arm, "argmax"]),
    all(e.searches == 5 for arm in of_three for e in effects[arm, "argmax"]),
)
claim(
    "Tversky loss gains 3.3",
    {"3.3": pooled["tversky_start", "argmax"].over_all.mean},
    pooled["tversky_start", "argmax"].over_all.low > 0,
)
claim(
    "Dice from a bias near 0 and self-adjusting dice gain less than two points",
    pooled["dsc_start", "argmax"].over_all.mean < 2,
    of_three["dice"].over_all.mean < 2,
    pooled["dsc_start", "argmax"].over_all.low > 0,
)
of_focal = pooled["focal_start", "argmax"].over_all
claim(
    "Focal loss, which is symmetric, gains nothing that we can see",
    of_focal.low < 0,
    of_focal.mean < 0,
)
asked = searched.secondary(study, searched.ALSO)
names = [
    f"{arm} minus cross entropy, argmax" for arm in ("logit adjustment", "class weights", "dice")
]
(adjusted, p_adjusted), (weighted, p_weighted), (dice, p_dice) = (asked[name] for name in names)
claim(
    "The intervals of logit adjustment, class weights and dice exclude 0, and their p-values are 0.009, 0.008 and 0.006",
    all(p.over_all.low > 0 for p in of_three.values()),
    {"0.009": adjusted.p, "0.008": weighted.p, "0.006": dice.p},
)
claim(
    "After a correction for the thirteen questions that we asked, they are 0.097, 0.097 and 0.077, so none of these gains is significant",
    {"0.097": p_adjusted},
    {"0.097": p_weighted},
    {"0.077": p_dice},
    len(asked) == 13,
    all(p > 0.05 for name, (_, p) in asked.items() if "argmax" in name),
)
claim(
    "On tasks of tags all gains are within a point of 0",
    all(
        abs(p.strata["tags"].mean) < 1
        for (_, how), p in pooled.items()
        if how == "argmax" and "tags" in p.strata
    ),
)
of_weights = {e.task: e.mean for e in effects["wce", "argmax"]}
largest = sorted(of_weights, key=of_weights.get)[-2:]
sizes = {t: next(r for r in study[t] if r["kind"] == "task")["sizes"] for t in largest}
claim(
    "largest on two tasks in which positives are five times as frequent in the test as in training. There class weights gain 20 points and more",
    {"20": of_weights["sst2_02"]},
    of_weights["qqp_02"] > of_weights["sst2_02"],
    sorted(largest) == ["qqp_02", "sst2_02"],
    all(abs(s["train"]["positive"] / s["train"]["rows"] - 0.02) < 0.001 for s in sizes.values()),
    all(abs(s["test"]["positive"] / s["test"]["rows"] - 0.1) < 0.002 for s in sizes.values()),
)
claim(
    "the intervals of all remedies include 0, and no mean is further from 0 than a third of a point",
    all(p.over_all.low < 0 < p.over_all.high for (_, how), p in pooled.items() if how == "tuned"),
    all(abs(p.over_all.mean) < 1 / 3 for (_, how), p in pooled.items() if how == "tuned"),
)
of_tversky = {e.task: e.mean for e in effects["tversky_start", "argmax"]}
claim(
    "and Tversky loss gains 14 and more",
    {"14": of_tversky["sst2_02"]},
    of_tversky["qqp_02"] > of_tversky["sst2_02"],
    sorted(of_tversky, key=of_tversky.get)[-2:] == ["sst2_02", "qqp_02"],
)
claim(
    "Between cross entropy from a bias near 0 and from the log prior we found no measurable difference on average, at argmax or tuned",
    all(
        pooled["ce", how].over_all.low < 0 < pooled["ce", how].over_all.high
        for how in ("argmax", "tuned")
    ),
)
(other_start,) = [e for e in effects["ce", "tuned"] if e.task == "sst2_02"]
claim(
    "on `sst2_02`, tuned, the log prior is 7.9 points lower",
    {"7.9": other_start.mean},
    other_start.low > 0,
)
plug_in = {e.task: e for e in searched.effects_of(study, searched.PLUG_IN)}
over = searched.pool(list(plug_in.values())).over_all
claim(
    "its mean F1 is not distinguishable from that of the threshold that is tuned on labels",
    over.low < 0 < over.high,
    len(plug_in) == 27,
)
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
