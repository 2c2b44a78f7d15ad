"""Pascal VOC: one XML file a picture, image sets for the splits."""
