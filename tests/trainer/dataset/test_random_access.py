"""Random access without TensorFlow yields the same values as the trainer."""

import numpy as np
import pytest
import tensorflow as tf
from file_bytes import sound_bytes

import tfrecord_dataset
import trainer
from tfrecord_dataset.errors import DatasetDamagedError


def scalar(name, dtype, **more):
    return {"name": name, "kind": "scalar", "dtype": dtype, "shape": [], "key": name, **more}


RANDOM = np.random.default_rng(0)
PIXELS = RANDOM.integers(0, 256, (9, 7, 3), np.uint8)
MASK = tf.io.encode_png(PIXELS[..., :1] % 2).numpy()
SAMPLES = RANDOM.uniform(-1, 1, (50, 2))
CUT_PNG = tf.io.encode_png(PIXELS).numpy()[:80]
CUT_FLAC = sound_bytes(SAMPLES, "FLAC")[:100]
POINTS = "image/object/keypoint"
AUDIO = {"name": "audio", "kind": "audio", "key": "audio/encoded", "sample_rate": 8000}
IMAGE = {"name": "image", "kind": "image", "key": "image/encoded"}
LABEL = {"kind": "class_label", "dtype": "int64"}
# Declaration in metadata.json and record values, by kind.
KINDS = {
    "png": (
        IMAGE,
        [{"image/encoded": tf.io.encode_png(PIXELS).numpy()}],
    ),
    "png with an alpha channel": (
        IMAGE,
        [{"image/encoded": tf.io.encode_png(np.dstack([PIXELS, PIXELS[..., 0]])).numpy()}],
    ),
    "png of 16 bits": (
        {**IMAGE, "shape": [None, None, 1]},
        [{"image/encoded": tf.io.encode_png(PIXELS[..., :1].astype(np.uint16) * 257).numpy()}],
    ),
    "gray png in color": (
        IMAGE,
        [{"image/encoded": tf.io.encode_png(PIXELS[..., :1]).numpy()}],
    ),
    "wav": (AUDIO, [{"audio/encoded": sound_bytes(SAMPLES, "WAV", subtype="PCM_16")}]),
    "flac": (AUDIO, [{"audio/encoded": sound_bytes(SAMPLES[:, :1], "FLAC")}]),
    "numbers": (scalar("n", "int64"), [{"n": 2**40}, {"n": -1}]),
    "fractions": (scalar("x", "float32"), [{"x": 0.1}, {"x": float("nan")}]),
    "texts": ({"name": "t", "kind": "text"}, [{"t": "grün".encode()}, {"t": b""}]),
    "bytes": ({"name": "b", "kind": "bytes"}, [{"b": b"\0\xff"}]),
    "class": (
        {"name": "c", "key": "c/label", "classes": ["a", "b"], "label_offset": 1, **LABEL},
        [{"c/label": 1}, {"c/label": -1}],
    ),
    "class that may be missing": (
        {"name": "c", "default": -1, "bare": True, **LABEL},
        [{"c": 3}, {"other": 1}],
    ),
    "classes": ({"name": "c", "shape": [None], **LABEL}, [{"c": [1, 0]}, {"c": []}]),
    "tensor": (
        {"name": "a", "kind": "tensor", "dtype": "float32", "shape": [2, 2]},
        [{"a": [0.5, 1.0, 2.0, 4.0]}],
    ),
    "raw tensor": (
        {
            **{"name": "a", "kind": "tensor", "dtype": "uint16"},
            **{"shape": [2, 3], "encoding": "bytes"},
        },
        [{"a": np.arange(6, dtype="<u2").tobytes()}],
    ),
    "strings of a fixed number": (
        {"name": "a", "kind": "tensor", "dtype": "string", "shape": [2]},
        [{"a": [b"x", b"\xff"]}],
    ),
    "sequence": (
        {"name": "s", "kind": "sequence", "dtype": "int64"},
        [{"s": [1, 2, 3]}, {"s": []}, {}],
    ),
    "rows": (
        {"name": "s", "kind": "sequence", "dtype": "float32", "shape": [None, 2]},
        [{"s": [1.0, 2.0, 3.0, 4.0]}, {"s": []}],
    ),
    "strings": ({"name": "s", "kind": "sequence", "dtype": "string"}, [{"s": [b"x", b"yz"]}]),
    "flat boxes": (
        {"name": "boxes", "kind": "boxes", "encoding": "flat", "bare": True},
        [{"boxes": [0.1, 0.2, 0.3, 0.4]}, {"boxes": []}],
    ),
    "boxes": (
        {
            **{"name": "boxes", "kind": "boxes", "key": "image/object", "classes": ["a", "b"]},
            **{"attributes": {"area": "float32", "note": "string"}, "keypoints": 2},
            **{"keypoint_names": ["left", "right"], "keypoint_flips": [1, 0]},
            "geometry": ["mask", "polygon"],
        },
        [
            {
                **{f"image/object/bbox/{side}": [0.25, 0.5] for side in ("xmin", "ymin")},
                **{f"image/object/bbox/{side}": [0.75, 1.0] for side in ("xmax", "ymax")},
                **{"image/object/class/label": [2, 1], "image/object/area": [0.5, 0.25]},
                **{"image/object/note": [b"x", b""], f"{POINTS}/num": [2, 1]},
                **{f"{POINTS}/x": [0.1, 0.2, 0.3], f"{POINTS}/y": [0.4, 0.5, 0.6]},
                f"{POINTS}/visibility": [2, 1, 0],
                "image/object/mask": [MASK, tf.io.encode_png(1 - PIXELS[..., :1] % 2).numpy()],
                "image/object/polygon": [b"[[0.25,0.25,0.75,0.25,0.75,0.75]]", b"[]"],
            },
            {},
        ],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_trainer(tmp_path, write_dataset, kind):
    feature, records = KINDS[kind]
    feature = {"key": feature["name"], **feature}
    directory = write_dataset(tmp_path / "tiny/1.0.0", [feature], {"train": records}, num_shards=1)

    found = list(tfrecord_dataset.open(directory)["train"])

    expected = list(trainer.open(directory).numpy("train", image_dtype="uint8"))
    assert len(found) == len(expected) == len(records)
    for one, other in zip(found, expected, strict=True):
        assert list(one) == list(other)
        for name in one:
            assert type(one[name]) is type(other[name])
            assert getattr(one[name], "dtype", None) == getattr(other[name], "dtype", None)
            np.testing.assert_array_equal(one[name], other[name], strict=True)


def test_a_photograph_is_that_of_the_trainer_but_for_rounding(tmp_path, write_dataset):
    jpeg = tf.io.encode_jpeg(tf.image.resize(PIXELS, (40, 30)).numpy().astype(np.uint8)).numpy()
    records = {"train": [{"image/encoded": jpeg}]}
    directory = write_dataset(tmp_path / "tiny/1.0.0", [IMAGE], records, num_shards=1)

    image = tfrecord_dataset.open(directory)["train"][0]["image"]

    (expected,) = trainer.open(directory).numpy("train", image_dtype="uint8")
    assert image.shape == (40, 30, 3)
    assert np.abs(image.astype(int) - expected["image"]).mean() < 2.5


@pytest.mark.parametrize(
    ("kind", "record", "problem"),
    [
        ("numbers", {}, "key 'n' is missing, where an int64 list of 1"),
        ("numbers", {"n": [1, 2]}, "holds an int64 list of 2"),
        ("texts", {"t": 3}, "holds an int64 list of 1, where a bytes list"),
        ("rows", {"s": [1.0]}, "where a float list in rows of 2"),
        ("raw tensor", {"a": b"abc"}, "holds 3 bytes, where uint16"),
        ("png", {"image/encoded": b"abc"}, "holds no image"),
        ("png of 16 bits", {"image/encoded": CUT_PNG}, "holds no image that can be decoded"),
        ("flac", {"audio/encoded": b"abc"}, "holds no audio"),
        ("flac", {"audio/encoded": CUT_FLAC}, "holds no audio"),
        ("boxes", {"image/object/bbox/xmin": [0.5]}, "bbox/ymin' has 0 values for 1 boxes"),
        ("boxes", {f"{POINTS}/num": [3]}, "does not give 0 boxes their 0 points"),
    ],
)
def test_a_record_that_does_not_fit_is_named(tmp_path, write_dataset, kind, record, problem):
    feature = KINDS[kind][0]
    feature = {"key": feature["name"], **feature}
    records = {"train": [record]}
    directory = write_dataset(tmp_path / "tiny/1.0.0", [feature], records, num_shards=1)

    with pytest.raises(DatasetDamagedError, match=r"record 0 of .*-00001: key") as found:
        tfrecord_dataset.open(directory)["train"][0]
    assert problem in str(found.value)
