"""Maps as side files of images, matched by name."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from beam_pipeline.records import DeclaredClasses, FileRef, Map
from beam_pipeline.sources.annotations.shapes import Parsed
from beam_pipeline.sources.annotations.side_files import SideFiles
from beam_pipeline.sources.masks.meaning import Meaning
from beam_pipeline.sources.masks.names import (
    DEPTH,
    IMAGES,
    image_key,
    image_keys,
    is_marked,
    label_kind,
    name_of_image,
    role_of,
)
from beam_pipeline.sources.paths import below, folder, has_image_suffix
from tfrecord_dataset.format.split_names import split_of_folders


@dataclasses.dataclass(frozen=True)
class MaskFiles(SideFiles):
    """Maps in their own folders, or next to their images with names such as "a_mask.png".

    Attributes:
        root: The absolute folder that paths are relative to.
        meaning: Meaning of the pixels.
        by_folder: Whether maps are in their own folders.
        labels: Kind of Cityscapes' files to read: "labelIds"; "" in other trees.
        tables: The files that name the classes.
    """

    suffix = "png"
    noun = "map"
    max_bytes = 0
    set_folders = ("segmentation", "main", "")

    root: str
    meaning: Meaning
    by_folder: bool
    labels: str = ""
    tables: frozenset[str] = frozenset()

    def annotates(self, path: str) -> bool:
        if not has_image_suffix(path):
            return False
        shows = role_of(folder(path)).shows
        if not self.by_folder:
            return shows in ("", IMAGES) and is_marked(path, self.meaning.shows)
        return shows == self.meaning.shows and (not self.labels or label_kind(path) == self.labels)

    def is_media(self, path: str) -> bool:
        is_other = self.by_folder and role_of(folder(path)).shows not in ("", IMAGES)
        return has_image_suffix(path) and path not in self.tables and not is_other

    def common_name(self, path: str) -> str:
        return name_of_image(path)

    def image_key(self, image: str) -> str:
        return image_key(image)

    def image_keys(self, annotation: str, name: str) -> Sequence[str]:
        return image_keys(annotation)

    def split_of_folder(self, path: str) -> str | None:
        return split_of_folders(f"{role_of(folder(path)).shared}/")

    def declared(self) -> Iterator[DeclaredClasses]:
        if self.meaning.names:
            names = dict(enumerate(self.meaning.names))
            yield DeclaredClasses(feature="segmentation", names=names)

    def parse(self, data: bytes, annotation: str) -> Parsed:
        value = Map(
            file=FileRef(path=below(self.root, annotation)),
            shows=self.meaning.shows,
            colors=self.meaning.colors,
            num_classes=len(self.meaning.names),
        )
        return {"depth" if value.shows == DEPTH else "segmentation": value}, Counter()
