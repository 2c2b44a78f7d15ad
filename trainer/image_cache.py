"""In-memory cache of decoded images, so that only the first pass decodes them."""

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
from tfrecord_dataset.shown_text import size_text
from trainer.errors import ConfigError, UnknownNameError
from trainer.options.train_options import CACHES
from trainer.parsing import Recall, Tensors
from trainer.tensors import Tensor
from trainer.views import Views

_SHARE_OF_FREE_MEMORY = 0.5
# Bytes of the rest of the records, as a share of those of the images; and overhead of one.
_SHARE_OF_RESTS = 4
_REST_BYTES = 100
_CGROUP = Path("/sys/fs/cgroup")

# Function from record numbers, int64 [n], to serialized records, bytes objects [n].
Read = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class ImageCache:
    """Cache of decoded images in memory, so that further passes need not decode them.

        >>> cache = trainer.ImageCache(place="memory", max_bytes=1 << 30)
        >>> batches = trainer.open("data/cells").batches("train", image_size=16, cache=cache)

    It keeps only whole images, which may be flipped.

    Attributes:
        place: "memory"; "none"; or "auto": memory, if all images fit.
        max_bytes: None for half of the free memory. If the images exceed it, only as many as fit
            are kept.

    Raises:
        UnknownNameError: Unknown place.
    """

    place: str = "auto"
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.place not in CACHES:
            raise UnknownNameError("cache", self.place, CACHES)


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
    """Return the cache with a place other than "auto", and its bound.

    Args:
        cache, images, views, size, is_seen_again: As for `Dataset.image_cache`.
        count: Returns the number of records in the split.
        taken: Bytes promised to other caches.

    Raises:
        ConfigError: Images have no size, or are cropped or letterboxed.
    """
    none, is_auto = ImageCache(place="none"), cache.place == "auto"
    if not images or cache.place == "none":
        return none
    are_whole = views is None or (views.are_whole and not views.letterbox)
    if size is None or not are_whole:
        if is_auto:
            return none
        raise ConfigError(
            "cache='memory' keeps whole images, stretched to one size; give image_size=(height, "
            "width), and no crops or letterbox (--augment flip or none)"
        )
    bound = cache.max_bytes
    if bound is None:
        bound = int(free_memory() * _SHARE_OF_FREE_MEMORY)
    bound = max(0, bound - taken)
    fits = is_seen_again and count() * row_bytes(images, size) <= bound
    return none if is_auto and not fits else ImageCache("memory", bound)


def row_bytes(images: Sequence[Feature], size: ImageSize) -> int:
    """Return the bytes of a record's images at this size."""
    return sum(size.height * size.width * (image.shape[2] or 3) for image in images)


def free_memory() -> int:
    """Return the bytes of memory available to this process, also in a container."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return free
    return free if limit == "max" else min(free, max(0, int(limit) - used))


def describe_cache(
    cache: ImageCache, num_records: int, images: Sequence[Feature], size: ImageSize
) -> str:
    """Describe a resolved cache for users."""
    assert cache.max_bytes is not None
    num_bytes = num_records * row_bytes(images, size)
    part = "" if num_bytes <= cache.max_bytes else f", of which {size_text(cache.max_bytes)} fit"
    return (
        f"decoded images are kept in memory: {num_records:,} of {size}, "
        f"{size_text(num_bytes)}{part} (--cache {cache.place})"
    )


class KeptImages:
    """Whole images at one size by record number, and the rest of their records.

    Attributes:
        num_bytes: Maximum bytes of the images.
    """

    def __init__(
        self, max_bytes: int, features: Sequence[Feature], size: ImageSize, num_records: int
    ) -> None:
        self._row_bytes = row_bytes(features, size)
        self._num_rows = min(num_records, max_bytes // self._row_bytes)
        self.num_bytes = self._num_rows * self._row_bytes
        # The last row is for records not kept. A row takes no memory until it is written.
        self._rows = np.zeros((self._num_rows + 1, self._row_bytes), np.uint8)
        self._is_kept = np.zeros(self._num_rows + 1, bool)
        self._rests: dict[int, bytes] = {}  # serialized Examples without their images
        self._room = self.num_bytes // _SHARE_OF_RESTS
        self._keys = [feature.key for feature in features]
        self._shapes = {feature.name: (*size, feature.shape[2] or 3) for feature in features}

    def find(self, numbers: Any) -> tuple[Any, Any]:
        """Return the rows of records, uint8 [n, row], and whether they are kept, bool [n]."""
        held = self._holds(numbers)  # before the rows, which other threads may add
        return self._rows.take(numbers, axis=0, mode="clip"), held

    def keep(self, number: int, row: Any) -> None:
        """Keep the row of a record, uint8 [row], if there is room."""
        if number < self._num_rows:
            self._rows[number] = row
            self._is_kept[number] = True

    def _holds(self, numbers: Any) -> Any:
        return self._is_kept.take(numbers, mode="clip")

    def reading(self, read: Read) -> Read:
        """Wrap `read` to return only the rest, from memory, of records with kept images."""

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
        """Keep the rest of a record, with empty images, if there is room."""
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
        """Return (uint8 rows [n, row], whether found, bool [n]) for keys int64 [n, 2]."""
        # Not stateful: a deterministic run would do lookups one by one.
        rows, is_held = tf.numpy_function(
            self.find, [keys[:, 1]], [tf.uint8, tf.bool], stateful=False
        )
        return tf.ensure_shape(rows, [None, self._row_bytes]), tf.ensure_shape(is_held, [None])

    def recall(self, key: Tensor, row: Tensor, found: Tensor) -> Recall:
        """Return a function that finds a record's images, or decodes and keeps them."""

        def keep(number: Any, decoded: Any) -> Any:
            self.keep(int(number), decoded)
            return decoded

        def kept(decode: Callable[[], Tensors]) -> Tensor:
            decoded = decode()
            flat = tf.concat([tf.reshape(decoded[name], [-1]) for name in self._shapes], axis=0)
            # The result must be used, since TensorFlow omits unused stateless operations.
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
