"""Checks the arguments of `Dataset.batches` about lengths, which form batches."""

import dataclasses
import math
import numbers
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfrecord_dataset.format.declaration import is_whole
from trainer.errors import ConfigError, UnknownNameError
from trainer.parsing import Output

Padding = int | float | str | bytes


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """Options to form batches.

    Attributes:
        size: Records per batch; None for single records.
        drop_remainder: Leave out batches that are not full.
        lengths: By output, the length that each record is padded to; other outputs are padded to
            the longest record in the batch.
        truncate: Cut longer records, which otherwise are an error.
        padding: The padding value of each output that can be padded.
        ragged: Outputs that become ragged tensors instead.
    """

    size: int | None
    drop_remainder: bool = False
    lengths: Mapping[str, int] = dataclasses.field(default_factory=dict)
    truncate: bool = False
    padding: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    ragged: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in self.lengths:
            if name in self.ragged:
                raise ConfigError(
                    f"{name!r} cannot be both padded and ragged; leave it out of pad or ragged"
                )
        if self.truncate and not self.lengths:
            raise ConfigError('truncate=True cuts to the length in pad; add pad={"sequence": 128}')


def pad_lengths(pad: Mapping[str, int] | None, outputs: Sequence[Output]) -> dict[str, int]:
    """Return the length by output; the name of a feature sets all of its outputs.

    Raises:
        UnknownNameError: An output does not exist.
        ConfigError: An output has a fixed shape, or a length is less than 1.
    """
    if not isinstance(pad or {}, Mapping):
        raise ConfigError(f'pad={pad!r} does not name outputs; give pad={{"sequence": 128}}')
    stated: dict[str, Any] = dict(pad or {})
    lengths: dict[str, int] = {}
    for name, length in stated.items():
        if not is_whole(length) or length < 1:
            raise ConfigError(
                f"pad={{{name!r}: {length!r}}} is not a length; give a positive number"
            )
        members = _members(name, outputs, "pad")
        lengths |= dict.fromkeys(
            (member for member in members if member == name or member not in stated), int(length)
        )
    return lengths


def padding(values: Mapping[str, Padding] | None, outputs: Sequence[Output]) -> dict[str, Any]:
    """Return the padding value of each output that can be padded, by default that of its kind.

    Raises:
        UnknownNameError: An output does not exist.
        ConfigError: An output has a fixed shape, or does not support the value.
    """
    padded = {output.name: output for output in outputs if output.padding is not None}
    stated = values or {}
    for name in stated:
        _members(name, outputs, "padding_value")
    return {name: _fill(each, stated.get(name, each.padding)) for name, each in padded.items()}


def _fill(output: Output, value: Any) -> Any:
    if output.dtype == tf.string:
        fits = isinstance(value, str | bytes)
    else:
        fits = isinstance(value, numbers.Real) and _holds(output.dtype, value)
    if not fits:
        raise ConfigError(
            f"padding_value {value!r} does not fit {output.name!r} of type "
            f"{output.dtype.name}; give a value of that type"
        )
    return tf.constant(value, output.dtype)


def _holds(dtype: tf.DType, value: Any) -> bool:
    """Whether `dtype` can represent `value` to its precision."""
    if dtype.is_floating:
        # `float` and `math.isfinite` fail on integers beyond float64.
        is_finite = value == value and value not in (math.inf, -math.inf)
        return not is_finite or abs(value) <= float(dtype.max)
    return bool(dtype.min <= value <= dtype.max and value == round(value))


def ragged_names(ragged: bool | Sequence[str], outputs: Sequence[Output]) -> frozenset[str]:
    """Return the outputs to return as ragged tensors.

    Raises:
        UnknownNameError: An output does not exist.
        ConfigError: An output has a fixed shape.
    """
    if ragged is True:
        return frozenset(output.name for output in outputs if output.padding is not None)
    names = [ragged] if isinstance(ragged, str) else list(ragged or ())
    return frozenset(member for name in names for member in _members(name, outputs, "ragged"))


def _members(name: str, outputs: Sequence[Output], argument: str) -> Collection[str]:
    """Return the output `name`; for a feature's name, all outputs of the feature."""
    members = [
        output.name
        for output in outputs
        if output.padding is not None and name in (output.name, output.feature.name)
    ]
    if not members:
        fixed = {output.name: output.shape for output in outputs if output.padding is None}
        if name in fixed:
            raise ConfigError(
                f"{argument} names {name!r}, whose shape {list(fixed[name])} is fixed; leave it out"
            )
        known = [output.name for output in outputs if output.padding is not None]
        raise UnknownNameError(f"output for {argument}", name, known)
    return members
