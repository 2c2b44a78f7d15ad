"""Rows of the tables that `table` makes, and the files below a folder that they name."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from PIL import Image

from beam_pipeline.files import storage
from beam_pipeline.sources.paths import below, folder, joined, media_kind, stem, suffix
from beam_pipeline.sources.references import name_of

Row = dict[str, Any]

_MAX_BYTES = 1 << 30


class Files:
    """The files below a folder.

    Attributes:
        root: The folder.
        paths, there: Below it, sorted, and to look one up.
    """

    def __init__(self, root: str):
        self.root = root
        self.paths = sorted(each.relative for each in storage.list_files(root))
        self.there = frozenset(self.paths)
        self._media = {stem(each): each for each in self.paths if media_kind(each)}

    def find(self, name: str) -> str:
        """The path of an image or audio by its path or URL on another machine."""
        return name if name in self.there else self._media.get(stem(name), name)

    def called_as(self, path: str) -> list[str]:
        """The files of a file's name, in whatever folders."""
        return [each for each in self.paths if name_of(each) == name_of(path)]

    def path(self, relative: str) -> str:
        """The path of a file."""
        return below(self.root, relative)

    def with_twins(self, annotations: str, images: str) -> Iterator[tuple[str, Any]]:
        """(image, what its JSON file holds), by the names of twin folders of both."""
        found = {
            f"{folder(each)}/{stem(each)}": each
            for each in self.paths
            if media_kind(each) == "image"
        }
        for each in self.paths:
            above, _, name = folder(each).rpartition("/")
            image = found.get(joined(joined(above, images), stem(each)))
            if image and name == annotations and suffix(each) == "json":
                yield image, read_json(self.path(each))

    def size(self, image: str) -> tuple[int, int]:
        """(width, height) of an image."""
        with storage.opened(self.path(image)) as handle, Image.open(handle) as opened:
            return opened.size


def with_boxes(
    image: str, boxes: Iterable[tuple[Any, ...]], split: str | None = None, texts: bool = False
) -> Row:
    """The row of an image; boxes are left, top, width, height; a class; and perhaps a text."""
    columns = ("bbox", "category", "transcript")[: 3 if texts else 2]
    values = [list(each) for each in zip(*boxes, strict=True)] or [[] for _ in columns]
    stated = {"split": split} if split else {}
    return {"image": image, **stated, "objects": dict(zip(columns, values, strict=True))}


def of_corners(left: float, top: float, right: float, bottom: float) -> list[float]:
    """Left, top, width and height of a box."""
    return [left, top, right - left, bottom - top]


def of_fractions(size: tuple[int, int], *corners: Any) -> list[float]:
    """Left, top, width and height, of corners in 0..1 of an image's (width, height)."""
    return of_corners(*(float(each) * size[at % 2] for at, each in enumerate(corners)))


def read_text(path: str) -> str:
    """A file's text."""
    return storage.read_text(path, _MAX_BYTES)


def read_json(path: str) -> Any:
    """What a JSON file holds."""
    return json.loads(read_text(path))


def read_lines(path: str) -> Iterator[Any]:
    """What the lines of a JSON Lines file hold."""
    return map(json.loads, read_text(path).splitlines())
