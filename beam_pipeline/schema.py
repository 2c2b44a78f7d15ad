"""What a data set's records are made of: one `Feature` a name, as metadata.json lists them.

A record's values are observed one by one, observations merge, and `infer` turns the whole
into the schema. The trainer reads the same JSON; this module is the writer's side of it.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Self

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.records import Boxes, ClassLabel, Image, Record, Value

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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature of the records, as in metadata.json's `features`.

    Attributes:
        name: The record's own name for it; what the trainer calls it.
        kind: One of KINDS.
        dtype: What the trainer yields: "uint8", "int64", "float32", "string".
        shape: Its shape there; None where it varies: pictures all of one size have that.
        key: The key in the Example; of an image and of boxes, the key or prefix that
            docs/format.md gives.
        format: Of an image: "jpeg", "png", or "mixed".
        classes: Of a class label or boxes: the names, in the order of their numbers.
        label_offset: What is added to a class's number where it is stored.
        attributes: Of boxes: dtype by attribute name, each under `<key>/<attribute>`.
        keypoints: Of boxes: points a box, 0 for none.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int | None, ...]
    key: str
    format: str = ""
    classes: tuple[str, ...] = ()
    label_offset: int = 0
    attributes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    keypoints: int = 0

    def to_json(self) -> dict[str, Any]:
        """The feature as metadata.json holds it; what is empty is left out."""
        required = {"name", "kind", "dtype", "shape", "key"}
        if self.kind == "boxes":
            required.add("label_offset")
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
            if value or name in required
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The feature that `to_json` gave."""
        tuples = {name: tuple(data[name]) for name in ("shape", "classes") if name in data}
        return cls(**{**data, **tuples})


