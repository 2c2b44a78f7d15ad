"""A request is sent again for as long as its store is out, up to a limit; each try is counted.

The library's own retries are counted nowhere, and nothing ends them: so it makes none, but those of
the parts of an upload.
"""

import errno
import logging
import time
from collections.abc import Callable
from typing import TypeVar

from tfrecord_dataset.store import clients
from tfrecord_dataset.store.clients import Client
from tfrecord_dataset.store.faults import os_errors, passing_fault
from tfrecord_dataset.store.tally import TALLY, Requests
from tfrecord_dataset.store.waiting import check_request, pauses, wait

_T = TypeVar("_T")

# An outage of this length is told of.
_TOLD_AFTER_S = 5.0

# The limit where the fault mostly stays.
_SHORT_LIMIT_S = 3.0

_LOG = logging.getLogger(__name__)
_told_s: dict[str, float] = {}  # when each bucket's outage was told of


def send(
    operation: str,
    client: Client,
    url: str,
    call: Callable[[], _T],
    num_bytes: Callable[[_T], int] = lambda _: 0,
) -> _T:
    """The result of `call`, one request, which is made again while its store is out.

    Args:
        operation: What is counted: get, head, list, put, copy, delete.
        client: The store.
        url: What the request is about, for messages.
        call: Sends it; sending it twice must do no harm.
        num_bytes: Bytes of an object that a result means.

    Raises:
        OSError: The store was out for longer than the limit, or what `os_errors` raises.
        ConfigError: As `os_errors`.
        Exception: What forbids requests by now (`waiting.checked`).
    """
    start = time.monotonic()
    tries = 0
    with os_errors(client, url):
        for pause in pauses():
            check_request()
            tries += 1
            begin = time.perf_counter()
            try:
                result = call()
            except Exception as error:
                fault = passing_fault(error)
                _count(operation, begin, tries, throttled=fault is not None and fault.throttled)
                if fault is None:
                    raise
                waited = time.monotonic() - start
                if waited >= (_SHORT_LIMIT_S if fault.is_lasting else clients.LIMIT_S):
                    raise out_of_reach(url, fault.reason, tries, waited) from error
                _tell(client.root, fault.reason, waited)
                wait(min(pause, clients.LIMIT_S - waited), url)
            else:
                _count(operation, begin, tries, num_bytes=num_bytes(result))
                return result
    raise AssertionError("pauses have no end")


def _count(
    operation: str, begin: float, tries: int, *, throttled: bool = False, num_bytes: int = 0
) -> None:
    ms = round(1000 * (time.perf_counter() - begin))
    requests = Requests(
        sent=1,
        again=int(tries > 1),
        throttled=int(throttled),
        num_bytes=num_bytes,
        timed=1,
        total_ms=ms,
        least_ms=ms,
        most_ms=ms,
    )
    TALLY.add({operation: requests})


def _tell(root: str, reason: str, waited: float) -> None:
    """Tells of an outage, once for a bucket."""
    now = time.monotonic()
    if waited >= _TOLD_AFTER_S and now - _told_s.get(root, -clients.LIMIT_S) >= clients.LIMIT_S:
        _told_s[root] = now
        message = "%s does not answer (%s); trying again for up to %.0f seconds"
        _LOG.warning(message, root, reason, clients.LIMIT_S)


def out_of_reach(url: str, reason: str, tries: int, seconds: float) -> OSError:
    """The error after the limit."""
    return OSError(
        errno.EREMOTEIO, f"{reason}, also after {tries} tries in {seconds:.0f} seconds", url
    )
