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
claim(
    "fifteen contradict themselves. For some rows the error is larger than the gain that they print",
    len(off) == 15,
    sum("delta" in r.printed and abs(gap[label(r)]) > abs(r.value("delta")) for r in off) > 1,
)

claim(
    "All eight BERT rows of Table 4 are there, and seven of them have an F1 that is too high",
    sum(key.startswith("T4") for key in off_by) == 8,
    sum(key.startswith("T4") and value > 0 for key, value in off_by.items()) == 7,
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
    "medians could explain the seven rows that are off by 0.08 to 0.25",
    sum(0.075 < g < 0.255 for g in off_by.values()) == 7,
)
claim("Eight of the fifteen rows cite another work", len(cited) == 8, len(off) == 15)

# %% 15.7
kept_positives = 0.37 * n
claim(
    '21% of "+ negative" are positive, and it has to be about 29%. For 21% one would have to drop more than a quarter of the positives',
    {"29%": kept_positives / total},
    1 - 0.21 * total / kept_positives > 0.25,
)

# %% 15.8
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
    "DSC's accuracy on SST-2 fits a count of the development set as well as one of the test set",
    whole_numbers(94.84, 872) == [827],
    whole_numbers(94.84, 1821) == [1727],
)

# %% 15.11
claim("The best of 40 lies 0.39 standard deviations above", {"0.39": of_40 - of_16})
gain = score(6, "squad11", "BERT+DSC") - score(6, "squad11", "BERT")
claim("the paper prints a gain of 1.07 points", {"1.07": gain})
claim("the standard deviation would have to be 2.7 points", {"2.7": gain / (of_40 - of_16)})
