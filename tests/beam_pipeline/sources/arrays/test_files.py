"""Which arrays of a file or folder are one table, told by names; and files that cannot be used."""

import io
import warnings
import zipfile

import numpy as np
import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.arrays.files import find_tables

X = np.arange(6 * 4 * 4, dtype=np.uint8).reshape(6, 4, 4)
Y = np.array([0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"a.npz": {"x": X, "y": Y}}, {"a.npz": (None, "x y")}, id="npz"),
        pytest.param(
            {"a.npz": {"arr_0": X, "arr_1": Y}}, {"a.npz": (None, "arr_0 arr_1")}, id="arr_0"
        ),
        pytest.param(
            {"mnist.npz": {"x_train": X, "y_train": Y, "x_test": X[:2], "y_test": Y[:2]}},
            {"mnist.npz/train": ("train", "x y"), "mnist.npz/test": ("test", "x y")},
            id="as Keras has mnist",
        ),
        pytest.param(
            {"med.npz": {"train_images": X, "train_labels": Y, "val_images": X, "val_labels": Y}},
            {"med.npz/train": ("train", "images labels"), "med.npz/val": ("val", "images labels")},
            id="as MedMNIST has them",
        ),
        pytest.param(
            {"a.npz": {"train": X, "test": X}},
            {"a.npz/train": ("train", "array"), "a.npz/test": ("test", "array")},
            id="only splits",
        ),
        pytest.param(
            {"train.npz": {"x": X}, "test-1.npz": {"x": X}},
            {"test-1.npz": ("test", "x"), "train.npz": ("train", "x")},
            id="npz called after splits",
        ),
        pytest.param(
            {"p0.npz": {"x": X}, "p1.npz": {"x": X}},
            {"p0.npz": (None, "x"), "p1.npz": (None, "x")},
            id="several npz",
        ),
        pytest.param({"x.npy": X, "y.npy": Y}, {"x.npy": (None, "x y")}, id="npy"),
        pytest.param(
            {"x_train.npy": X, "y_train.npy": Y, "x_test.npy": X[:1], "y_test.npy": Y[:1]},
            {"x_test.npy": ("test", "x y"), "x_train.npy": ("train", "x y")},
            id="npy called after splits",
        ),
        pytest.param(
            {"train/x.npy": X, "train/y.npy": Y, "test/x.npy": X, "test/y.npy": Y},
            {"test/x.npy": ("test", "x y"), "train/x.npy": ("train", "x y")},
            id="npy in folders of splits",
        ),
        pytest.param(
            {"x_0.npy": X, "y_0.npy": Y, "x_1.npy": X[:2], "y_1.npy": Y[:2]},
            {"x_0.npy": (None, "x y"), "x_1.npy": (None, "x y")},
            id="numbered npy",
        ),
        pytest.param(
            {"x_train_0.npy": X, "x_train_1.npy": X},
            {"x_train_0.npy": ("train", "x"), "x_train_1.npy": ("train", "x")},
            id="numbered npy of a split",
        ),
        pytest.param(
            {"x_1.npy": X, "x_2.npy": X, "y.npy": Y},
            {"x_1.npy": (None, "x_1 x_2 y")},
            id="numbers that are columns",
        ),
        pytest.param(
            {"0.npy": X, "1.npy": X[:3]},
            {"0.npy": (None, "array"), "1.npy": (None, "array")},
            id="numbers alone",
        ),
        pytest.param({"x1.npy": X, "x2.npy": X}, {"x1.npy": (None, "x1 x2")}, id="x1"),
    ],
)
def test_find_tables(write, files, expected):
    tables, rejected = find_tables(write(files))
    assert rejected == []
    assert {
        table.name: (table.manifest.split, " ".join(sorted(table.columns))) for table in tables
    } == expected


@pytest.mark.parametrize(
    ("files", "error"),
    [
        pytest.param(
            {"a.npz": {"x": X, "y": Y[:5]}}, r"a\.npz .*\(x 6, y 5\); .*--ignore-columns", id="npz"
        ),
        pytest.param({"x.npy": X, "y.npy": Y[:5]}, r"\(x 6, y 5\).*--layout folders", id="npy"),
        pytest.param({"a.npz": {"x": X, "n": np.array(3)}}, r"\(x 6, n none: a", id="no axis"),
        pytest.param({"n.npy": np.array(3)}, r"\(n none: a number without axes\)", id="a number"),
        pytest.param(
            {"a.npz": {"x_train": X, "x_test": X, "names": Y}, "b.npz": {"x": X}},
            r"a\.npz has the columns names, x_test, x_train, and b\.npz has x;",
            id="other columns",
        ),
        pytest.param(
            {"x_train.npy": X, "train_x.npy": X}, "both are the column 'x'", id="a column twice"
        ),
        pytest.param({"readme.txt": b""}, "no such file", id="no array"),
    ],
)
def test_what_is_no_table(write, files, error):
    with pytest.raises(ConfigError, match=error):
        find_tables(write(files))


