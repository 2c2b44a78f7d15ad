"""Lengths in batches: their arguments, and padded, cut and ragged outputs against NumPy by hand.

Columns that need no decoding are padded batch by batch, others record by record: each case is
read both ways, the second with an additional image.
"""

import numpy as np
import pytest
import tensorflow as tf
from tiers import first_in_ci

import trainer
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
def test_lengths_by_output(pad, expected):
    assert padding.pad_lengths(pad, of()) == expected


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
        (-7, {name: -7 for name in USUAL if name != "words"}),
        ("-", {"words": b"-"}),
    ],
)
def test_padding(value, changed):
    made = padding.padding_values(value, of())

    assert {name: each.numpy() for name, each in made.items()} == USUAL | changed


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


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        (padding.pad_lengths, {"token": 9}, "unknown .*did you mean 'tokens'"),
        (padding.pad_lengths, {"age": 9}, r"pad names 'age'.*\[\] is fixed; leave it out"),
        (padding.pad_lengths, {"tokens": 0}, "'tokens': 0. is not a length"),
        (padding.pad_lengths, {"tokens": "128"}, "'128'. is not a length"),
        (padding.pad_lengths, 128, 'pad={"sequence": 128}'),
        (padding.padding_values, {"token": 7}, "unknown .*'tokens'"),
        (padding.padding_values, {"age": 7}, "padding_value names 'age'"),
        (padding.padding_values, {"tokens": 0.5}, "0.5 does not fit 'tokens'.*int64"),
        (padding.padding_values, {"words": 1}, "1 does not fit 'words'.*string"),
        (padding.padding_values, {"tokens": "x"}, "'x' does not fit 'tokens'"),
        (padding.padding_values, {"tokens": 2**70}, "fit 'tokens' of type int64"),
        (padding.padding_values, {"audio": 10**400}, "of type float32"),
        (padding.padding_values, {"tokens": float("nan")}, "nan does not fit"),
        (padding.padding_values, 0.5, "0.5 does not fit 'tokens'.*int64"),
        (padding.padding_values, [7], r"\[7\] does not fit"),
        (padding.ragged_names, ["age"], "ragged names 'age'"),
    ],
)
def test_wrong_arguments(function, value, message):
    with pytest.raises(ConfigError, match=message):
        function(value, of())


def test_a_padding_value_for_all_that_pads_nothing():
    with pytest.raises(ConfigError, match="padding_value=7 pads no output; leave it out"):
        padding.padding_values(7, [output for output in of() if output.name == "words"])


def test_arguments_that_do_not_go_together():
    with pytest.raises(ConfigError, match="'tokens' cannot be both padded and ragged"):
        padding.Batching(size=2, lengths={"tokens": 3}, ragged=frozenset({"tokens"}))
    with pytest.raises(ConfigError, match="add pad="):
        padding.Batching(size=2, truncate=True)


LENGTHS = [3, 0, 5, 1, 2, 8, 3, 1, 4]
TOKENS = [list(range(1, length + 1)) for length in LENGTHS]
WORDS = [[b"w%d" % token for token in tokens] for tokens in TOKENS]
ROWS = [np.arange(2 * length, dtype=np.float32).reshape(length, 2) for length in LENGTHS]
FEATURES = {
    "tokens": {"kind": "sequence", "dtype": "int64"},
    "words": {"kind": "sequence", "dtype": "string"},
    "rows": {"kind": "sequence", "dtype": "float32", "shape": [None, 2]},
    "number": {"kind": "scalar", "dtype": "int64"},
}


@pytest.fixture(scope="module", params=["a batch at a time", "record by record"])
def dataset(request, tmp_path_factory, write_records, png):
    """Nine records of the lengths above."""
    by_record = request.param == "record by record"
    file = tmp_path_factory.mktemp("lengths") / "a.tfrecord"
    image = {"image": png(np.zeros((2, 2, 3)))} if by_record else {}
    columns = zip(TOKENS, WORDS, ROWS, strict=True)
    write_records(
        file,
        [
            {
                "tokens": tokens,
                "words": words,
                "rows": list(map(float, rows.flatten())),
                "number": number,
                **image,
            }
            for number, (tokens, words, rows) in enumerate(columns)
        ],
    )
    shape = {"kind": "image", "shape": [2, 2, 3]}
    return trainer.open(file, features=FEATURES | ({"image": shape} if by_record else {}))


