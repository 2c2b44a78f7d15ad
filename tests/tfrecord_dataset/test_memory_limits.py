"""Errors caused by a lack of memory, and messages about its limit."""

import resource

import pytest

from tfrecord_dataset.memory_limits import shortage

LOADER = ImportError("lib.so: failed to map segment from shared object")


@pytest.mark.parametrize(
    ("error", "limited", "message"),
    [
        pytest.param(MemoryError(), "", "not enough memory; end", id="no limit"),
        pytest.param(MemoryError(), "RLIMIT_AS", "raise ulimit -v", id="address space"),
        pytest.param(LOADER, "RLIMIT_DATA", "raise ulimit -d", id="a library"),
        pytest.param(LOADER, "", None, id="a library without a limit"),
        pytest.param(ImportError("no such name"), "RLIMIT_AS", None, id="another error"),
    ],
)
def test_shortage(monkeypatch, error, limited, message):
    def getrlimit(kind):
        is_limited = limited and kind == getattr(resource, limited)
        return (1 << 30 if is_limited else resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    monkeypatch.setattr(resource, "getrlimit", getrlimit)
    found = shortage(error)
    assert message in found if message else found is None
