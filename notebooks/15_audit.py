# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 15 An audit of the printed tables
#
# You read a paper, you find a table with precision, recall and F1, and you want to quote one of its numbers.
# Can you trust it? You have not seen the predictions, and you cannot repeat the runs. However, such a row tests
# itself, because F1 follows from precision and recall. A pocket calculator is enough.
#
# In this chapter we do this test for every table of the paper {cite}`li2020dice`. Fifty rows print all three
# numbers, and fifteen of them contradict themselves. For some rows the error is larger than the gain that
# they print. Some of the printed F1s are too high, others too low, and most rows agree with themselves. We
# ask what could explain the fifteen rows, and which conclusions change if we correct them.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who are about to quote a number of the paper, or to build on one.
# - **You need** precision, recall and F1 (chapter 03).
# - **You will be able to** check a table of scores by arithmetic, and say what rounding, averaging or a
#   definition could explain and what they could not.
# - **Time** under a minute on a CPU. A GPU does not help.
#
# </details>

# %% tags=["remove-cell"]
# Without dicebook, this cell installs it if `make repository` has set an address, and else says how.
try:
    __import__("dicebook")
except ModuleNotFoundError:
    _install = """print("dicebook is missing: in a clone, run pip install '.[book]'")"""
    get_ipython().run_cell(_install)

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sympy as sp
from IPython.display import Math, display

from dicelab.figures import use_style
from dicelab.records import paper

use_style()
pd.set_option("display.max_colwidth", 60)
tables = paper.tables()


# %% tags=["remove-cell"]
def label(row):
    return f"T{row.table} {row.corpus_title}: {row.model}"


def signed(points):
    """A difference with its sign; what rounds to zero has none."""
    text = f"{points:+.2f}".replace("-", "−")
    return "0.00" if text in {"+0.00", "−0.00"} else text


def beyond_rounding(row):
    """Printed F1 minus that of P and R, in points; 0 where rounding explains it."""
    bounds = zip(row.bounds("precision"), row.bounds("recall"), strict=True)
    low, high = (2 * p * r / (p + r) for p, r in bounds)
    least, most = row.bounds("f1")
    p, r = row.precision, row.recall
    return 0 if low <= most and least <= high else row.f1 - 2 * p * r / (p + r)


# %% mystnb={"code_prompt_show": "Code of Figure 15.1", "figure": {"caption": "Figure 15.1. The fifteen rows whose numbers do not agree: printed F1 minus the F1 of the printed P and R, in points.", "name": "fig-15-1"}, "image": {"alt": "Fifteen horizontal bars. Nine go to the right, up to +0.72 for focal loss on UD 1.4. Six go to the left: two by a hundredth, then OntoNotes 5 BERT-MRC by 0.33, CoNLL 2003 BERT-MRC by 0.42, DSC on tweets by 0.62 and Glyce-BERT on OntoNotes 4 by 1.01."}} tags=["hide-input"]
full = [
    row
    for table in tables.values()
    for row in table.rows
    if row.precision is not None and row.f1 is not None
]
gap = {label(row): beyond_rounding(row) for row in full if beyond_rounding(row)}
fig, ax = plt.subplots(figsize=(6.6, 4.1))
ax.barh(list(gap), list(gap.values()), color="#D55E00")
for y, value in enumerate(gap.values()):
    at, side = (value + 0.02, "left") if value > 0 else (value - 0.02, "right")
    ax.text(at, y, signed(value), va="center", ha=side, size=8.5)
ax.axvline(0, color="black", linewidth=1)
ax.tick_params(axis="y", labelsize=8.5)
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
ax.set(xlim=(-1.35, 1.05), xlabel="printed F1 minus F1 of P and R, points")
plt.show()

# %% [markdown]
# A bar to the right means that the printed F1 is too high, a bar to the left that it is too low. If only
# rounding were at work, you would see no bar at all. The longest bars are Glyce-BERT on OntoNotes 4.0, BERT+FL
# on UD 1.4 and DSC on the tweets. The first of them is a full point too low, which is more than most gains in
# the paper.
#
# The numbers are those of the final version of the paper, and the second arXiv version prints the same. Before we
# call a row wrong, we must know how much rounding can do.
#
# ## 15.1 What rounding allows
#
# (eq-15-1)=
# We want to recompute F1 from what is printed. F1 is the harmonic mean of precision P and recall R ([Eq.
# 4](eq-4)):
#
# $$ \mathrm{F1} = H(P, R) = \frac{2 P R}{P + R} \tag{15.1} $$
#
# In words: twice the product, divided by the sum. However, the printed numbers are rounded. A printed 92.33 can have
# been anything from 92.325 to 92.335. So the question is not whether the three printed numbers fit exactly. It is
# whether *any* P and R inside their intervals have an F1 that rounds to what is printed.
#
# To find the smallest and the largest possible F1, we ask how H changes when P or R grows. Its slopes are

