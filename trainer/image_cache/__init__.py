"""Where decoded images are kept from the first pass on: the choice, and what it is made of."""

import contextlib
import dataclasses
import hashlib
import inspect
import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import tensorflow as tf

from tfrecord_dataset.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.store.user_cache import cache_folder
from trainer.errors import ConfigError, UnknownNameError
from trainer.image_cache.store import FileStore, ImageStore, MemoryStore
from trainer.options.train import CACHES
from trainer.parsing import images as images_code
from trainer.views import Views
from trainer.views import pixels as pixels_code

# Of the memory, or of the disk's space, that is free.
_SHARE_OF_MEMORY = 0.5
_SHARE_OF_DISK = 0.25
_CHECKSUM_BYTES = 4
_CGROUP = Path("/sys/fs/cgroup")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageCache:
    """How decoded images are kept, so that further passes need not decode them.

        >>> cache = trainer.ImageCache(place="memory", max_bytes=1 << 30)
        >>> batches = trainer.open("data/cells").batches("train", image_size=16, cache=cache)

    Attributes:
        place: "memory"; "disk"; "none"; or "auto": memory, else disk, where all images fit and
            crops are not changed by it.
        max_bytes: None for half of the memory, or a quarter of the disk's space, that is free.
            Of images that exceed it, as many are kept as fit.
        folder: For "disk", on this machine; None for `~/.cache/beam-tfrecords/decoded-images`.
        size: (height, width) at which whole images are kept, of which views are taken; None for
            `stored_size`. Where it is given, views are taken of images of this size whatever the
            place.

    Raises:
        UnknownNameError: There is no such place.
        ConfigError: The folder is not a local one.
    """

    place: str = "auto"
    max_bytes: int | None = None
    folder: str | None = None
    size: ImageSize | None = None

    def __post_init__(self) -> None:
        if self.place not in CACHES:
            raise UnknownNameError("cache", self.place, CACHES)
        if self.folder is not None and "://" in self.folder:
            raise ConfigError(
                f"decoded images cannot be kept in {self.folder}: name a folder of this machine"
            )
        if self.size is not None:
            object.__setattr__(self, "size", ImageSize(*self.size))

    @property
    def path(self) -> Path:
        """The folder of files."""
        return Path(folder_in(None) if self.folder is None else self.folder)


def folder_in(cache_dir: str | None) -> str:
    """The folder of decoded images in a folder of caches, where nothing else is kept.

    Args:
        cache_dir: None for the user's.
    """
    return os.path.join(cache_folder() if cache_dir is None else cache_dir, "decoded-images")


