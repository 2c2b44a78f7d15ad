"""The files of folders that tables were found to name: which of them no row names."""

import dataclasses
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.as_tables import as_table
from beam_pipeline.sources.columns.class_values import is_stated
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.first_rows import Seen
from beam_pipeline.sources.paths import below, joined, left_out, media_kind
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree


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
        if made := as_table(tree):
            raise ConfigError(made)
        raise ConfigError(
            f"{table.relative} names no file in a column of its own, but lies among files such "
            f"as {beside}: give {shlex.quote(table.path)} to read the table alone, or leave it "
            f"out by --ignore {shlex.quote(name_of(table.relative))}"
        )


def _is_media(path: str) -> bool:
    return media_kind(path) in ("image", "audio")