# %% mystnb={"code_prompt_show": "Code of these formulas"} tags=["hide-input"]
P, R = sp.symbols("P R", positive=True)
H = 2 * P * R / (P + R)
slopes = [sp.factor(sp.diff(H, v)) for v in (P, R)]
Math(
    r",\quad ".join(
        rf"\partial H/\partial {v} = {sp.latex(s)}" for v, s in zip("PR", slopes, strict=True)
    )
)


# %% [markdown]
# (eq-15-2)=
# Each slope is made of squares and a factor of two, and is therefore positive. So F1 is smallest when P and R
# are at the lower ends of their intervals, and largest when both are at the upper ends. Let h be half a unit
# of the last printed digit. A row is consistent if
#
# $$
# \begin{aligned}
# &\big[\,H(P - h,\, R - h),\; H(P + h,\, R + h)\,\big] \\
# &\quad \cap\; [\,\mathrm{F1} - h,\, \mathrm{F1} + h\,] \neq \varnothing
# \end{aligned} \tag{15.2}
# $$
#
# Read aloud: the first interval contains every F1 that the printed P and R allow. The second contains every
# number that is printed as this F1. The row is consistent if the two intervals have a point in common. In
# code, with one row of Table 5 as an example:

# %%
def f1_of(precision, recall):  # Eq. 15.1
    return 2 * precision * recall / (precision + recall)


def recomputed(row):
    """F1 of the printed P and R, and what their rounding allows."""
    p_low, p_high = row.bounds("precision")
    r_low, r_high = row.bounds("recall")
    printed = f1_of(row.precision, row.recall)
    return printed, f1_of(p_low, r_low), f1_of(p_high, r_high)


def consistent(row):  # Eq. 15.2
    _, low, high = recomputed(row)
    printed_low, printed_high = row.bounds("f1")
    return low <= printed_high and printed_low <= high


row = next(r for r in tables[5].rows if r.model == "BERT-MRC+DSC")
allowed = np.round(recomputed(row)[1:], 3)
print(f"P {row.precision}, R {row.recall}: F1 in {allowed}, print {row.f1}")

# %% [markdown]
# This row passes. The test is strict, because rounding leaves a window of only one hundredth of a point. How
# many rows pass?
#
# ## 15.2 Fifty rows
#
# We take every row that prints all three numbers, and list those that fail.

# %%
complete = [
    row
    for table in tables.values()
    for row in table.rows
    if row.precision is not None and row.f1 is not None
]
off = [row for row in complete if not consistent(row)]
print(f"{len(complete)} rows print P, R and F1; {len(off)} do not agree")


# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
def line(row):
    numbers = {"P": row.precision, "R": row.recall, "F1 printed": row.f1}
    return {**numbers, "F1 of P, R": round(recomputed(row)[0], 2), "cites": row.source or ""}


pd.DataFrame([line(row) for row in off], index=[label(row) for row in off])


# %% [markdown]
# The list has the same fifteen rows as [Figure 15.1](fig-15-1). All eight BERT rows of Table 4 are there, and
# seven of them have an F1 that is too high. Below them are five rows of Table 5, all of them baselines that
# cite another work. For four of the fifteen you do not even need a calculator: a harmonic mean lies between
# its two numbers, and in these four rows the printed F1 does not.
#
# A contradiction says that at least one of the three numbers is wrong. It does not say which one, or why.
# Next we go through the possible reasons.

# %% [markdown]
# ## 15.3 What could explain them
#
# We go from the most harmless explanation to the least harmless one, and ask each time how many rows it could
# explain.
#
# **Truncation.** Perhaps the authors dropped digits instead of rounding them. Then a printed 92.33 was at
# least 92.33 and below 92.34, and all intervals move up by half of that width:

