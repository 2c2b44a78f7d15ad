"""Array files with one record per row."""
