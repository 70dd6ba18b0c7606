"""The paper's tables: as printed, as a grid of runs, and as what the runs gave."""