# %%
def consistent_if_truncated(row):
    low = f1_of(row.precision, row.recall)
    high = f1_of(row.precision + 0.01, row.recall + 0.01)
    return low < row.f1 + 0.01 and row.f1 < high


explained = sum(consistent_if_truncated(row) for row in off)
print(f"explained by truncation: {explained} of {len(off)}")

# %% [markdown]
# Truncation explains none of the fifteen rows.
#
# **A mean over runs.** Perhaps each number is a mean over several runs. The mean of the F1s need not be the F1
# of the mean P and the mean R. On which side does it lie? The answer is in the curvature of H:

# %% mystnb={"code_prompt_show": "Code of these formulas"} tags=["hide-input"]
hessian = sp.simplify(sp.hessian(H, (P, R)))
det = sp.simplify(hessian.det())
display(Math(rf"\nabla^2 H = {sp.latex(hessian)}, \quad \det = {det}"))

# %% [markdown]
# (eq-15-3)=
# The diagonal is negative and the determinant is zero, which means that H is concave: it bends downwards. For
# such a function Jensen's inequality says that a mean of F1s can lie **below** the F1 of the means, but never
# above it.
#
# How far below? We write H in terms of the sum $S = P + R$ and the difference $D = P - R$. Because
# $S^2 - D^2 = 4PR$,
#
# $$ H(P, R) = \frac{S}{2} - \frac{D^2}{2 S} $$
#
# F1 is half of the sum, minus a penalty for the difference. If S hardly moves from run to run, only the penalty
# varies. The mean of $D^2$ is larger than the square of the mean of D, by the variance of D. So
#
# $$ H(\bar P, \bar R) - \overline{\mathrm{F1}} \;\approx\; \frac{\mathrm{Var}(P - R)}{2\,(\bar P +
# \bar R)} \tag{15.3} $$
#
# In other words, the gap is the variance of precision minus recall, divided by twice the sum of their means.
# With scores near 90 that divisor is about 360, so the gap is small. We solve the formula for the standard
# deviation that each row would need:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
above = [row for row in off if row.f1 > recomputed(row)[0]]
print(f"{len(above)} of {len(off)} are above: no mean over runs can do that. The others:")
for row in off:
    gap = recomputed(row)[0] - row.f1
    if gap > 0:
        spread = np.sqrt(2 * (row.precision + row.recall) * gap)
        print(f"  {label(row):34} {gap:.2f} below: P − R with standard deviation {spread:.1f}")

# %% [markdown]
# In nine of the fifteen rows the printed F1 lies above that of P and R, which a mean over runs cannot cause. Of the
# six below, two miss by a hundredth. For these two, precision minus recall needs a standard deviation of about 2
# points over the runs, which is plausible. For the other four it would have to be 11 to 18 points, too much for runs
# of one model. A mean over runs could therefore explain two rows, and thirteen remain. If you publish means yourself,
# print the mean of the F1s, and say so.

# %% [markdown]
# **A median over runs.** A median is another way to summarise runs. The median F1 may lie on either side of
# the F1 of the medians. We simulate it. Take five runs whose P and R scatter by one point around 93, either
# independently or in opposite directions (a correlation of −0.8). For which share of such rows does the
# median F1 differ from the F1 of the medians? The table has the share for three sizes of the difference:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
random = np.random.default_rng(1)
medians, shares = {}, {}
for name, correlation in (("independent", 0.0), ("opposed, −0.8", -0.8)):
    scatter = random.multivariate_normal(
        [93, 93], [[1, correlation], [correlation, 1]], (40_000, 5)
    )
    of_p, of_r = np.median(scatter, axis=1).T
    apart = np.median(f1_of(scatter[..., 0], scatter[..., 1]), axis=1) - f1_of(of_p, of_r)
    medians[name] = apart
    shares[name] = {f"more than {size}": np.mean(np.abs(apart) > size) for size in (0.1, 0.2, 0.4)}
pd.DataFrame(shares).T.map("{:.0%}".format)

# %% [markdown]
# Medians do more than you may expect. With independent scatter of one point, 59% of such rows would be off by
# more than a tenth of a point, and in either direction. So medians could explain the seven rows that are off
# by 0.08 to 0.25. They could hardly explain the longest bars of the figure. The paper does not say whether
# its numbers are single runs, means or medians.

