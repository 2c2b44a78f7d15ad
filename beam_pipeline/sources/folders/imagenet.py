"""The classes of ImageNet's validation images, which lie in no class folders but in tables."""

import csv
from collections.abc import Iterable

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.as_tables import making
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset import extras

# Kaggle's, of ImageId and PredictionString: "n01440764 85 1 499 272 n01440764 …".
_TABLE = "LOC_val_solution.csv"
# Of ILSVRC's development kit: line n has the number in meta.mat of the class of the n-th image.
_NUMBERS = "ILSVRC2012_validation_ground_truth.txt"
_MAX_BYTES = 64 << 20


def class_list(tree: Tree) -> str:
    """The path below a tree of the table of its validation images' classes; "" if none is."""
    return _named(_TABLE, [*tree.files(), *tree.outside])


def refused_numbers(tree: Tree) -> str:
    """Why the classes beside validation images are not read, and what helps; "" without them."""
    if not (found := _named(_NUMBERS, [*tree.files(), *tree.outside])):
        return ""
    made = making(tree.path(_TABLE), tree.root, tree.path(found))
    return (
        f"{found} has the classes of the images without class folders as numbers, which meta.mat "
        f"of the same kit explains: write them as Kaggle's table by {made} (it needs "
        f"{extras.install('matlab')}), or pass --ignore {_NUMBERS} to read the others alone"
    )


def _named(name: str, paths: Iterable[str]) -> str:
    return min((path for path in paths if name_of(path) == name), default="")


def read_classes(path: str) -> dict[str, str]:
    """The class of each image, by the image's name without suffix.

    Raises:
        ConfigError: The table is not as Kaggle has it.
        RecordError: It cannot be read.
    """
    classes: dict[str, str] = {}
    rows = csv.reader(storage.read_text(path, _MAX_BYTES).splitlines())
    try:
        for row in filter(None, rows):
            name, boxes = row
            classes[name] = boxes.split()[0]
    except (csv.Error, ValueError, IndexError) as error:
        raise ConfigError(
            f"{path}:{rows.line_num} is not an ImageId and a PredictionString that begins with a "
            f"class; fetch the table again, or pass --ignore {_TABLE}"
        ) from error
    classes.pop("ImageId", None)
    return classes
