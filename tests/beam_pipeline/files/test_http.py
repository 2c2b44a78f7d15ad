"""Files behind http://, from servers that know ranges and that do not."""

import functools
import http.server
import threading

import pytest

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef

DATA = bytes(range(200))


@pytest.fixture
def plain(tmp_path):
    """The URL of Python's own server, which knows no ranges."""
    (tmp_path / "a b.jpg").write_bytes(DATA)
    (tmp_path / "empty").write_bytes(b"")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(params=["ranges", "no ranges"])
def url(request, bucket, plain):
    """The URL of a file of 200 bytes."""
    if request.param == "no ranges":
        return f"{plain}/a%20b.jpg"
    place, store = bucket
    store.put(f"{place}/a b.jpg", DATA)
    return f"{store.endpoint}/{place.removeprefix('s3://')}/a%20b.jpg"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ({}, DATA),
        ({"offset": 190}, DATA[190:]),
        ({"offset": 2, "length": 3}, DATA[2:5]),
        ({"length": 0}, b""),
    ],
)
def test_read_bytes(url, file, expected):
    assert storage.read_bytes(FileRef(path=url, **file)) == expected


def test_a_handle(url):
    with storage.opened(url) as handle:
        handle.seek(-10, 2)
        assert handle.read() == DATA[-10:]
    assert storage.exists(url)
    assert storage.size(url) == 200
    files = [FileRef(path=url, offset=start, length=size) for start, size in ((100, 5), (3, 4))]
    assert list(map(storage.Reader(files).read, files)) == [DATA[100:105], DATA[3:7]]


def test_what_is_not_there(url):
    with pytest.raises(RecordError, match="missing file"):
        storage.read_bytes(FileRef(path=f"{url}x"))
    assert not storage.exists(f"{url}x")
    with pytest.raises(RecordError, match="truncated file"):
        storage.read_bytes(FileRef(path=url, offset=150, length=80))


def test_an_empty_file(plain):
    assert storage.read_bytes(FileRef(path=f"{plain}/empty")) == b""
    with storage.opened(f"{plain}/empty") as handle:
        assert handle.read() == b""


def test_a_signature_goes_with_the_request(bucket):
    place, store = bucket
    store.put(f"{place}/x.jpg", DATA)
    signed = f"{store.endpoint}/{place.removeprefix('s3://')}/x.jpg?token=a%2Fb&expires=3"
    assert storage.read_bytes(FileRef(path=signed, length=3)) == DATA[:3]
    assert store.query == {"token": "a/b", "expires": "3"}


def test_there_are_no_folders(plain):
    assert not storage.is_directory(f"{plain}/folder")
    for call in (storage.list_folder, lambda url: list(storage.list_files(url))):
        with pytest.raises(ConfigError, match="lists no files; name a file"):
            call(f"{plain}/folder")
    with pytest.raises(ConfigError, match="nothing is written over http://"):
        storage.make_dirs(f"{plain}/folder")
