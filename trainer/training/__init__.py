"""The training loop: steps, strategies, optimizers, checkpoints."""
