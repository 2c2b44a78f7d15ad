"""Files of an object store over HTTP, from a local server."""

import itertools

import pytest
from fresh_python import printed
from tiers import first_in_ci

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import remote, storage
from beam_pipeline.records import FileRef

MEGABYTE = 1 << 20
SCHEMES = ["s3", "gs", "az"]
first_scheme = pytest.mark.parametrize("folder", first_in_ci(SCHEMES), indirect=True)


@pytest.fixture(params=SCHEMES)
def folder(request, bucket):
    """A URL of each scheme, and its store."""
    url, store = bucket
    return f"{request.param}{url.removeprefix('s3')}/in", store


@first_scheme
@pytest.mark.parametrize(
    ("file", "fetched", "calls"),
    [
        ({}, 20 * MEGABYTE, ["get"]),
        ({"offset": 20 * MEGABYTE - 6}, 6, ["get", "head"]),
        ({"offset": 9 * MEGABYTE, "length": 10_240}, 10_240, ["get"]),
        ({"length": 0}, 0, ["head"]),
        ({"offset": 30 * MEGABYTE}, 0, ["head"]),
    ],
)
def test_only_a_range_is_fetched(folder, file, fetched, calls):
    url, store = folder
    store.put(f"{url}/x.tar", bytes(20 * MEGABYTE))
    assert len(storage.read_bytes(FileRef(path=f"{url}/x.tar", **file))) == fetched
    assert sorted(store.calls) == calls
    assert (store.fetched_bytes, store.calls.total()) == (fetched, len(calls))


