"""The names of all layouts, for options; `sources.registry` has the layouts themselves.

A package adds one by an entry point of the group "beam_tfrecords.layouts" (docs/own-source.md).
"""

import functools
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points

GROUP = "beam_tfrecords.layouts"
AUTO = "auto"

OWN = (
    *("folders", "coco", "voc", "yolo", "kitti", "labelme", "masks", "dota", "labelstudio"),
    *("cvat", "via", "createml", "karpathy", "vott", "supervisely", "bdd100k", "visdrone"),
    *("widerface", "mot", "captions", "transcripts", "csv", "jsonl", "xlsx", "parquet"),
    *("arrow", "sqlite", "tar", "arrays", "idx", "tfrecord"),
)


def layout_names() -> list[str]:
    """Return the values of `--layout`, "auto" first, without importing registered packages."""
    return [AUTO, *dict.fromkeys([*OWN, *(entry.name for entry in registered())])]


@functools.cache  # searches every installed package
def registered() -> Sequence[EntryPoint]:
    """The layouts of other packages, by name."""
    return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
