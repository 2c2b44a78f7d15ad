"""Interrupted or failing builds lose nothing; a finished dataset is replaced as a whole."""

import re
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from end_to_end.building import build

import beam_pipeline
from beam_pipeline.assign import assign_shards as assign
from beam_pipeline.assign import columns
from beam_pipeline.cli import commands
from beam_pipeline.write import write_shards as write

OPTIONS = {"name": "pets", "threads": 1, "num_shards": 4}


def hidden(directory):
    """Return what builds left: working directories and partial files."""
    found = (path for pattern in (".*", "*.partial") for path in Path(directory).rglob(pattern))
    return [path.name for path in found]


@pytest.fixture(scope="module")
def pets(tmp_path_factory, class_folders):
    return class_folders(tmp_path_factory.mktemp("in") / "pets")


@pytest.fixture(scope="module")
def whole(tmp_path_factory, pets, digests):
    """The digests of an undisturbed build, in four shards."""
    return digests(build(pets, tmp_path_factory.mktemp("whole"), **OPTIONS).path)


@pytest.mark.slow
def test_a_full_disk(pets, whole, tmp_path, digests, command):
    """Simulated by a limit on file sizes, so that a write fails halfway."""
    options = ("--output", tmp_path, "--num-shards", 4, "--threads", 1, "--name", "pets")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))

    done = command("beam_pipeline", "build", pets, *options, preexec_fn=limit)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("metadata.json"))
    assert not hidden(tmp_path)

    done = command("beam_pipeline", "build", pets, *options)
    assert done.returncode == 0, done.stderr
    assert digests(done.stdout.strip()) == whole


def failing_at(number):
    """Make `EncodeChunk.here` fail for the chunk of that number."""
    calls = []
    original = write.EncodeChunk.here

    def encode(*arguments, **options):
        calls.append(1)
        if len(calls) == number:
            raise OSError(28, "No space left on device")
        return original(*arguments, **options)

    return encode


def test_a_failure_leaves_nothing_but_finished_shards(pets, whole, tmp_path, monkeypatch, digests):
    for number in (3, 1):  # two shards are written at once
        with monkeypatch.context() as patch:
            patch.setattr(write.EncodeChunk, "here", failing_at(number))
            with pytest.raises(Exception, match="No space left"):
                build(pets, tmp_path, **OPTIONS)
        [working] = (tmp_path / "pets").glob(".building-*/*")
        shards = [path for path in (working / "train").rglob("*") if path.is_file()]
        receipts = list((working / "receipts").iterdir())
        assert len(shards) == len(receipts) > 0
    assert digests(build(pets, tmp_path, **OPTIONS).path) == whole


def test_only_finished_shards_are_promised(pets, tmp_path, monkeypatch, capsys):
    arguments = ["build", str(pets), "--output", str(tmp_path), "--threads=1", "--num-shards=4"]
    with monkeypatch.context() as patch:
        patch.setattr(write.EncodeChunk, "here", failing_at(3))
        assert commands.main(arguments) == 1
    shown = capsys.readouterr().err
    assert "error: No space left on device" in shown
    assert "run the same command again (it continues with the shards that are missing)" in shown


@pytest.mark.parametrize("change", ["rewritten", "deleted"])
def test_a_source_that_changes_under_the_build(
    class_folders, write_image, tmp_path, monkeypatch, change, capsys
):
    pets = class_folders(tmp_path / "pets", each=2)
    victim = pets / "cat/000.jpg"
    original = columns.in_order

    def change_then_order(*arguments):
        victim.unlink(missing_ok=True)
        if change == "rewritten":
            write_image(victim, seed=99)
        return original(*arguments)

    monkeypatch.setattr(columns, "in_order", change_then_order)
    code = commands.main(["build", str(pets), "--output", str(tmp_path / "out"), "--threads", "1"])
    message = capsys.readouterr().err

    assert code == 1
    assert str(victim) in message
    assert "run the build again once nothing writes to its input" in message
    assert "Traceback" not in message
    assert not list((tmp_path / "out").rglob("metadata.json"))


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ("before the plan", "16 records were inspected, but 15 came to be placed"),
        ("after the plan", "16 records were read, but 15 written"),
    ],
)
def test_a_lost_record_is_noticed(pets, tmp_path, monkeypatch, capsys, stage, message):
    if stage == "before the plan":
        settle, lost = assign.settle, []

        def lossy(tables, *arguments, **options):
            table = columns.from_bytes(tables)
            if not lost and table.num_rows:
                lost.append(1)
                table = table.slice(1)
            return settle([columns.to_bytes(table)], *arguments, **options)

        monkeypatch.setattr(assign, "settle", lossy)
    else:
        in_order = columns.in_order
        monkeypatch.setattr(columns, "in_order", lambda table: in_order(table).slice(1))

    code = commands.main(["build", str(pets), "--output", str(tmp_path), "--threads", "1"])
    assert code == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.rglob("metadata.json"))


