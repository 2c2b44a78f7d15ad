"""Manifests: one row a record, a column a feature, in CSV, TSV and JSON Lines."""

import abc
import dataclasses
import functools
import itertools
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import Record, Rejected
from beam_pipeline.schema.feature import Feature
from beam_pipeline.sources.columns.choice import check_ignored, pick_columns
from beam_pipeline.sources.columns.column import Columns, Looks, Named
from beam_pipeline.sources.columns.declared import declare_columns
from beam_pipeline.sources.columns.kinds import Kind, kind_of_json, kind_of_text, merge_kinds
from beam_pipeline.sources.gather import Entry, ReadAndGather
from beam_pipeline.sources.manifest.files import Manifest, find_manifests, folders_left_out
from beam_pipeline.sources.manifest.json_columns import (
    check_first_rows,
    check_ignored_in_json,
    with_lists,
)
from beam_pipeline.sources.manifest.looks import (
    Probed,
    RowReader,
    are_in_one_folder,
    are_in_split_folders,
    first_rows,
    look,
    rows_of,
    unlabelled,
)
from beam_pipeline.sources.manifest.records import (
    csv_row_kinds,
    json_row_kinds,
    keyed_row,
    records_of_key,
)
from beam_pipeline.sources.manifest.rows import Row, csv_header, csv_rows, json_rows

_CSV_SUFFIXES = ("csv", "tsv", "txt")
_JSON_SUFFIXES = ("jsonl", "ndjson", "json")

_LOG = logging.getLogger(__name__)

RowKinds = Callable[[Mapping[str, Any], Columns], dict[str, Kind | None]]


@dataclasses.dataclass
class ReadManifest(beam.PTransform, abc.ABC):
    """What CSV and JSON Lines have in common.

    Attributes:
        path: The file; or a folder with metadata.csv (.jsonl), or one in the folder of each
            split (Hugging Face), or with one such file, or train.csv, test.csv, ….
        image_root: What the files' paths are relative to; default: the manifest's folder.
        image_column, audio_column, split_column: Columns by name; None finds them
            (`columns.IMAGE`, `AUDIO`, `SPLIT`).
        label_column: Likewise (`columns.LABEL`); several as "color,shape".
        box_format: One of `boxes.FORMATS`; None is what the columns' names say, in pixels.
        ignore_columns: Columns to leave out; also attributes of boxes, as "objects.area".
        classes: Names of classes that are written as numbers.
        schema: What is read, and as what; empty finds out by looking.
        missing_number: What stands for a number that a row misses, such as NaN, so that the
            column is float32; None rejects the row.
        divided: Whether the build divides what states no split into several.
    """

    path: str
    image_root: str | None = None
    image_column: str | None = None
    audio_column: str | None = None
    label_column: str | None = None
    split_column: str | None = None
    box_format: str | None = None
    ignore_columns: Sequence[str] = ()
    classes: Sequence[str] = ()
    schema: Sequence[Feature] = ()
    missing_number: float | None = None
    divided: bool = False

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        return pipeline | self.settled()

    @abc.abstractmethod
    def settled(self) -> "ReadManifests":
        """What is to be read, and as what, once the first rows were looked at.

        Raises:
            ConfigError: There is no manifest, or none that can be used as asked.
        """

    def columns(self, names: Iterable[str], probed: Probed, looks: Looks) -> Columns:
        """Which column is which, by their names and the first rows.

        Raises:
            ConfigError: An option or the schema does not fit the columns.
        """
        named = Named(
            image=self.image_column or "",
            audio=self.audio_column or "",
            label=self.label_column or "",
            split=self.split_column or "",
            box_format=self.box_format or "",
            ignored=frozenset(self.ignore_columns),
        )
        if self.schema:
            columns = declare_columns(self.schema, names, named, looks)
            left_out = columns.ignored - named.ignored
            _tell("left out, for --schema does not declare them", left_out)
        else:
            columns = pick_columns(names, named, looks)
            lost = looks.media.keys() - columns.taken - set(looks.existing)
            _tell("read as text, for no such files are there (see --image-root)", lost)
        without = unlabelled(probed, columns.label_columns)
        _tell("without any label in the first rows, so that records may lack them", without)
        return dataclasses.replace(
            columns,
            classes=tuple(self.classes),
            unlabelled=without,
            missing_number=self.missing_number,
        )

    def with_split_folders(
        self, columns: Columns, probed: Probed, manifests: Sequence[Manifest], rows: RowReader
    ) -> Columns:
        """Whether the files' folders state the splits, where nothing else does.

        A folder `train` alone states nothing that `--split` could not divide.
        """
        states = not columns.split and are_in_split_folders(probed, columns.key)
        if states and self.divided:
            states = not are_in_one_folder(manifests, rows, columns.key)
        return dataclasses.replace(columns, split_folders=states)


def _tell(what: str, names: Collection[str]) -> None:
    if names:
        _LOG.warning("%s: %s", what, ", ".join(sorted(names)))


def _nameless(headers: Iterable[Sequence[str]]) -> set[str]:
    return {
        f"column {number}"
        for header in headers
        for number, name in enumerate(header, start=1)
        if not name
    }


