"""Training runs: options, run directory, checkpoints, history and report."""
