"""Inspect, the second stage: every file is read once, checked, measured and hashed."""
