"""Records of a split: files, byte ranges of records, and access by number."""
