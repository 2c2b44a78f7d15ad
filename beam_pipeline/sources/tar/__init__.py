"""Tar files as in WebDataset: members with the same name are one record."""
