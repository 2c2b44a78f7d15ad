"""`RUN/report.html`: a training to look at, in one file without a server."""
