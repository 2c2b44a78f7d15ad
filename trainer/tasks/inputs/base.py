"""The interface of inputs, which prepare and encode one feature for a model."""

import abc
import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tfrecord_dataset.format.feature import STRINGS, Feature
from trainer.errors import DatasetDamagedError
from trainer.options.train_options import TrainConfig
from trainer.tasks.statistics import Statistic


class TaskPart(abc.ABC):
    """An input or the target of a task: one feature, and its statistics in the train split.

    Subclasses are dataclasses. Statistics are not compared: equal parts accept the same records.

    Attributes:
        kind: Name in task.json.
        varies: Whether records differ in length, unless `--pad` pads or cuts them.
        name: Name of the feature.
    """

    __slots__ = ()

    kind: ClassVar[str]
    varies: ClassVar[bool] = False
    name: str

    @classmethod
    @abc.abstractmethod
    def suits(cls, feature: Feature) -> bool:
        """Whether a feature can be this kind of part."""

    @property
    def in_words(self) -> str:
        """The compared fields for messages: "array (sizes (8, 8, 1))"."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        names = [each.name for each in fields if each.compare and each.name != "name"]
        facts = ", ".join(f"{name} {getattr(self, name)}" for name in names)
        return f"{self.kind} ({facts})" if facts else self.kind

    @property
    def pad_to(self) -> int | None:
        """The length to which records are padded or cut; None for the longest in the batch."""
        return None

    def statistic(self) -> Statistic | None:
        """Return a new statistic that computes fields from the train split, or None."""
        return None


class Input(TaskPart):
    """One feature as an input: its statistics, preparation, and encoding as a vector.

    Attributes:
        dtype: Dtype of the model's input.
        suffixes: Suffixes of files that contain one such value; empty if there are none.
        is_numeric: Whether it has numbers, if its feature's dtype is one of numbers.
        is_file: Whether records contain an encoded file, which exported models accept as well.
    """

    __slots__ = ()

    dtype: ClassVar[str] = "float32"
    suffixes: ClassVar[tuple[str, ...]] = ()
    is_numeric: ClassVar[bool] = False
    is_file: ClassVar[bool] = False

    @classmethod
    @abc.abstractmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        """Make the input for `feature`, without statistics."""

    @property
    def group(self) -> str:
        """Kind of input in the choice of a task."""
        return self.kind

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int | None, ...]:
        """Shape of a record in the model's input, as for `keras.Input`; None for varying sizes."""

    @property
    def padding(self) -> int | str | None:
        """Padding value of shorter records; None for the kind's default."""
        return None

    def assumed(self, feature: Feature) -> str | None:
        """Describe what is assumed about a feature that does not state it; None for nothing."""
        return None

    def host_step(self) -> Callable[[Any], Any]:
        """Return the function that prepares batches in the input pipeline, on the CPU."""
        return lambda values: values

    def to_predict(self, feature: Feature) -> Feature:
        """Return the training's feature, adapted to reading other records."""
        return feature

    def of_client(self, values: Any) -> Any:
        """Convert values from an exported model's clients, `tf.string` [b], to those of records."""
        return values

    def of_file(self, file: Path) -> Any:
        """Return the value of a row for a file in the row's folder."""
        return file.name

    def stored(self, value: Any, feature: Feature, folder: Path, source: str) -> list[Any]:
        """Convert a value in a row to predict for to the list in an Example.

        The value is from a JSON object, or a text from a CSV file; for an image or audio, a path
        relative to `folder`. Messages name the row as `source`.

        Raises:
            DatasetDamagedError: The value does not fit the feature.
        """
        try:
            if feature.dtype in STRINGS:
                texts = value if isinstance(value, list) else [value]
                if not all(isinstance(each, str | int | float) for each in texts):
                    raise TypeError("not a text")
                return [str(each).encode() for each in texts]
            if isinstance(value, str):
                value = _numbers(value)
            array = np.ravel(np.asarray(value, dtype=feature.dtype))
            if array.dtype.kind in "iu" and not (array == np.ravel(np.asarray(value))).all():
                raise ValueError("not a whole number")
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            wrong = f"is {value!r}, which is not of {feature.dtype}: {error}"
            if isinstance(value, float) and math.isnan(value):
                wrong = "is missing, but is in every record of the training"
            raise DatasetDamagedError(
                f"{feature.name} of {source} {wrong}; correct the value"
            ) from error
        if feature.encoding == "bytes":
            return [array.astype(array.dtype.newbyteorder("<")).tobytes()]
        result: list[Any] = array.tolist()
        return result

    def file_of(self, value: Any, folder: Path, source: str) -> Path:
        """Return the file that a value in a row names."""
        if not isinstance(value, str):
            raise DatasetDamagedError(
                f"{self.name} of {source} is {value!r}, not the path of a file; correct the value"
            )
        return folder / value

    @abc.abstractmethod
    def prepare(self, values: Any) -> Any:
        """Convert a batch of the pipeline to the model's input; runs on the device."""

    @abc.abstractmethod
    def encode(self, x: Any) -> Any:
        """Encode the model's input, a Keras tensor, as one vector per record: [b, units]."""


def _numbers(text: str) -> Any:
    """Return the number or the list of numbers in a text, nan for blanks."""
    try:
        return json.loads(text) if text.strip() else float("nan")
    except ValueError:
        raise ValueError("not a number") from None


def not_compared(default: Any = ()) -> Any:
    """Declare a dataclass field in which equal parts may differ, such as a statistic."""
    return dataclasses.field(default=default, compare=False)
