"""Copies fetched ahead of their use, in its order, from a store that is slow or fails."""

import dataclasses
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tfrecord_dataset.store import clients, fetching
from tfrecord_dataset.store.cache import Cache
from tfrecord_dataset.store.fetching import Fetcher
from tfrecord_dataset.store.objects import describe
from trainer.errors import ConfigError, DatasetChangedError, DatasetDamagedError, TrainerError


@pytest.fixture
def small_ranges(monkeypatch):
    monkeypatch.setattr(fetching, "RANGE_BYTES", 1000)


@pytest.fixture
def stored(bucket, small_ranges, monkeypatch):
    """Ten files of 2,500 bytes on a store that is asked for a second, and the store."""
    monkeypatch.setattr(clients, "LIMIT_S", 1)
    url, store = bucket
    digests = []
    for number in range(10):
        data = bytes([number]) * 2500
        store.put(f"{url}/{number}", data)
        digests.append(hashlib.sha256(data).hexdigest())
    files = [
        dataclasses.replace(file, sha256=digest)
        for file, digest in zip(describe([f"{url}/{n}" for n in range(10)]), digests, strict=True)
    ]
    store.forget()
    return files, store


@pytest.fixture
def cache(tmp_path):
    return Cache(str(tmp_path / "cache"), 1_000_000)


def fetched(fetcher, number):
    fetcher.fetch(number)
    with fetcher.opened(number) as copy:
        return os.pread(copy, fetcher.files[number].num_bytes, 0)


def gets(store):
    """The names of the objects that were asked for, in this order, each once."""
    places = (place for operation, place in store.requests if operation == "get")
    return list(dict.fromkeys(int(place.rpartition("/")[2]) for place in places))


def wait_until_quiet(fetcher):
    with fetcher._changed:
        assert fetcher._changed.wait_for(lambda: not fetcher._tasks, timeout=30)


def test_a_copy_is_made_once_in_parallel_ranges(stored, cache):
    files, store = stored
    store.latency_s = 0.05
    assert fetched(Fetcher(files, cache), 3) == bytes([3]) * 2500
    assert store.calls == {"get": 3}
    assert store.most_at_once == 3
    assert fetched(Fetcher(files, cache), 3) == bytes([3]) * 2500
    assert store.calls == {"get": 3}


def test_files_are_fetched_ahead_in_the_order_of_their_need(stored, cache):
    files, store = stored
    fetcher = Fetcher(files, cache)
    order = [7, 2, 9, 0, 1, 8, 3, 6, 5, 4]
    store.latency_s = 0.01
    fetcher.expect(order)
    assert fetched(fetcher, 7) == bytes([7]) * 2500
    wait_until_quiet(fetcher)
    assert sorted(gets(store)) == list(range(10))
    # No more than four files are begun at once.
    assert set(gets(store)[:4]) == {7, 2, 9, 0}
    assert store.most_at_once <= 16


def test_waiting_is_shared_by_what_is_fetched_at_once(stored, cache):
    """Thirty requests of 50 ms wait three to four times 50 ms, not thirty times."""
    files, store = stored
    fetcher = Fetcher(files, cache)
    store.latency_s = 0.05
    fetcher.expect(range(10))
    for number in range(10):
        fetcher.fetch(number)
    assert store.calls["get"] == 30
    assert store.most_at_once >= 7


def test_what_is_needed_now_comes_first(stored, cache):
    files, store = stored
    store.latency_s = 0.02
    fetcher = Fetcher(files, cache)
    fetcher.expect([0, 1, 2, 3, 4, 5, 6])
    fetcher.fetch(9)
    assert 9 in gets(store)[:6]


def test_half_of_the_cache_is_for_what_lies_ahead(stored, tmp_path):
    files, store = stored
    fetcher = Fetcher(files, Cache(str(tmp_path / "small"), 10_000))
    fetcher.expect(range(10))
    fetcher.fetch(0)
    wait_until_quiet(fetcher)
    assert sorted(gets(store)) == [0, 1, 2]
    for number in range(10):
        assert fetched(fetcher, number) == bytes([number]) * 2500
    assert sorted(gets(store)) == list(range(10))


def test_two_processes_download_a_file_once(stored, cache):
    """Locks are those of open files, so two fetchers are as two processes."""
    files, store = stored
    store.latency_s = 0.1
    fetchers = [Fetcher(files, cache), Fetcher(files, Cache(cache.folder, 1_000_000))]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda each: fetched(each, 5), fetchers, timeout=30))
    assert results == [bytes([5]) * 2500] * 2
    assert store.calls == {"get": 3}


@pytest.mark.parametrize("status", [503, 429, 0, 1])
def test_a_passing_fault_passes(stored, cache, status):
    files, store = stored
    store.fail(files[4].url, status, times=2)
    assert fetched(Fetcher(files, cache), 4) == bytes([4]) * 2500


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (404, DatasetChangedError, "s3://.*/4 was changed or deleted while it was read"),
        (403, ConfigError, "s3://.*/4 may not be read: permission denied; check the credentials"),
        (503, TrainerError, "s3://.*/4 cannot be read: 503 Service Unavailable, also after"),
    ],
)
def test_a_lasting_fault_names_the_object(stored, cache, status, error, message):
    files, store = stored
    store.fail(files[4].url, status)
    fetcher = Fetcher(files, cache)
    fetcher.expect(range(10))
    with pytest.raises(error, match=message):
        fetcher.fetch(4)
    wait_until_quiet(fetcher)
    assert not [name for name in os.listdir(cache.folder) if name.endswith(".partial")]
    store.mend()
    assert fetched(fetcher, 4) == bytes([4]) * 2500


def test_content_that_is_not_what_metadata_states(stored, cache):
    files, _ = stored
    wrong = dataclasses.replace(files[4], sha256=files[5].sha256)
    with pytest.raises(DatasetDamagedError, match=r"s3://.*/4 has sha256"):
        Fetcher([wrong], cache).fetch(0)
    assert os.listdir(cache.folder) == ["lock"]


@pytest.mark.parametrize("now", [bytes(2500), bytes(900), b""], ids=["other", "cut", "empty"])
def test_another_object_than_was_listed(stored, cache, now):
    files, store = stored
    store.put(files[4].url, now)
    with pytest.raises(DatasetChangedError, match=r"s3://.*/4 was changed or deleted while"):
        Fetcher(files, cache).fetch(4)


def test_a_file_without_a_digest_is_known_by_its_version(stored, cache):
    files, store = stored
    before = describe([files[1].url])
    assert fetched(Fetcher(before, cache), 0) == bytes([1]) * 2500
    store.put(files[1].url, b"new" * 700)
    assert fetched(Fetcher(describe([files[1].url]), cache), 0) == b"new" * 700


def test_a_full_disk_says_what_to_do(stored, cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    files, _ = stored
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(TrainerError, match=r"disk of the cache folder .* is full; lower --cache-b"):
        Fetcher(files, cache).fetch(0)


def test_an_empty_file(bucket, cache):
    url, store = bucket
    store.put(f"{url}/empty", b"")
    assert fetched(Fetcher(describe([f"{url}/empty"]), cache), 0) == b""
