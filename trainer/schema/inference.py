"""Infers the features of bare files: every key is a feature of the same name.

The rules are those of docs/format.md, which `beam_pipeline` has, too; the shape of raw numbers is
guessed here alone.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from tfrecord_dataset.feature import Feature
from trainer.errors import ConfigError
from trainer.schema.observation import AUDIO_FORMS, IMAGE_FORMS, KeyStatistics, Sample, square_side

_LABELS = frozenset(
    {"label", "labels", "class", "class_id", "class_label", "category", "category_id"}
    | {"target", "y"}
)
# How users declare the features of bare files.
DECLARE = "features= (of a command: --schema FILE)"
# A larger number is an id, not a class.
_LARGEST_CLASS = 9_999


def infer(sample: Sample) -> Mapping[str, Feature]:
    """The features by key, sorted.

    Raises:
        ConfigError: A key holds lists of two kinds.
    """
    return MappingProxyType(
        {
            key: infer_feature(key, sample.keys[key], sample.num_records)
            for key in sorted(sample.keys)
        }
    )


def infer_feature(key: str, statistics: KeyStatistics, num_records: int) -> Feature:
    """The feature of a key with these statistics, in a sample of `num_records` records.

    A record without the key counts as an empty list, but a class label may be missing.

    Raises:
        ConfigError: The key holds lists of two kinds.
    """
    kind = one_kind(key, statistics) or "bytes"  # only empty lists
    shortest = statistics.shortest if statistics.num_records == num_records else 0
    if kind == "float32" and "box" in _last_part(key) and statistics.fours:
        return _bare(key, "sequence", "float32", (None, 4))
    dtype = "string" if kind == "bytes" else kind
    if kind == "int64" and statistics.shortest == statistics.longest == 1:
        feature = number_feature(key, kind, statistics)
        if feature.kind == "class_label":
            return dataclasses.replace(feature, default=None if shortest else -1)
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
        kinds = ", ".join(f"{kind} in {where}" for kind, where in sorted(statistics.where.items()))
        raise ConfigError(
            f"key {key!r} must hold lists of one kind, but holds {kinds}; leave it out by "
            f"{DECLARE}, or write the records again"
        )
    return next(iter(statistics.where), "")


def number_feature(key: str, dtype: str, statistics: KeyStatistics) -> Feature:
    """A class label if the key's name and numbers look like one, else a scalar."""
    if dtype == "int64" and _is_label(key) and statistics.smallest is not None:
        assert statistics.largest is not None
        if statistics.smallest >= -1 and statistics.largest <= _LARGEST_CLASS:
            return _bare(key, "class_label", dtype, ())
    return _bare(key, "scalar", dtype, ())


def bytes_feature(key: str, statistics: KeyStatistics) -> Feature:
    """The feature of a key with single values; an empty value may be anything but raw numbers."""
    forms = statistics.forms - {""}
    if forms and forms <= IMAGE_FORMS:
        image_format = (
            next(iter(forms)) if len(forms) == 1 and forms <= {"jpeg", "png"} else "mixed"
        )
        return _bare(key, "image", "uint8", (None, None, 3), format=image_format)
    if forms and forms <= AUDIO_FORMS:
        audio_format = next(iter(forms)) if len(forms) == 1 else "mixed"
        return _bare(key, "audio", "float32", (None, None), format=audio_format)
    if forms <= {"text"}:
        return _bare(key, "text", "string", ())
    if "" not in statistics.forms and len(statistics.num_bytes) == 1 and statistics.layouts:
        dtype, channels = statistics.layouts[0]
        side = square_side(max(statistics.num_bytes), dtype, channels)
        shape = (side, side) if channels == 1 else (side, side, channels)
        return _bare(key, "tensor", dtype, shape, encoding="bytes")
    return _bare(key, "bytes", "string", ())


def _bare(
    key: str,
    kind: str,
    dtype: str,
    shape: tuple[int | None, ...],
    *,
    format: str = "",
    encoding: str = "",
) -> Feature:
    return Feature(
        name=key,
        kind=kind,
        dtype=dtype,
        shape=shape,
        key=key,
        format=format,
        encoding=encoding,
        bare=True,
    )


def guesses(features: Mapping[str, Feature], sample: Sample) -> list[str]:
    """The types of inferred features that are guesses, one message each."""
    return [
        f"{feature.key}: {max(sample.keys[feature.key].num_bytes):,} raw bytes per record "
        f"are assumed to be {feature.dtype} {list(feature.shape)}; otherwise declare by {DECLARE} "
        f'{{"{name}": {{"kind": "tensor", "dtype": …, "shape": …, "encoding": "bytes"}}}}'
        for name, feature in features.items()
        if feature.encoding == "bytes"
    ]


def _is_label(key: str) -> bool:
    last = _last_part(key)
    return last in _LABELS or last.endswith(("_label", "_class"))


def _last_part(key: str) -> str:
    """What follows the last slash of `key`, in lower case."""
    return key.rpartition("/")[2].lower()
