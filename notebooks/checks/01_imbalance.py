# The checks of 01_imbalance.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 1.2
reading, entity = order[:2], order[2:5]
claim(
    "In reading there are about sixty to a hundred and forty negatives for each positive",
    all(55 < real[n].ratio < 145 for n in reading),
)
claim(
    "In the recognition of entities there are five to nineteen",
    all(4.5 < real[n].ratio < 19.5 for n in entity),
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
claim("separates the two taggers by only 1.4 points", {"1.4": apart[30]})
