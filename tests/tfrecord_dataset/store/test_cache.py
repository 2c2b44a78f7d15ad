"""The cache of whole copies: what is deleted, what is kept, and what a killed process leaves."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tfrecord_dataset.store.cache import Cache
from tfrecord_dataset.store.objects import RemoteFile
from trainer.errors import ConfigError, DatasetDamagedError


def remote(name, data):
    digest = hashlib.sha256(data).hexdigest()
    return RemoteFile(url=f"s3://bucket/{name}", num_bytes=len(data), sha256=digest)


def put(cache, file, data, used):
    """A whole copy that nobody uses; last used at `used`, in seconds since 1970."""
    partial = cache.start(file, is_urgent=False)
    os.pwrite(partial.descriptor, data, 0)
    os.close(cache.finish(partial))
    os.utime(cache.path(file), (used, used))


def names(cache):
    return sorted(name.partition("-")[2] for name in os.listdir(cache.folder) if name != "lock")


@pytest.fixture
def full(tmp_path):
    """A cache of 40 bytes that holds a, b and c, used in this order, of 10 bytes each."""
    cache = Cache(str(tmp_path / "cache"), max_bytes=40)
    files = {name: remote(name, name.encode() * 10) for name in "abcde"}
    for used, name in enumerate("abc", start=1):
        put(cache, files[name], name.encode() * 10, used)
    return cache, files


def test_the_one_used_longest_ago_is_deleted(full):
    cache, files = full
    os.close(cache.find(files["a"]))  # used now
    for name in "de":
        put(cache, files[name], name.encode() * 10, used=9)
    assert names(cache) == ["a", "c", "d", "e"]


def test_what_is_in_use_is_kept_and_only_the_urgent_gets_room(full):
    cache, files = full
    held = [cache.find(files[name]) for name in "abc"]
    put(cache, files["d"], b"d" * 10, used=9)
    held.append(cache.find(files["d"]))
    assert cache.start(files["e"], is_urgent=False) is None
    partial = cache.start(files["e"], is_urgent=True)
    assert names(cache) == ["a", "b", "c", "d", "e.partial"]
    cache.give_up(partial)
    os.close(held[1])
    put(cache, files["e"], b"e" * 10, used=9)
    assert names(cache) == ["a", "c", "d", "e"]
    for descriptor in (held[0], *held[2:]):
        os.close(descriptor)


def test_a_file_is_downloaded_by_one_process(full):
    cache, files = full
    partial = cache.start(files["d"], is_urgent=False)
    assert Cache(cache.folder, 40).start(files["d"], is_urgent=True) is None
    os.pwrite(partial.descriptor, b"d" * 10, 0)
    os.close(cache.finish(partial))
    assert cache.start(files["d"], is_urgent=True) is None  # it is there
    assert names(cache) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("asked_for", ["d", "e"])
def test_a_killed_download_is_never_whole_and_goes(full, asked_for):
    cache, files = full
    program = (
        "import os, signal, sys; from tfrecord_dataset.store.cache import Cache;"
        "from tfrecord_dataset.store.objects import RemoteFile;"
        "file = RemoteFile(url='s3://bucket/d', num_bytes=10, sha256=sys.argv[2]);"
        "partial = Cache(sys.argv[1], 40).start(file, is_urgent=False);"
        "os.pwrite(partial.descriptor, b'd' * 9, 0);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, cache.folder, files["d"].sha256], check=False)
    assert cache.find(files["d"]) is None
    assert names(cache) == ["a", "b", "c", "d.partial"]

    put(cache, files[asked_for], asked_for.encode() * 10, used=9)
    assert Path(cache.path(files[asked_for])).read_bytes() == asked_for.encode() * 10
    assert (
        names(cache)
        == {
            "d": ["a", "b", "c", "d"],
            "e": ["b", "c", "d.partial", "e"],  # which goes when it was not used for longest
        }[asked_for]
    )


def test_another_digest_than_metadata_states(full):
    cache, files = full
    partial = cache.start(files["d"], is_urgent=False)
    os.pwrite(partial.descriptor, b"D" * 10, 0)
    with pytest.raises(DatasetDamagedError, match=r"s3://bucket/d has sha256 .*restore that file"):
        cache.finish(partial)
    assert names(cache) == ["a", "b", "c"]


def test_a_copy_that_somebody_cut_is_none(full):
    cache, files = full
    os.truncate(cache.path(files["b"]), 5)
    assert cache.find(files["b"]) is None
    assert names(cache) == ["a", "c"]


def test_names_of_copies():
    one = remote("x/cells.tfrecord", b"1")
    assert one.local_name == f"{one.sha256[:32]}-cells.tfrecord"
    other = RemoteFile(url="https://h/a b?key=1", num_bytes=3, version='"1"')
    assert other.local_name.endswith("-a_b")
    again = RemoteFile(url="https://h/a b?key=1", num_bytes=3, version='"2"')
    assert again.local_name != other.local_name


def test_the_default_is_half_of_the_disk(tmp_path):
    disk = os.statvfs(tmp_path)
    assert Cache(str(tmp_path)).max_bytes == pytest.approx(
        disk.f_bavail * disk.f_frsize / 2, rel=0.1
    )


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"Not a directory.*--cache-dir"):
        Cache(str(tmp_path / "file" / "cache"))
