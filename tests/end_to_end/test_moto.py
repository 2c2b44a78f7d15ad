"""Builds, checks and training on moto's S3 server."""

import subprocess
import sys
import urllib.request
import uuid

import pytest

import trainer
from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage

pytestmark = pytest.mark.readers

SERVER = """
import threading
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
threading.Event().wait()
"""


@pytest.fixture
def bucket_url(monkeypatch):
    """URL of a new bucket."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    endpoint = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    name = f"moto-{uuid.uuid4().hex[:12]}"  # a process keeps its client of a bucket
    request = urllib.request.Request(f"{endpoint}/{name}", method="PUT")
    urllib.request.urlopen(request, timeout=60).close()
    settings = {"ENDPOINT_URL": endpoint, "ALLOW_HTTP": "true", "REGION": "us-east-1"}
    for key, value in {**settings, "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}.items():
        monkeypatch.setenv(f"AWS_{key}", value)
    yield f"s3://{name}"
    server.kill()
    server.wait()
    server.stdout.close()


def test_a_dataset_there_is_the_local_one(bucket_url, class_folders, command, digests, tmp_path):
    local = class_folders(tmp_path / "pets")
    for path in local.rglob("*.jpg"):
        storage.write_bytes(f"{bucket_url}/pets/{path.relative_to(local)}", path.read_bytes())
    options = ("--num-shards", 3)
    here = command("beam_pipeline", "build", local, "--output", tmp_path / "data", *options)

    output = f"{bucket_url}/data"
    there = command("beam_pipeline", "build", f"{bucket_url}/pets", "--output", output, *options)

    assert there.returncode == 0, there.stderr
    assert command("beam_pipeline", "verify", f"{output}/pets").returncode == 0
    assert [name for name in storage.list_dir(f"{output}/pets") if name != "1.0.0"] == []
    local_directory = here.stdout.splitlines()[-1]
    shards = [name for name in digests(local_directory) if ".tfrecord-" in name and "/" not in name]
    for name in shards:
        assert storage.sha256_of(f"{output}/pets/1.0.0/{name}") == digests(local_directory)[name]
    remote = trainer.open(output, cache_dir=str(tmp_path / "cache"))
    order = {"features": "label", "shuffle": True, "seed": 1}
    assert list(remote.numpy(**order)) == list(trainer.open(local_directory).numpy(**order))


def test_claims_and_errors(bucket_url):
    place = f"{bucket_url}/data/claim"
    for _ in range(2):
        storage.write_bytes(place, b"mine", is_new=True)
    with pytest.raises(FileExistsError):
        storage.write_bytes(place, b"another's", is_new=True)
    assert storage.read_text(place) == "mine"
    with pytest.raises(ConfigError, match="there is no bucket s3://no-such-bucket-at-moto"):
        storage.list_folder("s3://no-such-bucket-at-moto/x")
