"""The record that an Example was made of, as far as the Example tells.

It is what `write.encoding` turns into an Example, taken back; so the rows of an index and the
statistics follow from it by the functions that made them. No Beam here: worker processes import
this module.
"""

import contextlib
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from beam_pipeline.dataset.opening import DatasetInfo
from beam_pipeline.describe import index
from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.stored_values import summary
from beam_pipeline.media import images
from beam_pipeline.media.audio import AudioOptions, inspect_audio
from beam_pipeline.records import (
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    ListSummary,
    Objects,
    Record,
    Value,
)
from beam_pipeline.schema.stored_conformance import Lists
from tfrecord_dataset.feature import Feature

_MEDIA = ("image", "audio")
_IMAGE_FACTS = ("key/sha256", "width", "height")

ReadValue = Callable[[Lists], Value | None]
"""Takes a feature's value from an Example."""


class RecordReader:
    """Makes records of Examples that conform to a schema.

    Args:
        schema: The dataset's features.
        existing: Whether the records were Examples already.
    """

    def __init__(self, schema: Sequence[Feature], existing: bool):
        self._values = [
            (each.name, (_of_existing if existing or each.bare else _of)(each)) for each in schema
        ]
        images = [] if existing else [each for each in schema if _has_key(each)]
        self._key = images[0].key_beside("filename") if images else ""

    def record(self, example: Lists, key: str) -> Record:
        """The record that is stored as an Example.

        Args:
            example: Its lists.
            key: Of a record that states none.

        Raises:
            RecordError: Audio or an image in it is damaged.
        """
        features = {
            name: value for name, read in self._values if (value := read(example)) is not None
        }
        return Record(key=_text(example, self._key) if self._key else key, features=features)


def followed_columns(info: DatasetInfo) -> list[str]:
    """The columns of the index that follow from the Examples.

    The others tell of the input: where a record was described, and what its files were before
    they were converted.
    """
    schema, existing = info.features, info.holds_existing_examples
    unknown = set() if info.is_adopted else {"source"}
    if not info.is_adopted and (existing or not any(map(_has_key, schema))):
        unknown.add("key")
    for feature in schema:
        converted = f"{feature.kind} converted"
        if feature.kind in ("tensor", "sequence") or (
            feature.kind in _MEDIA
            and any(change.startswith(converted) for change in info.metadata["changes"])
        ):
            unknown.add(index.fact_column(feature, "sha256"))
        if feature.bare and not existing:  # declared so for records that were no Examples
            unknown |= {"labels", index.fact_column(feature, "length")}
    return [name for name in index.arrow_schema(schema).names if name not in unknown]


def _has_key(feature: Feature) -> bool:
    """Whether the record's key is stored with the feature."""
    return feature.kind == "image" and not feature.bare


def _of(feature: Feature) -> ReadValue:
    """Reads a feature that this project has written."""
    key = feature.key
    match feature.kind:
        case "image":
            sha256, width, height = map(feature.key_beside, _IMAGE_FACTS)
            return lambda example: Image(
                file=FileRef(path="", sha256=_text(example, sha256)),
                width=_one(example, width),
                height=_one(example, height),
            )
        case "audio":
            return lambda example: _audio(example, key)
        case "class_label" if feature.shape:
            texts = feature.key_beside("text")
            return lambda example: ClassLabels(_texts(example, texts))
        case "class_label":
            text = feature.key_beside("text")
            return lambda example: (
                ClassLabel(_text(example, text)) if _one(example, key) != -1 else None
            )
        case "boxes":
            text = feature.key_beside("class/text")
            return lambda example: Objects(boxes=(), labels=_texts(example, text))
        case "sequence":
            row = math.prod(size or 1 for size in feature.shape[1:])
            return lambda example: ListSummary(kind="", length=len(example[key][1]) // row)
        case "tensor":
            return lambda _: None
        case "bytes":
            return lambda example: bytes(_one(example, key))
    return _scalar(feature)


def _of_existing(feature: Feature) -> ReadValue:
    """Reads what existing Examples hold under the feature's one key, as Inspect sees it."""
    key = feature.key
    match feature.kind:
        case "image":
            return lambda example: _bare_image(example, key)
        case "audio":
            return lambda example: _audio(example, key)
        case "scalar" | "text":
            return _scalar(feature)
    return lambda example: summary(*example[key]) if key in example else None


def _scalar(feature: Feature) -> ReadValue:
    key = feature.key
    match feature.dtype:
        case "string":
            return lambda example: str(_one(example, key).decode())
        case "bytes":
            return lambda _: None
    return lambda example: _one(example, key)


def _bare_image(example: Lists, key: str) -> Image:
    data = bytes(_one(example, key))
    with _media(key):
        width, height = images.size_in_file(data)
    return Image(file=_hashed(data), width=width, height=height)


def _audio(example: Lists, key: str) -> Audio:
    data = bytes(_one(example, key))
    with _media(key):
        facts = inspect_audio(data, AudioOptions())
    return Audio(
        file=_hashed(data),
        format=facts.format,
        sample_rate=facts.sample_rate,
        num_samples=facts.num_samples,
        channels=facts.channels,
    )


@contextlib.contextmanager
def _media(key: str) -> Iterator[None]:
    """Names the key of an image or audio that is damaged."""
    try:
        yield
    except RecordError as error:
        raise RecordError(f"key {key!r} holds {error.reason}", error.detail) from error


def _hashed(data: bytes) -> FileRef:
    return FileRef(path="", sha256=hashlib.sha256(data).hexdigest())


def _one(example: Lists, key: str) -> Any:
    return example[key][1][0]


def _text(example: Lists, key: str) -> str:
    return str(example[key][1][0].decode(errors="replace"))


def _texts(example: Lists, key: str) -> tuple[str, ...]:
    return tuple(text.decode(errors="replace") for text in example.get(key, ("", ()))[1])
