"""Segmentation: the class of every pixel, by an encoder and a small decoder."""
