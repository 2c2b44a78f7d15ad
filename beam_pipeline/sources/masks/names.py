"""Names of maps and their folders: detect maps, their images and their content."""

import functools
import re
from typing import NamedTuple

from beam_pipeline.sources.paths import folder, shared_name
from tfrecord_dataset.format.split_names import split_of_folders

IMAGES, CLASSES, DEPTH = "images", "classes", "depth"
_OTHERS = "others"  # maps of instances, or colours of other maps

_WORDS = {
    IMAGES: "images image imgs img jpegimages leftimg8bit rgb photos img_dir image_2",
    CLASSES: "masks mask annotations annotation annots annot labels label gt gts groundtruth "
    "ground_truth segmentation segmentations trimaps segmentationclass segmentationclassraw "
    "segmentationclasspng segmentationclassaug gtfine gtcoarse stuffthingmaps "
    "stuffthingmaps_trainval2017 manual 1st_manual 2nd_manual ann_dir semantic semantic_masks",
    _OTHERS: "instance instances instance_masks panoptic semantic_rgb colormaps color_labels "
    "bitmasks segmentationobject",
    DEPTH: "depth depths depth_map depth_maps depthmaps",
}
_HOMES = {word: role for role, words in _WORDS.items() for word in words.split()}
# Suffixes that follow the image's name.
_MARK = re.compile(
    r"(?<=[^ _\-.])[ _\-.]+(masks?|segm?|segmentation|labels?|label_?ids|trimaps?|mattes?"
    r"|gt|ground_?truth|annot?|annotations?|1stho|2ndho|manual|l|p)([ _\-.]?\d+)?$",
    re.IGNORECASE,
)
# "train_masks", "trainannot", "val_images": images and maps share the part before.
_ENDS = re.compile(
    r"(?<=[a-z0-9])(?:[ _-]?(?P<classes>masks?|annot|annotations?|labels?)"
    r"|[ _-](?P<gt>gt|ground_?truth|lab)|[ _-](?P<depth>depths?)|[ _-](?P<images>images?|imgs?))$"
)
_OF_FORMAT = re.compile(r"_(?:png|jpe?g|tiff?)$")  # "images_png"
# Names of images may end with the kind of file, as in Cityscapes.
_OF_IMAGE = re.compile(r"_(?:leftImg8bit|colors?|sat|rgb|images?|img|photo)$")
_OF_DEPTH = re.compile(r"_depths?$", re.IGNORECASE)
# labelTrainIds are the numbers to train with.
_OF_LABELS = re.compile(r"_(?:gt(?:Fine|Coarse)_(?P<what>\w+)|(?P<ids>labelTrainIds))$")


class FolderRole(NamedTuple):
    """Role of the files in a folder.

    Attributes:
        shows: IMAGES, CLASSES, DEPTH or something else; "" if unknown.
        shared: Folders, in lower case, that an image and its map share.
    """

    shows: str
    shared: str


@functools.lru_cache(maxsize=4096)
def role_of(home: str) -> FolderRole:
    """Role of the files in a folder by its path."""
    shows, shared = "", []
    for part in home.lower().split("/") if home else ():
        end = _ENDS.search(part)
        if role := _HOMES.get(_OF_FORMAT.sub("", part)):
            rest = ""
        elif end:
            rest = part[: end.start()]
            role = IMAGES if end["images"] else DEPTH if end["depth"] else CLASSES
        else:
            rest, role = part, ""
        shared += [rest] if rest else []
        shows = role if role and (role != IMAGES or not shows) else shows
    return FolderRole(shows, "/".join(shared))


def unmarked(name: str) -> str:
    """Remove a mask's suffix from a name: "a" of "a_mask" and of "a"."""
    match = _MARK.search(name)
    return name[: match.start()] if match else name


def common_name(name: str) -> str:
    """The common part of the names of an image and its map, without suffix."""
    return _OF_IMAGE.sub("", _OF_DEPTH.sub("", unmarked(_OF_LABELS.sub("", name))))


def image_key(image: str) -> str:
    """Key of an image for its maps: their folders, its name, and the name that they all share."""
    return _key(image, _OF_IMAGE.sub("", _name(image)))


def image_keys(path: str) -> list[str]:
    """Possible keys of a map's image, the map's own name first."""
    name = _name(path)
    bare = _without_split(unmarked(_OF_LABELS.sub("", name)), path)
    likely = (_OF_IMAGE.sub("", name), _OF_IMAGE.sub("", bare), common_name(name))
    return [_key(path, each) for each in dict.fromkeys(likely)]


def _key(path: str, name: str) -> str:
    shared = _without_split(common_name(_name(path)), path)
    return f"{role_of(folder(path)).shared}/{name}/{shared}"


def _name(path: str) -> str:
    return _without_split(shared_name(path), path)


def _without_split(name: str, path: str) -> str:
    """Remove the split from a name: "21_training" in training/ is "21", as in DRIVE."""
    split = split_of_folders(path) or ""
    return name.removesuffix(f"_{split}") if split else name


def is_marked(path: str, shows: str) -> bool:
    """Whether a name has the suffix of a map: "a_mask.png", "a_depth.png"."""
    if shows == DEPTH:
        return bool(_OF_DEPTH.search(shared_name(path)))
    return unmarked(shared_name(path)) != shared_name(path)


def label_kind(path: str) -> str:
    """Kind of a file of Cityscapes: "labelIds", "color", …; "" for other files."""
    match = _OF_LABELS.search(shared_name(path))
    return match["what"] or match["ids"] if match else ""
