"""The layout `yolo`: a data.yaml, or text files of boxes and their images."""

import re

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.layout import Layout, Place, first_file
from beam_pipeline.sources.paths import folder, split_at, suffix
from beam_pipeline.sources.side_files.files import Survey
from beam_pipeline.sources.side_files.pairing import known_of, pair
from beam_pipeline.sources.tree import Tree, counted, places
from beam_pipeline.sources.yolo.config import (
    YoloConfig,
    find_config,
    find_data_yaml,
    read_data_yaml,
)
from beam_pipeline.sources.yolo.files import YoloFiles
from beam_pipeline.sources.yolo.read import ReadYolo

_LINE = re.compile(rb"\s*\d+(\.0*)?([ \t]+[-+]?[\d.]+([eE][-+]?\d+)?){4,}\s*?(\n|$)")
_FILES_LOOKED_INTO = 5


def _read(path: str, config: BuildConfig, scratch: str) -> beam.PTransform:
    return ReadYolo(path, config.allow_outside)


def find_yolo(tree: Tree) -> list[Place]:
    """A data.yaml; or text files of YOLO's lines in labels/ or beside their images."""
    files = tree.look().files
    if path := find_data_yaml(tree.root, files):
        return [Place("", f"{path.rpartition('/')[2]}{_summary(path)}")]
    by_folder: dict[str, list[str]] = {}
    for path in _labels(tree):
        by_folder.setdefault(folder(path), []).append(path)
    counts = {
        home: len(paths)
        for home, paths in by_folder.items()
        if any(_LINE.match(tree.head(path)) for path in paths[:_FILES_LOOKED_INTO])
    }
    if not counts:
        return []
    what = f"{tree.at_least}{counted(sum(counts.values()), 'label file')} in {places(counts)}"
    try:
        config = find_config(tree.root)
    except ConfigError:  # reading it tells why
        return [Place("", what)]
    if tree.only_folder and not (config.names or config.splits):
        return []  # that folder may have names
    source = config.source.removeprefix(f"{tree.root}/")
    names = f"class names in {source}" if config.names else "no class names"
    splits = f", splits {', '.join(config.splits)}" if config.splits else ""
    return [Place("", f"{what}, {names}{splits}")]


def _labels(tree: Tree) -> list[str]:
    """The label files of a tree, those in labels/ first."""
    files = YoloFiles(tree.root, YoloConfig(root=tree.root))
    known = known_of(tree.files(), files, Survey(), tree.root)
    told = files.folders_told(pair(known, files).folders)
    labels = [
        path
        for path in tree.files()
        if folder(path) in told.labels and files.role(path, Survey()) == "annotation"
    ]
    return sorted(labels, key=lambda path: (not split_at(path, files.home), path))


def _summary(path: str) -> str:
    """What a data.yaml says; nothing if it is unusable: reading it tells why."""
    try:
        config = read_data_yaml(path)
    except ConfigError:
        return ""
    classes = f" with {counted(len(config.names), 'class')}" if config.names else ""
    return classes + (f", splits {', '.join(config.splits)}" if config.splits else "")


LAYOUT = Layout(
    name="yolo",
    sign="a data.yaml, or .txt files in labels/ or next to their images",
    kind="annotations",
    read=_read,
    suffixes=("yaml", "yml"),
    find=find_yolo,
    accept=lambda folder: first_file(folder, lambda file: suffix(file) == "txt"),
)
