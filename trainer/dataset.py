"""A dataset in the trainer: splits, features, batches."""

import dataclasses
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import tensorflow as tf

from trainer import arguments, batching, input_pipeline, parsing
from trainer.arguments import ImageSize
from trainer.counting import count_classes, count_records
from trainer.elements import arranger
from trainer.errors import ConfigError, UnknownNameError
from trainer.features import Feature, class_names
from trainer.tensorflow_errors import explain

_DEFAULT_BATCH_SIZE = 32


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One split's shards.

    Attributes:
        name: "train", "val", ….
        files: Paths of the shards, in order.
        compression: "" or "GZIP".
        num_records: None without metadata; then `Dataset.num_records` counts.
        num_bytes: Bytes of all shards, None without metadata.
    """

    name: str
    files: tuple[str, ...]
    compression: str = ""
    num_records: int | None = None
    num_bytes: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dataset:
    """TFRecord shards with a schema. Made by `trainer.open`.

    Attributes:
        path: For messages.
        features: Feature by name.
        splits: Split by name: `"train" in dataset.splits`, `list(dataset.splits)`.
        fingerprint: Identifies the content, from metadata.json; empty without metadata.
        notes: Guesses about the records of bare files, as messages.
        remedy: What to do when a record does not fit the features.
    """

    path: str
    features: Mapping[str, Feature]
    splits: Mapping[str, Split]
    fingerprint: str = ""
    notes: tuple[str, ...] = ()
    remedy: str = "run `python -m beam_pipeline verify` on it"
    _record_counts: dict[str, int] = dataclasses.field(
        default_factory=dict, repr=False, compare=False
    )
    _num_classes: dict[tuple[str, str], int] = dataclasses.field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def classes(self) -> list[str]:
        """Class names by number: those of the class label, else those of the boxes."""
        return class_names(self.features.values())

    def split(self, name: str | None = None) -> Split:
        """The split named `name`, or the only one.

        Raises:
            UnknownNameError: No such split.
            ConfigError: There are several splits, and `name` is None.
        """
        if name is None:
            if len(self.splits) > 1:
                raise ConfigError(
                    f"{self.path} has several splits; name one of: {', '.join(self.splits)}"
                )
            name = next(iter(self.splits))
        if name not in self.splits:
            raise UnknownNameError(f"split in {self.path}", name, self.splits)
        return self.splits[name]

    def num_records(self, split: str | None = None) -> int:
        """The number of records of a split; for files without metadata they are counted once."""
        chosen = self.split(split)
        if chosen.num_records is not None:
            return chosen.num_records
        if chosen.name not in self._record_counts:
            self._record_counts[chosen.name] = count_records(chosen.files, chosen.compression)
        return self._record_counts[chosen.name]

    def num_classes(self, name: str, split: str | None = None) -> int:
        """The number of classes of a feature: those that it declares, else those in a split.

        Without declared classes it is 1 + the largest number in the split, from one pass that
        reads only this key; the result is cached. Records without a label (-1, or an empty
        list) do not count: 0 if no record has one.

        Raises:
            UnknownNameError: No such feature or split.
            ConfigError: The feature does not hold class numbers.
        """
        (feature,) = self._select(name)
        if feature.classes:
            return len(feature.classes)
        if feature.dtype != "int64":
            raise ConfigError(
                f"feature {name!r} is a {feature.kind} of {feature.dtype}, not a class number; "
                "declare it as class_label, or choose another feature"
            )
        chosen = self.split(split).name
        if (name, chosen) not in self._num_classes:
            batches = self.batches(chosen, batch_size=1024, features=[name], padding_value=-1)
            self._num_classes[name, chosen] = count_classes(batches, name)
        return self._num_classes[name, chosen]

    def batches(
        self,
        split: str | None = None,
        *,
        batch_size: int | None = _DEFAULT_BATCH_SIZE,
        features: str | Sequence[str] | None = None,
        target: str | Sequence[str] | None = None,
        sample_weight: str | None = None,
        image_size: ImageSize | None = None,
        image_dtype: Literal["float32", "uint8"] = "float32",
        audio_mono: bool = False,
        pad: Mapping[str, int] | None = None,
        truncate: bool = False,
        padding_value: batching.Padding | Mapping[str, batching.Padding] | None = None,
        ragged: bool | Sequence[str] = False,
        boxes: Literal["padded", "ragged"] = "padded",
        max_boxes: int | None = None,
        buckets: Sequence[tuple[int | None, int]] | None = None,
        bucket_by: str | None = None,
        shuffle: bool = False,
        seed: int | None = None,
        shuffle_buffer: int = 2048,
        repeat: bool | int = False,
        first_record: int = 0,
        drop_remainder: bool = False,
        deterministic: bool = True,
    ) -> tf.data.Dataset:
        """Batches of a split, as a dict of tensors by name, or as (inputs, target) for Keras.

        Names and shapes (b: records per batch; n: longest record in the batch, others are padded):
            an image: float32 in 0..1, or uint8, [b, height, width, channels];
            audio: float32 in -1..1 [b, n, channels], padded with 0.0;
            a class label: int64 [b], from 0; with several labels per record [b, n], padded with -1;
            a tensor: [b, …], with its dtype and shape;
            a sequence: int64, float32 or `tf.string` [b, n, …], padded with 0, 0.0 or "";
            `boxes`: float32 [b, n, 4], xmin, ymin, xmax, ymax in 0..1, with `box_labels`
            int64 [b, n] from 0 and `box_<attribute>` [b, n], padded with -1 ("" for an
            attribute of bytes);
            every other column: [b] under its own name; text and bytes are `tf.string`.

        Args:
            split: May be left out if there is only one split.
            batch_size: Records per batch; None yields single records, without the axis b.
            features: The names of the features to read, or one name; all by default.
            target: An output's name: elements become (inputs, target). A single input is a
                tensor, several are a dict. Several names make the target a dict.
            sample_weight: A number's name: elements become (inputs, target, weight) with the
                weight as float32 [b]; it is not an input.
            image_size: One side or (height, width), in pixels, to which images are stretched.
                Without it, only images of a declared size can be batched.
            image_dtype: "float32" in 0..1, or "uint8" in 0..255.
            audio_mono: Average channels, to [b, n, 1]; else mono among stereo is padded.
            pad: The length n by output: `{"sequence": 128}`; for boxes also that of their
                labels and attributes. A longer record is an error.
            truncate: Cut records that are longer than `pad` or `max_boxes` instead.
            padding_value: One value for all outputs of its type, or values by output.
            ragged: True makes outputs of varying length ragged tensors; or their names.
            boxes: "ragged" does so for boxes with their labels and attributes.
            max_boxes: Like `pad`, for all boxes.
            buckets: `[(50, 64), (100, 32), (None, 16)]` instead of batch_size: batches of 64
                for records of length up to 50, of 32 for up to 100, of 16 for longer ones. The
                number of batches is not known in advance: `fit` needs repeat and
                steps_per_epoch. Several replicas cannot share such batches.
            bucket_by: The output whose length counts, if several vary.
            shuffle: A new order in each pass of `repeat` (iterating again starts with the first
                pass): shards permuted, sixteen read at once, then each `shuffle_buffer`
                serialized records permuted.
            seed: Makes the order the same in each run; random by default.
            repeat: True for endless, or the number of passes. Batches continue across the end
                of a pass.
            first_record: Records to skip, counted over all passes.
            drop_remainder: Leave out a last batch that is not full (of each bucket).
            deterministic: False lets records overtake each other when reading stalls.

        Raises:
            UnknownNameError: No such split, feature or output.
            ConfigError: Arguments that cannot be combined, or with wrong values.

        The dataset itself raises `tf.errors.InvalidArgumentError` for a record that does not fit
        the features; its message names the key and the remedy. `numpy` raises DatasetDamagedError.
        """
        chosen = self.split(split)
        selected = self._select(features)
        _check_choice("image_dtype", image_dtype, ("float32", "uint8"))
        _check_choice("boxes", boxes, ("padded", "ragged"))
        batch_size = arguments.whole_number("batch_size", batch_size)
        max_boxes = arguments.whole_number("max_boxes", max_boxes)
        shuffle_buffer = arguments.whole_number("shuffle_buffer", shuffle_buffer) or 1
        first_record = arguments.whole_number("first_record", first_record, least=0) or 0
        seed = arguments.seed_number(seed)
        passes, size = arguments.passes(repeat), arguments.height_and_width(image_size)
        if buckets and batch_size != _DEFAULT_BATCH_SIZE:
            raise ConfigError(
                f"buckets have their own batch sizes; leave out batch_size={batch_size}"
            )
        if batch_size is not None and size is None:
            _check_equal_sizes(selected)
        if seed is None:
            seed = secrets.randbits(32)
        decoding = parsing.Decoding(image_size=size, image_dtype=image_dtype, audio_mono=audio_mono)
        outputs = parsing.outputs(selected, decoding)
        needed = first_record or passes is not None
        num_records = self.num_records(chosen.name) if needed else chosen.num_records
        return input_pipeline.batches(
            input_pipeline.Shards(
                files=chosen.files, compression=chosen.compression, num_records=num_records
            ),
            selected,
            input_pipeline.Order(
                shuffle=shuffle,
                seed=seed,
                buffer_size=shuffle_buffer,
                passes=passes,
                first_record=first_record,
                deterministic=deterministic,
            ),
            decoding,
            batching.Batching(
                size=batch_size,
                drop_remainder=drop_remainder,
                lengths=batching.pad_lengths(pad, max_boxes, outputs),
                truncate=truncate,
                padding=batching.padding(padding_value, outputs),
                ragged=batching.ragged_names(ragged, boxes, outputs),
                buckets=batching.make_buckets(buckets, bucket_by, outputs),
            ),
            arranger(outputs, target, sample_weight),
            f"one that does not fit: {self.remedy}",
        )

    def numpy(
        self,
        split: str | None = None,
        *,
        features: str | Sequence[str] | None = None,
        image_size: ImageSize | None = None,
        image_dtype: Literal["float32", "uint8"] = "float32",
        shuffle: bool = False,
        seed: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The records of a split one by one, as NumPy arrays by name; text is bytes.

        Arguments, names and errors are those of `batches`; shapes have no axis b.
        Without `image_size` images keep their own size; nothing is padded: boxes are [n, 4].

        Raises:
            DatasetDamagedError: A record does not fit the features, or a shard is damaged.
        """
        dataset = self.batches(
            split,
            batch_size=None,
            features=features,
            image_size=image_size,
            image_dtype=image_dtype,
            shuffle=shuffle,
            seed=seed,
        )
        return self._read(dataset)

    def _read(self, dataset: tf.data.Dataset) -> Iterator[dict[str, Any]]:
        try:
            yield from dataset.as_numpy_iterator()
        except tf.errors.OpError as error:
            raise explain(error, self.remedy) from error

    def _select(self, names: str | Sequence[str] | None) -> list[Feature]:
        if names is None:
            selected = list(self.features.values())
        else:
            chosen = [names] if isinstance(names, str) else names
            for name in chosen:
                if name not in self.features:
                    raise UnknownNameError(f"feature in {self.path}", name, self.features)
            selected = [self.features[name] for name in chosen]
        if not selected:
            raise ConfigError(f"features=[] selects nothing of {self.path}; name a feature")
        parsing.check_readable(selected)
        return selected


def _check_equal_sizes(features: Sequence[Feature]) -> None:
    for feature in features:
        if feature.kind == "image" and None in feature.shape[:2]:
            raise ConfigError(
                f"images of {feature.name!r} differ in size and cannot be batched; pass "
                "image_size=(height, width), or batch_size=None for single records"
            )


def _check_choice(argument: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UnknownNameError(f"{argument} called", value, choices)
