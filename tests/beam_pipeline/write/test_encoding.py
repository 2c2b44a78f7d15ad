"""A record's features and files become keys and values of one Example."""

import hashlib
import io

import numpy as np
import pytest
import soundfile
from file_bytes import array_bytes, sound_bytes
from inspecting import (
    Inspected,
    encoded,
    examples_of,
    inline,
    inspect_record,
    schema_of,
)

from beam_pipeline.errors import RecordError, SourceChangedError
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Objects,
    RawFile,
    Record,
)
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.write.encoding import Encoder, Read
from tfrecord_dataset.format.example import decode, lists


def values_of(*records):
    """Return the values of the first record, under the schema of all records."""
    schema = schema_of(*records)
    payloads = dict.fromkeys(records[0].features, b"payload")
    values = Encoder(schema=schema, rules=Rules()).values(
        examples_of(records[0]), [Read({}, payloads)], [records[0].source_id]
    )
    return {key: value for key, [value] in values.items()}


def example_of(record, schema, rules=None):
    """Return the Example of an inspected record."""
    encoder = Encoder(schema=schema, rules=rules or Rules())
    return encoded(encoder, record)


def image(**more):
    facts = {"format": "jpeg", "width": 30, "height": 20, "channels": 3, **more}
    return Image(file=FileRef(path="/in/a.jpg", sha256="ab12"), **facts)


BOXES = Objects(
    boxes=((0.1, 0.2, 0.3, 0.4), (0.5, 0.6, 0.7, 0.8)),
    format="rel_xyxy",
    labels=("b", "a"),
    attributes={"difficult": (0, 1), "area": (1, 2.5), "pose": ("left", "")},
)
ONE = Objects(boxes=((0, 0, 1, 1),), format="rel_xyxy", labels=("a",))
POINTS = Objects(
    boxes=((0, 0, 1, 1), (0, 0, 1, 1)),
    format="rel_xyxy",
    keypoints=((0.1, 0.2, 2, 0.3, 0.4, 1), (0.5, 0.6, 0, 0.7, 0.8, 2)),
)


@pytest.mark.parametrize(
    ("features", "others", "expected"),
    [
        pytest.param(
            {"image": image()}, {},
            {"image/filename": ["cat/ä.jpg".encode()], "image/source_id": [b"17"]},
            id="image",
        ),
        pytest.param(
            {"image": image(conversions=("orientation",))}, {},
            {"image/key/sha256": [hashlib.sha256(b"payload").hexdigest().encode()]},
            id="the hash is that of the stored bytes",
        ),
        pytest.param(
            {"image": image(), "mask": image(width=5)}, {},
            {"mask/encoded": [b"payload"], "mask/width": [5], "image/width": [30]},
            id="a second image",
        ),
        pytest.param(
            {"label": ClassLabel("c")}, {"label": ClassLabels(("a", "b", "c"))},
            {"label/label": [2], "label/text": [b"c"]}, id="one among lists",
        ),
        pytest.param(
            {"boxes": BOXES}, {},
            {
                **{"image/object/difficult": [0, 1], "image/object/area": [1.0, 2.5]},
                "image/object/pose": [b"left", b""],
            },
            id="attributes",
        ),
        pytest.param(
            {"boxes": ONE}, {"boxes": BOXES},
            {f"image/object/{name}": [no] for name, no in (("difficult", -1), ("area", -1.0),
                                                           ("pose", b""))},
            id="attributes that one record lacks",
        ),
        pytest.param(
            {"boxes": POINTS}, {},
            {
                "image/object/keypoint/x": [0.1, 0.3, 0.5, 0.7],
                "image/object/keypoint/y": [0.2, 0.4, 0.6, 0.8],
                "image/object/keypoint/visibility": [2, 1, 0, 2],
                "image/object/keypoint/num": [2, 2],
            },
            id="keypoints are flat, with their number",
        ),
        pytest.param({"n": 1}, {"n": 1, "t": "x"}, {"t": [b""]}, id="an absent text is empty"),
    ],
)  # fmt: skip
def test_lists_by_key(features, others, expected):
    others = [Inspected(key="b", features=others)] if others else []
    values = values_of(Inspected(key="cat/ä.jpg", source_id="17", features=features), *others)
    assert {key: [*values[key]] for key in expected} == expected


@pytest.mark.parametrize("features", [{}, {"boxes": Objects(boxes=())}], ids=["absent", "none"])
def test_an_image_without_boxes_has_all_their_keys(features):
    record = Inspected(key="b", features={"image": image(), **features})
    with_boxes = Inspected(key="a", features={"image": image(), "boxes": BOXES})
    values = values_of(record, with_boxes)

    assert values.keys() == values_of(with_boxes).keys()
    assert all(not list(value) for key, value in values.items() if key.startswith("image/object"))


KEYPOINTS = Objects(boxes=((0.0, 0.0, 1.0, 1.0),), format="rel_xyxy", keypoints=((0.5, 0.5, 2.0),))


def test_empty_lists_state_their_kinds():
    """Nonempty lists of the same key have the same kind."""
    more = {"tags": ("a",), "tokens": Array(dtype="int64", shape=(1,), data=bytes(8))}
    full = {"boxes": BOXES, "faces": KEYPOINTS, "label": ClassLabels(("a",)), **more}
    empty = {"tags": (), "tokens": Array(dtype="int64", shape=(0,)), "label": ClassLabels(())}
    records = [Inspected(key="a", features=full), Inspected(key="b", features=empty)]
    schema = schema_of(*records)
    stated, expected = (
        {key: kind for key, (kind, _) in lists(example_of(record, schema)).items()}
        for record in reversed(records)
    )
    assert stated == expected


