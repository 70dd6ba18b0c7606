# The checks of 01_imbalance.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 1.2
share = {name: real[name].positive / sum(real[name]) for name in order}
reading, entity = order[:2], order[2:5]
claim(
    "In reading there are about sixty to a hundred and forty negatives for each positive",
    all(55 < real[n].ratio < 145 for n in reading),
)
claim(
    "In the recognition of entities there are five to nineteen",
    all(4.5 < real[n].ratio < 19.5 for n in entity),
)
claim("In entity recognition they are between a twentieth and a sixth; in MRPC two thirds",
      all(0.045 < share[n] < 0.18 for n in entity), abs(share["mrpc"] - 2 / 3) < 0.02)  # fmt: skip
ratios = [count.ratio for count in real.values()]
claim(
    "From MRPC to SQuAD it spans a factor of more than a hundred", max(ratios) / min(ratios) > 100
)
check = []
for row in table_1:
    (few, many), (low, high) = row.bounds("negatives"), row.bounds("positives")
    smallest, largest = few / high, many / low
    stands = smallest <= row.bounds("ratio")[1] and row.bounds("ratio")[0] <= largest
    check.append((row.corpus_title, stands))
squad = real["squad11"]
questions = next(r for r in records if r["parameters"]["corpus"] == "squad11")["metrics"]["rows"]
claim(
    "for SQuAD 1.1 we count 58.88 negatives for each positive, where the table prints 55.9",
    {"58.88": squad.ratio, "55.9": printed["squad11"]},
    squad.positive == 2 * questions,
    [title for title, stands in check if not stands] == ["SQuAD 1.1"],
)

# %% 1.3
nothing, something = scores["always O"], scores["memory"]
claim("is right for almost nine tokens in ten", 85 < nothing[0] < 90)
claim(
    "gains five points of accuracy and thirty of F1",
    abs(something[0] - nothing[0] - 5) < 1,
    abs(something[1] - nothing[1] - 30) < 3,
)
apart = curves["accuracy, memory"] - curves["accuracy, always O"]
claim(
    "both dashed lines rise above 95% and come together",
    bool(curves["accuracy, always O"].is_monotonic_increasing),
    bool(curves["accuracy, memory"].is_monotonic_increasing),
    curves["accuracy, always O"].iloc[-1] > 95,
    bool(apart.is_monotonic_decreasing),
)
claim("separates the two taggers by only 1.4 points", {"1.4": apart[30]})
claim("The full lines stay 17 points apart and more", curves["F1, memory"].min() > 17)
assert (curves["F1, always O"] == 0).all()

# %% 1.4
jump = moved[int(np.flatnonzero(np.diff(steps))[0])]
claim(
    "The curve is flat, jumps once at 0.5, and is flat again", len(set(steps)) == 2, {"0.5": jump}
)

# %% 1.5
claim("59 times in SQuAD 1.1", {"59": ratio_of["squad11"][0]})
claim("both sides are equal", all(np.isclose(after, 1) for _, after in ratio_of.values()))
y_more, guess_more = (np.concatenate([v, np.zeros(1_000_000, bool)]) for v in (y, guess))
parts = np.split(np.arange(1000), 10)
parts_f1 = np.mean([f1(y[i], guess[i]) for i in parts])
claim("For F1 this is not true", abs(parts_f1 - f1(y, guess)) > 0.001)
claim("accuracy goes to almost 100%, and F1 does not move", f1(y, guess) == f1(y_more, guess_more))
