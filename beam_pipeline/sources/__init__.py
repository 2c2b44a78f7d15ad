"""A folder per layout, each with a PTransform of `Record | Rejected | DeclaredClasses`.

Imports nothing, so that worker processes that read long values of tables and tars again do not
load Beam.
"""
