"""Input and output on an object store: a server on this machine that every process talks to."""

import datetime
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from beam_pipeline.files import storage
from beam_pipeline.records import FileRef


@pytest.fixture
def folders(bucket, tmp_path, class_folders):
    """A folder of classes on the store and here: their paths, and the store."""
    url, store = bucket
    local = class_folders(tmp_path / "pets")
    store.put_folder(f"{url}/pets", local)
    return f"{url}/pets", str(local), store


@pytest.fixture
def built_here(folders, tmp_path, command, digests):
    """The digests of the dataset that the local folder gives with these options."""

    def build(*options):
        output = str(tmp_path / "data")
        done = command("beam_pipeline", "build", folders[1], "--output", output, *options)
        return digests(done.stdout.splitlines()[-1])

    return build


@pytest.fixture
def digests_there(tmp_path, digests):
    """The digests of a remote directory."""

    def of(directory):
        copied = tmp_path / "copied"
        for file in storage.list_files(directory):
            data = storage.read_bytes(FileRef(path=file.path))
            storage.write_bytes(str(copied / file.relative), data)
        return digests(copied)

    return of


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "compression"), [("s3", "none"), pytest.param("gs", "gzip", marks=pytest.mark.slow)]
)
def test_a_dataset_on_a_store_is_the_local_one(
    folders, command, built_here, digests_there, scheme, compression
):
    url, _, store = folders
    url = url.replace("s3://", f"{scheme}://")
    output = url.replace("/pets", "/data")
    options = ("--num-shards", 3, "--compression", compression)

    there = command("beam_pipeline", "build", url, "--output", output, *options)

    assert there.returncode == 0, there.stderr
    directory = there.stdout.splitlines()[-1]
    assert directory.startswith(output)
    assert digests_there(directory) == built_here(*options)
    assert command("beam_pipeline", "verify", directory).returncode == 0
    shown = command("beam_pipeline", "show", f"{output}/pets", "--limit", 2)
    assert (shown.returncode, f"\n{shown.stdout}".count("\n--- ")) == (0, 2), shown.stderr
    assert store.unfinished_uploads() == 0
    assert not [key for key in store.keys(output) if "/." in key]


@pytest.mark.slow
def test_two_builds_of_one_dataset_do_not_mix(folders, command):
    """Each waits for the other's commit; the later one replaces the earlier one whole."""
    url, _, store = folders
    output = url.replace("/pets", "/data")
    store.latency_s = 0.02
    store.date = datetime.datetime.now(datetime.UTC)  # what is older than a day was abandoned

    def build(num_shards):
        options = ("--num-shards", num_shards, "--overwrite")
        return command("beam_pipeline", "build", url, "--output", output, *options)

    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(build, (2, 5)))

    assert [done.returncode for done in both] == [0, 0], [done.stderr for done in both]
    directory = both[0].stdout.splitlines()[-1]
    verified = command("beam_pipeline", "verify", directory)
    assert verified.returncode == 0, verified.stderr
    assert len(set(re.findall(r"-of-(\d+)", " ".join(store.keys(directory))))) == 1
    assert not [key for key in store.keys(output) if "/." in key]
