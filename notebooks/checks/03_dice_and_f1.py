# The checks of 03_dice_and_f1.py: each cell runs at the end of the section that it names.

from dicelab.claims import claim

# %% 3.2
accuracy, score = ([row[key] for row in rows.values()] for key in ("accuracy", "F1"))
claim("Accuracy climbs from 0.75 to 0.999997", {"0.75": accuracy[0], "0.999997": accuracy[-1]})
claim("F1 stays at 0.667", {"0.667": score[0]}, len(set(score)) == 1)

# %% 3.3
claim("moves by 0.1 and more with the shuffle",
      all(v.max() - v.min() > 0.1 for v in mean_of_f1.values()))  # fmt: skip
claim("0.27 or 0.55 where the set has 0.497",
      {"0.27": mean_of_f1[0.0].mean(), "0.55": mean_of_f1[1.0].mean(), "0.497": whole})  # fmt: skip
claim("the 28% of batches that hold nothing", {"28%": (size == 0).double().mean()})

# %% 3.5
claim("at γ = 10 the costliest mistake costs 0.091", {"0.091": rows["γ = 10"]["costliest mistake"]})
at_half = sp.diff(L0, P).subs(P, sp.Rational(1, 2))
claim(
    "At $p = 0.5$ it is largest for γ = 0.5",
    sp.solve(sp.diff(at_half, G), G) == [sp.Rational(1, 2)],
)

# %% 3.6
hard = [float(gradient_size(loss, torch.tensor([0.01]), 1.0)) for loss in losses.values()]
easy = [float(gradient_size(loss, torch.tensor([0.01]), 0.0)) for loss in losses.values()]
claim("the two losses agree: 0.0100 and 0.0097", {"0.0100": easy[0], "0.0097": easy[1]})
claim("the gradient of cross entropy is 0.99, that of dice 0.0074: 135 times less",
      {"0.99": hard[0], "0.0074": hard[1], "135": hard[0] / hard[1]})  # fmt: skip
assert balanced_at[0].endswith("p = 0.05")
claim("from *every* starting point the negatives win", negatives_win)
