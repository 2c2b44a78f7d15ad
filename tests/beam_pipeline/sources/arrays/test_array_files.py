"""Which arrays of a file or folder are one table, told by names; and files that cannot be used."""

import numpy as np
import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.arrays.read_arrays import find_tables, is_array
from beam_pipeline.sources.input_files import find_files

X = np.arange(6 * 4 * 4, dtype=np.uint8).reshape(6, 4, 4)
Y = np.array([0, 1, 2, 0, 1, 2])


def found(root, ignored):
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
