"""The second protocol of the evidence, ``docs/protocol_2.md``: its runs."""
