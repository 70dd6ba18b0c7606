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
# A row that prints precision, recall and F1 tests itself, for the third follows from the other two. Of the
# fifty such rows of the paper {cite}`li2020dice` fifteen contradict themselves, some by more than their own
# printed gain. The errors favour no side, and most of the printed numbers are right.
#
# <details><summary>For whom, what you need, and how long it takes</summary>
#
# - **For** readers who are about to quote a number of the paper, or to build on one.
# - **You need** precision, recall and F1 (chapter 03).
# - **You will be able to** check a table of scores by arithmetic, and say what rounding, averaging or a
#   definition could explain and what they could not.
# - **Time** under a minute on a CPU; a GPU does not help.
#
# </details>

# %% tags=["remove-cell"]
# Where dicebook is missing, as on Colab, this cell installs it and says from where.
import importlib.util
import shlex
import subprocess
import sys

if importlib.util.find_spec("dicebook") is None:
    _command = "pip install 'dicebook[book] @ git+https://github.com/dicebook/dicebook' 'dicebook-records @ git+https://github.com/dicebook/dicebook#subdirectory=results'"
    print(_command)
    subprocess.check_call([sys.executable, "-m", *shlex.split(_command), "--quiet"])

# %% tags=["hide-input"]
import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sympy as sp
from IPython.display import Math, display

from dicelab.claims import claim
from dicelab.figures import use_style
from dicelab.records import paper

use_style()
pd.set_option("display.max_colwidth", 60)
tables = paper.tables()


# %% tags=["remove-cell"]
def label(row):
    return f"T{row.table} {row.corpus_title}: {row.model}"


def beyond_rounding(row):
    """Printed F1 minus that of P and R, in points; 0 where rounding explains it."""
    bounds = zip(row.bounds("precision"), row.bounds("recall"), strict=True)
    low, high = (2 * p * r / (p + r) for p, r in bounds)
    least, most = row.bounds("f1")
    p, r = row.precision, row.recall
    return 0 if low <= most and least <= high else row.f1 - 2 * p * r / (p + r)


# %% mystnb={"figure": {"caption": "Figure 15.1. The fifteen rows that do not agree: printed F1 minus that of P and R, in points.", "name": "fig-15-1"}, "image": {"alt": "Fifteen horizontal bars. Nine go to the right, up to +.72 for focal loss on UD 1.4. Six go to the left: two of a hundredth, then OntoNotes 5 BERT-MRC -.33, CoNLL 2003 BERT-MRC -.42, DSC on tweets -.62 and Glyce-BERT on OntoNotes 4 -1.01."}} tags=["hide-input"]
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
    ax.text(at, y, f"{value:+.2f}", va="center", ha=side, size=8.5)
ax.axvline(0, color="black", linewidth=1)
ax.tick_params(axis="y", labelsize=8.5)
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
ax.set(xlim=(-1.35, 1.05), xlabel="F1 printed less F1 of P and R, points")
plt.show()

# %% [markdown]
# To the right the printed F1 is too high. The longest bars are Glyce-BERT on OntoNotes 4.0, a full point
# too low (81.63 recomputed, 80.62 printed), BERT+FL on UD 1.4 (.72 too high) and DSC on the tweets (.62
# too low).
#
# The numbers are those of the final version; the arXiv version 2 prints the same.
#
# ## 15.1 What rounding allows
#
# (eq-15-1)=
# F1 is the harmonic mean of precision P and recall R ([Eq. 4](eq-4)):
#
# $$ \mathrm{F1} = H(P, R) = \frac{2 P R}{P + R} \tag{15.1} $$
#
# A printed 92.33 was anything from 92.325 to 92.335. So the question is whether *any* P and R inside their
# intervals have an F1 that rounds to what is printed. The slopes of H help to answer it:

# %% tags=["hide-input"]
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
# Both slopes are positive, so F1 is least at both lower ends and largest at both upper ends.
# With h half a unit of the last printed digit, a row is consistent if
#
# $$
# \begin{aligned}
# &\big[\,H(P - h,\, R - h),\; H(P + h,\, R + h)\,\big] \\
# &\quad \cap\; [\,\mathrm{F1} - h,\, \mathrm{F1} + h\,] \neq \varnothing
# \end{aligned} \tag{15.2}
# $$

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
# This row passes: rounding leaves a window of about one hundredth of a point.
#
# ## 15.2 Fifty rows

