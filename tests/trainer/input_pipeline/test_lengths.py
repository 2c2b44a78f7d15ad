"""Length arguments of `Dataset.batches`."""

import numpy as np
import pytest

from tfrecord_dataset.format.declaration import features_from_json
from trainer.errors import ConfigError
from trainer.input_pipeline import padding
from trainer.parsing import Decoding, outputs

ALL = {
    "image": {"kind": "image"},
    "tokens": {"kind": "sequence", "dtype": "int64"},
    "words": {"kind": "sequence", "dtype": "string"},
    "audio": {"kind": "audio", "shape": [8000, 1]},
    "tags": {"kind": "class_label", "shape": [None]},
    "boxes": {"kind": "boxes", "classes": ["a"], "attributes": {"area": "float32"}},
    "age": {"kind": "scalar", "dtype": "int64"},
}


def of(*names):
    features = features_from_json({name: ALL[name] for name in names or ALL})
    return outputs(list(features.values()), Decoding())


@pytest.mark.parametrize(
    ("pad", "expected"),
    [
        (None, {}),
        ({"tokens": 9}, {"tokens": 9}),
        ({"boxes": 3}, {"boxes": 3, "box_labels": 3, "box_area": 3}),
        ({"box_area": 5, "boxes": 3}, {"boxes": 3, "box_labels": 3, "box_area": 5}),
        ({"audio": 100}, {"audio": 100}),
    ],
)
def test_stated_lengths(pad, expected):
    assert padding.pad_lengths(pad, of()) == expected


@pytest.mark.parametrize(
    ("pad", "message"),
    [
        ({"token": 9}, "unknown .*did you mean 'tokens'"),
        ({"age": 9}, r"pad names 'age'.*\[\] is fixed"),
        ({"image": 9}, "is fixed; leave it out"),
        ({"tokens": 0}, "'tokens': 0. is not a length"),
        ({"tokens": "128"}, "'128'. is not a length"),
        (128, 'pad={"sequence": 128}'),
    ],
)
def test_wrong_lengths(pad, message):
    with pytest.raises(ConfigError, match=message):
        padding.pad_lengths(pad, of())


USUAL = {
    "tokens": 0,
    "words": b"",
    "audio": 0.0,
    "tags": -1,
    "boxes": -1.0,
    "box_labels": -1,
    "box_area": -1.0,
}


@pytest.mark.parametrize(
    ("value", "changed"),
    [
        (None, {}),
        ({"tokens": 7, "audio": 0.5, "words": "-"}, {"tokens": 7, "audio": 0.5, "words": b"-"}),
        ({"tokens": np.int32(7)}, {"tokens": 7}),
    ],
)
def test_padding(value, changed):
    made = padding.padding_values(value, of())

    assert {name: each.numpy() for name, each in made.items()} == USUAL | changed


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"token": 7}, "unknown .*'tokens'"),
        ({"age": 7}, "padding_value names 'age'"),
        ({"tokens": 0.5}, "0.5 does not fit 'tokens'.*int64"),
        ({"words": 1}, "1 does not fit 'words'.*string"),
        ({"tokens": "x"}, "'x' does not fit 'tokens'"),
        ({"tokens": 2**70}, "fit 'tokens' of type int64"),
        ({"audio": 10**400}, "of type float32"),
        ({"tokens": float("nan")}, "nan does not fit"),
    ],
)
def test_wrong_padding(value, message):
    with pytest.raises(ConfigError, match=message):
        padding.padding_values(value, of())


@pytest.mark.parametrize(
    ("ragged", "expected"),
    [
        (False, set()),
        (True, set(USUAL)),
        (["tokens"], {"tokens"}),
        ("boxes", {"boxes", "box_labels", "box_area"}),
    ],
)
def test_ragged_names(ragged, expected):
    assert padding.ragged_names(ragged, of()) == expected


def test_what_is_fixed_cannot_be_ragged():
    with pytest.raises(ConfigError, match="ragged names 'age'"):
        padding.ragged_names(["age"], of())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"lengths": {"tokens": 3}, "ragged": frozenset({"tokens"})},
            "'tokens' cannot be both padded and ragged",
        ),
        ({"truncate": True}, "add pad="),
    ],
)
def test_arguments_that_do_not_go_together(arguments, message):
    with pytest.raises(ConfigError, match=message):
        padding.Batching(size=2, **arguments)
