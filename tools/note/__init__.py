"""The replication note: its text, its numbers from the records, its figures, and its PDF."""
