"""The files that describe a dataset to this project and to others."""
