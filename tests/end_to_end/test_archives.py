"""A tree in an archive gives the same shards as in folders; what is unpacked is deleted."""

import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from end_to_end.building import build
from tiers import first_in_ci

from beam_pipeline.assign import columns
from beam_pipeline.cli import commands
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef

X = np.random.default_rng(0).integers(0, 256, (70, 28, 28), dtype=np.uint8)
Y = np.arange(70) % 10
ARRAYS = {"x_train": X[:50], "y_train": Y[:50], "x_test": X[50:], "y_test": Y[50:]}


def built(source: Path | str, output: Path | str) -> dict[str, bytes]:
    """Build, and return the shards by name."""
    folder = build(source, output, name="x", threads=1).path
    return {
        file.relative: storage.read_bytes(FileRef(path=file.path))
        for file in storage.list_files(folder)
        if ".tfrecord" in file.relative and "/" not in file.relative
    }


@pytest.fixture
def tree(tmp_path, class_folders):
    """A folder of class folders, and a page next to them."""
    root = class_folders(tmp_path / "in" / "dogs", each=6)
    (tmp_path / "in" / "README.md").write_text("Dogs.")
    return root.parent


@pytest.mark.parametrize(
    ("form", "is_remote"),
    first_in_ci([("zip", False), ("gztar", False), ("zip", True), ("gztar", True)]),
)
def test_a_tree_in_an_archive_becomes_the_same_shards(tree, tmp_path, bucket, form, is_remote):
    url, store = bucket
    source = shutil.make_archive(str(tmp_path / "packed"), form, tree)
    output = str(tmp_path / "out")
    if is_remote:
        name = Path(source).name
        store.put(f"{url}/{name}", Path(source).read_bytes())
        source, output = f"{url}/{name}", f"{url}/out"

    assert built(source, output) == built(tree, tmp_path / "out-of-files") != {}

    assert [name for name in storage.list_dir(f"{output}/x") if name != "1.0.0"] == []
    assert [each for each in store.objects if ".building" in each] == []
    stated = json.loads(storage.read_text(f"{output}/x/1.0.0/build.json"))
    assert stated["input"] == source


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_unpacked_goes_with_the_build(tmp_path, monkeypatch, fails):
    """Until then it is next to the shards, for other workers."""
    np.savez_compressed(tmp_path / "mnist.npz", **ARRAYS)
    seen = []
    original = columns.in_order

    def look_then_order(*arguments):
        seen.extend((tmp_path / "out/mnist").glob(".building-*/unpacked-*/*"))
        if fails:
            raise KeyError("cut off")
        return original(*arguments)

    monkeypatch.setattr(columns, "in_order", look_then_order)
    arguments = ["build", str(tmp_path / "mnist.npz"), "--output", str(tmp_path / "out")]
    assert commands.main(arguments) == fails
    sizes = Counter(len(array.tobytes()) for array in ARRAYS.values())
    assert len({*seen}) == sizes.total()
    assert not [path for path in seen if path.exists()]


def test_plan_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    np.savez_compressed(tmp_path / "mnist.npz", **ARRAYS)
    assert commands.main(["plan", str(tmp_path / "mnist.npz")]) == 0
    said = capsys.readouterr()
    assert "layout: arrays" in said.err
    assert "feature x: tensor uint8 [28, 28] as bytes, 0 to 255" in said.out
    assert list((tmp_path / "temporary").iterdir()) == []
