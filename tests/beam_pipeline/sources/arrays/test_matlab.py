"""MATLAB's files: their arrays are columns of a table, whichever axis is that of the records."""

import struct
import sys
import zlib

import h5py
import numpy as np
import pytest
import scipy.io
from cases.reading import elements_of, records_of, values_of

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import Record, Rejected

NUMBER = 30
IMAGES = np.random.default_rng(5).integers(0, 256, (NUMBER, 8, 6, 3), np.uint8)
LABELS = np.arange(NUMBER) % 10 + 1


def of_5(path, arrays):
    scipy.io.savemat(path, arrays, do_compression=True)


def of_7(path, arrays):
    """As MATLAB writes it: HDF5 behind 512 bytes of its own, with axes in reverse."""
    names = {"float64": "double", "float32": "single", "bool": "logical"}
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in arrays.items():
            stored = np.atleast_2d(values).T
            kept = stored.astype("u1") if stored.dtype == bool else stored
            chunks = tuple(max(1, size // 2) for size in stored.shape)
            array = file.create_dataset(name, data=kept, chunks=chunks, compression="gzip")
            array.attrs["MATLAB_class"] = np.bytes_(names.get(stored.dtype.name, stored.dtype.name))
        file.create_group("#refs#")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512))


@pytest.fixture(params=[of_5, of_7], ids=["5", "7.3"])
def save(request):
    return request.param


@pytest.mark.parametrize("axis", [0, -1])
def test_records_lie_along_the_axis_that_all_arrays_have(tmp_path, save, axis, monkeypatch):
    """As SVHN has them: images of [32, 32, 3, n], classes of [n, 1] in fractions."""
    monkeypatch.setattr("beam_pipeline.media.matlab.BLOCK_BYTES", 400)  # a few rows
    arrays = {
        "X": np.moveaxis(IMAGES, 0, axis),
        "y": LABELS[:, None].astype(np.float64),
        "score": np.linspace(0, 1, NUMBER)[None],
        "flag": LABELS[None] > 5,
    }
    save(tmp_path / "train_32x32.mat", arrays)
    records = records_of(tmp_path)
    assert [each.key for each in records] == [f"train_32x32.mat#{n}" for n in range(NUMBER)]
    for number, record in enumerate(records):
        assert (values_of(record.features["X"]) == IMAGES[number]).all()
        assert record.features["label"].name == str(LABELS[number])
        assert record.features["score"] == pytest.approx(number / (NUMBER - 1))
        assert record.features["flag"] == (LABELS[number] > 5)


def test_the_only_matrix_has_a_record_a_row(tmp_path, save):
    save(tmp_path / "x.mat", {"fea": IMAGES.reshape(NUMBER, -1).astype(np.float32)})
    records = records_of(tmp_path / "x.mat")
    assert len(records) == NUMBER
    assert (values_of(records[7].features["fea"]) == IMAGES[7].reshape(-1)).all()


def test_numbers_too_large_to_be_whole_stay_fractions(tmp_path, save):
    numbers = [1e300, 2.0, float(1 << 53)]
    save(tmp_path / "x.mat", {"score": np.array(numbers)[None], "rank": np.arange(3.0)[None]})
    records = records_of(tmp_path / "x.mat")
    assert [each.features["score"] for each in records] == numbers
    assert {type(each.features["rank"]) for each in records} == {int}


CELLS = np.array(["a", 1.5], dtype=object)[None]


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"X": IMAGES.T}, "along which axis the records of X 3x6x8x30 lie is not clear"),
        ({"a": LABELS, "b": LABELS[:5]}, "the records of a 1x30, b 1x5 lie is not clear"),
        ({"X": IMAGES[:3], "y": LABELS[:3]}, "the records of X 3x8x6x3, y 1x3 lie is not clear"),
        ({"names": CELLS, "y": LABELS[:2]}, "class cell; leave it out by ignore_columns: names"),
        ({"s": {"x": LABELS}, "y": LABELS}, "'s' is of MATLAB's class struct"),
    ],
)
def test_what_is_no_table_is_rejected_by_name(tmp_path, arrays, told):
    scipy.io.savemat(tmp_path / "x.mat", arrays)
    [rejected] = elements_of(tmp_path)
    assert isinstance(rejected, Rejected)
    assert rejected.reason == "unsupported array"
    assert told in rejected.detail


def test_what_the_rejects_say_helps(tmp_path):
    scipy.io.savemat(tmp_path / "x.mat", {"names": CELLS, "y": LABELS, "x": LABELS[:3]})
    records = records_of(tmp_path, ignore_columns=["names", "x"])
    assert [each.features["label"].name for each in records] == list(map(str, LABELS))


@pytest.mark.parametrize("cut", [40, 130, 300, -9])
def test_damaged_files_are_rejected(tmp_path, save, cut):
    save(tmp_path / "x.mat", {"X": IMAGES.T, "y": LABELS})
    data = (tmp_path / "x.mat").read_bytes()
    (tmp_path / "x.mat").write_bytes(data[:cut])
    elements = elements_of(tmp_path)
    assert {each.reason for each in elements if isinstance(each, Rejected)} <= {
        "damaged array",
        "unsupported array",
    }
    assert not all(isinstance(each, Record) for each in elements) or not elements


@pytest.mark.parametrize("packed", [False, True])
def test_numbers_of_a_type_that_there_is_not(tmp_path, packed):
    """scipy takes any number for one of its table, and ends the process."""
    scipy.io.savemat(tmp_path / "y.mat", {"y": np.arange(8.0)[None]})
    data = (tmp_path / "y.mat").read_bytes()
    at = data.index(struct.pack("<2I", 9, 64), 128)
    data, matrix = data[:128], data[128:at] + struct.pack("<2I", 64, 64) + data[at + 8 :]
    if packed:
        matrix = zlib.compress(matrix)
        matrix = struct.pack("<2I", 15, len(matrix)) + matrix
    (tmp_path / "y.mat").write_bytes(data + matrix)
    [rejected] = elements_of(tmp_path)
    assert rejected.detail.endswith("MATLAB: numbers of the type 64")


@pytest.mark.parametrize("packed", [False, True])
def test_complex_numbers_are_named(tmp_path, packed):
    arrays = {"z": np.arange(8)[None] * 1j, "y": LABELS[:8][None]}
    scipy.io.savemat(tmp_path / "x.mat", arrays, do_compression=packed)
    [rejected] = elements_of(tmp_path)
    assert "'z' is of MATLAB's class complex" in rejected.detail
    assert len(records_of(tmp_path, ignore_columns=["z"])) == 8


def test_a_bomb_is_refused(tmp_path, save, monkeypatch):
    monkeypatch.setattr("tfrecord_dataset.format.inflation.MAX_BYTES", 1 << 20)
    save(tmp_path / "x.mat", {"X": np.zeros((3 << 10, 1 << 10), np.uint8)})
    [rejected] = elements_of(tmp_path)
    assert rejected.reason == "file too large"


def test_without_the_library_it_says_what_to_install(tmp_path, monkeypatch, save):
    save(tmp_path / "x.mat", {"y": LABELS})
    for name in ("h5py", "scipy.io"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"x\.mat is read by (h5py|scipy), .*\[matlab\]"):
        elements_of(tmp_path)
