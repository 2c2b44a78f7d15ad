"""The options of the commands, each written once."""
