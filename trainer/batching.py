"""How records become batches: what `Dataset.batches` is told about lengths, made sure of."""

import dataclasses
import math
import numbers
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import tensorflow as tf

from trainer.arguments import is_whole
from trainer.errors import ConfigError, UnknownNameError
from trainer.parsing import Output

Padding = int | float | str | bytes


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """Records are batched with others of like length.

    Attributes:
        by: The output whose length decides.
        up_to: The longest of each bucket but the last, which takes all longer ones.
        batch_sizes: Records a batch, by bucket.
    """

    by: str
    up_to: tuple[int, ...]
    batch_sizes: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How records become batches.

    Attributes:
        size: Records a batch; None for no batches. Of no account with `buckets`.
        drop_remainder: Leave out batches that are not full.
        lengths: By output, the length that each record is padded to; others are padded to
            the longest of the batch.
        truncate: Cut longer records, which are an error otherwise.
        padding: What fills up, by each output that can be padded.
        ragged: Outputs that become ragged tensors instead.
        buckets: None for batches of whatever comes.
    """

    size: int | None
    drop_remainder: bool = False
    lengths: Mapping[str, int] = dataclasses.field(default_factory=dict)
    truncate: bool = False
    padding: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    ragged: frozenset[str] = frozenset()
    buckets: Buckets | None = None

    def __post_init__(self) -> None:
        for name in self.lengths:
            if name in self.ragged:
                raise ConfigError(
                    f"{name!r} is to be padded (pad, max_boxes) and ragged; leave one out"
                )
        if self.truncate and not self.lengths:
            raise ConfigError(
                'truncate=True cuts to the length that pad states; add pad={"sequence": 128}'
            )
        if self.buckets and self.buckets.by in self.lengths:
            raise ConfigError(
                f"pad makes all {self.buckets.by!r} equally long, and buckets sort by their "
                "length; leave one out"
            )


def stated_lengths(
    pad: Mapping[str, int] | None, max_boxes: int | None, outputs: Sequence[Output]
) -> dict[str, int]:
    """The length by output; one of a feature's own name is that of its other outputs, too.

    Raises:
        UnknownNameError: No such output.
        ConfigError: It has a fixed shape, or the length is less than 1.
    """
    if not isinstance(pad or {}, Mapping):
        raise ConfigError(f'pad={pad!r} names no output; give pad={{"sequence": 128}}')
    stated: dict[str, Any] = dict(pad or {})
    if max_boxes is not None:
        boxes = {output.feature.name for output in outputs if output.feature.kind == "boxes"}
        stated |= dict.fromkeys(boxes, max_boxes)
    lengths: dict[str, int] = {}
    for name, length in stated.items():
        if not is_whole(length) or length < 1:
            raise ConfigError(f"pad={{{name!r}: {length!r}}} is no length; give a positive number")
        members = _members(name, outputs, "pad")
        lengths |= dict.fromkeys(
            (member for member in members if member == name or member not in stated), int(length)
        )
    return lengths


def padding(
    value: Padding | Mapping[str, Padding] | None, outputs: Sequence[Output]
) -> dict[str, Any]:
    """What fills up each output that can be padded.

    Args:
        value: By output; or one for all, which numbers take where it is a number and strings
            where it is a string. What is not named has its kind's usual one.
        outputs: What is read.

    Raises:
        UnknownNameError: No such output.
        ConfigError: It has a fixed shape, or cannot hold that value.
    """
    padded = {output.name: output for output in outputs if output.padding is not None}
    if isinstance(value, Mapping):
        for name in value:
            _members(name, outputs, "padding_value")
        stated = dict(value)
    elif value is None:
        stated = {}
    else:
        of_text = isinstance(value, str | bytes)
        stated = {
            name: value for name, each in padded.items() if (each.dtype == tf.string) == of_text
        }
    return {name: _fill(each, stated.get(name, each.padding)) for name, each in padded.items()}


def _fill(output: Output, value: Any) -> Any:
    if output.dtype == tf.string:
        fits = isinstance(value, str | bytes)
    else:
        fits = isinstance(value, numbers.Real) and _holds(output.dtype, value)
    if not fits:
        raise ConfigError(
            f"padding_value {value!r} does not fit {output.name!r}, which holds "
            f"{output.dtype.name}; give one of that type"
        )
    return tf.constant(value, output.dtype)


def _holds(dtype: tf.DType, value: Any) -> bool:
    """Whether a number that `dtype` holds is `value`, to its precision."""
    if dtype.is_floating:
        # `float` and `math.isfinite` fail on integers that no float holds.
        is_finite = value == value and value not in (math.inf, -math.inf)
        return not is_finite or abs(value) <= float(dtype.max)
    return bool(dtype.min <= value <= dtype.max and value == round(value))


def ragged_names(
    ragged: bool | Sequence[str], boxes: str, outputs: Sequence[Output]
) -> frozenset[str]:
    """The outputs that become ragged tensors.

    Raises:
        UnknownNameError: No such output.
        ConfigError: It has a fixed shape.
    """
    if ragged is True:
        return frozenset(output.name for output in outputs if output.padding is not None)
    names = [ragged] if isinstance(ragged, str) else list(ragged or ())
    if boxes == "ragged":
        names += [output.feature.name for output in outputs if output.feature.kind == "boxes"]
    return frozenset(member for name in names for member in _members(name, outputs, "ragged"))


def stated_buckets(
    buckets: Sequence[tuple[int | None, int]] | None, by: str | None, outputs: Sequence[Output]
) -> Buckets | None:
    """The buckets, where there are any.

    Raises:
        UnknownNameError: No such output.
        ConfigError: Several outputs vary and none is named, or the buckets are in no order
            or leave long records out.
    """
    if not buckets:
        if by is not None:
            raise ConfigError(f"bucket_by={by!r} needs buckets=[(50, 64), (None, 16)]")
        return None
    if not isinstance(buckets, Sequence) or not all(map(_is_bucket, buckets)):
        raise ConfigError(
            f"buckets={buckets!r} must be pairs (length, batch size) of whole numbers: "
            "[(50, 64), (None, 16)]"
        )
    *shorter, (last, _) = buckets
    up_to = [length for length, _ in shorter if length is not None]
    if last is not None or len(up_to) < len(shorter) or up_to != sorted(set(up_to)):
        raise ConfigError(
            f"buckets={list(buckets)!r} must state rising lengths and end in (None, batch size) "
            "for all longer records"
        )
    batch_sizes = [size for _, size in buckets]
    if min([*up_to, *batch_sizes]) < 1:
        raise ConfigError(f"buckets={list(buckets)!r} hold a number below 1; give positive ones")
    return Buckets(by=_decisive(by, outputs), up_to=tuple(up_to), batch_sizes=tuple(batch_sizes))


def _is_bucket(bucket: Any) -> bool:
    match bucket:
        case (length, size):
            return (length is None or is_whole(length)) and is_whole(size)
    return False


def _decisive(by: str | None, outputs: Sequence[Output]) -> str:
    varying = [output for output in outputs if output.varies]
    names = [output.name for output in varying]
    if by is not None:
        if by not in names:
            raise UnknownNameError("output of varying length for bucket_by", by, names)
        return by
    if not names:
        raise ConfigError("buckets sort by length, and no output varies; pass batch_size instead")
    if len({output.feature.name for output in varying}) > 1:
        raise ConfigError(f"several outputs vary in length; name one by bucket_by: {names}")
    return names[0]


def _members(name: str, outputs: Sequence[Output], argument: str) -> Collection[str]:
    """The output `name`, and where that is a feature's own, the feature's other ones."""
    members = [
        output.name
        for output in outputs
        if output.padding is not None and name in (output.name, output.feature.name)
    ]
    if not members:
        fixed = {output.name: output.shape for output in outputs if output.padding is None}
        if name in fixed:
            raise ConfigError(
                f"{argument} names {name!r}, whose shape {list(fixed[name])} is not padded; "
                "leave it out"
            )
        known = [output.name for output in outputs if output.padding is not None]
        raise UnknownNameError(f"output for {argument}", name, known)
    return members
