"""What every record of a data set holds: declared, or inferred from what was observed."""
