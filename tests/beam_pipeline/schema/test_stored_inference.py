"""The schema of existing Examples is inferred from their lists, as in docs/format.md."""

import numpy as np
import pytest
from inference_cases import CASES, MISSING, PNG, in_words
from inspecting import schema_of

from beam_pipeline.errors import DataError
from beam_pipeline.kinds import observe
from beam_pipeline.kinds.stored import summary
from beam_pipeline.records import FileRef, Inspected
from beam_pipeline.schema.inference import complete
from tfrecord_dataset.format.feature import Feature

_KINDS = {int: "int64", float: "float32", bytes: "bytes"}


def examples(key, *lists):
    """Return records of Examples with one key; None is a list without kind, MISSING no key."""
    return [
        Inspected(
            key=f"a.tfrecord:{number}",
            features={}
            if values is MISSING
            else {key: summary(_KINDS[type(values[0])] if values else "", values or [])},
            example=FileRef(path="a.tfrecord"),
        )
        for number, values in enumerate(lists)
    ]


def inferred(key, *lists, declared=()):
    records = examples(key, *lists)
    (feature,) = schema_of(*records, **{key: declared})
    assert (feature.name, feature.key, feature.bare) == (key, key, True)
    return feature


@pytest.mark.parametrize(("key", "records", "expected"), CASES)
def test_infer(key, records, expected):
    assert in_words(inferred(key, *records)) == expected


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(np.full((64, 64), 0.5, "<f4").tobytes(), id="floats"),
        pytest.param(np.full((28, 28), 255, np.uint8).tobytes(), id="pixels"),
    ],
)
def test_the_shape_of_raw_numbers_is_not_guessed(value):
    assert in_words(inferred("a", [value], [value])) == "bytes string"


def test_lists_of_two_kinds_are_named_with_their_records():
    with pytest.raises(DataError) as raised:
        inferred("n", [1], [2], [0.5])
    assert "key 'n'" in str(raised.value)
    assert "a float list in a.tfrecord:2, an int64 list in a.tfrecord:0" in str(raised.value)


def test_a_declared_schema_is_completed():
    declared = (
        Feature(name="pixels", kind="image", dtype="uint8", shape=(8, 8, 3), key="a", bare=True),
        Feature(name="breed", kind="class_label", dtype="int64", shape=(), key="b", bare=True),
        Feature(name="words", kind="sequence", dtype="string", shape=(None,), key="c", bare=True),
        Feature(name="map", kind="map", dtype="uint8", shape=(None, None, 1), key="d", bare=True),
    )
    records = [
        Inspected(
            key=f"a:{number}",
            features={
                **dict.fromkeys(("pixels", "map"), summary("bytes", [PNG])),
                "breed": number,
            },
            example=FileRef(path="a"),
        )
        for number in range(3)
    ]
    image, label, *others = complete(declared, observe(records), {})

    assert (image.format, image.shape) == ("png", (8, 8, 3))
    assert label.classes == ("0", "1", "2")
    assert (*others,) == declared[2:]
