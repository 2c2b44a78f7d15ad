"""Which arrays of a file or folder are one table, told by names; and files that cannot be used."""

import numpy as np
import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.arrays.array_files import find_tables

X = np.arange(6 * 4 * 4, dtype=np.uint8).reshape(6, 4, 4)
Y = np.array([0, 1, 2, 0, 1, 2])


def test_a_damaged_member_costs_its_file(read, write):
    root = write({"a.npz": {"x": X, "y": Y}, "b.npz": {"x": X, "y": Y}})
    with open(f"{root}/b.npz", "rb") as handle:
        data = bytearray(handle.read())
    data[data.index(X.tobytes()) + 3] ^= 1
    records, rejects = read({"b.npz": bytes(data)})
    assert len(records) == 6
    assert (rejects["b.npz"].reason, rejects["b.npz"].bad) == ("damaged archive", True)


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
