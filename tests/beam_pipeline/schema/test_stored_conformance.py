"""Examples that do not fit a schema: the key, the actual and the expected values."""

import pytest

from beam_pipeline.kinds.media import size_problem
from beam_pipeline.schema.conformance import (
    mismatches,
    schema_specs,
)
from tfrecord_dataset.format.example import encode, lists
from tfrecord_dataset.format.feature import Feature

PNG = b"\x89PNG\r\n\x1a\n"


def bare(kind, dtype, shape=(), **more):
    return Feature(name="x", kind=kind, dtype=dtype, shape=shape, key="x", bare=True, **more)


LABEL = bare("class_label", "int64", classes=("cat", "dog"))
LABELS = bare("class_label", "int64", (None,), classes=("cat", "dog"))
AGE = bare("scalar", "int64", minimum=0, maximum=120)
VECTOR = bare("tensor", "float32", (2, 3), minimum=0.0)
RAW = bare("tensor", "int16", (2, 3), encoding="bytes", maximum=9)
ROWS = bare("sequence", "float32", (None, 3))
BOXES = bare("boxes", "float32", (None, 4), encoding="flat")


def problems(feature, values):
    return list(mismatches(schema_specs([feature]), lists(encode(values))))


@pytest.mark.parametrize(
    ("feature", "values"),
    [
        pytest.param(LABEL, [-1], id="no class"),
        pytest.param(LABELS, [], id="no classes"),
        pytest.param(AGE, [120], id="a number in range"),
        pytest.param(ROWS, [], id="no rows"),
        pytest.param(BOXES, [0.5] * 8, id="boxes"),
        pytest.param(bare("scalar", "string"), ["Öl".encode()], id="text"),
        pytest.param(bare("scalar", "bytes"), [b"\xff"], id="bytes"),
        pytest.param(bare("image", "uint8", (None, None, 3)), [PNG], id="an image"),
    ],
)
def test_what_fits(feature, values):
    assert problems(feature, {"x": values}) == []


ANY_IMAGE = bare("image", "uint8", (None, None, 3))


@pytest.mark.parametrize(
    ("feature", "values", "message"),
    [
        (LABEL, [2], "the class 2, where 0 to 1 was expected, or -1"),
        (LABELS, [0, -2], "the class -2"),
        (
            *(LABEL, [b"cat"]),
            "key 'x' holds a bytes list of 1, where an int64 list of 1 was expected",
        ),
        (LABEL, [], "no value, where an int64 list of 1"),
        (AGE, [121], "holds 121, where 0 to 120 was expected"),
        (VECTOR, [0.0] * 5, "a float list of 5, where a float list of 6"),
        (VECTOR, [0.0] * 5 + [-0.5], "holds -0.5, where 0 to inf"),
        (VECTOR, [0.0] * 5 + [float("nan")], "holds nan"),
        (RAW, [bytes(11)], "11 bytes, where int16 [2, 3] has 12"),
        (RAW, [bytes([10] * 12)], "holds 2570"),
        (ROWS, [0.5] * 8, "a float list of 8, where a float list in rows of 3"),
        (BOXES, [0.5] * 7, "in rows of 4"),
        (bare("text", "string"), [b"\xff"], "where UTF-8 was expected"),
        (ANY_IMAGE, [b"text"], "start with 'text', where image (bmp, gif, jpeg, png) was expected"),
        (bare("audio", "float32", (None, None)), [b""], "no bytes"),
    ],
)
def test_what_does_not_fit(feature, values, message):
    (problem,) = problems(feature, {"x": values})
    assert message in problem


def test_audio_of_another_sample_rate():
    sound = bare("audio", "float32", (None, 1), sample_rate=8000)
    assert size_problem(sound, (99, 1), 8000) == ""
    assert "16,000 samples per second, where 8,000" in size_problem(sound, (99, 1), 16_000)
