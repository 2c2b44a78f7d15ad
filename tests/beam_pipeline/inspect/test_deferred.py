"""Values in byte ranges: a range is read once, and hashed unless nothing changes it."""

import hashlib

import pytest

from beam_pipeline.inspect.deferred import read_deferred
from beam_pipeline.records import Deferred, FileRef


@pytest.mark.parametrize(
    ("is_copy", "sha256"),
    [
        pytest.param(False, hashlib.sha256(b"text").hexdigest(), id="a file of the user"),
        pytest.param(True, "", id="the build's own copy"),
    ],
)
def test_a_range_is_hashed_unless_it_is_a_copy(is_copy, sha256):
    reads = []

    def read(file, at_most):
        reads.append(file)
        return b"text"

    stated = Deferred(file=FileRef(path="/a", length=4), read=bytes.decode, is_copy=is_copy)
    values, deferred = read_deferred({"x": stated, "y": stated, "n": 1}, read)
    assert values == {"x": "text", "y": "text", "n": 1}
    assert {name: each.file.sha256 for name, each in deferred.items()} == {"x": sha256, "y": sha256}
    assert len(reads) == 1
