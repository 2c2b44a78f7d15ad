"""The classes of well-known maps, which no file beside them names."""

import re
from collections.abc import Iterable

from beam_pipeline.sources.masks.names import label_kind
from beam_pipeline.sources.masks.tables import Classes
from beam_pipeline.sources.paths import split_at

# http://host.robots.ox.ac.uk/pascal/VOC/voc2012/segexamples/
_VOC = Classes(
    (
        *("background", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat"),
        *("chair", "cow", "diningtable", "dog", "horse", "motorbike", "person", "pottedplant"),
        *("sheep", "sofa", "train", "tvmonitor"),
    )
)
# https://github.com/mcordts/cityscapesScripts, helpers/labels.py: ids, and ids for training.
_CITYSCAPES = Classes(
    (
        *("unlabeled", "ego vehicle", "rectification border", "out of roi", "static", "dynamic"),
        *("ground", "road", "sidewalk", "parking", "rail track", "building", "wall", "fence"),
        *("guard rail", "bridge", "tunnel", "pole", "polegroup", "traffic light"),
        *("traffic sign", "vegetation", "terrain", "sky", "person", "rider", "car", "truck"),
        *("bus", "caravan", "trailer", "train", "motorcycle", "bicycle"),
    )
)
_CITYSCAPES_TRAINING = Classes(
    (
        *("road", "sidewalk", "building", "wall", "fence", "pole", "traffic light"),
        *("traffic sign", "vegetation", "terrain", "sky", "person", "rider", "car", "truck"),
        *("bus", "train", "motorcycle", "bicycle"),
    )
)
# https://www.robots.ox.ac.uk/~vgg/data/pets/: 1 is the pet, 2 what is around it, 3 the border.
_TRIMAPS = Classes(("foreground", "background", "border"), ((1, 1, 1), (2, 2, 2), (3, 3, 3)))

_YEAR_OF_VOC = re.compile(r"voc\d{4}$", re.IGNORECASE)


def classes_of(paths: Iterable[str]) -> Classes | None:
    """The classes of maps at these paths, if they tell whose they are."""
    path = min(paths)
    if kind := label_kind(path):
        return {"labelIds": _CITYSCAPES, "labelTrainIds": _CITYSCAPES_TRAINING}.get(kind)
    if split_at(path, "trimaps"):
        return _TRIMAPS
    home = split_at(path, "segmentationclass")
    return _VOC if home and _YEAR_OF_VOC.search(home[0]) else None
