"""Sources of stores' credentials, and the error if there are none."""

import functools
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from tfrecord_dataset.store import clients


@pytest.fixture
def nothing_is_set(monkeypatch, tmp_path):
    """Remove environment variables, files in the home folder, and cloud metadata."""
    for name in os.environ:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "STORAGE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(clients, "_METADATA_SERVICE", ("127.0.0.1", 9))
    clients.is_in_a_cloud.cache_clear()
    yield
    clients.is_in_a_cloud.cache_clear()


@pytest.fixture
def public(bucket, nothing_is_set, monkeypatch):
    """A bucket that allows reads without credentials, and its store."""
    url, store = bucket
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    store.put(f"{url}/x", b"0123456789")
    return url, store


def test_a_public_bucket_needs_no_credentials(public):
    url, store = public
    assert storage.read_bytes(FileRef(path=f"{url}/x")) == b"0123456789"
    assert not store.signed


def test_a_private_bucket_says_how_to_give_them_at_once(public):
    url, store = public
    store.fail(url, 403)
    start = time.monotonic()
    for call in (storage.exists, storage.is_directory, storage.list_folder, storage.make_dirs):
        with pytest.raises(
            ConfigError,
            match=f"{url} cannot be read or written without cred.* AWS_ACCESS_KEY_ID",
        ):
            call(f"{url}/x")
    with pytest.raises(ConfigError, match="or run aws configure"):
        storage.write_bytes(f"{url}/x", b"")
    assert time.monotonic() - start < 5  # the clouds' own search takes 20 s and more


def test_writing_to_google_without_credentials(nothing_is_set):
    with pytest.raises(ConfigError, match=r"gs://unknown-to-all .* GOOGLE_APPLICATION_CREDENTIALS"):
        storage.write_bytes("gs://unknown-to-all/x", b"")


def test_what_aws_configure_wrote_is_used(public, tmp_path, monkeypatch):
    url, store = public
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "credentials").write_text(
        "[default]\naws_access_key_id = one\naws_secret_access_key = x\n"
        "[work]\naws_access_key_id = two\naws_secret_access_key = y%z\n"
    )
    (folder / "config").write_text("[profile work]\nregion = eu-north-1\n")
    monkeypatch.setenv("AWS_PROFILE", "work")
    storage.read_bytes(FileRef(path=f"{url}/x"))
    assert "Credential=two/" in store.signed
    assert "/eu-north-1/s3/" in store.signed


@pytest.mark.parametrize(
    ("url", "variables", "error"),
    [
        ("az://container/x", {}, "az://container names no account; set AZURE_STORAGE_ACCOUNT_NAME"),
        ("az://container/x", {"AZURE_STORAGE_ACCOUNT_NAME": "me"}, ""),
        ("abfss://container@me.dfs.core.windows.net/x", {}, ""),
        ("az://container/x", {"AZURE_STORAGE_USE_EMULATOR": "true"}, ""),
        (
            "gs://container/x",
            {"GOOGLE_SERVICE_ACCOUNT_KEY": "{"},
            "gs://container cannot be opened",
        ),
    ],
)
def test_what_names_a_store(nothing_is_set, monkeypatch, url, variables, error):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(clients, "_made", functools.lru_cache(clients._made.__wrapped__))
    root = url.removesuffix("/x")
    if error:
        with pytest.raises(ConfigError, match=error):
            clients.client_of(root)
    else:
        assert clients.client_of(root).store


def test_one_client_a_bucket_and_process(bucket):
    url, _ = bucket
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: id(clients.client_of(url)), range(8)))
    assert found == {id(clients.client_of(url))}


def test_another_process_makes_its_own(bucket):
    url, store = bucket
    store.put(f"{url}/x", b"0123456789")
    ref = FileRef(path=f"{url}/x", length=2)
    storage.read_bytes(ref)
    program = (
        "import pickle, sys; from beam_pipeline.files import storage;"
        "print(storage.read_bytes(pickle.load(sys.stdin.buffer)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(ref), capture_output=True, check=True
    )
    assert done.stdout == b"b'01'\n"


def test_a_forked_process_gets_an_error_and_does_not_hang(bucket):
    url, _ = bucket
    program = (
        "import os, sys; from beam_pipeline.files import storage;"
        "storage.exists(sys.argv[1]);"
        "child = os.fork();"
        "child or storage.exists(sys.argv[1]);"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, f"{url}/x"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "was opened before this process was forked" in done.stderr
