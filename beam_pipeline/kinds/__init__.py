"""Kinds of values: all that the pipeline knows of each, in one module a kind."""
