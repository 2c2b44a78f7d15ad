"""Datasets for training: splits, features, batches."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import tensorflow as tf

from tfrecord_dataset.format.feature import STRINGS, Feature
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.records.contents import Contents
from trainer import input_pipeline, parsing
from trainer.dataset.held_out import draw_held_out
from trainer.errors import ConfigError, UnknownNameError
from trainer.image_cache import ImageCache, KeptImages, resolve
from trainer.input_pipeline import arguments, arranger, padding
from trainer.input_pipeline.record_source import ReadOptions
from trainer.input_pipeline.tensorflow_errors import explain
from trainer.tensors import converted
from trainer.views import Views


class Batches(Protocol):
    """A `tf.data.Dataset` for type checkers; accepted by `Model.fit`, and iterable."""

    @property
    def element_spec(self) -> Any:
        """Types and shapes of an element: a tensor's spec, or a dict or tuple of specs."""

    def __iter__(self) -> Iterator[Any]: ...

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Iterate over the elements as NumPy arrays."""

    def take(self, count: int) -> "Batches":
        """Return the first elements."""

    def map(self, function: Callable[..., Any], **options: Any) -> "Batches":
        """Apply a function to the elements."""

    def enumerate(self, start: int = 0) -> "Batches":
        """Return the elements as pairs with their numbers."""

    def prefetch(self, buffer_size: int) -> "Batches":
        """Prepare some elements in advance."""

    def cardinality(self) -> Any:
        """Number of elements, int64 []: -1 for endless, -2 for unknown."""


_DEFAULT_BATCH_SIZE = 32
_SCANNED_BATCH_SIZE = 1024
# A class is rare below this number of records.
FEW_OF_CLASS = 100
# Kinds of features whose classes are the labels in the index.
_LABELLED = ("class_label", "boxes")
# Keys of statistics.json that also apply to a part of a split.
_VALUES = {"minimum", "maximum", "strings"}


def _are_known(values: Any) -> Any:
    """Whether each record's value is neither NaN nor an empty text: bool [n]."""
    known = values != b"" if values.dtype == object else ~np.isnan(values)
    return known.reshape(len(values), -1).all(axis=1)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Dataset(Contents):
    """TFRecord shards with a schema, from `trainer.open`; see `Contents` for its attributes.

    Attributes:
        parts: Record numbers by split, int64 [n], for splits that contain only part of their
            shards' records.
    """

    parts: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    # Cached images by split, size and features, shared by all iterations over a split.
    _kept: dict[Any, KeptImages] = dataclasses.field(
        default_factory=dict, repr=False, compare=False
    )

    def hold_out(
        self, split: str, share: float, name: str, fold: int = 0, target: str = ""
    ) -> "Dataset":
        """Return the dataset with a share of a split as a new split, chosen by record hashes.

        Folds from 0 are disjoint. If `target` is a class label, rare classes are divided one by
        one.

        Raises:
            ConfigError: All records are in one group, or the index has no groups.
        """
        whole = self.split(split)
        identities = whole.identities(self.group_by)
        if identities is None:
            raise ConfigError(
                f"--validation-share: the dataset keeps groups of {self.group_by!r} together, but "
                "its index does not contain them; choose another split with --validation-split, or "
                "none"
            )
        held_out = draw_held_out(identities, share, fold, self._rare_labels(split, target))
        rest = np.delete(np.arange(len(identities)), held_out)
        return dataclasses.replace(
            self,
            splits={**self.splits, name: dataclasses.replace(whole, name=name)},
            parts={split: rest, name: held_out},
            _kept={},
        )

    def _rare_labels(self, split: str, target: str) -> Any:
        """Return the class of each record of a rare class, -1 for others; None without any."""
        counts = self.statistics(split).get(target, {}).get("classes", {})
        rare = [name for name, count in counts.items() if 0 < count < FEW_OF_CLASS]
        if not rare or not self._states_labels(target):
            return None
        classes = self.features[target].classes
        labels = self.split(split).labels(classes)
        number_of = {name: number for number, name in enumerate(rare)}
        numbers = np.array([*(number_of.get(name, -1) for name in classes), -1])
        return None if labels is None else numbers[labels]

    def _states_labels(self, target: str) -> bool:
        """Whether the labels in the index are the classes of `target`."""
        labelled = [each.name for each in self.features.values() if each.kind in _LABELLED]
        return labelled == [target] and not self.features[target].shape

    def labels(self, split: str, target: str) -> Any:
        """Return each record's class number by the index, or -1: a signed integer type [n].

        None if `target` is not the dataset's only class label, or without an index.
        """
        if not self._states_labels(target):
            return None
        labels = self.split(split).labels(self.features[target].classes)
        return labels if labels is None or split not in self.parts else labels[self.parts[split]]

    def repeated(self, split: str, times: Any) -> "Dataset":
        """Return the dataset with each record of a split repeated in every pass: int [n] times.

        Each repeat of an image is augmented differently.
        """
        numbers = self.parts[split] if split in self.parts else np.arange(self.num_records(split))
        return dataclasses.replace(self, parts={**self.parts, split: np.repeat(numbers, times)})

    def without_missing(self, split: str, feature: str) -> "Dataset":
        """Return the dataset without the records of a split that lack `feature`: NaN, empty text.

        For a vector, one NaN is enough. Reads the feature of all records, unless statistics.json
        has no missing value or the feature is of whole numbers.
        """
        if self._is_complete(split, feature):
            return self
        batches = self.batches(split, features=feature, batch_size=_SCANNED_BATCH_SIZE)
        known = [_are_known(batch[feature]) for batch in batches.as_numpy_iterator()]
        places = np.flatnonzero(np.concatenate([np.zeros(0, bool), *known]))
        count = self.num_records(split)
        if len(places) == count:
            return self
        numbers = self.parts[split] if split in self.parts else np.arange(count)
        return dataclasses.replace(self, parts={**self.parts, split: numbers[places]}, _kept={})

    def _is_complete(self, split: str, feature: str) -> bool:
        """Whether no record of a split lacks a feature, by its type or statistics.json."""
        facts, dtype = self.statistics(split).get(feature, {}), self.features[feature].dtype
        if dtype in STRINGS:
            return "" not in facts.get("strings", [""])
        return "float" not in dtype or not np.any(facts.get("missing", True))

    def num_records(self, split: str | None = None) -> int:
        name = self.split(split).name
        return len(self.parts[name]) if name in self.parts else super().num_records(name)

    def statistics(self, split: str | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return statistics.json of a split; for a part of a split only what holds for parts.

        That is the range of values, and that none are missing.
        """
        stated, name = self.read_statistics(), self.split(split).name
        if name not in self.parts:
            return stated.get(name, {})
        whole = stated.get(name) or stated.get(next(iter(self.parts)), {})
        return {
            feature: {
                fact: value
                for fact, value in facts.items()
                if fact in _VALUES or (fact == "missing" and not np.any(value))
            }
            for feature, facts in whole.items()
        }

    def batches(
        self,
        split: str | None = None,
        *,
        batch_size: int | None = _DEFAULT_BATCH_SIZE,
        features: str | Sequence[str] | None = None,
        target: str | Sequence[str] | None = None,
        sample_weight: str | None = None,
        image_size: int | tuple[int, int] | None = None,
        image_dtype: Literal["float32", "uint8"] = "float32",
        views: Views | None = None,
        augment: parsing.Augment | None = None,
        audio_mono: bool = False,
        audio_sample_rates: Mapping[str, int] | None = None,
        masks: bool = True,
        pad: Mapping[str, int] | None = None,
        truncate: bool = False,
        padding_value: Mapping[str, padding.Padding] | padding.Padding | None = None,
        ragged: bool | Sequence[str] = False,
        shuffle: bool = False,
        seed: int | None = None,
        shuffle_buffer: int | None = None,
        shuffle_shards: int | None = None,
        repeat: bool | int = False,
        first_record: int = 0,
        worker: int = 0,
        num_workers: int = 1,
        input_context: tf.distribute.InputContext | None = None,
        drop_remainder: bool = False,
        deterministic: bool = True,
        cache: ImageCache | str = "none",
        prepare: Callable[..., Any] | None = None,
    ) -> Batches:
        """Return batches of a split, as dicts of tensors by name, or as (inputs, target) for Keras.

            >>> batches = trainer.open("data/cells").batches("train", image_size=16, target="label")
            >>> images, labels = next(iter(batches))
            >>> images.shape, labels.shape
            (TensorShape([24, 16, 16, 3]), TensorShape([24]))

        Names and shapes (b: records per batch; n: longest record in the batch, others are padded):
            an image: float32 in 0..1, or uint8, [b, height, width, channels];
            audio: float32 in -1..1 [b, n, channels], padded with 0.0;
            a class label: int64 [b], from 0; with several labels per record [b, n], padded with -1;
            a tensor: [b, …], with its dtype and shape;
            a sequence: int64, float32 or `tf.string` [b, n, …], padded with 0, 0.0 or "";
            `boxes`: float32 [b, n, 4], xmin, ymin, xmax, ymax in 0..1, with `box_labels`
            int64 [b, n] from 0 and `box_<attribute>` [b, n], padded with -1 ("" for an
            attribute of bytes); `keypoints` float32 [b, n, points, 3] of x, y in 0..1 and
            visibility; `masks` uint8 [b, n, height, width] of 0 and 1; without `views` `polygons`
            [b, n], JSON of rings, and `rotated` float32 [b, n, 5] of cx, cy, w, h and an angle;
            every other column: [b] under its own name; text and bytes are `tf.string`.

        Args:
            split: Name of the split; optional if there is only one.
            batch_size: Records per batch; None for single records, without the axis b.
            features: Names of the features to read, or one name; all by default.
            target: Name of an output: elements become (inputs, target). A single input is a
                tensor, several are a dict. Several names make the target a dict; so do boxes, with
                "boxes", "labels" and their attributes. The target's feature is not an input.
            sample_weight: Name of a number: elements become (inputs, target, weight) with the
                weight as float32 [b]; it is not an input.
            image_size: Side or (height, width) in pixels to stretch images to, antialiased.
                Without it, only images of a declared size can be batched.
            image_dtype: "float32" in 0..1, or "uint8" in 0..255 (uint16 for 16-bit images).
            views: Crops and flips, drawn for each record and pass by `seed` before the image is
                decoded. Boxes, keypoints and masks are transformed alike; a flip exchanges left and
                right keypoints.
            augment: Function of (uint8 [height, width, channels], seed int64 [2]) that returns
                such an image; the seed depends on the record and pass.
            audio_mono: Whether to average channels to [b, n, 1]; else mono among stereo is padded.
            audio_sample_rates: Samples per second to resample audio to, by feature; other audio
                keeps its own rate.
            masks: Whether to decode object masks, which is the slowest part.
            pad: Length n by output: `{"sequence": 128}`; for boxes also that of their
                labels and attributes. A longer record is an error.
            truncate: Whether to cut records longer than `pad` instead.
            padding_value: Values by output; one number for all outputs of numbers, or one text for
                all of texts.
            ragged: True to return outputs of varying length as ragged tensors; or their names, such
                as "boxes" with their labels and attributes.
            shuffle: Use a new order in each pass of `repeat`, and in each iteration unless endless:
                permute blocks of up to 64 records over the whole split, then windows of
                `shuffle_buffer` records. Gzip shards are unpacked into the user's cache folder.
            seed: Makes the order the same in each run; random by default.
            shuffle_buffer: Records to permute in memory; by default as many as fit 256 MiB, up to
                65,536. Twice as many are in memory.
            shuffle_shards: Shards to permute together, 0 for all; by default all local ones, and
                groups of up to 16 of a store's, of which two should fit into `cache_bytes`.
            repeat: True for endless, or the number of passes. Batches continue across the end
                of a pass.
            first_record: Records to skip, counted over all passes; they are not read. If `repeat`
                is finite, iterating again skips none.
            worker: Number of this process among `num_workers`, from 0.
            num_workers: Processes that share every batch: each reads only its part of the same
                `batch_size` records.
            input_context: The context of `Strategy.distribute_datasets_from_function`, instead of
                `worker` and `num_workers`: each replica gets its part of the same `batch_size`
                records (docs/gpus.md).
            drop_remainder: Omit a last batch that is not full, on every worker alike.
            deterministic: False lets records overtake each other when reading stalls.
            cache: Where to keep decoded images for further passes: "memory", "auto", "none", or an
                ImageCache with bounds (docs/input.md).
            prepare: Function to apply to each element, in parallel, before prefetching.

        Raises:
            UnknownNameError: The split, a feature or an output does not exist.
            ConfigError: Arguments are invalid, cannot be combined, or do not apply to any feature.

        Iteration raises `tf.errors.InvalidArgumentError` for a record that does not fit the
        features; its message has the key and the remedy. `numpy` raises DatasetDamagedError.
        """
        chosen = self.split(split)
        selected = arguments.select(self.features, features, self.path)
        if image_dtype not in ("float32", "uint8"):
            raise UnknownNameError("image_dtype", image_dtype, ("float32", "uint8"))
        batch_size = arguments.whole_number("batch_size", batch_size)
        window = arguments.whole_number("shuffle_buffer", shuffle_buffer)
        group = arguments.whole_number("shuffle_shards", shuffle_shards, least=0)
        share = arguments.share(
            worker, num_workers, input_context, batch_size, drop_remainder=drop_remainder
        )
        first_record = arguments.whole_number("first_record", first_record, least=0) or 0
        arguments.check_equal_order(share, shuffle=shuffle, seed=seed, deterministic=deterministic)
        seed = arguments.seed(seed)
        passes, size = arguments.passes(repeat), arguments.size_in_pixels(image_size)
        of_images = {"image_size": size, "views": views, "augment": augment}
        arguments.check_images(self.features, of_images)
        decoding = parsing.Decoding(
            image_size=size,
            image_dtype=image_dtype,
            audio_mono=audio_mono,
            audio_sample_rates=arguments.sample_rates(self.features, audio_sample_rates),
            masks=masks,
            views=views,
            augment=augment,
            seed=seed,
            formats_are_known=chosen.num_records is not None,
        )
        images = parsing.keepable(selected)
        caching = self.image_cache(chosen.name, cache, images, views, size)
        kept = self._kept_images(chosen.name, caching, images, size)
        outputs = parsing.outputs(selected, decoding)
        if batch_size is not None:
            arguments.check_equal_sizes(outputs)
        arrange = arranger(outputs, target, sample_weight)
        num_records: int | None = None
        if passes is not None or chosen.num_records is not None:
            num_records = self.num_records(chosen.name)
        batches: Batches = input_pipeline.batches(
            chosen.shards,
            num_records,
            functools.partial(self.index, chosen.name),
            selected,
            ReadOptions(
                shuffle=shuffle,
                seed=seed,
                window=window,
                group=group,
                numbers=self.parts.get(chosen.name),
                passes=passes,
                first_record=first_record,
                share=share,
                deterministic=deterministic,
            ),
            decoding,
            padding.Batching(
                size=batch_size if share is None else share.size,
                drop_remainder=drop_remainder,
                lengths=padding.pad_lengths(pad, outputs),
                truncate=truncate,
                padding=padding.padding_values(padding_value, outputs),
                ragged=padding.ragged_names(ragged, outputs),
            ),
            arrange if prepare is None else lambda by_name: converted(prepare)(arrange(by_name)),
            f"one that does not fit: {self.remedy}",
            kept,
        )
        return batches

    def image_cache(
        self,
        split: str,
        cache: ImageCache | str,
        images: Sequence[Feature],
        views: Views | None,
        size: ImageSize | None,
        *,
        is_seen_again: bool = True,
    ) -> ImageCache:
        """Resolve the `cache` of `batches`: choose a place for "auto", and set its bound.

        "auto" requires that there are further passes (`is_seen_again`).

        Raises:
            ConfigError: Images have no size, or are cropped or letterboxed.
        """
        return resolve(
            ImageCache(place=cache) if isinstance(cache, str) else cache,
            images,
            views,
            size,
            functools.partial(self.num_records, split),
            sum(each.num_bytes for each in self._kept.values()),
            is_seen_again=is_seen_again,
        )

    def _kept_images(
        self, split: str, cache: ImageCache, images: Sequence[Feature], size: ImageSize | None
    ) -> KeptImages | None:
        if cache.max_bytes is None or size is None:
            return None
        key = (split, size, *(image.name for image in images))
        if key not in self._kept:
            num_records = super().num_records(split)
            self._kept[key] = KeptImages(cache.max_bytes, images, size, num_records)
        return self._kept[key]

    def numpy(
        self,
        split: str | None = None,
        *,
        features: str | Sequence[str] | None = None,
        image_size: int | tuple[int, int] | None = None,
        image_dtype: Literal["float32", "uint8"] = "float32",
        batch_size: int | None = None,
        shuffle: bool = False,
        seed: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Iterate over a split's records or batches as NumPy arrays by name; text is bytes.

            >>> record = next(trainer.open("data/cells").numpy("train"))
            >>> record["image"].shape
            (48, 48, 3)

        Arguments, names and errors are those of `batches`. Without `batch_size`, shapes have no
        axis b, images keep their own size unless `image_size` is set, and nothing is padded:
        boxes are [n, 4].

        Raises:
            DatasetDamagedError: A record does not fit the features, or a shard is damaged.
        """
        dataset = self.batches(
            split,
            batch_size=batch_size,
            features=features,
            image_size=image_size,
            image_dtype=image_dtype,
            shuffle=shuffle,
            seed=seed,
        )

        def read() -> Iterator[dict[str, Any]]:
            try:
                yield from dataset.as_numpy_iterator()
            except tf.errors.OpError as error:
                raise explain(error, self.remedy) from error

        return read()
