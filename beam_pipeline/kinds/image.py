"""Images: encoded files, stored upright."""

import dataclasses
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds import tfds_features
from beam_pipeline.kinds.example_lists import one, text
from beam_pipeline.kinds.frame import Frame
from beam_pipeline.kinds.kind import Inspection, Stored
from beam_pipeline.kinds.media_kind import (
    MediaKind,
    of_key,
    one_format,
    one_shape,
    read_file,
    with_facts,
)
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.media.images import ImageFacts, encode_image, inspect_image, size_in_file
from beam_pipeline.media.looks import look_of
from beam_pipeline.media.other_formats import sniff
from beam_pipeline.records import Image
from tfrecord_dataset.format.example import FeatureValue
from tfrecord_dataset.format.feature import Feature, shape_text
from tfrecord_dataset.format.feature_keys import Lists, ListSpec, agrees
from tfrecord_dataset.format.value_forms import IMAGE_FORMS
from tfrecord_dataset.shown_text import counted

# The pixels of such images are numbers of classes or depths: a mean of two is neither.
_MAPS = frozenset({"mask", "masks", "segmentation", "seg", "trimap", "depth", "disparity"})
MAP_CHANGED = "map changed"
_CHANGES_FORMAT = re.compile("format ")
_NOT_A_WORD = re.compile("[^a-z]+")


def _check_map(name: str, facts: ImageFacts) -> None:
    """Raises RecordError "map changed" where a mask or depth map would get other values."""
    if not facts.conversions:
        return
    to_jpeg = facts.format == "jpeg" and any(map(_CHANGES_FORMAT.match, facts.conversions))
    lost = {"resized", "16-bit"}.intersection(facts.conversions)
    if (lost or to_jpeg) and not _MAPS.isdisjoint(_NOT_A_WORD.split(name.lower())):
        raise RecordError(
            MAP_CHANGED,
            f"{name!r} is a mask or depth map by its name, and its pixels would get other values "
            f"({', '.join(facts.conversions)}); leave out --image-size, --image-max-side and "
            "--image-format jpeg or bmp, or rename the column if it is a photograph",
        )


class ImageKind(MediaKind[Image]):
    """Images: format, size, sha256 and what has to be converted."""

    values = (Image,)
    features = ("image",)
    types = ("image",)
    forms = IMAGE_FORMS
    dtypes = ("uint8", "uint16")
    usual = {"shape": (None, None, 3)}  # noqa: RUF012

    def check(self, name: str, value: Image, inspection: Inspection) -> Image:
        data = read_file(inspection.read, value.file, sniff)
        facts = inspect_image(data, inspection.rules.image)
        _check_map(name, facts)
        frame = Frame(size=facts.source_size, orientation=facts.orientation)
        height, width = frame.upright_size
        if (facts.height, facts.width) != (height, width):
            scale = (facts.width / width, facts.height / height)
            frame = dataclasses.replace(frame, scale=scale)
        if inspection.rules.with_looks and not inspection.frames:
            inspection.look = look_of(data, inspection.rules.image.max_pixels)
        inspection.frames[name] = frame
        for reason in facts.conversions:
            inspection.notes[f"image converted: {reason}"] += 1
        inspection.num_bytes += facts.estimated_bytes
        return with_facts(value.file, data, Image, facts)

    def observe(self, value: Image, source: str, observed: Observed) -> None:
        observed.formats[value.format] += 1
        observed.array_dtypes[f"uint{value.bits}"] += 1
        observed.add_shape((value.height, value.width))
        observed.measure("height", value.height)
        observed.measure("width", value.width)

    def infer(self, name: str, observed: Observed, declared: tuple[str, ...]) -> Feature:
        feature = super().infer(name, observed, declared)
        all_have_16_bits = observed.array_dtypes.keys() == {"uint16"}
        return dataclasses.replace(feature, dtype="uint16" if all_have_16_bits else "uint8")

    def complete(self, feature: Feature, observed: Observed, declared: tuple[str, ...]) -> Feature:
        sizes = one_shape(observed)
        shape = (None, None, 3) if None in sizes or not sizes else (*sizes, 3)
        return dataclasses.replace(feature, format=one_format(observed), shape=shape)

    def fits(self, feature: Feature, value: Any) -> bool:
        return (
            isinstance(value, Image)
            and (feature.dtype == "uint8" or value.bits == 16)
            and agrees(feature.shape, (value.height, value.width))
        )

    def shown(self, value: Image) -> str:
        bits = " with 16 bits" if value.bits == 16 else ""
        return f"an image of {value.width}x{value.height}{bits}"

    def expected(self, feature: Feature) -> str:
        bits = " with 16 bits" if feature.dtype == "uint16" else ""
        return f"image {shape_text(feature)}{bits}"

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        height, width = feature.shape[:2]
        if height and width:
            yield f"{width:,}×{height:,} pixels"
        if feature.dtype == "uint16":
            yield "16 bits"
        elif deep := observed.array_dtypes["uint16"]:
            yield f"{counted(deep, 'image')} with 16 bits, of which readers take the upper 8"

    def payload(self, value: Image, data: bytes, rules: Rules) -> bytes:
        return encode_image(data, value, rules.image)

    def encode(self, feature: Feature, value: Any, stored: Stored) -> dict[str, FeatureValue]:
        assert isinstance(value, Image)
        payload = stored.payloads[feature.name]
        if feature.bare:
            return {feature.key: [payload]}
        sha256 = value.file.sha256
        if value.conversions:
            sha256 = hashlib.sha256(payload).hexdigest()
        prefix = feature.subkey("")  # once: a record asks for many
        return {
            feature.key: [payload],
            f"{prefix}format": [value.format.encode()],
            f"{prefix}filename": [stored.key.encode()],
            f"{prefix}source_id": [stored.source_id.encode()],
            f"{prefix}key/sha256": [sha256.encode()],
            f"{prefix}height": [value.height],
            f"{prefix}width": [value.width],
        }

    def differences(self, feature: Feature, lists: Lists) -> Iterator[str]:
        data = bytes(one(lists, feature.key))
        if feature.bare:
            with of_key(feature.key):
                size_in_file(data)
            return
        key = feature.subkey("key/sha256")
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 != (stated := text(lists, key)):
            yield f"the image's sha256 is {sha256}, {key} states {stated}"

    def tfds(self, feature: Feature, key: str, spec: ListSpec) -> dict[str, Any]:
        return (
            tfds_features.image(feature) if key == feature.key else super().tfds(feature, key, spec)
        )

    def fact_types(self, feature: Feature) -> Mapping[str, str]:
        return {"sha256": "string", "width": "int64", "height": "int64"}

    def facts(self, value: Image) -> Mapping[str, Any]:
        return {"sha256": value.file.sha256, "width": value.width, "height": value.height}
