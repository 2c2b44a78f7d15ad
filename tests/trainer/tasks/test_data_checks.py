"""Warnings about data before training."""

import functools
from collections import Counter

import numpy as np
import pytest
from kinds_of_learning import table_of, task_of_table

import trainer
from trainer.tasks.data_checks import class_counts, is_uneven, warnings

FLOAT, TEXT = {"kind": "scalar", "dtype": "float32"}, {"kind": "text"}
LABEL = {"kind": "class_label", "classes": ["a", "b", "c"]}
RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(2, 60)).round(3).tolist()
HALF, THIRDS = [0, 1] * 30, [0, 1, 2] * 20


@pytest.fixture
def warned(write_dataset, tmp_path):
    """A function from columns, as {name: (feature, values)}, to the warnings."""

    def check(columns, own_model=False, splits=("train", "validation"), **options):
        made = table_of(columns, train=40, validation=20)
        dataset = trainer.open(write_dataset(tmp_path / "data" / "1.0.0", *made))
        task, columns = task_of_table(dataset, **options)
        counts = functools.partial(class_counts, task, dataset)
        return [*warnings(task, splits, columns, counts, own_model=own_model)]

    return check


NO_C = "validation has no records of 1 class: c"
FEW_C = "fewer than 10 records of a class in train: c"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"label": (LABEL, THIRDS)}, []),
        ({"label": (LABEL, [*[0, 1] * 18, *[2] * 4, *[0, 1] * 10])}, [f"{FEW_C} (4)", NO_C]),
        (
            {"zero": (FLOAT, [0.0] * 60), "label": (LABEL, HALF)},
            ["the same value in all records: zero", f"{FEW_C} (0)", NO_C],
        ),
        (
            {"kind": (TEXT, [b"x", b"y"] * 30), "y": (TEXT, [b"no", b"si"] * 30)},
            ["target y is determined by one input: kind; leave out"],
        ),
        (
            {"code": (FLOAT, [7.0, 3.0, 9.0] * 20), "label": (LABEL, THIRDS)},
            ["target label is determined by one input: code; leave out"],
        ),
        (
            {"cents": (FLOAT, [100 * each for each in Y]), "y": (FLOAT, Y)},
            ["target y is determined by one input: cents; leave out"],
        ),
        (
            {"cubed": (FLOAT, [each**3 for each in Y]), "y": (FLOAT, Y)},
            ["target y is determined by one input: cubed; leave out"],
        ),
        (
            {"km": (FLOAT, [-999.0, *Y[:19]] * 3), "y": (FLOAT, Y)},
            ["numbers far from all others, perhaps codes for a missing one: km (-999); leave"],
        ),
        ({"once": (FLOAT, [9.0, *X[1:]]), "y": (FLOAT, Y)}, []),
        (
            {"z": (FLOAT, [float("nan"), *X[1:]]), "y": (FLOAT, Y)},
            ["missing numbers (NaN) of z in up to 1 record: a middle value replaces"],
        ),
    ],
)
def test_warnings(warned, columns, expected):
    columns = {"x": (FLOAT, X), **columns}
    found = warned(columns)
    assert len(found) == len(expected), found
    for warning in expected:
        assert any(line.startswith(warning) for line in found), found


def test_validation_on_the_train_split(warned):
    (found,) = warned({"x": (FLOAT, X), "y": (FLOAT, Y)}, splits=("train", "train"))
    assert found.startswith("training and validation are both on 'train', which hides overfitting")


@pytest.mark.parametrize(
    ("counts", "expected"),
    [({}, False), ({"a": 9}, False), ({"a": 79, "b": 21}, False), ({"a": 4, "b": 1}, True)],
)
def test_classes_are_uneven_from_four_fifths(counts, expected):
    assert is_uneven(Counter(counts)) == expected
