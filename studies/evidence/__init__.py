"""Tasks, heads and scores of the controlled study; ``studies/evidence_2`` runs it."""
