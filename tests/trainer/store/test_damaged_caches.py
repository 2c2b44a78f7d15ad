"""What this machine keeps of files, damaged in every way: made again or named, never believed."""

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

import trainer
from tfrecord_dataset.records import index
from tfrecord_dataset.store import user_cache
from trainer.errors import TrainerError
from trainer.input_pipeline.tensorflow_errors import readable_errors


class Kept:
    """One of the caches: a source that is read through it, and where its files are.

    Attributes:
        source: What is opened.
        folder: With what is kept.
        remote: Whether the source is on a store.
    """

    def __init__(self, kind, root, make, bucket):
        self.kind = kind
        self.remote = kind.startswith("copies")
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
        """Makes the source, anew if it is there: other records of the same sizes."""
        shutil.rmtree(self._local, ignore_errors=True)
        self._make(self._local, first, "GZIP" if self.kind == "unpacked" else "")
        place = str(self._local)
        if self.remote:
            url, store = self._bucket
            store.put_folder(f"{url}/tiny/1.0.0", self._local)
            place = f"{url}/tiny/1.0.0"
        bare = self.kind in ("index", "copies of bare files")
        self.source = f"{place}/*.tfrecord-*" if bare else place

    def open(self):
        return trainer.open(self.source, **self._options)

    def read(self, dataset):
        """Two passes: the numbers of the records."""
        options = {"batch_size": 4, "shuffle": True, "seed": 1, "repeat": 2, "features": "number"}
        with readable_errors():
            found = list(dataset.batches("train", **options))
        return [batch["number"].numpy().tolist() for batch in found]

    def reads(self, expected, named, dataset=None):
        """Whether the records are read; else the error is one that is `named`."""
        try:
            assert self.read(dataset or self.open()) == expected
        except TrainerError as error:
            if not named(str(error)):
                raise
            return False
        return True

    @property
    def files(self):
        """What is kept, but for locks."""
        return sorted(path for path in self.folder.iterdir() if path.name != "lock")


KINDS = ["index", "unpacked", "copies", "copies of bare files"]


@pytest.fixture
def open_folder():
    """A folder that other users may enter, as they may not the tests' own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.fixture(params=KINDS)
def kept(request, open_folder, monkeypatch, write_dataset, schema, colored_records):
    monkeypatch.setenv("XDG_CACHE_HOME", str(open_folder / "home"))
    monkeypatch.setattr(index, "_WORTH_CACHING", 1)
    bucket = request.getfixturevalue("bucket") if request.param.startswith("copies") else None

    def make(directory, first, compression):
        features = [schema["image"], schema["label"], schema["number"]]
        records = {"train": colored_records(12, first)}
        write_dataset(directory, features, records, compression=compression)

    return Kept(request.param, open_folder, make, bucket)


def flip(path, offset):
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ 4]))


def rot(path, offset):
    """As a disk changes a bit: without a trace in the file's time."""
    facts = path.stat()
    flip(path, offset)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def move_away(path):
    """A link leads to what was kept, as whole as it was."""
    path.rename(path.parent.parent / f"moved-{path.name}")
    path.symlink_to(path.parent.parent / f"moved-{path.name}")


def replace(make):
    """A damage that removes the file first."""

    def damage(path):
        path.unlink()
        make(path)

    return damage


DAMAGES = {
    "emptied": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "longer": lambda path: os.truncate(path, path.stat().st_size + 3),
    "a bit in the midst": lambda path: flip(path, path.stat().st_size // 2),
    "a bit by the disk": lambda path: rot(path, path.stat().st_size // 2),
    "deleted": lambda path: path.unlink(),
    "deleted with its folder": lambda path: shutil.rmtree(path.parent),
    "a pipe": replace(os.mkfifo),
    "a link to what was kept": move_away,
    "a folder": replace(lambda path: (path / "a").mkdir(parents=True)),
}
# What cannot be made again is said; everything else is as if nothing had been there.
NAMED = {
    "a folder",
    "a pipe",
    "a link to what was kept",
}


QUICK = {"emptied"}


@pytest.mark.parametrize(
    "damage",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in DAMAGES],
)
def test_what_is_kept_is_made_again_or_named(kept, damage):
    expected = kept.read(kept.open())
    paths = kept.files
    for path in paths:
        if path.exists():  # the first may have taken the folder with it
            DAMAGES[damage](path)

    def named(told):
        return damage in NAMED and any(str(path) in told for path in paths)

    if not kept.reads(expected, named):
        for path in paths:
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
    assert kept.read(kept.open()) == expected
    assert kept.files == paths
    assert all(path.is_file() for path in paths)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "a bit by the disk", "deleted"])
def test_damage_while_it_is_used(kept, damage):
    dataset = kept.open()
    expected = kept.read(dataset)
    for path in kept.files:
        DAMAGES[damage](path)
    assert kept.read(dataset) == expected
    assert kept.read(kept.open()) == expected


@pytest.mark.slow
def test_what_belongs_to_another_source(kept):
    """A source that changes, of the same name and sizes; then what was kept of it before.

    The latter lies under the name of what is kept now, as whole as it was.
    """
    kept.read(kept.open())
    paths, contents = kept.files, [path.read_bytes() for path in kept.files]
    kept.write(12)
    expected = kept.read(kept.open())
    assert {number for batch in expected for number in batch} == set(range(12, 24))
    others = [path for path in kept.files if path not in paths]
    assert len(others) == len(paths)
    for path, content in zip(others, contents, strict=True):
        path.write_bytes(content)

    assert kept.read(kept.open()) == expected


@pytest.mark.slow
def test_what_this_user_may_not_read(kept):
    """Files of another user, in a folder of this one's."""
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
    [
        pytest.param(lambda folder: folder.write_text("no folder"), id="a file"),
        pytest.param(lambda folder: folder.symlink_to("nowhere"), id="a link to nothing"),
        pytest.param(os.mkfifo, id="a pipe"),
        pytest.param(lambda folder: folder.mkdir(mode=0o555), id="not writable"),
    ],
)
def test_a_folder_that_cannot_be_used(kept, make):
    """What must be kept to be read is named; the rest costs time only."""
    expected = kept.read(kept.open())
    shutil.rmtree(kept.folder)
    make(kept.folder)
    with as_user(65534):
        kept.reads(expected, lambda told: str(kept.folder.parent) in told)


@contextlib.contextmanager
def as_user(number):
    """What root may do, this user may not."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(number)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.slow
def test_a_full_disk(kept):
    """The system lets this process write no file further than 500 bytes."""
    expected = kept.read(kept.open())
    shutil.rmtree(kept.folder)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    dataset = kept.open()
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        kept.reads(expected, lambda told: str(kept.folder.parent) in told, dataset)
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

    with user_cache.making("index", "a source") as handle:
        handle.write(b"made")

    assert {path.name for path in folder.glob("*.partial")} == {"new.partial"}
    made = user_cache.find("index", "a source")
    assert os.pread(made.descriptor, made.num_bytes, 0) == b"made"
    os.close(made.descriptor)
    assert user_cache.find("index", "another") is None
