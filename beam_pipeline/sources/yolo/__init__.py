"""YOLO: one text file an image, a line a box."""
