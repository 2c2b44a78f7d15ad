"""Annotation files that name images: their splits and the paths of their images."""

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

# Roboflow's file name; its folder is always a split.
NEXT_TO_IMAGES = "_annotations.coco.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnnotationFile(NamingFile):
    """One file of annotations.

    Attributes:
        folders: Folders that image names may be relative to, likeliest first.
        ignored: Paths below `root` to leave out.
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
        """Make a file from its path below the dataset's folder, `root`.

        Args:
            places: Image folders below the dataset's or the file's; "{split}" is its split.
            image_set: Name of the image folder if not the split's: "train2017".
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
    """Locate the images of an annotation file: in the first image's folder, else by name."""

    def __init__(self, file: AnnotationFile) -> None:
        self._file = file
        self._folder: str | None = None  # "" if none has the image

    def locate(self, name: str) -> tuple[str, str]:
        """Return the key and the path of the image that the file calls `name`.

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
        except RecordError:  # outside the input
            return False


def base_of(path: str) -> str:
    """Return the dataset's folder of an annotation file."""
    folder = parent(path)
    return parent(folder) if name_of(folder).lower() == "annotations" else folder


def below_base(path: str, reads: Sequence[str]) -> list[tuple[str, str]]:
    """Split the files that a claim reads into (dataset's folder, path below it)."""
    if storage.is_directory(path):
        return [(path, each) for each in reads]
    base = base_of(path)
    return [(base, unsigned(path).removeprefix(f"{unsigned(base)}/"))]


def split_of_file(path: str, relative: str) -> str | None:
    """The split in a file's name ("train" in instances_train2017.json), else its folder's."""
    folder = name_of(parent(path))
    if name_of(path) == NEXT_TO_IMAGES and ("/" in relative or is_split(folder)):
        return folder
    return split_of_name(relative) or split_of_folders(relative)
