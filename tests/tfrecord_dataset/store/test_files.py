"""Files pinned as they were opened: local ones, and complete copies of a store's files."""

import dataclasses
import hashlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from damages import make_folder

from tfrecord_dataset.store import cache as store_cache
from tfrecord_dataset.store import clients, objects, pinned_files
from tfrecord_dataset.store.cache import ShardCache
from tfrecord_dataset.store.folders import RemoteFiles
from tfrecord_dataset.store.objects import RemoteFile, describe
from tfrecord_dataset.store.pinned_files import LocalFiles
from trainer.errors import ConfigError, DatasetChangedError, DatasetDamagedError, TrainerError

NUM_BYTES = 2500


def content(number):
    return bytes([number]) * NUM_BYTES


@pytest.fixture
def stored(bucket, monkeypatch):
    """Six files of 2,500 bytes on a store with retries for a second, and the store."""
    monkeypatch.setattr(clients, "LIMIT_S", 1)
    monkeypatch.setattr(store_cache, "RANGE_BYTES", 1000)
    url, store = bucket
    for number in range(6):
        store.put(f"{url}/{number}", content(number))
    files = [
        dataclasses.replace(file, sha256=hashlib.sha256(content(number)).hexdigest())
        for number, file in enumerate(describe([f"{url}/{number}" for number in range(6)]))
    ]
    store.forget()
    return files, store


@pytest.fixture
def cache(tmp_path):
    """A cache with space for four of these files."""
    return ShardCache(str(tmp_path / "cache"), 4 * NUM_BYTES)


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_many_files_of_a_folder_are_described_by_a_listing(bucket, monkeypatch, scheme):
    url, store = bucket
    url = f"{scheme}{url.removeprefix('s3')}/a b"
    for number in range(4):
        store.put(f"{url}/{number}.x", content(number))
    urls = [f"{url}/{number}.x" for number in (3, 1, 9, 0)]
    one_by_one = describe(urls)
    store.forget()
    monkeypatch.setattr(objects, "_WORTH_A_LISTING", 4)

    assert describe(urls) == one_by_one
    assert store.calls == {"list": 1, "head": 1}  # head is for the missing one
    assert objects.read_range(one_by_one[0], 0, NUM_BYTES) == content(3)


def copies(cache):
    """Return the names of the copied files."""
    there = (name for name in os.listdir(cache.folder) if not name.startswith("lock"))
    return sorted(name.partition("-")[2] for name in there)


def fetched(cache, file):
    return Path(cache.fetch(file)).read_bytes()


def test_a_copy_is_made_once_in_parallel_ranges(stored, cache):
    files, store = stored
    store.latency_s = 0.05
    assert fetched(cache, files[3]) == content(3)
    assert store.calls == {"get": 3}
    assert store.most_at_once == 3
    assert fetched(ShardCache(cache.folder, cache.max_bytes), files[3]) == content(3)
    assert store.calls == {"get": 3}


def test_the_copy_used_longest_ago_is_deleted(stored, cache):
    files, _ = stored
    for used, number in enumerate([0, 1, 2, 3], start=1):
        os.utime(cache.fetch(files[number]), (used, used))
    cache.find(files[0])  # used now
    cache.fetch(files[4])
    assert copies(cache) == ["0", "2", "3", "4"]


def test_downloads_at_once_share_a_copy(stored, cache):
    """Locks belong to open files, so two caches act like two processes."""
    files, store = stored
    store.latency_s = 0.1
    caches = [cache, ShardCache(cache.folder, cache.max_bytes)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda each: fetched(each, files[5]), caches, timeout=30))
    assert found == [content(5)] * 2
    assert store.calls == {"get": 3}


def test_a_killed_download_is_never_whole_and_goes(stored, cache):
    files, store = stored
    program = (
        "import sys; from tfrecord_dataset.store import cache, objects;"
        "cache.RANGE_BYTES = 1000;"
        "[file] = objects.describe([sys.argv[1]]);"
        "cache.ShardCache(sys.argv[2], 10_000).fetch(file)"
    )
    store.outage("stalled", 60, after=3)
    child = subprocess.Popen([sys.executable, "-c", program, files[0].url, cache.folder])
    assert store.out.wait(60)
    child.send_signal(signal.SIGKILL)
    child.wait()
    store.mend()
    assert copies(cache) == ["0.partial"]
    for file in files[:4]:
        cache.fetch(file)
    assert "0.partial" in copies(cache)  # it may still be in progress
    (partial,) = Path(cache.folder).glob("*.partial")
    os.utime(partial, (1, 1))
    cache.fetch(files[4])
    assert "0.partial" not in copies(cache)
    assert fetched(cache, files[0]) == content(0)


def replace_by_link(path):
    path.unlink()
    path.symlink_to("/etc/hostname")


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: os.truncate(path, 5), id="cut"),
        pytest.param(lambda path: os.truncate(path, NUM_BYTES + 1), id="longer"),
        pytest.param(replace_by_link, id="a link"),
    ],
)
def test_what_is_not_a_copy_is_fetched_again(stored, cache, damage):
    files, store = stored
    damage(Path(cache.fetch(files[0])))
    assert cache.find(files[0]) is None
    assert fetched(cache, files[0]) == content(0)
    assert store.calls == {"get": 6}


def test_what_cannot_be_replaced_is_named(stored, cache):
    files, _ = stored
    path = cache.fetch(files[0])
    make_folder(Path(path))
    with pytest.raises(TrainerError, match=f"{path} in the cache folder cannot be written"):
        cache.fetch(files[0])


def test_a_copy_of_another_content_is_recognised_by_its_sha256(stored, cache):
    files, _ = stored
    path = Path(cache.fetch(files[0]))
    assert not cache.discard_damaged(files[0])
    path.write_bytes(content(1))
    assert cache.discard_damaged(files[0])
    assert fetched(cache, files[0]) == content(0)


