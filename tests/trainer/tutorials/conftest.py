"""The records that tutorials write, made by TensorFlow alone.

Each kind of file comes with a declaration in the form of metadata.json, and with `tf.io` specs as
`tf.io.parse_example` takes them.
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

RANDOM = np.random.default_rng(0)
NUM_RECORDS = 5
NUM_CLASSES = 3
LABELS = [number % NUM_CLASSES for number in range(NUM_RECORDS)]


def _bytes_feature(*values: bytes) -> tf.train.Feature:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def _int64_feature(*values: int) -> tf.train.Feature:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def _float_feature(*values: float) -> tf.train.Feature:
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


FIXED_STRING = tf.io.FixedLenFeature([], tf.string)
FIXED_INT64 = tf.io.FixedLenFeature([], tf.int64)
FIXED_FLOAT = tf.io.FixedLenFeature([], tf.float32)
CLASS_LABEL = {"kind": "class_label"}

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
class Tutorial:
    """One kind of file that tutorials write.

    Attributes:
        records: Features by key, record by record.
        expected: What `numpy` must yield, record by record, by name.
        declared: The features as metadata.json has them.
        specs: As `tf.io.parse_example` takes them.
        batching: Arguments of `batches` for training.
        target: What is learned.
        files: Names of the files that the records are dealt out to.
    """

    records: list[dict[str, tf.train.Feature]]
    expected: list[dict[str, Any]]
    declared: Mapping[str, Mapping[str, Any]]
    specs: Mapping[str, Any]
    batching: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    target: str = "label"
    files: tuple[str, ...] = ("records.tfrecord",)


LABEL_RECORDS = [{"label": _int64_feature(label)} for label in LABELS]
LABEL_EXPECTED = [{"label": np.int64(label)} for label in LABELS]


def _with_labels(
    records: list[dict[str, Any]], expected: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The same with a label in each record."""
    return (
        [one | other for one, other in zip(records, LABEL_RECORDS, strict=True)],
        [one | other for one, other in zip(expected, LABEL_EXPECTED, strict=True)],
    )


