"""Annotations of images: a file beside each image, or files whose items name images."""
