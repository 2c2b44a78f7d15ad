"""Find COCO files in a tree and their content; claim the layout `coco`."""

import contextlib
import dataclasses
import glob
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.problems import Problem
from beam_pipeline.sources.annotations.item_files import (
    NEXT_TO_IMAGES,
    AnnotationFile,
    below_base,
)
from beam_pipeline.sources.json_items import JsonSign
from beam_pipeline.sources.layout import Claim, Rank
from beam_pipeline.sources.paths import folder, name_of, stem, suffix, uncompressed
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.format.split_names import split_of_name

# Content of files, by feature name; "" for test files, which have no annotations.
BOXES, CLASSES, CAPTIONS, PANOPTIC, NOTHING = "boxes", "label", "captions", "segmentation", ""
UNKNOWN = "by the annotations"
_OTHER = ""
# Start of file names, and the content. Only files of the first kind present are read: the others
# annotate the same images in another way.
_SHOWS = {
    NEXT_TO_IMAGES: BOXES,
    "instances": BOXES,
    "person_keypoints": BOXES,
    _OTHER: UNKNOWN,
    "stuff": BOXES,
    "panoptic": PANOPTIC,
    "captions": CAPTIONS,
}
_IMAGE_SET = re.compile("^(instances|person_keypoints|stuff|panoptic|captions|image_info)_")
# Annotations of videos, and of a file's only image, have no image id. A file without annotations
# names its classes.
_IMAGES = JsonSign("{images[{", "{images[]")
_ANNOTATIONS = JsonSign("{annotations[{image_id")
_NO_ANNOTATIONS = JsonSign("{annotations[]")
_CATEGORIES = JsonSign("{categories[")
# Videos of YouTube-VIS list the names of their frames; annotations follow.
_VIDEOS = JsonSign("{videos[{(file_names|annotations)")
# An image with its own list of objects needs no annotations elsewhere: another format.
_NESTED = JsonSign("{images[{*[{")
_FIRST_IMAGE_BYTES = 1 << 16
_NAMES = (b'"images"', b'"annotations"')
_FILES_LOOKED_INTO = 20
# LVIS lists 1,203 categories before its images.
_START_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class CocoFile(AnnotationFile):
    """A COCO file.

    Attributes:
        shows: BOXES, CLASSES (of whole images), CAPTIONS or PANOPTIC; UNKNOWN until its
            annotations are read.
        captions: The file with captions for its images, which is read along.
        box_format: The format of its boxes.
        keeps_ids: Whether records keep the ids of its images: no other file of its split, whose
            ids could clash.
    """

    shows: str = UNKNOWN
    captions: "CocoFile | None" = None
    box_format: str = "xywh"
    keeps_ids: bool = True


def claim_coco(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim JSON files with COCO's keys in annotations/, the root or one folder below it."""
    found = _json_files(tree)
    reads = _chosen(tree, found, is_named=config.layout == "coco")
    if not reads:
        return _claim_of_videos(tree, found)
    files = coco_files(tree.input, reads, config)
    return Claim(
        layout="coco",
        rank=Rank.ANNOTATIONS,
        path=tree.input,
        reads=tuple(reads),
        understood=(("files", ", ".join(map(_described, files))),),
        plan=files,
    )


def _json_files(tree: Tree) -> list[str]:
    """JSON files in `annotations/` if it exists, else in the root or one folder below it."""
    paths = tree.files_with("json") if tree.is_folder else tree.files() if tree.is_file else ()
    found = [each for each in paths if each.count("/") < 2 and suffix(uncompressed(each)) == "json"]
    return [each for each in found if folder(each).lower() == "annotations"] or found


def _chosen(tree: Tree, found: Sequence[str], *, is_named: bool) -> list[str]:
    """Files of the first kind, plus captions if present for all of their images."""
    kinds = {kind: [each for each in found if _kind(each) == kind] for kind in _SHOWS}
    for kind, files in kinds.items():
        if not is_named or (kind == _OTHER and tree.is_folder):
            files = [each for each in files[:_FILES_LOOKED_INTO] if is_coco(tree.path(each))]
        if not files:
            continue
        splits = {file: (split_of_name(file) or "").lower() for file in files}
        if {"train", "val"} <= {*splits.values()}:
            files = [file for file in files if splits[file] != "trainval"]
        captions = {_image_set(each): each for each in kinds["captions"]}
        sets = [*map(_image_set, files)]
        if kind in ("instances", "person_keypoints") and captions.keys() >= {*sets}:
            files += [captions[each] for each in sets]
        return files
    return []


def _kind(relative: str) -> str:
    """Kind of a file by its name, one of `_SHOWS`."""
    name = name_of(relative)
    return next((show for show in _SHOWS if show != _OTHER and name.startswith(show)), _OTHER)


def _image_set(relative: str) -> str:
    """Name of a file's image set: "train2017"."""
    return _IMAGE_SET.sub("", stem(relative))


def _described(file: CocoFile) -> str:
    with_captions = f" with {file.captions.relative}" if file.captions else ""
    return file.relative + (f" ({file.split})" if file.split else "") + with_captions


def _claim_of_videos(tree: Tree, found: Sequence[str]) -> Claim | None:
    """Claim video annotations, which are not read, lest folders of frames be read as classes."""
    path = next((each for each in found if _is_of_videos(tree.path(each))), "")
    if not path or not tree.files_of("image"):
        return None
    facts = {
        "path": path,
        "what": "a COCO file of videos, without images",
        "remedy": "list the frames as its images (docs/from/convert.md), or leave it out with "
        f"--ignore {shlex.quote(glob.escape(path))}",
    }
    problem = Problem(code="format not read", facts=facts)
    return Claim(layout="coco", rank=Rank.TABLE, path=tree.input, reads=(path,), problem=problem)


def _start(path: str) -> bytes:
    with contextlib.suppress(RecordError):
        return storage.read_start(path, _START_BYTES)
    return b""


def _is_of_videos(path: str) -> bool:
    start = _start(path)
    return b'"videos"' in start and _VIDEOS.search(start) and not _IMAGES.search(start)


def is_coco(path: str) -> bool:
    """Whether a JSON file begins like COCO's: an object with lists of images or annotations."""
    start = _start(path)
    if not any(name in start for name in _NAMES):  # a hundredth of the time
        return False
    if _IMAGES.search(start) and not _NESTED.search(start[:_FIRST_IMAGE_BYTES]):
        return True
    if _ANNOTATIONS.search(start):
        return True
    return bool(_NO_ANNOTATIONS.search(start) and _CATEGORIES.search(start))


def coco_files(path: str, reads: Sequence[str], config: BuildConfig) -> list[CocoFile]:
    """The files of a claim, each with the captions of its images if they are read along."""
    files = [
        replace(
            CocoFile.of(root, relative, config, image_set=_image_set(relative)),
            shows=_SHOWS[_kind(relative)],
            box_format=config.box_format or "xywh",
        )
        for root, relative in below_base(path, reads)
    ]
    own = [file for file in files if file.shows != CAPTIONS] or files
    captions = {_image_set(file.relative): file for file in files if file not in own}
    keeps_ids = len({file.split for file in own}) == len(own)
    return [
        replace(file, captions=captions.get(_image_set(file.relative)), keeps_ids=keeps_ids)
        for file in own
    ]
