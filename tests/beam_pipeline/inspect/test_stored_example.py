"""Existing Examples are checked like other records, and stay unchanged."""

import dataclasses
import hashlib

import numpy as np
import pytest
from file_bytes import image_bytes, sound_bytes
from inspecting import encoded, inspect_record
from PIL import ExifTags, Image

from beam_pipeline.errors import RecordError, SourceChangedError
from beam_pipeline.inspect.stored_example import expectations, inspect_existing
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.records import Expectation, FileRef, ListSummary, Record
from beam_pipeline.write.encoding import Encoder
from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.frames import framed


def image(suffix="JPEG", size=(9, 7), **save):
    colours = np.random.default_rng(0).integers(0, 256, (*size[::-1], 3), dtype=np.uint8)
    return image_bytes(colours, suffix, **save)


def sound():
    return sound_bytes(np.linspace(-0.5, 0.5, 80), "WAV")


@pytest.fixture
def record(tmp_path):
    """Write an Example between two others; returns its record."""

    def write(payload, **expected):
        before, frame = framed(b"before"), framed(payload)
        path = tmp_path / "a.tfrecord"
        path.write_bytes(before + frame + framed(b"after"))
        file = FileRef(path=str(path), offset=len(before), length=len(frame))
        return Record(
            key="a.tfrecord:1", features={}, split="train", example=file, expected=expected
        )

    return write


def test_all_that_an_example_holds(record):
    jpeg = image()
    payload = encode({"image": [jpeg], "label": [3], "x": [0.5, 1.5], "caption": [b"a cat"]})
    given = record(payload)
    inspected = inspect_record(given, Rules())

    stored = inspected.features["image"]
    assert stored.form == "jpeg"
    assert stored.shape == (7, 9)
    assert stored.sha256 == hashlib.sha256(jpeg).hexdigest()
    assert inspected.features["label"] == 3
    assert inspected.features["caption"] == "a cat"
    assert inspected.features["x"] == ListSummary(
        kind="float32", length=2, minimum=0.5, maximum=1.5
    )
    assert (inspected.key, inspected.split, inspected.notes) == ("a.tfrecord:1", "train", {})
    assert inspected.num_bytes == len(framed(payload))
    assert inspected.content_digest == hashlib.sha256(jpeg).hexdigest()
    assert encoded(Encoder(schema=(), rules=Rules()), inspected) == payload


def test_the_content_is_the_images_and_sounds_or_all(record):
    def content(**values):
        return inspect_record(record(encode(values)), Rules()).content_digest

    both = content(a=[image()], b=[sound()], n=[1])
    assert both == content(a=[image()], b=[sound()], n=[2])
    assert both != content(a=[image()], n=[1])
    assert content(n=[1]) != content(n=[2])


def test_what_others_would_convert_is_kept_and_noted(record):
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    payload = encode({"image": [image(exif=exif)]})
    inspected = inspect_record(record(payload), Rules())

    assert inspected.notes == {"image kept: orientation": 1}
    assert inspected.features["image"].shape == (7, 9), "as stored: not turned"
    assert encoded(Encoder(schema=(), rules=Rules()), inspected) == payload


def test_a_changed_file_is_found_at_the_write(record):
    inspected = inspect_record(record(encode({"x": [1]})), Rules())
    record(encode({"x": [2]}))
    with pytest.raises(SourceChangedError, match="changed while the job ran"):
        encoded(Encoder(schema=(), rules=Rules()), inspected)


def test_a_frame_whose_checksum_is_wrong_is_rejected(record):
    file = record(encode({"x": [1]})).example
    with pytest.raises(RecordError, match="damaged record"):
        inspect_existing(dataclasses.replace(file, offset=file.offset + 1), Rules(), {})


def test_too_large_a_record_is_not_read():
    file = FileRef(path="/nowhere", length=(1 << 30) + 17)
    with pytest.raises(RecordError, match="record too large"):
        inspect_existing(file, Rules(), {})


SEQUENCE_EXAMPLE = b"\x0a\x00\x12\x07\x0a\x05\x0a\x01b\x12\x00"
IMAGE = Expectation("bytes", "image", "a.tfrecord:0")


WHOLE = Expectation("int64", "", "a.tfrecord:0")
SOUND = Expectation("bytes", "audio", "a.tfrecord:0")


@pytest.mark.parametrize(
    ("payload", "expected", "message"),
    [
        (b"\xff\xff", None, "not an Example: .*not a tf.train"),
        (b"", None, "not an Example: .*no features"),
        (SEQUENCE_EXAMPLE, None, "not an Example: .*SequenceExample"),
        (
            *(encode({"x": [0.5]}), WHOLE),
            "type conflict: key 'x' holds a float list, where a.tfrecord:0 holds an int64 list",
        ),
        (
            *(encode({"x": [b"text"]}), IMAGE),
            "not an image: .*4 bytes that start with 'text', where a.tfrecord:0 holds an image",
        ),
        (encode({"x": [image()]}), SOUND, "not audio: .*where a.tfrecord:0 holds audio"),
        (encode({"x": [b""]}), IMAGE, "not an image: .*no bytes"),
        (encode({"x": [image()[:-9]]}), IMAGE, "truncated image: key 'x': "),
        (encode({"x": [image()[:-9]]}), None, "truncated image: key 'x': "),
        (encode({"x": [sound()[:-9]]}), None, "truncated audio: key 'x': "),
    ],
)
def test_what_cannot_be_used(record, payload, expected, message):
    with pytest.raises(RecordError, match=f"^{message}"):
        inspect_record(record(payload, **({"x": expected} if expected else {})), Rules())


def declared(kind, dtype, shape=(), **more):
    return Rules(
        schema=(
            Feature(name="it", kind=kind, dtype=dtype, shape=shape, key="x", bare=True, **more),
        )
    )


@pytest.mark.parametrize(
    ("declared_as", "value", "reason"),
    [
        (("scalar", "float32"), 1, "does not fit the schema"),
        (("image", "uint8", (9, 9, 3)), image(), "does not fit the schema"),
        (("image", "uint8", (None, None, 3)), image()[:-9], "truncated image"),
    ],
)
def test_what_a_declared_schema_rejects(record, declared_as, value, reason):
    with pytest.raises(RecordError, match=f"^{reason}: "):
        inspect_record(record(encode({"x": [value]})), declared(*declared_as))


def test_expectations_are_what_most_of_the_first_records_have():
    payloads = [
        encode({"x": [0.5], "image": [b"damaged"], "text": [b"a"]}),
        b"no Example",
        encode({"x": [1], "image": [image()], "text": [image()]}),
        encode({"x": [2], "image": [image()], "late": []}),
        encode({"x": [2], "image": [b""]}),
    ]
    found = expectations((f"a:{number}", payload) for number, payload in enumerate(payloads))

    assert found == {
        "x": Expectation("int64", "", "a:2"),
        "image": Expectation("bytes", "image", "a:2"),
        "text": Expectation("bytes", "", "a:0"),
    }
