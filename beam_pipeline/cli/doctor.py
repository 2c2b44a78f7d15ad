"""`doctor`: checks this machine for builds and trainings."""

import importlib.metadata
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import psutil

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import storage
from beam_pipeline.running.parallel import usable_cpus
from tfrecord_dataset import command_line
from tfrecord_dataset.shown_text import size_text
from tfrecord_dataset.store.user_cache import cache_folder

_LEAST_FREE_BYTES = 5 << 30
_LEAST_MEMORY_BYTES = 2 << 30
_LEAST_OPEN_FILES = 1024
# Runs in a separate process: the import takes seconds, and a broken installation may abort it.
_TENSORFLOW = """
import tensorflow as tf
built = tf.sysconfig.get_build_info()
gpus = [tf.config.experimental.get_device_details(each).get("device_name", each.name)
        for each in tf.config.list_physical_devices("GPU")]
print(tf.__version__, built.get("cuda_version", ""), ",".join(gpus), sep="|")
"""
_SLOWEST_S = 120
# Such as `name<2.0,>=1.0; extra == "gcp"`, or `name[extra]>=1.0`.
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(\[.*?\])?(<(?P<below>[\d.]+),)?(>=(?P<least>[\d.]+))?(?P<extra>.*extra ==)?"
)
_SHOWN = ("apache-beam", "numpy", "pyarrow", "pillow", "obstore", "keras", "pycocotools")


class Finding(NamedTuple):
    """One line of the report, with a remedy if it is a problem."""

    name: str
    text: str
    remedy: str = ""


def examine(urls: Sequence[str] = ()) -> Iterator[Finding]:
    """Check the machine, its packages, and folders or stores; yield findings."""
    yield Finding("beam-tfrecords", f"{command_line.version()}, Python {platform.python_version()}")
    yield Finding("machine", f"{platform.system()} {platform.release()}, {platform.machine()}")
    yield from _packages()
    yield from _processors()
    yield from _disks()
    yield from _gpus()
    for url in urls:
        yield _place(url)


def _packages() -> Iterator[Finding]:
    """Yield the main packages, and every one that is missing or too old."""
    needed: dict[str, re.Match[str]] = {}  # several extras may need the same one
    for requirement in importlib.metadata.requires(command_line.DISTRIBUTION) or ():
        stated = _REQUIREMENT.match(requirement)
        if stated and (not stated["extra"] or stated["name"] in _SHOWN):
            needed.setdefault(stated["name"], stated)
    for name, stated in needed.items():
        least, below = stated["least"] or "0", stated["below"]
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if not stated["extra"]:
                yield Finding(name, "missing", f"pip install {name}")
            continue
        if _numbers(version) < _numbers(least):
            yield Finding(name, version, f"pip install --upgrade '{name}>={least}'")
        elif below and _numbers(version) >= _numbers(below):
            yield Finding(name, version, f"pip install '{name}<{below}'")
        elif name in _SHOWN:
            yield Finding(name, version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _processors() -> Iterator[Finding]:
    cpus, memory = usable_cpus(), psutil.virtual_memory()
    yield Finding("CPUs", f"{cpus} of {os.cpu_count()} may be used")
    free = f"{size_text(memory.available)} of {size_text(memory.total)} are free"
    few = memory.available < _LEAST_MEMORY_BYTES
    yield Finding("memory", free, "a training needs 2 GiB; end other programs" if few else "")
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    least = f"run `ulimit -n {_LEAST_OPEN_FILES}` before the command"
    yield Finding("open files", f"{files:,}", least if files < _LEAST_OPEN_FILES else "")


def _disks() -> Iterator[Finding]:
    for name, folder, other in (
        ("this folder", os.getcwd(), ""),
        ("temporary files", tempfile.gettempdir(), " with TMPDIR"),
        ("caches", str(cache_folder()), " with XDG_CACHE_HOME"),
    ):
        there = folder
        while not os.path.exists(there):
            there = os.path.dirname(there)
        free = shutil.disk_usage(there).free
        remedy = ""
        if not os.access(there, os.W_OK):
            remedy = "it is not writable; choose another folder, or change its owner"
        elif free < _LEAST_FREE_BYTES:
            remedy = f"free some space, or choose another folder{other}"
        yield Finding(name, f"{folder}, {size_text(free)} free", remedy)


def _gpus() -> Iterator[Finding]:
    listed = _output(["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"])
    there = [line for line in (listed or "").splitlines() if line]
    printed = _output([sys.executable, "-c", _TENSORFLOW])
    version, cuda, seen = ((printed or "").splitlines() or ["||"])[-1].split("|")
    text, remedy = f"{version}, visible GPUs: {seen or 'none'}", ""
    if printed is None:
        text = "missing or broken"
        remedy = "pip install 'tensorflow[and-cuda]'" if there else "pip install tensorflow"
    elif there and not seen and cuda:
        remedy = f"the GPU is not visible; this build needs CUDA {cuda} (docs/gpus.md)"
    elif there and not seen:
        remedy = "this build has no CUDA; run pip install 'tensorflow[and-cuda]'"
    yield Finding("TensorFlow", text, remedy)
    yield Finding("GPUs", "; ".join(there) or "none")


def _output(command: Sequence[str]) -> str | None:
    """Return the output of a program; None if it is missing or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SLOWEST_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _place(url: str) -> Finding:
    """Check that a folder, file or bucket can be read."""
    try:
        if storage.is_directory(url):
            listed = storage.list_folder(url)
            count = f"{len(listed.folders):,} folders and {len(listed.files):,} files can be listed"
            return Finding(url, count)
        size = storage.size(url)
    except (BeamTFRecordsError, OSError) as error:
        return Finding(url, "not readable", str(error))
    if size is None:
        return Finding(url, "missing", "check the path and your permissions")
    return Finding(url, f"a file of {size_text(size)}")
