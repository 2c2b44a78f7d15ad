"""Arrays that a build or plan unpacks are deleted afterwards."""

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


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_unpacked_goes_with_the_build(tmp_path, monkeypatch, fails):
    """Until then it is next to the shards, for other workers."""
    np.savez_compressed(tmp_path / "mnist.npz", **splits_of(X, Y))
    seen = []
    original = columns.in_order

    def look_then_order(*arguments):
        seen.extend((tmp_path / "out/mnist").glob(".building-*/unpacked-*/*"))
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
    assert "layout: arrays" in said.err
    assert "feature x: tensor uint8 [28, 28] as bytes, 0 to 255" in said.out
    assert list((tmp_path / "temporary").iterdir()) == []
