"""Recognises errors caused by a lack of memory, which libraries raise in several ways."""

import resource

_OPTIONS = {"ulimit -v": resource.RLIMIT_AS, "ulimit -d": resource.RLIMIT_DATA}
# Messages of the dynamic loader, Python's importer and protobuf for a refused allocation.
_REFUSED = ("failed to map segment", "cannot allocate memory", "without exception set", "of memory")


def shortage(error: BaseException) -> str | None:
    """Return the message for an error that a lack of memory caused; None for others.

    Errors other than MemoryError count only while this process's memory is limited.
    """
    limited = [
        option
        for option, kind in _OPTIONS.items()
        if resource.getrlimit(kind)[0] != resource.RLIM_INFINITY
    ]
    is_refused = bool(limited) and any(text in str(error).lower() for text in _REFUSED)
    if not (isinstance(error, MemoryError) or is_refused):
        return None
    if limited:
        return f"not enough address space for this process; raise {' and '.join(limited)}"
    return "not enough memory; end other programs, or use a machine with more"
