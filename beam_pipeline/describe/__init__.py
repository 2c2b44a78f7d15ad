"""Files that describe a dataset, for this project and for other tools."""
