"""Rows of one image that make one record, a box or a caption each; files that no row names."""

import contextlib
import dataclasses
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.masks import box_of, mask_of_runs
from beam_pipeline.media.images import size_in_file
from beam_pipeline.records import FileRef, Image, Mask, Objects, Record, Rejected, Value
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.columns.class_values import is_stated
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.manifest.boxes import (
    boxes_from_rows,
    facts_of_rows,
    named_boxes,
    stated_size,
)
from beam_pipeline.sources.manifest.feature_columns import main_columns
from beam_pipeline.sources.manifest.files import Manifest, split_folder, split_of_row
from beam_pipeline.sources.manifest.first_rows import Seen
from beam_pipeline.sources.manifest.kinds import check_plain
from beam_pipeline.sources.manifest.survey import Overview
from beam_pipeline.sources.paths import below, joined, left_out, media_kind
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.image_size import ImageSize

_HEADER_BYTES = 1 << 16
_MAX_CAPTIONS = 10_000

Kinds = Mapping[str, Kind | None]


@crosses
class JoinedRow(NamedTuple):
    """A row of an image that is one of its boxes or captions.

    Attributes:
        manifest: The file of the row.
        source: For messages: "labels.csv:12".
        values: By column.
    """

    manifest: Manifest
    source: str
    values: Mapping[str, Any]


def joined_record(key: str, rows: Sequence[JoinedRow], columns: Columns, kinds: Kinds) -> Record:
    """The record of one image from its rows, a box or a caption each.

    Raises:
        RecordError: A value cannot be used, or the rows contradict one another.
    """
    first = rows[0]
    splits = {
        split_of_row(row.values.get(columns.split), key, row.manifest, columns) for row in rows
    }
    if len(splits) > 1:
        raise malformed(f"rows of one image are in the splits {sorted(map(str, splits))}")
    declared = {column for _, column in columns.declared}
    classes = {column for _, column in columns.labels}
    features: dict[str, Value] = {}
    for feature, column, convert in main_columns(first.manifest, columns, kinds):
        stated = first.values.get(column)
        (value,) = convert([stated])
        if value is None:
            continue
        if (column in declared or column in classes) and any(
            row.values.get(column) != stated for row in rows[1:]
        ):
            raise malformed(f"rows of one image differ in the column {column!r}")
        features[feature] = value
    values = [row.values for row in rows]
    names = dict.fromkeys(name for row in values for name in row)
    check_plain({name: [row.get(name) for row in values] for name in names}, columns)
    notes: Mapping[str, int] = {}
    if columns.captions:
        features["captions"] = _captions([row.get(columns.captions) for row in values])
        notes = not_kept(name for name in columns.numbers for _ in rows)
    else:
        objects = _objects(first.manifest, values, columns, kinds)
        features["boxes"] = named_boxes(objects, columns)
    return Record(key=key, features=features, split=splits.pop(), source=first.source, notes=notes)


def _objects(
    manifest: Manifest, rows: Sequence[Mapping[str, Any]], columns: Columns, kinds: Kinds
) -> Objects:
    """The objects of one image from its rows; a row without box or run lengths adds none.

    Raises:
        RecordError: The run lengths are none of the image's size, or another value is none.
    """
    if not columns.has_runs:
        return boxes_from_rows(rows, columns, kinds)
    size = stated_size(rows, columns) or _size_in_file(manifest.path_of(rows[0][columns.key]))
    [column] = columns.corners or ()
    check_number(len(rows))
    with_mask = [row for row in rows if is_stated(row.get(column))]
    masks = [mask_of_starts(str(row[column]), size) for row in with_mask]
    boxes = [box_of(mask) for mask in masks]
    return dataclasses.replace(
        facts_of_rows(with_mask, columns, kinds),
        boxes=tuple(box for box in boxes if box),
        format="xywh",
        masks=tuple(masks),
        image_size=size,
    )


def _size_in_file(path: str) -> ImageSize:
    """The size that an image's header states.

    Raises:
        RecordError: There is no such file, or no image.
    """
    with contextlib.suppress(RecordError):
        return size_in_file(storage.read_start(path, _HEADER_BYTES))
    return size_in_file(storage.read_bytes(FileRef(path=path)))


