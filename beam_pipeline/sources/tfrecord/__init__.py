"""TFRecord files of other programs."""
