"""Pascal VOC: one XML file an image, image sets for the splits."""
