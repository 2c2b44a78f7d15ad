"""Columns of named values, in manifests, tars, arrays and file names: what each becomes."""
