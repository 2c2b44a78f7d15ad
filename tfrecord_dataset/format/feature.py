"""Features of a dataset's records as in metadata.json, and their conventional keys."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfrecord_dataset.shown_text import short_repr

Shape = tuple[int | None, ...]
# Dtypes without numbers.
STRINGS = ("string", "bytes")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FeatureKind:
    """A kind of feature in storage.

    Attributes:
        dtype: Default dtype; "" if it must be declared.
        shape: Default shape; None if it must be declared.
        fits: Whether features of the kind may have a shape.
        expected: Allowed shapes, for messages.
        encodings: Allowed values of `Feature.encoding`.
        label_offset: Default offset.
        key_suffix: Suffix of a feature's main key, which its subkeys do not have.
        subkeys: Kind of list by subkey, for a feature that is not bare.
        keys: Keys under which a build stores such a feature, followed by those of other projects
            for the only one of an image or a record.
        keys_by_name: Key of a feature by name in other projects, and the feature that it describes,
            which must exist ("" for none).
    """

    dtype: str = ""
    shape: Shape | None = ()
    fits: Callable[[Shape], bool]
    expected: str
    encodings: tuple[str, ...] = ("",)
    label_offset: int = 0
    key_suffix: str = ""
    subkeys: Mapping[str, str] = dataclasses.field(default_factory=dict)
    keys: tuple[str, ...] = ()
    keys_by_name: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)


def _is_one(shape: Shape) -> bool:
    return not shape


_OF_ONE = "[], or declare a tensor"

FEATURE_KINDS: Mapping[str, FeatureKind] = {
    "image": FeatureKind(
        dtype="uint8",
        shape=(None, None, None),
        fits=lambda shape: len(shape) == 3 and shape[2] in (None, 1, 2, 3, 4),
        expected="[height, width, channels], null where a size varies",
        key_suffix="/encoded",
        subkeys={
            **dict.fromkeys(("format", "filename", "source_id", "key/sha256"), "bytes"),
            **dict.fromkeys(("height", "width"), "int64"),
        },
        keys=("{name}/encoded", "image/encoded"),
    ),
    "map": FeatureKind(
        dtype="uint8",
        shape=(None, None, 1),
        fits=lambda shape: len(shape) == 3 and shape[2] == 1,
        expected="[height, width, 1], null where a size varies",
        key_suffix="/encoded",
        subkeys={"format": "bytes"},
        keys=("{name}/encoded",),
        keys_by_name={
            "segmentation": ("", "image/segmentation/class/encoded"),
            "depth": ("", "image/depth/encoded"),
        },
    ),
    "class_label": FeatureKind(
        dtype="int64",
        fits=lambda shape: shape in ((), (None,)),
        expected="[], or [null] for any number of labels per record",
        key_suffix="/label",
        subkeys={"text": "bytes"},
        keys=("{name}/label", "image/class/label"),
    ),
    "boxes": FeatureKind(
        dtype="float32",
        shape=(None, 4),
        fits=lambda shape: len(shape) == 2,
        expected="[null, 4]",
        encodings=("", "flat"),
        label_offset=1,  # label maps, which boxes refer to, start at 1
        keys=("{name}/object", "image/object"),
    ),
    "scalar": FeatureKind(fits=_is_one, expected=_OF_ONE),
    "tensor": FeatureKind(
        shape=None,
        fits=lambda shape: None not in shape,
        expected="fixed sizes, or declare a sequence if its length varies",
        encodings=("", "bytes"),
    ),
    "sequence": FeatureKind(
        shape=(None,),
        fits=lambda shape: shape[:1] == (None,) and all(shape[1:]),
        expected="[null], or [null, 4] for rows of 4 numbers",
        keys_by_name={"captions": ("image", "image/caption")},
    ),
    "text": FeatureKind(
        dtype="string",
        fits=_is_one,
        expected=_OF_ONE,
        keys_by_name={"transcript": ("audio", "audio/transcript")},
    ),
    "audio": FeatureKind(
        dtype="float32",
        shape=(None, None),
        fits=lambda shape: len(shape) == 2,
        expected="[samples, channels], null where a size varies",
        key_suffix="/encoded",
        subkeys={
            "format": "bytes",
            **dict.fromkeys(("sample_rate", "num_samples", "channels"), "int64"),
        },
        keys=("{name}/encoded", "audio/encoded"),
    ),
    "bytes": FeatureKind(dtype="bytes", fits=_is_one, expected=_OF_ONE),
}
KINDS = tuple(FEATURE_KINDS)


# NumPy dtypes that an int64 list can represent.
STORED_INTEGERS = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}
)
# Fields for which zero is a meaningful value.
_NUMBERS = frozenset({"minimum", "maximum", "default"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A feature of the records, an entry of metadata.json's `features`.

    Attributes:
        name: Name in records, and in the trainer's batches.
        kind: One of `feature.KINDS`.
        dtype: "uint8" (images, maps of classes), "uint16" (16-bit images, depth maps), "int64",
            "float32", "string"; for a tensor with encoding "bytes" any numeric dtype of NumPy;
            "bytes" for a scalar that is not text.
        shape: Size of each axis; None if it varies. Images and maps of equal size have that size.
        key: The key in the Example, or the prefix of the keys (docs/format.md).
        format: For an image: "jpeg", "png", "bmp" or "mixed"; for audio: "wav", "flac",
            "ogg", "mp3" or "mixed"; empty if unknown.
        encoding: For a tensor: "bytes" if it is stored as one raw value, little-endian, in
            C order; "" for a list. For bare boxes: "flat", one list with four numbers per box.
        bare: Whether it is stored only under `key`, without the additional keys of
            docs/format.md, as in existing TFRecords.
        sample_rate: Samples per second of audio; 0 if it varies or is unknown.
        minimum, maximum: Range of values in a declared schema.
        classes: For a class label, boxes or a map of classes: class names in the order of their
            numbers; empty if not declared.
        label_offset: Added to a class number, which starts at 0, in storage.
        attributes: For boxes: dtype by attribute name, each stored under `<key>/<attribute>`.
        keypoints: For boxes: points per box, 0 for none.
        keypoint_names: For boxes: the names of the points, if any.
        keypoint_flips: For each point, the number of its counterpart in a mirrored image.
        geometry: For boxes: additional shapes of the objects: "mask", "polygon", "rotated".
        unit, scale: For a depth map: "m" if a depth is `scale` metres times the number; "" and 0
            if unknown.
        default: Value for a record without the key, such as -1 for a class label; None makes
            that an error. For a sequence: its padding value in the trainer.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int | None, ...] = ()
    key: str
    format: str = ""
    encoding: str = ""
    bare: bool = False
    sample_rate: int = 0
    minimum: float | None = None
    maximum: float | None = None
    classes: tuple[str, ...] = ()
    label_offset: int = 0
    attributes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    keypoints: int = 0
    keypoint_names: tuple[str, ...] = ()
    keypoint_flips: tuple[int, ...] = ()
    geometry: tuple[str, ...] = ()
    unit: str = ""
    scale: float = 0.0
    default: Any = None

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def is_fraction(self) -> bool:
        """Whether it is one float32 number per record, which may be NaN."""
        return (self.kind, self.dtype) == ("scalar", "float32")

    @property
    def may_lack_key(self) -> bool:
        """Whether records of existing TFRecords may lack its key."""
        return self.bare and self.default is not None

    def subkey(self, part: str) -> str:
        """Return the subkey of a part, such as "format" or "bbox/xmin"; see `feature_keys`.

        It is `<prefix>/<part>`; the main key of an image or audio is `<prefix>/encoded`, that of a
        class label `<prefix>/label`, and that of boxes the prefix.
        """
        return f"{self.key.removesuffix(FEATURE_KINDS[self.kind].key_suffix)}/{part}"

    def to_json(self) -> dict[str, Any]:
        """Return the feature's entry of metadata.json, without empty fields."""
        required = {"name", "kind", "dtype", "shape", "key"}
        if self.kind == "boxes":
            required.add("label_offset")
        stated = ((name, getattr(self, name)) for name in self.__dataclass_fields__)
        return {
            name: _plain(value)
            for name, value in stated
            if (value or name in required or (name in _NUMBERS and value is not None))
        }


def _plain(value: Any) -> Any:
    """Return a field's value in JSON's types."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def shape_text(feature: Feature) -> str:
    """Format a feature's shape for messages."""
    return f"[{', '.join('any' if size is None else str(size) for size in feature.shape)}]"


def class_names(features: Iterable[Feature]) -> list[str]:
    """Return the classes of the class label, else of the boxes, else of the map."""
    listed = list(features)
    for kind in ("class_label", "boxes", "map"):
        for feature in listed:
            if feature.kind == kind and feature.classes:
                return list(feature.classes)
    return []