def stored_size(views: Views | None, size: ImageSize) -> ImageSize:
    """The size at which whole images are kept: that of a view, or larger where views are crops.

    The side is 1 / √(a median window's area) of a view's: so half of all windows have as many
    pixels as are shown. Half of the windows have less than √(least · largest) of the area.
    """
    if views is None or views.are_whole:
        return size
    margin = max(1.0, 1 / math.sqrt(math.sqrt(views.area[0] * views.area[1])))
    return ImageSize(round(size.height * margin), round(size.width * margin))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What decides where images are kept.

    Attributes:
        num_bytes: Of all images of the split.
        memory: Bytes that they may take there.
        disk: Likewise.
        changes_crops: Whether views are crops, which would be taken of kept images.
        is_seen_again: Whether there are further passes.
    """

    num_bytes: int
    memory: int
    disk: int
    changes_crops: bool = False
    is_seen_again: bool = True


def place_of(asked: str, need: Need) -> str:
    """Where images are kept: "memory", "disk" or "none"; only "auto" leaves a choice."""
    if asked != "auto":
        return asked
    if need.changes_crops or not need.is_seen_again:
        return "none"
    if need.num_bytes <= need.memory:
        return "memory"
    return "disk" if need.num_bytes <= need.disk else "none"


def resolve(
    cache: ImageCache,
    images: Sequence[Feature],
    views: Views | None,
    size: ImageSize | None,
    count: Callable[[], int],
    taken: int = 0,
    *,
    is_seen_again: bool = True,
) -> ImageCache:
    """The cache with a place other than "auto", its bound, and the size of what is kept.

    Args:
        cache: As it was asked for.
        images: The features that are kept.
        views: Of the images.
        size: Of a view.
        count: Returns the number of records in the split.
        taken: Bytes that are promised to others in memory.
        is_seen_again: Whether there are further passes.

    Raises:
        ConfigError: There is no size; or views are letterboxes.
    """
    if not images or cache.place == "none":
        return dataclasses.replace(cache, place="none", size=cache.size if images else None)
    keeps_aspect = views is not None and views.letterbox
    if cache.place == "auto" and (size is None or keeps_aspect):
        return ImageCache(place="none")
    if size is None:
        raise ConfigError(
            f"cache={cache.place!r} keeps images of one size; give image_size=(height, width)"
        )
    if keeps_aspect:
        raise ConfigError(
            f"cache={cache.place!r} keeps images stretched to one size, but here they keep their "
            "aspect; leave it out, or stretch them (train: --resize stretch)"
        )
    stored, most = cache.size or stored_size(views, size), cache.max_bytes
    memory = int(free_memory() * _SHARE_OF_MEMORY) if most is None else most
    need = Need(
        num_bytes=count() * (row_bytes(images, stored) + _CHECKSUM_BYTES),
        memory=max(0, memory - taken),
        disk=int(free_space(cache.path) * _SHARE_OF_DISK) if most is None else most,
        changes_crops=cache.size is None and not (views is None or views.are_whole),
        is_seen_again=is_seen_again,
    )
    place = place_of(cache.place, need)
    if place == "none":
        return dataclasses.replace(cache, place=place)
    most = need.memory if place == "memory" else need.disk
    return dataclasses.replace(cache, place=place, max_bytes=most, size=stored)


def row_bytes(images: Sequence[Feature], size: ImageSize) -> int:
    """The bytes of a record's images at this size."""
    return sum(size.height * size.width * (each.shape[2] or 3) for each in images)


def make_store(
    cache: ImageCache, images: Sequence[Feature], num_records: int, shards: Sequence[str]
) -> ImageStore:
    """The store of a resolved cache.

    Args:
        cache: Resolved, with a place other than "none".
        images: The features that are kept.
        num_records: Of the split.
        shards: What tells the content of the shards.

    Raises:
        TrainerError: The folder cannot be written.
    """
    assert cache.size is not None
    assert cache.max_bytes is not None
    num_bytes = row_bytes(images, cache.size)
    if cache.place == "memory":
        return MemoryStore(min(num_records, cache.max_bytes // num_bytes), num_bytes)
    count = min(num_records, cache.max_bytes // (num_bytes + _CHECKSUM_BYTES))
    made_of = {
        "shards": list(shards),
        "images": [(each.key, each.shape[2] or 3) for each in images],
        "size": cache.size,
        "tensorflow": tf.__version__,  # whose decoder it is
        "code": [inspect.getsource(module) for module in (images_code, pixels_code)],
    }
    name = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:32]
    return FileStore(cache.path, name, count, num_bytes, cache.max_bytes)


def free_memory() -> int:
    """Bytes of memory that this process may still take, also in a container."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return free
    return free if limit == "max" else min(free, max(0, int(limit) - used))


def free_space(folder: Path) -> int:
    """Bytes that are free on the disk of a folder, or taken by the images in it."""
    existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    own = 0
    for each in folder.glob("*.images"):
        with contextlib.suppress(FileNotFoundError):  # another process deletes it
            own += each.lstat().st_blocks * 512
    return shutil.disk_usage(existing).free + own


def describe(cache: ImageCache, num_records: int, images: Sequence[Feature]) -> str:
    """What a message says of a resolved cache."""
    assert cache.size is not None
    assert cache.max_bytes is not None
    num_bytes = num_records * row_bytes(images, cache.size)
    where = "memory" if cache.place == "memory" else os.fspath(cache.path)
    part = "" if num_bytes <= cache.max_bytes else f", of which {_size(cache.max_bytes)} fit"
    return (
        f"decoded images are kept in {where}: {num_records:,} of {cache.size}, "
        f"{_size(num_bytes)}{part} (--cache {cache.place})"
    )


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 1e9:.1f} GB" if num_bytes >= 1e9 else f"{num_bytes / 1e6:.1f} MB"
