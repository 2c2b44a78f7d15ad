"""What a dataset's records are made of: one `Feature` a name, as metadata.json lists them.

The trainer reads the same JSON; this module is the writer's side of it.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

KINDS = (
    "image",
    "class_label",
    "boxes",
    "scalar",
    "tensor",
    "sequence",
    "text",
    "audio",
    "bytes",
)
# NumPy's numbers that an int64 list holds without loss.
STORED_INTEGERS = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}
)
# Zero says something here.
_NUMBERS = frozenset({"minimum", "maximum", "default"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature of the records, as in metadata.json's `features`.

    Attributes:
        name: The record's own name for it; what the trainer calls it.
        kind: One of KINDS.
        dtype: What the trainer yields: "uint8", "int64", "float32", "string"; of a tensor with
            encoding "bytes" any of NumPy's numbers; "bytes" for a scalar that is no text.
        shape: Its shape there; None where it varies: images all of one size have that.
        key: The key in the Example; of an image and of boxes, the key or prefix that
            docs/format.md gives.
        format: Of an image: "jpeg", "png", or "mixed"; of audio: "wav", "flac", "ogg", "mixed".
        encoding: Of a tensor: "bytes" where it is stored as one raw value, little-endian, in
            C order; "" as a list. Of bare boxes: "flat", one list of four numbers a box.
        bare: Stored under `key` alone, without the keys that docs/format.md puts beside it: a
            record that others wrote.
        sample_rate: Of audio: samples a second; 0 where records differ.
        minimum, maximum: What values a user's schema allows.
        classes: Of a class label or boxes: the names, in the order of their numbers.
        label_offset: What is added to a class's number where it is stored.
        attributes: Of boxes: dtype by attribute name, each under `<key>/<attribute>`.
        keypoints: Of boxes: points a box, 0 for none.
        default: -1 where a record may lack its class label; others have no default.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int | None, ...]
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
    default: int | None = None

    @property
    def is_fraction(self) -> bool:
        """Whether it is one float32 number a record, for which NaN may stand."""
        return (self.kind, self.dtype) == ("scalar", "float32")

    @property
    def may_lack_key(self) -> bool:
        """Whether records that others wrote may be without its key."""
        return self.bare and self.default is not None

    def to_json(self) -> dict[str, Any]:
        """The feature as metadata.json holds it; what is empty is left out."""
        required = {"name", "kind", "dtype", "shape", "key"}
        if self.kind == "boxes":
            required.add("label_offset")
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
            if (value or name in required or (name in _NUMBERS and value is not None))
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The feature that `to_json` gave."""
        tuples = {name: tuple(data[name]) for name in ("shape", "classes") if name in data}
        return cls(**{**data, **tuples})


def tokens_feature(name: str) -> Feature:
    """The numbers that a tokenizer makes of a text: any number of them."""
    return Feature(name=name, kind="sequence", dtype="int64", shape=(None,), key=name)


def usual_key(name: str, kind: str, *, with_image: bool) -> str:
    """The key in the Example of a feature that this project writes (docs/format.md).

    Args:
        name: The feature's.
        kind: One of KINDS.
        with_image: Whether the records have a feature "image", beside which the label lies.
    """
    match kind:
        case "image" | "audio":
            return f"{name}/encoded"
        case "class_label":
            return "image/class/label" if name == "label" and with_image else f"{name}/label"
        case "boxes":
            return "image/object" if name == "boxes" else f"{name}/object"
        case _:
            return name
