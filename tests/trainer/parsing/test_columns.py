"""Columns of every kind: parsing a batch gives the same as parsing its records."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorflow_examples import NO_BYTES, write_examples

import trainer
from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.example import lists
from tfrecord_dataset.format.feature_keys import (
    GEOMETRY,
    SIDES,
    ObjectColumn,
    is_reserved_subkey,
    list_specs,
)
from tfrecord_dataset.values import numpy_values

RAW_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)


@pytest.mark.parametrize("shape", [(2, 3), ()])
def test_raw_tensors_of_every_dtype_beside_an_image(tmp_path, png, shape):
    random = np.random.default_rng(0)
    arrays = {dtype: random.integers(0, 200, (3, *shape)).astype(dtype) for dtype in RAW_DTYPES}
    image = png(np.zeros((2, 2, 3)))
    records = [
        {"image": image, **{dtype: values[n].tobytes() for dtype, values in arrays.items()}}
        for n in range(3)
    ]
    write_examples(tmp_path / "a", records)
    declared = {
        dtype: {"kind": "tensor", "dtype": dtype, "shape": shape, "encoding": "bytes"}
        for dtype in RAW_DTYPES
    } | {"image": {"kind": "image", "shape": [2, 2, 3]}}

    (batch,) = trainer.open(tmp_path / "a", features=declared).batches(batch_size=3)

    for dtype in RAW_DTYPES:
        assert batch[dtype].dtype.name == dtype
        np.testing.assert_array_equal(batch[dtype], arrays[dtype])


@pytest.mark.parametrize("read", ["batches", "numpy"])
@pytest.mark.parametrize(
    ("values", "declared", "message"),
    [
        pytest.param(
            [bytes(size) for size in [16] * 300 + [12]],
            {"kind": "tensor", "dtype": "float32", "shape": [4]},
            r"key x must hold 16 bytes for float32 \[4\].*12",
            id="raw tensors",
        ),
        pytest.param(
            [[0.5] * size for size in (4, 8, 6)],
            {"kind": "sequence", "dtype": "float32", "shape": [None, 4]},
            r"key x holds rows of \[4\], so its length must be a multiple of 4.*6",
            id="rows",
        ),
    ],
)
def test_values_of_another_length_are_an_error(tmp_path, values, declared, message, read):
    write_examples(tmp_path / "a", [{"x": each} for each in values])
    dataset = trainer.open(tmp_path / "a", features={"x": declared})

    errors = (tf.errors.InvalidArgumentError, trainer.DatasetDamagedError)
    with pytest.raises(errors, match=message):
        list(getattr(dataset, read)())


NUMBERS = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float32": st.floats(width=32, allow_nan=False),
    "string": st.binary(max_size=5),
}
DTYPES = st.sampled_from(sorted(NUMBERS))
SHAPES = st.lists(st.integers(1, 3), max_size=2)


@st.composite
def columns(draw):
    """Draw a declaration."""
    kind = draw(st.sampled_from(["scalar", "tensor", "raw", "sequence", "text", "class_labels"]))
    dtype, shape = draw(DTYPES), draw(SHAPES)
    raw, offset = draw(st.sampled_from(RAW_DTYPES)), draw(st.integers(0, 1))
    return {
        "text": {"kind": "text"},
        "scalar": {"kind": "scalar", "dtype": dtype},
        "tensor": {"kind": "tensor", "dtype": dtype, "shape": shape},
        "raw": {"kind": "tensor", "dtype": raw, "shape": shape, "encoding": "bytes"},
        "class_labels": {"kind": "class_label", "shape": [None], "label_offset": offset},
        "sequence": {"kind": "sequence", "dtype": dtype, "shape": [None, *shape]},
    }[kind]


@st.composite
def files(draw):
    """Draw a schema of a few columns, and a few records: features by key."""
    drawn = draw(st.lists(columns(), min_size=1, max_size=4))
    declared = {f"column_{n}": each for n, each in enumerate(drawn)}
    records = [
        {name: _drawn(draw, each) for name, each in declared.items()}
        for _ in range(draw(st.integers(1, 4)))
    ]
    return declared, records


def _drawn(draw, declared):
    """Draw one record's value of a declared column."""
    shape = declared.get("shape", [])
    if declared.get("encoding"):
        num_bytes = int(np.prod(shape, dtype=int)) * np.dtype(declared["dtype"]).itemsize
        values = draw(st.binary(min_size=num_bytes, max_size=num_bytes))
        if declared["dtype"] == "bool":
            values = bytes(value % 2 for value in values)
        return values
    if declared["kind"] == "class_label":
        return np.int64(draw(st.lists(st.integers(1, 9), max_size=4)))
    dtype = "string" if declared["kind"] == "text" else declared["dtype"]
    size = int(np.prod([each or 1 for each in shape], dtype=int))
    rows = draw(st.integers(0, 3)) if None in shape else 1
    values = draw(st.lists(NUMBERS[dtype], min_size=rows * size, max_size=rows * size))
    return (values or NO_BYTES) if dtype == "string" else np.array(values, dtype)


