"""Numeric arguments that `Dataset.batches` accepts and rejects."""

import numpy as np
import pytest

import trainer


@pytest.mark.parametrize(
    "options",
    [{"image_size": [8, 8]}, {"image_size": np.int64(8)}, {"repeat": np.int32(1)}],
)
def test_what_is_taken(dataset, options):
    usual = dataset.batches("train", image_size=8)
    found = dataset.batches("train", **{"image_size": 8, **options})
    assert found.element_spec == usual.element_spec
    assert found.cardinality() == usual.cardinality() == 2


@pytest.mark.parametrize(
    ("argument", "value", "wanted"),
    [
        ("repeat", 0, "a number of passes, 1 or more, or True for endless"),
        ("repeat", 1.5, "a number of passes"),
        ("repeat", "2", "a number of passes"),
        ("repeat", None, "a number of passes"),
        ("repeat", -1, "a number of passes"),
        ("first_record", -1, "a whole number, 0 or more"),
        *(
            ("image_size", value, r"a side in pixels \(64\), or \(height, width\)")
            for value in ("64", (4, 5, 3), (4,), 2.5, (4, 2.5), 0, (0, 4), -1, True)
        ),
        *(("batch_size", value, "a whole number, 1 or more") for value in ("32", 2.5, 0, True)),
        ("shuffle_buffer", 2.5, "a whole number, 1 or more"),
        ("first_record", 2.5, "a whole number, 0 or more"),
        ("seed", "0", "a whole number, that fits into 64 bits"),
        ("seed", 2**70, "a whole number, that fits into 64 bits"),
    ],
)
def test_what_is_refused(dataset, argument, value, wanted):
    with pytest.raises(trainer.ConfigError, match=f"^{argument}=.*: give {wanted}"):
        dataset.batches("train", **{"image_size": 8, argument: value})
