"""Annotation files that name images: the split of each, and where its images are."""

import contextlib
import dataclasses
from collections.abc import Sequence

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.input_files import NamingFile
from beam_pipeline.sources.paths import below, stem
from beam_pipeline.sources.references import name_of, parent
from beam_pipeline.sources.tables.file_index import FileIndex
from tfrecord_dataset.format.split_names import is_split, split_of_folders, split_of_name
from tfrecord_dataset.store.urls import unsigned

# Roboflow's, whose folder is always a split.
NEXT_TO_IMAGES = "_annotations.coco.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnnotationFile(NamingFile):
    """One file of annotations.

    Attributes:
        folders: Where its images may be as they are named, likeliest first.
        ignored: What is left out of `root`.
    """

    folders: tuple[str, ...]
    ignored: Ignored = NOTHING

    def find(self, name: str) -> str | None:
        """The folder in which an image has the name that this file gives it."""
        for folder in self.folders:
            with contextlib.suppress(RecordError):  # outside the input, where nothing is read
                if storage.exists(self.locate(name, folder)[1]):
                    return folder
        return None

    def look_up(self, name: str) -> tuple[str, str]:
        """The key and the path of the one image that a name of another machine stands for.

        Raises:
            RecordError: "file outside the input".
        """
        if key := FileIndex.of(self.root, self.ignored).find(name, self.split or ""):
            return key, below(self.root, key)
        there = next(filter(storage.is_directory, self.folders), self.folders[-1])
        return self.locate(name, there)


class Images:
    """The images of one annotation file: in the folder of the first one, else by their names."""

    def __init__(self, file: AnnotationFile) -> None:
        self._file = file
        self._folder: str | None = None
        self._is_known = False

    def locate(self, name: str) -> tuple[str, str]:
        """The key and the path of the image that the file calls `name`.

        Raises:
            RecordError: "file outside the input".
        """
        if not self._is_known:
            self._folder, self._is_known = self._file.find(name), True
        if self._folder is None:
            return self._file.look_up(name)
        return self._file.locate(name, self._folder)


def annotation_file(
    root: str,
    relative: str,
    *,
    image_root: str | None = None,
    places: Sequence[str] = ("images", "data"),
    image_set: str = "",
    allowed: Sequence[str] = (),
    ignored: Ignored = NOTHING,
) -> AnnotationFile:
    """A file of annotations, with the folders where its images may be.

    Args:
        root: The dataset's folder, absolute.
        relative: The file's path below it.
        image_root: The folder of the images, where a user names it.
        places: Folders of images below the dataset's, or the file's own; "{split}" is its split.
        image_set: Another name of the images' folder than the split's: "train2017".
        allowed: Folders elsewhere whose images may be named, too.
        ignored: What is left out of `root`.
    """
    path = storage.join(root, relative)
    split = split_of_file(path, relative)
    images = storage.absolute(image_root).rstrip("/") if image_root else None
    names = [*filter(None, (image_set or stem(relative), split))]
    homes = [place.format(split=split) for place in places if split or "{" not in place]
    folders = []
    for base in [images] if images else dict.fromkeys([base_of(path), parent(path), root]):
        for inner in ("", "images", *homes):
            folders += [storage.join(base, inner, name) for name in names]
        folders += [*(storage.join(base, home) for home in homes), base]
    return AnnotationFile(
        path=path,
        relative=relative,
        split=split,
        root=images or root,
        folders=tuple(dict.fromkeys(folders)),
        allowed=(root, *allowed),
        ignored=NOTHING if images else ignored,
    )


def base_of(path: str) -> str:
    """The dataset's folder of a file of annotations."""
    folder = parent(path)
    return parent(folder) if name_of(folder).lower() == "annotations" else folder


def below_base(path: str) -> tuple[str, str]:
    """(the dataset's folder, the path below it) of a file that is given directly."""
    base = base_of(path)
    return base, unsigned(path).removeprefix(f"{unsigned(base)}/")


def split_of_file(path: str, relative: str) -> str | None:
    """The split of an annotation file: "train" of instances_train2017.json, or its folder's."""
    folder = name_of(parent(path))
    if name_of(path) == NEXT_TO_IMAGES and ("/" in relative or is_split(folder)):
        return folder
    return split_of_name(relative) or split_of_folders(relative)
