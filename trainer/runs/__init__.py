"""A training run: its options, its folder, and all that goes on in it."""
