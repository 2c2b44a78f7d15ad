"""Paths in untrusted files."""

import pytest

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.inner_paths import inner_path


@pytest.mark.parametrize("path", ["a", "index/a.parquet", "a/b/c", "..a", "a..", "ü b"])
def test_paths_below_the_folder_are_taken(path):
    assert inner_path(path, "here") == path


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "../a", "a/../../b", "a/../b", "/a", "//a", "a//b", "./a", "a/"),
        *("a\0b", "a\\b", "s3://b/c", "http://host/x", "file:///etc/passwd"),
        *(None, 3, ["a"], {"a": 1}),
    ],
)
def test_others_are_refused(path):
    with pytest.raises(DatasetDamagedError, match=r"here is .* not a path below"):
        inner_path(path, "here")
