"""A run: its parameters, its encoder, its training, and the folder it is saved to."""

from dicelab.extras import need

need("train", "transformers")  # of a kept model nothing needs more
