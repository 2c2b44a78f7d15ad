"""A power cut at any call of a build leaves the old or the new dataset intact."""

import hashlib
import json
import os
import random
import shutil
import sys
from collections import Counter

import power_cut
import pytest

import beam_pipeline
from beam_pipeline.config import BuildConfig
from beam_pipeline.write.directories import restore_dataset
from tfrecord_dataset.json_file import check_seal

DATASET = "pets/1.0.0"
MINE = f"{DATASET}/mine/notes.txt"
PAGE = f"{DATASET}/report.html"
# Simulates a file system that cannot exchange two folders or has no hard links; and a build
# killed after the exchange, or before its last sync to disk, and before the same command ran
# again.
WITHOUT = {
    "exchange": "from tfrecord_dataset import durable; durable.exchange = lambda *_: False",
    "links": "import os; os.link = lambda *_, **__: (_ for _ in ()).throw(PermissionError(1, ''))",
    "end": (
        "import os; from tfrecord_dataset import durable; exchange = durable.exchange\n"
        "if not os.fork(): durable.exchange = lambda *names: exchange(*names) and os._exit(0)\n"
        "elif os.wait(): pass"
    ),
    **{
        f"sync {number}": (
            "import itertools, os; calls = itertools.count(1); sync = os.fsync\n"
            f"fsync = lambda file: os._exit(0) if next(calls) == {number} else sync(file)\n"
            "if not os.fork(): os.fsync = fsync\n"
            "elif os.wait(): pass"
        )
        for number in (9, 17, 30)
    },
}


@pytest.fixture(scope="module")
def pets(tmp_path_factory, class_folders):
    return class_folders(tmp_path_factory.mktemp("in") / "pets", each=4)


def configuration(source, output, num_shards, **options):
    return BuildConfig(
        input=str(source),
        output=str(output),
        num_shards=num_shards,
        threads=1,
        overwrite=True,
        **options,
    )


def recorded(source, root, *, num_old, num_new, without=""):
    """Record a build of `num_new` shards over a dataset of `num_old` and a user's file."""
    root.mkdir()
    if num_old:
        info = beam_pipeline.build(configuration(source, root, num_old, seed=1))
        assert beam_pipeline.verify(info) == []
        mine = root / MINE
        mine.parent.mkdir()
        mine.write_text("mine")
    program = (
        f"{WITHOUT.get(without, '')}\nfrom beam_pipeline.cli.commands import main; exit(main())"
    )
    command = [sys.executable, "-c", program, "build", source, "--output", root, "--threads", "1"]
    recording = power_cut.record(
        [*command, "--num-shards", num_new, *(["--overwrite"] if num_old else [])], root
    )
    assert beam_pipeline.verify(beam_pipeline.open(str(root / DATASET))) == []
    return recording


def dataset(files):
    """Return the dataset's files by path; for build.json, which has a time, whether it is intact.

    The page is not part of the dataset, and is written after it is complete.
    """
    found = {
        path: data
        for path, data in files.items()
        if path.startswith(f"{DATASET}/") and not path.startswith(f"{DATASET}/report.")
    }
    if build := found.get(f"{DATASET}/build.json"):
        check_seal(build)
        found[f"{DATASET}/build.json"] = b"whole"
    return found


@pytest.mark.parametrize(
    ("num_old", "num_new", "without"),
    [
        pytest.param(0, 2, "", id="the first dataset", marks=pytest.mark.nightly),
        pytest.param(3, 2, "", id="fewer shards"),
        pytest.param(1, 1, "", id="the same files", marks=pytest.mark.nightly),
        pytest.param(2, 2, "exchange", id="no exchange", marks=pytest.mark.nightly),
        pytest.param(2, 2, "links", id="no links", marks=pytest.mark.nightly),
        pytest.param(3, 2, "end", id="killed, and run again", marks=pytest.mark.nightly),
        *(
            pytest.param(
                3, 2, f"sync {number}", id=f"killed at {number}", marks=pytest.mark.nightly
            )
            for number in (9, 17, 30)
        ),
    ],
)
def test_the_old_dataset_or_the_new(pets, tmp_path, num_old, num_new, without):
    recording = recorded(pets, tmp_path / "out", num_old=num_old, num_new=num_new, without=without)
    old, new = dataset(recording.before.files), dataset(recording.after.files)
    assert new.get(MINE) == old.get(MINE)
    finished = Counter()
    for disk in recording.disks(seed=num_new, draws=2):
        found = dataset(disk.files)
        if without == "exchange" and not disk.is_last and DATASET not in disk.folders:
            found = restored(disk, tmp_path / "restored")
        assert found in (old, new), disk
        assert found == new or not disk.is_last, disk
        assert PAGE in disk.files or not disk.is_last, disk
        if found == old and without != "links":  # else the commit moves them
            finished[num_finished(disk)] += 1
    assert without == "links" or finished.keys() == set(range(num_new + 1))


def num_finished(disk):
    """Count the receipts that the next build will accept; their files must be intact."""
    count = 0
    for path, data in disk.files.items():
        working, receipts, _ = path.rpartition("/receipts/")
        if receipts and path.endswith(".json"):
            check_seal(data)
            count += 1
            for file in json.loads(data)["files"].values():
                found = disk.files[f"{working}/{file['path']}"]
                assert hashlib.sha256(found).hexdigest() == file["sha256"], disk
    return count


@pytest.mark.nightly
def test_the_rejects_of_a_build_that_fails(pets, tmp_path):
    """Once it has ended, the list named in its message exists."""
    source = shutil.copytree(pets, tmp_path / "pets")
    (source / "cat/000.jpg").write_bytes(b"no image")
    command = [sys.executable, "-m", "beam_pipeline", "build", source, "--threads", "1"]
    program = "import subprocess, sys; exit(subprocess.run(sys.argv[1:]).returncode != 3)"
    (tmp_path / "out").mkdir()
    recording = power_cut.record(
        [sys.executable, "-c", program, *command, "--output", tmp_path / "out"], tmp_path / "out"
    )
    left = {
        disk.files.get(f"{DATASET}/rejects.jsonl") for disk in recording.disks() if disk.is_last
    }
    [rejects] = left
    assert json.loads(rejects)["source"] == "cat/000.jpg"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_old", "samples"),
    [
        (3, 4),
        pytest.param(3, 10, marks=pytest.mark.nightly),
        pytest.param(0, 40, marks=pytest.mark.nightly),
    ],
)
def test_the_same_command_goes_on(pets, tmp_path, num_old, samples, digests):
    recording = recorded(pets, tmp_path / "out", num_old=num_old, num_new=2)
    expected = digests(tmp_path / "out" / DATASET)
    disks = list(recording.disks(seed=num_old, draws=1))
    for number, disk in enumerate(random.Random(num_old).sample(disks, samples)):
        output = tmp_path / str(number)
        disk.lay_out(output)
        info = beam_pipeline.build(configuration(pets, output, 2))
        assert digests(info.path) == expected
        assert os.listdir(output / "pets") == ["1.0.0"]


def restored(disk, root):
    """Return the dataset after the next build has begun, if the old one was moved aside."""
    disk.lay_out(root)
    restore_dataset(configuration("", root, 1, name="pets"))
    paths = [path for path in root.rglob("*") if path.is_file()]
    files = {str(path.relative_to(root)): path.read_bytes() for path in paths}
    shutil.rmtree(root)
    return dataset(files)
