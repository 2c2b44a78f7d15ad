"""File trees of well-known data sets."""
