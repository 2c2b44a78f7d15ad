"""Checks a dataset on disk against its own description."""