def test_boxes_that_lack_the_class_names_of_others():
    bare = Objects(boxes=((0, 0, 1, 1),), format="rel_xyxy")
    others = Inspected(key="b", features={"boxes": BOXES})
    schema = schema_of(others)
    with pytest.raises(RecordError, match="1 boxes but 0 class names"):
        example_of(Inspected(key="a", features={"boxes": bare}), schema)


@pytest.fixture
def write(tmp_path):
    def file(data):
        path = tmp_path / "file.bin"
        path.write_bytes(data)
        return FileRef(path=str(path))

    return file


def built(rules=None, **features):
    """Return the Example of a record, encoded from its files."""
    record = inspect_record(Record(key="a", features=features), rules or Rules())
    return decode(example_of(record, schema_of(record), rules))


def test_sounds_are_converted_as_they_were_inspected(write):
    sound = sound_bytes(np.zeros((100, 2)), "FLAC")
    file = write(sound)
    assert built(audio=Audio(file=file))["audio/encoded"] == [sound]

    values = built(Rules(audio=AudioOptions(mono=True, sample_rate=4000)), audio=Audio(file=file))
    info = soundfile.info(io.BytesIO(values["audio/encoded"][0]))
    assert (info.format, info.samplerate, info.frames, info.channels) == ("WAV", 4000, 50, 1)
    assert values["audio/num_samples"] == [50]


@pytest.mark.parametrize(
    ("kind", "data", "other"),
    [
        (Array, array_bytes(np.arange(3)), array_bytes(np.arange(1, 4))),
        (Array, array_bytes(np.arange(3)), array_bytes(np.arange(2))),
        (RawFile, b"123", b"124"),
    ],
)
def test_a_file_that_changes_while_the_job_runs(write, kind, data, other):
    record = inspect_record(Record(key="a", features={"x": kind(file=write(data))}), Rules())
    write(other)
    with pytest.raises(SourceChangedError, match="run the build again"):
        example_of(record, schema_of(record))


def array(values):
    return inline(np.asarray(values))


def declared_value(declared, value, payload=None):
    """Return the values by key of a record with this declaration of its only feature "x".

    They are those of the second of two such records, which are encoded together.
    """
    schema = parse_schema([{"name": "x", **declared}])
    features = {} if value is None else {"x": value}
    records = [Inspected(key=key, features=features) for key in "ab"]
    payloads = {} if payload is None else {"x": payload}
    values = Encoder(schema=schema, rules=Rules()).values(
        examples_of(*records), [Read({}, payloads)] * 2, ["", ""]
    )
    return {key: value for key, [_, value] in values.items()}


LISTED = {"kind": "tensor", "dtype": "float32", "shape": [2]}
RAW = {"kind": "tensor", "encoding": "bytes"}
FLAT = {"kind": "boxes", "key": "bbox", "bare": True, "encoding": "flat"}
BARE = {"kind": "class_label", "key": "label", "bare": True, "classes": ["a", "b"]}
TWO_BOXES = Objects(boxes=((0, 0.25, 0.5, 1), (0, 0, 1, 1)), format="rel_xyxy")
BYTES = array([[1, 2], [3, 255]])


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (LISTED, array([0.5, 2]), [0.5, 2.0]),
        (LISTED, array([1, 2]), [1.0, 2.0]),
        ({**LISTED, "dtype": "int64"}, array([True, False]), [1, 0]),
        ({**LISTED, "shape": [2, 2]}, array([[1.0, 2], [3, 4]]), [1.0, 2.0, 3.0, 4.0]),
        ({**LISTED, "shape": []}, 3, [3.0]),
        ({**LISTED, "dtype": "string"}, ("a", "ä"), [b"a", "ä".encode()]),
        ({**RAW, "dtype": "uint8", "shape": [2, 2]}, BYTES, [b"\1\2\3\xff"]),
        ({**RAW, "dtype": "float16", "shape": [1]}, array(np.array([1.0])), [b"\0\x3c"]),
        (LISTED, array([np.inf, -np.inf]), [np.inf, -np.inf]),
        ({"kind": "scalar", "dtype": "bytes"}, b"\xff", [b"\xff"]),
        ({"kind": "scalar", "dtype": "float32"}, 3, [3.0]),
        ({"kind": "scalar", "dtype": "int64"}, True, [1]),
        (BARE, ClassLabel("b"), [1]),
        (FLAT, TWO_BOXES, [0.0, 0.25, 0.5, 1.0, 0.0, 0.0, 1.0, 1.0]),
    ],
)
def test_one_key(declared, value, expected):
    values = declared_value(declared, value)
    assert values == {declared.get("key", "x"): expected}
    (found,) = values.values()
    assert [type(each) for each in found] == [type(each) for each in expected]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("image", Image(file=FileRef(path="/a", sha256="ab"), format="jpeg", width=3, height=2)),
        ("audio", Audio(file=FileRef(path="/a"), format="wav")),
    ],
)
def test_bare_media_have_one_key(kind, value):
    declared = {"kind": kind, "key": "x_raw", "bare": True}
    assert declared_value(declared, value, b"payload") == {"x_raw": [b"payload"]}


def test_bare_boxes_have_no_texts():
    declared = {"kind": "boxes", "key": "x", "bare": True, "classes": ["a", "b"]}
    boxes = Objects(boxes=((0, 0, 1, 1),), format="rel_xyxy", labels=("a",))
    assert "x/class/label" in declared_value(declared, boxes)
    assert "x/class/text" not in declared_value(declared, boxes)


def test_numbers_that_the_type_cannot_hold():
    message = r"value out of range.*feature 'x' holds numbers beyond the range of float32"
    with pytest.raises(RecordError, match=message):
        declared_value(LISTED, array([1e300, 0.0]))
