"""What disks, kills and strangers do to a file."""

import os
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], None]


def flip(file: Path) -> None:
    """One bit, in the middle."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut(file: Path) -> None:
    """The last bytes are missing."""
    file.write_bytes(file.read_bytes()[:-10])


def empty(file: Path) -> None:
    """No byte is left."""
    file.write_bytes(b"")


def zero(file: Path) -> None:
    """Its size is right, and its bytes are not there."""
    file.write_bytes(bytes(file.stat().st_size))


def remove(file: Path) -> None:
    """It is gone."""
    file.unlink()


def make_folder(file: Path) -> None:
    """A folder has its name."""
    file.unlink()
    file.mkdir()


def make_pipe(file: Path) -> None:
    """A pipe that nobody writes to has its name."""
    file.unlink()
    os.mkfifo(file)


def make_link_to_itself(file: Path) -> None:
    """A link that leads nowhere has its name."""
    file.unlink()
    file.symlink_to(file)


DAMAGES = (flip, cut, empty, zero, remove, make_folder, make_pipe, make_link_to_itself)
