"""Facts that Inspect finds about a record's values, and values that it refuses."""

import gc
import hashlib

import numpy as np
import pytest
from file_bytes import array_bytes, image_bytes, sound_bytes, written
from inspecting import inline, inspect, inspect_record

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Map,
    RawFile,
    Record,
)
from tfrecord_dataset.format.feature import Feature


def inspected(rules=None, **features):
    return inspect_record(Record(key="a", features=features), rules or Rules())


def feature(rules=None, **features):
    """Return the inspected value of one feature."""
    return inspected(rules, **features).features[next(iter(features))]


def refusal(rules=None, **features):
    with pytest.raises(RecordError) as caught:
        inspected(rules, **features)
    return caught.value


@pytest.fixture
def write(tmp_path):
    """write(bytes) -> a FileRef."""

    def file(data: bytes) -> FileRef:
        path = tmp_path / "file.bin"
        path.write_bytes(data)
        return FileRef(path=str(path))

    return file


def wav(samples, rate=8000, channels=1):
    return sound_bytes(np.asarray(samples, np.int16).reshape(-1, channels), "WAV", rate)


def test_audio_that_is_converted_is_counted(write):
    rules = Rules(audio=AudioOptions(sample_rate=16_000, mono=True))
    record = inspected(rules, audio=Audio(file=write(wav(range(100), channels=2))))
    assert record.notes == {"audio converted: mono": 1, "audio converted: resampled": 1}
    assert (record.features["audio"].num_samples, record.features["audio"].channels) == (100, 1)


GRID = np.arange(6, dtype="<f4").reshape(2, 3)


def test_an_array_that_is_compressed_keeps_its_file(write):
    data = written(np.savez_compressed, GRID)
    record = inspected(x=Array(file=write(data)))
    found = record.features["x"]
    assert found.conversions == ("compressed",)
    assert (found.shape, found.file.offset, found.file.length) == ((2, 3), 0, len(data))
    assert found.file.sha256 == hashlib.sha256(data).hexdigest()
    assert record.notes == {"array converted: compressed": 1}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(np.int8(-3), -3, id="int"),
        pytest.param(np.float32(0.5), 0.5, id="float"),
        pytest.param(np.bool_(True), 1, id="bool"),
    ],
)
def test_an_array_without_axes_is_a_number(write, value, expected):
    found = feature(x=Array(file=write(array_bytes(value))))
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("features", "reason", "message"),
    [
        pytest.param({"x": "\ud800"}, "not UTF-8", "x", id="text"),
        pytest.param({"x": ("a", "\ud800")}, "not UTF-8", "x", id="texts"),
        pytest.param({"x": ClassLabel("\ud800")}, "not UTF-8", "x", id="class"),
        pytest.param({"x": ClassLabels(("a", "\ud800"))}, "not UTF-8", "x", id="classes"),
        pytest.param({"x": 2**63}, "value out of range", "64 bits", id="int"),
        pytest.param({"x": 1e39}, "value out of range", "32 bits", id="float"),
        pytest.param({"x": [1, 2]}, "unsupported value", "list", id="list"),
        pytest.param({"x": np.arange(2)}, "unsupported value", "ndarray", id="NumPy's own"),
        ({"x": Array(dtype="int64", shape=(3,), data=bytes(16))}, "damaged array", "[3] has 24"),
        ({"x": Array(dtype="complex64", shape=(1,))}, "unsupported array", "complex"),
        ({"x": Array(dtype="thing", shape=(1,))}, "unsupported array", "thing"),
        ({"x": Array(file=FileRef(path="/no/x.npy"))}, "missing file", "x.npy"),
        ({"x": Audio(file=FileRef(path="/no/x.wav"))}, "missing file", "x.wav"),
        pytest.param({"x": RawFile(file=FileRef(path="/no/x"))}, "missing file", "x", id="no file"),
    ],
)
def test_what_no_example_holds(features, reason, message):
    refused = refusal(**features)
    assert refused.reason == reason
    assert message in refused.detail


