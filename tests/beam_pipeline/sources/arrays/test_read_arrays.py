"""Rows of arrays become records: values, labels, declared features; and damaged files."""

import numpy as np
import pytest
from cases.reading import values_of

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import ClassLabel
from beam_pipeline.sources.arrays import read_arrays
from beam_pipeline.sources.arrays.read_arrays import ReadArrays, find_tables, is_array
from beam_pipeline.sources.input_files import find_files
from beam_pipeline.sources.tables.table import Scratch
from tfrecord_dataset.format.feature import Feature

X = np.arange(6 * 4 * 4, dtype=np.uint8).reshape(6, 4, 4)
LARGE = np.arange(6 * 300, dtype=np.float32).reshape(6, 300)
Y = np.array([0, 1, 2, 0, 1, 2])


def found(root, ignored=()):
    return find_tables(find_files(root, is_array), ignored)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_damaged_member_costs_its_file(read, write, save):
    root = write({"a.npz": {"x": X, "y": Y}})
    noise = np.random.default_rng(0).integers(0, 1 << 60, 1000)
    save(f"{root}/b.npz", x=noise, y=noise)
    with open(f"{root}/b.npz", "rb") as handle:
        data = bytearray(handle.read())
    data[len(data) // 4] ^= 1
    records, rejects = read({"b.npz": bytes(data)})
    assert len(records) == 6
    assert (rejects["b.npz"].reason, rejects["b.npz"].bad) == ("damaged archive", True)
    assert "x.npy is damaged" in rejects["b.npz"].detail


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        pytest.param(lambda data: data[:-9], "truncated array", id="truncated"),
        pytest.param(lambda data: data + b"x", "damaged array", id="more"),
        pytest.param(lambda data: b"?" + data, "not an array", id="another file"),
    ],
)
def test_damaged_npy(read, write, damage, reason):
    with open(f"{write({'a.npy': X})}/a.npy", "rb") as handle:
        records, rejects = read({"a.npy": damage(handle.read())})
    assert (records, rejects["a.npy"].reason) == ({}, reason)


@pytest.mark.parametrize(
    ("files", "ignored", "kept"),
    [
        pytest.param({"x.npy": X, "y.npy": Y}, "y", {"x"}, id="npy"),
        pytest.param({"a.npz": {"x": X, "y": Y}}, "y", {"x"}, id="npz"),
        pytest.param({"a.npz": {"x_train": X, "z_train": Y}}, "z", {"x"}, id="in splits"),
    ],
)
def test_ignored_columns(write, files, ignored, kept):
    tables, _ = found(write(files), [ignored])
    assert set(tables[0].columns) == kept
    with pytest.raises(ConfigError, match=f"'{ignored}{ignored}' is not there; there are .*'x'"):
        found(write(files), [ignored * 2])


def test_ignored_columns_of_files_that_cannot_be_read(write):
    tables, rejected = found(write({"a.npz": {"x": X}, "b.npz": b"x"}), ["y"])
    assert (len(tables), len(rejected)) == (1, 1)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_rows(write, read, tmp_path, save):
    """Small rows travel inline; large ones are ranges, of the original file if possible."""
    columns = {
        "x": X,
        "large": LARGE,
        "y": Y,
        "score": Y / 4,
        "flag": Y > 0,
        "half": Y.astype("f2"),
        "unsigned": Y.astype("u8"),
    }
    columns |= {"name": np.array(list("äbcdef")), "code": np.array([b"xy"] * 6)}
    root = write({})
    save(f"{root}/a.npz", **columns)
    records, rejects = read({})
    assert rejects == {}
    assert list(records) == [f"a.npz#{row}" for row in range(6)]
    for row, record in enumerate(records.values()):
        features = dict(record.features)
        x, large = features.pop("x"), features.pop("large")
        assert (x.dtype, x.shape, x.file) == ("uint8", (4, 4), None)
        assert (large.dtype, large.shape, large.data) == ("float32", (300,), b"")
        np.testing.assert_array_equal(values_of(x), X[row])
        np.testing.assert_array_equal(values_of(large), LARGE[row])
        assert features == {
            "label": ClassLabel(str(Y[row])),
            "score": Y[row] / 4,
            "flag": int(Y[row] > 0),
            "half": float(Y[row]),
            "unsigned": Y[row],
            "name": "äbcdef"[row],
            "code": "xy",
        }
    assert large.file.path.startswith(root if save is np.savez else str(tmp_path / "scratch"))


def test_numbers_of_many_values_are_not_classes(read, monkeypatch, caplog):
    """Values are counted over all files."""
    monkeypatch.setattr("beam_pipeline.sources.tables.read_tables._FEW_CLASSES", 3)
    records, _ = read({"a.npz": {"y": Y}, "b.npz": {"y": Y}})
    assert records["a.npz#1"].features == {"label": ClassLabel("1")}
    records, _ = read({"b.npz": {"y": Y + 1}})
    assert records["a.npz#1"].features == {"y": 1}
    assert "column 'y' is a number to predict" in caplog.text


def test_only_labels_are_looked_at(write, tmp_path):
    [table], _ = found(write({"a.npz": {"x": X, "y": Y}}))
    [batch] = table.without({"x"}).batches(Scratch(table.file.path, str(tmp_path)))
    assert batch.columns == {"y": Y.tolist()}


def test_a_declared_schema(read):
    schema = [
        Feature(
            name="label", kind="class_label", dtype="int64", shape=(), key="l", classes=("a", "b")
        ),
        Feature(name="x", kind="tensor", dtype="uint8", shape=(4, 4), key="x", encoding="bytes"),
        Feature(name="score", kind="scalar", dtype="float32", shape=(), key="score"),
    ]
    columns = {"x": X, "y": Y, "score": Y, "more": Y}
    records, rejects = read({"a.npz": columns}, schema=schema)
    assert records["a.npz#1"].features.keys() == {"label", "x", "score"}
    assert records["a.npz#1"].features["label"] == ClassLabel("b")
    assert isinstance(records["a.npz#1"].features["score"], float)
    assert {key: reject.reason for key, reject in rejects.items()} == dict.fromkeys(
        ("a.npz#2", "a.npz#5"), "does not fit the schema"
    )
    assert "class of a, b" in rejects["a.npz#2"].detail


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_the_transform_in_batches(read, write, run_transform, tmp_path, monkeypatch, rows, by_name):
    """Batches of any size give the same records."""
    files = {"a.npz": {"x_train": LARGE, "y_train": Y, "x_test": LARGE[1:3], "y_test": Y[1:3]}}
    expected = read(files)
    monkeypatch.setattr(read_arrays, "BATCH_ROWS", rows)
    found = by_name(run_transform(ReadArrays(write(files), str(tmp_path / "scratch"))))
    assert found == expected
    assert len(expected[0]) == 8


def test_a_declared_class_may_have_a_default(read):
    label = Feature(name="label", kind="class_label", dtype="int64", shape=(), key="l", default=-1)
    records, rejects = read({"a.npz": {"label": np.array(["cat", ""])}}, schema=[label])
    assert [record.features for record in records.values()] == [{"label": ClassLabel("cat")}, {}]
    assert rejects == {}
