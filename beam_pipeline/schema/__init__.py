"""Schema of a dataset's records: declared by the user, or inferred from the data."""