# %%
complete = [
    row
    for table in tables.values()
    for row in table.rows
    if row.precision is not None and row.f1 is not None
]
off = [row for row in complete if not consistent(row)]
print(f"{len(complete)} rows print P, R and F1; {len(off)} do not agree")


# %% tags=["hide-input"]
def line(row):
    numbers = {"P": row.precision, "R": row.recall, "F1 printed": row.f1}
    return {**numbers, "F1 of P, R": round(recomputed(row)[0], 2), "cites": row.source or ""}


pd.DataFrame([line(row) for row in off], index=[label(row) for row in off])

# %% [markdown]
# [Figure 15.1](fig-15-1) has one bar for each of the fifteen rows. All eight BERT rows of Table 4 are there,
# seven of them to the right. Below them stand five rows of Table 5, all of them baselines that cite another
# work. Four rows need no arithmetic at all: a harmonic mean lies between its two numbers, and theirs does not.

# %% tags=["remove-cell"]
off_by = {label(row): row.f1 - recomputed(row)[0] for row in off}
claim("one bar for each of the fifteen rows", len(off) == 15, list(gap) == [label(r) for r in off])
claim(
    "fifteen contradict themselves, some by more than their own printed gain",
    len(off) == 15,
    sum("delta" in r.printed and abs(gap[label(r)]) > abs(r.value("delta")) for r in off) > 1,
)
claim(
    "The longest bars are Glyce-BERT on OntoNotes 4.0",
    [name.split(": ")[1] for name in sorted(gap, key=lambda k: -abs(gap[k]))[:3]]
    == ["Glyce-BERT", "BERT+FL", "BERT-Tagger+DSC"],
)

claim(
    "All eight BERT rows of Table 4 are there, seven of them to the right",
    sum(key.startswith("T4") for key in off_by) == 8,
    sum(key.startswith("T4") and value > 0 for key, value in off_by.items()) == 7,
)
claim(
    "Below them stand five rows of Table 5, all of them baselines that cite another work",
    [bool(row.source) for row in off if row.table == 5] == [True] * 5,
)
claim("BERT+FL on UD 1.4 (.72 too high)", {".72": off_by["T3 UD 1.4: BERT+FL"]})
claim("DSC on the tweets (.62 too low)", {".62": -off_by["T4 English Tweets: BERT-Tagger+DSC"]})
claim("(81.63 recomputed, 80.62 printed)", {"81.63": recomputed(off[-1])[0], "80.62": off[-1].f1})
claim(
    "Four rows need no arithmetic at all",
    sum(not min(r.precision, r.recall) <= r.f1 <= max(r.precision, r.recall) for r in off) == 4,
)


# %% [markdown]
# ## 15.3 What could explain them
#
# **Truncation.** A truncated number stands for anything up to .01 above it.

# %%
def consistent_if_truncated(row):
    low = f1_of(row.precision, row.recall)
    high = f1_of(row.precision + 0.01, row.recall + 0.01)
    return low < row.f1 + 0.01 and row.f1 < high


explained = sum(consistent_if_truncated(row) for row in off)
print(f"explained by truncation: {explained} of {len(off)}")

# %% [markdown]
# Truncation explains none.
#
# **A mean over runs.** The mean of F1 need not be the F1 of the mean P and R. The curvature of H says on which
# side it lies:

# %% tags=["hide-input"]
hessian = sp.simplify(sp.hessian(H, (P, R)))
det = sp.simplify(hessian.det())
display(Math(rf"\nabla^2 H = {sp.latex(hessian)}, \quad \det = {det}"))

# %% [markdown]
# (eq-15-3)=
# The diagonal is negative and the determinant zero: H is concave. By Jensen's inequality a mean of F1s lies
# **below** the F1 of the means, never above. With S = P + R and D = P − R
#
# $$ H(P, R) = \frac{S}{2} - \frac{D^2}{2 S} $$
#
# so as long as S hardly moves,
#
# $$ H(\bar P, \bar R) - \overline{\mathrm{F1}} \;\approx\; \frac{\mathrm{Var}(P - R)}{2\,(\bar P +
# \bar R)} \tag{15.3} $$
#
# Solved for the spread that a row would need:

