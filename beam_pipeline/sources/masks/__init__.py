"""Maps beside images: masks of classes, or depths, of the images' names."""
