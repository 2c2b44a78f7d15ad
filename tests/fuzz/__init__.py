"""Seeded fuzzing of every input format: a case is a function of (format, seed).

A case may be accepted, rejected by name (a reject, a problem that `verify` lists) or raise one of
this project's errors. All else is a fault: another exception, over 10 s, a gigabyte, a crash.
"""
