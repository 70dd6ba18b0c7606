"""Scripts that measure, and the runs of the evidence; see ``README.md``."""