@dataclasses.dataclass
class ReadCsv(ReadManifest):
    """The rows of CSV or TSV files, a record each.

    Columns are found by their names and by what the first rows hold: the image, the sound,
    labels, the split, four numbers of a box, paths of further files (docs/manifests.md). All
    others are features under their own name: int, else float, else str, whatever holds every
    value of the column, or arrays where every field is a list in JSON. A missing text is "";
    a row that misses a number, a list or its label is rejected. So are rows with too few or too
    many fields.

    Where four columns hold a box (see `columns.CORNERS`) the rows of an image make one
    Record, with their boxes in their order; a row with empty coordinates is an image without
    boxes. Other columns are attributes of the boxes.

    With a schema its features alone are read, each converted to what is declared; a row that
    does not fit is rejected.

    Attributes:
        column_names: The header of files that have none; "" leaves a column out.
    """

    column_names: Sequence[str] = ()

    def settled(self) -> "ReadManifests":
        manifests = find_manifests(self.path, self.image_root, "metadata.csv", _CSV_SUFFIXES)
        _tell("left out, for they hold no metadata.csv", folders_left_out(self.path, manifests))
        headers = [csv_header(manifest.path, self.column_names) for manifest in manifests]
        names = dict.fromkeys(itertools.chain.from_iterable(headers))
        if not self.column_names:
            _tell("left out, for they have no name", _nameless(headers))
        rows = functools.partial(csv_rows, column_names=tuple(self.column_names))
        probed = first_rows(manifests, rows)
        check_ignored(self.ignore_columns, list(filter(None, names)))
        columns = self.columns(names, probed, look(probed, kind_of_text))
        columns = self.with_split_folders(columns, probed, manifests, rows)
        return ReadManifests(manifests, columns, rows, csv_row_kinds)


@dataclasses.dataclass
class ReadJsonl(ReadManifest):
    """The lines of JSON Lines files, an object and a record each.

    As `ReadCsv`, and besides: lists of numbers are arrays and may be nested, lists of strings
    tuples. A column `boxes`, `bboxes` or `bbox` may hold all boxes of the image, four numbers
    each in format "xyxy", with their classes and other values in lists beside; or `objects` as
    Hugging Face has it, with `bbox` in format "xywh". Columns are found in the first rows; an
    object that is none of these is an error.
    """

    def settled(self) -> "ReadManifests":
        manifests = find_manifests(self.path, self.image_root, "metadata.jsonl", _JSON_SUFFIXES)
        _tell("left out, for they hold no metadata.jsonl", folders_left_out(self.path, manifests))
        probed = first_rows(manifests, json_rows)
        if not probed:
            raise ConfigError(
                f"{self.path} has no line with a JSON object in it: write an object a line"
            )
        names = dict.fromkeys(name for _, row in probed for name in row.values)
        check_ignored_in_json(self.ignore_columns, manifests, probed)
        looks = look(probed, kind_of_json)
        columns = self.columns(names, probed, looks)
        columns = with_lists(columns, looks, [row.values for _, row in probed])
        check_first_rows(probed, columns)
        columns = self.with_split_folders(columns, probed, manifests, json_rows)
        return ReadManifests(manifests, columns, json_rows, json_row_kinds)


@dataclasses.dataclass
class ReadManifests(beam.PTransform):
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
        if not self.columns.key:
            return (
                pipeline
                | "Tables" >> beam.Create(self.manifests)  # Manifest
                | "BalanceTables" >> beam.Reshuffle()  # Manifest
                | "ReadTables"
                >> beam.FlatMap(
                    read_table, self.columns, self.rows, AsSingleton(kinds)
                )  # Record | Rejected
            )
        return pipeline | "ReadRows" >> ReadAndGather(
            self.manifests,
            functools.partial(read_rows, columns=self.columns, rows=self.rows),
            records_of_key,
            (self.columns, AsSingleton(kinds)),
        )


def kinds_of(
    manifest: Manifest, columns: Columns, rows: RowReader, row_kinds: RowKinds
) -> dict[str, Kind | None]:
    """The kinds of the columns over all rows of one manifest that are not malformed."""
    if columns.declared and not (columns.boxes or columns.corners):
        return {}

    def each_row() -> Iterator[dict[str, Kind | None]]:
        for row in rows_of(manifest, rows):
            try:
                yield row_kinds(row.values, columns)
            except RecordError:
                continue  # rejected when it is read

    return merge_kinds(each_row())


def read_rows(manifest: Manifest, columns: Columns, rows: RowReader) -> Iterator[Entry | Rejected]:
    """The rows of one manifest, keyed by their main file; rejects."""
    for row in rows(manifest.path, manifest.relative):
        if isinstance(row, Rejected):
            yield row
            continue
        try:
            keyed = keyed_row(manifest, row.line, row.values, columns)
        except RecordError as error:
            source = f"{manifest.relative}:{row.line}"
            yield Rejected(source=source, reason=error.reason, detail=error.detail)
            continue
        yield Entry(key=keyed.key, order=(manifest.relative, row.line), value=keyed)


def read_table(
    manifest: Manifest, columns: Columns, rows: RowReader, kinds: Mapping[str, Kind | None]
) -> Iterator[Record | Rejected]:
    """The records of one manifest whose rows go by their line."""
    for row in rows(manifest.path, manifest.relative):
        if isinstance(row, Row):
            keyed = keyed_row(manifest, row.line, row.values, columns)
            yield from records_of_key(keyed.key, [keyed], columns, kinds)
        else:
            yield row
