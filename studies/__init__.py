"""Studies: runs that become the records in `results`."""
