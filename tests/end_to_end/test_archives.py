"""A tree in an archive, here and in a store, becomes the shards of its files in folders."""

import json
import shutil
from pathlib import Path

import pytest
from tiers import first_quick

from beam_pipeline import BuildConfig, build
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef


def built(source: Path | str, output: Path | str) -> dict[str, bytes]:
    """The shards that a build makes, by name."""
    config = BuildConfig(input=str(source), output=str(output), name="x", threads=1)
    folder = build(config).path
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


@pytest.mark.parametrize("form", first_quick(["zip", "gztar"]))
def test_a_tree_in_an_archive_becomes_the_same_shards(tree, tmp_path, form):
    archive = shutil.make_archive(str(tmp_path / "packed"), form, tree)
    assert built(archive, tmp_path / "out") == built(tree, tmp_path / "out-of-files") != {}
    assert [path.name for path in (tmp_path / "out/x").iterdir()] == ["1.0.0"]
    stated = json.loads((tmp_path / "out/x/1.0.0/build.json").read_text())
    assert stated["input"] == archive


@pytest.mark.slow
@pytest.mark.parametrize("form", ["zip", "gztar"])
def test_an_archive_in_a_store_becomes_the_same_shards(tree, tmp_path, bucket, form):
    url, store = bucket
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), form, tree))
    store.put(f"{url}/{archive.name}", archive.read_bytes())
    assert built(f"{url}/{archive.name}", f"{url}/out") == built(tree, tmp_path / "out") != {}
    assert [each for each in store.objects if ".building" in each] == []
