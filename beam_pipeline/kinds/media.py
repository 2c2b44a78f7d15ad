"""Kinds of media files: images, maps and audio."""

import contextlib
import dataclasses
import hashlib
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from beam_pipeline.errors import DataError, RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.kinds import tfds_features
from beam_pipeline.kinds.frame import Frame
from beam_pipeline.kinds.kind import (
    MAX_RECORD_BYTES,
    Inspection,
    Kind,
    Names,
    Rules,
    Stored,
    describe_bytes,
    one,
    text,
)
from beam_pipeline.kinds.label import check_declared
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.wording import between, count_classes, described
from beam_pipeline.media.audio import AudioOptions, encode_audio, inspect_audio
from beam_pipeline.media.audio_formats import check_start
from beam_pipeline.media.header import DECODER_MAX_PIXELS
from beam_pipeline.media.images import encode_image, inspect_image, look_of, size_in_file
from beam_pipeline.media.maps import IGNORED, encode_map, inspect_map, read_numbers
from beam_pipeline.media.other_formats import sniff
from beam_pipeline.records import Audio, FileRef, Image, Map
from tfrecord_dataset.format.example import FeatureValue, Singles
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import (
    Lists,
    ListSpec,
    agrees,
    rate_problem,
    shape_problem,
)
from tfrecord_dataset.format.inference import stored_format
from tfrecord_dataset.format.value_forms import AUDIO_FORMS, IMAGE_FORMS, form_of
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.shown_text import counted

Media = TypeVar("Media", Audio, Image, Map)

# Larger files are read completely only if their first bytes are valid.
_LARGE_FILE_BYTES = 32 << 20
_START_BYTES = 1 << 12
_TOO_LARGE = "file too large"


def read_file(
    read: storage.ReadFile, file: FileRef, check_start: Callable[[bytes], object] | None = None
) -> bytes:
    """Read a file of up to 1 GiB; `check_start` gets the first bytes of a large file."""
    if check_start is None:
        return read(file, MAX_RECORD_BYTES)
    try:
        return read(file, _LARGE_FILE_BYTES)
    except RecordError as error:
        if error.reason != _TOO_LARGE:
            raise
    check_start(read(dataclasses.replace(file, length=_START_BYTES), _START_BYTES))
    return read(file, MAX_RECORD_BYTES)


class MediaKind(Kind[Media]):
    """Encoded media.

    Attributes:
        forms: Forms (`form_of`) that existing Examples may contain.
        numbers: Numeric facts of a value in the index.
    """

    forms: Collection[str] = ()
    numbers: tuple[str, ...] = ()

    def sizes(self, value: Any) -> tuple[int, ...]:
        """Return the size by axis."""
        return value.height, value.width

    def parts(
        self, values: Sequence[Media], payloads: Sequence[bytes], stored: Sequence[Stored]
    ) -> Mapping[str, Sequence[str | int]]:
        """Return columns stored in addition to the payloads, by part of the feature's key."""
        raise NotImplementedError

    def content(self, value: Media) -> object:
        return value.file.sha256

    def complete_stored(self, feature: Feature, observed: Observed, declared: Names) -> Feature:
        return dataclasses.replace(feature, format=stored_format(feature.kind, observed.formats))

    def fits(self, feature: Feature, value: Any) -> bool:
        is_one = issubclass(type(value), self.values)
        return is_one and agrees(feature.shape, self.sizes(value))

    def shown(self, value: Media) -> str:
        return f"{self.type_of(value)} {list(self.sizes(value))}"

    def encode_column(
        self, feature: Feature, values: Sequence[Any], stored: Sequence[Stored]
    ) -> dict[str, Sequence[FeatureValue]]:
        payloads = [each.payloads[feature.name] for each in stored]
        columns: dict[str, Sequence[FeatureValue]] = {feature.key: Singles(payloads)}
        if not feature.bare:
            for part, stated in self.parts(values, payloads, stored).items():
                columns[feature.subkey(part)] = Singles(map(_as_stored, stated))
        return columns

    def problem(self, feature: Feature, lists: Lists) -> str:
        value = one(lists, feature.key)
        if form_of(value) in self.forms:
            return ""
        expected = f"{feature.kind} ({', '.join(sorted(self.forms))})"
        return f"key {feature.key!r} holds {describe_bytes(value)}, where {expected} was expected"

    def fact_types(self, feature: Feature) -> Mapping[str, str]:
        return {"sha256": "string", **dict.fromkeys(self.numbers, "int64")} if self.numbers else {}

    def fact_column(self, fact: str, values: Sequence[Media]) -> Sequence[Any]:
        if fact == "sha256":
            return [value.file.sha256 for value in values]
        return list(map(operator.attrgetter(fact), values))

    def tfds(self, feature: Feature, key: str, spec: ListSpec) -> dict[str, Any]:
        return tfds_features.media(feature, key, spec)


