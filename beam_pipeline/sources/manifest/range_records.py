"""The second pass over manifests: the rows of each range become records."""

from collections.abc import Iterator, Sequence

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.manifest.ranges import RowRange
from beam_pipeline.sources.manifest.records import BoxRow, RecordMaker, record_from_boxes
from beam_pipeline.sources.manifest.rows import MALFORMED, Row, in_chunks
from beam_pipeline.sources.manifest.survey import Overview


def read_table(part: RowRange, all_rows: Overview) -> Iterator[Record | Rejected]:
    """The records of a range whose rows go by their line."""
    maker = _maker(part, all_rows)
    for rows in _rows(part, all_rows, maker):
        if isinstance(rows, Rejected):
            yield rows
        else:
            yield from maker.elements(rows)


def read_entries(part: RowRange, all_rows: Overview) -> Iterator[Entry | Rejected]:
    """The rows of a range, keyed by their main file: boxes as they are, others as elements."""
    maker = _maker(part, all_rows)
    for rows in _rows(part, all_rows, maker):
        if isinstance(rows, Rejected):
            yield rows
        elif all_rows.columns.corners:
            yield from _entries_of_boxes(rows, maker)
        else:
            yield from _entries_of_elements(rows, maker)


def join_boxes(key: str, rows: Sequence[BoxRow], all_rows: Overview) -> Iterator[Record | Rejected]:
    """The record of one image from its rows, or why it can be none."""
    try:
        yield record_from_boxes(key, rows, all_rows.columns, all_rows.kinds)
    except RecordError as error:
        yield Rejected(source=rows[0].source, reason=error.reason, detail=error.detail)


def _maker(part: RowRange, all_rows: Overview) -> RecordMaker:
    place = all_rows.places[part.manifest.path, part.start]
    return RecordMaker(part.manifest, part.form, all_rows.columns, all_rows.kinds, place.first_line)


def _rows(part: RowRange, all_rows: Overview, maker: RecordMaker) -> Iterator[list[Row] | Rejected]:
    """The rows that begin in a range, some at a time; rejects for those that cannot be read."""
    in_row = all_rows.places[part.manifest.path, part.start].in_row
    for good, bad in in_chunks(part.form.rows(part.blocks(), part.end, in_row=in_row)):
        for row in bad:
            yield Rejected(source=maker.source(row), reason=MALFORMED, detail=row.detail)
        if good:
            yield good


def _entries_of_boxes(rows: Sequence[Row], maker: RecordMaker) -> Iterator[Entry | Rejected]:
    manifest = maker.manifest
    for row in rows:
        source = maker.source(row)
        try:
            key = maker.key(row)
        except RecordError as error:
            yield Rejected(source=source, reason=error.reason, detail=error.detail)
            continue
        value = BoxRow(manifest, source, row.values)
        yield Entry(key, (manifest.relative, maker.line(row)), value, row.length)


def _entries_of_elements(rows: Sequence[Row], maker: RecordMaker) -> Iterator[Entry | Rejected]:
    for row, element in zip(rows, maker.elements(rows), strict=True):
        if isinstance(element, Record):
            key = element.key
        else:
            try:
                key = maker.key(row)
            except RecordError:
                yield element
                continue
        yield Entry(key, (maker.manifest.relative, maker.line(row)), element, row.length)
