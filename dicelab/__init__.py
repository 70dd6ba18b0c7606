"""What the chapters work with: corpora, training, tasks, records and figures, on `dicebook`."""
