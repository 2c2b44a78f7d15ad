"""The images of records in the input pipeline: found in a store, or decoded and kept there."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfrecord_dataset.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.records.split import Split
from trainer.image_cache import ImageCache, make_store, row_bytes
from trainer.image_cache.store import ImageStore
from trainer.parsing import Recall, Tensors
from trainer.tensors import Tensor

# Of the bytes of images, what the rest of their records may take; and what one costs besides.
_SHARE_OF_RESTS = 4
_REST_BYTES = 100

# From record numbers, int64 [n], to serialized records: bytes objects [n].
Read = Callable[[Any], Any]


class ImageStores:
    """The stores of a dataset: every iteration over a split goes on with the same one."""

    def __init__(self) -> None:
        self._stores: dict[Any, StoredImages] = {}

    @property
    def memory_bytes(self) -> int:
        """Bytes that the stores in memory may take."""
        return sum(each.store.num_bytes for key, each in self._stores.items() if key[1] == "memory")

    def of(
        self, split: Split, cache: ImageCache, images: Sequence[Feature], count: Callable[[], int]
    ) -> "StoredImages | None":
        """The images of a split in a resolved cache; None where nothing is kept."""
        if cache.place == "none" or cache.size is None:
            return None
        key = (split.name, cache.place, cache.folder, cache.size, *(each.name for each in images))
        if key not in self._stores:
            shards = [*map(split.shards.files.identity, range(len(split.files)))]
            store = make_store(cache, images, count(), [*split.sha256, *shards])
            self._stores[key] = StoredImages(store, images, cache.size)
        return self._stores[key]


class StoredImages:
    """Whole images at one size, by the number of their record.

    Args:
        store: Rows with the images of a record one after the other.
        features: Of the images.
        size: (height, width) in pixels.
    """

    def __init__(self, store: ImageStore, features: Sequence[Feature], size: ImageSize) -> None:
        self.store = store
        # What records hold besides their images, by number: serialized Examples.
        self._rests: dict[int, bytes] = {}
        self._room = store.num_bytes // _SHARE_OF_RESTS
        self._keys = [each.key for each in features]
        self._shapes = {each.name: (*size, each.shape[2] or 3) for each in features}
        self._row_bytes = row_bytes(features, size)

    def reading(self, read: Read) -> Read:
        """As `read`, but of records whose images are kept the rest alone, from memory."""

        def read_rests(numbers: Any) -> Any:
            records = np.empty(len(numbers), object)
            holds = self.store.holds(numbers).tolist()
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
            self.store.find, [keys[:, 1]], [tf.uint8, tf.bool], stateful=False
        )
        return tf.ensure_shape(rows, [None, self._row_bytes]), tf.ensure_shape(found, [None])

    def recall(self, key: Tensor, row: Tensor, found: Tensor) -> Recall:
        """What finds the images of one record, or keeps those that are decoded."""

        def keep(number: Any, decoded: Any) -> Any:
            self.store.keep(int(number), decoded)
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