# %% [markdown]
# **An average over classes.** A macro average is a mean over classes instead of runs. The same inequality
# holds, and again the mean lies below. So the nine rows that lie above cannot be macro averages. The six
# below could be, if precision minus recall differs enough from class to class.
#
# **Another definition of a span.** If you count spans in another way, precision, recall and F1 move together
# and still fit. There is one exception. Where spans overlap, the number of correct predictions and the number
# of gold spans that were found can differ. Then F1 need not follow from P and R.
#
# **The best of each.** Suppose that the best precision, the best recall and the best F1 come from different
# checkpoints. Because H grows with P and with R, the best F1 is then at most the F1 of the best P and the
# best R. So this could explain the six rows below, and none of the nine above.
#
# **A slip of the hand** could explain every row, and we cannot exclude it.
#
# **Somebody else's numbers.** Perhaps the authors copied a row from another paper, and the error with it. Eight
# of the fifteen rows cite another work.

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
cited = [row for row in off if row.source]
print(f"{len(cited)} rows cite, {len(off) - len(cited)} are the paper's own:")
print(", ".join(label(row) for row in off if not row.source))

# %% [markdown]
# Three of the eight cite Devlin et al., who report none of the corpora in question. In these three rows the
# citation is for the method, and the numbers are the paper's own.
#
# So apart from slips of the hand, no single explanation covers all fifteen rows. For Table 4, where most of
# them are, we can say a little more.

# %% [markdown]
# ## 15.4 One tag a word
#
# Table 4 is about part-of-speech tags in English. Every word has one true tag and gets one predicted tag. A
# wrong tag is therefore one false positive and one false negative at once, and precision, recall, F1 and
# accuracy are one number ([section 8.2](08_part_of_speech.ipynb)). However, Table 4 prints three different
# ones. This can happen if neighbours with the same tag are merged into one span. So merging could explain why
# Table 4 prints three different numbers. It does not explain an F1 that differs from H, because after merging the
# three numbers still fit.

# %% [markdown]
# ## 15.5 Ninety gains
#
# What most people quote is not a score but a gain. Each of the paper's own rows in Tables 3 to 8 prints its
# gain over the baseline. This gain should be the difference of two printed scores. The difference of two
# rounded numbers may miss the rounded difference by one unit. We allow for that:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
gains = [
    (row, cell, gain)
    for table in tables.values()
    for row in table.rows
    for cell, gain in (("f1", "delta"), ("em", "delta_em"))
    if gain in row.printed
]
inexact, impossible = [], []
for row, cell, gain in gains:
    base = tables[row.table].baseline(row)
    (low, high), (base_low, base_high) = row.bounds(cell), base.bounds(cell)
    gain_low, gain_high = row.bounds(gain)
    if round(row.value(cell) - base.value(cell), 2) != row.value(gain):
        inexact.append((label(row), row.value(cell), base.printed[cell], row.printed[gain]))
    if high - base_low < gain_low or low - base_high > gain_high:
        impossible.append(label(row))
print(f"{len(gains)} gains, {len(inexact)} differ by a hundredth, {len(impossible)} are impossible")
pd.DataFrame(inexact, columns=["row", "score", "baseline", "printed gain"]).set_index("row")


# %% [markdown]
# Three gains differ by a hundredth, which rounding explains. So all ninety gains follow from the printed scores. It
# also means that if a printed F1 is wrong, its gain is wrong with it. So before you quote a gain, check both of its
# scores.

# %% [markdown]
# ## 15.6 The claims of the text
#
# The text of the paper repeats some gains in its sentences. Do they agree with the tables?

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def score(number, corpus, model, cell="f1", variant=""):
    """A printed score."""
    found = [
        row
        for row in tables[number].rows
        if (row.corpus, row.model, row.variant) == (corpus, model, variant)
    ]
    return found[0].value(cell)


