"""What is on disk: frames, Examples, the keys of features, metadata.json; and what is inferred."""
