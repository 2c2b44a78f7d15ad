"""The layout `coco`: JSON files of boxes, and images that they name."""

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.coco.files import CocoFile, find_coco_files, is_coco
from beam_pipeline.sources.coco.read import ReadCoco
from beam_pipeline.sources.layout import Layout, Place, read_by
from beam_pipeline.sources.tree import Tree


def find_coco(tree: Tree) -> list[Place]:
    """JSON files with COCO's keys, in annotations/, at the top or one folder below."""
    try:
        files, aside = find_coco_files(tree.root, tree=tree)
    except ConfigError:
        return []
    if not is_coco(files[0].path):  # else all are
        return []
    what = ", ".join(map(_described, (file for file in files if not file.captions_of)))
    read = (*(file.relative for file in files), *(each.source for each in aside))
    return [Place("", what, files=read)]


def _described(file: CocoFile) -> str:
    with_captions = f" with {file.captions}" if file.captions else ""
    return file.relative + (f" ({file.split})" if file.split else "") + with_captions


LAYOUT = Layout(
    name="coco",
    sign="annotations/instances_*.json, <split>/_annotations.coco.json, another COCO .json",
    kind="annotations",
    **read_by(ReadCoco),
    suffixes=("json",),
    find=find_coco,
    accept=lambda folder: find_coco_files(folder)[0][0].relative,
    begins=is_coco,
)
