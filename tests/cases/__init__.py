"""Inputs and the expected results of reading them."""
