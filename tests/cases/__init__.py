"""Inputs and what readers make of them."""
