"""Records of runs: written, read back, analysed, and beside what the paper prints."""

from dicelab.extras import need

need("train", "pandas", "scipy")