@pytest.fixture
def build_pets(tmp_path, capsys):
    def run(source, *options):
        arguments = ["build", str(source), "--output", str(tmp_path / "out"), "--name", "pets"]
        code = commands.main([*arguments, "--threads", "1", *options])
        return code, capsys.readouterr()

    return run


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "out/pets/1.0.0"


def test_a_finished_dataset_is_not_changed(class_folders, build_pets, directory, tmp_path, digests):
    root = class_folders(tmp_path / "pets", each=2)
    assert build_pets(root)[0] == 0
    before = digests(directory)
    class_folders(root, each=3)

    code, shown = build_pets(root)
    assert code == 2
    assert f"{directory} holds a finished dataset" in shown.err
    assert "pass --overwrite" in shown.err
    assert shown.out == ""
    assert digests(directory) == before


KILLED_BEFORE_THE_PAGE = """
import os, signal, sys
from beam_pipeline import pipeline
from beam_pipeline.cli import commands
pipeline.draw_page = lambda config: os.kill(os.getpid(), signal.SIGKILL)
commands.main(sys.argv[1:])
"""


def test_a_build_killed_before_its_report(pets, build_pets, directory, tmp_path, capsys):
    words = ["build", pets, "--output", tmp_path / "out", "--name", "pets", "--threads", "1"]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE_THE_PAGE, *map(str, words)], stderr=subprocess.DEVNULL
    )
    assert killed.returncode == -signal.SIGKILL
    code, shown = build_pets(pets)
    assert code == 2
    said = f"{directory} holds a finished dataset, but no report.html: run `beam-tfrecords "
    [remedy] = re.findall(rf"{said}(.*)`, or pass --overwrite", shown.err)
    assert commands.main(shlex.split(remedy)) == 0
    assert capsys.readouterr().out.strip() == str(directory / "report.html")
    assert "no report.html" not in build_pets(pets)[1].err


@pytest.mark.slow
def test_other_shard_counts_leave_no_stale_file(
    class_folders, build_pets, directory, tmp_path, digests
):
    root = class_folders(tmp_path / "pets")
    assert build_pets(root, "--num-shards", "4", "--split", "train=0.5,test=0.5")[0] == 0
    (directory / "notes.txt").write_text("mine")
    assert build_pets(root, "--overwrite", "--num-shards", "2", "--compression", "gzip")[0] == 0

    names = {path.name for path in directory.iterdir()}
    assert {name for name in names if ".tfrecord" in name} == {
        "pets-train.tfrecord-00000-of-00002.gz",
        "pets-train.tfrecord-00001-of-00002.gz",
    }
    assert "notes.txt" in names
    assert not names & {"dataset_info.json", "features.json"}  # TFDS cannot read gzip
    assert {path.name for path in (directory / "index").iterdir()} == {
        "pets-train.tfrecord-00000-of-00002.gz.parquet",
        "pets-train.tfrecord-00001-of-00002.gz.parquet",
    }
    assert beam_pipeline.verify(beam_pipeline.open(str(directory))) == []


def test_an_overwrite_that_fails_leaves_the_old_one(
    class_folders, build_pets, directory, tmp_path, digests
):
    root = class_folders(tmp_path / "pets", each=3)
    assert build_pets(root)[0] == 0
    before = digests(directory)
    (root / "cat/000.jpg").write_bytes(b"broken")

    code, shown = build_pets(root, "--overwrite", "--num-shards", "2")
    assert code == 3
    assert "failed-rejects.jsonl" in shown.err
    after = digests(directory)
    assert after.pop("failed-rejects.jsonl")
    assert after == before
    assert beam_pipeline.verify(beam_pipeline.open(str(directory))) == []

    assert build_pets(root, "--overwrite", "--max-bad-fraction", "0.5")[0] == 0
    assert not (directory / "failed-rejects.jsonl").exists()


@pytest.mark.slow
def test_other_contents_of_the_same_size_change_the_shards(build_pets, directory, tmp_path):
    """Beam's sink assumes that files of equal size are equal."""
    root = tmp_path / "pets"
    for name in ("a", "b"):
        (root / "cat").mkdir(parents=True, exist_ok=True)
        header = b"P6 2 1 255\n"
        (root / f"cat/{name}.ppm").write_bytes(header + b"abcdef")
    csv = root / "labels.csv"
    csv.write_text("file_name,label,note\ncat/a.ppm,x,1st\ncat/b.ppm,y,2nd\n")
    assert build_pets(csv)[0] == 0
    old = {path.name: path.read_bytes() for path in directory.glob("pets-*")}

    csv.write_text("file_name,label,note\ncat/a.ppm,y,2nd\ncat/b.ppm,x,1st\n")
    assert build_pets(csv, "--overwrite")[0] == 0
    new = {path.name: path.read_bytes() for path in directory.glob("pets-*")}
    assert {name: len(data) for name, data in new.items()} == {
        name: len(data) for name, data in old.items()
    }
    assert new != old
    assert beam_pipeline.verify(beam_pipeline.open(str(directory))) == []
