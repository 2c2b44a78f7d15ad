"""The features of a record: read, observed or inferred."""
