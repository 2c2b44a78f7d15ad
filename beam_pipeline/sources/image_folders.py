"""Annotation files that name images: which split each is, and where its images lie."""

import contextlib
import dataclasses
from collections.abc import Sequence

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.input_files import NamingFile
from beam_pipeline.sources.paths import stem
from beam_pipeline.sources.references import name_of, parent
from tfrecord_dataset.split_names import is_split, split_of_name

# Roboflow's, whose folder is always a split.
NEXT_TO_IMAGES = "_annotations.coco.json"
# First folders of an image's name that may not be there.
_DEEPEST = 3
_DEEPEST_OF_ALL = 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationFile(NamingFile):
    """One file of annotations.

    Attributes:
        image_folders: Where its images may be, likeliest first.
    """

    image_folders: tuple[str, ...]


def annotation_file(
    root: str,
    relative: str,
    images: str | None,
    places: Sequence[str] = ("images", "data"),
    image_set: str = "",
    allowed: Sequence[str] = (),
) -> AnnotationFile:
    """A file of annotations, with the folders where its images may be.

    Args:
        root: The dataset's folder.
        relative: The file's path below it.
        images: The folder of the images, where a user names it.
        places: Folders of images below the dataset's, or the file's own.
        image_set: What the images' folder may be called beside the split: "train2017".
        allowed: Folders elsewhere whose images may be named, too.
    """
    path = storage.join(root, relative)
    split = split_of_file(relative)
    if split is None and name_of(path) == NEXT_TO_IMAGES and is_split(name_of(parent(path))):
        split = name_of(parent(path))  # given directly
    bases = [images] if images else [base_of(path), parent(path)]
    folders = []
    for base in bases:
        for name in filter(None, (image_set or stem(relative), split)):
            folders += [storage.join(base, name), storage.join(base, "images", name)]
        folders += [*(storage.join(base, place) for place in places), base]
    return AnnotationFile(
        path=path,
        relative=relative,
        split=split,
        root=images or root,
        image_folders=tuple(dict.fromkeys(folders)),
        allowed=(root, *allowed),
    )


def base_of(path: str) -> str:
    """The dataset's folder when a file of annotations is given directly."""
    folder = parent(path)
    return parent(folder) if name_of(folder).lower() == "annotations" else folder


def split_of_file(relative: str) -> str | None:
    """The split of an annotation file: "train" of instances_train2017.json, or its folder's."""
    if split := split_of_name(relative):
        return split
    folder = name_of(parent(relative)) if "/" in relative else ""
    if folder and (is_split(folder) or name_of(relative) == NEXT_TO_IMAGES):
        return folder
    return None


def image_folder(file: AnnotationFile, names: list[str]) -> tuple[str, int]:
    """Where the images `names` are: a folder, and how many first folders of names are not there.

    The first of the file's folders that has one, as it is named; else without the first folders of
    the name, as whoever unpacks Objects365 or LVIS leaves them out, or that only another machine
    has, where all names are absolute. Where none has, the first
    folder that exists: its images are then found missing.
    """
    relative = [name for name in names if not (name.startswith("/") or storage.is_remote(name))]
    # Of another machine, of which the last parts may be those of a file here.
    absolute = [] if relative else [name for name in names if not storage.is_remote(name)]
    deepest = max((name.count("/") for name in relative or absolute), default=0)
    most = min(deepest, _DEEPEST_OF_ALL if absolute else _DEEPEST)
    for num_left_out in range(most + 1):
        for folder in file.image_folders:
            for name in relative or absolute:
                with contextlib.suppress(RecordError):  # outside the input, where nothing is
                    if storage.exists(located(file, name, folder, num_left_out)[1]):
                        return folder, num_left_out
    return next(filter(storage.is_directory, file.image_folders), file.image_folders[-1]), 0


def located(file: AnnotationFile, name: str, folder: str, num_left_out: int) -> tuple[str, str]:
    """The key and the path of an image, without so many first folders of its name.

    Raises:
        RecordError: "file outside the input".
    """
    return file.locate(name.split("/", num_left_out)[-1], folder)
