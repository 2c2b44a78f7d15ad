"""The layout `voc`: XML files, and the images that they annotate."""

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Iterator

import apache_beam as beam

from beam_pipeline.records import Value
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.layout import Layout, Place, first_file, read_by
from beam_pipeline.sources.listing import FILES_PER_BUCKET, name_of
from beam_pipeline.sources.paths import folder, input_folder, split_at, suffix
from beam_pipeline.sources.side_files.files import SideFiles
from beam_pipeline.sources.side_files.finding import annotations_in, described
from beam_pipeline.sources.side_files.read import ReadSideFiles
from beam_pipeline.sources.tree import Tree
from beam_pipeline.sources.voc.annotation import named_image, parse_annotation

_IMAGE_FOLDERS = ("jpegimages", "images", "data")  # the last is ILSVRC's
_ROOT = re.compile(rb"<annotation[\s>]")


@dataclasses.dataclass
class ReadVoc(beam.PTransform):
    """Images with boxes, annotated in Pascal VOC's XML.

    `root` is the folder that holds `Annotations/`, or lies above one or several such folders
    (`VOCdevkit/VOC2007`, `VOC2012`). Where nothing is called `Annotations`, the XML files may lie
    beside their images, as LabelImg and Roboflow leave them. Letter case does not matter.

    Yields, in no order:

    - a Record {image, boxes} for each XML file with its image; no object means no boxes. The key
      is the image's path below `root`. Boxes are "xyxy" in pixels, exactly as written (VOC's own
      begin at 1); attributes difficult, truncated and occluded are 0 where they are not stated;
      whatever else an object has, such as `pose` and its parts, is counted in `notes`.
    - Rejected "malformed annotation", bad: not XML, an object without name or box, a coordinate
      that is no number.
    - Rejected "missing image", bad: an XML file without image. An XML file's image has its name
      but for the suffix, in JPEGImages/, images/, Data/, beside Annotations/ or beside it;
      where there is none, `<filename>` names it.
    - Rejected "two annotations", bad: several XML files describe one image; where one has its
      name, only those whose `<filename>` names it.
    - Rejected "no annotation" for an image without XML file: bad, unless there are image sets
      and it is in none.
    - Rejected "in two splits", bad; "in no image set", not bad; "missing annotation", bad, for
      what an image set lists and nobody annotated.
    - Rejected "unused image" and "not an image file", not bad, for everything else but
      what lies in ImageSets/ (there "unused list", not bad, has the name of no split).

    Splits are the lists `ImageSets/Main/*.txt` (or `ImageSets/*.txt`) with a split's name. A list
    whose lines have a second column is one of a class and is ignored, and `trainval` counts only
    where not both train and val are there, for what no other list has. Without lists, splits are
    the folders with a split's name, where every XML file lies in one.

    Attributes:
        root: The folder, local or remote.
        box_format: One of `boxes.FORMATS`; "" is VOC's own, "xyxy".
        ignored: Files and folders that are left out.
        files_per_bucket: About how many files' names one worker holds at once.

    Raises:
        ConfigError: `root` is not a folder.
    """

    root: str
    box_format: str = ""
    ignored: Ignored = NOTHING
    files_per_bucket: int = FILES_PER_BUCKET

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        files = VocFiles(self.box_format or "xyxy")
        return pipeline | ReadSideFiles(
            input_folder(self.root),
            files,
            ignored=self.ignored,
            files_per_bucket=self.files_per_bucket,
        )


@dataclasses.dataclass(frozen=True)
class VocFiles(SideFiles):
    """XML files: only those below an Annotations/ where there is one.

    Attributes:
        box_format: Of the coordinates.
    """

    suffix = "xml"
    noun = "XML file"
    home = "annotations"
    images = _IMAGE_FOLDERS
    has_sets = True
    naming = "<filename>"

    box_format: str = "xyxy"

    def image_keys(self, annotation: str, name: str) -> Iterator[str]:
        name = name_of(name)
        return (f"{place}/{name}" for place in image_folders(folder(annotation)))

    def named_image(self, data: bytes) -> str:
        return named_image(data)

    def parse(self, data: bytes, annotation: str) -> tuple[dict[str, Value], Counter[str]]:
        boxes, notes = parse_annotation(data, self.box_format)
        return {"boxes": boxes}, notes


@functools.lru_cache(maxsize=1024)
def image_folders(annotation_folder: str) -> list[str]:
    """The folders, in lower case, where images of the annotations in a folder may lie."""
    own = annotation_folder.lower()
    if split := split_at(f"{own}/", "annotations"):
        home, inner = split
        places = [_join(home, name, inner) for name in (*_IMAGE_FOLDERS, "")]
        return [*places, *(_join(home, name) for name in (*_IMAGE_FOLDERS, "")), own]
    return [own, *(_join(place, name) for place in (own, folder(own)) for name in _IMAGE_FOLDERS)]


def _join(*parts: str) -> str:
    return "/".join(filter(None, parts))


def find_voc(tree: Tree) -> list[Place]:
    """XML files with the root <annotation>, below Annotations/ or anywhere."""
    files = VocFiles()
    by_folder = annotations_in(tree, files)
    counts = {
        home: len(paths) for home, paths in by_folder.items() if _ROOT.search(tree.head(paths[0]))
    }
    return [Place("", described(tree, files, counts))] if counts else []


LAYOUT = Layout(
    name="voc",
    sign="Annotations/*.xml, or .xml files next to their images",
    kind="annotations",
    **read_by(ReadVoc),
    find=find_voc,
    accept=lambda folder: first_file(folder, lambda file: suffix(file) == "xml"),
)
