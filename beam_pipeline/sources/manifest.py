"""Manifests: one row a record, a column a feature, in CSV, TSV and JSON Lines."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import Rejected
from beam_pipeline.sources.columns import Columns, Kind, merge_kinds, pick_columns
from beam_pipeline.sources.gather import Entry, ReadAndGather
from beam_pipeline.sources.manifest_files import Manifest, find_manifests
from beam_pipeline.sources.manifest_records import (
    PictureRow,
    csv_row_kinds,
    json_row_kinds,
    records_of_picture,
)
from beam_pipeline.sources.manifest_rows import (
    MALFORMED,
    Row,
    csv_header,
    csv_rows,
    json_rows,
)
from beam_pipeline.sources.references import locate

_CSV_SUFFIXES = ("csv", "tsv", "txt")
_JSON_SUFFIXES = ("jsonl", "ndjson", "json")
# So many rows are looked at before the job starts, to find the columns.
_PROBED_ROWS = 100


@dataclasses.dataclass
class ReadCsv(beam.PTransform):
    """The pictures that the rows of CSV or TSV files name.

    Yields a Record a row, or, where four columns hold a box (xmin, ymin, xmax, ymax and
    others, see `columns.CORNERS`), a Record a picture with the boxes of all its rows, in
    their order; a row with empty coordinates is a picture without boxes. The other columns
    are features (attributes of the boxes) under their own name: int, else float, else str,
    whatever holds every value of the column. A missing text is ""; a row that misses a
    number or its label is rejected. So are rows with too few or too many fields.

    Attributes:
        path: The file; or a folder with metadata.csv, or one in the folder of each split
            (Hugging Face), or with one CSV file, or train.csv, test.csv, ….
        image_root: What the pictures' paths are relative to; default: the manifest's folder.
        image_column, label_column, split_column: Columns by name; None finds them
            (`columns.IMAGE`, `LABEL`, `SPLIT`).
        box_format: One of `boxes.FORMATS`; None is what the columns' names say, in pixels.
        column_names: The header of files that have none; "" leaves a column out.
        ignore_columns: Columns to leave out.
    """

    path: str
    image_root: str | None = None
    image_column: str | None = None
    label_column: str | None = None
    split_column: str | None = None
    box_format: str | None = None
    column_names: Sequence[str] = ()
    ignore_columns: Sequence[str] = ()

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        manifests = find_manifests(self.path, self.image_root, "metadata.csv", _CSV_SUFFIXES)
        names = dict.fromkeys(
            name for manifest in manifests for name in csv_header(manifest.path, self.column_names)
        )
        columns = pick_columns(
            names,
            image=self.image_column,
            label=self.label_column,
            split=self.split_column,
            box_format=self.box_format,
            ignored=self.ignore_columns,
        )
        rows = functools.partial(csv_rows, column_names=tuple(self.column_names))
        return pipeline | _ReadManifests(manifests, columns, rows, csv_row_kinds)


@dataclasses.dataclass
class ReadJsonl(beam.PTransform):
    """The pictures that the lines of JSON Lines files name, an object each.

    As `ReadCsv`, and besides: a column `boxes`, `bboxes` or `bbox` may hold all boxes of the
    picture, four numbers each in format "xyxy", with their classes and other values in lists
    beside; or `objects` as Hugging Face has it, with `bbox` in format "xywh". Columns are
    found in the first rows; a list or an object that is none of these is an error.

    Attributes:
        path: The file; or a folder with metadata.jsonl, or one in the folder of each split
            (Hugging Face), or with one JSON Lines file, or train.jsonl, test.jsonl, ….
        image_root, image_column, label_column, split_column, ignore_columns: As `ReadCsv`.
        box_format: One of `boxes.FORMATS`; None is what is said above.
    """

    path: str
    image_root: str | None = None
    image_column: str | None = None
    label_column: str | None = None
    split_column: str | None = None
    box_format: str | None = None
    ignore_columns: Sequence[str] = ()

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        manifests = find_manifests(self.path, self.image_root, "metadata.jsonl", _JSON_SUFFIXES)
        probed = [
            (f"{manifest.relative}:{row.line}", row.values)
            for manifest in manifests
            for row in itertools.islice(_rows_of(manifest, json_rows), _PROBED_ROWS)
        ]
        if not probed:
            raise ConfigError(f"{self.path} has no line with a JSON object in it")
        names = dict.fromkeys(name for _, values in probed for name in values)
        columns = pick_columns(
            names,
            lists={
                name
                for _, values in probed
                for name, value in values.items()
                if isinstance(value, list | dict)
            },
            image=self.image_column,
            label=self.label_column,
            split=self.split_column,
            box_format=self.box_format,
            ignored=self.ignore_columns,
        )
        for source, values in probed:
            try:
                json_row_kinds(values, columns)
            except RecordError as error:
                if error.reason == "unsupported column":
                    raise ConfigError(f"{source}: {error}") from error
        return pipeline | _ReadManifests(manifests, columns, json_rows, json_row_kinds)


# path, relative → rows
RowReader = Callable[[str, str], Iterator[Row | Rejected]]
RowKinds = Callable[[Mapping[str, Any], Columns], dict[str, Kind | None]]


@dataclasses.dataclass
class _ReadManifests(beam.PTransform):
    """Reads the manifests twice: for the kinds of the columns, then for the rows."""

    manifests: Sequence[Manifest]
    columns: Columns
    rows: RowReader
    row_kinds: RowKinds

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        kinds = (
            pipeline
            | "Manifests" >> beam.Create(self.manifests)  # Manifest
            | "BalanceManifests" >> beam.Reshuffle()  # Manifest
            | "FindKinds" >> beam.Map(kinds_of, self.columns, self.rows, self.row_kinds)
            | "MergeKinds" >> beam.CombineGlobally(merge_kinds)  # kind by column
        )
        return pipeline | "ReadRows" >> ReadAndGather(
            self.manifests,
            functools.partial(read_rows, columns=self.columns, rows=self.rows),
            records_of_picture,
            (self.columns, AsSingleton(kinds)),
        )


def _rows_of(manifest: Manifest, rows: RowReader) -> Iterator[Row]:
    return (row for row in rows(manifest.path, manifest.relative) if isinstance(row, Row))


def kinds_of(
    manifest: Manifest, columns: Columns, rows: RowReader, row_kinds: RowKinds
) -> dict[str, Kind | None]:
    """The kinds of the columns over all rows of one manifest that are not malformed."""

    def each_row() -> Iterator[dict[str, Kind | None]]:
        for row in _rows_of(manifest, rows):
            try:
                yield row_kinds(row.values, columns)
            except RecordError:
                continue  # rejected when it is read

    return merge_kinds(each_row())


def read_rows(manifest: Manifest, columns: Columns, rows: RowReader) -> Iterator[Entry | Rejected]:
    """The rows of one manifest, keyed by their picture; rejects."""
    for row in rows(manifest.path, manifest.relative):
        if isinstance(row, Rejected):
            yield row
            continue
        source = f"{manifest.relative}:{row.line}"
        name = row.values.get(columns.image)
        if not isinstance(name, str) or not name.strip():
            yield Rejected(
                source=source,
                reason=MALFORMED,
                detail=f"column {columns.image!r} is {name!r}, not the path of a picture",
            )
            continue
        key, path = locate(name, folder=manifest.image_folder, root=manifest.root)
        yield Entry(
            key=key,
            order=(manifest.relative, row.line),
            value=PictureRow(key, path, source, manifest.split, row.values),
        )
