"""The features of other people's Examples, by what their first records hold."""

import numpy as np
import pytest
import tensorflow as tf

import trainer
from trainer.errors import ConfigError
from trainer.schema.inference import guesses, infer
from trainer.schema.observation import observe

JPEG = tf.io.encode_jpeg(np.zeros((2, 2, 3), np.uint8)).numpy()
PNG = tf.io.encode_png(np.zeros((2, 2, 3), np.uint8)).numpy()
WAV = tf.audio.encode_wav([[0.5]], 8000).numpy()
FLOATS = np.linspace(0, 1, 16, dtype="<f4").tobytes()
MISSING = object()


def _feature(values):
    match values:
        case [int(), *_]:
            return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        case [float(), *_]:
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        case [bytes(), *_]:
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    return tf.train.Feature()


def sample_of(key, *records):
    """What records hold whose `key` has these values; beside it each has a key `other`."""
    examples = []
    for values in records:
        features = {"other": _feature([1])}
        if values is not MISSING:
            features[key] = _feature(values if isinstance(values, list) else [values])
        examples.append(tf.train.Example(features=tf.train.Features(feature=features)))
    return observe(
        (f"record {number}", example.SerializeToString()) for number, example in enumerate(examples)
    )


def inferred(key, *records):
    feature = infer(sample_of(key, *records))[key]
    assert (feature.name, feature.key, feature.bare) == (key, key, True)
    return feature


@pytest.mark.parametrize(
    ("key", "records", "kind", "dtype", "shape"),
    [
        pytest.param("n", [7, 8], "scalar", "int64", (), id="one integer"),
        pytest.param("x", [0.5, 1.5], "scalar", "float32", (), id="one float"),
        pytest.param("n", [[1, 2], [3, 4]], "tensor", "int64", (2,), id="two integers"),
        pytest.param("x", [[0.5] * 5] * 2, "tensor", "float32", (5,), id="five floats"),
        pytest.param("s", [[b"a", b"b"]] * 2, "tensor", "string", (2,), id="two strings"),
        pytest.param("n", [[1, 2], [3]], "sequence", "int64", (None,), id="more or fewer integers"),
        pytest.param("n", [[1], []], "sequence", "int64", (None,), id="one or none"),
        pytest.param("n", [1, MISSING], "sequence", "int64", (None,), id="missing is none"),
        pytest.param("s", [b"a", MISSING], "sequence", "string", (None,), id="missing text"),
        pytest.param("s", [JPEG, MISSING], "sequence", "string", (None,), id="missing image"),
        pytest.param("s", [[b"a"], [b"a", b"b"]], "sequence", "string", (None,), id="strings"),
        pytest.param("s", [[], []], "sequence", "string", (None,), id="nothing at all"),
        pytest.param("boxes", [[0.1] * 4, [0.1] * 8], "sequence", "float32", (None, 4), id="boxes"),
        pytest.param(
            "a/BBox", [[0.1] * 4] * 2, "sequence", "float32", (None, 4), id="one box each"
        ),
        pytest.param("boxes", [[0.1] * 4, []], "sequence", "float32", (None, 4), id="some no box"),
        pytest.param("boxes", [[0.1] * 4, [0.1]], "sequence", "float32", (None,), id="no fours"),
        pytest.param("box/x", [[0.1] * 4] * 2, "tensor", "float32", (4,), id="box is not last"),
        pytest.param("boxes", [[1] * 4] * 2, "tensor", "int64", (4,), id="boxes of integers"),
        pytest.param("label", [0, 9_999], "class_label", "int64", (), id="label"),
        pytest.param("label", [-1, 2], "class_label", "int64", (), id="some have no label"),
        pytest.param("image/class/Label", [0, 1], "class_label", "int64", (), id="last part"),
        pytest.param("dog_class", [0, 1], "class_label", "int64", (), id="ending"),
        pytest.param("label", [0, 10_000], "scalar", "int64", (), id="too large for a class"),
        pytest.param("label", [-2, 1], "scalar", "int64", (), id="too small for a class"),
        pytest.param("label", [0.0, 1.0], "scalar", "float32", (), id="a float label"),
        pytest.param("labels", [[0, 1], [2]], "sequence", "int64", (None,), id="several labels"),
        pytest.param("speaker", [0, 1], "scalar", "int64", (), id="not called a label"),
        pytest.param("s", [b"abc", "ä".encode()], "text", "string", (), id="text"),
        pytest.param("s", [b"abc", b""], "text", "string", (), id="an empty text"),
        pytest.param("s", [b"", b""], "text", "string", (), id="empty texts"),
        pytest.param("s", [JPEG, PNG], "image", "uint8", (None, None, 3), id="images"),
        pytest.param("s", [JPEG, b""], "image", "uint8", (None, None, 3), id="an empty image"),
        pytest.param("s", [WAV, WAV], "audio", "float32", (None, None), id="sounds"),
        pytest.param("s", [FLOATS] * 2, "tensor", "float32", (4, 4), id="a raw square"),
        pytest.param(
            "s", [np.ones((2, 2, 3), "<f4").tobytes()] * 2, "tensor", "float32", (2, 2, 3), id="rgb"
        ),
        pytest.param(
            "s",
            [np.full((3, 3), 0.1, "<f8").tobytes()] * 2,
            "tensor",
            "float64",
            (3, 3),
            id="a raw square of doubles",
        ),
        pytest.param("s", [b"\xff\0\1\2"] * 2, "tensor", "uint8", (2, 2), id="a square of bytes"),
        pytest.param("s", [b"\xff" * 12] * 2, "tensor", "uint8", (2, 2, 3), id="bytes, rgb"),
        pytest.param("s", [FLOATS, b""], "bytes", "string", (), id="an empty raw value"),
        pytest.param("s", [FLOATS, FLOATS * 4], "bytes", "string", (), id="raw of two lengths"),
        pytest.param("s", [b"\xff" * 5] * 2, "bytes", "string", (), id="no square"),
        pytest.param("s", [JPEG, b"\xff" * 5], "bytes", "string", (), id="an image and raw"),
    ],
)
def test_infer(key, records, kind, dtype, shape):
    feature = inferred(key, *records)

    assert (feature.kind, feature.dtype, feature.shape) == (kind, dtype, shape)
    assert feature.classes == ()  # of a sample nobody knows
    raw = kind == "tensor" and isinstance(records[0], bytes)
    assert feature.encoding == ("bytes" if raw else "")


