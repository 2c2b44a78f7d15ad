"""Maps of images: masks of classes, or depths, under the images' names."""
