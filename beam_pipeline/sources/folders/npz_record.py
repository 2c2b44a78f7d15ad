"""An .npz file that is one record: each of its arrays is a feature."""

import contextlib
import io

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.archive.paths import top_of
from beam_pipeline.media.arrays import array_header
from beam_pipeline.records import Array, ClassLabel, FileRef, Value
from beam_pipeline.sources.columns.class_values import class_name
from beam_pipeline.sources.columns.column import LABELS

_HEAD_BYTES = 1 << 10
_MAX_VALUE_BYTES = 1 << 16


def features_of_npz(path: str, *, has_label: bool) -> dict[str, Value] | None:
    """The arrays of an .npz file by name; None where there are not several.

    A single number or text is one, of a usual name ("label", "y", …) the class `label`, unless
    the record has its label from elsewhere: then it is called "npz.label".

    Raises:
        RecordError: An array has no right header.
    """
    top = top_of(path)
    names: list[str] = []
    with contextlib.suppress(RecordError):  # whoever reads it as one array says so
        names = [name for name in storage.list_folder(top).files if name.endswith(".npy")]
    if len(names) < 2:
        return None
    features: dict[str, Value] = {}
    for name in names:
        feature, file = name.removesuffix(".npy"), storage.resolved(f"{top}/{name}")
        value = _value(file, feature)
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