@pytest.mark.parametrize(
    ("records", "kind", "default"),
    [
        pytest.param([0, 1], "class_label", None, id="all have one"),
        pytest.param([0, MISSING], "class_label", -1, id="one lacks it"),
        pytest.param([0, []], "sequence", None, id="one has none"),
        pytest.param([[0, 1], MISSING], "sequence", None, id="one has two"),
        pytest.param([10_000, MISSING], "sequence", None, id="no classes"),
    ],
)
def test_a_class_label_may_be_missing(records, kind, default):
    feature = inferred("label", *records)

    assert (feature.kind, feature.default) == (kind, default)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([JPEG, JPEG], "jpeg"),
        ([PNG, PNG], "png"),
        ([JPEG, PNG], "mixed"),
        ([b"GIF89a"] * 2, "mixed"),
        ([WAV, WAV], "wav"),
        ([b"fLaC", b"OggS"], "mixed"),
    ],
)
def test_formats(values, expected):
    assert inferred("s", *values).format == expected


def test_features_are_sorted_by_key():
    assert list(infer(sample_of("z", 1))) == ["other", "z"]


def test_two_kinds_of_list_are_an_error():
    with pytest.raises(
        ConfigError,
        match=r"'n' must hold lists of one kind.*float32 in record 1, int64 in record 0",
    ):
        infer(sample_of("n", 1, 1.5))


def test_what_was_guessed_is_said():
    sample = sample_of("s", FLOATS, FLOATS)

    (note,) = guesses(infer(sample), sample)

    assert note.startswith("s: 64 raw bytes per record are assumed to be float32 [4, 4]; ")
    assert 'declare by features= (of a command: --schema FILE) {"s": {"kind": "tensor"' in note


def test_files_without_any_value(tmp_path):
    (tmp_path / "empty.tfrecord").touch()

    with pytest.raises(
        trainer.NotADatasetError, match="cannot be inferred; declare them by features="
    ):
        trainer.open(tmp_path / "empty.tfrecord")


def test_records_that_are_not_examples(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "a.tfrecord")) as writer:
        writer.write(b"\xff\xff\xff")

    with pytest.raises(trainer.NotADatasetError, match=r"not tf\.train\.Examples"):
        trainer.open(tmp_path / "a.tfrecord")
