"""The error of a fit and of what it kept."""


class FitError(ValueError):
    """A fit cannot begin or go on; the message says what was expected and what came."""
