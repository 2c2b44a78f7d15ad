"""The features of other people's Examples: every key is one, under its own name.

`beam_pipeline` infers the schema of such files by the same rules.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from trainer.errors import ConfigError
from trainer.features import Feature
from trainer.observation import AUDIO_FORMS, IMAGE_FORMS, Observed, Sample, square_side

_LABELS = frozenset(
    {"label", "labels", "class", "class_id", "class_label", "category", "category_id"}
    | {"target", "y"}
)
# How people declare what bare files hold.
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
            key: inferred_feature(key, sample.observed[key], sample.num_records)
            for key in sorted(sample.observed)
        }
    )


def inferred_feature(key: str, seen: Observed, num_records: int) -> Feature:
    """The feature of a key that was `seen` in some of `num_records` records.

    A record without the key counts as an empty list, but a class label may be missing.

    Raises:
        ConfigError: It holds lists of two kinds.
    """
    kind = one_kind(key, seen) or "bytes"  # an empty list, as far as anybody knows
    shortest = seen.shortest if seen.num_records == num_records else 0
    if kind == "float32" and "box" in _last_part(key) and seen.fours:
        return _bare(key, "sequence", "float32", (None, 4))
    dtype = "string" if kind == "bytes" else kind
    if kind == "int64" and seen.shortest == seen.longest == 1:
        feature = number_feature(key, kind, seen)
        if feature.kind == "class_label":
            return dataclasses.replace(feature, default=None if shortest else -1)
    if shortest != seen.longest or not seen.longest:
        return _bare(key, "sequence", dtype, (None,))
    if seen.longest > 1:
        return _bare(key, "tensor", dtype, (seen.longest,))
    return bytes_feature(key, seen) if kind == "bytes" else number_feature(key, kind, seen)


def one_kind(key: str, seen: Observed) -> str:
    """ "int64", "float32" or "bytes"; "" where no record has any value.

    Raises:
        ConfigError: There are two.
    """
    if len(seen.where) > 1:
        found = ", ".join(f"{kind} in {where}" for kind, where in sorted(seen.where.items()))
        raise ConfigError(
            f"key {key!r} must hold lists of one kind but holds {found}; leave it out by "
            f"{DECLARE}, or write the records again"
        )
    return next(iter(seen.where), "")


def number_feature(key: str, dtype: str, seen: Observed) -> Feature:
    """A class label where a key's name and numbers look like one, else a scalar."""
    if dtype == "int64" and _is_label(key) and seen.smallest is not None:
        assert seen.largest is not None
        if seen.smallest >= -1 and seen.largest <= _LARGEST_CLASS:
            return _bare(key, "class_label", dtype, ())
    return _bare(key, "scalar", dtype, ())


def bytes_feature(key: str, seen: Observed) -> Feature:
    """What the single values of a key are: an empty one may be anything but raw numbers."""
    forms = seen.forms - {""}
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
    if "" not in seen.forms and len(seen.num_bytes) == 1 and seen.layouts:
        dtype, channels = seen.layouts[0]
        side = square_side(max(seen.num_bytes), dtype, channels)
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
    """What inferred features were taken for without proof, a sentence each."""
    return [
        f"{feature.key}: {max(sample.observed[feature.key].num_bytes):,} raw bytes a record are "
        f"taken for {feature.dtype} {list(feature.shape)}; if they are not, declare by {DECLARE} "
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
