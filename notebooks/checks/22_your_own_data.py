# The checks of 22_your_own_data.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 22.8
f1_by_model = {name: [of[name] for of in by_size.values()] for name in MODELS}
claim(
    "None of these curves is flat at its end",
    list(by_size) == [100, 400, 1600],
    all(np.diff(f1).min() > 2.5 for f1 in f1_by_model.values()),
)

# %% 22.11
on_average = {peer: float(of["mean"].split()[0].replace("−", "-")) for peer, of in ahead.items()}
lower = (
    of_method[["stacked", "trainer"]].rsub(of_method["fit"], axis=0).groupby("corpus").mean() < 0
)
claim(
    "On average, `fit` scored higher than every peer",
    min(on_average.values()) > 0,
    [peer for peer, gap in on_average.items() if gap < 2] == [PEERS["stacked"]],
)
claim(
    "only the interval for the linear model on words",
    [of["mean"].split("[")[1][0] != "−" for of in ahead.values()] == [True, *[False] * 5],
)
claim(
    "Two peers stand in the way",
    set(lower.index[lower["stacked"]]) == {"sst2_03", "goemotions_remorse"},
    list(lower.index[lower["trainer"]]) == ["mrpc"],
    [peer for peer, of in ahead.items() if of["lowest"] < -1]
    == [PEERS["stacked"], PEERS["trainer"]],
)
claim(
    "In seven of the thirty draws the Trainer scored higher than `fit`",
    (len(of_method), of_method["stacked"].count()) == (30, 24),
    [(of_method[peer] > of_method["fit"]).sum() for peer in ("trainer", "stacked")] == [7, 6],
)
claim("none had time to train once more", not of_fit["refitted"].sum().any())
