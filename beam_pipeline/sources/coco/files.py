"""Which files of a folder are COCO's, which split each is, and where its images lie."""

import contextlib
import dataclasses
import re

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected
from beam_pipeline.sources.image_folders import (
    NEXT_TO_IMAGES,
    AnnotationFile,
    annotation_file,
    base_of,
    split_of_file,
)
from beam_pipeline.sources.paths import joined, left_out, stem
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.store.urls import unsigned

# The first kind that is there is read; the others describe the same images otherwise.
_KINDS = (NEXT_TO_IMAGES, "instances", "person_keypoints")
_NO_BOXES = ("captions", "panoptic", "stuff", "image_info")
# Lists of objects, by which COCO's files are told from others with "info" or "licenses".
_LISTS = re.compile(rb'"(images|annotations)"\s*:\s*\[\s*[{\]]')
_FILES_LOOKED_INTO = 20
# Before them LVIS describes 1,203 categories.
_START_BYTES = 1 << 20


def find_coco_files(
    path: str, image_root: str | None, tree: Tree | None = None
) -> tuple[list[AnnotationFile], list[Rejected]]:
    """The annotation files of a COCO dataset, and those left aside with the reason.

    Args:
        path: One JSON file, or a folder with `annotations/instances_<split>.json`,
            Roboflow's `<split>/_annotations.coco.json`, or other JSON files.
        image_root: Where the images are, if not in one of the usual places.
        tree: The folder's, if it was looked at already.

    Raises:
        ConfigError: There is no such file or folder, or no COCO file in it.
    """
    path = storage.absolute(path).rstrip("/") or "/"
    images = storage.absolute(image_root).rstrip("/") if image_root else None
    if not storage.is_directory(path):
        if not storage.exists(path):
            raise ConfigError(f"the COCO input {path} does not exist")
        base = base_of(path)
        relative = unsigned(path).removeprefix(f"{unsigned(base)}/")
        return [dataclasses.replace(_coco_file(base, relative, images), path=path)], []

    candidates = sorted(_json_files(tree or Tree(path)))
    chosen = _choose(candidates)
    looked_into = chosen[:_FILES_LOOKED_INTO]  # a JSON file an image is none of COCO's
    if usable := [file for file in looked_into if is_coco(storage.join(path, file))]:
        chosen = chosen if usable == looked_into else usable
    chosen = _without_unions(chosen)
    if not chosen:
        raise ConfigError(
            f"no COCO annotations in {path}: looked for annotations/instances_<split>.json, "
            f"<split>/{NEXT_TO_IMAGES} and *.json, found {candidates[:5] or 'no JSON file'}; "
            "give the JSON file itself"
        )
    left_aside = [
        left_out(
            relative,
            "not an instances file",
            f"not read with {', '.join(chosen[:3])}; give the file itself to read it",
        )
        for relative in candidates
        if relative not in chosen
    ]
    return [_coco_file(path, relative, images) for relative in chosen], left_aside


def is_coco(path: str) -> bool:
    """Whether a JSON file begins as COCO's do: an object with lists of images or annotations."""
    with contextlib.suppress(RecordError):
        start = storage.read_start(path, _START_BYTES)
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


def _choose(candidates: list[str]) -> list[str]:
    for kind in _KINDS:
        if chosen := [file for file in candidates if name_of(file).startswith(kind)]:
            return chosen
    return [file for file in candidates if not name_of(file).startswith(_NO_BOXES)]


def _without_unions(files: list[str]) -> list[str]:
    """The files but those of trainval, where there are files of both of its parts."""
    splits = {file: (split_of_file(file) or "").lower() for file in files}
    if not {"train", "val"} <= set(splits.values()):
        return files
    return [file for file in files if splits[file] != "trainval"]


def _coco_file(root: str, relative: str, images: str | None) -> AnnotationFile:
    image_set = re.sub(r"^(instances|person_keypoints)_", "", stem(relative))
    return annotation_file(root, relative, images, image_set=image_set)
