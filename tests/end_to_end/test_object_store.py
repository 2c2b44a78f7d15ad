"""Input and output on an object store: a server on this machine that every process talks to."""

import pytest

from beam_pipeline.files import storage
from beam_pipeline.records import FileRef


@pytest.fixture
def folders(bucket, tmp_path, class_folders):
    """A folder of classes on the store and here: their paths, and the store."""
    url, store = bucket
    local = class_folders(tmp_path / "pets")
    for path in local.rglob("*.jpg"):
        store.put(f"{url}/pets/{path.relative_to(local)}", path.read_bytes())
    return f"{url}/pets", str(local), store


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_dataset_on_a_store_is_byte_for_byte_the_local_one(
    folders, command, tmp_path, digests, scheme
):
    remote, local, store = folders
    remote = remote.replace("s3://", f"{scheme}://")
    output = remote.replace("/pets", "/data")
    options = ("--num-shards", 3)
    here = command("beam_pipeline", "build", local, "--output", str(tmp_path / "data"), *options)
    store.forget()

    there = command("beam_pipeline", "build", remote, "--output", output, *options)

    assert there.returncode == 0, there.stderr
    directory = there.stdout.splitlines()[-1]
    assert directory.startswith(output)
    copied = tmp_path / "copied"
    for file in storage.list_files(directory):
        storage.write_bytes(
            str(copied / file.relative), storage.read_bytes(FileRef(path=file.path))
        )
    assert digests(copied) == digests(here.stdout.splitlines()[-1])
    assert command("beam_pipeline", "verify", directory).returncode == 0
    assert store.unfinished_uploads() == 0
    assert not [key for key in store.keys(output) if "temp" in key or "part" in key]
