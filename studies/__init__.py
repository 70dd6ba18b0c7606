"""Studies: runs that become the records of the book."""
