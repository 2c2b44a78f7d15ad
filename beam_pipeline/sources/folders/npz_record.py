"""Read .npz files as one record each, with arrays as features."""

import contextlib
import io
from collections.abc import Sequence

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.arrays import array_files, array_header
from beam_pipeline.records import Array, ClassLabel, FileRef, Value
from beam_pipeline.sources.tables.columns import LABELS
from beam_pipeline.sources.tables.labels import class_name

_FILES_LOOKED_INTO = 4
_HEAD_BYTES = 1 << 10
_MAX_VALUE_BYTES = 1 << 16


def may_be_records(paths: Sequence[str]) -> bool:
    """Whether there are several .npz files that may be records, such as an image with its map.

    The first files must have several arrays with equal first two axes.
    """
    return len(paths) > 1 and all(map(_is_alike, paths[:_FILES_LOOKED_INTO]))


def _is_alike(path: str) -> bool:
    try:
        files = map(storage.resolved, array_files(path).values())
        heads = [storage.read_start(file, _HEAD_BYTES) for file in files]
        shapes = [array_header(io.BytesIO(data)).shape[:2] for data in heads]
    except RecordError:
        return False
    return len(shapes) > 1 and len(set(shapes)) == 1 and len(shapes[0]) == 2


def features_of_npz(path: str, *, has_label: bool) -> dict[str, Value] | None:
    """Read the arrays of an .npz file by name; None if there are fewer than two.

    An array without axes is a number or text. One with a usual name ("label", "y", …) is the class
    `label`, or "npz.label" if the record already has a label.

    Raises:
        RecordError: An array has an invalid header.
    """
    files: dict[str, str] = {}
    with contextlib.suppress(RecordError):  # the reader of arrays reports it
        files = array_files(path)
    if len(files) < 2:
        return None
    features: dict[str, Value] = {}
    for feature, file in sorted(files.items(), key=lambda item: item[1]):
        value = _value(storage.resolved(file), feature)
        is_label = isinstance(value, ClassLabel)
        if is_label and not has_label and "label" not in features:
            feature = "label"
        elif feature == "label":
            feature = "npz.label"
        features[feature] = value
    return features


def _value(path: str, name: str) -> Value:
    data = storage.read_start(path, _HEAD_BYTES)
    header = array_header(io.BytesIO(data))
    if header.shape or header.dtype.kind not in "biufU":
        return Array(file=FileRef(path=path))
    if not header.num_bytes:
        return ""
    part = FileRef(path=path, offset=header.offset, length=header.num_bytes)
    value = np.frombuffer(storage.read_bytes(part, _MAX_VALUE_BYTES), header.dtype)[0].item()
    is_class = name.lower() in LABELS.of_rows and header.dtype.kind in "biuU"
    return ClassLabel(class_name(value)) if is_class else value
