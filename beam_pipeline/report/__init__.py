"""`report.html`: an overview of a dataset in one file, without a server."""
