"""Which files of a folder are COCO's, which split each is, and where its images lie."""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Sequence

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected
from beam_pipeline.sources.beside import not_read
from beam_pipeline.sources.image_folders import (
    NEXT_TO_IMAGES,
    AnnotationFile,
    annotation_file,
    base_of,
    split_of_file,
)
from beam_pipeline.sources.karpathy import SENTENCES
from beam_pipeline.sources.paths import joined, left_out, stem
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.store.urls import unsigned

# What files show, by the name of its feature.
BOXES, CLASSES, CAPTIONS, PANOPTIC = "boxes", "label", "captions", "segmentation"
_OTHER = ""
_UNANNOTATED = "image_info"  # of COCO's test
# How files begin, and what they show; the first kind that is there is read, as the others describe
# the same images otherwise. What has another name tells by its annotations.
_SHOWS = {
    NEXT_TO_IMAGES: BOXES,
    "instances": BOXES,
    "person_keypoints": BOXES,
    _OTHER: "",
    "stuff": BOXES,
    "panoptic": PANOPTIC,
    "captions": CAPTIONS,
    _UNANNOTATED: BOXES,
}
_IMAGE_SET = re.compile(
    f"^({'|'.join(name for name in _SHOWS if name not in (NEXT_TO_IMAGES, _OTHER))})_"
)
# Lists of objects, by which COCO's files are told from others with "info" or "licenses".
_LISTS = re.compile(rb'"(images|annotations)"\s*:\s*\[\s*[{\]]')
_FILES_LOOKED_INTO = 20
# Before them LVIS describes 1,203 categories.
_START_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CocoFile(AnnotationFile):
    """One of COCO's files.

    Attributes:
        shows: BOXES, CLASSES of whole images, CAPTIONS or PANOPTIC; "" where its annotations tell.
        captions: The file of the captions of its images, which is read with it; "" for none.
        captions_of: Of a file of captions that is read with another, the other.
    """

    shows: str = ""
    captions: str = ""
    captions_of: str = ""


def find_coco_files(
    path: str,
    image_root: str | None = None,
    tree: Tree | None = None,
    allowed: Sequence[str] = (),
) -> tuple[list[CocoFile], list[Rejected]]:
    """The annotation files of a COCO dataset, and those left aside with the reason.

    Files of captions follow those of boxes whose images they are of.

    Args:
        path: One JSON file, or a folder with `annotations/instances_<split>.json`,
            Roboflow's `<split>/_annotations.coco.json`, or other JSON files.
        image_root: Where the images are, if not in one of the usual places.
        tree: The folder's, if it was looked at already.
        allowed: Folders elsewhere whose images may be named, too.

    Raises:
        ConfigError: There is no such file or folder, or no COCO file in it.
    """
    path = storage.absolute(path).rstrip("/") or "/"
    images = storage.absolute(image_root).rstrip("/") if image_root else None
    made = functools.partial(_coco_file, images=images, allowed=allowed)
    if not storage.is_directory(path):
        if not storage.exists(path):
            raise ConfigError(f"the COCO input {path} does not exist")
        base = base_of(path)
        relative = unsigned(path).removeprefix(f"{unsigned(base)}/")
        return [dataclasses.replace(made(base, relative), path=path)], []

    candidates = sorted(_json_files(tree or Tree(path)))
    chosen = _without_unions(_choose(candidates, path))
    if not chosen:
        raise ConfigError(
            f"no COCO annotations in {path}: looked for annotations/instances_<split>.json, "
            f"<split>/{NEXT_TO_IMAGES} and *.json, found {candidates[:5] or 'no JSON file'}; "
            "give the JSON file itself"
        )
    files = _with_captions([made(path, relative) for relative in chosen], candidates)
    files += [
        dataclasses.replace(made(path, file.captions), captions_of=file.relative)
        for file in files
        if file.captions
    ]
    others, beside = list[Rejected](), f"not read with {', '.join(chosen[:3])}"
    for relative in sorted({*candidates}.difference(file.relative for file in files)):
        is_looked_into = len(others) < _FILES_LOOKED_INTO and _kind(relative) == _OTHER
        if is_looked_into and not is_coco(storage.join(path, relative)):
            others.append(not_read(relative))
        else:
            detail = f"{beside}; {_remedy(relative, candidates)} to read it"
            others.append(left_out(relative, "not an instances file", detail))
    return files, others


