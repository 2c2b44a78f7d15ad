"""Datasets on disk: open, read back, verify, compare, or adopt existing files."""
