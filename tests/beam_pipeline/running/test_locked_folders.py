"""Temporary folders are deleted by their process, or by the next one; a dataset is locked."""

import errno
import fcntl
import os
import subprocess
import sys
import tempfile

import pytest

from beam_pipeline import errors
from beam_pipeline.running.locked_folders import locked, temporary_folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_folder_goes_at_the_end(folder):
    with temporary_folder() as mine:
        assert os.listdir(folder) == [os.path.basename(mine)]
        (folder / mine / "file").write_text("1")
        with temporary_folder() as other:
            assert sorted(os.listdir(folder)) == sorted(map(os.path.basename, (mine, other)))
    assert os.listdir(folder) == []


def test_those_of_the_killed_go_and_no_others(folder):
    code = (
        "import os, pathlib\n"
        "from beam_pipeline.running.locked_folders import temporary_folder\n"
        "with temporary_folder() as folder:\n"
        "    pathlib.Path(folder, 'file').write_text('1')\n"
        "    os._exit(0)"
    )
    (folder / "mine").mkdir()
    (folder / "beam-tfrecords-file").write_text("1")
    (folder / "beam-tfrecords-link").symlink_to(folder / "mine")
    with temporary_folder() as used:
        for _ in range(2):
            subprocess.run([sys.executable, "-c", code], check=True)
            assert len(os.listdir(folder)) == 5
        with temporary_folder():
            pass
        left = {"mine", "beam-tfrecords-file", "beam-tfrecords-link", os.path.basename(used)}
        assert set(os.listdir(folder)) == left


def test_what_was_still_in_use_at_the_beginning_goes_at_the_end(folder):
    """Worker processes of a killed build may hold the lock slightly longer than the build."""
    left = folder / "beam-tfrecords-left"
    left.mkdir()
    lock = os.open(left, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)

    with temporary_folder():
        os.close(lock)
        assert left.exists()
    assert not left.exists()


def test_one_build_at_a_time(tmp_path):
    one, other = str(tmp_path / "pets/1.0.0"), str(tmp_path / "pets/1.0.1")
    with locked(one, lock=one):
        with (
            pytest.raises(errors.ConfigError, match="another build is writing"),
            locked(one, lock=one),
        ):
            pytest.fail("the output was taken")
        with locked(other, lock=other):
            pass
    with locked(one, lock=one):
        os.rmdir(one)  # as a commit does with its working directory
        with locked(one, lock=one):
            pass


def test_only_a_held_lock_is_another_build(tmp_path):
    """A fork without room for another process also raises BlockingIOError."""
    no_room = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    with pytest.raises(BlockingIOError), locked(str(tmp_path), lock=str(tmp_path)):
        raise no_room
