"""The features of other people's Examples, by what their first records hold."""

import numpy as np
import pytest
from inference_cases import CASES, MISSING, in_words
from tensorflow_examples import example

from tfrecord_dataset.format.inference import guesses, infer, observe
from trainer.errors import ConfigError

FLOATS = np.linspace(0, 1, 16, dtype="<f4").tobytes()


def sample_of(key, *records):
    """What records hold whose `key` has these values; beside it each has a key `other`."""
    examples = [{"other": 1} | ({} if each is MISSING else {key: each}) for each in records]
    return observe((f"record {number}", example(each)) for number, each in enumerate(examples))


def inferred(key, *records):
    feature = infer(sample_of(key, *records))[key]
    assert (feature.name, feature.key, feature.bare) == (key, key, True)
    return feature


@pytest.mark.parametrize(("key", "records", "expected"), CASES)
def test_infer(key, records, expected):
    feature = inferred(key, *records)

    assert in_words(feature) == expected
    assert feature.encoding == ""
    assert feature.classes == ()  # of a sample nobody knows


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        pytest.param(FLOATS, "float32", (4, 4), id="a square"),
        pytest.param(np.ones((2, 2, 3), "<f4").tobytes(), "float32", (2, 2, 3), id="rgb"),
        pytest.param(np.full((3, 3), 0.1, "<f8").tobytes(), "float64", (3, 3), id="doubles"),
        pytest.param(b"\xff\0\1\2", "uint8", (2, 2), id="bytes"),
        pytest.param(b"\xff" * 12, "uint8", (2, 2, 3), id="bytes, rgb"),
    ],
)
def test_a_square_of_raw_numbers_is_guessed(value, dtype, shape):
    feature = inferred("s", [value], [value])

    assert (feature.kind, feature.dtype, feature.shape) == ("tensor", dtype, shape)
    assert feature.encoding == "bytes"


@pytest.mark.parametrize("other", [b"", FLOATS * 4], ids=["an empty value", "another length"])
def test_raw_numbers_of_no_shape_are_not_guessed(other):
    assert inferred("s", [FLOATS], [other]).kind == "bytes"


def test_features_are_sorted_by_key():
    assert list(infer(sample_of("z", [1]))) == ["other", "z"]


def test_two_kinds_of_list_are_an_error():
    with pytest.raises(
        ConfigError,
        match=r"'n' must hold lists of one kind.* float list in record 1, .* list in record 0",
    ):
        infer(sample_of("n", [1], [1.5]))


def test_what_was_guessed_is_said():
    sample = sample_of("s", [FLOATS], [FLOATS])

    (note,) = guesses(infer(sample), sample)

    assert note.startswith("s: 64 raw bytes per record are assumed to be float32 [4, 4]; ")
    assert 'declare by features (--schema FILE), as {"s": {"kind": "tensor"' in note
