"""Assign, the third stage: duplicates, splits, shards, and the plan."""
