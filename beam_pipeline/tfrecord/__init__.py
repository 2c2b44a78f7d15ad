"""The TFRecord file format."""
