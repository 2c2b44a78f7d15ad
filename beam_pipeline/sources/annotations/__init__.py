"""Annotations of images: a file next to each image, or files whose items name images."""
