"""Files that belong to an image by their names: Pascal VOC's XML, YOLO's texts, and others alike.

A layout is a subclass of `files.SideFiles`; `read.ReadSideFiles` reads it.
"""
