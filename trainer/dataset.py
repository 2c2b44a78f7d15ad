"""A dataset as the trainer sees it: splits, features, batches."""

import dataclasses
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import tensorflow as tf

from trainer import input_pipeline, parsing
from trainer.counting import count_records
from trainer.errors import ConfigError, UnknownNameError
from trainer.features import Feature, class_names

ImageSize = int | tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One split's shards.

    Attributes:
        name: As the layout names it: "train", "val", ….
        files: Paths of the shards, in order.
        compression: "" or "GZIP".
        num_records: None where no metadata says it; `Dataset.num_records` counts then.
        num_bytes: Bytes of all shards, None where no metadata says it.
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
        path: Where it is, for messages.
        features: Feature by name.
        splits: Split by name: `"train" in dataset.splits`, `list(dataset.splits)`.
        fingerprint: What the builder says identifies the content; empty without metadata.
    """

    path: str
    features: Mapping[str, Feature]
    splits: Mapping[str, Split]
    fingerprint: str = ""
    _counted: dict[str, int] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def classes(self) -> list[str]:
        """Class names by number: the class label's where there is one, else the boxes'."""
        return class_names(self.features.values())

    def split(self, name: str | None = None) -> Split:
        """The split called `name`, or the only one.

        Raises:
            UnknownNameError: No such split.
            ConfigError: No name is given and there are several.
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
        """The number of records of a split; files without metadata are gone through once."""
        chosen = self.split(split)
        if chosen.num_records is not None:
            return chosen.num_records
        if chosen.name not in self._counted:
            self._counted[chosen.name] = count_records(chosen.files, chosen.compression)
        return self._counted[chosen.name]

    def batches(
        self,
        split: str | None = None,
        *,
        batch_size: int | None = 32,
        features: Sequence[str] | None = None,
        target: str | Sequence[str] | None = None,
        image_size: ImageSize | None = None,
        image_dtype: Literal["float32", "uint8"] = "float32",
        boxes: Literal["padded", "ragged"] = "padded",
        max_boxes: int | None = None,
        shuffle: bool = False,
        seed: int | None = None,
        shuffle_buffer: int = 2048,
        repeat: bool | int = False,
        first_record: int = 0,
        drop_remainder: bool = False,
        deterministic: bool = True,
    ) -> tf.data.Dataset:
        """Batches of a split, as a dict of tensors by name, or as (inputs, target) for Keras.

        Names and shapes (b = batch):
            an image: float32 in 0..1, or uint8, [b, height, width, channels];
            a class label: int64 [b], from 0;
            `boxes`: float32 [b, n, 4], xmin, ymin, xmax, ymax in 0..1, with `box_labels`
            int64 [b, n] from 0 and `box_<attribute>` [b, n]; shorter rows end in -1
            (in "" where an attribute is bytes);
            every other column under its own name, text and bytes as `tf.string`.

        Args:
            split: May be left out where there is one split.
            batch_size: Records a batch; None gives single records, without the axis b.
            features: The features to read; all of them by default.
            target: An output's name: elements become (inputs, target). Inputs are the bare
                tensor where one is left, a dict where several are. Several names make the
                target a dict.
            image_size: A side, or (height, width), in pixels, that images are resized to
                without regard to aspect. Without it, only images of a declared size batch.
            image_dtype: "uint8" keeps 0..255.
            boxes: "padded", or "ragged" tensors.
            max_boxes: Pads to this many boxes. A record with more is an error.
            shuffle: A new order each pass: shards permuted, sixteen read at once, then each
                `shuffle_buffer` serialized records permuted.
            seed: Makes the order the same in each run; a fresh one is drawn without it.
            repeat: True for no end, or the number of passes. Batches run on over the end of
                a pass.
            first_record: How many records, counted over all passes, to leave out.
            drop_remainder: Leave out a last batch that is not full.
            deterministic: False lets records overtake each other when the reads stall.

        Raises:
            UnknownNameError: No such split, feature or target.
            ConfigError: Arguments that do not go together.
        """
        chosen = self.split(split)
        selected = self._select(features)
        _check_choice("image_dtype", image_dtype, ("float32", "uint8"))
        _check_choice("boxes", boxes, ("padded", "ragged"))
        _check_positive(batch_size=batch_size, max_boxes=max_boxes, shuffle_buffer=shuffle_buffer)
        if max_boxes is not None and boxes == "ragged":
            raise ConfigError("max_boxes pads, and boxes='ragged' does not; leave one out")
        size = (image_size, image_size) if isinstance(image_size, int) else image_size
        if batch_size is not None and size is None:
            _check_equal_sizes(selected)
        if seed is None:
            seed = secrets.randbits(32)
        needed = first_record or repeat is not True
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
                passes=None if repeat is True else int(repeat) or 1,
                first_record=first_record,
                deterministic=deterministic,
            ),
            parsing.Decoding(image_size=size, image_dtype=image_dtype, max_boxes=max_boxes),
            input_pipeline.Batching(
                size=batch_size, drop_remainder=drop_remainder, ragged=boxes == "ragged"
            ),
            _arranger(selected, target),
        )

    def numpy(
        self,
        split: str | None = None,
        *,
        features: Sequence[str] | None = None,
        image_size: ImageSize | None = None,
        image_dtype: Literal["float32", "uint8"] = "float32",
        shuffle: bool = False,
        seed: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The records of a split one by one, as NumPy arrays by name; text comes as bytes.

        Arguments, names and errors are those of `batches`, shapes those without the axis b.
        Images keep their own size without `image_size`; boxes are [n, 4], never padded.
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
        records: Iterator[dict[str, Any]] = dataset.as_numpy_iterator()
        return records

    def _select(self, names: Sequence[str] | None) -> list[Feature]:
        if names is None:
            selected = list(self.features.values())
        else:
            for name in names:
                if name not in self.features:
                    raise UnknownNameError(f"feature in {self.path}", name, self.features)
            selected = [self.features[name] for name in names]
        if not selected:
            raise ConfigError(f"no feature of {self.path} is chosen; name one in features=[…]")
        parsing.check_readable(selected)
        return selected


def _arranger(
    features: Sequence[Feature], target: str | Sequence[str] | None
) -> Callable[[parsing.Tensors], Any]:
    """The function from outputs by name to what `batches` yields."""
    if target is None:
        return lambda outputs: outputs
    outputs = [name for feature in features for name in parsing.output_names(feature)]
    targets = [target] if isinstance(target, str) else list(target)
    for name in targets:
        if name not in outputs:
            raise UnknownNameError("output to be the target", name, outputs)
    inputs = [name for name in outputs if name not in targets]
    if not inputs:
        raise ConfigError(f"target={target!r} leaves no input; choose more features")

    def arrange(by_name: parsing.Tensors) -> Any:
        return (
            by_name[inputs[0]] if len(inputs) == 1 else {name: by_name[name] for name in inputs},
            by_name[target]
            if isinstance(target, str)
            else {name: by_name[name] for name in targets},
        )

    return arrange


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


def _check_positive(**arguments: int | None) -> None:
    for name, value in arguments.items():
        if value is not None and value < 1:
            raise ConfigError(f"{name}={value} is less than 1; give a positive number")