def by_hand(values, length, fill):
    """Cut or fill every row of `values` to `length`, and stack them."""
    filled = [[*value[:length], *[fill] * (length - len(value))] for value in values]
    return np.array(filled, dtype=object).tolist()


def test_batches_are_padded_to_their_longest(dataset):
    batches = list(dataset.batches(batch_size=4))

    for number, batch in enumerate(batches):
        part = slice(4 * number, 4 * number + 4)
        longest = max(LENGTHS[part])
        assert batch["tokens"].numpy().tolist() == by_hand(TOKENS[part], longest, 0)
        assert batch["words"].numpy().tolist() == by_hand(WORDS[part], longest, b"")
        rows = [row.tolist() for row in ROWS[part]]
        assert batch["rows"].numpy().tolist() == by_hand(rows, longest, [0, 0])
    assert [len(batch["number"]) for batch in batches] == [4, 4, 1]


@pytest.mark.parametrize(
    ("pad", "truncate"),
    first_in_ci(
        [
            pytest.param({"tokens": 2, "words": 3, "rows": 1}, True, id="cut"),
            pytest.param({"tokens": 11, "words": 9, "rows": 8}, False, id="all"),
            pytest.param({"tokens": 8}, False, id="one of several"),
        ],
        2,
    ),
)
@pytest.mark.parametrize("batch_size", first_in_ci([9, None]))
def test_stated_lengths(dataset, pad, truncate, batch_size):
    values = {"tokens": -5, "words": "none", "rows": 0.5}
    batches = dataset.batches(
        batch_size=batch_size, pad=pad, truncate=truncate, padding_value=values
    )

    found = list(batches.as_numpy_iterator())

    fills = {"tokens": -5, "words": b"none", "rows": [0.5, 0.5]}
    stored = {"tokens": TOKENS, "words": WORDS, "rows": [rows.tolist() for rows in ROWS]}
    for name, length in pad.items():
        column = (
            found[0][name].tolist() if batch_size else [record[name].tolist() for record in found]
        )
        assert column == by_hand(stored[name], length, fills[name])
        static = batches.element_spec[name].shape.as_list()[1 if batch_size else 0 :]
        assert static == [length, *np.shape(fills[name])]


@pytest.mark.parametrize("batch_size", first_in_ci([4, None]))
def test_a_longer_record_is_an_error(dataset, batch_size):
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"words of a record is longer than 7, the limit.*\[8\]",
    ):
        list(dataset.batches(batch_size=batch_size, pad={"words": 7, "tokens": 8}))


def test_full_batches_have_a_static_shape(dataset):
    spec = dataset.batches(batch_size=4, pad={"rows": 8}, drop_remainder=True).element_spec

    assert spec["rows"].shape.as_list() == [4, 8, 2]
    assert spec["tokens"].shape.as_list() == [4, None]


@pytest.mark.parametrize("ragged", first_in_ci([True, ["tokens"]]))
def test_ragged(dataset, ragged):
    (batch,) = dataset.batches(batch_size=9, ragged=ragged)

    names = {"tokens", "words", "rows"} if ragged is True else set(ragged)
    assert {name for name, each in batch.items() if isinstance(each, tf.RaggedTensor)} == names
    assert batch["tokens"].to_list() == TOKENS
    assert batch["tokens"].row_splits.dtype == tf.int64
    if "rows" in names:
        assert batch["rows"].shape.as_list() == [9, None, 2]
        assert batch["rows"].to_list() == [rows.tolist() for rows in ROWS]
    else:
        assert batch["rows"].shape == (9, 8, 2)


def test_ragged_and_padded(dataset):
    (batch,) = dataset.batches(batch_size=9, ragged=["tokens"], pad={"words": 9})

    assert batch["tokens"].to_list() == TOKENS
    assert batch["words"].numpy().tolist() == by_hand(WORDS, 9, b"")
