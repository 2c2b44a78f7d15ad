"""The format on disk: frames, Examples, features' keys, metadata.json; and schema inference."""
