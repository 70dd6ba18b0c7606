"""A run: its parameters, its encoder, its training, and the folder it is saved to."""

from dicebook.extras import need

need("train")
