"""Counts of decisions, what they should reach, and how sure a score is."""

from dicelab.extras import need

need("train", "scipy")
