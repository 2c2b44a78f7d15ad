"""Under which keys of an Example a feature is, and the list that each holds: the one table of them.

docs/format.md shows the same to people.
"""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.object_columns import LISTS, SIDES, object_columns
from tfrecord_dataset.format.stored_kinds import STORED_KINDS

Lists = Mapping[str, tuple[str, Sequence[Any]]]
"""(kind, values) by key of an Example, as `example.lists` gives them."""


class ListSpec(NamedTuple):
    """The list that a key must hold.

    Attributes:
        kind: "int64", "float32" or "bytes".
        length: Number of values; None for any number, then the key may be missing.
        row_size: A divisor of the number of values.
        optional: Whether the key may be missing although the length is fixed.
    """

    kind: str
    length: int | None = 1
    row_size: int = 1
    optional: bool = False

    def __str__(self) -> str:
        if self.length is not None:
            return f"{describe_list(self.kind)} of {self.length}"
        rows = f" in rows of {self.row_size}" if self.row_size > 1 else ""
        return f"{describe_list(self.kind)}{rows}"


def describe_list(kind: str) -> str:
    """A list of `kind`, for messages."""
    return {"bytes": "a bytes list", "float32": "a float list", "int64": "an int64 list"}[kind]


def list_specs(feature: Feature) -> dict[str, ListSpec]:
    """The list that each key of `feature` must hold; the first key is its own, but for boxes."""
    if feature.kind == "boxes" and not feature.encoding:
        return _of_objects(feature, (each.stored for each in object_columns(feature)))
    specs = {feature.key: _of_key(feature)}
    if not feature.bare:
        length = None if feature.kind == "class_label" and feature.shape else 1
        for part, kind in STORED_KINDS[feature.kind].beside.items():
            specs[feature.key_beside(part)] = ListSpec(kind, length=length)
    return specs


def specs_to_read(feature: Feature) -> dict[str, ListSpec]:
    """The lists that a feature's values are made of, by key: its own, or those of boxes."""
    if feature.kind == "boxes" and not feature.encoding:
        return _of_objects(feature, (each.lists for each in object_columns(feature)))
    return {feature.key: _of_key(feature)}


def _of_objects(feature: Feature, columns: Iterable[Mapping[str, str]]) -> dict[str, ListSpec]:
    """Of columns with the kind of each list by part."""
    return {
        feature.key_beside(part): ListSpec(kind, length=None)
        for lists in columns
        for part, kind in lists.items()
    }


def _of_key(feature: Feature) -> ListSpec:
    kind = LISTS.get(feature.dtype, "bytes")
    match feature.kind:
        case "tensor":
            if feature.encoding == "bytes":
                return ListSpec("bytes")
            return ListSpec(kind, length=num_values(feature.shape))
        case "sequence":
            return ListSpec(kind, length=None, row_size=num_values(feature.shape[1:]))
        case "boxes":
            return ListSpec("float32", length=None, row_size=len(SIDES))
        case "class_label":
            length = None if feature.shape else 1
            return ListSpec("int64", length=length, optional=feature.may_lack_key)
        case "scalar":
            return ListSpec(kind)
    return ListSpec("bytes")


def default_values(feature: Feature, length: int) -> Sequence[Any]:
    """The list of a record without the feature's key, where it has a default: texts as bytes."""
    default = feature.default
    is_list = isinstance(default, Sequence) and not isinstance(default, str | bytes)
    values = default if is_list else [default] * length
    return [each.encode() if isinstance(each, str) else each for each in values]


def num_values(shape: Iterable[int | None]) -> int:
    """Values of such a shape; 0 where a size varies."""
    return math.prod(size or 0 for size in shape)


def agrees(shape: tuple[int | None, ...], sizes: tuple[int, ...]) -> bool:
    """Whether `sizes` are the first of a feature's shape, where those are fixed."""
    return all(want in (None, size) for want, size in zip(shape, sizes, strict=False))


def shape_problem(feature: Feature, sizes: tuple[int, ...]) -> str:
    """Where an image or audio is not as large as declared, or ""."""
    if agrees(feature.shape, sizes):
        return ""
    wanted = list(feature.shape[: len(sizes)])
    return f"key {feature.key!r} holds {feature.kind} {list(sizes)}, where {wanted} was expected"


def rate_problem(feature: Feature, sample_rate: int) -> str:
    """Where audio has another sample rate than declared, or ""."""
    if feature.sample_rate in (0, sample_rate):
        return ""
    return (
        f"key {feature.key!r} has {sample_rate:,} samples per second, where "
        f"{feature.sample_rate:,} were expected"
    )


def list_problem(key: str, want: ListSpec, lists: Lists) -> str:
    """What is wrong with the list that an Example has under `key`; "" where it is `want`."""
    if want.optional and key not in lists:
        return ""
    kind, values = lists.get(key, ("", ()))
    length = len(values)
    if kind in ("", want.kind):
        if want.length in (None, length) and length % want.row_size == 0:
            return ""
        if key not in lists:
            return f"key {key!r} is missing, where {want} was expected"
    actual = f"{describe_list(kind)} of {length}" if kind else "no value"
    return f"key {key!r} holds {actual}, where {want} was expected"


def written_key(name: str, kind: str, beside: Collection[str]) -> str:
    """The key under which a build writes a feature that does not state one.

    Args:
        name: The feature's.
        kind: One of `stored_kinds.KINDS`.
        beside: The names of the record's features: "image" decides the keys of "label" and
            "captions", "audio" that of "transcript".
    """
    stored = STORED_KINDS[kind]
    needed, key = stored.named.get(name, ("", ""))
    if key and (not needed or needed in beside):
        return key
    own, of_image, *_ = (*(stored.keys or ("{name}",)), "")
    is_label = kind == "class_label"
    is_of_image = name == "label" and "image" in beside if is_label else name == "boxes"
    return of_image if of_image and is_of_image else own.format(name=name)


def with_key_of(
    feature: Feature, record_keys: Collection[str], names: Iterable[str] = ()
) -> Feature | None:
    """`feature` under the key that records of others have; None if it is under none.

    Boxes are flat if the records have their key itself.

    Args:
        feature: As it is declared.
        record_keys: All keys of the records.
        names: Keys to try beside the declared one and the standard ones of its kind, which are
            those of this project, of the TF Object Detection API and of Model Garden.
    """
    stored = STORED_KINDS[feature.kind]
    standard = [key.format(name=feature.name) for key in stored.keys]
    standard += stored.named.get(feature.name, ())[1:]
    for key in (feature.key, *names, *standard):
        if feature.kind != "boxes":
            if key in record_keys:
                return dataclasses.replace(feature, key=key)
        elif key in record_keys:
            return dataclasses.replace(feature, key=key, encoding="flat")
        elif f"{key}/bbox/{SIDES[0]}" in record_keys:
            return dataclasses.replace(feature, key=key)
    return None
