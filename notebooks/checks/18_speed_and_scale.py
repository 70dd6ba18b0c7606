# The checks of 18_speed_and_scale.py: each cell runs at the end of the section that it names.

import sympy as sp

from dicelab.claims import claim

# %% A power that stays exact
plain = x.detach().requires_grad_()
loss = loss_of_positives(q_as_written(plain))
loss.sum().backward()
claim(
    "The gradient is NaN from there on, and the loss has jumped from about 0.05 to 0.5",
    plain.grad.isnan().tolist() == [False, False, False, True, True],
    {"0.05": loss[2].item(), "0.5": loss[3].item()},
)
X, A = sp.symbols("x alpha", positive=True)
sigma = 1 / (1 + sp.exp(-X))
q_of_x = sigma * (1 - sigma) ** A
assert sp.simplify(sp.diff(q_of_x, X) / q_of_x - (1 - (1 + A) * sigma)) == 0

# %% Half precision
_, naive_gradient = value_and_gradient(naive, x, y.bfloat16())
claim("In bf16 the formula gives hundreds of NaN gradients", naive_gradient.isnan().sum() >= 200)
claim("The error of dicebook is some tenths of a percent",
      bool(gradient.isfinite().all()), 1e-3 <= error < 1e-2)  # fmt: skip

# %% 18.2
claim("No recorded loss takes a five-thousandth of the step on a CPU", (share < 0.02).all())
of_dice = times.loc["dicebook dice"] / times.loc["cross entropy (torch)"]
nine = ["4096×9", "65536×9"]
many = of_dice.drop(nine).dropna()
claim(
    "With 17 classes or more, between two and three times; with nine it costs less",
    1.9 < many.min() <= many.max() < 3,
    (of_dice[nine] < 1).all(),
)
claim(
    "On this GPU dice takes 1.5 milliseconds",
    {"1.5": now.loc["dl", "milliseconds"]},
)
claim("11 times as much", {"11": now.loc["dl", "ratio"]})
in_step = pd.DataFrame(timed["step"]["rows"]).set_index("loss")["milliseconds"]
claim("a step with torch's cross entropy took 18 milliseconds", {"18": in_step["ce, torch"]})
claim("between 17 and 24 milliseconds", {"17": in_step.min()}, {"24": in_step.max()})

# %% 18.4
far = (gradients["mean of the parts"] - exact).norm() / exact.norm()
claim("wrong by a quarter of the gradient", abs(far - 0.25) < 0.03)

# %% 18.5
claim(
    "more than three positions for each one that counts",
    positions["padded to 64"] > 3 * lengths.sum(),
)
