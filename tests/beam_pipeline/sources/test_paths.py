"""Names of images are resolved to a key and a path, local or remote."""

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.paths import locate, name_of, parent


@pytest.mark.parametrize(
    ("name", "folder", "root", "key", "path"),
    [
        pytest.param("a/1.jpg", "/in/x", "/in", "x/a/1.jpg", "/in/x/a/1.jpg", id="plain"),
        pytest.param(" 1.jpg ", "/in", "/in", "1.jpg", "/in/1.jpg", id="blanks"),
        pytest.param("./a//1.jpg", "/in", "/in", "a/1.jpg", "/in/a/1.jpg", id="not normal"),
        pytest.param("../b/1.jpg", "/in/x", "/in", "b/1.jpg", "/in/b/1.jpg", id="upwards"),
        pytest.param("a\\b\\1.jpg", "/in", "/in", "a/b/1.jpg", "/in/a/b/1.jpg", id="Windows"),
        pytest.param("/in/a/1.jpg", "/else", "/in", "a/1.jpg", "/in/a/1.jpg", id="absolute"),
        pytest.param("/o/1.jpg", "/o", "/in", "/o/1.jpg", "/o/1.jpg", id="in the other folder"),
        pytest.param("1.jpg", "/", "/", "1.jpg", "/1.jpg", id="top"),
        pytest.param(".hidden/1.jpg", "/in", "/in", ".hidden/1.jpg", "/in/.hidden/1.jpg", id="dot"),
        pytest.param("a/1.jpg", "gs://b/x", "gs://b", "x/a/1.jpg", "gs://b/x/a/1.jpg", id="bucket"),
        pytest.param("1?id=7", "http://h/b", "http://h", "b/1?id=7", "http://h/b/1?id=7", id="web"),
        pytest.param("1?sig=7", "http://h/b", "http://h", "b/1", "http://h/b/1?sig=7", id="signed"),
        pytest.param(
            *("http://u:p@h/1?sig=7", "http://u:p@h/b", "http://u:p@h", "1"),
            *("http://u:p@h/1?sig=7",),
            id="password",
        ),
        pytest.param("file:///in/a%201.jpg", "/x", "/in", "a 1.jpg", "/in/a 1.jpg", id="file URL"),
    ],
)
def test_locate(name, folder, root, key, path):
    assert locate(name, folder=folder, root=root) == (key, path)


@pytest.mark.parametrize(
    ("name", "folder", "path", "allow"),
    [
        pytest.param("../1.jpg", "/in", "/1.jpg", "/", id="upwards"),
        pytest.param("a/../../1.jpg", "/in", "/1.jpg", "/", id="upwards within"),
        pytest.param("/o/x/1.jpg", "/in", "/o/x/1.jpg", "/o", id="absolute"),
        pytest.param("/in2/1.jpg", "/in", "/in2/1.jpg", "/in2/", id="another folder's beginning"),
        pytest.param("\\in/..\\..\\o\\1.jpg", "/in", "/o/1.jpg", "/o", id="Windows"),
        pytest.param("file:///o/1.jpg", "/in", "/o/1.jpg", "/o", id="file URL"),
        pytest.param("//o/1.jpg", "/in", "//o/1.jpg", "/", id="two slashes"),
        pytest.param("gs://b/c/1.jpg", "/in", "gs://b/c/1.jpg", "gs://b", id="bucket"),
        pytest.param("S3://b/1.jpg", "s3://b", "S3://b/1.jpg", "S3://b", id="scheme in capitals"),
        pytest.param("/etc/1.jpg", "gs://b", "/etc/1.jpg", "/etc", id="local of remote"),
        pytest.param("../1.jpg", "gs://b/in", "gs://b/1.jpg", "gs://b", id="upwards in a bucket"),
        pytest.param("../../c/1.jpg", "s3://b/in", "s3://b/c/1.jpg", "s3://b/c", id="to its top"),
        pytest.param("http://b.evil/1", "http://b", "http://b.evil/1", "http://b.evil", id="host"),
        pytest.param("http://b@e/1", "http://b", "http://b@e/1", "http://b@e", id="host as user"),
        pytest.param("http://b/../e/1", "http://b", "http://e/1", "http://e", id="normal host"),
    ],
)
def test_files_outside_the_input_need_an_option(name, folder, path, allow):
    with pytest.raises(RecordError) as error:
        locate(name, folder=folder, root=folder)
    assert f"leads to {path}, outside of {folder}; " in error.value.detail
    assert locate(name, folder=folder, root=folder, allowed=["/x", allow])[1] == path


def test_the_option_is_filled_in_for_a_shell():
    with pytest.raises(RecordError, match=r"pass --allow-outside '/a \$\(b\)'$"):
        locate("/a $(b)/1.jpg", folder="/in", root="/in")


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
