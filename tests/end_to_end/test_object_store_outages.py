"""A store that is out for a while in the midst of a command, in every way that a store can be."""

import json
import re
import signal
import subprocess
import sys

import pytest

from tfrecord_dataset.store import clients


@pytest.fixture
def pets(bucket, tmp_path, class_folders):
    """The URL of class folders on a store, the same folders here, and the store."""
    url, store = bucket
    local = class_folders(tmp_path / "pets")
    store.put_folder(f"{url}/pets", local)
    return f"{url}/pets", local, store


@pytest.fixture
def built(pets, tmp_path, command_here):
    """A dataset of these pets, here."""
    options = ("--output", tmp_path / "data", "--num-shards", 3, "--split", "train=0.6,test=0.4")
    done = command_here("beam_pipeline", "build", pets[1], *options)
    assert done.returncode == 0, done.stderr
    return tmp_path / "data/pets/1.0.0"


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "build.json"
    }


# Of each kind of outage tests/tfrecord_dataset/store/test_requests.py tells, and of each request.
OUTAGES = [
    ("s3", "reset", 5, "put"),
    ("az", "500", 5, "list"),
    pytest.param("gs", "silent", 30, "put", marks=pytest.mark.nightly),
    pytest.param("az", "refused", 90, "get", marks=pytest.mark.nightly),
]


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "kind", "seconds", "operation"), OUTAGES)
def test_a_build_survives(pets, built, command_here, scheme, kind, seconds, operation):
    url, _, store = pets
    url = url.replace("s3", scheme)
    output = url.replace("/pets", "/data")
    options = ("--num-shards", 3, "--split", "train=0.6,test=0.4")
    store.outage(kind, seconds, operation=operation)

    done = command_here("beam_pipeline", "build", url, "--output", output, *options)

    assert done.returncode == 0, done.stderr
    assert store.out.is_set()
    prefix = "data/pets/1.0.0/"
    there = {
        place.partition(prefix)[2]: data
        for place, data in store.objects.items()
        if prefix in place and not place.endswith("build.json")
    }
    assert there == files(built)
    assert not [key for key in store.keys(output) if "/." in key]


READ_OUTAGES = [
    ("s3", "503", 5),
    pytest.param("gs", "reset", 30, marks=pytest.mark.nightly),
    pytest.param("az", "refused", 90, marks=pytest.mark.nightly),
]


TRAIN = [
    *("train", "--epochs", 1, "--batch-size", 4, "--image-size", 16, "--devices", "cpu"),
    "--data",
]
LIMIT = re.compile(r"^error: .*503 Service Unavailable, also after \d+ tries", re.MULTILINE)


@pytest.fixture
def uploaded(built, pets):
    """The dataset on a store, and the store."""
    url, _, store = pets
    url = url.replace("/pets", "/uploaded/pets/1.0.0")
    store.put_folder(url, built)
    return url, store


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "kind", "seconds"), READ_OUTAGES)
def test_verify_and_a_training_survive(
    uploaded, built, command_here, tmp_path, scheme, kind, seconds
):
    url, store = uploaded
    url = url.replace("s3", scheme)
    store.outage(kind, seconds, operation="get", after=3)
    done = command_here("beam_pipeline", "verify", url)
    assert done.returncode == 0, done.stderr
    assert "16 records in 6 shards of 2 splits: no problems" in done.stdout
    assert store.out.is_set()

    def trained(data, run):
        words = [*TRAIN, data, "--output", tmp_path / run, "--cache-dir", tmp_path / "cache"]
        done = command_here("trainer", *words, "--cache", "none", "--deterministic", "--seed", 1)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    here = trained(built, "here")
    store.outage(kind, seconds, operation="get", after=3)
    assert trained(url, "there") == here
    assert store.out.is_set()


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 3])
def test_after_the_limit_the_error_says_how_long_it_was_tried(
    uploaded, monkeypatch, command_here, tmp_path, after
):
    """And verify finds no damage in what could not be read."""
    url, store = uploaded
    monkeypatch.setattr(clients, "LIMIT_S", 1)
    train = [*TRAIN, url, "--output", tmp_path / "run", "--cache-dir", tmp_path / "cache"]
    for words in (["beam_pipeline", "verify", url], ["trainer", *train]):
        store.outage("503", 600, operation="get", after=after)
        done = command_here(*words)
        assert done.returncode == 1, done.stderr
        assert LIMIT.search(done.stderr), done.stderr
        assert "Traceback" not in done.stderr
        assert "sha256" not in done.stdout + done.stderr


def interrupted(store, url, kind, operation, after=0):
    """What a build tells that is interrupted in an outage of an hour."""
    store.outage(kind, 3600, operation=operation, after=after)
    build = subprocess.Popen(
        [sys.executable, "-m", "beam_pipeline", "build", url, "--output", f"{url}-out"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert store.out.wait(60)
    build.send_signal(signal.SIGINT)
    _, told = build.communicate(timeout=120)
    assert build.returncode == 130, told
    return told


@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        ("503", "get"),
        pytest.param("503", "put", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_ends_a_build_that_waits(pets, kind, operation):
    url, _, store = pets
    assert "interrupted; run" in interrupted(store, url, kind, operation)


@pytest.mark.slow
@pytest.mark.parametrize(
    "after", [2000, pytest.param(5000, marks=pytest.mark.nightly)], ids=["inspect", "encode"]
)
def test_ctrl_c_ends_a_build_whose_worker_processes_wait(pets, after):
    url, local, store = pets
    image = next(local.rglob("*.jpg")).read_bytes()
    for number in range(3000):
        store.put(f"{url}/cat/{number}.jpg", image)
    assert "interrupted; run" in interrupted(store, url, "503", "get", after)
