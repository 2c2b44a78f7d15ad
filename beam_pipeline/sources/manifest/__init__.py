"""Manifests: one row a record, a column a feature, in CSV, TSV and JSON Lines."""
