"""A folder per layout, each with a PTransform of `Record | Rejected | DeclaredClasses`.

Nothing is imported here: worker processes that read long values of tables and tars again load
no Beam for that.
"""
