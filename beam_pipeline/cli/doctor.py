"""`doctor`: checks versions, processors, memory, disks, folders and stores."""

import importlib.metadata
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
from packaging.requirements import Requirement

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import storage
from beam_pipeline.running.parallel import usable_cpus
from tfrecord_dataset import command_line
from tfrecord_dataset.shown_text import size_text
from tfrecord_dataset.store.user_cache import cache_folder

_LEAST_FREE_BYTES, _LEAST_MEMORY_BYTES = 5 << 30, 2 << 30


class Finding(NamedTuple):
    """One line of the report, with a remedy if it is a problem."""

    name: str
    text: str
    remedy: str = ""


def examine(urls: Sequence[str] = ()) -> Iterator[Finding]:
    """Check the machine, its packages, and folders or stores; yield findings."""
    yield Finding("beam-tfrecords", f"{command_line.version()}, Python {platform.python_version()}")
    stated = importlib.metadata.requires(command_line.DISTRIBUTION) or ()
    packages = [found for each in stated if (found := _package(each))]
    yield from (found for found in packages if found.remedy)
    right = (f"{found.name} {found.text}" for found in packages if not found.remedy)
    yield Finding("packages", ", ".join(right))
    memory = psutil.virtual_memory()
    free = f"{size_text(memory.available)} of {size_text(memory.total)} free"
    remedy = "" if memory.available >= _LEAST_MEMORY_BYTES else "end other programs"
    yield Finding("machine", f"{usable_cpus()} of {os.cpu_count()} CPUs, memory: {free}", remedy)
    yield _disk("this folder", os.getcwd(), "the command in another folder")
    yield _disk("temporary files", tempfile.gettempdir(), "it with TMPDIR=FOLDER")
    yield _disk("caches", str(cache_folder()), "it with XDG_CACHE_HOME=FOLDER")
    yield from map(_place, urls)


def _package(requirement: str) -> Finding | None:
    """Check a package's version; None for one that only an extra needs."""
    needed = Requirement(requirement)
    if needed.marker and not needed.marker.evaluate({"extra": ""}):
        return None
    found = [each.version for each in importlib.metadata.distributions(name=needed.name)]
    is_right = bool(found) and needed.specifier.contains(found[0], prereleases=True)
    install = f"pip install '{needed.name}{needed.specifier}'"
    return Finding(needed.name, (*found, "missing")[0], "" if is_right else install)


def _disk(name: str, folder: str, choice: str) -> Finding:
    there = next(each for each in (Path(folder), *Path(folder).parents) if each.exists())
    free = shutil.disk_usage(there).free
    is_right = os.access(there, os.W_OK) and free >= _LEAST_FREE_BYTES
    remedy = f"make room there and make it writable, or run {choice}"
    return Finding(name, f"{folder}, {size_text(free)} free", "" if is_right else remedy)


def _place(url: str) -> Finding:
    """Check that a folder, file or bucket can be read."""
    try:
        if storage.is_directory(url):
            listed = storage.list_folder(url)
            return Finding(url, f"{len(listed.folders):,} folders, {len(listed.files):,} files")
        if (size := storage.size(url)) is not None:
            return Finding(url, f"a file of {size_text(size)}")
        return Finding(url, "missing", "check the path and your permissions")
    except (BeamTFRecordsError, OSError) as error:
        return Finding(url, "not readable", str(error))
