"""Rows of arrays in .npz, .npy and HDF5 files become records; damaged files are rejected."""

import sys

import h5py
import numpy as np
import pytest
from cases.reading import elements_of, records_of, values_of
from eager_runner import yielded

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import ClassLabel
from beam_pipeline.sources import arrays
from beam_pipeline.sources.arrays import ReadArrays, find_tables, is_array
from beam_pipeline.sources.tables.table import Scratch
from beam_pipeline.sources.tree import find_files


@pytest.fixture
def write(tmp_path):
    """Write arrays by file name, several arrays as an .npz; return the folder."""

    def run(files):
        root = tmp_path / "in"
        root.mkdir(exist_ok=True)
        for name, content in files.items():
            if isinstance(content, bytes):
                (root / name).write_bytes(content)
            elif isinstance(content, dict):
                np.savez(root / name, **content)
            else:
                np.save(root / name, content)
        return str(root)

    return run


@pytest.fixture
def read(write, by_name, tmp_path):
    """Run `ReadArrays`; return (records by key, rejects by source)."""

    def run(files, **options):
        return by_name(yielded(ReadArrays(write(files), str(tmp_path / "scratch"), **options)))

    return run


X = np.arange(6 * 4 * 4, dtype=np.uint8).reshape(6, 4, 4)
LARGE = np.arange(6 * 300, dtype=np.float32).reshape(6, 300)
Y = np.array([0, 1, 2, 0, 1, 2])


def found(root, ignored=()):
    return find_tables(find_files(root, is_array), ignored)


def test_a_text_beyond_unicode_costs_its_file(read):
    """NumPy makes texts of it that Python cannot encode."""
    texts = np.array([sys.maxunicode] * 6, np.uint32)
    files = {
        "a.npz": {"x": X, "name": texts.view("U1")},
        "b.npz": {"x": X, "name": (texts + 1).view("U1")},
    }
    records, rejects = read(files)
    assert {record.features["name"] for record in records.values()} == {chr(sys.maxunicode)}
    assert (rejects["b.npz"].reason, rejects["b.npz"].bad) == ("damaged array", True)


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
    monkeypatch.setattr("beam_pipeline.sources.tables.survey._FEW_CLASSES", 3)
    records, _ = read({"a.npz": {"y": Y}, "b.npz": {"y": Y}})
    assert records["a.npz#1"].features == {"label": ClassLabel("1")}
    records, _ = read({"b.npz": {"y": Y + 1}})
    assert records["a.npz#1"].features == {"y": 1}
    assert "column 'y' is a number to predict" in caplog.text


def test_only_labels_are_looked_at(write, tmp_path):
    [table], _ = found(write({"a.npz": {"x": X, "y": Y}}))
    [batch] = table.without({"x"}).batches(Scratch(table.file.path, str(tmp_path)))
    assert batch.columns == {"y": Y.tolist()}


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_the_transform_in_batches(read, write, run_transform, tmp_path, monkeypatch, rows, by_name):
    """Batches of any size give the same records."""
    files = {"a.npz": {"x_train": LARGE, "y_train": Y, "x_test": LARGE[1:3], "y_test": Y[1:3]}}
    expected = read(files)
    monkeypatch.setattr(arrays, "BATCH_ROWS", rows)
    found = by_name(run_transform(ReadArrays(write(files), str(tmp_path / "scratch"))))
    assert found == expected
    assert len(expected[0]) == 8


IMAGES = np.random.default_rng(3).integers(0, 256, (40, 12, 9, 3), np.uint8)
CLASSES = np.arange(40, dtype=np.int64) % 3
FORMS = {
    "contiguous": {},
    "chunked": {"chunks": (7, 4, 9, 3)},
    "gzip": {"chunks": (7, 12, 9, 3), "compression": "gzip", "shuffle": True},
    "lzf": {"chunks": (7, 12, 9, 3), "compression": "lzf", "fletcher32": True},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_rows_are_records(tmp_path, form, libver):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=libver, userblock_size=512) as file:
        file.create_dataset("images", data=IMAGES, **FORMS[form])
        file["labels"] = CLASSES
        file["deep/score"] = np.linspace(0, 1, 40, dtype=">f4")
    records = records_of(path)
    assert [each.key for each in records] == [f"x.h5#{number}" for number in range(40)]
    for number, record in enumerate(records):
        assert (values_of(record.features["images"]) == IMAGES[number]).all()
        assert record.features["label"].name == str(number % 3)
        assert record.features["deep_score"] == np.float32(number / 39)
    in_place = records[0].features["images"].file.path == str(path)
    assert in_place == (form == "contiguous")


def other_file(file, folder):
    with h5py.File(folder / "other.bin", "w") as other:
        other["z"] = CLASSES
    layout = h5py.VirtualLayout((40,), "i8")
    layout[:] = h5py.VirtualSource(str(folder / "other.bin"), "z", (40,))
    file.create_virtual_dataset("z", layout)


def outside(file, folder):
    (folder / "secret.bin").write_bytes(bytes(320))
    name = str(folder / "secret.bin").encode()
    file.create_dataset("z", (40,), "i8", external=[(name, 0, h5py.h5f.UNLIMITED)])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (other_file, "'z' has its values in other files"),
        (outside, "'z' has its values in other files"),
        (h5py.ExternalLink("other.h5", "z"), "'z' is a link to 'other.h5'"),
        (["a", "bb"] * 20, "z: values of type object"),
        (np.zeros(40, [("a", "i4"), ("b", "f4")]), "z: values of type"),
        (np.zeros(40, "c8"), "z: values of type complex64"),
    ],
)
def test_what_is_rejected_by_name(tmp_path, value, expected):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = IMAGES
        if callable(value):
            value(file, tmp_path)
        else:
            file["z"] = value
    [reject] = elements_of(tmp_path / "x.h5")
    assert (reject.source, reject.reason, reject.bad) == ("x.h5", "unsupported array", True)
    assert expected in reject.detail


@pytest.mark.parametrize("damage", [lambda data: data[:300], lambda data: b"no" * 400, bytes.lower])
def test_damaged_files_are_rejected(tmp_path, damage):
    with h5py.File(tmp_path / "right.h5", "w") as file:
        file["x"] = IMAGES
    path = tmp_path / "x.h5"
    path.write_bytes(damage((tmp_path / "right.h5").read_bytes()))
    [reject] = elements_of(path)
    assert (reject.source, reject.reason) == ("x.h5", "damaged array")


def test_a_bomb_is_refused(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", (10_000_000, 100), "u1", chunks=(10_000, 100), fillvalue=0)
    [reject] = elements_of(tmp_path / "x.h5")
    assert (reject.source, reject.reason) == ("x.h5", "file too large")


def test_without_h5py_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "x.h5").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[hdf5\]' in the clone"):
        elements_of(tmp_path / "x.h5")


def test_the_images_and_classes_of_a_split_in_two_files(tmp_path):  # PatchCamelyon
    for split, number in (("train", 4), ("valid", 2)):
        for name, array in (("x", IMAGES[:number]), ("y", CLASSES[:number].reshape(-1, 1, 1, 1))):
            path = tmp_path / f"camelyonpatch_level_2_split_{split}_{name}.h5"
            with h5py.File(path, "w") as file:
                file[name] = array
    records = records_of(tmp_path)
    assert sorted(each.split for each in records) == ["train"] * 4 + ["valid"] * 2
    for record in records:
        number = int(record.key.rpartition("#")[2])
        assert (values_of(record.features["x"]) == IMAGES[number]).all()
        assert record.features["label"].name == str(number % 3)
