"""Features of foreign Examples, inferred from their first records."""

import pytest
from inference_cases import CASES, MISSING, in_words
from tensorflow_examples import example

from tfrecord_dataset.format.inference import infer, observe
from trainer.errors import ConfigError


def sample_of(key, *records):
    """Return statistics of records with these values of `key`, and another key `other`."""
    examples = [{"other": 1} | ({} if record is MISSING else {key: record}) for record in records]
    return observe((f"record {number}", example(each)) for number, each in enumerate(examples))


def inferred(key, *records):
    feature = infer(sample_of(key, *records))[key]
    assert (feature.name, feature.key, feature.bare) == (key, key, True)
    return feature


@pytest.mark.parametrize(("key", "records", "expected"), CASES)
def test_infer(key, records, expected):
    feature = inferred(key, *records)

    assert in_words(feature) == expected
    assert feature.encoding == ""
    assert feature.classes == ()  # unknown from a sample


@pytest.mark.parametrize(
    ("number", "classes"), [(2, ("1", "cat")), (10_000, ()), (2**62, ())], ids=str
)
def test_numbers_of_boxes_are_classes_up_to_a_bound(number, classes):
    record = {f"image/object/bbox/{side}": [0.5] for side in ("xmin", "ymin", "xmax", "ymax")}
    record |= {"image/object/class/label": [number], "image/object/class/text": [b"cat"]}

    assert infer(observe([("a", example(record))]))["boxes"].classes == classes


def test_features_are_sorted_by_key():
    assert list(infer(sample_of("z", [1]))) == ["other", "z"]


def test_two_kinds_of_list_are_an_error():
    with pytest.raises(
        ConfigError,
        match=r"'n' must hold lists of one kind.* float list in record 1, .* list in record 0",
    ):
        infer(sample_of("n", [1], [1.5]))
