"""A dataset on disk: opened, read back, verified, or adopted from others."""
