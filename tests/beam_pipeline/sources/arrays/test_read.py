"""Rows of arrays become records; what the arrays of a file or folder are is told by names."""

import io
import warnings
import zipfile

import numpy as np
import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import Array, ClassLabel, Record, Rejected
from beam_pipeline.schema.feature import Feature
from beam_pipeline.sources.arrays import read as arrays
from beam_pipeline.sources.arrays import rows as array_rows
from beam_pipeline.sources.arrays.files import find_tables, without_split
from beam_pipeline.sources.arrays.read import (
    ReadArrays,
    declared_columns,
    distinct_values,
    find_labels,
    merge_distinct,
)
from beam_pipeline.sources.arrays.rows import Piece, pieces_of, read_rows

X = np.arange(6 * 4 * 4, dtype=np.uint8).reshape(6, 4, 4)
LARGE = np.arange(6 * 300, dtype=np.float32).reshape(6, 300)
Y = np.array([0, 1, 2, 0, 1, 2])


@pytest.fixture
def write(tmp_path):
    """Writes arrays by file name, several of them as an .npz; returns the folder."""

    def run(files):
        root = tmp_path / "in"
        root.mkdir(exist_ok=True)
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            elif isinstance(content, dict):
                np.savez(path, **content)
            else:
                np.save(path, content, allow_pickle=content.dtype.hasobject)
        return str(root)

    return run


@pytest.fixture
def read(write, tmp_path):
    """What `ReadArrays` yields, without Beam: (records by key, rejects by source)."""

    def run(files, path="", label_column="", ignore_columns=(), classes=(), schema=()):
        tables, elements = find_tables(f"{write(files)}/{path}", ignore_columns)
        labels = find_labels(tables, label_column)
        declared = declared_columns(tables, labels, schema)
        pieces = [each for table in tables for each in pieces_of(table, str(tmp_path / "scratch"))]
        looked_at = () if label_column or schema else tuple(labels)
        distinct = merge_distinct(distinct_values(piece, looked_at) for piece in pieces)
        for piece in pieces:
            elements += read_rows(piece, distinct, labels, classes, declared)
        return by_name(elements)

    return run


def by_name(elements):
    records = {each.key: each for each in elements if isinstance(each, Record)}
    rejects = {each.source: each for each in elements if isinstance(each, Rejected)}
    assert len(records) + len(rejects) == len(elements)
    return records, rejects


def values(array):
    """What an Array's record refers to, as NumPy's."""
    data = array.data
    if array.file:
        with open(array.file.path, "rb") as handle:
            handle.seek(array.file.offset)
            data = handle.read(array.file.length)
    return np.frombuffer(data, array.dtype).reshape(array.shape)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x_train", ("x", "train")),
        ("train_images", ("images", "train")),
        ("X-test", ("X", "test")),
        ("trainX", ("X", "train")),
        ("val", ("", "val")),
        ("a_b_valid", ("a_b", "valid")),
        ("x", ("x", "")),
        ("trains", ("trains", "")),
        ("latest_x", ("latest_x", "")),
        ("xtrain", ("xtrain", "")),
    ],
)
def test_without_split(name, expected):
    assert without_split(name) == expected


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
        table.name: (table.split, " ".join(sorted(table.columns))) for table in tables
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
        pytest.param({"b.npz": twice("x")}, "damaged array", "x is there twice", id="twice"),
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
    "stored",
    [
        pytest.param(lambda array: array, id="as it is"),
        pytest.param(np.asfortranarray, id="fortran"),
        pytest.param(lambda array: array.astype(array.dtype.newbyteorder(">")), id="big-endian"),
    ],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_rows(write, read, tmp_path, stored, save):
    """Small ones travel along; large ones are ranges, of the file itself where that can be."""
    columns = {
        "x": X,
        "large": LARGE,
        "y": Y,
        "score": Y / 4,
        "flag": Y > 0,
        "half": Y.astype("f2"),
    }
    columns |= {"name": np.array(list("äbcdef")), "code": np.array([b"xy"] * 6)}
    root = write({})
    save(f"{root}/a.npz", **{name: stored(array) for name, array in columns.items()})
    records, rejects = read({})
    assert rejects == {}
    assert list(records) == [f"a.npz#{row}" for row in range(6)]
    for row, record in enumerate(records.values()):
        features = dict(record.features)
        x, large = features.pop("x"), features.pop("large")
        assert (x.dtype, x.shape, x.file) == ("uint8", (4, 4), None)
        assert (large.dtype, large.shape, large.data) == ("float32", (300,), b"")
        np.testing.assert_array_equal(values(x), X[row])
        np.testing.assert_array_equal(values(large), LARGE[row])
        assert features == {
            "label": ClassLabel(str(Y[row])),
            "score": Y[row] / 4,
            "flag": int(Y[row] > 0),
            "half": float(Y[row]),
            "name": "äbcdef"[row],
            "code": "xy",
        }
    as_it_is = save is np.savez and stored(LARGE) is LARGE
    assert large.file.path.startswith(root if as_it_is else str(tmp_path / "scratch"))


