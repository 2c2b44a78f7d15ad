"""From the lists of other people's Examples to a schema, by the rules of docs/tfrecords.md."""

import numpy as np
import pytest

from beam_pipeline.errors import DataError
from beam_pipeline.records import ExampleRecord, FileRef
from beam_pipeline.schema.feature import Feature
from beam_pipeline.schema.inference import complete, infer
from beam_pipeline.schema.statistics import observe
from beam_pipeline.schema.stored_values import summary

JPEG, PNG, GIF = b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"GIF89a"
WAV, FLAC = b"RIFF\x24\x00\x00\x00WAVEfmt ", b"fLaC\0"
_KINDS = {int: "int64", float: "float32", bytes: "bytes"}
_ABSENT = object()


def examples(key, *lists):
    """Records of Examples with one key; None for no kind, _ABSENT for a record without it."""
    return [
        ExampleRecord(
            key=f"a.tfrecord:{number}",
            features={}
            if values is _ABSENT
            else {key: summary(_KINDS[type(values[0])] if values else "", values or [])},
            file=FileRef(path="a.tfrecord"),
        )
        for number, values in enumerate(lists)
    ]


def inferred(key, *lists, declared=()):
    records = examples(key, *lists)
    (feature,) = infer(observe(records), num_records=len(records), declared={key: declared})
    assert (feature.name, feature.key, feature.bare) == (key, key, True)
    return feature


def raw(shape, dtype):
    return [np.full(shape, 0.5, dtype).tobytes()]


def noise(*shape):
    return [np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8).tobytes()]


def described(feature):
    parts = (feature.kind, feature.dtype, *feature.shape, feature.format, feature.encoding)
    return " ".join(str(part) for part in parts if part != "")


@pytest.mark.parametrize(
    ("key", "lists", "expected"),
    [
        pytest.param("n", ([1], [70_000]), "scalar int64", id="ints"),
        pytest.param("x", ([1.0], [float("nan")]), "scalar float32", id="floats"),
        pytest.param("x", ([1.0] * 5, [2.0] * 5), "tensor float32 5", id="five of each"),
        pytest.param("x", ([1.0] * 5, [2.0]), "sequence float32 None", id="five and one"),
        pytest.param("x", ([1.0], _ABSENT), "sequence float32 None", id="missing in one"),
        pytest.param("x", ([1], []), "sequence int64 None", id="without a kind in one"),
        pytest.param("x", (None, None), "sequence string None", id="never any kind"),
        pytest.param(
            "bounding_boxes", ([0.5] * 8, [0.5] * 4, []), "sequence float32 None 4", id="boxes"
        ),
        pytest.param(
            "image/Bbox", ([0.5] * 4, [0.5] * 4), "sequence float32 None 4", id="one box each"
        ),
        pytest.param(
            "box", ([0.5] * 4, [0.5] * 5), "sequence float32 None", id="no multiple of four"
        ),
        pytest.param(
            "box/size", ([0.5] * 4, [0.5] * 4), "tensor float32 4", id="box in a folder's name"
        ),
        pytest.param("bbox", ([1] * 4, [2] * 4), "tensor int64 4", id="boxes of ints"),
        pytest.param("label", ([0], [3]), "class_label int64", id="a label"),
        pytest.param("label", ([0], [10_000]), "scalar int64", id="too large for a class"),
        pytest.param("label", ([-1], [-2]), "scalar int64", id="too small for a class"),
        pytest.param("label", ([1], [2, 3]), "sequence int64 None", id="several labels"),
        pytest.param("labels", ([0.5], [1.0]), "scalar float32", id="a label that is a float"),
        pytest.param("a", ([JPEG], [JPEG]), "image uint8 None None 3 jpeg", id="JPEG"),
        pytest.param("a", ([JPEG], [PNG]), "image uint8 None None 3 mixed", id="JPEG and PNG"),
        pytest.param("a", ([GIF], [GIF]), "image uint8 None None 3 mixed", id="GIF"),
        pytest.param(
            "a", ([PNG], [b""]), "image uint8 None None 3 png", id="PNG, and an empty one"
        ),
        pytest.param("a", ([JPEG], [b"text "]), "bytes string", id="JPEG and text"),
        pytest.param("a", ([JPEG], _ABSENT), "sequence string None", id="JPEG, missing in one"),
        pytest.param("a", ([WAV], [WAV]), "audio float32 None None wav", id="WAV"),
        pytest.param("a", ([WAV], [FLAC]), "audio float32 None None mixed", id="WAV and FLAC"),
        pytest.param("a", ([b"a cat"], [b""]), "text string", id="text, one empty"),
        pytest.param("a", ([b""], [b""]), "text string", id="empty text alone"),
        pytest.param("a", ([b"a"], [b"\xff"]), "bytes string", id="text and bytes"),
        pytest.param("a", ([b"a", b"b"], [b"c", b"d"]), "tensor string 2", id="two texts each"),
        pytest.param("a", ([b"a", b"b"], [b"c"]), "sequence string None", id="one or two texts"),
        pytest.param("a", (raw((64, 64), "<f4"),) * 2, "bytes string", id="raw floats"),
        pytest.param("a", (noise(28, 28),) * 2, "bytes string", id="raw pixels"),
    ],
)
def test_infer(key, lists, expected):
    assert described(inferred(key, *lists)) == expected


