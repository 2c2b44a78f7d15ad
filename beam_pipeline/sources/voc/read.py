"""Pascal VOC: one XML file an image, image sets for the splits."""

import dataclasses
from collections.abc import Iterator

import apache_beam as beam

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef, Image, Record, Rejected
from beam_pipeline.running.pickling import unpack
from beam_pipeline.sources.listing import FILES_PER_BUCKET
from beam_pipeline.sources.paths import below, input_folder
from beam_pipeline.sources.voc.annotation import MAX_BYTES, parse_annotation
from beam_pipeline.sources.voc.files import VocPair
from beam_pipeline.sources.voc.pairing import PairVocFiles


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
        files_per_bucket: About how many files' names one worker holds at once.

    Raises:
        ConfigError: `root` is not a folder.
    """

    root: str
    box_format: str = ""
    files_per_bucket: int = FILES_PER_BUCKET

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        root = input_folder(self.root)
        return (
            pipeline
            | PairVocFiles(root, self.files_per_bucket)  # bytes
            | "BalanceFiles" >> beam.Reshuffle()  # bytes
            | "OpenBatches" >> beam.Map(unpack)  # list[VocPair | Rejected]
            | "ReadAnnotations"
            >> beam.FlatMap(read_pairs, root, self.box_format or "xyxy")  # Record | Rejected
        )


def read_pairs(
    pairs: list[VocPair | Rejected], root: str, box_format: str = "xyxy"
) -> Iterator[Record | Rejected]:
    """The record of each annotation with its image; what is rejected already passes."""
    for pair in pairs:
        if isinstance(pair, Rejected):
            yield pair
            continue
        try:
            data = storage.read_bytes(FileRef(path=below(root, pair.annotation)), MAX_BYTES)
            boxes, notes = parse_annotation(data, box_format)
        except RecordError as error:
            yield Rejected(source=pair.annotation, reason=error.reason, detail=error.detail)
        else:
            yield Record(
                key=pair.image,
                features={
                    "image": Image(file=FileRef(path=below(root, pair.image))),
                    "boxes": boxes,
                },
                split=pair.split,
                source=pair.annotation,
                notes=notes,
            )
