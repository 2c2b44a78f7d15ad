"""The command line: parsing, messages, what is printed."""
