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
claim(
    "At logit 17, p rounds to 1", (x.sigmoid() == 1).tolist() == [False, False, False, True, True]
)
ours, theirs = q_stable(x), equations.self_adjusted(x, 0.01)
torch.testing.assert_close(ours, theirs)
torch.testing.assert_close(*(torch.autograd.grad(q.sum(), x)[0] for q in (ours, theirs)))
X, A = sp.symbols("x alpha", positive=True)
sigma = 1 / (1 + sp.exp(-X))
q_of_x = sigma * (1 - sigma) ** A
assert sp.simplify(sp.diff(q_of_x, X) / q_of_x - (1 - (1 + A) * sigma)) == 0
claim(
    "Now the gradient is finite. It is also small and positive",
    bool((x.grad > 0).all()),
    x.grad.max() < 0.01,
)

# %% Padding, masks and ignored labels
nothing = torch.full((2, 5), -100)
of_torch = F.cross_entropy(batch.nan_to_num().flatten(0, 1), nothing.flatten())
ours = {name: make_loss(name)(batch, nothing) for name in ("ce", "fl", "dl", "tl", "dsc")}
claim(
    "If no row counts, torch's cross entropy is 0/0. Those of dicebook are 0",
    of_torch.isnan(),
    all(v == 0 for v in ours.values()),
)

# %% Half precision
_, naive_gradient = value_and_gradient(naive, x, y.bfloat16())
claim("In bf16 the formula gives hundreds of NaN gradients", naive_gradient.isnan().sum() >= 200)
claim("The error of dicebook is some tenths of a percent",
      bool(gradient.isfinite().all()), 1e-3 <= error < 1e-2)  # fmt: skip
many = torch.zeros(200_000, dtype=torch.float16)
half_y = torch.zeros(200_000)
half_y[:1000] = 1
value, of_half = value_and_gradient(lambda x, y: naive(x, y, 0.0), many, half_y.half())
theirs, _ = value_and_gradient(make_loss("binary_dl", squared=False), many, half_y)
claim(
    "200,000 tokens: the sum is infinite, the loss is exactly 1, and every gradient is 0",
    many.sigmoid().sum().isinf(),
    value == 1,
    bool((of_half == 0).all()),
    theirs < 1,
)

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
of_dsc = times.loc["dicebook self-adjusting dice"] > times.loc["dicebook dice"]
claim("A loss with a general exponent costs more", of_dsc[times.loc["dicebook dice"].notna()].all())
claim("no bar comes near it", share.max() < 0.05)
of_two = share[["dicebook focal", "dicebook dice"]] / share["cross entropy (torch)"]
assert share.max() < 0.02
assert (of_two < 2).all()
assert share.idxmax() == "dicebook self-adjusting dice"
claim(
    "On this GPU dice takes 1.5 milliseconds",
    {"1.5": now.loc["dl", "milliseconds"]},
)
claim("With `torch.compile` it takes 0.9", {"0.9": now.loc["dl", "milliseconds, compiled"]})
claim("11 times as much", {"11": now.loc["dl", "ratio"]})
in_step = pd.DataFrame(timed["step"]["rows"]).set_index("loss")["milliseconds"]
claim("a step with torch's cross entropy took 18 milliseconds", {"18": in_step["ce, torch"]})
claim("between 17 and 24 milliseconds", {"17": in_step.min()}, {"24": in_step.max()})
claim("not in the order of the operations", in_step["dsc"] < in_step["dl"])
claim(
    "On a GPU the share is larger: dice takes less than a tenth of a step",
    0.02 * 18 < now.loc["dl", "milliseconds"] < 0.1 * 18,
)

# %% 18.4
far = (gradients["mean of the parts"] - exact).norm() / exact.norm()
claim("wrong by a quarter of the gradient", abs(far - 0.25) < 0.03)

# %% 18.5
claim(
    "more than three positions for each one that counts",
    positions["padded to 64"] > 3 * lengths.sum(),
)
claim("there is hardly any waste", positions["grouped by length"] < 1.1 * lengths.sum())
