"""The layout `folders`: a class a folder, perhaps in folders of splits; or one folder of files."""

from collections.abc import Iterable, Sequence

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.sources.folders.profile import main_kind, profile_of
from beam_pipeline.sources.folders.read import ReadClassFolders
from beam_pipeline.sources.layout import Layout, Place, first_file
from beam_pipeline.sources.paths import folder, media_kind
from beam_pipeline.sources.splits import is_split
from beam_pipeline.sources.tree import Listing, Tree, counted, shown

# Folders of images and audio, and of what goes with them, are no classes.
_NO_CLASSES = frozenset(
    {"images", "image", "imgs", "img", "jpegimages", "pictures", "photos", "labels", "masks"}
    | {"annotations", "segmentationclass", "segmentationobject", "data"}
    | {"audio", "wav", "wavs", "sounds", "clips", "recordings", "arrays"}
)


def _read(path: str, config: BuildConfig, scratch: str) -> beam.PTransform:
    return ReadClassFolders(path, path_pattern=config.path_pattern or None)


def find_folders(tree: Tree) -> list[Place]:
    """Images, audio or arrays in class folders, perhaps below folders of splits; or flat."""
    files = [file for file in tree.files() if media_kind(file)]
    by_kind = profile_of(files)
    kind = main_kind(by_kind)
    holders = by_kind[kind].folders - {""}
    if by_kind[kind].in_splits:
        splits = sorted(holders)
        classes = {name for split in splits for name in tree.look(split).folders}
        if classes and not _no_classes(classes):
            return [Place("", f"{shown(sorted(classes), 'class folder')} in {', '.join(splits)}")]
    elif not _no_classes(holders) and not all(map(is_split, holders)):
        return [Place("", shown(tree.look().folders, "class folder"))]
    elif not tree.is_inner and kind != "array" and (place := _flat(files, tree.look())) is not None:
        what = "audio file" if kind == "audio" else kind  # arrays lie so where each has many rows
        return [
            Place(place, f"{counted(len(files), what)} without class folders, so without labels")
        ]
    return []


def _flat(files: Sequence[str], listing: Listing) -> str | None:
    """The folder of all files, if that is the top, or its only one and called like images."""
    homes = {folder(file) for file in files}
    alone = homes == set(listing.folders) and _no_classes(homes)
    return homes.pop() if len(homes) == 1 and (alone or homes == {""}) else None


def _no_classes(names: Iterable[str]) -> bool:
    return all(name.lower() in _NO_CLASSES for name in names)


LAYOUT = Layout(
    name="folders",
    sign="images, audio or arrays in one folder per class, or images or audio in one folder",
    kind="folders",
    read=_read,
    find=find_folders,
    accept=lambda folder: first_file(folder, lambda file: bool(media_kind(file))),
)
