"""HDF5 files: arrays are the columns of a table, as in .npz files."""

import sys

import h5py
import numpy as np
import pytest
from cases.reading import elements_of, records_of, values_of

from beam_pipeline.errors import ConfigError

IMAGES = np.random.default_rng(3).integers(0, 256, (40, 12, 9, 3), np.uint8)
LABELS = np.arange(40, dtype=np.int64) % 3
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
        file["labels"] = LABELS
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
        other["z"] = LABELS
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
        for name, array in (("x", IMAGES[:number]), ("y", LABELS[:number].reshape(-1, 1, 1, 1))):
            path = tmp_path / f"camelyonpatch_level_2_split_{split}_{name}.h5"
            with h5py.File(path, "w") as file:
                file[name] = array
    records = records_of(tmp_path)
    assert sorted(each.split for each in records) == ["train"] * 4 + ["valid"] * 2
    for record in records:
        number = int(record.key.rpartition("#")[2])
        assert (values_of(record.features["x"]) == IMAGES[number]).all()
        assert record.features["label"].name == str(number % 3)
