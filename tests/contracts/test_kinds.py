"""Contract of kinds of values: check, pack, observe, infer, conform, encode, decode, keys."""

import functools
import hashlib
import io

import hypothesis
import hypothesis.extra.numpy as st_numpy
import hypothesis.strategies as st
import numpy as np
import pytest
import soundfile
from file_bytes import array_bytes, image_bytes, sound_bytes
from inspecting import (
    counted,
    examples_of,
    inline,
    inspect_record,
    observe,
    rows_of,
    schema_of,
    table_of,
)
from PIL import Image as Pixels

from beam_pipeline import kinds
from beam_pipeline.batch import Examples
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.kinds.masks import mask_of
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Map,
    Objects,
    RawFile,
    Record,
    file_of,
)
from beam_pipeline.schema.conformance import conforming, mismatches, schema_specs
from beam_pipeline.write.encoding import Encoder, Read
from tfrecord_dataset.format.example import encode, lists
from tfrecord_dataset.format.feature_keys import list_specs
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.values import numpy_values

RULES = Rules(box_format="rel_xyxy")
FILES: dict[str, bytes] = {}


def file(data):
    """A file with content `data`."""
    path = hashlib.sha256(data).hexdigest()
    FILES[path] = data
    return FileRef(path=path)


def read(ref, max_bytes=None):
    return FILES[ref.path][ref.offset :][: ref.length]


def wav(samples):
    return sound_bytes(samples, "WAV", subtype="PCM_16")


@st.composite
def arrays(draw, make):
    """Arrays of one type; the first axis may differ."""
    dtype = draw(st.sampled_from(["int64", "uint16", "bool", "float16", "float32", "float64"]))
    inner = draw(st.sampled_from([(), (2,), (3, 1), (20, 30)]))  # many numbers are stored raw
    elements = {"min_value": -1e3, "max_value": 1e3} if dtype.startswith("f") else {}
    some = st.integers(0, 4).flatmap(
        lambda n: st_numpy.arrays(
            dtype, (n, *inner), elements=st_numpy.from_dtype(np.dtype(dtype), **elements)
        )
    )
    return [make(each) for each in draw(st.lists(some, min_size=1, max_size=3))]


@st.composite
def objects(draw):
    """Objects in which each optional column is complete or missing."""
    number = st.integers(0, 3)
    corner, side = st.floats(0, 0.375, width=32), st.floats(0.125, 0.5, width=32)
    box = st.builds(lambda x, y, w, h: (x, y, x + w, y + h), corner, corner, side, side)
    has_labels, has_points = draw(st.booleans()), draw(st.booleans())
    has_rotated, corners = draw(st.booleans()), st.tuples(*[st.floats(0, 1, width=32)] * 8)
    has_polygons, has_masks = draw(st.booleans()), draw(st.booleans())
    size = ImageSize(height=8, width=6)
    mask = st_numpy.arrays(np.uint8, size, elements=st.integers(0, 1)).map(mask_of)
    ring = st.tuples(*[st.floats(-0.5, 1.5, width=32)] * 6)
    rings = st.lists(ring, max_size=2).map(tuple)
    point_names = st.lists(st.sampled_from(["left é", "right é", "tip 10", "tip 9"]), unique=True)
    points = st.tuples(st.floats(0.125, 1, width=32), st.floats(0, 1, width=32), st.just(2.0))

    def record(n):
        names = tuple(draw(point_names)) if has_points else ()
        rows = st.just(()) | st.tuples(*[points] * len(names)).map(lambda row: sum(row, ()))
        return Objects(
            boxes=tuple(draw(box) for _ in range(n)),
            format="rel_xyxy",
            labels=tuple(draw(NAME) for _ in range(n)) if has_labels else (),
            attributes={"area": (2.5,) * n, "id": tuple(range(n)), "pose": ("é",) * n},
            keypoints=tuple(draw(rows) for _ in range(n)) if names else (),
            keypoint_names=names,
            polygons=tuple(draw(rings) for _ in range(n)) if has_polygons else (),
            rotated=tuple(draw(st.just(()) | corners) for _ in range(n)) if has_rotated else (),
            masks=tuple(draw(st.none() | mask) for _ in range(n)) if has_masks else (),
        )

    return [record(n) for n in draw(st.lists(number, min_size=1, max_size=3))]


def some(values):
    return st.lists(values, min_size=1, max_size=3)


NAME = st.text("abcé ", min_size=1, max_size=4)
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
PIXELS = st_numpy.arrays(np.uint8, st.tuples(st.integers(1, 5), st.integers(1, 5), st.just(3)))
SAMPLES = st_numpy.arrays(np.int16, st.tuples(st.integers(1, 9), st.just(2)))
COLORS = np.array([[0, 0, 0], [128, 0, 0], [0, 128, 0]], np.uint8)
CLASSES = st_numpy.arrays(
    np.uint8, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.sampled_from([0, 2, 255])
)
DEPTHS = st_numpy.arrays(np.uint16, st.tuples(st.integers(1, 5), st.integers(1, 5)))
# Lists of values of each kind, as from a source.
VALUES = {
    "image": some(PIXELS.map(lambda each: Image(file=file(image_bytes(each))))),
    "map": some(CLASSES.map(lambda each: Map(file=file(image_bytes(each))))),
    "colored map": some(
        CLASSES.map(
            lambda each: Map(file=file(image_bytes(COLORS[each % 3])), colors=COLORS.tobytes())
        )
    ),
    "depth map": some(DEPTHS.map(lambda each: Map(file=file(image_bytes(each)), shows="depth"))),
    "audio": some(SAMPLES.map(lambda each: Audio(file=file(wav(each))))),
    "array": arrays(inline),
    "array in a file": arrays(lambda each: Array(file=file(array_bytes(each)))),
    "strings": some(st.lists(TEXT, max_size=3).map(tuple)),
    "label": some(st.builds(ClassLabel, NAME)),
    "labels": some(st.builds(ClassLabels, st.lists(NAME, max_size=3).map(tuple))),
    "objects": objects(),
    "text": some(TEXT),
    "raw": some(st.binary(max_size=20)),
    "raw file": some(st.binary(max_size=20).map(lambda data: RawFile(file=file(data)))),
    "int": some(st.integers(-(2**63), 2**63 - 1)),
    "float": some(st.floats(width=32, allow_nan=False, allow_infinity=False)),
}
# Further features of the record: objects need an image.
BESIDE = {"objects": {"image": Image(file=file(image_bytes(np.zeros((8, 6, 3), np.uint8))))}}


