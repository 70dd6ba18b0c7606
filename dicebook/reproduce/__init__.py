"""The paper's tables: as printed, as a grid of runs, and as what the runs gave."""

from dicebook.extras import need

need("train")