def is_coco(path: str) -> bool:
    """Whether a JSON file begins as COCO's do: an object with lists of images or annotations.

    In Karpathy's, which does, too, each image has its sentences; other programs' have their own
    signs.
    """
    with contextlib.suppress(RecordError):
        start = storage.read_start(path, _START_BYTES)
        if SENTENCES.search(start):
            return False
        return start.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"{" and bool(_LISTS.search(start))
    return False


def _json_files(tree: Tree) -> list[str]:
    """JSON files in `annotations/` if there, else in the root or one folder below it."""
    folders = tree.first_folders()
    for among in ([name for name in folders if name.lower() == "annotations"], ["", *folders]):
        found = [
            joined(folder, name)
            for folder in among
            for name in tree.look(folder).files
            if name.lower().endswith(".json")
        ]
        if found:
            return found
    return []


def _kind(relative: str) -> str:
    """What a file is by its name, one of `_SHOWS`."""
    name = name_of(relative)
    return next((each for each in _SHOWS if each != _OTHER and name.startswith(each)), _OTHER)


def _choose(candidates: list[str], path: str) -> list[str]:
    """The files of the first kind of which some begin as COCO's do; else of the first."""
    first: list[str] = []
    for kind in (each for each in _SHOWS if each != _UNANNOTATED):
        chosen = [file for file in candidates if _kind(file) == kind]
        looked_into = chosen[:_FILES_LOOKED_INTO]  # a JSON file an image is none of COCO's
        if usable := [file for file in looked_into if is_coco(storage.join(path, file))]:
            return chosen if usable == looked_into else usable
        first = first or chosen
    return first


def _remedy(relative: str, candidates: list[str]) -> str:
    """What makes a file that is left aside one of those that are read."""
    kinds, own = [*_SHOWS], _kind(relative)
    found = set(map(_kind, candidates))
    there = [kind for kind in kinds[: kinds.index(own)] if kind in found]
    if not there or own == _UNANNOTATED or found & {_OTHER, NEXT_TO_IMAGES}:
        return "give the file itself"
    return " ".join(["pass", *(f"--ignore '{kind}*'" for kind in there)])


def _with_captions(files: list[CocoFile], candidates: list[str]) -> list[CocoFile]:
    """Files of boxes with those of the captions of the same images, if each has one."""
    if not all(_kind(file.relative) in ("instances", "person_keypoints") for file in files):
        return files
    captions = {_image_set(each): each for each in candidates if _kind(each) == "captions"}
    sets = [_image_set(file.relative) for file in files]
    if not captions.keys() >= set(sets):
        return files
    return [
        dataclasses.replace(file, captions=captions[image_set])
        for file, image_set in zip(files, sets, strict=True)
    ]


def _without_unions(files: list[str]) -> list[str]:
    """The files but those of trainval, where there are files of both of its parts."""
    splits = {file: (split_of_file(file) or "").lower() for file in files}
    if not {"train", "val"} <= set(splits.values()):
        return files
    return [file for file in files if splits[file] != "trainval"]


def _image_set(relative: str) -> str:
    """The images that a file is of: "train2017"."""
    return _IMAGE_SET.sub("", stem(relative))


def _coco_file(root: str, relative: str, images: str | None, allowed: Sequence[str]) -> CocoFile:
    image_set = _image_set(relative)
    file = annotation_file(root, relative, images, image_set=image_set, allowed=allowed)
    known = {each.name: getattr(file, each.name) for each in dataclasses.fields(file)}
    return CocoFile(**known, shows=_SHOWS[_kind(relative)])