def _captions(values: Sequence[Any]) -> tuple[str, ...]:
    """The texts of an image; rows without one add none."""
    if len(values) > _MAX_CAPTIONS:
        raise malformed(f"over {_MAX_CAPTIONS:,} rows with texts of one image")
    return tuple(str(value) for value in values if is_stated(value))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder whose images, audio and arrays are held against the rows.

    Attributes:
        root: Keys are paths below it.
        path: The folder, absolute, `root` or below it.
        without_boxes: Folders below `root` whose images have no boxes where no row names them,
            with the split of these, if their table states one.
        ignored: What of `root` is left out.
    """

    root: str
    path: str
    without_boxes: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    ignored: Ignored = NOTHING


@crosses
class Present(NamedTuple):
    """A file that is there.

    Attributes:
        path: Of an image that has no boxes, if no row names it; "" of what is left out then.
        split: Of that image.
    """

    path: str
    split: str | None


_LEFT_OUT = Present("", None)
_FIRST = ("", 0)  # before what rows have of the same file


def files_in(listed: Folder) -> Iterator[Entry]:
    """The files, keyed as rows name them."""
    inner = listed.path.removeprefix(listed.root).strip("/")
    for place, names in storage.list_names(listed.path):
        relative = joined(inner, place) if place else inner
        for name in names:
            key = joined(relative, name)
            if not media_kind(name) or listed.ignored(key):
                continue
            present = _LEFT_OUT
            if relative in listed.without_boxes and media_kind(name) == "image":
                present = Present(below(listed.root, key), listed.without_boxes[relative])
            yield Entry(key, _FIRST, present)


def unnamed(key: str) -> Rejected:
    """What becomes of a file that no row names."""
    return left_out(key, f"unused {media_kind(key)}", "no row of a table that is read names it")


def with_images(listed: Folder, seen: Seen, columns: Columns) -> Folder:
    """The folder with those whose images have no boxes where no row names them.

    That holds where every row states a box; where some state none, each image has a row.
    """
    corners = columns.corners or ()
    stated = [any(is_stated(row.values.get(name)) for name in corners) for row in seen.rows]
    if not stated or not all(stated):
        return listed
    splits: dict[str, list[str | None]] = {}
    for manifest in (table.manifest for table in seen.tables):
        for path in (manifest.folder, *manifest.folders):
            place = path.removeprefix(listed.root).strip("/")
            splits.setdefault(place, []).append(manifest.split)
    without = {place: split for place, [split, *others] in splits.items() if not others}
    return dataclasses.replace(listed, without_boxes=without)


def check_beside(table: Manifest, tree: Tree) -> None:
    """Raises ConfigError where a table that names no files lies in a tree of images or audio."""
    if beside := next((path for path in tree.files() if _is_media(path)), ""):
        raise ConfigError(
            f"{table.relative} names no file in a column of its own, but lies among files such "
            f"as {beside}: give {shlex.quote(table.path)} to read the table alone, or leave it "
            f"out by --ignore {shlex.quote(name_of(table.relative))}"
        )


def _is_media(path: str) -> bool:
    return media_kind(path) in ("image", "audio")


def join_rows(
    key: str, rows: Sequence[JoinedRow | Present], all_rows: Overview
) -> Iterator[Record | Rejected]:
    """The record of one image from its rows, or why it can be none."""
    stated = [row for row in rows if isinstance(row, JoinedRow)]
    present = next((row for row in rows if isinstance(row, Present)), None)
    try:
        if stated:
            yield joined_record(key, stated, all_rows.columns, all_rows.kinds)
        elif present and present.path:
            yield _without_boxes(key, present, all_rows)
        else:
            yield unnamed(key)
    except RecordError as error:
        yield Rejected.of(stated[0].source, error)


def _without_boxes(key: str, present: Present, all_rows: Overview) -> Record:
    """The record of an image that no row names, in a table of the images with boxes alone."""
    columns = dataclasses.replace(all_rows.columns, size=None)
    split = present.split or (split_folder(key) if columns.split_folders else None)
    [feature] = [each.feature for each in columns.media if each.column == columns.key]
    features: dict[str, Value] = {
        feature: Image(file=FileRef(path=present.path)),
        "boxes": boxes_from_rows((), columns, all_rows.kinds),
    }
    return Record(key=key, features=features, split=split)


def numbered(
    key: str, elements: Iterable[Record | Rejected | Present]
) -> Iterator[Record | Rejected]:
    """What the rows of one key became, in their order, with the keys "path", "path#2", …."""
    number = 0
    for element in elements:
        if isinstance(element, Present):  # comes first
            continue
        number += 1
        if number > 1 and isinstance(element, Record):
            element = dataclasses.replace(element, key=f"{key}#{number}")
        yield element
    if not number:
        yield unnamed(key)


def mask_of_starts(text: str, size: ImageSize) -> Mask:
    """The mask of "start length start length …": pixels from 1 on, down each column.

    Raises:
        RecordError: "malformed annotation": they overlap, or reach out of the image.
    """
    try:
        numbers = list(map(int, text.split()))
    except ValueError:
        numbers = []
    runs, behind = [], 0
    for start, length in sorted(zip(numbers[::2], numbers[1::2], strict=False)):
        runs += [start - 1 - behind, length]
        behind = start - 1 + length
    pixels = size.height * size.width
    if not numbers or len(numbers) % 2 or min(runs) < 0 or 0 in runs[1::2] or behind > pixels:
        raise malformed(
            f"run lengths {text[:60]!r} are no starts and lengths of pixels that do not overlap, "
            f"in an image of {size}"
        )
    return mask_of_runs(size, [*runs, pixels - behind])
