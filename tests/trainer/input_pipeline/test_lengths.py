"""What `.batches` is told about lengths: what it comes to, and what is said of wrong arguments."""

import numpy as np
import pytest

from tfrecord_dataset.declaration import features_from_json
from trainer.errors import ConfigError, UnknownNameError
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
    ("pad", "error", "message"),
    [
        pytest.param({"token": 9}, UnknownNameError, "did you mean 'tokens'", id="no such output"),
        pytest.param({"age": 9}, ConfigError, r"pad names 'age'.*\[\] is fixed", id="scalar"),
        pytest.param({"image": 9}, ConfigError, "is fixed; leave it out", id="image"),
        pytest.param({"tokens": 0}, ConfigError, "'tokens': 0. is not a length", id="no length"),
        pytest.param({"tokens": "128"}, ConfigError, "'128'. is not a length", id="a string"),
        pytest.param(128, ConfigError, 'pad={"sequence": 128}', id="no output"),
    ],
)
def test_wrong_lengths(pad, error, message):
    with pytest.raises(error, match=message):
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
    ("value", "error", "message"),
    [
        pytest.param({"token": 7}, UnknownNameError, "'tokens'", id="no such output"),
        pytest.param({"age": 7}, ConfigError, "padding_value names 'age'", id="not padded"),
        pytest.param({"tokens": 0.5}, ConfigError, "0.5 does not fit 'tokens'.*int64", id="float"),
        pytest.param({"words": 1}, ConfigError, "1 does not fit 'words'.*string", id="number"),
        pytest.param({"tokens": "x"}, ConfigError, "'x' does not fit 'tokens'", id="string"),
        pytest.param(2**70, ConfigError, "fit 'tokens' of type int64", id="beyond int64"),
        pytest.param({"audio": 10**400}, ConfigError, "of type float32", id="beyond float32"),
        pytest.param({"tokens": float("nan")}, ConfigError, "nan does not fit", id="NaN"),
    ],
)
def test_wrong_padding(value, error, message):
    with pytest.raises(error, match=message):
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
    ("buckets", "by", "names", "expected"),
    [
        pytest.param(None, None, [], None, id="none"),
        pytest.param(
            [(50, 64), (100, 32), (None, 16)],
            None,
            ["tokens", "age"],
            lengths.Buckets(by="tokens", up_to=(50, 100), batch_sizes=(64, 32, 16)),
            id="three",
        ),
        pytest.param(
            [(None, 8)],
            "words",
            ["tokens", "words"],
            lengths.Buckets(by="words", up_to=(), batch_sizes=(8,)),
            id="one, by a name",
        ),
        pytest.param(
            [(2, 4), (None, 1)],
            None,
            ["boxes", "audio"],
            lengths.Buckets(by="boxes", up_to=(2,), batch_sizes=(4, 1)),
            id="the only feature that varies",
        ),
    ],
)
def test_stated_buckets(buckets, by, names, expected):
    assert lengths.make_buckets(buckets, by, of(*names)) == expected


@pytest.mark.parametrize(
    ("buckets", "by", "names", "error", "message"),
    [
        pytest.param(
            [(50, 64)], None, ["tokens"], ConfigError, r"end in \(None, batch size\)", id="no end"
        ),
        pytest.param([50, 100], None, ["tokens"], ConfigError, "must be pairs", id="no sizes"),
        pytest.param([(5.5, 4), (None, 4)], None, ["tokens"], ConfigError, "whole", id="fraction"),
        pytest.param([(5, 4.5), (None, 4)], None, ["tokens"], ConfigError, "whole", id="size"),
        pytest.param([(5, "4"), (None, 4)], None, ["tokens"], ConfigError, "whole", id="text"),
        pytest.param(5, None, ["tokens"], ConfigError, "buckets=5 must be pairs", id="a number"),
        pytest.param(
            [(50, 4), (20, 4), (None, 4)], None, ["tokens"], ConfigError, "increasing", id="falling"
        ),
        pytest.param(
            [(None, 4), (None, 4)], None, ["tokens"], ConfigError, "increasing", id="two ends"
        ),
        pytest.param(
            [(5, 0), (None, 1)], None, ["tokens"], ConfigError, "below 1", id="no records"
        ),
        pytest.param(
            [(None, 4)], None, ["tokens", "words"], ConfigError, "bucket_by", id="several vary"
        ),
        pytest.param([(None, 4)], None, ["age"], ConfigError, "no output varies", id="none varies"),
        pytest.param(
            [(None, 4)], "token", ["tokens"], UnknownNameError, "'tokens'", id="no such output"
        ),
        pytest.param(
            [(None, 4)], "audio", ["tokens", "audio"], UnknownNameError, "'audio'", id="fixed"
        ),
        pytest.param(None, "tokens", ["tokens"], ConfigError, "needs buckets", id="no buckets"),
    ],
)
def test_wrong_buckets(buckets, by, names, error, message):
    with pytest.raises(error, match=message):
        lengths.make_buckets(buckets, by, of(*names))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            {"lengths": {"tokens": 3}, "ragged": frozenset({"tokens"})},
            "'tokens' cannot be both padded .* and ragged; leave one out",
            id="padded and ragged",
        ),
        pytest.param({"truncate": True}, "add pad=", id="cut to no length"),
        pytest.param(
            {
                "lengths": {"tokens": 3},
                "buckets": lengths.Buckets(by="tokens", up_to=(), batch_sizes=(1,)),
            },
            "equally long",
            id="padded and in buckets",
        ),
    ],
)
def test_arguments_that_do_not_go_together(arguments, message):
    with pytest.raises(ConfigError, match=message):
        lengths.Batching(size=2, **arguments)