# %% tags=["hide-input"]
above = [row for row in off if row.f1 > recomputed(row)[0]]
print(f"{len(above)} of {len(off)} are above: no mean over runs does that. The others:")
for row in off:
    gap = recomputed(row)[0] - row.f1
    if gap > 0:
        spread = np.sqrt(2 * (row.precision + row.recall) * gap)
        print(f"  {label(row):34} {gap:.2f} below: P − R with standard deviation {spread:.1f}")

# %% [markdown]
# Nine of the fifteen lie above, where a mean never leads. Of the six below, two miss by a hundredth: there
# precision minus recall needs to spread by about 2 points over the runs, which is usual. For the other four it
# would have to swing by 11 to 18 points, too much for runs of one model. Thirteen rows remain.

# %% tags=["remove-cell"]
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

# %% [markdown]
# **A median over runs** may lie on either side. Take five runs with P and R that scatter around 93 by one
# point, independently or in opposite directions. The share of rows whose median F1 differs from the F1 of the
# medians by

# %% tags=["hide-input"]
random = np.random.default_rng(1)
medians, shares = {}, {}
for name, correlation in (("independent", 0.0), ("opposed, −.8", -0.8)):
    scatter = random.multivariate_normal(
        [93, 93], [[1, correlation], [correlation, 1]], (40_000, 5)
    )
    of_p, of_r = np.median(scatter, axis=1).T
    apart = np.median(f1_of(scatter[..., 0], scatter[..., 1]), axis=1) - f1_of(of_p, of_r)
    medians[name] = apart
    shares[name] = {f"more than {size}": np.mean(np.abs(apart) > size) for size in (0.1, 0.2, 0.4)}
pd.DataFrame(shares).T.map("{:.0%}".format)

# %% [markdown]
# With one point of scatter, 59% of such rows of medians would be off by more than .1 and 36% by more than .2,
# in either direction. So medians could explain the seven rows of .08 to .25. They could hardly explain .62 or
# 1.01. The paper does not say what its numbers are.

# %% tags=["remove-cell"]
claim(
    "59% of such rows of medians would be off by more than .1 and 36% by more than .2",
    {"59%": shares["independent"]["more than 0.1"], "36%": shares["independent"]["more than 0.2"]},
)
claim(
    "in either direction",
    min(np.mean(side * medians["independent"] > 0.1) for side in (1, -1)) > 0.2,
)
claim(
    "medians could explain the seven rows of .08 to .25",
    sum(0.075 < g < 0.255 for g in off_by.values()) == 7,
)
claim(
    "They could hardly explain .62 or 1.01",
    max(np.mean(np.abs(apart) > 0.6) for apart in medians.values()) < 0.1,
)

# %% [markdown]
# **An average over classes.** For macro averages the same inequality holds:

# %% tags=["hide-input"]
rng = np.random.default_rng(0)
p, r = rng.uniform(0.3, 1, (2, 100_000, 4))  # four classes, P and R of each
slack = f1_of(p.mean(1), r.mean(1)) - f1_of(p, r).mean(1)
above_it = (slack < 0).sum()
print(f"macro F1 above that of macro P and R: {above_it} of {len(slack):,} draws")

# %% [markdown]
# **Another definition of a span** moves precision, recall and F1 together, unless TP is counted twice, in
# predictions and in gold, as with overlapping spans.
#
# **The best of each**, from different checkpoints, and **a slip of the hand** could explain every row.
#
# **Somebody else's numbers.** Eight of the fifteen rows cite another work.

# %% tags=["hide-input"]
cited = [row for row in off if row.source]
print(f"{len(cited)} rows cite, {len(off) - len(cited)} are the paper's own:")
print(", ".join(label(row) for row in off if not row.source))

# %% [markdown]
# Three of the eight cite Devlin et al., who report none of their corpora: the citation is for the method.