@first_scheme
def test_near_ranges_are_fetched_at_once(folder):
    url, store = folder
    data = bytes(range(256)) * (8 * MEGABYTE // 256)
    store.put(f"{url}/x.tar", data)
    ranges = [(7 * MEGABYTE, 9), (600, 0), (1000, 200), (0, 300), (1100, 7)]
    files = [FileRef(path=f"{url}/x.tar", offset=start, length=length) for start, length in ranges]

    reader = storage.PrefetchingReader(files)

    assert list(map(reader.read, files)) == [data[start : start + size] for start, size in ranges]
    assert (store.calls["get"], store.fetched_bytes) == (2, 1209)
    assert reader.read(FileRef(path=f"{url}/x.tar", offset=MEGABYTE, length=3)) == data[:3]
    assert store.calls["get"] == 3
    with pytest.raises(RecordError, match=r"file too large: x.tar has over 2 bytes"):
        reader.read(files[0], 2)


def test_only_so_much_is_fetched_ahead(folder, monkeypatch):
    url, store = folder
    monkeypatch.setattr(remote, "_HELD_BYTES", 3000)
    monkeypatch.setattr(remote, "_SPAN_BYTES", 1500)
    store.put(f"{url}/x.tar", bytes(10_000))
    files = [
        FileRef(path=f"{url}/x.tar", offset=start, length=500) for start in range(0, 8000, 500)
    ]
    reader = storage.PrefetchingReader([*files, FileRef(path="/local", length=5)])
    assert (store.calls["get"], store.fetched_bytes) == (2, 3000)
    assert {reader.read(file) for file in files} == {bytes(500)}
    assert (store.calls["get"], store.fetched_bytes) == (12, 8000)


def test_what_cannot_be_fetched_is_named_when_it_is_read(folder):
    url, store = folder
    store.put(f"{url}/x", b"0123456789")
    good, cut = (FileRef(path=f"{url}/x", offset=start, length=4) for start in (2, 8))
    gone = [FileRef(path=f"{url}/gone", offset=start, length=4) for start in (2, 8)]
    reader = storage.PrefetchingReader([good, cut, *gone])
    assert reader.read(good) == b"2345"
    for file, message in ((cut, "truncated file: x"), (gone[1], "missing file: gone")):
        with pytest.raises(RecordError, match=message):
            reader.read(file)


@first_scheme
def test_a_handle_reads_blocks_and_seeks(folder):
    url, store = folder
    data = bytes(range(256)) * (5 * MEGABYTE // 256)
    store.put(f"{url}/x", data)
    with storage.opened(f"{url}/x") as handle:
        assert handle.read(10) == data[:10]
        assert store.fetched_bytes == MEGABYTE
        handle.seek(-5, 2)
        assert (handle.read(), handle.read(3)) == (data[-5:], b"")
        handle.seek(3 * MEGABYTE)
        assert handle.read(10) == data[3 * MEGABYTE :][:10]
        handle.seek(0)
        assert handle.read() == data
    assert storage.sha256_of(f"{url}/x")


@pytest.mark.slow
def test_reading_on_fetches_more_at_once(folder):
    url, store = folder
    data = bytes(range(251)) * (40 * MEGABYTE // 251)
    store.put(f"{url}/x", data)
    with storage.opened(f"{url}/x") as handle:
        assert b"".join(iter(lambda: handle.read(100_000), b"")) == data
    assert store.fetched_bytes == len(data)
    assert store.calls["get"] < 10


def test_what_may_not_be_read_is_a_reject_at_once(folder):
    url, store = folder
    store.put(f"{url}/secret.jpg", b"0123456789")
    store.fail(f"{url}/secret.jpg", 403)
    for read in (
        lambda: storage.read_bytes(FileRef(path=f"{url}/secret.jpg")),
        lambda: storage.opened(f"{url}/secret.jpg").__enter__(),
    ):
        with pytest.raises(RecordError, match=r"^unreadable file: secret\.jpg"):
            read()
    assert store.calls["get"] == 1  # without retries


def test_a_bucket_that_is_not_there(folder):
    nowhere = f"{folder[0].partition('://')[0]}://no-such-bucket/a"
    for call in (
        lambda: storage.is_directory(nowhere),
        lambda: list(storage.list_files(nowhere)),
        lambda: storage.list_folder(nowhere),
        lambda: storage.write_bytes(nowhere, b""),
        lambda: storage.make_dirs(nowhere),
    ):
        with pytest.raises(ConfigError, match=r"there is no bucket .*://no-such-bucket; fix"):
            call()


@pytest.mark.parametrize("url", ["gs://", "s3:///a", "https://"])
def test_no_bucket_is_named(url):
    with pytest.raises(ConfigError, match=f"{url.rstrip('a/')}.* names no bucket; write"):
        storage.is_directory(url)


def test_a_bucket_is_written_out():
    with pytest.raises(ConfigError, match="wildcard"):
        storage.match_files("gs://bucket*/a")


@pytest.fixture
def web(bucket):
    """The URL of a folder of a web server, and its store."""
    url, store = bucket
    return f"{store.endpoint}/{url.removeprefix('s3://')}", url, store


def test_a_name_and_a_signature_go_with_the_request(web):
    served, url, store = web
    store.put(f"{url}/a b.jpg", b"0123456789")
    signed = f"{served}/a%20b.jpg?token=a%2Fb&expires=3"
    assert storage.read_bytes(FileRef(path=signed, length=3)) == b"012"
    assert store.query == {"token": "a/b", "expires": "3"}


def test_a_web_server_has_no_folders(web):
    folder = f"{web[0]}/folder"
    assert not storage.is_directory(folder)
    for call in (storage.list_folder, lambda url: list(storage.list_files(url))):
        with pytest.raises(ConfigError, match="cannot list files; name a file"):
            call(folder)
    with pytest.raises(ConfigError, match="nothing is written over http://"):
        storage.make_dirs(folder)


def test_empty_objects_may_stand_for_folders(folder):
    url, store = folder
    for name in ("a.jpg", "cat/", "cat/1.jpg", "empty/"):
        store.put(f"{url}/{name}", b"" if name.endswith("/") else b"1")
    assert [file.relative for file in storage.list_files(url)] == ["a.jpg", "cat/1.jpg"]
    assert storage.list_folder(url) == (("cat", "empty"), ("a.jpg",))
    assert [storage.exists(f"{url}/{name}") for name in ("cat", "a.jpg")] == [False, True]


def test_keys_with_an_empty_part(folder):
    url, store = folder
    store.put(f"{url}/a//x", b"1")
    with pytest.raises(OSError, match=r"empty path segment; rename such an object.*/in'"):
        list(storage.list_files(url))
    with pytest.raises(RecordError, match="unreadable file: x"):
        storage.read_bytes(FileRef(path=f"{url}/a//x"))
    assert not storage.exists(f"{url}/a//x")


def test_who_may_not_list_is_denied_what_is_not_there(folder):
    url, store = folder
    store.fail(url, 403)
    assert not storage.exists(f"{url}/x")


@first_scheme
def test_a_listing_is_streamed(folder):
    url, store = folder
    for number in range(5000):
        store.put(f"{url}/{number}.jpg")
    files = storage.list_files(url)
    assert len(list(itertools.islice(files, 10))) == 10
    assert store.calls["list"] < 4
    assert len(list(files)) == 4990


@pytest.mark.nightly
def test_a_long_listing_is_never_held(bucket):
    """Four times as many keys take no more memory: that of the answers in flight."""
    _, store = bucket
    counts = (60_000, 240_000)
    for count in counts:
        store.computed[store.new_bucket()] = count, "in/{:08}.jpg".format
    urls = [f"s3://{name}/in" for name in store.computed]
    program = """
import sys, tracemalloc
from beam_pipeline.files import remote, storage
storage.is_directory(sys.argv[1])
tracemalloc.start()
for folder in sys.argv[1:]:
    tracemalloc.reset_peak()
    count = sum(len(each.names) for each in storage.list_names(folder))
    print(count, tracemalloc.get_traced_memory()[1])
"""
    output = printed(program, *urls)
    few, many = (list(map(int, line.split())) for line in output.splitlines())
    assert (few[0], many[0]) == counts
    assert many[1] < 2 * few[1]


def test_a_level_names_each_folder_once(folder):
    url, store = folder
    for name in ("a.txt", "b/1", "b/2", "b/c/3", "d/4", "e"):
        store.put(f"{url}/{name}", b"1")
    level = [("a.txt", False), ("b", True), ("d", True), ("e", False)]
    assert list(storage.scan_folder(f"{url}/")) == level


def test_a_large_object_is_written_in_parts_which_are_whole_or_not_there(folder):
    url, store = folder
    data = bytes(range(10)) * (2 * MEGABYTE)

    def write(name, fault=None):
        with storage.writing(f"{url}/{name}") as handle:
            handle.write(data[:7])
            handle.write(data[7:])
            assert f"in/{name}" not in store.keys(url)
            if fault:
                raise fault

    write("whole")
    assert storage.read_bytes(FileRef(path=f"{url}/whole")) == data
    with pytest.raises(ValueError, match="half"):
        write("half", ValueError("half"))
    assert (store.keys(url), store.uploads) == (["in/whole"], {})


@pytest.mark.parametrize("num_bytes", [10, 20 * MEGABYTE])
def test_a_new_object_replaces_none(folder, tmp_path, num_bytes):
    url, store = folder
    file = tmp_path / "x"
    file.write_bytes(bytes(num_bytes))
    for _ in range(2):  # an existing object with the same content is accepted
        storage.put_new(str(file), f"{url}/x")
    assert store.calls["put"] == 2
    file.write_bytes(bytes(num_bytes - 1) + b"1")
    with pytest.raises(FileExistsError, match=f"{url}/x"):
        storage.put_new(str(file), f"{url}/x")
    with (
        pytest.raises(FileExistsError, match=f"{url}/x"),
        storage.writing(f"{url}/x", is_new=True) as handle,
    ):
        handle.write(b"other")
    assert storage.read_bytes(FileRef(path=f"{url}/x")) == bytes(num_bytes)


def test_many_objects_are_measured_and_deleted_at_once(folder):
    url, store = folder
    store.latency_s = 0.2  # much longer than sending a request, even on a busy machine
    urls = [f"{url}/{number}" for number in range(70)]
    for number, each in enumerate(urls):
        store.put(each, bytes(number))
    assert storage.sizes([*urls, f"{url}/nowhere"]) == [*range(70), None]
    assert store.most_at_once > 32
    storage.delete_all(urls)
    assert store.calls["delete"] + store.calls["delete_many"] == (70 if "gs:" in url else 1)
    assert store.keys(url) == []


def test_local_files_need_no_store_library():
    program = (
        "import sys, beam_pipeline.files.storage as storage, beam_pipeline.records as records;"
        "storage.read_bytes(records.FileRef(path=sys.executable, length=2));"
        "print({'obstore', 'apache_beam'} & sys.modules.keys())"
    )
    assert printed(program) == "set()\n"
