"""Columns of maps: files with a number for each pixel of the image that the same row names."""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterable, Iterator

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.header import DECODER_MAX_PIXELS
from beam_pipeline.media.images import size_in_file
from beam_pipeline.media.maps import Seen as Pixels
from beam_pipeline.media.maps import see
from beam_pipeline.records import DeclaredClasses, FileRef, Map
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.manifest.first_rows import FirstRows, is_there
from beam_pipeline.sources.masks.meaning import MOST_MAP_BYTES, Meaning, is_map, meaning_of
from beam_pipeline.sources.masks.names import CLASSES, DEPTH

_PAIRS_LOOKED_INTO = 8


def with_maps(
    columns: Columns, rows: FirstRows
) -> tuple[Columns, list[str], list[DeclaredClasses]]:
    """The columns, of which those that name maps of the main image say so.

    Args:
        columns: What names and options say.
        rows: The first rows, of which some files are looked into.

    Returns:
        The columns, what a user is told of them, and the classes of the maps.
    """
    told, classes = [], []
    media = list(columns.media)
    main = next((each for each in media if each.feature == each.kind == "image"), None)
    for number, each in enumerate(media):
        if not main or each.kind != "image" or each == main:
            continue
        if not (found := _meaning(_pairs(rows, main.column, each.column), each.column)):
            continue
        like = Map(
            file=FileRef(path=""),
            shows=found.shows,
            colors=found.colors,
            num_classes=len(found.names),
        )
        media[number] = each._replace(like=like)
        names = dict(enumerate(found.names))
        classes += [DeclaredClasses(feature=each.feature, names=names)] if names else []
        told.append(
            f"column {each.column!r} has a map of each image by some of its files: {found.words}; "
            "if they are images, declare them so by --schema"
        )
    return dataclasses.replace(columns, media=tuple(media)), told, classes


def _pairs(rows: FirstRows, image: str, other: str) -> Iterator[tuple[Pixels, Pixels]]:
    """What the first images and the files beside them hold; none where their sizes differ."""
    for row in itertools.islice(rows, _PAIRS_LOOKED_INTO):
        with contextlib.suppress(RecordError):  # it is rejected when the row is read
            names = (row.values.get(image), row.values.get(other))
            files = [FileRef(path=row.manifest.path_of(str(name))) for name in names]
            if not all(is_there(file.path) for file in files):
                continue
            first, second = (storage.read_bytes(file, MOST_MAP_BYTES) for file in files)
            if size_in_file(first) != size_in_file(second):
                return
            yield see(first, DECODER_MAX_PIXELS), see(second, DECODER_MAX_PIXELS)


def _meaning(pairs: Iterable[tuple[Pixels, Pixels]], column: str) -> Meaning | None:
    """What maps mean, if the files beside the images are maps, and the images are none."""
    seen = list(pairs)
    shows = DEPTH if DEPTH in column.lower() else CLASSES
    maps = [other for _, other in seen if _has_numbers(other, shows)]
    if not seen or len(maps) < len(seen) or all(_has_numbers(image, shows) for image, _ in seen):
        return None
    found = meaning_of(maps, shows, None, "")
    return None if found.problem else found


def _has_numbers(pixels: Pixels, shows: str) -> bool:
    return is_map(pixels, shows) and (pixels.numbers is not None or pixels.is_jpeg)