# %% tags=["remove-cell"]
by_devlin = [row for row in cited if "Devlin" in row.source]
claim("Eight of the fifteen rows cite another work", len(cited) == 8, len(off) == 15)
claim("Three of the eight cite Devlin et al.", len(by_devlin) == 3)


# %% [markdown]
# ## 15.4 One tag a word
#
# In English part-of-speech tagging every word has one true tag and gets one predicted tag, so precision,
# recall, F1 and accuracy are one number ([section 8.2](08_part_of_speech.ipynb)), unless neighbours with the
# same tag are merged into one span. With 3% of 10,000 tags corrupted:

# %% tags=["hide-input"]
def merged(tags):
    """Spans of equal neighbouring tags."""
    start, found = 0, set()
    for tag, run in itertools.groupby(tags):
        length = len(list(run))
        found.add((start, start + length, int(tag)))
        start += length
    return found


gold = rng.integers(0, 12, 10_000)
guess = np.where(rng.random(10_000) < 0.03, rng.integers(0, 12, 10_000), gold)
for name, a, b in (
    ("one tag a word", set(enumerate(guess)), set(enumerate(gold))),
    ("merged neighbours", merged(guess), merged(gold)),
):
    p, r = 100 * len(a & b) / len(a), 100 * len(a & b) / len(b)
    f1 = 200 * len(a & b) / (len(a) + len(b))
    print(f"{name:18} P {p:.2f}  R {r:.2f}  F1 {f1:.2f}  H(P, R) {f1_of(p, r):.2f}")

# %% [markdown]
# Merging makes P and R differ, by .05 here; in Table 4 they differ by up to 2 points (91.24 and 93.22 for focal
# loss on the tweets). It does not explain an F1 that differs from H.

# %% [markdown]
# ## 15.5 Ninety gains
#
# Each own row of Tables 3 to 8 prints its gain over the baseline. The difference of two rounded numbers may
# miss the rounded difference by one unit. With that allowed:

# %% tags=["hide-input"]
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
# All ninety are possible. So where a printed F1 is wrong, its gain is wrong with it.

# %% [markdown]
# ## 15.6 Five ratios and the claims of the text
#
# Table 1 prints counts, coarsely rounded, and their ratio:

# %% tags=["hide-input"]
rows = {}
for row in tables[1].rows:
    (n_low, n_high), (p_low, p_high) = row.bounds("negatives"), row.bounds("positives")
    low, high = row.bounds("ratio")
    possible = n_low / p_high <= high and low <= n_high / p_low
    window = f"{n_low / p_high:.2f} to {n_high / p_low:.2f}"
    cells = [row.printed[name] for name in ("negatives", "positives", "ratio")]
    rows[row.corpus_title] = [*cells, window, possible]
pd.DataFrame(rows, ["negatives", "positives", "ratio", "possible", "agrees"]).transpose()


# %% [markdown]
# Four agree. SQuAD 1.1 does not: 10.3M over 175K is between 58.4 and 59.3, and 55.9 is printed. One changed
# digit would fix it (58.9). Now the sentences of the text that repeat a gain:

# %% tags=["hide-input"]
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

# %% tags=["hide-input"]
title_of = {row.corpus: row.corpus_title for table in tables.values() for row in table.rows}
for section, number, corpus, model, base, cell, repeated in said:
    gain = round(score(number, corpus, model, cell) - score(number, corpus, base, cell), 2)
    verdict = "agrees" if gain == repeated else f"differs: the table gives {gain:+.2f}"
    at = f"section {section}, Table {number}, {title_of[corpus]:13} {cell.upper():2}"
    print(f"{at}: {repeated:+.2f} {verdict}")
print("gains printed for DSC on QQP:", *(r.printed["delta"] for r in tables[7].rows[11::4]))

# %% [markdown]
# Twelve of thirteen agree. The +.73 on QQP stands nowhere in Table 7, where DSC gains .81 over BERT and .79
# over XLNet.
#
# ## 15.7 Table 8: how imbalanced were the sets?
#
# The text gives sizes and shares of the five training sets made from QQP. The original has 363,871
# pairs, 37% of them positive. "+ negative" only adds negatives:

