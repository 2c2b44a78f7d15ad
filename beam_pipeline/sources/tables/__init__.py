"""Tables: files whose rows are records or parts of records."""
