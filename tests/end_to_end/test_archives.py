"""A tree in an archive, local or on a store, gives the same shards as in folders."""

import json
import shutil
from pathlib import Path

import pytest
from end_to_end.building import build
from tiers import first_quick

from beam_pipeline.files import storage
from beam_pipeline.records import FileRef


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
    first_quick([("zip", False), ("gztar", False), ("zip", True), ("gztar", True)]),
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
