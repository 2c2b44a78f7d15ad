"""Faults of files: transient ones are retried, a file's own fault rejects its record."""

import errno
import functools
import random
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from beam_pipeline.errors import ConfigError, RecordError
from tfrecord_dataset.store.urls import unsigned

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Transient faults of a busy network file system or machine.
_PASSING = {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ESTALE, errno.EAGAIN, errno.ENOBUFS}
_PASSING |= {errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNABORTED, errno.EREMOTEIO}

# About 6 seconds in total.
_PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)

_MISSING = {errno.ENOENT, errno.ENOTDIR}
# Faults that persist on retry and on other machines.
_UNREADABLE = {errno.EACCES, errno.EPERM, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}
_UNREADABLE |= {errno.EINVAL, errno.ENXIO, errno.ENODEV}


def retry(call: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run `call`, and retry it with growing pauses after transient faults.

    Raises:
        OSError: The last failure.
    """

    @functools.wraps(call)
    def call_again(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        for pause in _PAUSES_S:
            try:
                return call(*args, **kwargs)
            except OSError as error:
                if error.errno not in _PASSING:
                    raise
                time.sleep(pause * random.uniform(0.5, 1.5))
        return call(*args, **kwargs)

    return call_again


class UnknownSchemeError(ConfigError):
    """No backend opens URLs of this scheme."""


def as_record_error(error: OSError | UnknownSchemeError, path: str) -> RecordError | None:
    """Return the RecordError for a file's own fault, else None.

    The detail names the file without its folders: it goes into rejects.jsonl, which must not
    reveal the input's location.
    """
    name = unsigned(path).rstrip("/").rpartition("/")[2]
    if isinstance(error, UnknownSchemeError):
        return RecordError("unreadable file", f"{name}: {error}")
    if error.errno in _MISSING:
        return RecordError("missing file", name)
    if error.errno in _UNREADABLE:
        return RecordError("unreadable file", f"{name}: {error.strerror or error}")
    return None


def bytes_to_read(path: str, size: int, offset: int, length: int | None, at_most: int) -> int:
    """Return the length of a range of a file of `size` bytes, cut at the end of the file.

    Raises:
        RecordError: The range is longer than `at_most` bytes.
    """
    rest = max(0, size - offset)
    length = rest if length is None else min(length, rest)
    if length > at_most:
        raise too_large(path, at_most)
    return length


def too_large(path: str, at_most: int) -> RecordError:
    """Return the RecordError for a file over a record's size limit."""
    return RecordError(
        "file too large", f"{unsigned(path).rpartition('/')[2]} has over {at_most:,} bytes"
    )
