"""The layout `voc`: XML files, and the images that they annotate."""

import re

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.sources.layout import Layout, Place, first_file
from beam_pipeline.sources.paths import suffix
from beam_pipeline.sources.side_files.finding import annotations_in, described
from beam_pipeline.sources.tree import Tree
from beam_pipeline.sources.voc.read import ReadVoc, VocFiles

_ROOT = re.compile(rb"<annotation[\s>]")
_CVAT = re.compile(rb"<annotations[\s>]")
_CVAT_REMEDY = (
    "its XML is CVAT's own, with all images in one <annotations>; export it from CVAT as COCO 1.0 "
    "or Pascal VOC 1.1"
)


def _read(path: str, config: BuildConfig, scratch: str) -> beam.PTransform:
    return ReadVoc(path, config.box_format)


def find_voc(tree: Tree) -> list[Place]:
    """XML files with the root <annotation>, below Annotations/ or anywhere."""
    files = VocFiles()
    by_folder = annotations_in(tree, files)
    heads = {home: tree.head(paths[0]) for home, paths in by_folder.items()}
    counts = {home: len(paths) for home, paths in by_folder.items() if _ROOT.search(heads[home])}
    if not counts:
        of_cvat = [by_folder[home][0] for home, head in heads.items() if _CVAT.search(head)]
        return [Place("", f"{of_cvat[0]} of CVAT", _CVAT_REMEDY)] if of_cvat else []
    return [Place("", described(tree, files, counts))]


LAYOUT = Layout(
    name="voc",
    sign="Annotations/*.xml, or .xml files next to their images",
    kind="annotations",
    read=_read,
    find=find_voc,
    accept=lambda folder: first_file(folder, lambda file: suffix(file) == "xml"),
)