def twice(name):
    """An .npz with two arrays of one name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            archive.writestr(f"{name}.npy", b"")
    return buffer.getvalue()


PICKLED = np.array([1, "a"], dtype=object)


@pytest.mark.parametrize(
    ("files", "reason", "detail"),
    [
        pytest.param({"b.npz": {"x": X, "y": PICKLED}}, "pickled array", "y: ", id="npz"),
        pytest.param({"b.npz": b""}, "empty file", "no bytes", id="no bytes"),
        pytest.param({"b.npz": b"PK\3\4..."}, "damaged array", ".npz", id="no zip"),
        pytest.param({"b.npz": {}}, "unsupported array", "without arrays", id="no arrays"),
        pytest.param({"b.npz": {"x": X[:0], "y": Y[:0]}}, "empty file", "no rows", id="no rows"),
        pytest.param(
            {"b.npz": {"x": X[:, :0], "y": Y}},
            "unsupported array",
            "x: rows without",
            id="no values",
        ),
        pytest.param({"b.npz": twice("x")}, "damaged array", "x occurs twice", id="twice"),
        pytest.param(
            {"b.npz": {"x": X.astype(complex), "y": Y}}, "unsupported array", "x: ", id="complex"
        ),
        pytest.param(
            {"b.npz": {"x": np.array([["a"]] * 6), "y": Y}}, "unsupported array", "x: ", id="texts"
        ),
    ],
)
def test_files_that_cannot_be_used(read, files, reason, detail):
    """The others are."""
    records, rejects = read({"a.npz": {"x": X, "y": Y}} | files)
    assert len(records) == 6
    assert (rejects["b.npz"].reason, rejects["b.npz"].bad) == (reason, True)
    assert detail in rejects["b.npz"].detail


@pytest.mark.parametrize("damage", [lambda data: data[:-3], lambda data: data + b"x"])
def test_npy_files_that_cannot_be_used(read, write, damage):
    root = write({"x_0.npy": X, "y_0.npy": Y, "x_1.npy": X, "y_1.npy": Y})
    with open(f"{root}/y_1.npy", "rb") as handle:
        data = handle.read()
    records, rejects = read({"y_1.npy": damage(data)})
    assert records.keys() == {f"x_0.npy#{row}" for row in range(6)}
    assert rejects["x_1.npy"].detail.startswith("y_1.npy: ")


def test_a_damaged_member_costs_its_file(read, write):
    root = write({"a.npz": {"x": X, "y": Y}, "b.npz": {"x": X, "y": Y}})
    with open(f"{root}/b.npz", "rb") as handle:
        data = bytearray(handle.read())
    data[data.index(X.tobytes()) + 3] ^= 1
    records, rejects = read({"b.npz": bytes(data)})
    assert len(records) == 6
    assert (rejects["b.npz"].reason, rejects["b.npz"].bad) == ("damaged array", True)


def test_other_files(read):
    records, rejects = read({"x.npy": X, "readme.txt": b""})
    assert len(records) == 6
    assert (rejects["readme.txt"].reason, rejects["readme.txt"].bad) == ("not an array", False)


@pytest.mark.parametrize(
    ("files", "ignored", "kept"),
    [
        pytest.param({"x.npy": X, "y.npy": Y}, "y", {"x"}, id="npy"),
        pytest.param({"a.npz": {"x": X, "y": Y}}, "y", {"x"}, id="npz"),
        pytest.param({"a.npz": {"x_train": X, "z_train": Y}}, "z", {"x"}, id="in splits"),
    ],
)
def test_ignored_columns(write, files, ignored, kept):
    tables, _ = find_tables(write(files), [ignored])
    assert set(tables[0].columns) == kept
    with pytest.raises(ConfigError, match=f"'{ignored}{ignored}' is not there; there are .*'x'"):
        find_tables(write(files), [ignored * 2])


def test_ignored_columns_of_files_that_cannot_be_read(write):
    tables, rejected = find_tables(write({"a.npz": {"x": X}, "b.npz": b"x"}), ["y"])
    assert (len(tables), len(rejected)) == (1, 1)
