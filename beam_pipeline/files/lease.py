"""A lease on a place of a store: an object that its holder makes, renews and deletes.

Stores have no locks, but make or replace an object only if it is what a writer has seen
(If-None-Match, If-Match). A store that does not know these conditions gives no protection.
"""

import contextlib
import json
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
    """

    def __init__(self, url: str, name: str):
        self._url = url
        self._name = name
        self._owner = uuid.uuid4().hex
        self._times = 0
        self._ended = threading.Event()
        self._renewing = threading.Lock()
        self._is_lost = False
        self._renewed = time.monotonic()
        self._version = self._take()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _text(self) -> bytes:
        self._times += 1  # so that each version differs from the last
        holder = {"owner": self._owner, "process": _process(), "renewed": self._times}
        return json.dumps(holder).encode()

    def _take(self) -> Any:
        seen, since, looked, is_told = b"", 0.0, 0.0, False
        while True:
            self._renewed = time.monotonic()  # before it is: it was not later
            version = self._write(None)
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
                if (_is_dead(text) or now - since > EXPIRES_S) and (version := self._write(meta)):
                    return version
            if not is_told:
                print(f"waiting for another build that writes {self._name}", file=sys.stderr)
                is_told = True
            time.sleep(_LOOK_S)

    def _write(self, version: Any) -> Any:
        """Makes the object, or replaces that version of it; None where it is another's."""
        if written := requests.put_if(self._url, self._text(), version):
            return written
        with contextlib.suppress(FileNotFoundError):
            meta, text = _read(self._url)
            if self._owner.encode() in text:  # an answer was lost, and the request repeated
                return meta
        return None

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
            if self._is_lost or now - self._renewed < older_than_s:
                return
            version = self._write(self._version)
            self._is_lost = version is None
            if version:
                self._version, self._renewed = version, now

    def check(self) -> None:
        """Raises BeamTFRecordsError where another process holds the lease by now.

        One that could not be renewed, while the store was out, is renewed before.
        """
        with checked(None):  # this is what is called before every request
            self._renew(older_than_s=_STALE_S)
        if self._is_lost:
            raise BeamTFRecordsError(
                f"another build writes {self._name} since this one did not answer for "
                f"{EXPIRES_S:.0f} seconds; run the same command again"
            )

    def give_back(self) -> None:
        """Ends the lease, unless it is another's by now."""
        self._end()
        self._renew(older_than_s=_STALE_S)
        if not self._is_lost:
            REMOTE.delete_all([self._url])

    def abandon(self) -> None:
        """Gives the lease back if that takes one try; else it expires."""
        self._end()
        with contextlib.suppress(OSError, BeamTFRecordsError), checked_again(self._check_goes_on):
            self.give_back()

    def _end(self) -> None:
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