@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        pytest.param({"y": Y}, {}, {"label": ClassLabel("2")}, id="y"),
        pytest.param({"Labels": Y[:, None]}, {}, {"label": ClassLabel("2")}, id="[n, 1]"),
        pytest.param({"y": Y, "label": Y + 1}, {}, {"label": ClassLabel("3"), "y": 2}, id="both"),
        pytest.param(
            {"y": Y, "label": Y / 2}, {}, {"y": ClassLabel("2"), "label": 1.0}, id="taken"
        ),
        pytest.param({"y": Y / 2}, {}, {"y": 1.0}, id="fractions"),
        pytest.param({"y": Y[:, None] / 2}, {}, {"y": 1.0}, id="fractions [n, 1]"),
        pytest.param({"y": Y > 1}, {}, {"label": ClassLabel("1")}, id="bool"),
        pytest.param({"y": -Y}, {}, {"label": ClassLabel("-2")}, id="negative"),
        pytest.param({"y": np.array(list("abcdef"))}, {}, {"label": ClassLabel("c")}, id="texts"),
        pytest.param({"z": Y}, {}, {"z": 2}, id="another name"),
        pytest.param(
            {"z": Y}, {"label_column": "z"}, {"label": ClassLabel("2")}, id="named by the user"
        ),
        pytest.param(
            {"y": Y, "z": Y},
            {"label_column": "y,z"},
            {"y": ClassLabel("2"), "z": ClassLabel("2")},
            id="two named by the user",
        ),
        pytest.param(
            {"y": Y}, {"classes": ["ant", "bee", "cat"]}, {"label": ClassLabel("cat")}, id="names"
        ),
        pytest.param(
            {"y": Y, "z": Y}, {"ignore_columns": ["z"]}, {"label": ClassLabel("2")}, id="z"
        ),
    ],
)
def test_labels(read, columns, options, expected):
    records, _ = read({"a.npz": columns}, **options)
    assert records["a.npz#2"].features == expected


def test_numbers_of_many_values_are_no_classes(read, monkeypatch):
    """Over all files."""
    monkeypatch.setattr(arrays, "_MAX_CLASSES", 3)
    records, _ = read({"a.npz": {"y": Y}, "b.npz": {"y": Y}})
    assert records["a.npz#1"].features == {"label": ClassLabel("1")}
    records, _ = read({"b.npz": {"y": Y + 1}})
    assert records["a.npz#1"].features == {"y": 1}


def test_a_one_hot_label_stays_an_array(read):
    records, _ = read({"a.npz": {"y": np.eye(6, dtype=np.int64)}})
    assert isinstance(records["a.npz#1"].features["y"], Array)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"label_column": "z"}, "--label-column 'z' is no column; there are 'x', 'y'"),
        ({"label_column": "x"}, r"--label-column 'x' has \|u1 values of shape \[6, 4, 4\]"),
        (
            {"schema": [Feature(name="yy", kind="scalar", dtype="int64", shape=(), key="y")]},
            "--schema declares 'yy', .* did you mean 'y'",
        ),
    ],
)
def test_columns_that_are_not_there(read, options, error):
    with pytest.raises(ConfigError, match=error):
        read({"a.npz": {"x": X, "y": Y}}, **options)


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
    assert {key: each.reason for key, each in rejects.items()} == dict.fromkeys(
        ("a.npz#2", "a.npz#5"), "does not fit the schema"
    )
    assert "class of a, b" in rejects["a.npz#2"].detail


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_the_transform_in_pieces(read, write, run_transform, tmp_path, monkeypatch, rows):
    """Pieces, and blocks within them, make the same of it."""
    files = {"a.npz": {"x_train": LARGE, "y_train": Y, "x_test": LARGE[1:3], "y_test": Y[1:3]}}
    expected = read(files)
    monkeypatch.setattr(array_rows, "_ROWS_A_PIECE", rows)
    monkeypatch.setattr(array_rows, "_BLOCK_BYTES", 20)
    found = by_name(run_transform(ReadArrays(write(files), str(tmp_path / "scratch"))))
    assert found == expected
    assert len(expected[0]) == 8


def test_pieces_are_of_bounded_size(write, monkeypatch, tmp_path):
    monkeypatch.setattr(array_rows, "_ROWS_A_PIECE", 4)
    [table], _ = find_tables(write({"x.npy": X}))
    pieces = list(pieces_of(table, str(tmp_path)))
    assert [(each.start, each.stop) for each in pieces if isinstance(each, Piece)] == [
        (0, 4),
        (4, 6),
    ]
