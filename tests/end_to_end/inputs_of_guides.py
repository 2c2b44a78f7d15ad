"""The files that pages of docs/ name in their commands, made of what is in examples/data."""

from collections.abc import Callable, Iterator
from pathlib import Path

from end_to_end.inputs_of_pages import TREES

import beam_pipeline
import trainer
from tfrecord_dataset.format import frames
from tfrecord_dataset.format.example import encode

EXAMPLES = Path(__file__).parents[2] / "examples"
_CELLS = EXAMPLES / "data/cells"


def _images() -> Iterator[tuple[str, Path]]:
    """(class, image) of ten cells of each of two classes, no two of one name."""
    for name, some in (("RBC", slice(10)), ("WBC", slice(-10, None))):
        for image in sorted((_CELLS / name).glob("*.jpg"))[some]:
            yield name, image


def _records(path: Path, **more: int) -> None:
    """A TFRecord file of images with numbers of classes, as others write them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for number, (_, image) in enumerate(_images()):
            features = {
                "image": [image.read_bytes()],
                "label": [number % 2],
                **{name: [number % count] for name, count in more.items()},
            }
            file.write(frames.framed(encode(features)))


def _data_checks(root: Path) -> None:
    (root / "data").mkdir()
    (root / "data/blood").symlink_to(root / "demo/data/blood")
    _records(root / "downloads/a.tfrecord")
    for version in ("1.0.0", "1.1.0"):
        TREES["class-folders"](root)
        config = {"input": str(root / "cells"), "name": "pets", "version": version}
        beam_pipeline.build(beam_pipeline.BuildConfig(output=str(root / "data"), **config))
        next((root / "cells/RBC").iterdir()).unlink()


def _training(root: Path) -> None:
    _records(root / "mine/data_0.tfrecord", speaker_id=3)
    TREES["text"](root)
    beam_pipeline.build(
        beam_pipeline.BuildConfig(input=str(root / "reviews"), output=str(root / "texts"))
    )
    trainer.train(root / "texts/reviews", root / "runs/reviews", epochs=1, quiet=True)


# Makes the files of a page, by its name, in a folder that has examples/ and what `make demo` made.
INPUTS: dict[str, Callable[[Path], None]] = {
    "building": lambda root: None,
    "data-checks": _data_checks,
    "detection": lambda root: None,
    "input": lambda root: None,
    "object-stores": TREES["class-folders"],
    "reading": lambda root: None,
    "recipe": lambda root: None,
    "segmentation": lambda root: None,
    "training": _training,
    "tutorial": lambda root: None,
}
