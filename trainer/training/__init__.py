"""Training by the step: loops, strategies, optimizers, checkpoints."""
