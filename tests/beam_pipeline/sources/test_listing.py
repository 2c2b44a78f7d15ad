"""Names of files travel to workers in packed batches, and to buckets by name."""

import collections

import pytest
from eager_runner import yielded

from beam_pipeline.files import storage
from beam_pipeline.running.buckets import Buckets, gather
from beam_pipeline.running.pickling import unpack
from beam_pipeline.sources.listing import ListNames
from beam_pipeline.sources.paths import shared_name
from tfrecord_dataset.store.listing import paths_in


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        pytest.param([""], ["1.jpg", "a/2.jpg", "a/b/3.jpg", "c/4.jpg"], id="all"),
        pytest.param(["a/b", "c"], ["a/b/3.jpg", "c/4.jpg"], id="some folders"),
        pytest.param(["a"], ["a/2.jpg", "a/b/3.jpg"], id="a folder with folders"),
    ],
)
@pytest.mark.parametrize("place", ["local", "remote"])
def test_list_names(tmp_path, bucket, place, folders, expected):
    root = str(tmp_path) if place == "local" else f"{bucket[0]}/input"
    for path in ("1.jpg", "a/2.jpg", "a/b/3.jpg", "c/4.jpg"):
        storage.make_dirs(f"{root}/{path}".rpartition("/")[0])
        storage.write_bytes(f"{root}/{path}", b"")
    batches = yielded(ListNames(root, folders))
    assert sorted(path for batch in batches for path in paths_in(unpack(batch))) == expected


def test_equal_names_meet_in_one_bucket():
    paths = [f"{home}/{n}.{suffix}" for n in range(500) for home, suffix in ("ax", "by", "cz")]
    paths += ["x/cafe\u0301.jpg", "y/caf\u00e9.xml", "x/\udce9.jpg", "y/\udce9.xml"]
    found = collections.defaultdict(list)
    for bucket, batch in Buckets(7).send((shared_name(path), path) for path in paths):
        found[bucket] += gather([batch])
    assert sorted(path for values in found.values() for path in values) == sorted(paths)
    assert sum(len({*map(shared_name, values)}) for values in found.values()) == 502
