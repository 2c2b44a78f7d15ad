"""Ways to damage a file, as disks, kills and attackers do."""

import os
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], None]


def flip(file: Path) -> None:
    """Flip a bit in the middle."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut(file: Path) -> None:
    """Remove the last bytes."""
    file.write_bytes(file.read_bytes()[:-10])


def empty(file: Path) -> None:
    """Remove all bytes."""
    file.write_bytes(b"")


def zero(file: Path) -> None:
    """Replace all bytes with zeros."""
    file.write_bytes(bytes(file.stat().st_size))


def remove(file: Path) -> None:
    """Delete the file."""
    file.unlink()


def make_folder(file: Path) -> None:
    """Replace it with a folder."""
    file.unlink()
    file.mkdir()


def make_pipe(file: Path) -> None:
    """Replace it with a pipe without a writer."""
    file.unlink()
    os.mkfifo(file)


def make_link_to_itself(file: Path) -> None:
    """Replace it with a link to itself."""
    file.unlink()
    file.symlink_to(file)


DAMAGES = (flip, cut, empty, zero, remove, make_folder, make_pipe, make_link_to_itself)
