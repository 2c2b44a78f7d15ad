"""The records that tutorials write, made by TensorFlow alone.

Each kind of file comes with a declaration in the form of metadata.json, and with `tf.io` specs as
`tf.io.parse_example` takes them.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_examples import write_examples

RANDOM = np.random.default_rng(0)
NUM_RECORDS = 5
NUM_CLASSES = 3
LABELS = [number % NUM_CLASSES for number in range(NUM_RECORDS)]


FIXED_STRING = tf.io.FixedLenFeature([], tf.string)
FIXED_INT64 = tf.io.FixedLenFeature([], tf.int64)
FIXED_FLOAT = tf.io.FixedLenFeature([], tf.float32)

JPEGS = [
    tf.io.encode_jpeg(RANDOM.integers(0, 255, (20 + number, 30, 3), np.uint8)).numpy()
    for number in range(NUM_RECORDS)
]
PIXELS = [np.float32(tf.io.decode_jpeg(jpeg)) / np.float32(255) for jpeg in JPEGS]
METADATA = RANDOM.normal(size=(NUM_RECORDS, 5)).astype(np.float32)
SEQUENCES = [np.arange(1, length + 1) for length in (4, 1, 0, 7, 3)]
CLIPS = [np.int16(RANDOM.integers(-999, 999, (100 + number, 1))) for number in range(NUM_RECORDS)]
WAVS = [tf.audio.encode_wav(clip / np.float32(32768), 8000).numpy() for clip in CLIPS]
BOXES = [np.float32(RANDOM.uniform(size=(count, 4))) for count in (2, 0, 1, 1, 0)]
ARRAYS = RANDOM.normal(size=(NUM_RECORDS, 64, 64)).astype(np.float32)
CAPTIONS = [f"Bild {number}: häßlich".encode() for number in range(NUM_RECORDS)]


@dataclasses.dataclass(frozen=True)
class Column:
    """One feature of a kind of file.

    Attributes:
        stored: What is written, record by record.
        expected: What `numpy` must yield.
        declared: The feature as metadata.json has it.
        spec: As `tf.io.parse_example` takes it.
    """

    stored: Sequence[Any]
    expected: Sequence[Any]
    declared: Mapping[str, Any]
    spec: Any


@dataclasses.dataclass(frozen=True)
class Tutorial:
    """One kind of file that tutorials write.

    Attributes:
        columns: Its features by key.
        batching: Arguments of `batches` for training.
        target: What is learned.
        files: Names of the files that the records are dealt out to.
    """

    columns: Mapping[str, Column]
    batching: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    target: str = "label"
    files: tuple[str, ...] = ("records.tfrecord",)

    @property
    def records(self) -> list[dict[str, Any]]:
        """What is written by key, record by record."""
        return [
            {name: each.stored[number] for name, each in self.columns.items()}
            for number in range(NUM_RECORDS)
        ]

    @property
    def expected(self) -> list[dict[str, Any]]:
        """What `numpy` must yield, record by record, by name."""
        return [
            {name: each.expected[number] for name, each in self.columns.items()}
            for number in range(NUM_RECORDS)
        ]

    @property
    def declared(self) -> dict[str, Mapping[str, Any]]:
        """The features as metadata.json has them."""
        return {name: each.declared for name, each in self.columns.items()}

    @property
    def specs(self) -> dict[str, Any]:
        """As `tf.io.parse_example` takes them."""
        return {name: each.spec for name, each in self.columns.items()}


def _numbers(values: Sequence[Any], dtype: type, spec: Any) -> Column:
    """A number a record."""
    name = np.dtype(dtype).name
    return Column(values, [*map(dtype, values)], {"kind": "scalar", "dtype": name}, spec)


IMAGE = Column(JPEGS, PIXELS, {"kind": "image"}, FIXED_STRING)
LABEL = Column(LABELS, [*map(np.int64, LABELS)], {"kind": "class_label"}, FIXED_INT64)
SEQUENCE = Column(
    SEQUENCES, SEQUENCES, {"kind": "sequence", "dtype": "int64"}, tf.io.VarLenFeature(tf.int64)
)
FIVE = {"kind": "tensor", "dtype": "float32", "shape": [5]}
SQUARE = {"kind": "tensor", "dtype": "float32", "shape": [64, 64], "encoding": "bytes"}
CLASSES = [np.arange(len(boxes)) for boxes in BOXES]
SIDES = [pixels.shape for pixels in PIXELS]

TUTORIALS = {
    "1 image": Tutorial({"image": IMAGE, "label": LABEL}, {"image_size": 224}),
    "2 image and metadata": Tutorial(
        {
            "image": IMAGE,
            "metadata": Column(METADATA, METADATA, FIVE, tf.io.FixedLenFeature([5], tf.float32)),
            "label": LABEL,
        },
        {"image_size": (16, 24)},
    ),
    "3 sequence": Tutorial({"sequence": SEQUENCE, "label": LABEL}),
    "4 sequence of a given length": Tutorial(
        {
            "sequence": dataclasses.replace(SEQUENCE, spec=tf.io.RaggedFeature(tf.int64)),
            "label": LABEL,
        },
        {"pad": {"sequence": 4}, "padding_value": {"sequence": 9}, "truncate": True},
    ),
    "5 audio": Tutorial(
        {
            "audio": Column(
                WAVS,
                [clip / np.float32(32768) for clip in CLIPS],
                {"kind": "audio", "shape": [None, 1]},
                FIXED_STRING,
            ),
            "speaker_id": _numbers(LABELS, np.int64, FIXED_INT64),
            "timestamp": _numbers([label / 2 for label in LABELS], np.float32, FIXED_FLOAT),
        },
        target="speaker_id",
    ),
    "6 boxes": Tutorial(
        {
            "image_raw": IMAGE,
            "labels": Column(
                CLASSES,
                CLASSES,
                {"kind": "class_label", "shape": [None]},
                tf.io.VarLenFeature(tf.int64),
            ),
            "bounding_boxes": Column(
                BOXES,
                BOXES,
                {"kind": "boxes"},
                tf.io.FixedLenSequenceFeature([4], tf.float32, allow_missing=True),
            ),
        },
        {"image_size": 16, "pad": {"bounding_boxes": 3, "labels": 3}},
        target="bounding_boxes",
    ),
    "7 raw array": Tutorial(
        {
            "image": Column([each.tobytes() for each in ARRAYS], ARRAYS, SQUARE, FIXED_STRING),
            "label": LABEL,
        },
    ),
    "8 several files": Tutorial(
        {
            "image_raw": IMAGE,
            "height": _numbers([side[0] for side in SIDES], np.int64, FIXED_INT64),
            "width": _numbers([side[1] for side in SIDES], np.int64, FIXED_INT64),
            "caption": Column(CAPTIONS, CAPTIONS, {"kind": "text"}, FIXED_STRING),
            "label": LABEL,
        },
        {"image_size": 16},
        files=("data_0.tfrecord", "data_1.tfrecord", "data_2.tfrecord"),
    ),
}


def _write(folder: Path, tutorial: Tutorial, compression: str = "") -> str:
    """Writes files with the records dealt out to them; returns the glob that names the files."""
    share = -(-NUM_RECORDS // len(tutorial.files))
    for number, file in enumerate(tutorial.files):
        records = tutorial.records[number * share : (number + 1) * share]
        write_examples(folder / file, records, compression)
    return str(folder / "*.tfrecord")


# Last, so that a test's own parameters come before the tutorial in its name.
@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test that takes `tutorial` with each of them."""
    if "tutorial" in metafunc.fixturenames:
        metafunc.parametrize("tutorial", TUTORIALS.values(), ids=TUTORIALS)


@pytest.fixture(scope="session")
def tutorials() -> Mapping[str, Tutorial]:
    """The tutorials by name."""
    return TUTORIALS


@pytest.fixture(scope="session")
def write_tutorial() -> Callable[..., str]:
    """`_write`."""
    return _write
