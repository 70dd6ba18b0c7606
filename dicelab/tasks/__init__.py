"""The tasks of the paper. Each module has the same four steps: encode, model, decode, score."""

from dicelab.extras import need

need("train", "transformers")  # of a kept model nothing needs more
