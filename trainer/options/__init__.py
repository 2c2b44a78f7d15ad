"""Options of the commands, each defined once."""
