"""Classes of well-known maps, which their paths tell."""

import re
from collections.abc import Iterable

from beam_pipeline.sources.masks.meaning import Classes
from beam_pipeline.sources.masks.names import label_kind
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

# https://github.com/CAPTAIN-WHU/iSAID_Devkit and MMSegmentation's numbers of its colours.
_ISAID = Classes(
    (
        *("background", "ship", "storage_tank", "baseball_diamond", "tennis_court"),
        *("basketball_court", "ground_track_field", "bridge", "large_vehicle", "small_vehicle"),
        *("helicopter", "swimming_pool", "roundabout", "soccer_ball_field", "plane", "harbor"),
    ),
    (
        *((0, 0, 0), (0, 0, 63), (0, 63, 63), (0, 63, 0), (0, 63, 127), (0, 63, 191)),
        *((0, 63, 255), (0, 127, 63), (0, 127, 127), (0, 0, 127), (0, 0, 191), (0, 0, 255)),
        *((0, 191, 127), (0, 127, 191), (0, 127, 255), (0, 100, 155)),
    ),
)
# https://doc.bdd100k.com/format.html
_DRIVABLE = Classes(("direct", "alternative", "background"))

_KNOWN = (
    (re.compile(r"labels/drivable/masks/"), _DRIVABLE),
    (re.compile(r"labels/sem_seg/masks/|_train_id\.png$"), _CITYSCAPES_TRAINING),  # of BDD100K
    (re.compile(r"training/semantic/\d{6}_\d\d\.png$"), _CITYSCAPES),  # of KITTI
)
_YEAR_OF_VOC = re.compile(r"voc\d{4}$", re.IGNORECASE)


def classes_of(paths: Iterable[str]) -> Classes | None:
    """The classes of maps at these paths, if they tell whose they are."""
    path = min(paths)
    known = next((classes for sign, classes in _KNOWN if sign.search(path)), None)
    if known:
        return known
    if "_instance_color_RGB." in path:
        return Classes(_ISAID.names) if split_at(path, "ann_dir") else _ISAID
    if "_gt" in path and (kind := label_kind(path)):
        return {"labelIds": _CITYSCAPES, "labelTrainIds": _CITYSCAPES_TRAINING}.get(kind)
    if split_at(path, "trimaps"):
        return _TRIMAPS
    home = split_at(path, "segmentationclass")
    return _VOC if home and _YEAR_OF_VOC.search(home[0]) else None
