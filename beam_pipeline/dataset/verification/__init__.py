"""What a dataset states of itself, held against what is there."""
