"""The layout `yolo`: a data.yaml, or text files of boxes and their images."""

import dataclasses
import re
from collections.abc import Sequence

import apache_beam as beam

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.layout import Layout, Place, first_file, read_by
from beam_pipeline.sources.listing import FILES_PER_BUCKET
from beam_pipeline.sources.paths import folder, input_folder, split_at, suffix
from beam_pipeline.sources.side_files.files import Survey
from beam_pipeline.sources.side_files.pairing import known_of, pair
from beam_pipeline.sources.side_files.read import ReadSideFiles
from beam_pipeline.sources.tree import Tree, counted
from beam_pipeline.sources.yolo.config import (
    YoloConfig,
    find_config,
    find_data_yaml,
    read_data_yaml,
)
from beam_pipeline.sources.yolo.files import YoloFiles, folders_below, origin_of

_LINE = re.compile(rb"\A\s*\d+(\.0*)?([ \t]+[-+]?[\d.]+([eE][-+]?\d+)?){4,}\s*?(\n|$)")


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
        ignored: Files and folders that are left out.
        files_per_bucket: About how many files' names one worker holds at once.

    Raises:
        ConfigError: `root` does not exist, or its data.yaml is unusable, or (while the pipeline
            runs) the lines may have keypoints of which data.yaml says nothing.
    """

    root: str
    allow_outside: Sequence[str] = ()
    ignored: Ignored = NOTHING
    files_per_bucket: int = FILES_PER_BUCKET

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        config = read_config(self.root, self.allow_outside)
        origin = origin_of(config)
        return pipeline | ReadSideFiles(
            origin,
            YoloFiles(origin, config),
            folders_below(origin, config),
            self.ignored,
            self.files_per_bucket,
        )


def read_config(root: str, allowed: Sequence[str] = ()) -> YoloConfig:
    """The description of the dataset at `root`, a folder or a YAML file; see `find_config`."""
    path = storage.absolute(root)
    is_file = path.endswith((".yaml", ".yml")) and storage.exists(path)
    return find_config(path if is_file else input_folder(root), allowed)


def find_yolo(tree: Tree) -> list[Place]:
    """A data.yaml; or text files of YOLO's lines in labels/ or beside their images."""
    files = tree.look().files
    path = find_data_yaml(tree.root, files)
    homes = {part for name in tree.files() for part in folder(name).lower().split("/")}
    if path and not ("labeltxt" in homes and "labels" not in homes):  # DOTA's, of Roboflow
        return [Place("", f"{path.rpartition('/')[2]}{_summary(path)}")]
    if not (counts := tree.counted(_labels(tree), _LINE)):
        return []
    what = tree.told(counts, YoloFiles.noun)
    try:
        config = find_config(tree.root)
    except ConfigError:  # reading it tells why
        return [Place("", what)]
    if tree.only_folder and not (config.names or config.splits):
        return []  # that folder may have names
    source = config.source.removeprefix(f"{tree.root}/")
    names = f"class names in {source}" if config.names else "no class names"
    splits = f", splits {', '.join(config.splits)}" if config.splits else ""
    return [Place("", f"{what}, {names}{splits}")]


def _labels(tree: Tree) -> list[str]:
    """The label files of a tree, those in labels/ first."""
    files = YoloFiles(tree.root, YoloConfig(root=tree.root))
    if not (likely := tree.files_with(files.suffix)):
        return []
    known = known_of(tree.files(), files, Survey(), tree.root)
    told = files.folders_told(pair(known, files)[1])
    labels = [
        path
        for path in likely
        if folder(path) in told.labels and files.role(path, Survey()) == "annotation"
    ]
    return sorted(labels, key=lambda path: (not split_at(path, files.home), path))


def _summary(path: str) -> str:
    """What a data.yaml says; nothing if it is unusable: reading it tells why."""
    try:
        config = read_data_yaml(path)
    except ConfigError:
        return ""
    classes = f" with {counted(len(config.names), 'class')}" if config.names else ""
    absent = f"; it names {config.absent}, which is not there" if config.absent else ""
    return classes + (f", splits {', '.join(config.splits)}" if config.splits else "") + absent


LAYOUT = Layout(
    name="yolo",
    sign="a data.yaml, or .txt files in labels/ or next to their images",
    kind="annotations",
    **read_by(ReadYolo),
    suffixes=("yaml", "yml"),
    find=find_yolo,
    accept=lambda folder: first_file(folder, lambda file: suffix(file) == "txt"),
)
