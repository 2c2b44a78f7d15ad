"""Names of images lead to a key and a path, local or remote."""

import pytest

from beam_pipeline.sources.references import locate, name_of, parent


@pytest.mark.parametrize(
    ("name", "folder", "root", "key", "path"),
    [
        pytest.param("a/1.jpg", "/in/x", "/in", "x/a/1.jpg", "/in/x/a/1.jpg", id="plain"),
        pytest.param(" 1.jpg ", "/in", "/in", "1.jpg", "/in/1.jpg", id="blanks"),
        pytest.param("./a//1.jpg", "/in", "/in", "a/1.jpg", "/in/a/1.jpg", id="not normal"),
        pytest.param("../b/1.jpg", "/in/x", "/in", "b/1.jpg", "/in/b/1.jpg", id="upwards"),
        pytest.param("../1.jpg", "/in", "/in", "../1.jpg", "/1.jpg", id="outside"),
        pytest.param("a\\b\\1.jpg", "/in", "/in", "a/b/1.jpg", "/in/a/b/1.jpg", id="Windows"),
        pytest.param("/in/a/1.jpg", "/else", "/in", "a/1.jpg", "/in/a/1.jpg", id="absolute"),
        pytest.param("/o/1.jpg", "/in", "/in", "/o/1.jpg", "/o/1.jpg", id="absolute, outside"),
        pytest.param("1.jpg", "/", "/", "1.jpg", "/1.jpg", id="top"),
        pytest.param(".hidden/1.jpg", "/in", "/in", ".hidden/1.jpg", "/in/.hidden/1.jpg", id="dot"),
        pytest.param("a/1.jpg", "gs://b/x", "gs://b", "x/a/1.jpg", "gs://b/x/a/1.jpg", id="bucket"),
        pytest.param("gs://b/c/1.jpg", "/in", "/in", "gs://b/c/1.jpg", "gs://b/c/1.jpg", id="URL"),
        pytest.param("file:///in/a%201.jpg", "/x", "/in", "a 1.jpg", "/in/a 1.jpg", id="file URL"),
    ],
)
def test_locate(name, folder, root, key, path):
    assert locate(name, folder=folder, root=root) == (key, path)


@pytest.mark.parametrize(
    ("path", "folder", "name"),
    [
        ("/a/b/c.json", "/a/b", "c.json"),
        ("/a", "/", "a"),
        ("/", "/", ""),
        ("gs://bucket/a.json", "gs://bucket", "a.json"),
        ("gs://bucket", "gs://bucket", "bucket"),
    ],
)
def test_parent_and_name(path, folder, name):
    assert (parent(path), name_of(path)) == (folder, name)