@settings(
    max_examples=settings().max_examples // 6,  # TensorFlow builds a graph for each
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(file=files())
def test_batches_are_the_records_one_by_one(tmp_path, file):
    declared, records = file
    write_examples(tmp_path / "a", records)
    dataset = trainer.open(tmp_path / "a", features=declared)

    (batch,) = dataset.batches(batch_size=9)
    one_by_one = list(dataset.numpy())

    for name, column in batch.items():
        values = [record[name] for record in one_by_one]
        longest = [max(sizes) for sizes in zip(*map(np.shape, values), strict=True)]
        assert column.shape.as_list() == [len(records), *longest]
        fill = -1 if declared[name]["kind"] == "class_label" else 0
        for row, value in zip(column.numpy(), values, strict=True):
            if not longest:
                _assert_equal(row, value)
                continue
            _assert_equal(row[: len(value)], value)
            assert np.isin(row[len(value) :], b"" if column.dtype == tf.string else fill).all()


def _assert_equal(one, other):
    if np.asarray(other).dtype.kind in "SO":  # NumPy strips zero bytes at the end of strings
        assert np.asarray(one, object).tolist() == np.asarray(other, object).tolist()
    else:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"kind": "text", "default": "none"}, b"none"),
        ({"kind": "scalar", "dtype": "float32", "default": 0.5}, 0.5),
        ({"kind": "class_label", "default": -1, "label_offset": 1}, -1),
        ({"kind": "tensor", "dtype": "int64", "shape": [2, 2], "default": 7}, [[7, 7], [7, 7]]),
        ({"kind": "tensor", "dtype": "int64", "shape": [3], "default": [1, 2, 3]}, [1, 2, 3]),
    ],
)
def test_defaults_of_records_without_the_key(tmp_path, declared, expected):
    write_examples(tmp_path / "a", [{"y": [1]}])
    features = {"x": declared, "y": {"kind": "scalar", "dtype": "int64"}}
    (frame,) = tf.data.TFRecordDataset(str(tmp_path / "a")).as_numpy_iterator()

    (batch,) = trainer.open(tmp_path / "a", features=features).batches(batch_size=1)
    (found,) = numpy_values(features_from_json(features)["x"], lists(frame)).values()

    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(batch["x"], [expected])


FURTHER = {"boxes": {"kind": "boxes", "key": "o", "geometry": ["cuboid", "note"], "bare": True}}


@pytest.fixture
def further_columns(monkeypatch):
    parts = {"cuboid/depth": "float32", "cuboid/length": "float32"}
    monkeypatch.setitem(GEOMETRY, "cuboid", ObjectColumn("cuboids", parts, "numbers"))
    monkeypatch.setitem(GEOMETRY, "note", ObjectColumn("notes", {"note": "bytes"}, moves=False))


@pytest.fixture
def path(tmp_path):
    sides = {f"o/bbox/{side}": [0.0, 0.5] for side in SIDES}
    further = {"o/cuboid/depth": [1.0, 2.0], "o/cuboid/length": [3.0, 4.0], "o/note": [b"a", b"b"]}
    write_examples(tmp_path / "a", [sides | further])
    return tmp_path / "a"


def test_every_reader_has_a_further_column(path, further_columns):
    (feature,) = features_from_json(FURTHER).values()
    (frame,) = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    record = numpy_values(feature, lists(frame))
    (batch,) = trainer.open(path, features=FURTHER).batches(batch_size=1)

    further = ["o/cuboid/depth", "o/cuboid/length", "o/note"]
    assert [*list_specs(feature)][4:] == further
    assert record.keys() == batch.keys() == {"boxes", "cuboids", "notes"}
    np.testing.assert_array_equal(record["cuboids"], [[1, 3], [2, 4]])
    assert [*record["notes"]] == [b"a", b"b"]
    np.testing.assert_array_equal(batch["cuboids"], [record["cuboids"]])
    assert batch["notes"].dtype == tf.string


def test_no_attribute_takes_the_place_of_a_column(further_columns):
    taken = ("mask", "polygon", "rotated/cx", "rotated/of", "bbox/x", "class/text", "keypoint/x")
    free = ("rotated", "class", "bbox", "area", "masks", "my/area", "")

    assert all(map(is_reserved_subkey, taken))
    assert not any(map(is_reserved_subkey, free))
