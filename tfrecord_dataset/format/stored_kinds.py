"""How each kind of feature is stored, and what a declaration of it may leave out: a row a kind."""

import dataclasses
from collections.abc import Callable, Mapping

Shape = tuple[int | None, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredKind:
    """A kind of feature.

    Attributes:
        dtype: Where a declaration states none; "" if it must.
        shape: The same; None if it must.
        fits: Whether features of the kind may have such a shape.
        expected: Which they may have, for messages.
        encodings: Those of `Feature.encoding`.
        label_offset: Where a declaration states none.
        own_part: The end of a feature's own key, which the keys beside it do not have.
        beside: Beside the key itself of a feature that is not bare: the kind of list by part.
        keys: Where a build puts such a feature; and, for the one of an image or a record, other
            projects too.
        named: Where a feature of a name is, as in other projects, and the feature that must be
            beside it ("" for none) since it tells of that one.
    """

    dtype: str = ""
    shape: Shape | None = ()
    fits: Callable[[Shape], bool]
    expected: str
    encodings: tuple[str, ...] = ("",)
    label_offset: int = 0
    own_part: str = ""
    beside: Mapping[str, str] = dataclasses.field(default_factory=dict)
    keys: tuple[str, ...] = ()
    named: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)


def _is_one(shape: Shape) -> bool:
    return not shape


_OF_ONE = "[], or declare a tensor"

STORED_KINDS: Mapping[str, StoredKind] = {
    "image": StoredKind(
        dtype="uint8",
        shape=(None, None, None),
        fits=lambda shape: len(shape) == 3,
        expected="[height, width, channels], null where a size varies",
        own_part="/encoded",
        beside={
            **dict.fromkeys(("format", "filename", "source_id", "key/sha256"), "bytes"),
            **dict.fromkeys(("height", "width"), "int64"),
        },
        keys=("{name}/encoded", "image/encoded"),
    ),
    "map": StoredKind(
        dtype="uint8",
        shape=(None, None, 1),
        fits=lambda shape: len(shape) == 3 and shape[2] == 1,
        expected="[height, width, 1], null where a size varies",
        own_part="/encoded",
        beside={"format": "bytes"},
        keys=("{name}/encoded",),
        named={
            "segmentation": ("", "image/segmentation/class/encoded"),
            "depth": ("", "image/depth/encoded"),
        },
    ),
    "class_label": StoredKind(
        dtype="int64",
        fits=lambda shape: shape in ((), (None,)),
        expected="[], or [null] for any number of labels per record",
        own_part="/label",
        beside={"text": "bytes"},
        keys=("{name}/label", "image/class/label"),
    ),
    "boxes": StoredKind(
        dtype="float32",
        shape=(None, 4),
        fits=lambda shape: len(shape) == 2,
        expected="[null, 4]",
        encodings=("", "flat"),
        label_offset=1,  # the ids of a label map, which boxes refer to, start there
        keys=("{name}/object", "image/object"),
    ),
    "scalar": StoredKind(fits=_is_one, expected=_OF_ONE),
    "tensor": StoredKind(
        shape=None,
        fits=lambda shape: None not in shape,
        expected="fixed sizes, or declare a sequence if its length varies",
        encodings=("", "bytes"),
    ),
    "sequence": StoredKind(
        shape=(None,),
        fits=lambda shape: shape[:1] == (None,) and all(shape[1:]),
        expected="[null], or [null, 4] for rows of 4 numbers",
        named={"captions": ("image", "image/caption")},
    ),
    "text": StoredKind(
        dtype="string",
        fits=_is_one,
        expected=_OF_ONE,
        named={"transcript": ("audio", "audio/transcript")},
    ),
    "audio": StoredKind(
        dtype="float32",
        shape=(None, None),
        fits=lambda shape: len(shape) == 2,
        expected="[samples, channels], null where a size varies",
        own_part="/encoded",
        beside={
            "format": "bytes",
            **dict.fromkeys(("sample_rate", "num_samples", "channels"), "int64"),
        },
        keys=("{name}/encoded", "audio/encoded"),
    ),
    "bytes": StoredKind(dtype="bytes", fits=_is_one, expected=_OF_ONE),
}
KINDS = tuple(STORED_KINDS)