said = [  # section, table, corpus, model, baseline, cell, what the text says
    ("4.1", 3, "ctb5", "BERT+DSC", "BERT-Tagger", "f1", 1.86),
    ("4.1", 3, "ctb6", "BERT+DSC", "BERT-Tagger", "f1", 1.80),
    ("4.1", 3, "ud_zh", "BERT+DSC", "BERT-Tagger", "f1", 2.19),
    ("4.2", 5, "conll03", "BERT-MRC+DSC", "BERT-MRC", "f1", 0.29),
    ("4.2", 5, "ontonotes5", "BERT-MRC+DSC", "BERT-MRC", "f1", 0.96),
    ("4.2", 5, "msra", "BERT-MRC+DSC", "BERT-MRC", "f1", 0.97),
    ("4.2", 5, "ontonotes4_zh", "BERT-MRC+DSC", "BERT-MRC", "f1", 2.36),
    ("4.3", 6, "squad11", "XLNet+DSC", "XLNet", "f1", 1.25),
    ("4.3", 6, "squad11", "XLNet+DSC", "XLNet", "em", 0.84),
    ("4.3", 6, "quoref", "XLNet+DSC", "XLNet", "em", 1.46),
    ("4.3", 6, "quoref", "XLNet+DSC", "XLNet", "f1", 1.41),
    ("4.4", 7, "mrpc", "XLNet+DSC", "XLNet", "f1", 0.58),
    ("4.4", 7, "qqp", "XLNet+DSC", "XLNet", "f1", 0.73),
]

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
title_of = {row.corpus: row.corpus_title for table in tables.values() for row in table.rows}
for section, number, corpus, model, base, cell, repeated in said:
    gain = round(score(number, corpus, model, cell) - score(number, corpus, base, cell), 2)
    verdict = "agrees" if gain == repeated else f"differs: the table gives {gain:+.2f}"
    at = f"section {section}, Table {number}, {title_of[corpus]:13} {cell.upper():2}"
    print(f"{at}: {repeated:+.2f} {verdict}")
print("gains printed for DSC on QQP:", *(r.printed["delta"] for r in tables[7].rows[11::4]))

# %% [markdown]
# Twelve of thirteen agree. The gain of 0.73 on QQP is nowhere in Table 7. The last line shows the two gains
# of DSC on QQP that the table prints, and both are larger.
#
# ## 15.7 Table 8: how imbalanced were the sets?
#
# For its question about imbalance the paper makes five training sets from QQP, and says how large each is and
# which share of it is positive. The original has 363,871 pairs, of which 37% are positive. Two sets are
# balanced: "+ positive" with 458,477 pairs and "− negative" with 269,165. The set "+ negative" has 458,477
# pairs as well. It only adds negatives, so its number of positives must be that of the original. What does
# that say about its share of positives?

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
n, total = 363_871, 458_477
low, high = (round(n * share) for share in (0.365, 0.375))
print(f"positives in the original: {low:,} to {high:,}")
print(
    f"negatives in the original: {n - high:,} to {n - low:,}; half of {total:,} is {total // 2:,}"
)
print(
    f"+ negative: {100 * low / total:.1f}% to {100 * high / total:.1f}% positive; the text says 21%"
)
print(f"− negative: 269,165 / 2 = {269_165 // 2:,} positives: within the first interval")

# %% [markdown]
# The sizes fit each other. A balanced set that adds positives is twice as large as the negatives of the
# original, and one that drops negatives is twice as large as its positives. The share does not fit. The paper
# says that 21% of "+ negative" are positive, and it has to be about 29%. For 21% one would have to drop more
# than a quarter of the positives. So if the sizes are right, "+ negative" was less imbalanced than the paper
# says. [Section 12.9](12_degrees_of_imbalance.ipynb) reads Table 8.

# %% [markdown]
# ## 15.8 What the corrections do, table by table
#
# Does any of this change a conclusion? If the F1 of an inconsistent row is right, no conclusion changes. If
# its P and R are right, its F1 must be recomputed. We take the second case. Here is every gain of Tables 3 to
# 5, *printed → computed* from P and R, and the best loss by each of them:

# %% mystnb={"code_prompt_show": "Code of this table"} tags=["hide-input"]
changes = {}
for number in (3, 4, 5):
    for corpus in dict.fromkeys(row.corpus for row in tables[number].rows):
        own = [r for r in tables[number].rows if r.corpus == corpus and "delta" in r.printed]
        base = tables[number].baseline(own[0])
        gain = {r.loss: recomputed(r)[0] - recomputed(base)[0] for r in own}
        cells = [f"{signed(float(r.printed['delta']))} → {signed(gain[r.loss])}" for r in own]
        best = max(gain, key=gain.get) if max(gain.values()) > 0 else "ce"
        first = max(own, key=lambda r: r.f1).loss
        changes[f"T{number} {own[0].corpus_title}"] = [*cells, first.upper(), best.upper()]
