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

import obstore
from obstore.exceptions import AlreadyExistsError, NotSupportedError, PreconditionError

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import remote
from beam_pipeline.files.clients import client_and_key
from beam_pipeline.files.remote_faults import write_errors

RENEWED_S = 10.0
# A lease that has not been renewed for so long is a dead process's.
EXPIRES_S = 60.0
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
        self._is_lost = False
        self._version = self._take()
        self._renewed = time.monotonic()
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    def _text(self) -> bytes:
        self._times += 1  # so that each version differs from the last
        holder = {"owner": self._owner, "process": _process(), "renewed": self._times}
        return json.dumps(holder).encode()

    def _take(self) -> Any:
        seen, since, is_told = b"", 0.0, False
        while True:
            version = self._write(None)
            with contextlib.suppress(FileNotFoundError):  # it was just given back
                if version and self._owner.encode() in _read(self._url)[1]:  # else a weak store's
                    return version
                meta, text = _read(self._url)
                if text != seen:
                    seen, since = text, time.monotonic()
                is_over = _is_dead(text) or time.monotonic() - since > EXPIRES_S
                if is_over and (version := self._write(meta)):
                    return version
            if not is_told:
                print(f"waiting for another build that writes {self._name}", file=sys.stderr)
                is_told = True
            time.sleep(_LOOK_S)

    def _write(self, version: Any) -> Any:
        """Makes the object, or replaces that version of it; None where it is another's."""
        if written := _write_if(self._url, self._text(), version):
            return written
        with contextlib.suppress(FileNotFoundError):
            meta, text = _read(self._url)
            if self._owner.encode() in text:  # an answer was lost, and the request repeated
                return meta
        return None

    def _renew(self) -> None:
        while not self._ended.wait(RENEWED_S):
            with contextlib.suppress(OSError, BeamTFRecordsError):  # the next time may be better
                version = self._write(self._version)
                if version is None:
                    self._is_lost = True
                    return
                self._version = version
                self._renewed = time.monotonic()

    def check(self) -> None:
        """Raises BeamTFRecordsError where another process holds the lease by now."""
        if self._is_lost or time.monotonic() - self._renewed > EXPIRES_S:
            raise BeamTFRecordsError(
                f"another build writes {self._name} since this one did not answer for "
                f"{EXPIRES_S:.0f} seconds; run the same command again"
            )

    def give_back(self) -> None:
        """Ends the lease."""
        self._ended.set()
        self._thread.join()
        if not self._is_lost:
            remote.delete_all([self._url])


def _read(url: str) -> tuple[Any, bytes]:
    return remote.head(url), remote.read(url, 0, None, sys.maxsize)


def _write_if(url: str, data: bytes, version: Any) -> Any:
    """Makes an object, or replaces the one of this version; None where another did so before."""
    client, key = client_and_key(url)
    mode: Any = "create"
    if version is not None:
        mode = {name: version[name] for name in ("e_tag", "version") if version[name]}
    with write_errors(client, url):
        try:
            return obstore.put(client.store, key, data, mode=mode)
        except (AlreadyExistsError, PreconditionError):
            return None
        except (NotSupportedError, NotImplementedError):
            return obstore.put(client.store, key, data)


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
