"""YOLO: one text file a picture, a line a box."""
