"""What one of COCO's files says once: what it shows, and its categories."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.maps import IGNORED
from beam_pipeline.sources.annotations.coco.coco_files import PANOPTIC, CocoFile
from beam_pipeline.sources.annotations.image_files import base_of
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import stem
from beam_pipeline.sources.references import parent


@dataclasses.dataclass(slots=True, kw_only=True)
class FileFacts:
    """What one file says once.

    Attributes:
        file: Its path below the input.
        shows: What it shows, as `CocoFile.shows`.
        captions: The file of the captions of its images; "" for none.
        maps: The folder of its panoptic maps; "" where it has none.
        names: Of its categories, by id.
        keypoints: The names of keypoints, by id of a category.
        id_lists: The names of the lists of ids that its images have.
        num_nameless: How many of its images have no usable id.
        is_damaged: Whether it is not JSON to its end: then nothing of it is used.
    """

    file: str
    shows: str
    captions: str = ""
    maps: str = ""
    names: dict[int, str] = dataclasses.field(default_factory=dict)
    keypoints: dict[int, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    id_lists: set[str] = dataclasses.field(default_factory=set)
    num_nameless: int = 0
    is_damaged: bool = False
    _file: CocoFile

    @classmethod
    def of(cls, file: CocoFile) -> Self:
        """The facts of a file that is not read yet."""
        return cls(file=file.relative, shows=file.shows, captions=file.captions, _file=file)

    def add_category(self, category: Any) -> None:
        """Add an item of "categories".

        Raises:
            RecordError: "malformed annotation".
        """
        stated = category if isinstance(category, dict) else {}
        number, name, points = (stated.get(each) for each in ("id", "name", "keypoints"))
        number = int(number) if isinstance(number, float) and number.is_integer() else number
        if not isinstance(number, int) or not isinstance(name, str):
            raise malformed(f"category {str(category)[:200]} needs a number as id and a name")
        name = name.strip()
        if self.names.setdefault(number, name) != name:
            raise malformed(f"categories {self.names[number]!r} and {name!r} both have id {number}")
        if points and isinstance(points, list):
            self.keypoints[number] = tuple(map(str, points))

    def complete(self) -> None:
        """Find the folder of panoptic maps.

        Raises:
            RecordError: There is none, or there are too many categories for maps.
        """
        if self.shows != PANOPTIC:
            return
        if len(self.names) > IGNORED:
            raise malformed(f"has {len(self.names)} categories, but maps up to {IGNORED} classes")
        name = stem(self.file)
        places = (parent(self._file.path), base_of(self._file.path), self._file.root)
        folders = [storage.join(place, name) for place in places]
        self.maps = next(filter(storage.is_directory, folders), "")
        if not self.maps:
            raise RecordError(
                "missing maps", f"there is no folder {name}/ next to it; put its PNG files there"
            )

    @property
    def class_names(self) -> Mapping[int, str]:
        """The classes by number: maps number them in the order of their ids."""
        if self.shows != PANOPTIC:
            return self.names
        return dict(enumerate(self.names[name] for name in sorted(self.names)))

    def map_path(self, name: str) -> str:
        """The path of the PNG that the file calls `name`.

        Raises:
            RecordError: "file outside the input".
        """
        return self._file.locate(name, self.maps)[1]
