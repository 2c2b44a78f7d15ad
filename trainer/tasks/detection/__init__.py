"""Detection: boxes and their classes, by an anchor-free detector (FCOS)."""
