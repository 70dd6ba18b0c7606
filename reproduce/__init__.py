"""The paper's tables as a workflow: a grid of runs, carried out and laid beside the print."""

from dicelab.extras import need

need("train")
