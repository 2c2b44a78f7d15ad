"""The protocol of a column: what is asked of what each object of an image has beside its box."""

from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.kinds.frame import Frame
from beam_pipeline.kinds.kind import Stored
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.records import Objects
from tfrecord_dataset.example import FeatureValue
from tfrecord_dataset.feature import Feature

# Reasons of `Rejected`.
IMPOSSIBLE_BOX = "impossible box"
MALFORMED = "malformed annotation"


class Column:
    """What is asked of a column: how it is checked, placed, counted, declared and stored.

    Attributes:
        field: Its field of `Objects`, which is empty where annotations have no such column.
    """

    field = ""

    def check_length(self, values: Any, number: int) -> None:
        """Raises RecordError where these are not the values of so many objects."""

    def check(self, name: str, values: Any) -> Any:
        """The values of feature `name`, to be stored.

        Raises:
            RecordError: An Example cannot hold them.
        """
        return values

    def place(self, values: Any, kept: Sequence[int], frame: Frame, image: Frame) -> Any:
        """Of the objects that are kept, the values in the stored image.

        Args:
            values: As the annotation states them.
            kept: Indices of the objects.
            frame: In which the annotation speaks.
            image: The image's, of what states a size of its own.

        Raises:
            RecordError: A value is impossible.
        """
        return taken(values, kept)

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        """Counts the column of a record from `source`."""

    def complete(
        self, feature: Feature, observed: Observed, declared: tuple[str, ...]
    ) -> Mapping[str, Any]:
        """What a feature says of the column, by field of `Feature`.

        Raises:
            DataError: Records differ in what they must have alike, or have undeclared classes.
        """
        return {}

    def encode(
        self, feature: Feature, objects: Objects, stored: Stored
    ) -> Mapping[str, FeatureValue]:
        """The column's lists, by part of the key, where the feature has the column.

        Raises:
            RecordError: "malformed annotation": the record lacks what others have.
        """
        raise NotImplementedError


def taken(values: Sequence[Any], kept: Sequence[int]) -> tuple[Any, ...]:
    """The values of the objects that are kept."""
    if len(kept) == len(values):
        return tuple(values)
    return tuple(values[index] for index in kept)