pd.DataFrame(changes, ["FL", "DL", "DSC", "best, printed", "best, computed"]).transpose()

# %% [markdown]
# Each row is one corpus, and you can read it in two steps: did a gain change, and did the winner change? In Table 3
# one gain changes, in Table 4 all of them do. DSC's gain on the tweets is about four times what is printed, so this
# error works *against* the paper's method. DSC remains first on eight of the nine corpora. So most of the order in
# these tables does not depend on the contradictions.
#
# The exception is CoNLL 2003. There the recomputed F1 of the baseline is higher, and all three losses are
# **below** it. The sentence "DSC outperforms BERT-MRC by +0.29" therefore holds only if the baseline's P or R
# is misprinted.
#
# With the other tables we can do fewer tests. **Tables 6 and 9** print no P and R. **No table** names a seed, a
# number of runs or a spread, and [chapter 17](17_when_does_dice_help.ipynb) shows why you need them.
#
# **Table 7** calls its scores F1. However, all four of its baselines have the same digits as *accuracies on the
# development sets* of GLUE. These were published before, in one table {cite}`liu2019roberta`, for BERT-large
# and XLNet-large:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
dev_accuracy = {"BERT": {"mrpc": 88.0, "qqp": 91.3}, "XLNet": {"mrpc": 89.2, "qqp": 91.8}}
for model, by_corpus in dev_accuracy.items():
    for name, published in by_corpus.items():
        printed_f1 = score(7, name, model)
        print(f"{model:6} {name.upper():5} Table 7 {printed_f1}, published on dev {published}")

# %% [markdown]
# If the baselines are accuracies in Table 7 as well, then Table 7 compares F1s with accuracies. How different
# would the two measures be? Take a classifier that has as many false positives as false negatives:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
for corpus, share, accuracy in (("MRPC", 0.68, 88.0), ("QQP", 0.37, 91.3)):
    errors = (100 - accuracy) / 2  # FP = FN, in percent of all pairs
    true_positives = 100 * share - errors
    f1 = 100 * 2 * true_positives / (2 * true_positives + 2 * errors)
    print(f"{corpus}: {100 * share:.0f}% positive, accuracy {accuracy}: F1 about {f1:.1f}")

# %% [markdown]
# An accuracy of 88.0 on MRPC goes with an F1 near 91, so the baseline would look too weak there. On QQP,
# where positives are the minority, an accuracy of 91.3 goes with an F1 near 88, so the baseline would look
# too strong. Four equal numbers are no proof, however. In the authors' released code
# ([dice_loss_for_NLP](https://github.com/ShannonAI/dice_loss_for_NLP)) the script for BERT-large on MRPC
# notes a test F1 of **87.98** for cross entropy. This, too, would be printed as 88.0, so the baseline may be
# an F1 after all.
#
# **Were the contrasts fair?** A gain of a loss means something only if nothing else differs. The released
# scripts say how each loss was trained. Here are two tasks, and on neither of them were cross entropy and
# dice trained alike:
#
# | | cross entropy | dice |
# |---|---|---|
# | SQuAD 1.1, BERT-base: passes | 2 | 10 |
# | batch, accumulation | 12 × 1 | 4 × 5 |
# | weight decay; hard negatives for each positive | 0.002; all | 0; 0.3 |
# | MRPC, BERT-large: passes | 3 | 5 |
# | batch, accumulation | 16 × 2 | 12 × 1 |
# | weight decay; warm-up | 0.002; 0.1 | 0.001; 0.06 |
#
# A batch of 4 × 5 means five forward passes of four examples for each step. On SQuAD the dice loss sees each
# question five times as often as cross entropy does. So a gain need not come from the loss. (We read the
# scripts of commit d7704c1, for dice on MRPC those of 5a4af4a. Nothing says whether the paper's own runs used
# them.)

# %% [markdown]
# ## 15.9 Table 10 and its middle
#
# Table 10 varies the two weights of the Tversky loss. If both weights are one half, the Tversky index
# "degenerates to DSC", says section 3.3 of the paper. The table has that row, and you would expect it to equal
# the dice loss of Tables 5 and 6. Does it?

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
for corpus, number, backbone in (("ontonotes4_zh", 5, "BERT-MRC"), ("quoref", 6, "BERT")):
    rows = {row.variant: row.f1 for row in tables[10].rows if row.corpus == corpus}
    ours = {loss: score(number, corpus, f"{backbone}+{loss}") for loss in ("DL", "DSC")}
    print(f"{title_of[corpus]}: half and half {rows['alpha = 0.5']}, Tables 5 and 6 {ours}")


