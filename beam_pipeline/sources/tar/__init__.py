"""Tar files as WebDataset has them: the members of one name are one record."""
