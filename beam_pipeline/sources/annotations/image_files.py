"""Annotation files that name images: the split of each, and where its images are."""

import dataclasses
from collections.abc import Sequence
from typing import Self

from beam_pipeline.config import BuildConfig
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

    @classmethod
    def of(
        cls,
        root: str,
        relative: str,
        config: BuildConfig,
        *,
        places: Sequence[str] = ("images", "data"),
        image_set: str = "",
    ) -> Self:
        """A file by its path below the dataset's folder, `root`.

        Args:
            places: Folders of images below the dataset's or the file's; "{split}" is its split.
            image_set: Another name of the images' folder than the split's: "train2017".
        """
        path = storage.join(root, relative)
        split = split_of_file(path, relative)
        images = storage.absolute(config.image_root).rstrip("/") if config.image_root else None
        names = [*filter(None, (image_set or stem(relative), split))]
        homes = [place.format(split=split) for place in places if split or "{" not in place]
        folders = []
        for base in [images] if images else dict.fromkeys([base_of(path), parent(path), root]):
            for inner in ("", "images", *homes):
                folders += [storage.join(base, inner, name) for name in names]
            folders += [*(storage.join(base, home) for home in homes), base]
        return cls(
            path=path,
            relative=relative,
            split=split,
            root=images or root,
            folders=tuple(dict.fromkeys(folders)),
            allowed=(root, *config.allow_outside),
            ignored=NOTHING if images else Ignored.of(config, root),
        )


class Images:
    """The images of one annotation file: in the folder of the first one, else by their names."""

    def __init__(self, file: AnnotationFile) -> None:
        self._file = file
        self._folder: str | None = None  # "" for none

    def locate(self, name: str) -> tuple[str, str]:
        """The key and the path of the image that the file calls `name`.

        Raises:
            RecordError: "file outside the input".
        """
        file = self._file
        if self._folder is None:
            self._folder = next((each for each in file.folders if self._has(each, name)), "")
        if self._folder:
            return file.locate(name, self._folder)
        if key := FileIndex.of(file.root, file.ignored).find(name, file.split or ""):
            return key, below(file.root, key)
        there = next(filter(storage.is_directory, file.folders), file.folders[-1])
        return file.locate(name, there)

    def _has(self, folder: str, name: str) -> bool:
        try:
            return storage.exists(self._file.locate(name, folder)[1])
        except RecordError:  # outside the input, where nothing is read
            return False


def base_of(path: str) -> str:
    """The dataset's folder of a file of annotations."""
    folder = parent(path)
    return parent(folder) if name_of(folder).lower() == "annotations" else folder


def below_base(path: str, reads: Sequence[str]) -> list[tuple[str, str]]:
    """(the dataset's folder, the path below it) of the files that a claim on a path reads."""
    if storage.is_directory(path):
        return [(path, each) for each in reads]
    base = base_of(path)
    return [(base, unsigned(path).removeprefix(f"{unsigned(base)}/"))]


def split_of_file(path: str, relative: str) -> str | None:
    """The split of an annotation file: "train" of instances_train2017.json, or its folder's."""
    folder = name_of(parent(path))
    if name_of(path) == NEXT_TO_IMAGES and ("/" in relative or is_split(folder)):
        return folder
    return split_of_name(relative) or split_of_folders(relative)
