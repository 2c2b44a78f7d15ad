"""Infers the features of existing Examples: every key is a feature of the same name.

The rules are those of docs/format.md.
"""

import dataclasses
import functools
from collections.abc import Collection, Mapping
from typing import Any

from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import describe_list
from tfrecord_dataset.observation import KeyStatistics, Sample, square_side
from tfrecord_dataset.value_forms import AUDIO_FORMS, IMAGE_FORMS

_LABELS = frozenset(
    {"label", "labels", "class", "class_id", "class_label", "category", "category_id"}
    | {"target", "y"}
)
# How users declare the features of bare files.
DECLARE = "--schema FILE"
# A larger number is an id, not a class.
MAX_CLASS = 9_999


def infer(sample: Sample) -> Mapping[str, Feature]:
    """The features by key, sorted.

    Raises:
        ConfigError: A key holds lists of two kinds.
    """
    return {
        key: infer_feature(key, sample.keys[key], sample.num_records) for key in sorted(sample.keys)
    }


def infer_feature(
    key: str, statistics: KeyStatistics, num_records: int, *, names_classes: bool = False
) -> Feature:
    """The feature of a key with these statistics, in a sample of `num_records` records.

    A record without the key counts as an empty list, but a class label may be missing.

    Args:
        key: In the Examples.
        statistics: Of its lists.
        num_records: With the key, or without it.
        names_classes: Whether somebody has named the classes that its numbers are.

    Raises:
        ConfigError: The key holds lists of two kinds.
    """
    kind = one_kind(key, statistics) or "bytes"  # only empty lists
    shortest = statistics.shortest if statistics.num_records == num_records else 0
    if kind == "float32" and "box" in last_part(key) and statistics.fours:
        return _bare(key, "sequence", "float32", (None, 4))
    dtype = "string" if kind == "bytes" else kind
    if kind == "int64" and statistics.shortest == statistics.longest == 1:
        number = number_feature(key, kind, statistics)
        if names_classes or number.kind == "class_label":
            default = None if shortest else -1
            return dataclasses.replace(number, kind="class_label", default=default)
    if shortest != statistics.longest or not statistics.longest:
        return _bare(key, "sequence", dtype, (None,))
    if statistics.longest > 1:
        return _bare(key, "tensor", dtype, (statistics.longest,))
    return (
        bytes_feature(key, statistics) if kind == "bytes" else number_feature(key, kind, statistics)
    )


def one_kind(key: str, statistics: KeyStatistics) -> str:
    """ "int64", "float32" or "bytes"; "" if no record has any value.

    Raises:
        ConfigError: There are two kinds.
    """
    if len(statistics.where) > 1:
        raise ConfigError(
            f"{mixed_lists(key, statistics)}; leave it out by {DECLARE}, or write the records again"
        )
    return next(iter(statistics.where), "")


def mixed_lists(key: str, statistics: KeyStatistics) -> str:
    """What is said of a key that holds lists of two kinds, with a record of each."""
    lists = (
        f"{describe_list(kind)} in {where}" for kind, where in sorted(statistics.where.items())
    )
    return f"key {key!r} must hold lists of one kind, but holds {', '.join(lists)}"


def number_feature(key: str, dtype: str, statistics: KeyStatistics) -> Feature:
    """A class label if the key's name and numbers look like one, else a scalar."""
    if dtype == "int64" and is_label_key(key) and statistics.smallest is not None:
        assert statistics.largest is not None
        if statistics.smallest >= -1 and statistics.largest <= MAX_CLASS:
            return _bare(key, "class_label", dtype, ())
    return _bare(key, "scalar", dtype, ())


def bytes_feature(key: str, statistics: KeyStatistics) -> Feature:
    """The feature of a key with single values; an empty value may be anything but raw numbers."""
    forms = statistics.forms - {""}
    if forms and forms <= IMAGE_FORMS:
        return _bare(key, "image", "uint8", (None, None, 3), format=stored_format("image", forms))
    if forms and forms <= AUDIO_FORMS:
        return _bare(key, "audio", "float32", (None, None), format=stored_format("audio", forms))
    if forms <= {"text"}:
        return _bare(key, "text", "string", ())
    if "" not in statistics.forms and len(statistics.num_bytes) == 1 and statistics.layouts:
        dtype, channels = statistics.layouts[0]
        side = square_side(max(statistics.num_bytes), dtype, channels)
        shape = (side, side) if channels == 1 else (side, side, channels)
        return _bare(key, "tensor", dtype, shape, encoding="bytes")
    return _bare(key, "bytes", "string", ())


def stored_format(kind: str, forms: Collection[str]) -> str:
    """The `Feature.format` of images or audio of these forms."""
    known = {*forms} - {""}
    stated = known & ({"jpeg", "png", "bmp"} if kind == "image" else AUDIO_FORMS)
    return known.pop() if len(known) == 1 and stated else "mixed"


def _bare(key: str, kind: str, dtype: str, shape: tuple[int | None, ...], **more: str) -> Feature:
    made: Any = {"kind": kind, "dtype": dtype, "shape": shape, **more}
    return Feature(name=key, key=key, bare=True, **made)


def guesses(features: Mapping[str, Feature], sample: Sample) -> list[str]:
    """The types of inferred features that are guesses, one message each."""
    return [
        f"{feature.key}: {max(sample.keys[feature.key].num_bytes):,} raw bytes per record "
        f"are assumed to be {feature.dtype} {list(feature.shape)}; otherwise declare by {DECLARE}, "
        f'as {{"{name}": {{"kind": "tensor", "dtype": …, "shape": …, "encoding": "bytes"}}}}'
        for name, feature in features.items()
        if feature.encoding == "bytes"
    ]


@functools.lru_cache(maxsize=4096)
def is_label_key(key: str) -> bool:
    """Whether numbers under `key` may be classes, by its name."""
    last = last_part(key)
    return last in _LABELS or last.endswith(("_label", "_class"))


def last_part(key: str) -> str:
    """What follows the last slash of `key`, in lower case."""
    return key.rpartition("/")[2].lower()
