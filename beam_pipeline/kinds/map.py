"""Maps: a class number or depth for each pixel of the record's image."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import DataError, RecordError, naming
from beam_pipeline.kinds import tfds_features
from beam_pipeline.kinds.example_lists import one
from beam_pipeline.kinds.kind import Inspection, Stored
from beam_pipeline.kinds.label import check_declared
from beam_pipeline.kinds.media_kind import MediaKind, of_key, one_shape, read_file
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.kinds.wording import count_classes, described
from beam_pipeline.media.header import DECODER_MAX_PIXELS
from beam_pipeline.media.maps import IGNORED, encode_map, inspect_map, read_numbers
from beam_pipeline.media.other_formats import sniff
from beam_pipeline.records import FileRef, Map
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists, ListSpec
from tfrecord_dataset.image_size import ImageSize

_DTYPES = {"classes": "uint8", "depth": "uint16"}
_SHOWS = {dtype: shows for shows, dtype in _DTYPES.items()}
# Estimated size of a converted map as PNG.
_BYTES_PER_PIXEL = 0.1


class MapKind(MediaKind[Map]):
    """Maps: size and classes; turned and scaled with the image, with nearest neighbours."""

    values = (Map,)
    features = ("map",)
    types = ("map of classes", "depth map")
    forms = frozenset({"png"})
    dtypes = tuple(_SHOWS)
    usual = {"shape": (None, None, 1)}  # noqa: RUF012
    has_geometry = True
    has_classes = True

    def sizes(self, value: Map) -> tuple[int, ...]:
        return value.height, value.width

    def check(self, name: str, value: Map, inspection: Inspection) -> Map:
        data = read_file(inspection.read, value.file, sniff)
        with naming(f"feature {name!r}"):
            found = inspect_map(data, value, inspection.rules.image.max_pixels)
        encoded_bytes = max(1, int(found.height * found.width * _BYTES_PER_PIXEL))
        num_bytes = encoded_bytes if found.conversions else len(data)
        inspection.count("map", found.conversions, num_bytes)
        return found

    def turn_column(
        self, values: Sequence[Map], inspections: Sequence[Inspection]
    ) -> Sequence[Map | RecordError]:
        return [*map(self._turned, values, inspections)]

    def _turned(self, value: Map, inspection: Inspection) -> Map | RecordError:
        frame = inspection.image_frame
        if frame is None:
            return value
        try:
            own = frame.of_annotation(ImageSize(value.height, value.width), relative=False)
        except RecordError as error:
            return RecordError(error.reason, f"the map: {error.detail}")
        size = own.stored_size
        reasons = ["orientation"] * (own.orientation != 1)
        reasons += ["resized"] * (size != own.upright_size)
        inspection.count("map", reasons)
        return dataclasses.replace(
            value,
            width=size.width,
            height=size.height,
            orientation=own.orientation,
            conversions=(*value.conversions, *reasons),
        )

    def type_of(self, value: Map) -> str:
        return self.types[value.shows == "depth"]

    def observe(self, value: Map, source: str, observed: Observed) -> None:
        observed.add_shape(self.sizes(value))
        observed.classes.update(map(str, value.numbers))

    def fields(self, name: str, observed: Observed) -> Mapping[str, Any]:
        if len(observed.types) > 1:
            places = ", ".join(f"a {each} in {observed.example[each]}" for each in observed.types)
            raise DataError(f"feature {name!r} must have maps of one type, but has {places}")
        return {"dtype": _DTYPES["depth" if self.types[1] in observed.types else "classes"]}

    def complete(self, feature: Feature, observed: Observed, declared: tuple[str, ...]) -> Feature:
        sizes = one_shape(observed) or (None, None)
        classes: tuple[str, ...] = ()
        if _shows_classes(feature):
            largest = max(map(int, observed.classes), default=-1)
            classes = feature.classes or declared or tuple(map(str, range(largest + 1)))
            wrong = [largest] if largest >= len(classes) else []
            what = f"class numbers (not 0 to {len(classes) - 1}, nor 255 for none)"
            check_declared(what, feature.name, wrong, classes)
        return dataclasses.replace(feature, format="png", shape=(*sizes, 1), classes=classes)

    def complete_stored(
        self, feature: Feature, observed: Observed, declared: tuple[str, ...]
    ) -> Feature:
        return feature

    def fits(self, feature: Feature, value: Any) -> bool:
        return (
            super().fits(feature, value)
            and _DTYPES[value.shows] == feature.dtype
            and (not feature.classes or max(value.numbers, default=0) < len(feature.classes))
        )

    def shown(self, value: Map) -> str:
        classes = f" with the class {value.numbers[-1]}" if value.numbers else ""
        return f"{super().shown(value)}{classes}"

    def class_counts(self, feature: Feature, observed: Observed) -> Mapping[str, int]:
        return {feature.classes[int(each)]: count for each, count in observed.classes.items()}

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        if _shows_classes(feature):
            yield count_classes(feature.classes)

    def payload(self, value: Map, data: bytes, rules: Rules) -> bytes:
        return encode_map(data, value, rules.image.max_pixels)

    def parts(self, value: Map, payload: bytes, stored: Stored) -> Mapping[str, Any]:
        return {"format": "png"}

    def differences(self, feature: Feature, lists: Lists) -> Iterator[str]:
        data = bytes(one(lists, feature.key))
        with of_key(feature.key):
            numbers = read_numbers(data, DECODER_MAX_PIXELS)
        height, width = numbers.shape
        shown: tuple[int, ...] = ()
        if numbers.dtype == "uint8":
            shown = tuple(set(numbers.reshape(-1).tolist()) - {IGNORED})
        shows = _SHOWS.get(str(numbers.dtype), "")
        values = tuple(sorted(shown))
        value = Map(file=FileRef(path=""), shows=shows, numbers=values, width=width, height=height)
        if not self.fits(feature, value):
            yield (
                f"key {feature.key!r} holds {self.shown(value)}, where {described(feature)} "
                "was expected"
            )

    def class_key(self, feature: Feature) -> str:
        return feature.key.removesuffix("/encoded")

    def tfds(self, feature: Feature, key: str, spec: ListSpec) -> dict[str, Any]:
        return tfds_features.image(feature, key, spec)


def _shows_classes(feature: Feature) -> bool:
    return _SHOWS[feature.dtype] == "classes"
