"""Files that a path matches, with their splits."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.input_files import find_files


def is_tar(name):
    return name.endswith(".tar")


def found(path):
    return {file.relative: file.path for file in find_files(str(path), is_tar)}


@pytest.fixture
def folder(tmp_path):
    for name in ("b/1.tar", "a/2.tar", "3.tar", "README", ".hidden.tar", "odd [1].tar"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("", ["3.tar", "a/2.tar", "b/1.tar", "odd [1].tar"], id="folder"),
        pytest.param("a/2.tar", ["2.tar"], id="file"),
        pytest.param("README", ["README"], id="a file of another name, given itself"),
        pytest.param("odd [1].tar", ["odd [1].tar"], id="a file that looks like a pattern"),
        pytest.param("*.tar", ["3.tar", "odd [1].tar"], id="pattern"),
        pytest.param("[ab]/?.tar", ["a/2.tar", "b/1.tar"], id="pattern of folders"),
        pytest.param("**/*", ["3.tar", "a/2.tar", "b/1.tar", "odd [1].tar"], id="all levels"),
        pytest.param("a/*.tar", ["2.tar"], id="keys start behind the last whole folder"),
    ],
)
def test_find_files(folder, path, expected):
    files = found(folder / path if path else folder)
    assert list(files) == expected
    assert all(absolute.endswith(relative) for relative, absolute in files.items())


@pytest.mark.parametrize("path", ["x.tar", "*.npz", "a/*.txt"])
def test_no_such_file(folder, path):
    with pytest.raises(ConfigError, match="has no such file"):
        found(folder / path)
