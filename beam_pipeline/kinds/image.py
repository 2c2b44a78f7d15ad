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
)
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.media.images import encode_image, inspect_image, look_of, size_in_file
from beam_pipeline.media.other_formats import sniff
from beam_pipeline.records import Image
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists, ListSpec
from tfrecord_dataset.format.value_forms import IMAGE_FORMS
from tfrecord_dataset.shown_text import counted

# Pixels of such images are class numbers or depths, which must not be averaged.
_MAPS = frozenset({"mask", "masks", "segmentation", "seg", "trimap", "depth", "disparity"})
MAP_CHANGED = "map changed"
_CHANGES_FORMAT = re.compile("format ")
_NOT_A_WORD = re.compile("[^a-z]+")


def _check_map(name: str, image: Image) -> None:
    """Raise RecordError "map changed" if the values of a mask or depth map would change."""
    if not image.conversions:
        return
    to_jpeg = image.format == "jpeg" and any(map(_CHANGES_FORMAT.match, image.conversions))
    lost = {"resized", "16-bit"}.intersection(image.conversions)
    if (lost or to_jpeg) and not _MAPS.isdisjoint(_NOT_A_WORD.split(name.lower())):
        raise RecordError(
            MAP_CHANGED,
            f"{name!r} is a mask or depth map by its name, and its pixels would get other values "
            f"({', '.join(image.conversions)}); leave out --image-size, --image-max-side and "
            "--image-format jpeg or bmp, or rename the column if it is a photograph",
        )


class ImageKind(MediaKind[Image]):
    """Images: format, size, sha256 and conversions."""

    values = (Image,)
    features = ("image",)
    types = ("image",)
    forms = IMAGE_FORMS
    dtypes = ("uint8", "uint16")
    usual = {"shape": (None, None, 3)}  # noqa: RUF012
    numbers = ("width", "height")

    def sizes(self, value: Image) -> tuple[int, ...]:
        return value.height, value.width

    def check(self, name: str, value: Image, inspection: Inspection) -> Image:
        data = read_file(inspection.read, value.file, sniff)
        found = inspect_image(data, inspection.rules.image, value.file)
        image = found.image
        _check_map(name, image)
        frame = Frame(size=found.source_size, orientation=found.orientation)
        height, width = frame.upright_size
        if (image.height, image.width) != (height, width):
            scale = (image.width / width, image.height / height)
            frame = dataclasses.replace(frame, scale=scale)
        if inspection.rules.with_looks and not inspection.frames:
            inspection.look = look_of(data, inspection.rules.image.max_pixels)
        inspection.frames[name] = frame
        inspection.count("image", image.conversions, found.num_bytes)
        return image

    def observe(self, value: Image, source: str, observed: Observed) -> None:
        observed.formats[value.format] += 1
        observed.array_dtypes[f"uint{value.bits}"] += 1
        observed.add_shape((value.height, value.width))
        observed.measure("height", value.height)
        observed.measure("width", value.width)

    def fields(self, name: str, observed: Observed) -> Mapping[str, Any]:
        all_have_16_bits = observed.array_dtypes.keys() == {"uint16"}
        return {"dtype": "uint16" if all_have_16_bits else "uint8"}

    def complete(self, feature: Feature, observed: Observed, declared: tuple[str, ...]) -> Feature:
        sizes = one_shape(observed)
        shape = (None, None, 3) if None in sizes or not sizes else (*sizes, 3)
        return dataclasses.replace(feature, format=one_format(observed), shape=shape)

    def fits(self, feature: Feature, value: Any) -> bool:
        return super().fits(feature, value) and (feature.dtype == "uint8" or value.bits == 16)

    def shown(self, value: Image) -> str:
        return f"image uint{value.bits} {list(self.sizes(value))}"

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

    def parts(self, value: Image, payload: bytes, stored: Stored) -> Mapping[str, Any]:
        is_file = not value.conversions
        return {
            "format": value.format,
            "filename": stored.key,
            "source_id": stored.source_id,
            "key/sha256": value.file.sha256 if is_file else hashlib.sha256(payload).hexdigest(),
            "height": value.height,
            "width": value.width,
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
        return tfds_features.image(feature, key, spec)
