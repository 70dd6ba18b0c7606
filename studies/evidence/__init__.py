"""Does a loss made for F1 beat cross entropy? The runs and the analysis of ``docs/protocol.md``."""