# %% tags=["hide-input"]
n, total = 363_871, 458_477
low, high = (round(n * share) for share in (0.365, 0.375))
print(f"positives in the original: {low:,} to {high:,}")
print(
    f"negatives in the original: {n - high:,} to {n - low:,}; half of {total:,} is {total // 2:,}"
)
print(
    f"+ negative: {100 * low / total:.1f}% to {100 * high / total:.1f}% positive; the text says 21%"
)
print(f"− negative: 269,165 / 2 = {269_165 // 2:,} positives: inside of the first interval")

# %% [markdown]
# The sizes fit each other: 458,477 is twice the negatives, 269,165 twice the positives. The share of 21% for "+
# negative" does not fit; it has to be about 29%. For 21% one would have to drop more than a quarter of the
# positives. [Section 12.4](12_degrees_of_imbalance.ipynb) reads Table 8.

# %% tags=["remove-cell"]
kept_positives = 0.37 * n
claim(
    'share of 21% for "+ negative" does not fit; it has to be about 29%. For 21% one would have to drop more than a quarter of the positives',
    {"29%": kept_positives / total},
    1 - 0.21 * total / kept_positives > 0.25,
)

# %% [markdown]
# ## 15.8 What the corrections do, table by table
#
# Either F1 is right in an inconsistent row, and no conclusion changes, or P and R are right. For the second
# case, here is every F1 of Tables 3 to 5 from its own P and R, and the gains from those, *printed → computed*:

# %% tags=["hide-input"]
changes = {}
for number in (3, 4, 5):
    for corpus in dict.fromkeys(row.corpus for row in tables[number].rows):
        own = [r for r in tables[number].rows if r.corpus == corpus and "delta" in r.printed]
        base = tables[number].baseline(own[0])
        gain = {r.loss: recomputed(r)[0] - recomputed(base)[0] for r in own}
        cells = [f"{r.printed['delta']} → {gain[r.loss]:+.2f}" for r in own]
        best = max(gain, key=gain.get) if max(gain.values()) > 0 else "ce"
        first = max(own, key=lambda r: r.f1).loss
        changes[f"T{number} {own[0].corpus_title}"] = [*cells, first.upper(), best.upper()]
pd.DataFrame(changes, ["FL", "DL", "DSC", "best, printed", "best, computed"]).transpose()

# %% [markdown]
# In Table 3 one gain changes. In Table 4 DSC's gain on the tweets is four times what is printed: that error
# works *against* the paper's method. On CoNLL 2003 the baseline becomes 93.46, and all three losses are
# **below** it: −.35, −.29, −.13. "DSC outperforms BERT-MRC by +0.29" holds only if the baseline's P or R is
# misprinted. DSC remains first in eight of the nine blocks.
#
# **Tables 6 and 9** print no P and R. **No table** has a seed, a number of runs or a spread ([chapter
# 17](17_when_does_dice_help.ipynb)).
#
# **Table 7** calls its scores F1. All four of its baselines have the same digits as *accuracies on
# the development sets* of GLUE, published before it in one table {cite}`liu2019roberta`, of BERT-large and
# XLNet-large:

# %% tags=["hide-input"]
dev_accuracy = {"BERT": {"mrpc": 88.0, "qqp": 91.3}, "XLNet": {"mrpc": 89.2, "qqp": 91.8}}
for model, by_corpus in dev_accuracy.items():
    for name, published in by_corpus.items():
        printed_f1 = score(7, name, model)
        print(f"{model:6} {name.upper():5} Table 7 {printed_f1}, published on dev {published}")

# %% [markdown]
# If they are accuracies here as well, F1s are compared with accuracies. Of a classifier that errs equally often
# on both sides the two measures are:

# %% tags=["hide-input"]
for corpus, share, accuracy in (("MRPC", 0.68, 88.0), ("QQP", 0.37, 91.3)):
    errors = (100 - accuracy) / 2  # FP = FN, in percent of all pairs
    true_positives = 100 * share - errors
    f1 = 100 * 2 * true_positives / (2 * true_positives + 2 * errors)
    print(f"{corpus}: {100 * share:.0f}% positive, accuracy {accuracy}: F1 about {f1:.1f}")

