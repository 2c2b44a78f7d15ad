"""Damaged local caches are made again or reported, never trusted."""

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from damages import cut, flip, make_folder
from tiers import first_in_ci

import trainer
from tfrecord_dataset.records import index
from tfrecord_dataset.store import user_cache
from trainer.errors import TrainerError
from trainer.input_pipeline.tensorflow_errors import readable_errors


class Kept:
    """One of the caches, with a source that is read through it.

    Attributes:
        source: Path or URL to open.
        folder: Folder of the cache's files.
        remote: Whether the source is on a store.
    """

    def __init__(self, kind, root, make, bucket):
        self.kind = kind
        self.remote = kind == "copies"
        self._options = {"cache_dir": str(root / "shards")} if self.remote else {}
        folders = {
            "index": root / "home/beam-tfrecords/index",
            "unpacked": root / "home/beam-tfrecords/unpacked",
        }
        self.folder = folders.get(kind, root / "shards")
        self._make = make
        self._bucket = bucket
        self.root = root
        self._local = root / "source/tiny/1.0.0"
        self.write(0)

    def write(self, first):
        """Write the source, replacing it by other records of the same sizes."""
        shutil.rmtree(self._local, ignore_errors=True)
        self._make(self._local, first, "GZIP" if self.kind == "unpacked" else "")
        place = str(self._local)
        if self.remote:
            url, store = self._bucket
            store.put_folder(f"{url}/tiny/1.0.0", self._local)
            place = f"{url}/tiny/1.0.0"
        bare = self.kind == "index"
        self.source = f"{place}/*.tfrecord-*" if bare else place

    def open(self):
        return trainer.open(self.source, **self._options)

    def read(self, dataset):
        """Return the record numbers of two passes."""
        options = {"batch_size": 4, "shuffle": True, "seed": 1, "repeat": 2, "features": "number"}
        with readable_errors():
            found = list(dataset.batches("train", **options))
        return [batch["number"].numpy().tolist() for batch in found]

    def reads(self, expected, named, dataset=None):
        """Return whether the records were read; else check that the error is `named`."""
        try:
            assert self.read(dataset or self.open()) == expected
        except TrainerError as error:
            if not named(str(error)):
                raise
            return False
        return True

    @property
    def files(self):
        """List the cache's files without locks."""
        return sorted(path for path in self.folder.iterdir() if not path.name.startswith("lock"))


KINDS = ["index", "unpacked", "copies"]


@pytest.fixture
def open_folder():
    """Make a folder that other users may enter, unlike the tests' own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.fixture(params=KINDS)
def kept(request, open_folder, monkeypatch, write_dataset, schema, colored_records):
    monkeypatch.setenv("XDG_CACHE_HOME", str(open_folder / "home"))
    monkeypatch.setattr(index, "_WORTH_CACHING", 1)
    bucket = request.getfixturevalue("bucket") if request.param == "copies" else None

    def make(directory, first, compression):
        features = [schema["image"], schema["label"], schema["number"]]
        records = {"train": colored_records(12, first)}
        write_dataset(directory, features, records, compression=compression)

    return Kept(request.param, open_folder, make, bucket)


@pytest.mark.parametrize("damage", [cut, flip, make_folder])
def test_what_is_kept_is_made_again_or_named(kept, damage):
    expected = kept.read(kept.open())
    paths = kept.files
    for path in paths:
        damage(path)

    def named(message):
        return damage is make_folder and any(str(path) in message for path in paths)

    if not kept.reads(expected, named):
        for path in paths:
            shutil.rmtree(path)
    assert kept.read(kept.open()) == expected
    assert kept.files == paths
    assert all(path.is_file() for path in paths)


@pytest.mark.parametrize("damage", first_in_ci([cut, flip]))
def test_damage_while_it_is_used(kept, damage):
    dataset = kept.open()
    expected = kept.read(dataset)
    for path in kept.files:
        damage(path)
    assert kept.read(dataset) == expected
    assert kept.read(kept.open()) == expected


@pytest.mark.slow
def test_what_this_user_may_not_read(kept):
    """Files of another user in this user's folder."""
    expected = kept.read(kept.open())
    paths = kept.files
    nobody = 65534
    for folder in (*kept.folder.parents[:3], *kept.folder.parent.rglob("*")):
        if os.geteuid() == 0 and folder not in paths and folder.is_relative_to(kept.root):
            os.chown(folder, nobody, nobody)
    for path in paths:
        path.chmod(0)
    with as_user(nobody):
        assert kept.read(kept.open()) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    first_in_ci(
        [
            pytest.param(lambda folder: folder.write_text("no folder"), id="a file"),
            pytest.param(lambda folder: folder.mkdir(mode=0o555), id="not writable"),
        ]
    ),
)
def test_a_folder_that_cannot_be_used(kept, make):
    """Caches that are required are reported; without the others, only time is lost."""
    expected = kept.read(kept.open())
    shutil.rmtree(kept.folder)
    make(kept.folder)
    with as_user(65534):
        kept.reads(expected, lambda message: str(kept.folder.parent) in message)


@contextlib.contextmanager
def as_user(number):
    """Drop root's permissions in this context."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(number)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.slow
def test_a_full_disk(kept):
    """The system limits this process to files of 500 bytes."""
    expected = kept.read(kept.open())
    shutil.rmtree(kept.folder)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    dataset = kept.open()
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        kept.reads(expected, lambda message: str(kept.folder.parent) in message, dataset)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert kept.read(kept.open()) == expected


IN_A_PROCESS = """
import hashlib, sys, trainer, tfrecord_dataset.records.index
tfrecord_dataset.records.index._WORTH_CACHING = 1
source, shards = sys.argv[1:]
options = {"shuffle": True, "seed": 1, "repeat": 2, "features": "number"}
digest = hashlib.sha256()
for batch in trainer.open(source, cache_dir=shards or None).batches("train", **options):
    digest.update(b"".join(batch[name].numpy().tobytes() for name in sorted(batch)))
print(digest.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize("kept", first_in_ci(["unpacked", "copies"]), indirect=True)
def test_processes_at_once(kept):
    def begin():
        shards = str(kept.folder) if kept.remote else ""
        arguments = [sys.executable, "-c", IN_A_PROCESS, kept.source, shards]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)

    (alone, _) = begin().communicate()
    paths = kept.files
    shutil.rmtree(kept.folder)
    together = [begin() for _ in range(3)]

    assert [process.communicate()[0] for process in together] == [alone] * 3
    assert [process.returncode for process in together] == [0] * 3
    assert kept.files == paths


def test_what_a_killed_writer_left_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "beam-tfrecords/index"
    folder.mkdir(parents=True)
    for name, age in (("old.partial", 7200), ("new.partial", 60)):
        (folder / name).write_bytes(bytes(9))
        os.utime(folder / name, (time.time() - age,) * 2)

    with user_cache.writing("index", "a source") as handle:
        handle.write(b"made")

    assert {path.name for path in folder.glob("*.partial")} == {"new.partial"}
    made = user_cache.find("index", "a source")
    assert Path(made).read_bytes()[: user_cache.content_bytes(made)] == b"made"
    assert user_cache.find("index", "another") is None
