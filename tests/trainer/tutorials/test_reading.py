"""Files as tutorials write them give back what went in: record by record, and in batches.

Each kind of file is opened three ways: by what its records show, by a declaration in the form of
metadata.json, and by `tf.io` specs as `tf.io.parse_example` takes them.
"""

import numpy as np
import pytest
import tensorflow as tf
from scaling import scaled
from tiers import first_quick

import trainer


def _opened(files, tutorial, how):
    features = {"inferred": None, "declared": tutorial.declared, "specs": tutorial.specs}[how]
    return trainer.open(files, features=features)


@pytest.mark.parametrize(
    ("compression", "how"),
    first_quick([("", "inferred"), ("", "declared"), ("", "specs"), ("GZIP", "inferred")]),
)
def test_numpy_arrays_are_what_went_in(tmp_path, tutorial, write_tutorial, how, compression):
    dataset = _opened(write_tutorial(tmp_path, tutorial, compression), tutorial, how)

    records = list(dataset.numpy())

    assert list(dataset.splits) == ["train"]
    assert dataset.num_records() == len(records) == len(tutorial.records)
    for record, expected in zip(records, tutorial.expected, strict=True):
        assert record.keys() == expected.keys()
        for name, value in expected.items():
            assert np.asarray(record[name]).dtype == np.asarray(value).dtype, name
            np.testing.assert_array_equal(record[name], value, name)


@pytest.mark.parametrize(
    "how",
    [
        "inferred",
        pytest.param("declared", marks=pytest.mark.slow),
        pytest.param("specs", marks=pytest.mark.slow),
    ],
)
def test_batches_are_the_records_side_by_side(tmp_path, tutorial, write_tutorial, how):
    dataset = _opened(write_tutorial(tmp_path, tutorial), tutorial, how)

    (batch,) = dataset.batches(batch_size=len(tutorial.records), image_size=16)

    assert batch.keys() == tutorial.expected[0].keys()
    for name, column in batch.items():
        values = [record[name] for record in tutorial.expected]
        if dataset.features[name].kind == "image":
            values = [scaled(value, (16, 16)) for value in values]
            np.testing.assert_allclose(column, np.stack(values), atol=0.51 / 255)  # as uint8
            continue
        fill = -1 if dataset.features[name].kind in ("boxes", "class_label") else 0
        np.testing.assert_array_equal(column, _stacked(values, fill), name)


def _stacked(values, fill):
    """Values one below the other, with `fill` behind those whose first axis is shorter."""
    if np.ndim(values[0]) == 0:
        return np.array(values)
    longest = max(map(len, values))
    return np.stack(
        [
            np.pad(
                value,
                [(0, longest - len(value))] + [(0, 0)] * (value.ndim - 1),
                constant_values=fill,
            )
            for value in values
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            {"pad": {"sequence": 8}, "padding_value": 9},
            [[1, 2, 3, 4, 9, 9, 9, 9], [1, 9, 9, 9, 9, 9, 9, 9], [9] * 8],
            id="padded",
        ),
        pytest.param(
            {"pad": {"sequence": 3}, "padding_value": {"sequence": 7}, "truncate": True},
            [[1, 2, 3], [1, 7, 7], [7, 7, 7]],
            id="truncated",
        ),
    ],
)
def test_sequences_of_a_given_length(tmp_path, tutorials, write_tutorial, arguments, expected):
    dataset = trainer.open(write_tutorial(tmp_path, tutorials["4 sequence of a given length"]))

    batches = dataset.batches(batch_size=3, target="label", **arguments)

    assert batches.element_spec[0].shape.as_list() == [None, len(expected[0])]
    assert next(iter(batches))[0].numpy().tolist() == expected


def test_a_longer_sequence_is_an_error_where_nobody_asked_to_cut_it(
    tmp_path, tutorials, write_tutorial
):
    dataset = trainer.open(write_tutorial(tmp_path, tutorials["4 sequence of a given length"]))

    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"sequence of a record is longer than 6, the limit of pad.*truncate=True.*\[7\]",
    ):
        list(dataset.batches(pad={"sequence": 6}))


def test_a_raw_square_is_said_to_be_a_guess(tmp_path, caplog, tutorials, write_tutorial):
    dataset = trainer.open(write_tutorial(tmp_path, tutorials["7 raw array"]))

    (note,) = dataset.notes
    assert "image: 16,384 raw bytes per record are assumed to be float32 [64, 64]" in note
    assert [(each.name, each.levelname, each.message) for each in caplog.records] == [
        ("tfrecord_dataset.bare_files", "WARNING", note)
    ]


def test_a_raw_array_of_a_declared_shape(tmp_path, caplog, tutorials, write_tutorial):
    tutorial = tutorials["7 raw array"]
    files = write_tutorial(tmp_path, tutorial)
    declared = {"image": {"kind": "tensor", "dtype": "float32", "shape": [32, 128]}}

    dataset = trainer.open(files, features=declared)

    for record, expected in zip(dataset.numpy(), tutorial.expected, strict=True):
        np.testing.assert_array_equal(record["image"], expected["image"].reshape(32, 128))
    assert dataset.notes == ()
    assert caplog.records == []


def test_boxes_are_padded_where_a_record_has_fewer_or_none(tmp_path, tutorials, write_tutorial):
    tutorial = tutorials["6 boxes"]
    dataset = trainer.open(write_tutorial(tmp_path, tutorial), features=tutorial.declared)

    batch = next(iter(dataset.batches(batch_size=2, image_size=8)))

    assert batch["bounding_boxes"].shape == (2, 2, 4)
    np.testing.assert_array_equal(
        batch["bounding_boxes"][0], tutorial.expected[0]["bounding_boxes"]
    )
    np.testing.assert_array_equal(batch["bounding_boxes"][1], np.full((2, 4), -1))
    assert batch["labels"].numpy().tolist() == [[0, 1], [-1, -1]]