# %% [markdown]
# An accuracy of 88.0 on MRPC goes with an F1 near 91, one of 91.3 on QQP with an F1 near 88. Four
# equal numbers are no proof: in the authors' released code
# ([dice_loss_for_NLP](https://github.com/ShannonAI/dice_loss_for_NLP)) the script for BERT-large on MRPC
# notes a test F1 of **87.98** for cross entropy, which prints as 88.0 too.
#
# **The contrasts themselves.** The same scripts say how each loss was trained, and no two of a task
# were trained alike:
#
# | | cross entropy | dice |
# |---|---|---|
# | SQuAD 1.1, BERT-base: passes | 2 | 10 |
# | batch, accumulation | 12 × 1 | 4 × 5 |
# | weight decay; mining of negatives | .002; none | 0; .3 |
# | MRPC, BERT-large: passes | 3 | 5 |
# | batch, accumulation | 16 × 2 | 12 × 1 |
# | weight decay; warm-up | .002; .1 | .001; .06 |
#
# On SQuAD the dice loss sees the questions five times as often. So a gain need not come from the loss.
# (Scripts of commit d7704c1, for dice on MRPC 5a4af4a. Nothing says whether the paper's own runs were these.)

# %% tags=["remove-cell"]
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
computed = pd.DataFrame(changes, ["fl", "dl", "dsc", "printed", "computed"]).T
claim(
    "DSC remains first in eight of the nine blocks",
    len(computed) == 9,
    (computed.computed == "DSC").sum() == 8,
)
printed_gain, its_gain = computed.loc["T4 English Tweets", "dsc"].split(" → ")
claim(
    "In Table 3 one gain changes. In Table 4 DSC's gain on the tweets is four times what is printed",
    sum(len(set(c.split(" → "))) == 2 for c in computed.iloc[:3, :3].to_numpy().ravel()) == 1,
    round(float(its_gain) / float(printed_gain)) == 4,
)
claim(
    "−.35, −.29, −.13",
    computed.loc["T5 CoNLL 2003", ["fl", "dl", "dsc"]].tolist()
    == ["+0.06 → -0.35", "+0.12 → -0.29", "+0.29 → -0.13"],
)

# %% [markdown]
# ## 15.9 Table 10 and its middle
#
# With α = β = ½ the Tversky index "degenerates to DSC", says section 3.3. Table 10 has that row.
# Which loss of Tables 5 and 6 does it meet?

# %% tags=["hide-input"]
for corpus, number, backbone in (("ontonotes4_zh", 5, "BERT-MRC"), ("quoref", 6, "BERT")):
    rows = {row.variant: row.f1 for row in tables[10].rows if row.corpus == corpus}
    ours = {loss: score(number, corpus, f"{backbone}+{loss}") for loss in ("DL", "DSC")}
    print(f"{title_of[corpus]}: half and half {rows['alpha = 0.5']}, Tables 5 and 6 {ours}")


# %% [markdown]
# To the digit the row is **DSC**, the self-adjusting loss. But half-and-half Tversky is the *linear dice* loss
# with another smoothing ([chapter 05](05_tversky.ipynb)), which stands in no table. Either the Tversky runs
# carried the factor (1 − p) as well, or the row was filled in from the other tables. [Section
# 14.7](14_tversky_weights.ipynb) reads the whole table.

# %% [markdown]
# ## 15.10 Whole numbers
#
# An accuracy over n sentences is a whole number over n. SST-2 has 1,821 test sentences, SST-5 has 2,210,
# CoNLL 2003 has 5,648 test entities {cite}`socher2013sst,tjongkimsang2003conll`. The counts that give the
# printed share:

# %% tags=["hide-input"]
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
# An empty list means that no single run over the official test set gives that number to two digits. Four of six
# accuracies and two of four recalls are of that kind. They may be averages over runs, or a zero was added:
# 94.90 may be a 94.9 with one digit, and then 1,728 of 1,821 gives it. Or the set is another: GLUE's
# development set of SST-2 has 872 sentences, and DSC's 94.84 fits 827 of 872 as well as 1,727 of 1,821
# ([section 13.6](13_accuracy_tasks.ipynb)).

