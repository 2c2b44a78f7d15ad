"""The file format: frames, and the Examples in them."""