# %% [markdown]
# In both cases the row of Table 10 equals **DSC**, the self-adjusting loss, to the last digit. However,
# Tversky with equal weights is the *linear dice* loss with another smoothing ([chapter
# 05](05_tversky.ipynb)), and Tables 5 and 6 have no such loss. There are two possible reasons. Either the
# Tversky runs had the factor $(1 - p)$ as well, or the row was filled in from the other tables. [Section
# 14.6](14_tversky_weights.ipynb) reads the whole table.

# %% [markdown]
# ## 15.10 Whole numbers
#
# One last test needs nothing but a division. An accuracy over n sentences is a whole number of right answers,
# divided by n. If no whole number gives the printed percentage, then this percentage is not the result of one
# run on that set. The official sets have these sizes {cite}`socher2013sst,tjongkimsang2003conll`:
#
# | | SST-2 | SST-5 | CoNLL 2003 |
# |---|---|---|---|
# | test set | 1,821 sentences | 2,210 sentences | 5,648 entities |
# | development set in GLUE | 872 sentences | | |
#
# For each printed score we list the counts that give it:

# %% mystnb={"code_prompt_show": "Code"} tags=["hide-input"]
def whole_numbers(percent, n):
    """The counts k whose share k/n rounds to the printed percentage."""
    near = round(percent * n / 100)
    return [k for k in range(near - 2, near + 3) if abs(100 * k / n - percent) <= 0.005 + 1e-9]


for corpus, n in (("sst2", 1821), ("sst5", 2210)):
    for row in (row for row in tables[9].rows if row.corpus == corpus):
        counts = whole_numbers(row.accuracy, n)
        print(f"{title_of[corpus]} {row.model:10} {row.printed['accuracy']} of {n}: {counts}")
for row in tables[5].rows:
    if row.corpus == "conll03" and row.recall is not None:
        counts = whole_numbers(row.recall, 5648)
        print(f"{row.model:13} recall {row.printed['recall']} of 5648: {counts}")

# %% [markdown]
# An empty list means that no single run over the official test set gives that number to two digits. Four of
# six accuracies and two of four recalls are of that kind. What could be the reason? The numbers may be
# averages over runs. Or a zero was added: 94.90 may be a 94.9 with one digit, and a count exists for that
# one.
#
# Or the test set is another one. DSC's accuracy on SST-2 fits a count of the development set as well as one of the
# test set ([section 13.12](13_accuracy_tasks.ipynb)). So from a printed accuracy alone you cannot say on which set it
# was measured. In your own tables, name the set and the number of runs.

# %% [markdown]
# ## 15.11 What the scripts do and the text does not say
#
# Up to here we looked at numbers. The authors also released training scripts. We read the 18 of them that
# belong to rows of the tables, and the code that they call, for the settings of the profile `paper`
# ([Reproducing a table](../docs/reproduce.md)). We found five habits that the paper does not mention. Each of
# them changes what a printed score means.
#
# - **Several evaluations a pass.** The scripts evaluate four or eight times in each pass and keep the best
#   checkpoint. This book's runs evaluate once a pass.
# - **SQuAD's score is a maximum.** The evaluation script for SQuAD reads all prediction files of a run and
#   reports the best F1. The predictions are those of the development set, which is also the set that the
#   table reports. For BERT-large there are 16 files for cross entropy and for focal loss, and 40 for dice.
# - **Heads of two layers.** The heads for start, end and answerable have a hidden layer with ReLU. The text
#   describes a single linear layer, which is what the chapters train. The profile `paper` has two.
# - **No mask in the dice loss for entities.** In the released code the tokens of the question and the padding
#   count as negatives, and so they do in the profile `paper`. In the chapters only the words of the sentence
#   count.
# - **Two encoders in one table.** For QQP the script of cross entropy names the uncased BERT, the scripts of
#   focal loss and dice the cased one. So a difference between the rows is one of losses and encoders
#   together.
#
# How much does the second habit add? Suppose that the loss makes no difference at all. The F1 of the
# predictions of a run then varies around one mean, the same mean for both losses. However, the best of many
# values is higher than the best of few. We draw as many values as there are files, and take the best of 16
# and the best of 40.

