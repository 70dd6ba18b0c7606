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
claim(
    "only the interval for the linear model on words excludes 0",
    [over["all of fit"].split("[")[1][0] != "−" for over in ahead.values()]
    == [True, False, False, False],
)
claim(
    "In nine of the thirty draws the Trainer scored higher",
    len(of_method) == 30,
    (of_method["trainer"] > of_method["fit"]).sum() == 9,
)
