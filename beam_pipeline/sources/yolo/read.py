"""YOLO: one text file an image, a line a box; data.yaml for splits and class names."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

import apache_beam as beam

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import DeclaredClasses, FileRef, Image, Objects, Record, Rejected
from beam_pipeline.running.pickling import unpack
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.listing import FILES_PER_BUCKET
from beam_pipeline.sources.paths import below, input_folder
from beam_pipeline.sources.yolo.config import YoloConfig, find_config
from beam_pipeline.sources.yolo.files import YoloPair, origin_of
from beam_pipeline.sources.yolo.labels import MAX_BYTES, parse_labels
from beam_pipeline.sources.yolo.pairing import PairYoloFiles

_Batch = Sequence[YoloPair | Rejected | DeclaredClasses]


@dataclasses.dataclass
class ReadYolo(beam.PTransform):
    """Images with boxes, annotated in YOLO's text files.

    `root` is a data.yaml, or the folder that holds one, or that holds `images/` and `labels/`
    (`images/train` and `labels/train`, or `train/images` and `train/labels`, too) with the class
    names in classes.txt or obj.names. Without an `images/`, label files lie beside the images.

    Yields, in no order:

    - one DeclaredClasses for "boxes", where class names are given; else a class's name is its
      number.
    - a Record {image, boxes} for each image: without label file or with an empty one it is a
      background image with no boxes. The key is the image's path below `root` (if the splits
      of a data.yaml lie elsewhere: below the folder that holds them all). Boxes are in fractions
      of the image, "rel_center_xywh" as written, or "rel_xyxy" where polygons are among them,
      whose bounding boxes are kept and which `notes` count, as they do oriented boxes; keypoints
      are read where data.yaml has `kpt_shape`.
    - Rejected "malformed annotation", bad, with the line and what is wrong: a class without
      name, a wrong count of numbers, something that is no number, pixels in place of fractions.
    - Rejected "missing image", bad: a label file without image, or a listed image that is absent.
    - Rejected "in two splits", bad; "in no split", not bad.
    - Rejected "no label file", bad, for every image if there is no label file at all.
    - Rejected "unused image" and "not an image file", not bad, for everything else but
      data.yaml, its lists, or the file of class names.

    Splits are those of data.yaml (each a folder, several, or a list of images in a .txt file);
    without one, the folders with a split's name, where every image lies in one.

    Attributes:
        root: The folder or YAML file, local or remote.
        allow_outside: Folders elsewhere that data.yaml may name, too.
        files_per_bucket: About how many files' names one worker holds at once.

    Raises:
        ConfigError: `root` does not exist, or its data.yaml is unusable, or (while the pipeline
            runs) the lines may have keypoints of which data.yaml says nothing.
    """

    root: str
    allow_outside: Sequence[str] = ()
    files_per_bucket: int = FILES_PER_BUCKET

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        config = read_config(self.root, self.allow_outside)
        origin = origin_of(config)
        return (
            pipeline
            | PairYoloFiles(origin, config, self.files_per_bucket)  # bytes
            | "BalanceFiles" >> beam.Reshuffle()  # bytes
            | "OpenBatches" >> beam.Map(unpack)  # list[YoloPair | Rejected | DeclaredClasses]
            | "ReadLabels" >> beam.FlatMap(read_pairs, origin, config)  # Element
        )


def read_config(root: str, allowed: Sequence[str] = ()) -> YoloConfig:
    """The description of the dataset at `root`, a folder or a YAML file; see `find_config`."""
    path = storage.absolute(root)
    is_file = path.endswith((".yaml", ".yml")) and storage.exists(path)
    return find_config(path if is_file else input_folder(root), allowed)


def read_pairs(
    pairs: _Batch, origin: str, config: YoloConfig
) -> Iterator[Record | Rejected | DeclaredClasses]:
    """The record of each image with its label file; everything else passes."""
    for pair in pairs:
        yield read_pair(pair, origin, config) if isinstance(pair, YoloPair) else pair


def read_pair(pair: YoloPair, origin: str, config: YoloConfig) -> Record | Rejected:
    """The record of one image with its label file."""
    boxes, notes = Objects(boxes=(), format="rel_center_xywh"), Counter[str]()
    try:
        if pair.label:
            boxes, notes = parse_labels(
                storage.read_text(below(origin, pair.label), MAX_BYTES),
                names=config.names,
                keypoint_shape=config.keypoint_shape or None,
            )
            if boxes.keypoints and config.names_keypoints:
                notes.update(not_kept(["keypoint names"] * len(boxes.keypoints)))
    except RecordError as error:
        return Rejected(source=pair.label, reason=error.reason, detail=error.detail)
    return Record(
        key=pair.image,
        features={"image": Image(file=FileRef(path=below(origin, pair.image))), "boxes": boxes},
        split=pair.split,
        source=pair.label,
        notes=notes,
    )
