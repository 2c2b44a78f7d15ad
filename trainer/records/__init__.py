"""Where the bytes of a record are, by its number, and which record comes when."""
