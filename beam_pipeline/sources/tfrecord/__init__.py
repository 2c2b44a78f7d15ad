"""Anybody's TFRecord files."""