TUTORIALS = {
    "1 image": Tutorial(
        *_with_labels(
            [{"image": _bytes_feature(jpeg)} for jpeg in JPEGS],
            [{"image": pixels} for pixels in PIXELS],
        ),
        declared={"image": {"kind": "image"}, "label": CLASS_LABEL},
        specs={"image": FIXED_STRING, "label": FIXED_INT64},
        batching={"image_size": 224},
    ),
    "2 image and metadata": Tutorial(
        *_with_labels(
            [
                {"image": _bytes_feature(jpeg), "metadata": _float_feature(*metadata)}
                for jpeg, metadata in zip(JPEGS, METADATA, strict=True)
            ],
            [
                {"image": pixels, "metadata": metadata}
                for pixels, metadata in zip(PIXELS, METADATA, strict=True)
            ],
        ),
        declared={
            "image": {"kind": "image"},
            "metadata": {"kind": "tensor", "dtype": "float32", "shape": [5]},
            "label": CLASS_LABEL,
        },
        specs={
            "image": FIXED_STRING,
            "metadata": tf.io.FixedLenFeature([5], tf.float32),
            "label": FIXED_INT64,
        },
        batching={"image_size": (16, 24)},
    ),
    "3 sequence": Tutorial(
        *_with_labels(
            [{"sequence": _int64_feature(*sequence)} for sequence in SEQUENCES],
            [{"sequence": sequence} for sequence in SEQUENCES],
        ),
        declared={"sequence": {"kind": "sequence", "dtype": "int64"}, "label": CLASS_LABEL},
        specs={"sequence": tf.io.VarLenFeature(tf.int64), "label": FIXED_INT64},
    ),
    "4 sequence of a given length": Tutorial(
        *_with_labels(
            [{"sequence": _int64_feature(*sequence)} for sequence in SEQUENCES],
            [{"sequence": sequence} for sequence in SEQUENCES],
        ),
        declared={"sequence": {"kind": "sequence", "dtype": "int64"}, "label": CLASS_LABEL},
        specs={"sequence": tf.io.RaggedFeature(tf.int64), "label": FIXED_INT64},
        batching={"pad": {"sequence": 4}, "padding_value": {"sequence": 9}, "truncate": True},
    ),
    "5 audio": Tutorial(
        [
            {
                "audio": _bytes_feature(wav),
                "speaker_id": _int64_feature(label),
                "timestamp": _float_feature(label / 2),
            }
            for wav, label in zip(WAVS, LABELS, strict=True)
        ],
        [
            {
                "audio": clip / np.float32(32768),
                "speaker_id": np.int64(label),
                "timestamp": np.float32(label / 2),
            }
            for clip, label in zip(CLIPS, LABELS, strict=True)
        ],
        declared={
            "audio": {"kind": "audio", "shape": [None, 1]},
            "speaker_id": {"kind": "scalar", "dtype": "int64"},
            "timestamp": {"kind": "scalar", "dtype": "float32"},
        },
        specs={"audio": FIXED_STRING, "speaker_id": FIXED_INT64, "timestamp": FIXED_FLOAT},
        target="speaker_id",
    ),
    "6 boxes": Tutorial(
        [
            {
                "image_raw": _bytes_feature(jpeg),
                "labels": _int64_feature(*range(len(boxes))),
                "bounding_boxes": _float_feature(*boxes.flatten()),
            }
            for jpeg, boxes in zip(JPEGS, BOXES, strict=True)
        ],
        [
            {"image_raw": pixels, "labels": np.arange(len(boxes)), "bounding_boxes": boxes}
            for pixels, boxes in zip(PIXELS, BOXES, strict=True)
        ],
        declared={
            "image_raw": {"kind": "image"},
            "labels": {"kind": "class_label", "shape": [None]},
            "bounding_boxes": {"kind": "boxes"},
        },
        specs={
            "image_raw": FIXED_STRING,
            "labels": tf.io.VarLenFeature(tf.int64),
            "bounding_boxes": tf.io.FixedLenSequenceFeature([4], tf.float32, allow_missing=True),
        },
        batching={"image_size": 16, "pad": {"bounding_boxes": 3, "labels": 3}},
        target="bounding_boxes",
    ),
    "7 raw array": Tutorial(
        *_with_labels(
            [{"image": _bytes_feature(array.tobytes())} for array in ARRAYS],
            [{"image": array} for array in ARRAYS],
        ),
        declared={
            "image": {
                "kind": "tensor",
                "dtype": "float32",
                "shape": [64, 64],
                "encoding": "bytes",
            },
            "label": CLASS_LABEL,
        },
        specs={"image": FIXED_STRING, "label": FIXED_INT64},
    ),
    "8 several files": Tutorial(
        *_with_labels(
            [
                {
                    "image_raw": _bytes_feature(jpeg),
                    "height": _int64_feature(pixels.shape[0]),
                    "width": _int64_feature(pixels.shape[1]),
                    "caption": _bytes_feature(caption),
                }
                for jpeg, pixels, caption in zip(JPEGS, PIXELS, CAPTIONS, strict=True)
            ],
            [
                {
                    "image_raw": pixels,
                    "height": np.int64(pixels.shape[0]),
                    "width": np.int64(pixels.shape[1]),
                    "caption": caption,
                }
                for pixels, caption in zip(PIXELS, CAPTIONS, strict=True)
            ],
        ),
        declared={
            "image_raw": {"kind": "image"},
            "height": {"kind": "scalar", "dtype": "int64"},
            "width": {"kind": "scalar", "dtype": "int64"},
            "caption": {"kind": "text"},
            "label": CLASS_LABEL,
        },
        specs={
            "image_raw": FIXED_STRING,
            "height": FIXED_INT64,
            "width": FIXED_INT64,
            "caption": FIXED_STRING,
            "label": FIXED_INT64,
        },
        batching={"image_size": 16},
        files=("data_0.tfrecord", "data_1.tfrecord", "data_2.tfrecord"),
    ),
}


def _write(folder: Path, tutorial: Tutorial, compression: str = "") -> str:
    """Writes files with the records dealt out to them; returns the glob that names the files."""
    examples = [
        tf.train.Example(features=tf.train.Features(feature=record)) for record in tutorial.records
    ]
    share = -(-len(examples) // len(tutorial.files))
    for number, file in enumerate(tutorial.files):
        with tf.io.TFRecordWriter(str(folder / file), options=compression) as writer:
            for example in examples[number * share : (number + 1) * share]:
                writer.write(example.SerializeToString())
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
