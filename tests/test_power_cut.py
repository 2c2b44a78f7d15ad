"""`power_cut` on programs with known results."""

import sys

import power_cut
import pytest

START = "import os, sys; os.chdir('/'); root = sys.argv[1]; name = lambda each: f'{root}/{each}'"
WRITE = f"""{START}
def write(path, data, synced):
    with open(name(path), 'wb') as file:
        file.write(data)
        if synced:
            file.flush()
            os.fsync(file.fileno())
def sync(path):
    folder = os.open(name(path), os.O_RDONLY)
    os.fsync(folder)
"""


def disks_after(tmp_path, program):
    """Return the possible contents of the root after the program has ended."""
    root = tmp_path / "root"
    (root / "old").mkdir(parents=True)
    (root / "old/file").write_bytes(b"old")
    recording = power_cut.record([sys.executable, "-c", program, root], root)
    disks = list(recording.disks())
    for disk in disks:
        assert disk.calls <= len(recording.calls)
    return [disk for disk in disks if disk.is_last]


@pytest.mark.parametrize(
    ("program", "left"),
    [
        ("write('a', b'1234', False)", [None, b"", bytes(4), b"12", b"1234"]),
        ("write('a', b'1234', True)", [None, b"1234"]),
        ("write('a', b'1234', True); sync('')", [b"1234"]),
        ("write('a', b'1234', False); sync('')", [b"", bytes(4), b"12", b"1234"]),
        ("write('a', b'1234', False); os.sync()", [b"1234"]),
        ("write('b', b'1', True); sync(''); os.rename(name('b'), name('a'))", [None, b"1"]),
        ("write('b', b'1', True); os.link(name('b'), name('a')); sync('')", [b"1"]),
        (
            "os.mkdir(name('new')); write('new/b', b'1', True); sync('new');"
            "os.rename(name('new/b'), name('a')); sync('')",
            [b"1"],
        ),
        ("write('a', b'1', True); os.remove(name('a')); sync('')", [None]),
        ("write('a', b'12', True); sync(''); os.truncate(name('a'), 1)", [b"1", b"12"]),
        (
            "write('a', b'1234', True); sync(''); file = open(name('a'), 'r+b', buffering=0);"
            "file.seek(1); file.write(b'5'); os.pwrite(file.fileno(), b'6', 3)",
            [b"1234", b"1\x0034", b"1536", b"1\x003\x00"],
        ),
    ],
)
def test_a_file(tmp_path, program, left):
    found = {disk.files.get("a") for disk in disks_after(tmp_path, WRITE + program)}
    assert found <= set(left)
    assert (None in found, b"1234" in found) == (None in left, b"1234" in left)
    assert len(found) >= min(3, len(left))


@pytest.mark.parametrize(
    ("program", "left"),
    [
        ("", [b"old", b"new"]),
        ("sync('')", [b"old", b"new"]),
        ("sync(''); sync('above')", [b"new"]),
    ],
)
def test_an_exchange_of_folders(tmp_path, program, left):
    exchange = (
        "os.makedirs(name('above/new')); write('above/new/file', b'new', True); os.sync()\n"
        "import ctypes; names = [os.fsencode(name(each)) for each in ('above/new', 'old')]\n"
        "assert ctypes.CDLL(None).renameat2(-100, names[0], -100, names[1], 2) == 0\n"
    )
    disks = disks_after(tmp_path, WRITE + exchange + program)
    assert {disk.files["old/file"] for disk in disks} == set(left)
    for disk in disks:
        assert {disk.files["old/file"], disk.files["above/new/file"]} == {b"old", b"new"}


def test_real_files_are_made_of_it(tmp_path):
    program = WRITE + "os.symlink('old', name('link')); write('old/a', b'1', True); os.sync()"
    [disk] = disks_after(tmp_path, program)
    disk.lay_out(tmp_path / "after")
    assert (tmp_path / "after/link/a").read_bytes() == b"1"
    assert disk.below("old") == {"a": b"1", "file": b"old"}


def test_every_thread_and_process_counts(tmp_path):
    program = WRITE + (
        "import threading; thread = threading.Thread(target=write, args=('a', b'1', True))\n"
        "thread.start(); thread.join()\n"
        "if os.fork(): os.wait()\n"
        "else: write('b', b'2', True); os._exit(0)\n"
        "os.system(f'printf 3 > {name(\"c\")}; sync')"
    )
    [disk] = disks_after(tmp_path, program)
    assert disk.files == {"old/file": b"old", "a": b"1", "b": b"2", "c": b"3"}


def test_a_program_that_fails_is_reported(tmp_path):
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        power_cut.record([sys.executable, "-c", "1 / 0"], tmp_path)
