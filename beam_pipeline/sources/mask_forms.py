"""Rows of masks as run lengths, of what no layout reads: polygons in text, a mask an object."""

import csv
import functools
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from beam_pipeline.files import storage
from beam_pipeline.sources.paths import folder, media_kind, stem
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.table_rows import Files, Row, read_text

_POLYGON = re.compile(r"\(((?:\s*\([^()]+\)\s*,?)+)\)")
_RING = re.compile(r"\(([^()]+)\)")
_IN_COLORS = re.compile(r"(?:rgb-pansharpen|ps-rgb|3band)/")


def spacenet(files: Files, path: str) -> Iterator[Row]:
    """A mask of each building, as run lengths; of several images of a place that in colours."""
    images: dict[str, str] = {}
    of_media = [each for each in files.paths if media_kind(each) == "image"]
    for each in sorted(of_media, key=lambda each: not _IN_COLORS.search(each.lower())):
        words = stem(each).split("_")
        for at in range(len(words)):
            images.setdefault("_".join(words[at:]), each)
    size = functools.cache(files.size)
    for row in csv.DictReader(io.StringIO(read_text(path))):
        image = images[row["ImageId"]]
        runs = _runs_of_polygons(row["PolygonWKT_Pix"], size(image))
        yield {"image": image, "EncodedPixels": runs}


def _runs_of_polygons(text: str, size: tuple[int, int]) -> str:
    """Starts, from 1 down the columns, and lengths of what polygons in well-known text surround."""
    canvas = Image.new("L", size)
    for polygon in _POLYGON.findall(text):
        for number, ring in enumerate(_RING.findall(polygon)):
            corners = [tuple(map(float, corner.split()[:2])) for corner in ring.split(",")]
            ImageDraw.Draw(canvas).polygon(corners, fill=int(number == 0))
    return _runs(np.asarray(canvas))


def of_objects(files: Files, path: str) -> Iterator[Row]:
    """Of each mask, in a folder called like one, of the one image in the folder beside."""
    called = name_of(path)
    masks = [each for each in files.paths if name_of(folder(each)) == called]
    images = {
        folder(folder(each)): each
        for each in files.paths
        if media_kind(each) == "image" and name_of(folder(each)) != called
    }
    for each in masks:
        with storage.opened(files.path(each)) as handle, Image.open(handle) as opened:
            inside = np.asarray(opened.convert("L")) > 0
        yield {"image": images[folder(folder(each))], "EncodedPixels": _runs(inside)}


def _runs(mask: Any) -> str:
    """Starts, from 1 down the columns, and lengths of what is inside of a mask [height, width]."""
    inside = np.pad(np.asarray(mask, np.int8).T.reshape(-1), 1)
    edges = (np.flatnonzero(np.diff(inside)) + 1).tolist()
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return " ".join(f"{start} {stop - start}" for start, stop in pairs)
