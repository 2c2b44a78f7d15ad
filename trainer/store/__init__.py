"""Datasets on object stores: found and read there, and their shards copied to this machine."""