# %% tags=["remove-cell"]
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
    "and then 1,728 of 1,821 gives it",
    {"1,728": round(0.949 * 1821)},
    round(172800 / 1821, 1) == 94.9,
)
claim(
    "DSC's 94.84 fits 827 of 872 as well as 1,727 of 1,821",
    whole_numbers(94.84, 872) == [827],
    whole_numbers(94.84, 1821) == [1727],
)

# %% [markdown]
# ## 15.11 What the scripts do and the text does not say
#
# The authors released 18 scripts and the code that they call. We read them for the settings of the profile
# `paper` ([Reproducing a table](../docs/reproduce.md)), and found five habits that the paper does not
# mention. Each of them bears on what a printed score means.
#
# - **Several evaluations a pass.** The scripts evaluate four or eight times in each pass and keep the best
#   checkpoint. This book's runs evaluate once a pass.
# - **SQuAD's score is a maximum.** The evaluation script for SQuAD reads all prediction files of a run and
#   reports the best F1. The predictions are those of the development set, which is also the set that the
#   table reports. There are 16 files for cross entropy and for focal loss, and 40 for dice.
# - **Heads of two layers.** The heads for start, end and answerable have a hidden layer with ReLU. The text
#   describes a single linear layer, which is what the chapters train. The profile `paper` has two.
# - **No mask in the dice loss for entities.** Question and padding count as negatives there, and in the
#   profile `paper`. In the chapters only the words of the sentence count.
# - **Two encoders in one table.** For QQP the script of cross entropy names the uncased BERT, the scripts of
#   focal loss and dice the cased one. A difference between them is one of losses and encoders together.
#
# How much does the second habit add? Suppose that the loss makes no difference at all. The F1 of the
# predictions of a run then varies around one mean, the same mean for both losses. We draw 16 and 40 such
# values and take the best of each.

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
# standard deviation of 0.3 points, dice leads by 0.12 points without being better. With 0.5 points it leads by
# 0.20. For BERT on SQuAD 1.1 the paper prints a gain of 1.07 points for self-adjusting dice. To explain all of
# that gain by the 24 more tries alone, the standard deviation would have to be 2.7 points. So the tries explain
# a part of it. Here we drew each value on its own. In a real run neighbouring checkpoints are alike, and the
# early ones are worse, so that 40 files count for fewer than 40 tries, and 16 for fewer than 16.

# %% tags=["remove-cell"]
claim("The best of 40 lies 0.39 standard deviations above", {"0.39": of_40 - of_16})
claim(
    "dice leads by 0.12 points without being better. With 0.5 points it leads by 0.20",
    {"0.12": 0.3 * (of_40 - of_16), "0.20": 0.5 * (of_40 - of_16)},
)
gain = score(6, "squad11", "BERT+DSC") - score(6, "squad11", "BERT")
claim("the paper prints a gain of 1.07 points", {"1.07": gain})
claim("the standard deviation would have to be 2.7 points", {"2.7": gain / (of_40 - of_16)})

# %% [markdown]
# ## Summary
#
# - Fifty rows print P, R and F1. Thirty-five agree within rounding, a mean over runs could explain two more,
#   thirteen remain. Medians could explain the smaller gaps; a slip of the hand or numbers from different
#   checkpoints could explain all.
# - Ninety gains follow from the printed scores. Twelve of thirteen sentences repeat them rightly. One ratio of
#   Table 1 and one share of Table 8 contradict their own counts.
# - If P and R are right, DSC stays first in eight of nine blocks and loses to cross entropy on CoNLL 2003; on
#   the tweets the errors hide most of DSC's gain.
# - Table 10's half-and-half row equals DSC, not linear dice. All four baselines of Table 7 equal published
#   accuracies on development sets. The released scripts train each loss with other passes, batches and decay.
# - On SQuAD the released evaluation reports the best of 16 predictions for cross entropy and of 40 for dice.
# - These tables cannot settle whether dice helps.

