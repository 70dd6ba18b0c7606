# The checks of 03_dice_and_f1.py: each cell runs at the end of the section that it names.

from dicebook import make_loss
from dicelab.claims import claim

# %% 3.2
TP, FP, FN = sp.symbols("TP FP FN", positive=True)
precision, recall = TP / (TP + FP), TP / (TP + FN)
harmonic = 2 * precision * recall / (precision + recall)
assert sp.simplify(2 * TP / ((TP + FP) + (TP + FN)) - harmonic) == 0
accuracy = [row["accuracy"] for row in rows.values()]
claim("Accuracy climbs from 0.75 to almost 1", {"0.75": accuracy[0]}, accuracy[-1] > 0.9999)

# %% 3.3
claim("The set has an F1 of 0.497, and the mean lies near 0.27 or near 0.55",
      {"0.27": mean_of_f1[0.0].mean(), "0.55": mean_of_f1[1.0].mean(), "0.497": whole})  # fmt: skip
s = f1_and_accuracy(**both)
parts = [f1_and_accuracy(**counts) for counts in (first, second)]
claim("The F1 of both is 0.182; the mean of their F1s is 0.5",
      {"0.182": s["F1"], "0.5": np.mean([part["F1"] for part in parts])},
      np.isclose(s["accuracy"], np.mean([part["accuracy"] for part in parts])))  # fmt: skip

# %% 3.5
logits, labels = torch.linspace(-4, 4, 10), torch.tensor([0, 1] * 5)
for gamma in (0.01, 1.0, 10.0):
    ours = dice_loss_of_example(logits.sigmoid(), labels, gamma).mean()
    torch.testing.assert_close(make_loss("binary_eq6", smooth=gamma)(logits, labels), ours)
printed = {
    1: (1 - (2 * P + G) / (P + 1 + G), L1, -(2 + G) / (1 + P + G) ** 2),
    0: (1 - G / (P + G), L0, G / (P + G) ** 2),
}
for loss, short, slope in printed.values():
    assert sp.simplify(loss - short) == sp.simplify(sp.diff(short, P) - slope) == 0

# %% 3.6
hard = [float(gradient_size(loss, torch.tensor([0.01]), 1.0)) for loss in losses.values()]
claim("the gradient of cross entropy is 0.99, and that of dice is 135 times smaller",
      {"0.99": hard[0], "135": hard[0] / hard[1]})  # fmt: skip
claim("from *every* starting point the negatives win", negatives_win)
