"""A record's features, and the files that they name, become keys and values of one Example."""

import hashlib
import io

import numpy as np
import pytest
import soundfile
from file_bytes import array_bytes, sound_bytes

from beam_pipeline.errors import RecordError, SourceChangedError
from beam_pipeline.inspect.record import inspect_record
from beam_pipeline.kinds import observe_all
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Inspected,
    Objects,
    RawFile,
    Record,
)
from beam_pipeline.schema.inference import infer
from beam_pipeline.write.encoding import Encoder
from tfrecord_dataset.example import decode, lists


def values_of(*records, declared=None):
    """The values of the first record, under the schema of all."""
    schema = infer(observe_all(records), num_records=len(records), declared=declared or {})
    payloads = dict.fromkeys(records[0].features, b"payload")
    return Encoder(schema=schema, rules=Rules()).values(records[0], payloads)


def image(**more):
    facts = {"format": "jpeg", "width": 30, "height": 20, "channels": 3, **more}
    return Image(file=FileRef(path="/in/a.jpg", sha256="ab12"), **facts)


def test_image():
    assert values_of(Inspected(key="cat/ä.jpg", source_id="17", features={"image": image()})) == {
        "image/encoded": [b"payload"],
        "image/format": [b"jpeg"],
        "image/filename": ["cat/ä.jpg".encode()],
        "image/source_id": [b"17"],
        "image/key/sha256": [b"ab12"],
        "image/height": [20],
        "image/width": [30],
    }


def test_the_hash_is_that_of_the_stored_bytes():
    values = values_of(
        Inspected(key="a.jpg", features={"image": image(conversions=("orientation",))})
    )
    assert values["image/key/sha256"] == [hashlib.sha256(b"payload").hexdigest().encode()]


def test_a_second_image_has_keys_of_its_own():
    values = values_of(Inspected(key="a.jpg", features={"image": image(), "mask": image(width=5)}))
    assert values["mask/encoded"] == [b"payload"]
    assert (values["mask/width"], values["image/width"]) == ([5], [30])


def test_label_counts_from_zero():
    other = Inspected(key="b", features={"image": image(), "label": ClassLabel("ant")})
    values = values_of(
        Inspected(key="a", features={"image": image(), "label": ClassLabel("bee")}), other
    )
    assert values["image/class/label"] == [1]
    assert values["image/class/text"] == [b"bee"]


def test_an_absent_label_is_minus_one():
    labelled = Inspected(key="b", features={"image": image(), "label": ClassLabel("ant")})
    values = values_of(Inspected(key="a", features={"image": image()}), labelled)
    assert values["image/class/label"] == [-1]
    assert values["image/class/text"] == [b""]


def test_label_of_no_image():
    values = values_of(
        Inspected(key="a", features={"label": ClassLabel("x"), "kind": ClassLabel("y")})
    )
    assert (values["label/label"], values["label/text"]) == ([0], [b"x"])
    assert (values["kind/label"], values["kind/text"]) == ([0], [b"y"])


@pytest.mark.parametrize(
    ("labels", "numbers", "names"),
    [
        pytest.param(ClassLabels(("b", "a")), [1, 0], [b"b", b"a"], id="two"),
        pytest.param(ClassLabels(()), [], [], id="none"),
        pytest.param(ClassLabel("c"), [2], [b"c"], id="one"),
        pytest.param(None, [], [], id="absent"),
    ],
)
def test_several_labels(labels, numbers, names):
    others = Inspected(key="b", features={"label": ClassLabels(("a", "b", "c"))})
    features = {} if labels is None else {"label": labels}
    values = values_of(Inspected(key="a", features=features), others)
    assert values == {"label/label": numbers, "label/text": names}


BOXES = Objects(
    boxes=((0.1, 0.2, 0.3, 0.4), (0.5, 0.6, 0.7, 0.8)),
    format="rel_xyxy",
    labels=("b", "a"),
    attributes={"difficult": (0, 1), "area": (1, 2.5), "pose": ("left", "")},
)


def test_boxes_count_from_one():
    values = values_of(Inspected(key="a", features={"image": image(), "boxes": BOXES}))

    assert list(values["image/object/bbox/xmin"]) == [0.1, 0.5]
    assert list(values["image/object/bbox/ymin"]) == [0.2, 0.6]
    assert list(values["image/object/bbox/xmax"]) == [0.3, 0.7]
    assert list(values["image/object/bbox/ymax"]) == [0.4, 0.8]
    assert values["image/object/class/label"] == [2, 1]
    assert values["image/object/class/text"] == [b"b", b"a"]
    assert values["image/object/difficult"] == [0, 1]
    assert values["image/object/area"] == [1.0, 2.5]
    assert values["image/object/pose"] == [b"left", b""]


@pytest.mark.parametrize("features", [{}, {"boxes": Objects(boxes=())}], ids=["absent", "none"])
def test_an_image_without_boxes_has_all_their_keys(features):
    record = Inspected(key="b", features={"image": image(), **features})
    with_boxes = Inspected(key="a", features={"image": image(), "boxes": BOXES})
    values = values_of(record, with_boxes)

    assert values.keys() == values_of(with_boxes).keys()
    assert all(not list(value) for key, value in values.items() if key.startswith("image/object"))


KEYPOINTS = Objects(boxes=((0.0, 0.0, 1.0, 1.0),), format="rel_xyxy", keypoints=((0.5, 0.5, 2.0),))


