"""COCO's panoptic segmentation: a PNG of segments' ids an image, of which each has a class.

Format: https://cocodataset.org/#format-data: a pixel's id is R + 256 G + 65536 B; 0 is of none.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.maps import IGNORED
from beam_pipeline.records import DeclaredClasses, FileRef, Map
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.coco.files import PANOPTIC, CocoFile
from beam_pipeline.sources.coco.ids import plain_id
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.image_folders import base_of
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import stem
from beam_pipeline.sources.references import parent

_LARGEST_ID = (1 << 24) - 1


@crosses
class CocoMap(NamedTuple):
    """What is said of an image's map.

    Attributes:
        source: Which annotation it is, for messages.
        said: The map; or why it cannot be used.
        num_boxes: How many of the segments state a box, which no feature keeps.
    """

    source: str
    said: Map | str
    num_boxes: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Maps:
    """The maps of a file.

    Attributes:
        file: The file.
        folder: Of the PNGs.
        names: Of the classes, by number.
        numbers: Of the classes, by category id.
    """

    file: CocoFile
    folder: str
    names: Mapping[int, str]
    numbers: Mapping[int, int]

    @classmethod
    def of(cls, file: CocoFile, categories: Mapping[int, str]) -> Self:
        """The maps of a file with these categories.

        Raises:
            RecordError: There is no folder of PNGs, or there are too many categories.
        """
        if len(categories) > IGNORED:
            raise malformed(f"has {len(categories)} categories, but maps up to {IGNORED} classes")
        name = stem(file.relative)
        places = dict.fromkeys([parent(file.path), base_of(file.path), file.root])
        folders = [storage.join(place, name) for place in places]
        folder = next(filter(storage.is_directory, folders), "")
        if not folder:
            remedy = "put its PNG files there"
            if storage.exists(f"{folders[0]}.zip"):
                remedy = f"unpack {name}.zip there"
            raise RecordError("missing maps", f"there is no folder {name}/ beside it; {remedy}")
        ids = sorted(categories)
        return cls(
            file=file,
            folder=folder,
            names={number: categories[each] for number, each in enumerate(ids)},
            numbers={each: number for number, each in enumerate(ids)},
        )

    def declared(self) -> DeclaredClasses:
        """The classes of the maps."""
        return DeclaredClasses(feature=PANOPTIC, names=self.names)

    def entry(self, number: int, annotation: Mapping[str, Any]) -> Entry:
        """A map on its way to its image."""
        image_id = plain_id(annotation["image_id"])
        source = f"{self.file.relative}: annotation of image {image_id}"
        try:
            value = self._map(source, annotation)
        except RecordError as error:
            value = CocoMap(source, error.detail)
        return Entry(f"{self.file.relative}\0{image_id}", (1, number), value)

    def _map(self, source: str, annotation: Mapping[str, Any]) -> CocoMap:
        name, segments = annotation.get("file_name"), annotation.get("segments_info")
        if not isinstance(name, str) or not isinstance(segments, list):
            raise malformed(f"needs a file_name and segments_info, has {str(annotation)[:200]}")
        _, path = self.file.locate(name, self.folder)
        classes = {0: IGNORED}
        for segment in segments:
            stated = segment if isinstance(segment, dict) else {}
            own, category = plain_id(stated.get("id")), plain_id(stated.get("category_id"))
            if type(own) is not int or not 0 < own <= _LARGEST_ID or own in classes:
                raise malformed(f"segment {str(segment)[:200]} needs an id of its own, from 1 on")
            if type(category) is not int or category not in self.numbers:
                raise malformed(f"category {str(category)[:200]} is not declared")
            classes[own] = self.numbers[category]
        colors = b"".join(each.to_bytes(3, "little") for each in classes)
        value = Map(
            file=FileRef(path=path),
            colors=colors,
            classes=bytes(classes.values()),
            num_classes=len(self.names),
        )
        return CocoMap(source, value, sum("bbox" in segment for segment in segments))


def map_of(values: list[CocoMap]) -> Map:
    """The map of an image, of which there must be one.

    Raises:
        RecordError: There are none or several, or it cannot be used.
    """
    if not values:
        raise RecordError("no annotation", "has no map in the panoptic annotations")
    if len(values) > 1:
        raise RecordError("two annotations", f"has {len(values)} maps, where one is expected")
    if isinstance(values[0].said, str):
        raise malformed(values[0].said)
    return values[0].said
