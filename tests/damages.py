"""Ways to damage and forge a file, as disks, kills and attackers do."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfrecord_dataset.json_file import sealed

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


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Apply `change` to the object in a sealed file, and seal it again."""
    value = json.loads(path.read_text())
    del value["checksum"]  # `sealed` adds it again at the end
    change(value)
    path.write_text(sealed(value))
