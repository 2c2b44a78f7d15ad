"""List many keys of a store in parallel, in ranges that are cut while they are listed.

A request lists a thousand keys, and each waits for the one before: 10^8 keys would take hours. But
a store lists its keys in order, after any key. So while few requests are in flight, what is left of
a range is cut in two at a character that occurs in the keys. Where to cut takes no request, and a
part without keys takes one.
"""

import collections
import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import obstore
from obstore.store import GCSStore, HTTPStore, S3Store

from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.store import requests
from tfrecord_dataset.store.listing import KeyRange
from tfrecord_dataset.store.requests import KEYS_A_REQUEST

# More would hardly be faster: Python takes 2 ms for the keys of an answer.
_REQUESTS_AT_ONCE = 32
# Answers after which more requests at once pay off.
PAGES_IN_A_ROW = 4
# A key of the store library ends before them.
_NO_CUTS = frozenset("/.")
# End of the names of S3's directory buckets.
_UNORDERED = "--x-s3"
LAST = "\U0010ffff"


class KeyListing:
    """The keys below a URL, or those of some ranges, without folder markers.

    Attributes:
        left: The ranges that are not listed yet.
        wanted: Number of ranges; while there are fewer, they are cut.
    """

    def __init__(
        self, url: str, ranges: Iterable[KeyRange] = (KeyRange(),), wanted: int = _REQUESTS_AT_ONCE
    ) -> None:
        self.left = collections.deque(ranges)
        self.wanted = wanted
        self._url = url
        self._alphabet: set[str] = set()

    def pages(self) -> Iterator[list[str]]:
        """Yield up to a thousand keys at a time, in no order."""
        if self.left and not is_in_order(self._url):
            yield from self._streamed()
        in_flight: collections.deque[Future[tuple[list[str], str]]] = collections.deque()
        with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
            number = 0
            while self.left:
                for each in itertools.islice(self.left, len(in_flight), _REQUESTS_AT_ONCE):
                    in_flight.append(pool.submit(page_of, self._url, each))
                keys, last = in_flight.popleft().result()
                number += 1
                rest = KeyRange(last, self.left.popleft().end)
                if last:
                    is_cut = number > PAGES_IN_A_ROW and len(self.left) < self.wanted
                    self.left += self._cut(rest, keys) if is_cut else [rest]
                yield keys

    def _streamed(self) -> Iterator[list[str]]:
        self.left.clear()
        with requests.bucket(self._url) as (store, key):
            refuse_http(store, self._url)
            keys = without_markers(
                itertools.chain.from_iterable(obstore.list(store, key, chunk_size=KEYS_A_REQUEST))
            )
            while page := list(itertools.islice(keys, KEYS_A_REQUEST)):
                yield page

    def _cut(self, rest: KeyRange, keys: Sequence[str]) -> list[KeyRange]:
        self._alphabet |= set("".join(keys)) - _NO_CUTS
        with requests.bucket(self._url) as (_, key):
            middle = _middle(rest, sorted(self._alphabet), len(f"{key}/" if key else ""))
        return [KeyRange(rest.after, middle), KeyRange(middle, rest.end)] if middle else [rest]


def _middle(rest: KeyRange, alphabet: Sequence[str], start: int) -> str:
    """Return where to cut a range at the first possible character from `start`; "" for nowhere."""
    after, end = rest
    for at in range(start, len(after)):
        limit = end[at : at + 1] if end.startswith(after[:at]) else ""
        between = [each for each in alphabet if after[at] < each < (limit or LAST)]
        if between:
            return after[:at] + between[len(between) // 2]
    return ""


def is_in_order(url: str) -> bool:
    """Whether a store lists its keys in order; accounts of Azure with folders have another one."""
    with requests.bucket(url) as (store, _):
        return isinstance(store, S3Store | GCSStore) and not url.split("/")[2].endswith(_UNORDERED)


def page_of(url: str, wanted: KeyRange) -> tuple[list[str], str]:
    """List the first keys of a range below a URL, with one request.

    Returns the keys without folder markers, and the last listed key, "" if it ends the range.

    Raises:
        ConfigError: The store does not list keys after a given one.
    """
    with requests.bucket(url) as (store, key):
        refuse_http(store, url)
        pages = obstore.list(store, key, offset=wanted.after or None, chunk_size=KEYS_A_REQUEST)
        listed: Sequence[Any] = next(iter(pages), [])
    is_end = len(listed) < KEYS_A_REQUEST
    if not is_end and listed[-1]["path"] <= wanted.after:
        raise ConfigError(
            f"{url}: the store lists keys from the first one again, not from a given one (it lacks "
            "start-after); copy the data to a folder, or to another store"
        )
    if not is_end and listed[-1]["size"] == 0:  # the next key shows whether it is a marker
        listed = listed[:-1]
    keys = [key for key in without_markers(listed) if not wanted.end or key <= wanted.end]
    last = listed[-1]["path"] if listed else ""
    return keys, "" if is_end or (wanted.end and last > wanted.end) else last


def refuse_http(store: Any, url: str) -> None:
    """Raise ConfigError for a web server."""
    if isinstance(store, HTTPStore):
        raise ConfigError(
            f"{url}: a web server cannot list files; name a file, such as a manifest, or a "
            "dataset's directory …/name/1.0.0 itself"
        )


def without_markers(listed: Iterable[Any]) -> Iterator[str]:
    """Yield the keys of listed objects, without folder markers."""
    for meta, following in itertools.pairwise(itertools.chain(listed, [{"path": ""}])):
        if not is_marker(meta, following["path"].startswith(f"{meta['path']}/")):
            yield meta["path"]


def is_marker(meta: Any, is_folder: bool) -> bool:
    """Whether an object is a folder marker: empty and named "folder/", as consoles create them."""
    return meta["size"] == 0 and (is_folder or "." not in meta["path"].rpartition("/")[2])
