"""The layout `cub`: numbered lists of images, classes, splits and boxes, as CUB-200-2011 has them.

Source of the format: CUB-200-2011's README. NABirds has the same files, with texts for numbers.
"""

import dataclasses
from collections.abc import Iterator, Mapping

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import (
    ClassLabel,
    DeclaredClasses,
    Element,
    FileRef,
    Image,
    Objects,
    Record,
    Rejected,
    Value,
)
from beam_pipeline.running.gathering import Balance
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import below, input_folder
from beam_pipeline.sources.tables.labels import is_class_number
from beam_pipeline.sources.tree import Tree

_IMAGES, _LABELS, _CLASSES = "images.txt", "image_class_labels.txt", "classes.txt"
_SPLITS, _BOXES = "train_test_split.txt", "bounding_boxes.txt"
_NEEDED, LISTS = (_IMAGES, _LABELS, _CLASSES), (_IMAGES, _LABELS, _CLASSES, _SPLITS, _BOXES)
_HOME = "images"
_MAX_BYTES = 64 << 20  # some hundred thousand images


@dataclasses.dataclass
class ReadCub(beam.PTransform):
    """A Record {image, label} for each line of images.txt, with one box where there are boxes.

    The split is `train` or `test`, as train_test_split.txt has 1 or 0. A line of another list whose
    number is no image's is Rejected, bad, and so is an image without class, split or box.

    Attributes:
        root: The folder of the lists, local or remote.
    """

    root: str

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        root = input_folder(self.root)
        return (
            pipeline
            | "Root" >> beam.Create([root])
            | "ReadLists" >> beam.FlatMap(read_lists)  # Element
            | "BalanceRecords" >> Balance()  # Element
        )


def read_lists(root: str) -> Iterator[Element]:
    """The records that the lists in a folder describe together."""
    lists: dict[str, dict[str, tuple[int, str]]] = {}
    for name in LISTS:
        if storage.exists(below(root, name)):
            try:
                lists[name] = _read(below(root, name), name)
            except RecordError as error:
                yield Rejected.of(name, error)
                return
    classes = {number: name for number, (_, name) in lists[_CLASSES].items()}
    if all(map(is_class_number, classes)):
        names = {int(number): name for number, name in classes.items()}
        yield DeclaredClasses(feature="label", names=names)
    images = lists[_IMAGES]
    for name, lines in lists.items():
        for number, (line, _) in lines.items():
            if number not in images and name != _CLASSES:
                yield Rejected(
                    source=f"{name}:{line}",
                    reason="missing image",
                    detail=f"{_IMAGES} has no image {number!r}",
                )
    for number, (line, path) in images.items():
        source = f"{_IMAGES}:{line}"
        told = {name: lines.get(number, (0, ""))[1] for name, lines in lists.items()}
        try:
            yield _record(root, path, source, told, classes)
        except RecordError as error:
            yield Rejected.of(source, error)


def _read(path: str, name: str) -> dict[str, tuple[int, str]]:
    """What a list says, with the line from 1, by the number that begins it.

    Raises:
        RecordError: It cannot be read, or has a number twice.
    """
    data = storage.read_bytes(FileRef(path=path), _MAX_BYTES)
    found: dict[str, tuple[int, str]] = {}
    for line, text in enumerate(storage.decoded(data, name).splitlines(), start=1):
        number, _, said = text.strip().partition(" ")
        if number in found:
            raise malformed(f"line {line}: {number!r} stands in line {found[number][0]}, too")
        if number:
            found[number] = line, said.strip()
    return found


def _record(
    root: str, path: str, source: str, told: Mapping[str, str], classes: Mapping[str, str]
) -> Record:
    """The record of one image.

    Raises:
        RecordError: "malformed annotation": a list does not tell what others have.
    """
    if told[_LABELS] not in classes:
        raise malformed(f"its class is {told[_LABELS]!r}, which {_CLASSES} does not name")
    if ".." in path.split("/") or path.startswith("/"):
        raise malformed(f"{path!r:.100} is no path in {_HOME}/")
    key = f"{_HOME}/{path}"
    features: dict[str, Value] = {
        "image": Image(file=FileRef(path=below(root, key))),
        "label": ClassLabel(classes[told[_LABELS]]),
    }
    if _BOXES in told:
        features["boxes"] = Objects(boxes=(_box(told[_BOXES]),), format="xywh")
    split = {"1": "train", "0": "test"}.get(told.get(_SPLITS, ""))
    if _SPLITS in told and split is None:
        raise malformed(f"{_SPLITS} says {told[_SPLITS]!r} of it, not 1 or 0")
    return Record(key=key, features=features, split=split, source=source)


def _box(text: str) -> tuple[float, float, float, float]:
    try:
        x, y, width, height = map(float, text.split())
    except ValueError:
        raise malformed(f"{_BOXES} says {text!r:.100} of it, not x y width height") from None
    return x, y, width, height


def claim_cub(tree: Tree, config: BuildConfig) -> Claim | None:
    """The folder of such lists, with images/ beside them."""
    for home, names in tree.names() if tree.is_folder else ():
        if {*_NEEDED} <= {*names} and _HOME in tree.look(home).folders:
            lists = tuple(name for name in LISTS if name in names)
            return Claim(
                layout="cub",
                rank=Rank.ANNOTATIONS,
                path=tree.path(home),
                reads=lists,
                understood=(("lists", f"lists {', '.join(lists)}"),),
            )
    return None


LAYOUT = Layout(
    name="cub",
    sign="images.txt, image_class_labels.txt and classes.txt, next to images/",
    read=lambda claim, config, scratch: ReadCub(claim.path),
    takes=(),
    claim=claim_cub,
)
