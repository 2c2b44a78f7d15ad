"""Decoded images that are kept in memory, so that only the first pass decodes them."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError, UnknownNameError
from trainer.options.train import CACHES
from trainer.parsing import Recall, Tensors
from trainer.tensors import Tensor
from trainer.views import Views

_SHARE_OF_FREE_MEMORY = 0.5
# What the rest of the records may take, as a share of the images; and what one costs besides.
_SHARE_OF_RESTS = 4
_REST_BYTES = 100
_CGROUP = Path("/sys/fs/cgroup")

# From record numbers, int64 [n], to serialized records: bytes objects [n].
Read = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageCache:
    """How decoded images are kept in memory, so that further passes need not decode them.

        >>> cache = trainer.ImageCache(place="memory", max_bytes=1 << 30)
        >>> batches = trainer.open("data/cells").batches("train", image_size=16, cache=cache)

    Attributes:
        place: "memory"; "none"; or "auto": memory, where all images fit and crops are not changed
            by it.
        max_bytes: None for half of the free memory. If the images exceed it, as many are kept as
            fit.
        size: (height, width) at which whole images are kept, of which views are taken; None for
            `stored_size`. Where it is given, views are taken of images of this size whatever the
            place.

    Raises:
        UnknownNameError: Unknown place.
    """

    place: str = "auto"
    max_bytes: int | None = None
    size: ImageSize | None = None

    def __post_init__(self) -> None:
        if self.place not in CACHES:
            raise UnknownNameError("cache", self.place, CACHES)
        if self.size is not None:
            object.__setattr__(self, "size", ImageSize(*self.size))


def stored_size(views: Views | None, size: ImageSize) -> ImageSize:
    """The size at which whole images are kept: that of a view, or larger where views are crops.

    The side is 1 / √(a median window's area) of a view's: so half of all windows have as many
    pixels as are shown. Half of the windows have less than √(least · largest) of the area.
    """
    if views is None or views.are_whole:
        return size
    margin = max(1.0, 1 / math.sqrt(math.sqrt(views.area[0] * views.area[1])))
    return ImageSize(round(size.height * margin), round(size.width * margin))


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
        cache: As the caller asked for it.
        images: The features that are kept.
        views: Of the images.
        size: Of a view.
        count: Returns the number of records in the split.
        taken: Bytes that are promised to others.
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
            "cache='memory' keeps images of one size; give image_size=(height, width)"
        )
    if keeps_aspect:
        raise ConfigError(
            "cache='memory' keeps images stretched to one size, but here they keep their aspect; "
            "leave it out"
        )
    stored, bound = cache.size or stored_size(views, size), cache.max_bytes
    if bound is None:
        bound = int(free_memory() * _SHARE_OF_FREE_MEMORY)
    bound = max(0, bound - taken)
    changes_crops = cache.size is None and not (views is None or views.are_whole)
    fits = is_seen_again and not changes_crops and count() * row_bytes(images, stored) <= bound
    if cache.place == "auto" and not fits:
        return dataclasses.replace(cache, place="none")
    return ImageCache(place="memory", max_bytes=bound, size=stored)


def row_bytes(images: Sequence[Feature], size: ImageSize) -> int:
    """The bytes of a record's images at this size."""
    return sum(size.height * size.width * (each.shape[2] or 3) for each in images)


def free_memory() -> int:
    """Bytes of memory that this process may still take, also in a container."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return free
    return free if limit == "max" else min(free, max(0, int(limit) - used))


def describe(cache: ImageCache, num_records: int, images: Sequence[Feature]) -> str:
    """The message about a resolved cache."""
    assert cache.size is not None
    assert cache.max_bytes is not None
    num_bytes = num_records * row_bytes(images, cache.size)
    part = "" if num_bytes <= cache.max_bytes else f", of which {_size(cache.max_bytes)} fit"
    return (
        f"decoded images are kept in memory: {num_records:,} of {cache.size}, "
        f"{_size(num_bytes)}{part} (--cache {cache.place})"
    )


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 1e9:.1f} GB" if num_bytes >= 1e9 else f"{num_bytes / 1e6:.1f} MB"


class KeptImages:
    """Whole images at one size by the number of their record, and the rest of these records.

    Args:
        cache: Resolved, with the place "memory".
        features: Of the images.
        num_records: Of the split.

    Attributes:
        num_bytes: Bytes that the images may take.
    """

    def __init__(self, cache: ImageCache, features: Sequence[Feature], num_records: int) -> None:
        assert cache.size is not None
        assert cache.max_bytes is not None
        self._row_bytes = row_bytes(features, cache.size)
        self._num_rows = min(num_records, cache.max_bytes // self._row_bytes)
        self.num_bytes = self._num_rows * self._row_bytes
        # The last row is for records that are not kept. A row takes no memory before it is written.
        self._rows = np.zeros((self._num_rows + 1, self._row_bytes), np.uint8)
        self._is_kept = np.zeros(self._num_rows + 1, bool)
        self._rests: dict[int, bytes] = {}  # serialized Examples without their images
        self._room = self.num_bytes // _SHARE_OF_RESTS
        self._keys = [each.key for each in features]
        self._shapes = {each.name: (*cache.size, each.shape[2] or 3) for each in features}

    def find(self, numbers: Any) -> tuple[Any, Any]:
        """The rows of these records, uint8 [n, row], and whether each is kept, bool [n]."""
        found = self._holds(numbers)  # before the rows, which other threads keep meanwhile
        return self._rows.take(numbers, axis=0, mode="clip"), found

    def keep(self, number: int, row: Any) -> None:
        """Keeps the row of a record, uint8 [row], if there is room."""
        if number < self._num_rows:
            self._rows[number] = row
            self._is_kept[number] = True

    def _holds(self, numbers: Any) -> Any:
        return self._is_kept.take(numbers, mode="clip")

    def reading(self, read: Read) -> Read:
        """As `read`, but of records whose images are kept only the rest, from memory."""

        def read_rests(numbers: Any) -> Any:
            records = np.empty(len(numbers), object)
            holds = self._holds(numbers).tolist()
            for place, (number, is_kept) in enumerate(zip(numbers.tolist(), holds, strict=True)):
                records[place] = self._rests.get(number) if is_kept else None
            (missing,) = np.nonzero(records == None)  # noqa: E711
            if len(missing):
                records[missing] = read(numbers[missing])
                for place in missing.tolist():
                    self._add_rest(int(numbers[place]), records[place])
            return records

        return read_rests

    def _add_rest(self, number: int, record: bytes) -> None:
        """Keeps the rest of a record, its images left empty, if there is room."""
        if number in self._rests or self._room <= 0:
            return
        example = tf.train.Example.FromString(record)
        for key in self._keys:
            if key in example.features.feature:
                example.features.feature[key].bytes_list.value[:] = [b""]
        rest = example.SerializeToString()
        self._room -= len(rest) + _REST_BYTES
        self._rests[number] = rest

    def look_up(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Rows uint8 [n, row] and whether each was found, bool [n], from keys int64 [n, 2]."""
        # Not stateful: a deterministic run would look one after the other.
        rows, found = tf.numpy_function(
            self.find, [keys[:, 1]], [tf.uint8, tf.bool], stateful=False
        )
        return tf.ensure_shape(rows, [None, self._row_bytes]), tf.ensure_shape(found, [None])

    def recall(self, key: Tensor, row: Tensor, found: Tensor) -> Recall:
        """The function that finds the images of one record, or keeps those that are decoded."""

        def keep(number: Any, decoded: Any) -> Any:
            self.keep(int(number), decoded)
            return decoded

        def kept(decode: Callable[[], Tensors]) -> Tensor:
            decoded = decode()
            flat = tf.concat([tf.reshape(decoded[name], [-1]) for name in self._shapes], axis=0)
            # The result is used: a stateless operation without use would be left out.
            same = tf.numpy_function(keep, [key[1], flat], tf.uint8, stateful=False)
            return tf.ensure_shape(same, [self._row_bytes])

        def recall(decode: Callable[[], Tensors]) -> Tensors:
            return self._images(tf.cond(found, lambda: row, lambda: kept(decode)))

        return recall

    def _images(self, row: Tensor) -> Tensors:
        sizes = [math.prod(shape) for shape in self._shapes.values()]
        parts = tf.split(row, sizes) if len(sizes) > 1 else [row]
        return {
            name: tf.reshape(part, shape)
            for part, (name, shape) in zip(parts, self._shapes.items(), strict=True)
        }
