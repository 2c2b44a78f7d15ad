"""The interface of inputs: how one feature of a record gets into a model."""

import abc
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tfrecord_dataset.format.feature import Feature
from trainer.errors import DatasetDamagedError
from trainer.options.train import TrainConfig
from trainer.tasks.statistics import Statistic

# Types of features that hold no numbers.
STRINGS = ("string", "bytes")


class Part(abc.ABC):
    """An input or the target of a task: one feature, and what it learns of the train split.

    Subclasses are dataclasses. Statistics of the train split are not compared: equal parts take
    the same records.

    Attributes:
        kind: In task.json.
        varies: Whether records differ in length, unless `--pad` pads or cuts them.
        name: The feature's.
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
        """For messages, what equal parts share: "array (sizes (8, 8, 1))"."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        names = [each.name for each in fields if each.compare and each.name != "name"]
        facts = ", ".join(f"{name} {getattr(self, name)}" for name in names)
        return f"{self.kind} ({facts})" if facts else self.kind

    @property
    def pad_to(self) -> int | None:
        """The length to which records are padded or cut; None for the longest in the batch."""
        return None

    def statistic(self) -> Statistic | None:
        """A new statistic of the train split, which finds fields of the part; or None."""
        return None


class Input(Part):
    """One feature as an input: its statistics, preparation, and encoding as a vector.

    Attributes:
        dtype: Of the model's input.
        suffixes: Of files that hold one each; none where there are no such files.
        is_file: Whether records hold an encoded file, which clients of exported models give.
    """

    __slots__ = ()

    dtype: ClassVar[str] = "float32"
    suffixes: ClassVar[tuple[str, ...]] = ()
    is_file: ClassVar[bool] = False

    @classmethod
    @abc.abstractmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        """The input for `feature`, without statistics."""

    @property
    def group(self) -> str:
        """The kind of input in the choice of a task."""
        return self.kind

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int | None, ...]:
        """Of one record in the model's input, as for `keras.Input`; None varies."""

    @property
    def padding(self) -> int | str | None:
        """The padding value of shorter records; None for the default of the kind."""
        return None

    def assumed(self, feature: Feature) -> str | None:
        """What is assumed of a feature that does not state it, in words; or None."""
        return None

    def host_step(self) -> Callable[[Any], Any]:
        """The function that prepares batches in the input pipeline, on the CPU."""
        return lambda values: values

    def to_predict(self, feature: Feature) -> Feature:
        """The training's feature, as it is to be read of other records."""
        return feature

    def of_client(self, values: Any) -> Any:
        """What clients of an exported model give, `tf.string` [b], as records hold it."""
        return values

    def of_file(self, file: Path) -> Any:
        """The value of a row for a file in the row's folder."""
        return file.name

    def stored(self, value: Any, feature: Feature, folder: Path, source: str) -> list[Any]:
        """What an Example holds of the feature, for a value in a row to predict for.

        The value is from a JSON object or a text of a CSV file; of an image or audio, a path from
        `folder`. Messages name the row as `source`.

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
                value = json.loads(value) if value.strip() else float("nan")
            array = np.ravel(np.asarray(value, dtype=feature.dtype))
            if array.dtype.kind in "iu" and not (array == np.ravel(np.asarray(value))).all():
                raise ValueError("not a whole number")
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise DatasetDamagedError(
                f"{feature.name} of {source} is {value!r}, which is not of {feature.dtype}: "
                f"{error}; correct the value"
            ) from error
        if feature.encoding == "bytes":
            return [array.astype(array.dtype.newbyteorder("<")).tobytes()]
        result: list[Any] = array.tolist()
        return result

    def file_of(self, value: Any, folder: Path, source: str) -> Path:
        """The file that a value in a row names."""
        if not isinstance(value, str):
            raise DatasetDamagedError(
                f"{self.name} of {source} is {value!r}, not the path of a file; correct the value"
            )
        return folder / value

    @abc.abstractmethod
    def prepare(self, values: Any) -> Any:
        """From a batch of the pipeline to the model's input; runs on the device."""

    @abc.abstractmethod
    def encode(self, x: Any) -> Any:
        """From the model's input, a Keras tensor, to one vector per record: [b, units]."""


class VaryingInput(Input):
    """An input whose records have any length, or are all padded or cut to `length`."""

    __slots__ = ()

    varies: ClassVar[bool] = True
    length: int | None

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (self.length,)

    @property
    def pad_to(self) -> int | None:
        return self.length


def not_compared(default: Any = ()) -> Any:
    """A dataclass field in which equal inputs, or targets, may differ, such as a statistic."""
    return dataclasses.field(default=default, compare=False)
