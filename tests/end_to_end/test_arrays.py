"""Arrays go in, and come out of the trainer row by row; what was unpacked does not stay."""

import tempfile
from collections import Counter

import numpy as np
import pytest

from beam_pipeline.assign import columns
from beam_pipeline.cli import commands

X = np.random.default_rng(0).integers(0, 256, (70, 28, 28), dtype=np.uint8)
Y = np.arange(70) % 10


def splits_of(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    return {"x_train": x[:50], "y_train": y[:50], "x_test": x[50:], "y_test": y[50:]}


def test_columns_of_every_type(tmp_path, build_verified, read_by_id, kinds):
    numbers = np.arange(40)
    columns = {
        "id": numbers,
        "wide": np.random.default_rng(0).normal(size=(40, 100)),
        "half": (numbers[:, None] / [3, 4]).astype(np.float16),
        "steps": np.repeat(numbers, 3).reshape(40, 3).astype("<u2"),
        "flags": (numbers[:, None] % [2, 3]) == 0,
        "target": numbers / 7,
        "unsigned": numbers.astype(np.uint64),
        "name": np.array([f"Zeile {number}" for number in numbers]),
    }
    np.savez_compressed(tmp_path / "table.npz", **columns)
    info = build_verified(tmp_path / "table.npz", tmp_path / "out")
    assert kinds(info) == {
        "flags": "tensor int64 [2]",
        "half": "tensor float16 [2]",
        "id": "scalar int64 []",
        "name": "text string []",
        "steps": "tensor int64 [3]",
        "target": "scalar float32 []",
        "unsigned": "scalar int64 []",
        "wide": "tensor float64 [100]",
    }
    records = read_by_id(info, "train")
    assert len(records) == 40
    for number, record in records.items():
        for name in ("wide", "half", "steps", "flags"):
            np.testing.assert_array_equal(record[name], columns[name][number])
        assert record["target"] == np.float32(number / 7)
        assert record["unsigned"] == number
        assert record["name"].decode() == f"Zeile {number}"


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_unpacked_goes_with_the_build(tmp_path, monkeypatch, fails):
    """Until then it lies beside the shards, where other workers find it."""
    np.savez_compressed(tmp_path / "mnist.npz", **splits_of(X, Y))
    seen = []
    original = columns.in_order

    def look_then_order(*arguments):
        seen.extend((tmp_path / "out/mnist").glob(".building-*/*/unpacked/*"))
        if fails:
            raise KeyError("cut off")
        return original(*arguments)

    monkeypatch.setattr(columns, "in_order", look_then_order)
    arguments = ["build", str(tmp_path / "mnist.npz"), "--output", str(tmp_path / "out")]
    if fails:
        assert commands.main(arguments) == 1
    else:
        assert commands.main(arguments) == 0
    sizes = Counter(len(array.tobytes()) for array in splits_of(X, Y).values())
    assert len({*seen}) == sizes.total()
    assert not [path for path in seen if path.exists()]


def test_plan_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    np.savez_compressed(tmp_path / "mnist.npz", **splits_of(X, Y))
    assert commands.main(["plan", str(tmp_path / "mnist.npz")]) == 0
    said = capsys.readouterr()
    assert "found arrays: mnist.npz" in said.err
    assert "feature x: tensor uint8 [28, 28] as bytes, 0 to 255" in said.out
    assert list((tmp_path / "temporary").iterdir()) == []
