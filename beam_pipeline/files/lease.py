"""A lease on a place of a store: an object that its holder makes, renews and deletes.

Stores have no locks, but make or replace an object only if it is what a writer has seen
(If-None-Match, If-Match). A store that does not know these conditions gives no protection.

Processes of one job can hold one lease together: one takes it for an owner that it has made up, the
others join it by that owner's name, and the last one takes it over, under a name of its own. That
it finds the owner there says that nobody else has held the lease in between.
"""

import contextlib
import json
import math
import os
import sys
import threading
import time
import uuid
from typing import Any

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files.remote import REMOTE
from tfrecord_dataset.store import requests
from tfrecord_dataset.store.waiting import checked, checked_again

RENEWED_S = 10.0
# A lease that has not been renewed for so long is a dead process's.
EXPIRES_S = 60.0
# An older one is renewed before its holder acts on it: what it does next takes its time, too.
_STALE_S = 30.0
_LOOK_S = 1.0
_NAMESPACE = "/proc/self/ns/pid"


class Lease:
    """A lease that is held, and renewed by a thread.

    Args:
        url: Its object.
        name: What is leased, for messages.
        owner: Of a lease that several processes hold; "" for one of this process alone.
        joins: Whether another process has taken that one.
        after: The owner of a shared lease that this one takes over, if it is there still.

    Attributes:
        is_lost: Whether another process holds it by now.
        continues: Whether it was taken over, and so was held without a gap.
    """

    def __init__(
        self, url: str, name: str, *, owner: str = "", joins: bool = False, after: str = ""
    ):
        self._url = url
        self._name = name
        self._holder = uuid.uuid4().hex
        self._owner = owner or self._holder
        # The end of one process of a job says nothing of the others.
        self._process = [] if owner or after else _process()
        self._times = 0
        self._ended = threading.Event()
        self._renewing = threading.Lock()
        self.is_lost = self.continues = False
        self._renewed = self._looked = time.monotonic()
        self._version = self._join() if joins else self._take(after)
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _text(self) -> bytes:
        self._times += 1  # so that each version differs from the last
        holder = {
            "owner": self._owner,
            "holder": self._holder,
            "process": self._process,
            "renewed": self._times,
        }
        return json.dumps(holder).encode()

    def _join(self) -> Any:
        self._renewed = -math.inf  # nobody knows when
        with contextlib.suppress(FileNotFoundError):
            version, text = _read(self._url)
            if self._owner.encode() in text:
                return version
        self.is_lost = True
        return None

    def _take(self, after: str) -> Any:
        seen, since, looked, is_told = b"", 0.0, 0.0, False
        while True:
            self._renewed = time.monotonic()  # before it is: it was not later
            version, _ = self._write(None)
            with contextlib.suppress(FileNotFoundError):  # it was just given back
                if version and self._owner.encode() in _read(self._url)[1]:  # else a weak store's
                    return version
                meta, text = _read(self._url)
                now = time.monotonic()
                # Nobody could renew it while the store was out.
                if text != seen or now - looked > RENEWED_S:
                    seen, since = text, now
                looked = now
                self._renewed = now
                continues = bool(after) and after.encode() in text
                if continues or _is_dead(text) or now - since > EXPIRES_S:
                    version, _ = self._write(meta)
                    if version:
                        self.continues = continues
                        return version
            if not is_told:
                print(f"waiting for another build that writes {self._name}", file=sys.stderr)
                is_told = True
            time.sleep(_LOOK_S)

    def _write(self, version: Any) -> tuple[Any, bool]:
        """Makes the object, or replaces that version of it.

        Returns the version that is there, None where it is another's; and whether it is what this
        wrote, not another process with the same owner.
        """
        text = self._text()
        if written := requests.put_if(self._url, text, version):
            return written, True
        with contextlib.suppress(FileNotFoundError):
            meta, there = _read(self._url)
            if self._owner.encode() in there:  # or an answer was lost, and the request repeated
                return meta, there == text
        return None, False

    def _keep(self) -> None:
        with checked_again(self._check_goes_on):
            while not self._ended.wait(RENEWED_S):
                # The next time may be better.
                with contextlib.suppress(OSError, BeamTFRecordsError):
                    self._renew()

    def _check_goes_on(self) -> None:
        if self._ended.is_set():
            raise BeamTFRecordsError(f"the lease on {self._name} was given back")

    def _renew(self, older_than_s: float = 0.0) -> None:
        with self._renewing:
            now = time.monotonic()
            while not self.is_lost and now - self._renewed >= older_than_s:
                looked, self._looked = self._looked, now
                self._version, is_own = self._write(self._version)
                self.is_lost = self._version is None
                # Another process has renewed it since this one looked, which may be long ago.
                self._renewed = now if is_own else looked
                now, older_than_s = time.monotonic(), _STALE_S

    def check(self) -> None:
        """Raises BeamTFRecordsError where another process holds the lease by now.

        One that could not be renewed, while the store was out, is renewed before.
        """
        with checked(None):  # this is what is called before every request
            self._renew(older_than_s=_STALE_S)
        if self.is_lost:
            raise BeamTFRecordsError(
                f"another build writes {self._name} since this one did not answer for "
                f"{EXPIRES_S:.0f} seconds; run the same command again"
            )

    def give_back(self) -> None:
        """Ends the lease, unless it is another's by now."""
        self.end()
        self._renew(older_than_s=_STALE_S)
        if not self.is_lost:
            REMOTE.delete_all([self._url])

    def abandon(self) -> None:
        """Gives the lease back if that takes one try; else it expires."""
        self.end()
        with contextlib.suppress(OSError, BeamTFRecordsError), checked_again(self._check_goes_on):
            self.give_back()

    def end(self) -> None:
        """Renews it no more: it is another process's with the same owner, or expires."""
        self._ended.set()
        self._thread.join()


def _read(url: str) -> tuple[Any, bytes]:
    return requests.head(url), requests.get(url)


def _process() -> list[str]:
    """What tells this process from all others: machine and boot, namespace, number."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        return [file.read().strip(), os.readlink(_NAMESPACE), str(os.getpid())]
    return []


def _is_dead(text: bytes) -> bool:
    """Whether the holder was a process of this machine that has ended."""
    try:
        holder, here = json.loads(text)["process"], _process()
    except (ValueError, KeyError, TypeError):
        return False
    return bool(here) and holder[:2] == here[:2] and not os.path.exists(f"/proc/{holder[2]}")
