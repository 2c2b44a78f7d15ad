"""Size of a record in a shard, estimated from the schema."""

from collections.abc import Mapping, Sequence

from beam_pipeline.inspect.inspect_batch import EXAMPLE_OVERHEAD_BYTES
from beam_pipeline.kinds.observed import Observed, of_feature
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import list_specs

# A record's length and checksums, and the tag and length of its features.
_FRAME_BYTES = 20
# Tags and lengths of a key, its list and a value.
_KEY_BYTES = 10
# Numbers and labels count as this many bytes when they are inspected.
_INSPECTED_BYTES = 8
_FLOAT_BYTES = 4
_BITS = 7  # of a number in a byte
_NEGATIVE_BYTES = 10
# Facts that are longer than a number of two bytes, by the last part of their key.
_FACTS_BYTES = {"sha256": 64, "filename": 24, "source_id": 6, "format": 4, "text": 0}
_NUMBER_BYTES = 2


def uncounted_bytes(schema: Sequence[Feature], observed: Mapping[str, Observed]) -> float:
    """Return the bytes of an average record beyond those that Inspect counts for it.

    Inspect knows no keys, and assumes the same number of bytes for them in any record. Existing
    Examples are stored as they are, with nothing to add.
    """
    if any(each.lists for each in observed.values()):
        return 0
    known = (_bytes_of(feature, of_feature(feature, observed)) for feature in schema)
    return _FRAME_BYTES - EXAMPLE_OVERHEAD_BYTES + sum(known)


def _bytes_of(feature: Feature, observed: Observed) -> float:
    """Return the bytes of a feature's keys, and of values that are not counted as they are."""
    main, *others = list_specs(feature)
    num_bytes: float = len(main) + _KEY_BYTES
    for key in others:
        fact = _FACTS_BYTES.get(key.rpartition("/")[2], _NUMBER_BYTES)
        num_bytes += len(key) + _KEY_BYTES + (0 if feature.kind == "boxes" else fact)
    if feature.kind == "class_label" and observed.classes:
        lengths = sum(len(name) * count for name, count in observed.classes.items())
        num_bytes += 1 + lengths / observed.classes.total() - _INSPECTED_BYTES
    elif feature.kind == "scalar" and feature.dtype in ("int64", "float32"):
        num_bytes += _bytes_of_number(feature, observed) - _INSPECTED_BYTES
    return num_bytes


def _bytes_of_number(feature: Feature, observed: Observed) -> int:
    if feature.dtype == "float32":
        return _FLOAT_BYTES
    low, high = observed.range or (0, 0)
    return _NEGATIVE_BYTES if low < 0 else max(1, -(-int(high).bit_length() // _BITS))
