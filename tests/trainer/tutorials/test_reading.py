"""Files as tutorials write them give back what went in: record by record, and in batches.

Each kind of file is opened three ways: by what its records show, by a declaration in the form of
metadata.json, and by `tf.io` specs as `tf.io.parse_example` takes them.
"""

import numpy as np
import pytest
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
