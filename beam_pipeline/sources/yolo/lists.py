"""Lists of images, a path a line, and folders that are splits: which image is in which split.

Paths without "absolute" in their name are relative to the tree's origin, with forward slashes.
"""

import posixpath
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from beam_pipeline.records import Rejected, composed
from beam_pipeline.sources.paths import below, folder, stem
from beam_pipeline.sources.references import is_inside
from beam_pipeline.sources.yolo.config import YoloConfig


class YoloLine(NamedTuple):
    """A line of a list of images.

    Attributes:
        split: That the list is of.
        path: Of the list.
        number: Of the line, from 1.
        text: The image as the list names it.
    """

    split: str
    path: str
    number: int
    text: str


def splits_of_images(
    images: Collection[str], lines: Iterable[YoloLine], config: YoloConfig, origin: str
) -> tuple[dict[str, set[str]], list[Rejected]]:
    """The splits of images, and what the lists name that is not there.

    Args:
        images: All images of some names.
        lines: All lines with these names.
        config: Its splits are not None.
        origin: The absolute folder that the images are below.
    """
    splits: dict[str, set[str]] = {image: set() for image in images}
    for split, paths in (config.splits or {}).items():
        for path in paths:
            if not path.endswith(".txt"):
                start = f"{path}/"[len(origin) + 1 :]
                for image in images:
                    if image.startswith(start):
                        splits[image].add(split)
    bases = [base[len(origin) + 1 :] for base in config.bases if is_inside(base, [origin])]
    known = {composed(image): image for image in sorted(images)}
    rejected = []
    for split, path, number, text in lines:
        places = map(composed, listed_places(text, origin, [folder(path), *bases]))
        if (place := next(filter(known.__contains__, places), None)) is not None:
            splits[known[place]].add(split)
        else:
            rejected.append(
                Rejected(
                    source=f"{path}:{number}",
                    reason="missing image",
                    detail=f"{text!r} is listed and is not below {origin}",
                )
            )
    return splits, rejected


def name_in_line(line: str) -> str:
    """The name, without folders and suffix, of the image that a line of a list names."""
    parts = [part for part in line.split("/") if part not in ("", ".", "..")]
    return composed(stem(parts[-1])) if parts else ""


def listed_places(line: str, origin: str, bases: Iterable[str]) -> Iterator[str]:
    """Where an image of a list may be, most likely first.

    Relative to the list, to the dataset's `path` or to the origin; written for another machine,
    it may be below the origin without its first folders.
    """
    if line.startswith(below(origin, "")):
        yield posixpath.normpath(line)[len(below(origin, "")) :]
    elif not line.startswith("/"):
        for base in bases:
            yield posixpath.normpath(posixpath.join(base, line))
    parts = [part for part in line.split("/") if part not in ("", ".", "..")]
    for start in range(len(parts)):
        yield "/".join(parts[start:])
