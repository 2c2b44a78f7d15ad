"""YOLO: one text file an image, a line a box; data.yaml for splits and class names."""

import dataclasses
from collections.abc import Sequence

import apache_beam as beam

from beam_pipeline.files import storage
from beam_pipeline.sources.listing import FILES_PER_BUCKET
from beam_pipeline.sources.paths import input_folder
from beam_pipeline.sources.side_files.read import ReadSideFiles
from beam_pipeline.sources.yolo.config import YoloConfig, find_config
from beam_pipeline.sources.yolo.files import YoloFiles, folders_below, origin_of


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
        return pipeline | ReadSideFiles(
            origin, YoloFiles(origin, config), folders_below(origin, config), self.files_per_bucket
        )


def read_config(root: str, allowed: Sequence[str] = ()) -> YoloConfig:
    """The description of the dataset at `root`, a folder or a YAML file; see `find_config`."""
    path = storage.absolute(root)
    is_file = path.endswith((".yaml", ".yml")) and storage.exists(path)
    return find_config(path if is_file else input_folder(root), allowed)
