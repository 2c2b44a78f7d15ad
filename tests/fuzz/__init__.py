"""Every format that is read, fuzzed with seeds: a case is a function of (format, seed).

A case may be taken, refused by name (a reject, a problem that `verify` lists) or raise one of this
project's errors. All else is a fault: another exception, over 10 s, a gigabyte, the process's end.
"""
