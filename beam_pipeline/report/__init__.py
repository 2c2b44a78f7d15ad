"""`report.html`: a dataset to look at, in one file without a server."""