def contract(test):
    """Run a test for every kind, with values drawn from `data`."""
    drawn = hypothesis.settings(max_examples=10)(hypothesis.given(data=st.data())(test))
    return pytest.mark.parametrize("kind", VALUES)(drawn)


def inspected(kind, data):
    """Draw records with one feature "x" of a kind."""
    beside = BESIDE.get(kind, {})
    return [
        inspect_record(Record(key=str(number), features={**beside, "x": value}), RULES, read)
        for number, value in enumerate(data.draw(VALUES[kind]))
    ]


@contract
def test_checking_once_more_and_packing_change_nothing(kind, data):
    for record in inspected(kind, data):
        again = inspect_record(Record(key=record.key, features=record.features), RULES, read)
        assert again.features == record.features
        assert again.content_digest == record.content_digest

        [unpacked] = rows_of(Examples.of(table_of([(record, "train", 0)])))
        assert unpacked.features == record.features


@contract
def test_observations_merge_in_any_order(kind, data):
    records = inspected(kind, data)
    whole = observe(records)["x"]

    parts = [observe([record])["x"] for record in reversed(records)]
    merged = functools.reduce(lambda one, other: (one.merge(other), one)[1], parts, Observed())
    assert counted(merged) == counted(whole)
    assert whole.num_values == len(records)


@contract
def test_values_fit_the_schema_that_follows_from_them(kind, data):
    records = inspected(kind, data)
    schema = schema_of(*records)
    for record in records:
        assert conforming(record.features, schema) == record.features


@contract
def test_an_example_holds_the_keys_of_the_schema_and_tells_the_values(kind, data):
    records = inspected(kind, data)
    schema = schema_of(*records)
    encoder = Encoder(schema=schema, rules=RULES)
    specs = {key: spec.kind for each in schema for key, spec in list_specs(each).items()}
    for record in records:
        payloads = {
            name: kinds.of(value).payload(value, read(value.file), RULES)
            for name, value in record.features.items()
            if file_of(value)
        }
        columns_of_one = encoder.values(
            examples_of(record), [Read(record.features, payloads)], [record.source_id]
        )
        values = {key: value for key, [value] in columns_of_one.items()}
        assert values.keys() == specs.keys()

        example = lists(encode(values, specs))
        assert list(mismatches(schema_specs(schema), example)) == []
        feature = next(each for each in schema if each.name == "x")
        value, payload = record.features["x"], payloads.get("x")
        np.testing.assert_equal(
            numpy_values(feature, example)["x"], expected(value, payload, feature)
        )
        assert list(kinds.named(feature).differences(feature, example)) == []
        if feature.kind == "boxes" and feature.keypoints:
            assert points_by_name(value) == points_read(feature, numpy_values(feature, example))


def points_by_name(value):
    """Return the points of each object in an inspected value."""
    rows = value.keypoints or ((),) * len(value.boxes)
    triples = [zip(row[::3], row[1::3], row[2::3], strict=True) for row in rows]
    return [dict(zip(value.keypoint_names, triple, strict=False)) for triple in triples]


def points_read(feature, values):
    """Return the same points from the values that a reader of the dataset gets."""
    assert len(feature.keypoint_names) == feature.keypoints
    return [
        {
            name: tuple(map(float, point))
            for name, point in zip(feature.keypoint_names, points, strict=True)
            if point[2] > 0
        }
        for points in values["x_keypoints"]
    ]


def expected(value, payload, feature):
    """Return the value that a reader of the dataset gets for an inspected value."""
    match value:
        case Image() | Map() | Audio():
            return expected_media(value, payload, feature)
        case Array():
            raw = np.frombuffer(payload or value.data, value.dtype)
            return raw.reshape(value.shape).astype(feature.dtype)
        case Objects():
            return np.array(value.boxes, np.float32).reshape(-1, 4)
        case ClassLabel(name):
            return np.int64(feature.classes.index(name))
        case ClassLabels(names):
            return np.array([feature.classes.index(name) for name in names], np.int64)
        case tuple():
            return np.array([each.encode() for each in value], object)
        case RawFile():
            return payload
        case str():
            return value.encode()
        case int() | float():
            return np.dtype(feature.dtype).type(value)
    return value


def expected_media(value, payload, feature):
    if isinstance(value, Audio):
        return soundfile.read(io.BytesIO(payload), dtype="float32", always_2d=True)[0]
    pixels = np.asarray(Pixels.open(io.BytesIO(payload)))
    return pixels[..., None].astype(feature.dtype) if isinstance(value, Map) else pixels
