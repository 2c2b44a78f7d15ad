"""Messages about errors in the user's code, and about a lack of memory."""

import importlib
import json
import resource
import sys

import pytest

from tfrecord_dataset.errors import did_you_mean
from tfrecord_dataset.foreign_errors import place_of, shortage

OWN = '''"""A user's module."""

import json


def fails():
    return {}["x"]


def fails_in_a_library():
    return json.loads("{")


def fails_in_ours(function):
    return function("name", 5)


def says_nothing():
    raise RuntimeError
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The user's module, in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_functions.py").write_text(OWN)
    yield importlib.import_module("own_functions")
    del sys.modules["own_functions"]


def error_of(function, *arguments):
    """Return the exception that a call raises, without this function's frame."""
    try:
        function(*arguments)
    except Exception as error:
        return error.with_traceback(error.__traceback__.tb_next)
    pytest.fail("it raises nothing")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("fails", "own_functions.py, line 7, in fails: KeyError: 'x'", id="own"),
        pytest.param(
            "fails_in_a_library",
            "own_functions.py, line 11, in fails_in_a_library: json.decoder.JSONDec",
            id="in what it calls",
        ),
        pytest.param(
            "says_nothing",
            "own_functions.py, line 19, in says_nothing: RuntimeError",
            id="no message",
        ),
    ],
)
def test_the_users_error_is_named_by_its_place(own, name, expected):
    error = error_of(getattr(own, name))

    assert place_of(error).startswith(expected)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        pytest.param(json.loads, ["{"], id="a library's"),
        pytest.param(did_you_mean, ["name", 5], id="ours"),
    ],
)
def test_other_errors_are_not_the_users(own, function, arguments):
    assert place_of(error_of(function, *arguments)) is None
    assert place_of(error_of(own.fails_in_ours, did_you_mean)) is None


def test_an_installed_package_is_the_users_if_it_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "installed_layout.py").write_text(OWN)
    monkeypatch.syspath_prepend(folder)
    module = importlib.import_module("installed_layout")
    error = error_of(module.fails)

    assert place_of(error) is None
    assert "line 7, in fails: KeyError" in place_of(error, {"installed_layout"})


def test_a_module_that_cannot_be_parsed_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_broken.py").write_text("x = 1\ndef f(:\n")
    error = error_of(importlib.import_module, "own_broken")

    assert place_of(error).startswith("own_broken.py, line 2: SyntaxError: ")


def test_the_cause_is_place_of(own):
    error, cause = RuntimeError("of a library"), error_of(own.fails)
    error.__cause__, cause.__cause__ = cause, error  # a cycle, as Beam makes it

    assert place_of(error) == "own_functions.py, line 7, in fails: KeyError: 'x'"


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
