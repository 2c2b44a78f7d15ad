"""The class names of labels, and their order."""

import pytest

from beam_pipeline import kinds
from beam_pipeline.errors import DataError
from beam_pipeline.kinds.kind import Stored
from beam_pipeline.kinds.label import class_order, numbered_classes
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.records import ClassLabel, ClassLabels
from tfrecord_dataset.format.feature import Feature

PETS = ("cat", "dog", "fish")


def seen(smallest, largest):
    observed = Observed()
    observed.range = None if largest is None else (smallest, largest)
    return observed


@pytest.mark.parametrize(
    ("value", "offset", "names"),
    [
        (ClassLabel("dog"), 0, ("dog",)),
        (ClassLabels(("dog", "cat")), 0, ("dog", "cat")),
        (0, 0, ("cat",)),
        (2, 0, ("fish",)),
        (2, 1, ("dog",)),
        (0, 1, ()),
        (-1, 0, ()),
        (3, 0, ()),
        ("dog", 0, ()),
    ],
)
def test_the_names_of_a_value(value, offset, names):
    feature = Feature(
        name="x", kind="class_label", dtype="int64", key="x", classes=PETS, label_offset=offset
    )
    kind = kinds.named(feature)
    assert tuple(kind.class_names(value, feature)) == names
    if isinstance(value, int):
        assert tuple(kind.class_names(value)) == ()


def test_a_record_without_a_class_has_the_number_for_none():
    feature = Feature(name="x", kind="class_label", dtype="int64", key="x/label", classes=PETS)
    stored = Stored("a", "0", {}, {"x": {name: number for number, name in enumerate(PETS)}})
    encoded = kinds.named(feature).encode_column(feature, [None, ClassLabel("dog")], [stored] * 2)
    assert encoded == {"x/label": [[-1], [1]], "x/text": [[b""], [b"dog"]]}


@pytest.mark.parametrize(
    ("observed", "declared", "expected"),
    [
        (["b", "a"], (), ("a", "b")),
        (["10", "9", "010"], (), ("9", "010", "10")),
        (["10", "9", "x"], (), ("10", "9", "x")),
        (["dog"], PETS, PETS),
    ],
)
def test_their_order(observed, declared, expected):
    assert class_order("label", observed, declared) == expected


@pytest.mark.parametrize(
    ("observed", "declared", "offset", "expected"),
    [
        (seen(0, 2), (), 0, ("0", "1", "2")),
        (seen(1, 4), (), 1, ("0", "1", "2", "3")),
        (seen(None, None), (), 0, ()),
        (seen(-1, 2), PETS, 0, PETS),
    ],
)
def test_numbered_ones(observed, declared, offset, expected):
    assert numbered_classes("label", observed, declared, offset) == expected


@pytest.mark.parametrize(("smallest", "largest", "wrong"), [(0, 3, "3"), (-2, 1, "-2")])
def test_numbers_beyond_the_declared_ones(smallest, largest, wrong):
    message = rf"class numbers \(not 0 to 2\): {wrong}; declared are cat, dog, fish"
    with pytest.raises(DataError, match=message):
        numbered_classes("label", seen(smallest, largest), PETS)
