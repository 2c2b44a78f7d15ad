"""What `.batches` is told about lengths: what it comes to, and what is said of wrong arguments."""

import numpy as np
import pytest

from tfrecord_dataset.format.declaration import features_from_json
from trainer.errors import ConfigError
from trainer.input_pipeline import lengths
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
    ("pad", "max_boxes", "expected"),
    [
        pytest.param(None, None, {}, id="nothing"),
        pytest.param({"tokens": 9}, None, {"tokens": 9}, id="a sequence"),
        pytest.param(
            {"boxes": 3}, None, {"boxes": 3, "box_labels": 3, "box_area": 3}, id="boxes and theirs"
        ),
        pytest.param(
            {"box_area": 5, "boxes": 3},
            None,
            {"boxes": 3, "box_labels": 3, "box_area": 5},
            id="the name itself wins",
        ),
        pytest.param(None, 4, {"boxes": 4, "box_labels": 4, "box_area": 4}, id="max_boxes"),
        pytest.param({"audio": 100}, None, {"audio": 100}, id="sound of one length"),
    ],
)
def test_stated_lengths(pad, max_boxes, expected):
    assert lengths.pad_lengths(pad, max_boxes, of()) == expected


@pytest.mark.parametrize(
    ("pad", "message"),
    [
        ({"token": 9}, "there is no .*did you mean 'tokens'"),
        ({"age": 9}, r"pad names 'age'.*\[\] is fixed"),
        ({"image": 9}, "is fixed; leave it out"),
        ({"tokens": 0}, "'tokens': 0. is not a length"),
        ({"tokens": "128"}, "'128'. is not a length"),
        (128, 'pad={"sequence": 128}'),
    ],
)
def test_wrong_lengths(pad, message):
    with pytest.raises(ConfigError, match=message):
        lengths.pad_lengths(pad, None, of())


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
        pytest.param(None, {}, id="usual"),
        pytest.param(7, {name: 7 for name in USUAL if name != "words"}, id="one for all numbers"),
        pytest.param("<pad>", {"words": b"<pad>"}, id="one for all strings"),
        pytest.param({"tokens": 7, "audio": 0.5}, {"tokens": 7, "audio": 0.5}, id="by name"),
        pytest.param({"tokens": np.int32(7)}, {"tokens": 7}, id="NumPy's"),
    ],
)
def test_padding(value, changed):
    padding = lengths.padding(value, of())

    assert {name: each.numpy() for name, each in padding.items()} == USUAL | changed


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"token": 7}, "there is no .*'tokens'"),
        ({"age": 7}, "padding_value names 'age'"),
        ({"tokens": 0.5}, "0.5 does not fit 'tokens'.*int64"),
        ({"words": 1}, "1 does not fit 'words'.*string"),
        ({"tokens": "x"}, "'x' does not fit 'tokens'"),
        (2**70, "fit 'tokens' of type int64"),
        ({"audio": 10**400}, "of type float32"),
        ({"tokens": float("nan")}, "nan does not fit"),
    ],
)
def test_wrong_padding(value, message):
    with pytest.raises(ConfigError, match=message):
        lengths.padding(value, of())


@pytest.mark.parametrize(
    ("ragged", "boxes", "expected"),
    [
        pytest.param(False, "padded", set(), id="nothing"),
        pytest.param(True, "padded", set(USUAL), id="all that vary"),
        pytest.param(["tokens"], "padded", {"tokens"}, id="one"),
        pytest.param("tokens", "padded", {"tokens"}, id="one, as a string"),
        pytest.param(False, "ragged", {"boxes", "box_labels", "box_area"}, id="boxes and theirs"),
    ],
)
def test_ragged_names(ragged, boxes, expected):
    assert lengths.ragged_names(ragged, boxes, of()) == expected


def test_what_is_fixed_cannot_be_ragged():
    with pytest.raises(ConfigError, match="ragged names 'age'"):
        lengths.ragged_names(["age"], "padded", of())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"lengths": {"tokens": 3}, "ragged": frozenset({"tokens"})},
            "'tokens' cannot be both padded .* and ragged; leave one out",
        ),
        ({"truncate": True}, "add pad="),
    ],
)
def test_arguments_that_do_not_go_together(arguments, message):
    with pytest.raises(ConfigError, match=message):
        lengths.Batching(size=2, **arguments)