def test_empty_lists_state_their_kinds():
    """As a list of the same key does where it holds something."""
    more = {"tags": ("a",), "tokens": Array(dtype="int64", shape=(1,), data=bytes(8))}
    full = {"boxes": BOXES, "faces": KEYPOINTS, "label": ClassLabels(("a",)), **more}
    empty = {"tags": (), "tokens": Array(dtype="int64", shape=(0,)), "label": ClassLabels(())}
    records = [Inspected(key="a", features=full), Inspected(key="b", features=empty)]
    schema = infer(observe_all(records), num_records=2, declared={})
    encoder = Encoder(schema=schema, rules=Rules())
    stated, expected = (
        {key: kind for key, (kind, _) in lists(encoder.encode(record)).items()}
        for record in reversed(records)
    )
    assert stated == expected


def test_attributes_that_one_record_lacks():
    bare = Inspected(
        key="a",
        features={"boxes": Objects(boxes=((0, 0, 1, 1),), format="rel_xyxy", labels=("a",))},
    )
    values = values_of(bare, Inspected(key="b", features={"boxes": BOXES}))
    assert values["image/object/difficult"] == [-1]
    assert values["image/object/area"] == [-1.0]
    assert values["image/object/pose"] == [b""]


def test_boxes_without_classes_have_no_class_keys():
    boxes = Objects(boxes=((0, 0, 1, 1),), format="rel_xyxy")
    values = values_of(Inspected(key="a", features={"boxes": boxes}))
    assert not [key for key in values if "class" in key]


def test_boxes_that_lack_the_class_names_of_others():
    bare = Objects(boxes=((0, 0, 1, 1),), format="rel_xyxy")
    others = Inspected(key="b", features={"boxes": BOXES})
    schema = infer(observe_all([others]), num_records=1, declared={})
    with pytest.raises(RecordError, match="1 boxes but 0 class names"):
        Encoder(schema=schema, rules=Rules()).values(
            Inspected(key="a", features={"boxes": bare}), {}
        )


def test_keypoints_are_flat_with_their_number():
    boxes = Objects(
        boxes=((0, 0, 1, 1), (0, 0, 1, 1)),
        format="rel_xyxy",
        keypoints=((0.1, 0.2, 2, 0.3, 0.4, 1), (0.5, 0.6, 0, 0.7, 0.8, 2)),
    )
    values = values_of(Inspected(key="a", features={"boxes": boxes}))
    assert values["image/object/keypoint/x"] == [0.1, 0.3, 0.5, 0.7]
    assert values["image/object/keypoint/y"] == [0.2, 0.4, 0.6, 0.8]
    assert values["image/object/keypoint/visibility"] == [2, 1, 0, 2]
    assert values["image/object/keypoint/num"] == [2, 2]


@pytest.mark.parametrize(
    ("value", "others", "expected"),
    [
        pytest.param(3, 1.5, [3.0], id="int among floats"),
        pytest.param(True, 0, [1], id="bool"),
    ],
)
def test_scalars(value, others, expected):
    values = values_of(
        Inspected(key="a", features={"x": value}), Inspected(key="b", features={"x": others})
    )
    assert values == {"x": expected}
    assert [type(each) for each in values["x"]] == [type(each) for each in expected]


def test_absent_text_is_empty():
    values = values_of(
        Inspected(key="a", features={"n": 1}), Inspected(key="b", features={"n": 1, "t": "x"})
    )
    assert values["t"] == [b""]


def test_audio():
    audio = Audio(
        file=FileRef(path="/a"), format="ogg", sample_rate=8000, num_samples=50, channels=2
    )
    assert values_of(Inspected(key="a", features={"audio": audio, "call": audio})) == {
        "audio/encoded": [b"payload"],
        "audio/format": [b"ogg"],
        "audio/sample_rate": [8000],
        "audio/num_samples": [50],
        "audio/channels": [2],
        "call/encoded": [b"payload"],
        "call/format": [b"ogg"],
        "call/sample_rate": [8000],
        "call/num_samples": [50],
        "call/channels": [2],
    }


@pytest.fixture
def write(tmp_path):
    def file(data):
        path = tmp_path / "file.bin"
        path.write_bytes(data)
        return FileRef(path=str(path))

    return file


def encoded(rules=None, **features):
    """The Example of a record, from its files."""
    record = inspect_record(Record(key="a", features=features), rules or Rules())
    schema = infer(observe_all([record]), num_records=1, declared={})
    return decode(Encoder(schema=schema, rules=rules or Rules()).encode(record))


def test_arrays_of_few_values_are_lists(write):
    assert encoded(x=Array(file=write(array_bytes(np.arange(3, dtype="u1")))))["x"] == [0, 1, 2]
    assert encoded(x=Array(file=write(array_bytes(np.eye(2, dtype="f4")))))["x"] == [1, 0, 0, 1]


def test_sounds_are_converted_as_they_were_inspected(write):
    sound = sound_bytes(np.zeros((100, 2)), "FLAC")
    file = write(sound)
    assert encoded(audio=Audio(file=file))["audio/encoded"] == [sound]

    values = encoded(Rules(audio=AudioOptions(mono=True, sample_rate=4000)), audio=Audio(file=file))
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
    schema = infer(observe_all([record]), num_records=1, declared={})
    with pytest.raises(SourceChangedError, match="run the build again"):
        Encoder(schema=schema, rules=Rules()).encode(record)
