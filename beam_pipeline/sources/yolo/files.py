"""YOLO's label files: which image each is of, which splits are stated, and what stays unused."""

import dataclasses
import functools
import itertools
import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import DeclaredClasses, Rejected, composed
from beam_pipeline.sources.annotations.shapes import Told
from beam_pipeline.sources.beside import unused
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.paths import (
    below,
    folder,
    has_image_suffix,
    left_out,
    split_at,
    stem,
    suffix,
)
from beam_pipeline.sources.references import is_inside, last_parts
from beam_pipeline.sources.side_files.files import Folders, Line, Match, Pair, SideFiles, Survey
from beam_pipeline.sources.yolo.config import YoloConfig, home_of
from beam_pipeline.sources.yolo.darknet import NAME_LISTS
from beam_pipeline.sources.yolo.labels import check_keypoints, parse_labels
from tfrecord_dataset.split_names import is_split, split_of_folders


class YoloFolders(NamedTuple):
    """What the folders of all files tell.

    Attributes:
        labels: Folders `labels`, and those in them, with text files that may be labels; and
            those with a label file beside its image: all text files there are labels.
        images: The folders of the dataset's images. Those called `images`, or in such; without
            any, those that have label files.
        in_splits: Whether every image of the dataset lies in the folder of a split.
    """

    labels: frozenset[str]
    images: frozenset[str]
    in_splits: bool


@dataclasses.dataclass(frozen=True)
class YoloFiles(SideFiles):
    """Text files in a folder `labels`, or in one where one at least lies beside its image.

    As in Ultralytics, the last folder `images` has its labels in a folder `labels` in its place,
    under the same name but for the suffix; or the label file lies beside the image. An image needs
    none.

    Attributes:
        origin: The absolute folder that paths are relative to.
        config: The dataset's description.
    """

    suffix = "txt"
    noun = "label file"
    home = "labels"
    lists_images = True
    is_shared = True

    origin: str
    config: YoloConfig

    def role(self, path: str, survey: Survey) -> str:
        if has_image_suffix(path):
            return "image"
        if below(self.origin, path) in self._description:
            return "list"
        if self.config.names is not None and path.rpartition("/")[2] in NAME_LISTS:
            return "list"  # a copy of the list that is read
        return "annotation" if suffix(path) == self.suffix and _may_be_label(path) else ""

    @functools.cached_property
    def _description(self) -> Collection[str]:
        return {self.config.source, self.config.names_list}.union(
            *(self.config.splits or {}).values()
        )

    def image_key(self, image: str) -> str:
        return pair_key(image)

    def image_keys(self, annotation: str, name: str) -> Sequence[str]:
        return [pair_key(annotation)]

    def owners(self, annotations: Sequence[str]) -> Sequence[str]:
        return [path for path in annotations if split_at(path, self.home)][:1] or annotations[:1]

    def lines(self, survey: Survey, root: str) -> Iterator[Line | Rejected | DeclaredClasses]:
        if self.config.names is not None:
            yield DeclaredClasses(feature="boxes", names=self.config.names)
        for split, paths in (self.config.splits or {}).items():
            for path in paths:
                if not path.endswith(".txt"):
                    continue
                source = path[len(root) :].lstrip("/")
                try:
                    text = storage.read_text(path)
                except RecordError as error:
                    yield Rejected.of(source, error)
                    continue
                for number, line in enumerate(text.splitlines(), start=1):
                    if line := line.strip().replace("\\", "/"):
                        *_, name = "", *last_parts(line)
                        yield Line(composed(stem(name)), source, number, split, line)

    def names_in_lists(self, path: str, survey: Survey) -> Collection[str]:
        return [composed(path)]

    def names_of_line(self, line: Line, survey: Survey) -> Sequence[str]:
        start = len(self.origin) + 1
        bases = [base[start:] for base in self.config.bases if is_inside(base, [self.origin])]
        places = listed_places(line.text, self.origin, [folder(line.path), *bases])
        return [*map(composed, places), line.source]

    def unfound(self, line: Line) -> Rejected:
        return Rejected(
            source=line.source,
            reason="missing image",
            detail=f"{line.text!r} is listed and is not below {self.origin}",
        )

    def splits_of_folder(self, path: str) -> Collection[str]:
        return {
            split
            for split, places in (self.config.splits or {}).items()
            for place in places
            if not place.endswith(".txt") and path.startswith(f"{place}/"[len(self.origin) + 1 :])
        }

    def settled(self, folders: Folders, root: str) -> YoloFolders:
        if self.config.keypoint_shape is None:
            check_keypoints(root, folders.first)
        return self.folders_told(folders)

    def folders_told(self, folders: Folders) -> YoloFolders:
        """What the folders of all files tell."""
        proper = {home for home in folders.annotations if split_at(f"{home}/", "labels")}
        mixed = {home for image_home, home in folders.paired if image_home == home}
        images = frozenset(home for home in folders.images if split_at(f"{home}/", "images"))
        images = images or folders.images & (proper | mixed)
        return YoloFolders(
            labels=frozenset(proper | mixed),
            images=images,
            in_splits=bool(images) and all(split_of_folders(f"{home}/") for home in images),
        )

    def judge(
        self, match: Match, survey: Survey, settled: YoloFolders
    ) -> Iterator[Pair | Rejected]:
        image, label, stated, _ = match
        splits = None if self.config.splits is None else sorted(stated)
        if not image:
            yield self.without_image(label) if folder(label) in settled.labels else unused(label)
        elif splits is None and folder(image) not in settled.images:
            yield unused(image)
        elif not settled.labels:
            yield Rejected(
                source=image,
                reason="no label file",
                detail="no image of the dataset has one; labels/ must be next to images/",
            )
        elif splits is None:
            yield Pair(image, label, split_of_folders(image) if settled.in_splits else None)
        elif not splits:
            yield left_out(image, "in no split", "no split names it")
        elif len(splits) > 1:
            yield Rejected(
                source=image,
                reason="in two splits",
                detail=f"the image is in {', '.join(splits)}; take it out of all but one",
            )
        else:
            yield Pair(image, label, splits[0])

    def parse(self, data: bytes, annotation: str) -> Told:
        boxes = parse_labels(
            storage.decoded(data, annotation),
            names=self.config.names,
            keypoint_shape=self.config.keypoint_shape or None,
            keypoint_names=self.config.keypoint_names,
            keypoint_flips=self.config.keypoint_flips,
        )
        leaves_names = self.config.names_differ and boxes.keypoints
        left = ["keypoint names"] * (len(boxes.keypoints) if leaves_names else 0)
        return {"boxes": boxes}, not_kept(left)