@pytest.mark.parametrize(
    ("key", "lists", "expected", "default"),
    [
        pytest.param("class", ([2], [0]), "class_label int64", None, id="all have one"),
        pytest.param("class", ([2], _ABSENT), "class_label int64", -1, id="one lacks it"),
        pytest.param("class", ([2], []), "sequence int64 None", None, id="one has an empty list"),
        pytest.param("class", ([2, 1], _ABSENT), "sequence int64 None", None, id="one has two"),
        pytest.param("class", ([70_000], _ABSENT), "sequence int64 None", None, id="no classes"),
    ],
)
def test_a_class_label_may_be_missing(key, lists, expected, default):
    feature = inferred(key, *lists)
    assert (described(feature), feature.default) == (expected, default)


def test_classes_go_up_to_the_largest_number():
    assert inferred("label", [2], [0], [-1]).classes == ("0", "1", "2")


def test_declared_names():
    assert inferred("label", [0], [1], declared=("cat", "dog")).classes == ("cat", "dog")
    assert inferred("digit", [0], [1], declared=("cat", "dog")).kind == "class_label"


@pytest.mark.parametrize("number", [2, -2])
def test_a_number_without_a_name(number):
    with pytest.raises(DataError, match=f"class {number}, but 2 classes are declared"):
        inferred("label", [0], [number], declared=("cat", "dog"))


def test_lists_of_two_kinds_are_told_with_their_records():
    with pytest.raises(DataError) as raised:
        inferred("n", [1], [2], [0.5])
    assert "key 'n'" in str(raised.value)
    assert "a float list in a.tfrecord:2, an int64 list in a.tfrecord:0" in str(raised.value)


def test_features_are_in_the_order_of_their_keys():
    records = [
        ExampleRecord(
            key="a:0",
            features={"label": 1, "image": summary("bytes", [JPEG]), "boxes": 0.5, "aa": 3},
            file=FileRef(path="a"),
        )
    ]
    schema = infer(observe(records), num_records=1, declared={})

    assert [feature.name for feature in schema] == ["aa", "boxes", "image", "label"]


def test_a_declared_schema_is_completed():
    declared = (
        Feature(name="pixels", kind="image", dtype="uint8", shape=(8, 8, 3), key="a", bare=True),
        Feature(name="breed", kind="class_label", dtype="int64", shape=(), key="b", bare=True),
        Feature(name="words", kind="sequence", dtype="string", shape=(None,), key="c", bare=True),
    )
    records = [
        ExampleRecord(
            key=f"a:{number}",
            features={"pixels": summary("bytes", [PNG]), "breed": number},
            file=FileRef(path="a"),
        )
        for number in range(3)
    ]
    image, label, words = complete(declared, observe(records), {})

    assert (image.format, image.shape) == ("png", (8, 8, 3))
    assert label.classes == ("0", "1", "2")
    assert words == declared[2]
