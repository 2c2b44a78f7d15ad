"""The records of a split: its files, where each record is in them, and their bytes by number."""