@pytest.mark.parametrize(
    ("value", "data", "reason"),
    [
        (Audio, b"no sound", "not audio"),
        (Array, b"no array", "not an array"),
        (Array, array_bytes(np.array(2**63, np.uint64)), "value out of range"),
        (Array, array_bytes(np.array([{}], object)), "pickled array"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_by_its_feature(write, value, data, reason):
    refused = refusal(speech=value(file=write(data)))
    assert refused.reason == reason
    assert "speech" in refused.detail


def test_a_refused_record_is_rejected(write):
    record = Record(key="a", source="list.csv:3", features={"x": Audio(file=write(b"noise"))})
    [rejected] = inspect([record], Rules())
    assert (rejected.source, rejected.reason) == ("list.csv:3", "not audio")


def test_a_bad_value_leaves_out_its_own_record_only():
    records = [Record(key=str(each), features={"x": each}) for each in (1, 2**63, 2)]
    found = [*inspect(records, Rules())]
    assert {getattr(each, "key", each.source): type(each).__name__ for each in found} == {
        "1": "Inspected", str(2**63): "Rejected", "2": "Inspected",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        pytest.param("x" * 1000, 1000, 1100, id="text"),
        pytest.param(("x" * 500, "y" * 500), 1000, 1100, id="texts"),
        pytest.param(np.zeros(1000, "f4"), 4000, 4100, id="float list"),
        pytest.param(np.full(1000, 100), 1000, 1100, id="small ints in a list"),
        pytest.param(np.full(1000, -1), 10_000, 10_100, id="negative ints in a list"),
        pytest.param(np.zeros((100, 10), np.uint8), 1000, 1100, id="raw bytes"),
        pytest.param(np.zeros((100, 10)), 8000, 8100, id="raw float64"),
    ],
)
def test_about_how_many_bytes_it_takes(value, low, high):
    if isinstance(value, np.ndarray):
        value = inline(value)
    size = inspected(x=value).num_bytes - inspected(x="").num_bytes
    assert low <= size <= high


def test_a_declared_schema_is_held_against_the_values(write):
    schema = (Feature(name="n", kind="scalar", dtype="int64", shape=(), key="n", maximum=5),)
    rules = Rules(schema=schema)
    assert inspected(rules, n=3, other="x").features == {"n": 3}
    refused = refusal(rules, n=6)
    assert refused.reason == "does not fit the schema"
    assert refused.detail == "'n' is 6, where scalar int64 of 5 or less was expected"


@pytest.mark.parametrize(
    ("value", "gib", "reason"),
    [
        pytest.param(Image, 0.5, "not an image", id="image"),
        pytest.param(Map, 4, "not an image", id="map"),
        pytest.param(Audio, 4, "not audio", id="audio"),
        pytest.param(Array, 4, "not an array", id="array"),
        pytest.param(RawFile, 4, "file too large", id="other files"),
    ],
)
def test_a_sparse_file_is_not_read_in_whole(tmp_path, value, gib, reason):
    path = tmp_path / "sparse"
    with path.open("wb") as handle:
        handle.truncate(int(gib * 2**30))

    def read(file, at_most):
        data = storage.read_bytes(file, at_most)
        assert len(data) < 1 << 20
        return data

    record = Record(key="a", features={"x": value(file=FileRef(path=str(path)))})
    with pytest.raises(RecordError, match=reason):
        inspect_record(record, Rules(), read)


def test_a_file_that_begins_like_an_image_has_at_most_1_gib(tmp_path):
    path = tmp_path / "large.png"
    path.write_bytes(image_bytes(np.zeros((4, 4), np.uint8)))
    with path.open("r+b") as handle:
        handle.truncate(4 << 30)
    assert refusal(image=Image(file=FileRef(path=str(path)))).reason == "file too large"


@pytest.mark.usefixtures("without_collections")
def test_a_rejected_file_leaves_no_garbage():
    missing = FileRef(path="/no/without-garbage.png")
    given = [Record(key=str(n), features={"x": Image(file=missing)}) for n in range(20)]
    assert len([*inspect(given, Rules())]) == 20
    errors = [each for each in gc.get_objects() if isinstance(each, RecordError)]
    assert not [each for each in errors if each.detail == "without-garbage.png"]


@pytest.fixture
def without_collections():
    gc.collect()
    gc.disable()
    yield
    gc.enable()
