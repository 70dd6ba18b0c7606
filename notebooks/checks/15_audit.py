# The checks of 15_audit.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim


def too_high():
    """Printed F1 minus that of P and R, for each row that contradicts itself."""
    return {label(row): row.f1 - recomputed(row)[0] for row in off}


def of_blocks():
    """The gains and the best loss of each block, printed and computed."""
    return pd.DataFrame(changes, ["fl", "dl", "dsc", "printed", "computed"]).T


# %% 15.2
off_by = too_high()
claim("The list has the same fifteen rows", len(off) == 15, list(gap) == [label(r) for r in off])
claim(
    "fifteen contradict themselves. For some rows the error is larger than the gain that they print",
    len(off) == 15,
    sum("delta" in r.printed and abs(gap[label(r)]) > abs(r.value("delta")) for r in off) > 1,
)
claim(
    "The longest bars are Glyce-BERT on OntoNotes 4.0",
    [name.split(": ")[1] for name in sorted(gap, key=lambda k: -abs(gap[k]))[:3]]
    == ["Glyce-BERT", "BERT+FL", "BERT-Tagger+DSC"],
    round(recomputed(off[-1])[0] - off[-1].f1) == 1,
)

claim(
    "All eight BERT rows of Table 4 are there, and seven of them have an F1 that is too high",
    sum(key.startswith("T4") for key in off_by) == 8,
    sum(key.startswith("T4") and value > 0 for key, value in off_by.items()) == 7,
)
claim(
    "Below them are five rows of Table 5, all of them baselines that cite another work",
    [bool(row.source) for row in off if row.table == 5] == [True] * 5,
)
claim(
    "For four of the fifteen you do not even need a calculator",
    sum(not min(r.precision, r.recall) <= r.f1 <= max(r.precision, r.recall) for r in off) == 4,
)

# %% 15.3
off_by = too_high()
wanted = {
    label(row): np.sqrt(2 * (row.precision + row.recall) * (recomputed(row)[0] - row.f1))
    for row in off
    if row not in above
}
claim("Nine of the fifteen lie above, where a mean never leads", len(above) == 9)
claim(
    "Of the six below, two miss by a hundredth", sum(0 > g > -0.015 for g in off_by.values()) == 2
)
claim("to spread by about 2 points over the runs", {"2": sorted(wanted.values())[1]})
claim(
    "it would have to swing by 11 to 18 points",
    {"11": sorted(wanted.values())[2], "18": max(wanted.values())},
)

claim(
    "59% of such rows would be off by more than a tenth of a point",
    {"59%": shares["independent"]["more than 0.1"]},
)
claim(
    "in either direction",
    min(np.mean(side * medians["independent"] > 0.1) for side in (1, -1)) > 0.2,
)
claim(
    "medians could explain the seven rows that are off by 0.08 to 0.25",
    sum(0.075 < g < 0.255 for g in off_by.values()) == 7,
)
claim(
    "They could hardly explain the longest bars of the figure",
    max(np.mean(np.abs(apart) > 0.6) for apart in medians.values()) < 0.1,
)

by_devlin = [row for row in cited if "Devlin" in row.source]
claim("Eight of the fifteen rows cite another work", len(cited) == 8, len(off) == 15)
claim("Three of the eight cite Devlin et al.", len(by_devlin) == 3)

# %% 15.7
kept_positives = 0.37 * n
claim(
    '21% of "+ negative" are positive, and it has to be about 29%. For 21% one would have to drop more than a quarter of the positives',
    {"29%": kept_positives / total},
    1 - 0.21 * total / kept_positives > 0.25,
)

# %% 15.8
claim(
    "All four of its baselines have the same digits",
    all(
        score(7, name, model) == published
        for model, by_corpus in dev_accuracy.items()
        for name, published in by_corpus.items()
    ),
)
tp = {0.68: 68 - 6.0, 0.37: 37 - 4.35}
claim(
    "An accuracy of 88.0 on MRPC goes with an F1 near 91, one of 91.3 on QQP with an F1 near 88",
    {"91": 100 * tp[0.68] / (tp[0.68] + 6.0), "88": 100 * tp[0.37] / (tp[0.37] + 4.35)},
)
computed = of_blocks()
claim(
    "DSC remains first in eight of the nine blocks",
    len(computed) == 9,
    (computed.computed == "DSC").sum() == 8,
)
printed_gain, its_gain = computed.loc["T4 English Tweets", "dsc"].split(" → ")
claim(
    "In Table 3 one gain changes. In Table 4 DSC's gain on the tweets is about four times what is printed",
    sum(len(set(c.split(" → "))) == 2 for c in computed.iloc[:3, :3].to_numpy().ravel()) == 1,
    round(float(its_gain) / float(printed_gain)) == 4,
)
claim(
    "all three losses are below it",
    computed.loc["T5 CoNLL 2003", ["fl", "dl", "dsc"]].tolist()
    == ["+0.06 → −0.35", "+0.12 → −0.29", "+0.29 → −0.13"],
)

# %% 15.10
claim(
    "Four of six accuracies and two of four recalls are of that kind",
    sum(
        not whole_numbers(row.accuracy, {"sst2": 1821, "sst5": 2210}[row.corpus])
        for row in tables[9].rows
    )
    == 4,
    sum(
        not whole_numbers(row.recall, 5648)
        for row in tables[5].rows
        if row.corpus == "conll03" and row.recall is not None
    )
    == 2,
)
claim(
    "94.90 may be a 94.9 with one digit, and a count exists for that one",
    round(172800 / 1821, 1) == 94.9,
)
claim(
    "DSC's accuracy on SST-2 fits a count of the development set as well as one of the test set",
    whole_numbers(94.84, 872) == [827],
    whole_numbers(94.84, 1821) == [1727],
)

# %% 15.11
claim("The best of 40 lies 0.39 standard deviations above", {"0.39": of_40 - of_16})
claim(
    "With a standard deviation of 0.5 points dice leads by 0.20 points without being better",
    {"0.20": 0.5 * (of_40 - of_16)},
)
gain = score(6, "squad11", "BERT+DSC") - score(6, "squad11", "BERT")
claim("the paper prints a gain of 1.07 points", {"1.07": gain})
claim("the standard deviation would have to be 2.7 points", {"2.7": gain / (of_40 - of_16)})

# %% Summary
computed = of_blocks()
claim(
    "Of fifty such rows thirty-five agree within rounding, a mean over runs could explain two "
    "more, and thirteen remain",
    len(complete) == 50,
    len(complete) - len(off) == 35,
)
claim("All ninety printed gains follow from the printed scores", len(gains) == 90, not impossible)
repeated = [round(score(n, c, m, k) - score(n, c, b, k), 2) == x for _, n, c, m, b, k, x in said]
claim("Twelve of thirteen agree", sum(repeated) == 12, len(repeated) == 13)
claim(
    "DSC stays first in eight of nine blocks and loses to cross entropy on CoNLL 2003",
    (computed.computed == "DSC").sum() == 8,
    computed.loc["T5 CoNLL 2003", "computed"] == "CE",
)
tens = {row.corpus: row.f1 for row in tables[10].rows if row.variant == "alpha = 0.5"}
claim(
    "the middle row of Table 10 equals DSC",
    tens["ontonotes4_zh"] == score(5, "ontonotes4_zh", "BERT-MRC+DSC"),
    tens["quoref"] == score(6, "quoref", "BERT+DSC"),
)
