"""All layouts: this package's, and those that other packages register.

An entry point of the group `LAYOUT_GROUP` must be a `Layout` with the same name.
"""

from collections.abc import Mapping

from beam_pipeline.option_values import LAYOUT_GROUP
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
from beam_pipeline.sources.masks.read_masks import LAYOUT as MASKS
from beam_pipeline.sources.tables.line_pairs import LAYOUT as LINES
from beam_pipeline.sources.tables.table_layouts import ARROW, CSV, JSONL, PARQUET, XLSX
from beam_pipeline.sources.tar.read_tar import LAYOUT as TAR
from beam_pipeline.sources.texts import CAPTIONS, TRANSCRIPTS
from beam_pipeline.sources.tfrecord.read_tfrecords import LAYOUT as TFRECORD
from tfrecord_dataset import plugins

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
    return {**OWN, **plugins.added(LAYOUT_GROUP, Layout, OWN)}


def layout_named(name: str) -> Layout:
    """Return the layout that `--layout` names; raise ConfigError if it cannot be loaded."""
    return OWN.get(name) or layouts()[name]