@dataclasses.dataclass(slots=True, kw_only=True)
class Observed:
    """What the values of one feature were, over some records; observations merge.

    Attributes:
        dtypes: Records by the value's type: "image", "class_label", "boxes", "int64",
            "float32", "string", "bytes".
        example: A record's source by such a type, for messages.
        formats: Pictures by encoding.
        sizes: (height, width) in pixels of pictures, as stored; two of them at most are kept.
        classes: How often each class occurs.
        attributes: Of boxes: dtype by attribute name.
        keypoints: The most points of a box.
    """

    dtypes: Counter[str] = dataclasses.field(default_factory=Counter)
    example: dict[str, str] = dataclasses.field(default_factory=dict)
    formats: Counter[str] = dataclasses.field(default_factory=Counter)
    sizes: set[tuple[int, int]] = dataclasses.field(default_factory=set)
    classes: Counter[str] = dataclasses.field(default_factory=Counter)
    attributes: dict[str, str] = dataclasses.field(default_factory=dict)
    keypoints: int = 0

    def add(self, value: Value, source: str) -> None:
        """Takes one more value into account."""
        dtype = dtype_of(value)
        self.dtypes[dtype] += 1
        if source < self.example.setdefault(dtype, source):
            self.example[dtype] = source
        match value:
            case Image():
                self.formats[value.format] += 1
                self._add_sizes({(value.height, value.width)})
            case ClassLabel():
                self.classes[value.name] += 1
            case Boxes():
                self.classes.update(value.labels)
                self._add_attributes(
                    {
                        name: functools.reduce(_wider, map(dtype_of, values))
                        for name, values in value.attributes.items()
                        if values
                    }
                )
                self.keypoints = max(
                    self.keypoints, *(len(points) // 3 for points in value.keypoints), 0
                )

    def merge(self, other: Self) -> None:
        """Takes all that `other` observed into account."""
        self.dtypes.update(other.dtypes)
        for dtype, source in other.example.items():
            self.example[dtype] = min(source, self.example.get(dtype, source))
        self.formats.update(other.formats)
        self._add_sizes(other.sizes)
        self.classes.update(other.classes)
        self._add_attributes(other.attributes)
        self.keypoints = max(self.keypoints, other.keypoints)

    def _add_sizes(self, sizes: set[tuple[int, int]]) -> None:
        if len(self.sizes) < 2:
            self.sizes = set(sorted(self.sizes | sizes)[:2])

    def _add_attributes(self, attributes: Mapping[str, str]) -> None:
        for name, dtype in attributes.items():
            self.attributes[name] = _wider(self.attributes.get(name, dtype), dtype)


def dtype_of(value: object) -> str:
    """What `Observed.dtypes` calls the type of `value`.

    Raises:
        RecordError: "unsupported value": a type that no feature kind covers.
    """
    match value:
        case Image():
            return "image"
        case ClassLabel():
            return "class_label"
        case Boxes():
            return "boxes"
        case int():
            return "int64"
        case float():
            return "float32"
        case str():
            return "string"
        case bytes():
            return "bytes"
    raise RecordError(
        "unsupported value",
        f"{value!r} is a {type(value).__name__}; use Image, ClassLabel, Boxes, int, float, "
        "str or bytes",
    )


def _wider(one: str, other: str) -> str:
    """The dtype that holds both: float32 for ints and floats, else string."""
    if one == other:
        return one
    return "float32" if {one, other} == {"int64", "float32"} else "string"


def infer(
    observed: Mapping[str, Observed],
    *,
    num_records: int,
    declared: Mapping[str, Iterable[str]],
) -> tuple[Feature, ...]:
    """The schema of `num_records` records whose features were `observed`.

    Args:
        observed: What was seen, by feature name.
        num_records: Records seen in all.
        declared: Class names in their order, by feature, where layout or user declare them.

    Raises:
        DataError: A feature holds values of several types, is missing in some of the
            records though it has no value for "missing", or has undeclared classes where
            the classes are declared.
    """
    label_key = "image/class/label" if "image" in observed else "label/label"
    return tuple(
        _infer_feature(name, seen, num_records, tuple(declared.get(name, ())), label_key)
        for name, seen in sorted(observed.items(), key=_usual_order)
    )


def _usual_order(item: tuple[str, Observed]) -> tuple[int, str]:
    usual = ("image", "label", "boxes")
    name = item[0]
    return (usual.index(name) if name in usual else len(usual), name)


def _infer_feature(
    name: str, seen: Observed, num_records: int, declared: tuple[str, ...], label_key: str
) -> Feature:
    dtype = _one_dtype(name, seen)
    missing = num_records - seen.dtypes.total()
    if missing and dtype in ("image", "int64", "float32", "bytes"):
        raise DataError(
            f"feature {name!r} is missing in {missing} of {num_records} records; give every "
            "record a value, or leave the column out"
        )
    match dtype:
        case "image":
            formats = [*seen.formats]
            height, width = next(iter(seen.sizes)) if len(seen.sizes) == 1 else (None, None)
            return Feature(
                name=name,
                kind="image",
                dtype="uint8",
                shape=(height, width, 3),
                key=f"{name}/encoded",
                format=formats[0] if len(formats) == 1 else "mixed",
            )
        case "class_label":
            return Feature(
                name=name,
                kind="class_label",
                dtype="int64",
                shape=(),
                key=label_key if name == "label" else f"{name}/label",
                classes=_class_order(name, seen.classes, declared),
            )
        case "boxes":
            return Feature(
                name=name,
                kind="boxes",
                dtype="float32",
                shape=(None, 4),
                key="image/object" if name == "boxes" else f"{name}/object",
                classes=_class_order(name, seen.classes, declared),
                label_offset=1,
                attributes=dict(sorted(seen.attributes.items())),
                keypoints=seen.keypoints,
            )
        case "string":
            return Feature(name=name, kind="text", dtype="string", shape=(), key=name)
        case "bytes":
            return Feature(name=name, kind="bytes", dtype="string", shape=(), key=name)
        case _:
            return Feature(name=name, kind="scalar", dtype=dtype, shape=(), key=name)


def _one_dtype(name: str, seen: Observed) -> str:
    dtypes = [*seen.dtypes]
    if len(dtypes) == 1:
        return dtypes[0]
    if set(dtypes) == {"int64", "float32"}:
        return "float32"
    found = ", ".join(f"{dtype} in {seen.example[dtype]}" for dtype in sorted(dtypes))
    raise DataError(f"feature {name!r} must hold values of one type but holds {found}")


def _class_order(name: str, seen: Iterable[str], declared: tuple[str, ...]) -> tuple[str, ...]:
    """Declared names in their order; else sorted, as numbers where all of them are numbers."""
    names = set(seen)
    if not declared:
        if all(each.isascii() and each.isdigit() for each in names):
            return tuple(sorted(names, key=lambda each: (int(each), each)))
        return tuple(sorted(names))
    if undeclared := sorted(names - set(declared)):
        raise DataError(
            f"feature {name!r} has classes that are not declared: {', '.join(undeclared[:10])}; "
            f"declared are {', '.join(declared[:20])}; add them there, or mend the annotations"
        )
    return declared


def observe(records: Iterable[Record]) -> dict[str, Observed]:
    """What the features of `records` are."""
    observed: dict[str, Observed] = {}
    for record in records:
        observe_record(record, observed)
    return observed


def observe_record(record: Record, observed: dict[str, Observed]) -> None:
    """Takes the features of one more record into account."""
    source = record.source or record.key
    for name, value in record.features.items():
        if name not in observed:
            observed[name] = Observed()
        observed[name].add(value, source)