def _may_be_label(path: str) -> bool:
    name = path.rpartition("/")[2]
    return not (
        name in NAME_LISTS
        or name.lower().startswith(("readme", "license"))
        or (is_split(stem(name)) and not split_at(path, "labels"))
    )


def pair_key(path: str) -> str:
    """What an image and its label file have in common."""
    around = (suffix(path) == "txt" and split_at(path, "labels")) or split_at(path, "images")
    parts = (around[0], "images", around[1], stem(path)) if around else (folder(path), stem(path))
    return composed("/".join(filter(None, parts)))


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
    yield from last_parts(line)


def origin_of(config: YoloConfig) -> str:
    """The absolute folder that keys are relative to: the input's, if all splits lie below it."""
    levels = zip(*(path.split("/") for path in listed_folders(config)), strict=False)
    shared = itertools.takewhile(lambda names: len(set(names)) == 1, levels)
    return "/".join(names[0] for names in shared)


def listed_folders(config: YoloConfig) -> list[str]:
    """The absolute folders that hold all images and labels: the root, if it does."""
    paths = [path for paths in (config.splits or {}).values() for path in paths]
    if all(is_inside(path, [config.root]) for path in paths):
        return [config.root]
    homes = set(map(home_of, paths))
    return sorted(home for home in homes if not is_inside(home, homes - {home}))


def folders_below(origin: str, config: YoloConfig) -> list[str]:
    """The folders to list, below `origin`."""
    return [path[len(origin) :].lstrip("/") for path in listed_folders(config)]
