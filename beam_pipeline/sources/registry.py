"""All layouts: this package's, and those that other packages register.

An entry point (`option_values.registered_layouts`) must be a `Layout` with the same name.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint

from beam_pipeline import option_values
from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.annotations.coco.read_coco import LAYOUT as COCO
from beam_pipeline.sources.annotations.cvat import LAYOUT as CVAT
from beam_pipeline.sources.annotations.json_item_files import BDD100K, CREATEML, KARPATHY, VIA, VOTT
from beam_pipeline.sources.annotations.json_side_files import LABELME, SUPERVISELY
from beam_pipeline.sources.annotations.label_studio import LAYOUT as LABEL_STUDIO
from beam_pipeline.sources.annotations.line_files import DOTA, KITTI, MOT, VISDRONE, WIDER_FACE
from beam_pipeline.sources.annotations.voc import LAYOUT as VOC
from beam_pipeline.sources.annotations.yolo import LAYOUT as YOLO
from beam_pipeline.sources.arrays import LAYOUT as ARRAYS
from beam_pipeline.sources.folders.read_folders import LAYOUT as FOLDERS
from beam_pipeline.sources.idx import LAYOUT as IDX
from beam_pipeline.sources.layout import Layout
from beam_pipeline.sources.masks.layout import LAYOUT as MASKS
from beam_pipeline.sources.tables.line_pairs import LAYOUT as LINES
from beam_pipeline.sources.tables.table_layouts import ARROW, CSV, JSONL, PARQUET, XLSX
from beam_pipeline.sources.tar.read_tar import LAYOUT as TAR
from beam_pipeline.sources.texts import CAPTIONS, TRANSCRIPTS
from beam_pipeline.sources.tfrecord.read_tfrecords import LAYOUT as TFRECORD

# In the order of `option_values.OWN_LAYOUTS`.
_OWN = (
    *(FOLDERS, COCO, VOC, YOLO, KITTI, LABELME, MASKS, DOTA, LABEL_STUDIO, CVAT, VIA, CREATEML),
    *(KARPATHY, VOTT, SUPERVISELY, BDD100K, VISDRONE, WIDER_FACE, MOT, CAPTIONS, TRANSCRIPTS),
    *(CSV, JSONL, XLSX, PARQUET, ARROW, LINES, TAR, ARRAYS, IDX, TFRECORD),
)
OWN: Mapping[str, Layout] = {layout.name: layout for layout in _OWN}
"""This package's layouts by name."""


def layouts() -> Mapping[str, Layout]:
    """Return all layouts by name.

    Raises:
        ConfigError: An entry point of another package is not a `Layout`, or its name is taken.
    """
    registered = dict(OWN)
    for entry in option_values.registered_layouts():
        if entry.name in registered:
            raise _error(entry, "there is a layout of this name")
        registered[entry.name] = _load(entry)
    return registered


def layout_named(name: str) -> Layout:
    """Return the layout that `--layout` names; raise ConfigError if it cannot be loaded."""
    return OWN.get(name) or layouts()[name]


def registered_packages() -> set[str]:
    """Return the packages that register layouts."""
    return {entry.module.partition(".")[0] for entry in option_values.registered_layouts()}


def _load(entry: EntryPoint) -> Layout:
    try:
        layout = entry.load()
    except Exception as error:  # importing another package's module may raise anything
        raise _error(entry, f"{type(error).__name__}: {error}") from error
    if not isinstance(layout, Layout) or layout.name != entry.name:
        raise _error(entry, f"it is {layout!r}, not a Layout of this name")
    return layout


def _error(entry: EntryPoint, why: str) -> ConfigError:
    package = entry.dist.name if entry.dist else entry.value
    return ConfigError(
        f"the layout {entry.name!r} of the package {package} cannot be used: {why}; fix the "
        "package or uninstall it"
    )