# %%
f1 = np.random.default_rng(0).normal(size=(20_000, 40))
of_16, of_40 = f1[:, :16].max(1).mean(), f1.max(1).mean()
print(f"best of 16: {of_16:.2f} standard deviations above the mean")
print(f"best of 40: {of_40:.2f}")
for spread in (0.1, 0.3, 0.5):
    more = spread * (of_40 - of_16)
    print(f"standard deviation {spread} points: dice is {more:.2f} ahead")

# %% [markdown]
# The best of 40 lies 0.39 standard deviations above the best of 16. If the F1 of a run's predictions has a
# standard deviation of 0.5 points, dice leads by 0.20 points without being better. For BERT on SQuAD 1.1 the
# paper prints a gain of 1.07 points for self-adjusting dice. To explain all of that gain by the 24 more tries
# alone, the standard deviation would have to be 2.7 points. So the tries explain a part of the gain, and
# probably not all of it.
#
# Our simulation exaggerates the effect, because it draws each value independently. In a real run neighbouring
# checkpoints are alike, and the early ones are worse. Both sets of files therefore count for fewer tries than
# we drew.

# %% [markdown]
# ## Summary
#
# - A row with precision, recall and F1 tests itself. Of fifty such rows thirty-five agree within rounding, a
#   mean over runs could explain two more, and thirteen remain.
# - All ninety printed gains follow from the printed scores. If P and R are right, DSC stays first on eight of
#   nine corpora and loses to cross entropy on CoNLL 2003.
# - Some numbers may not be what their labels say: all four baselines of Table 7 equal published accuracies,
#   and the row of one half in Table 10 equals DSC.
# - The released scripts do not train dice with the settings of cross entropy, and on SQuAD they choose its
#   score from more predictions.
# - These tables cannot settle whether dice helps. Before you quote a row of any paper, recompute its F1.

# %% [markdown]
# ## Exercises
#
# **Exercise 15.1 (recall).** A row prints a precision and a recall of 80.00 each. Which F1s can be printed beside them?

# %% mystnb={"code_prompt_show": "Solution 15.1"} tags=["solution", "hide-cell"]
low, high = f1_of(79.995, 79.995), f1_of(80.005, 80.005)
print(f"F1 from {low:.3f} to {high:.3f}: that is 80.00")

# %% [markdown]
# **Exercise 15.2 (by hand).** A paper prints P 90.0, R 60.0 and F1 75.0, each with one digit. What did its authors compute?

# %% mystnb={"code_prompt_show": "Solution 15.2"} tags=["solution", "hide-cell"]
print(f"harmonic mean {f1_of(90, 60):.1f}, arithmetic mean {(90 + 60) / 2:.1f}: the wrong mean")


# %% [markdown]
# **Exercise 15.3 (a test for your own paper).** Write `check(rows)`, which takes rows of (name, P, R, F1) and names those
# that fail Eq. 15.2. Try it on two rows of Table 5.

# %% mystnb={"code_prompt_show": "Solution 15.3"} tags=["solution", "hide-cell"]
def check(rows, half=0.005):
    for name, p, r, f1 in rows:
        low, high = f1_of(p - half, r - half), f1_of(p + half, r + half)
        if not (low <= f1 + half and f1 - half <= high):
            yield f"{name}: P {p}, R {r} give {low:.3f} to {high:.3f}, not {f1}"


print(*check([("BERT-MRC", 92.33, 94.61, 93.04), ("DSC", 93.41, 93.25, 93.33)]), sep="\n")

# %% [markdown]
# **Exercise 15.4 (averages).** Simulate five runs with P and R that vary independently by one point around 93. How far
# below the F1 of the means is the mean F1? Compare with Eq. 15.3.

# %% mystnb={"code_prompt_show": "Solution 15.4"} tags=["solution", "hide-cell"]
rng = np.random.default_rng(0)
p, r = 93 + rng.standard_normal((2, 20_000, 5))
gap = f1_of(p.mean(1), r.mean(1)) - f1_of(p, r).mean(1)
predicted = (p - r).var(1) / (2 * (p + r).mean(1))
print(f"mean gap {gap.mean():.4f}, Eq. 15.3 {predicted.mean():.4f}: lost in rounding")
