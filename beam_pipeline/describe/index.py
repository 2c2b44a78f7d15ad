"""A shard's index: a row a record in Parquet, and the offsets as DALI reads them."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow
import pyarrow.parquet

from beam_pipeline.records import Boxes, ClassLabel, Image, Record, Stored
from beam_pipeline.schema import Feature
from beam_pipeline.stored import IMAGE_FORMS

_TYPES = {
    "int64": pyarrow.int64(),
    "float32": pyarrow.float32(),
    "string": pyarrow.string(),
}

_RESERVED = frozenset({"key", "source", "offset", "length", "sha256", "width", "height", "labels"})


class Rows:
    """The rows of one shard's index, in the order of its records.

    Columns: key, source (strings); offset, length (int64, bytes: where the record's frame
    starts and how long it is, in the uncompressed stream); then by feature: sha256 (of the
    file that was read), width, height of a picture; labels (list of strings): the class names
    of record and boxes; and every scalar and text column under its own name,
    with an underscore behind where that name is one of these. Of Examples that others wrote,
    sha256, width and height are of the stored picture, and a long text is null.
    """

    def __init__(self, schema: Sequence[Feature]):
        self._schema = schema
        self._arrow_schema = _arrow_schema(schema)
        self._column_of = {feature.name: _column(feature, schema) for feature in schema}
        self._columns: dict[str, list[Any]] = {name: [] for name in self._arrow_schema.names}

    def add(self, record: Record, offset: int, length: int) -> None:
        """Adds a record that lies at `offset` and takes `length` bytes with its framing."""
        row: dict[str, Any] = {
            "key": record.key,
            "source": record.source or record.key,
            "offset": offset,
            "length": length,
        }
        labels: list[str] = []
        for feature in self._schema:
            match record.features.get(feature.name):
                case Image() as image:
                    prefix = _prefix(feature)
                    row[f"{prefix}sha256"] = image.file.sha256
                    row[f"{prefix}width"] = image.width
                    row[f"{prefix}height"] = image.height
                case ClassLabel(name):
                    labels.append(name)
                case Boxes() as boxes:
                    labels.extend(boxes.labels)
                case bytes() | Stored(shape=()):
                    pass
                case Stored() as stored:
                    row |= _of_stored(stored, _prefix(feature))
                case int(number) if feature.kind == "class_label":
                    if number >= 0:
                        labels.append(feature.classes[number - feature.label_offset])
                case value:
                    row[self._column_of[feature.name]] = value
        row["labels"] = labels
        for name, column in self._columns.items():
            column.append(row.get(name))

    def files(self, compressed: bool) -> Iterator[tuple[str, bytes]]:
        """The index's files as (suffix, bytes): .parquet, and .idx where readers can seek."""
        table = pyarrow.Table.from_pydict(self._columns, schema=self._arrow_schema)
        sink = io.BytesIO()
        pyarrow.parquet.write_table(table, sink, compression="zstd")
        yield ".parquet", sink.getvalue()
        if not compressed:
            spans = zip(self._columns["offset"], self._columns["length"], strict=True)
            yield ".idx", "".join(f"{offset} {length}\n" for offset, length in spans).encode()


def _of_stored(stored: Stored, prefix: str) -> dict[str, Any]:
    """The columns of a picture that somebody else stored."""
    if stored.form not in IMAGE_FORMS:
        return {}
    height, width = stored.shape
    return {f"{prefix}sha256": stored.sha256, f"{prefix}width": width, f"{prefix}height": height}


def _prefix(feature: Feature) -> str:
    return "" if feature.name == "image" else f"{feature.name}_"


def _column(feature: Feature, schema: Sequence[Feature]) -> str:
    taken = _RESERVED | {each.name for each in schema if each is not feature}
    name = feature.name
    while name in taken:
        name += "_"
    return name


def _arrow_schema(schema: Sequence[Feature]) -> pyarrow.Schema:
    string, int64 = pyarrow.string(), pyarrow.int64()
    columns = [("key", string), ("source", string), ("offset", int64), ("length", int64)]
    for feature in schema:
        match feature.kind:
            case "image":
                prefix = _prefix(feature)
                columns += [
                    (f"{prefix}sha256", string),
                    (f"{prefix}width", int64),
                    (f"{prefix}height", int64),
                ]
            case "scalar" | "text":
                columns.append((_column(feature, schema), _TYPES[feature.dtype]))
    columns.append(("labels", pyarrow.list_(string)))
    return pyarrow.schema(columns)
