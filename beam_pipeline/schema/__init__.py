"""What every record of a dataset holds: declared, or inferred from what was observed."""