# %% tags=["remove-cell"]
claim(
    "Fifty rows print P, R and F1. Thirty-five agree within rounding, a mean over runs could "
    "explain two more, thirteen remain",
    len(complete) == 50,
    len(complete) - len(off) == 35,
)
claim("Ninety gains follow from the printed scores", len(gains) == 90, not impossible)
repeated = [round(score(n, c, m, k) - score(n, c, b, k), 2) == x for _, n, c, m, b, k, x in said]
claim("Twelve of thirteen sentences repeat them rightly", sum(repeated) == 12, len(repeated) == 13)
claim(
    "DSC stays first in eight of nine blocks and loses to cross entropy on CoNLL 2003",
    (computed.computed == "DSC").sum() == 8,
    computed.loc["T5 CoNLL 2003", "computed"] == "CE",
)
tens = {row.corpus: row.f1 for row in tables[10].rows if row.variant == "alpha = 0.5"}
claim(
    "Table 10's half-and-half row equals DSC",
    tens["ontonotes4_zh"] == score(5, "ontonotes4_zh", "BERT-MRC+DSC"),
    tens["quoref"] == score(6, "quoref", "BERT+DSC"),
)

# %% [markdown]
# ## Exercises
#
# **1 (recall).** A row prints P 80.00 and R 80.00. Which F1s may stand beside it?

# %% tags=["solution", "hide-cell"]
low, high = f1_of(79.995, 79.995), f1_of(80.005, 80.005)
print(f"F1 from {low:.3f} to {high:.3f}: that is 80.00")

# %% [markdown]
# **2 (by hand).** A paper prints P 90.0, R 60.0, F1 75.0, each with one digit. What did its authors
# compute?

# %% tags=["solution", "hide-cell"]
print(f"harmonic mean {f1_of(90, 60):.1f}, arithmetic mean {(90 + 60) / 2:.1f}: the wrong mean")


# %% [markdown]
# **3 (a test for your own paper).** Write `check(rows)` that takes (name, P, R, F1) and names the
# rows that Eq. 15.2 refuses. Try it on two rows of Table 5.

# %% tags=["solution", "hide-cell"]
def check(rows, half=0.005):
    for name, p, r, f1 in rows:
        low, high = f1_of(p - half, r - half), f1_of(p + half, r + half)
        if not (low <= f1 + half and f1 - half <= high):
            yield f"{name}: P {p}, R {r} give {low:.3f} to {high:.3f}, not {f1}"


print(*check([("BERT-MRC", 92.33, 94.61, 93.04), ("DSC", 93.41, 93.25, 93.33)]), sep="\n")

# %% [markdown]
# **4 (averages).** Simulate five runs with P and R that vary independently by one point around 93.
# How far below the F1 of the means is the mean F1? Compare with Eq. 15.3.

# %% tags=["solution", "hide-cell"]
p, r = 93 + rng.standard_normal((2, 20_000, 5))
gap = f1_of(p.mean(1), r.mean(1)) - f1_of(p, r).mean(1)
predicted = (p - r).var(1) / (2 * (p + r).mean(1))
print(f"mean gap {gap.mean():.4f}, Eq. 15.3 {predicted.mean():.4f}: invisible in print")

# %% [markdown]
# **5 (which digit?).** For the CoNLL 2003 row of BERT-MRC, which single digit of P, R or F1,
# changed, makes the row consistent?

# %% tags=["solution", "hide-cell"]
printed_row, fixes = ["92.33", "94.61", "93.04"], []
for cell, text in enumerate(printed_row):
    for place, digit in itertools.product((0, 1, 3, 4), "0123456789"):
        changed = list(printed_row)
        changed[cell] = text[:place] + digit + text[place + 1 :]
        if not list(check([("", *map(float, changed))])):
            fixes.append(changed)
print("one digit that fixes it:", fixes or "there is none")

# %% [markdown]
# **6 (small research).** Take any paper with a table of P, R and F1, type in twenty rows, and run
# your `check`. What share fails? For this paper, split the rows by whether they cite a work for their numbers,
# cite one for the method alone (Devlin et al.), or cite none.

# %% tags=["solution", "hide-cell"]
for name, rows in (
    ("numbers cited", [r for r in complete if r.source and "Devlin" not in r.source]),
    ("method cited", [r for r in complete if "Devlin" in r.source]),
    ("own", [r for r in complete if not r.source]),
):
    bad = sum(not consistent(row) for row in rows)
    print(f"{name:13} {bad} of {len(rows)} rows fail, {100 * bad / len(rows):.0f}%")
