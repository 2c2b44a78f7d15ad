"""Interrupted, concurrent or failing builds lose nothing, and never commit partial output."""

import resource
from pathlib import Path

import pytest
from end_to_end.building import build

from beam_pipeline.assign import columns
from beam_pipeline.assign import stage as assign
from beam_pipeline.cli import commands
from beam_pipeline.write import stage as write

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