def test_content_that_is_not_what_metadata_states(stored, cache):
    files, _ = stored
    wrong = dataclasses.replace(files[4], sha256=files[5].sha256)
    with pytest.raises(DatasetDamagedError, match=r"s3://.*/4 has sha256 .*restore that file"):
        cache.fetch(wrong)
    assert copies(cache) == []


@pytest.mark.parametrize("now", [bytes(2500), bytes(900), b""], ids=["other", "cut", "empty"])
def test_another_object_than_was_listed(stored, cache, now):
    files, store = stored
    store.put(files[4].url, now)
    with pytest.raises(DatasetChangedError, match=r"s3://.*/4 was changed or deleted while"):
        cache.fetch(files[4])


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (404, DatasetChangedError, "s3://.*/4 was changed or deleted while it was read"),
        (403, ConfigError, "s3://.*/4 cannot be read: permission denied; check the credentials"),
        (503, TrainerError, "s3://.*/4 cannot be read: 503 Service Unavailable, also after"),
    ],
)
def test_a_lasting_fault_names_the_object(stored, cache, status, error, message):
    files, store = stored
    store.fail(files[4].url, status)
    with pytest.raises(error, match=message):
        cache.fetch(files[4])
    assert copies(cache) == []
    store.mend()
    assert fetched(cache, files[4]) == content(4)


def test_a_full_disk_says_what_to_do(stored, cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    files, _ = stored
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(TrainerError, match=r"No space left on device; lower cache_bytes \(--cache"):
        cache.fetch(files[0])


def test_a_file_without_a_digest_is_known_by_its_version(stored, cache):
    files, store = stored
    assert fetched(cache, *describe([files[1].url])) == content(1)
    store.put(files[1].url, b"new" * 700)
    assert fetched(cache, *describe([files[1].url])) == b"new" * 700


def test_an_empty_file(bucket, cache):
    url, store = bucket
    store.put(f"{url}/empty", b"")
    assert fetched(cache, *describe([f"{url}/empty"])) == b""


def test_names_of_copies():
    one = RemoteFile(url="s3://bucket/x/cells.tfrecord", num_bytes=1, sha256="0" * 64)
    assert one.local_name == f"{'0' * 32}-cells.tfrecord"
    other = RemoteFile(url="https://h/a b?key=1", num_bytes=3, version='"1"')
    assert other.local_name.endswith("-a_b")
    assert other.local_name != dataclasses.replace(other, version='"2"').local_name
    long = RemoteFile(url=f"s3://bucket/{'x' * 500}.tfrecord", num_bytes=1)
    assert len(long.local_name) < 255  # most of a file system
    assert long.local_name.endswith("x.tfrecord")


def test_the_default_is_half_of_the_disk(tmp_path):
    disk = os.statvfs(tmp_path)
    half = disk.f_bavail * disk.f_frsize / 2
    assert ShardCache(str(tmp_path)).max_bytes == pytest.approx(half, rel=0.1)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"Not a directory.*--cache-dir"):
        ShardCache(str(tmp_path / "file" / "cache"))


def read(files, number, num_bytes, wanted=None):
    with files.open(number, wanted) as read_range:
        return read_range(num_bytes, 0)


def test_a_little_of_a_file_is_a_range_and_a_quarter_of_it_a_copy(stored, cache):
    files, store = stored
    remote = RemoteFiles(files[:4], cache)
    for _ in range(2):
        assert read(remote, 1, 300, wanted=300) == content(1)[:300]
    assert copies(cache) == []
    assert read(remote, 1, 300, wanted=300) == content(1)[:300]
    assert copies(cache) == ["1"]
    store.forget()
    assert read(remote, 1, 10, wanted=10) == content(1)[:10]
    assert not store.calls


def test_files_that_are_read_whole_are_fetched_one_ahead(stored, cache):
    files, _ = stored
    remote = RemoteFiles(files[:4], cache)
    assert read(remote, 0, NUM_BYTES) == content(0)
    end = time.monotonic() + 30
    while copies(cache) != ["0", "1"]:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_copies_of_several_files_are_made_at_once(stored, cache):
    files, store = stored
    store.latency_s = 0.05
    paths = RemoteFiles(files[:4], cache).paths([3, 0, 2])
    assert [Path(path).read_bytes() for path in paths] == [content(3), content(0), content(2)]
    assert store.most_at_once >= 7


def test_files_that_do_not_fit_are_read_by_ranges(stored, cache):
    files, _ = stored
    remote = RemoteFiles(files, cache)
    assert remote.fits(4 * NUM_BYTES)
    assert not remote.fits(6 * NUM_BYTES)
    for number in range(6):
        assert read(remote, number, NUM_BYTES, wanted=NUM_BYTES) == content(number)
    assert copies(cache) == []
    small = RemoteFiles(files, ShardCache(cache.folder, 1))
    assert read(small, 5, NUM_BYTES) == content(5)


def contents(files):
    with files.open(0) as read:
        return read(99, 0)


def test_replaced_files_are_read_if_they_are_held_and_else_named(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    held = LocalFiles([str(path)])
    monkeypatch.setattr(pinned_files, "most_open_files", lambda: 0)
    monkeypatch.chdir(tmp_path)
    opened_each_time = LocalFiles(["a"])
    monkeypatch.chdir("/")
    assert contents(opened_each_time) == b"old"
    (tmp_path / "b").write_bytes(b"new")
    os.replace(tmp_path / "b", path)

    before = len(os.listdir("/proc/self/fd"))
    assert [contents(held) for _ in range(3)] == [b"old"] * 3
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(DatasetChangedError, match="was changed or deleted while it was read"):
        contents(opened_each_time)
