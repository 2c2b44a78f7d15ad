"""`RUN/report.html`: an overview of a training in one file, without a server."""
