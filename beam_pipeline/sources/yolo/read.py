"""YOLO: one text file an image, a line a box; data.yaml for splits and class names."""

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

import apache_beam as beam

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Boxes, DeclaredClasses, FileRef, Image, Record, Rejected
from beam_pipeline.sources.paths import below, input_folder
from beam_pipeline.sources.yolo.config import YoloConfig, find_config
from beam_pipeline.sources.yolo.files import YoloPair, list_yolo, origin_of
from beam_pipeline.sources.yolo.labels import MAX_BYTES, parse_labels, possible_keypoints

_Batch = Sequence[YoloPair | Rejected | DeclaredClasses]

# So many label files tell whether their lines have keypoints.
_FILES_LOOKED_INTO = 50


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

    Raises:
        ConfigError: `root` does not exist, or its data.yaml is unusable, or (while the pipeline
            runs) the lines may have keypoints of which data.yaml says nothing.
    """

    root: str

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        config = read_config(self.root)
        origin = origin_of(config)
        return (
            pipeline
            | "Root" >> beam.Create([origin])  # str
            | "ListFiles" >> beam.FlatMap(list_checked, config)  # list[YoloPair | Rejected | …]
            | "BalanceFiles" >> beam.Reshuffle()
            | "ReadLabels" >> beam.FlatMap(read_pairs, origin, config)  # Element
        )


def read_config(root: str) -> YoloConfig:
    """The description of the dataset at `root`, a folder or a YAML file."""
    path = storage.absolute(root)
    is_file = path.endswith((".yaml", ".yml")) and storage.exists(path)
    return find_config(path if is_file else input_folder(root))


def list_checked(origin: str, config: YoloConfig) -> Iterator[_Batch]:
    """What every file of the dataset is, in batches, once it is clear what their lines hold.

    Raises:
        ConfigError: They may hold keypoints, and nothing says so.
    """
    is_clear = config.keypoint_shape is not None
    for batch in list_yolo(origin, config):
        labels = [pair.label for pair in batch if isinstance(pair, YoloPair) and pair.label]
        if labels and not is_clear:
            _check_keypoints(origin, labels[:_FILES_LOOKED_INTO])
            is_clear = True
        yield batch


def _check_keypoints(origin: str, labels: Sequence[str]) -> None:
    texts = []
    for label in labels:
        with contextlib.suppress(RecordError):  # is told when the file is read
            texts.append(storage.read_text(below(origin, label), MAX_BYTES))
    if shape := possible_keypoints(texts):
        count, size = shape
        raise ConfigError(
            f"the lines of {labels[0]} and other label files have {5 + count * size} numbers, "
            f"which may be a box with {count} keypoints or a polygon: say in data.yaml kpt_shape: "
            f"[{count}, {size}] for keypoints, kpt_shape: [] for polygons"
        )


def read_pairs(
    pairs: _Batch, origin: str, config: YoloConfig
) -> Iterator[Record | Rejected | DeclaredClasses]:
    """The record of each image with its label file; everything else passes."""
    for pair in pairs:
        yield read_pair(pair, origin, config) if isinstance(pair, YoloPair) else pair


def read_pair(pair: YoloPair, origin: str, config: YoloConfig) -> Record | Rejected:
    """The record of one image with its label file."""
    boxes, notes = Boxes(coordinates=(), format="rel_center_xywh"), Counter[str]()
    try:
        if pair.label:
            boxes, notes = parse_labels(
                storage.read_text(below(origin, pair.label), MAX_BYTES),
                names=config.names,
                keypoint_shape=config.keypoint_shape or None,
            )
    except RecordError as error:
        return Rejected(source=pair.label, reason=error.reason, detail=error.detail)
    return Record(
        key=pair.image,
        features={"image": Image(file=FileRef(path=below(origin, pair.image))), "boxes": boxes},
        split=pair.split,
        source=pair.label,
        notes=notes,
    )
