"""Columns of values with names, in manifests, tars, arrays and file names: what each becomes."""
