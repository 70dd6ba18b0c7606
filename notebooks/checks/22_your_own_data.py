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
gaps = of_method[list(PEERS)].rsub(of_method["fit"], axis=0).groupby("corpus").mean()
on_average = gaps.groupby(lambda name: name.split("_")[0]).mean().mean()
claim(
    "On average, `fit` scored higher than every peer",
    on_average.min() > 0,
    list(on_average.index[on_average < 2]) == ["stacked"],
)
claim(
    "only the interval for the linear model on words",
    [of["mean"].split("[")[1][0] != "−" for of in ahead.values()] == [True, *[False] * 5],
)
claim(
    "Two peers stand in the way",
    set(gaps.index[gaps["stacked"] < 0]) == {"sst2_03", "goemotions_remorse"},
    list(gaps.index[gaps["trainer"] < 0]) == ["mrpc"],
    list(gaps.columns[gaps.min() < -1]) == ["stacked", "trainer"],
)
claim(
    "In seven of the thirty draws the Trainer scored higher than `fit`",
    (len(of_method), of_method["stacked"].count()) == (30, 24),
    [(of_method[peer] > of_method["fit"]).sum() for peer in ("trainer", "stacked")] == [7, 6],
)
claim("none had time to train once more", not of_fit["refitted"].sum().any())
