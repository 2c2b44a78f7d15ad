"""Files by path, local or remote."""