def _as_stored(stated: str | int) -> bytes | int:
    return stated.encode() if isinstance(stated, str) else stated


def size_problem(feature: Feature, sizes: tuple[int, ...], sample_rate: int = 0) -> str:
    """Describe how a size or sample rate differs from the declaration; "" if it does not."""
    return shape_problem(feature, sizes) or rate_problem(feature, sample_rate)


@contextlib.contextmanager
def of_key(key: str) -> Iterator[None]:
    """Prefix errors about a damaged image or audio with its key."""
    try:
        yield
    except RecordError as error:
        raise RecordError(f"key {key!r} holds {error.reason}", error.detail) from error


def one_format(observed: Observed) -> str:
    """Return the encoding of all values, or "mixed"."""
    return next(iter(observed.formats)) if len(observed.formats) == 1 else "mixed"


def one_shape(observed: Observed) -> tuple[int | None, ...]:
    """Return the sizes by axis, None for an axis in which records differ."""
    axes = (observed.sizes[axis] for axis in sorted(observed.sizes))
    return tuple(next(iter(sizes)) if len(sizes) == 1 else None for sizes in axes)


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

    def observe_column(
        self, values: Sequence[Image], sources: Sequence[str], observed: Observed
    ) -> None:
        observed.formats.update([value.format for value in values])
        observed.array_dtypes.update([f"uint{value.bits}" for value in values])
        for shape in set(map(self.sizes, values)):
            observed.add_shape(shape)
        observed.measure("height", *[value.height for value in values])
        observed.measure("width", *[value.width for value in values])

    def fields(self, name: str, observed: Observed) -> Mapping[str, Any]:
        all_have_16_bits = observed.array_dtypes.keys() == {"uint16"}
        return {"dtype": "uint16" if all_have_16_bits else "uint8"}

    def complete(self, feature: Feature, observed: Observed, declared: Names) -> Feature:
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

    def parts(
        self, values: Sequence[Image], payloads: Sequence[bytes], stored: Sequence[Stored]
    ) -> Mapping[str, Sequence[str | int]]:
        return {
            "format": [value.format for value in values],
            "filename": [each.key for each in stored],
            "source_id": [each.source_id for each in stored],
            "key/sha256": [
                hashlib.sha256(payload).hexdigest() if value.conversions else value.file.sha256
                for value, payload in zip(values, payloads, strict=True)
            ],
            "height": [value.height for value in values],
            "width": [value.width for value in values],
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

    def complete(self, feature: Feature, observed: Observed, declared: Names) -> Feature:
        sizes = one_shape(observed) or (None, None)
        classes: tuple[str, ...] = ()
        if _shows_classes(feature):
            largest = max(map(int, observed.classes), default=-1)
            classes = feature.classes or declared or tuple(map(str, range(largest + 1)))
            wrong = [largest] if largest >= len(classes) else []
            what = f"class numbers (not 0 to {len(classes) - 1}, nor 255 for none)"
            check_declared(what, feature.name, wrong, classes)
        return dataclasses.replace(feature, format="png", shape=(*sizes, 1), classes=classes)

    def complete_stored(self, feature: Feature, observed: Observed, declared: Names) -> Feature:
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

    def parts(
        self, values: Sequence[Map], payloads: Sequence[bytes], stored: Sequence[Stored]
    ) -> Mapping[str, Sequence[str | int]]:
        return {"format": ["png"] * len(values)}

    def differences(self, feature: Feature, lists: Lists) -> Iterator[str]:
        data = bytes(one(lists, feature.key))
        with of_key(feature.key):
            numbers = read_numbers(data, DECODER_MAX_PIXELS)
        height, width = numbers.shape
        present = {*numbers.reshape(-1).tolist()} - {IGNORED} if numbers.dtype == "uint8" else ()
        shows = _SHOWS[str(numbers.dtype)]
        shown = tuple(sorted(present))
        value = Map(file=FileRef(path=""), shows=shows, numbers=shown, width=width, height=height)
        if not self.fits(feature, value):
            yield (
                f"key {feature.key!r} holds {self.shown(value)}, where {described(feature)} "
                "was expected"
            )

    def class_key(self, feature: Feature) -> str:
        return feature.key.removesuffix("/encoded")


def _shows_classes(feature: Feature) -> bool:
    return _SHOWS[feature.dtype] == "classes"


class AudioKind(MediaKind[Audio]):
    """Audio: format, length, channels, sample rate, sha256 and conversions."""

    values = (Audio,)
    features = ("audio",)
    types = ("audio",)
    forms = AUDIO_FORMS
    dtypes = ("float32",)
    numbers = ("sample_rate", "num_samples", "channels")

    def sizes(self, value: Any) -> tuple[int, ...]:
        return value.num_samples, value.channels

    def check(self, name: str, value: Audio, inspection: Inspection) -> Audio:
        with naming(f"feature {name!r}"):
            data = read_file(inspection.read, value.file, check_start)
            audio, num_bytes = inspect_audio(data, inspection.rules.audio, value.file)
        inspection.count("audio", audio.conversions, num_bytes)
        return audio

    def observe_column(
        self, values: Sequence[Audio], sources: Sequence[str], observed: Observed
    ) -> None:
        observed.formats.update([value.format for value in values])
        for shape in set(map(self.sizes, values)):
            observed.add_shape(shape)
        observed.sample_rates.update([value.sample_rate for value in values])
        observed.measure("num_samples", *[value.num_samples for value in values])

    def complete(self, feature: Feature, observed: Observed, declared: Names) -> Feature:
        [rate, *others] = [*observed.sample_rates] or [0]
        return dataclasses.replace(
            feature,
            format=one_format(observed),
            shape=one_shape(observed),
            sample_rate=0 if others else rate,
        )

    def fits(self, feature: Feature, value: Any) -> bool:
        return super().fits(feature, value) and feature.sample_rate in (0, value.sample_rate)

    def shown(self, value: Audio) -> str:
        return f"{super().shown(value)} at {value.sample_rate} Hz"

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        if feature.sample_rate:
            yield f"{feature.sample_rate:,} Hz"
        if feature.shape[1:] and (channels := feature.shape[1]):
            yield counted(channels, "channel")
        if samples := observed.span("num_samples"):  # unknown for existing Examples
            yield between(*samples, "sample")

    def payload(self, value: Audio, data: bytes, rules: Rules) -> bytes:
        return encode_audio(data, value)

    def parts(
        self, values: Sequence[Audio], payloads: Sequence[bytes], stored: Sequence[Stored]
    ) -> Mapping[str, Sequence[str | int]]:
        parts = ("format", *self.numbers)
        return {part: list(map(operator.attrgetter(part), values)) for part in parts}

    def differences(self, feature: Feature, lists: Lists) -> Iterator[str]:
        with of_key(feature.key):
            audio, _ = inspect_audio(bytes(one(lists, feature.key)), AudioOptions())
        for name in ("format", *self.numbers) if not feature.bare else ():
            fact, key = getattr(audio, name), feature.subkey(name)
            stated = one(lists, key)
            stated = stated.decode(errors="replace") if isinstance(stated, bytes) else stated
            if stated != fact:
                yield f"the audio's {name} is {fact}, {key} states {stated}"
        if problem := size_problem(feature, self.sizes(audio), audio.sample_rate):
            yield problem

    def note(self, feature: Feature, lists: Mapping[str, Sequence[Any]]) -> str:
        """Return its length, rate and channels."""
        if feature.bare:
            return ""
        rate, samples, channels = (lists[feature.subkey(name)][0] for name in self.numbers)
        seconds = f"{samples / rate:.2f} s, " if rate else ""
        return f" ({seconds}{rate:,} Hz, {counted(channels, 'channel')})"
