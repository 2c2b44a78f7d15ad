"""The layout `coco`: JSON files of boxes, and images that they name."""

import re

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.coco.files import find_coco_files
from beam_pipeline.sources.coco.read import ReadCoco
from beam_pipeline.sources.layout import Layout, Place
from beam_pipeline.sources.tree import Tree, head, joined

_KEY = re.compile(rb'"(images|annotations|categories|info|licenses)"\s*:')
_FILES_LOOKED_INTO = 5


def _read(path: str, config: BuildConfig, scratch: str) -> beam.PTransform:
    return ReadCoco(path, config.image_root or None, config.box_format)


def find_coco(tree: Tree) -> list[Place]:
    """JSON files with COCO's keys, in annotations/, at the top or one folder below."""
    folders = sorted(tree.look().folders, key=lambda name: name.lower() != "annotations")
    candidates = [
        joined(folder, name)
        for folder in ("", *folders)
        for name in tree.look(folder).files
        if name.lower().endswith(".json")
    ]
    if not any(is_coco(tree.path(path)) for path in candidates[:_FILES_LOOKED_INTO]):
        return []
    try:
        files, _ = find_coco_files(tree.root, None)
    except ConfigError:
        return []
    usable = [file for file in files if is_coco(file.path)]
    what = ", ".join(file.relative + (f" ({file.split})" if file.split else "") for file in usable)
    if len(usable) == 1 < len(files):
        return [Place(usable[0].relative, what)]
    return [Place("", what)] if usable else []


def is_coco(path: str) -> bool:
    """Whether a JSON file begins as COCO's do."""
    return _KEY.search(head(path)) is not None


def _accept(folder: str) -> str:
    return find_coco_files(folder, None)[0][0].relative


LAYOUT = Layout(
    name="coco",
    sign="annotations/instances_*.json, <split>/_annotations.coco.json, another COCO .json",
    kind="annotations",
    read=_read,
    suffixes=("json",),
    find=find_coco,
    accept=_accept,
    begins=is_coco,
)
