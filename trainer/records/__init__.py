"""Order of records in training, and shares held out for validation."""
