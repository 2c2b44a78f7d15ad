"""A store that is out for a while in the midst of a command, in every way that a store can be."""

import json
import re
import signal
import subprocess
import sys

import pytest

from beam_pipeline.cli import commands
from tfrecord_dataset.store import clients
from trainer import __main__ as trainer_main


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


@pytest.fixture
def uploaded(built, pets):
    """The dataset on a store, and the store."""
    url, _, store = pets
    url = url.replace("/pets", "/uploaded/pets/1.0.0")
    store.put_folder(url, built)
    return url, store


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "kind", "seconds"), READ_OUTAGES)
def test_verify_survives(uploaded, command_here, scheme, kind, seconds):
    url, store = uploaded
    store.outage(kind, seconds, operation="get", after=3)
    done = command_here("beam_pipeline", "verify", url.replace("s3", scheme))
    assert done.returncode == 0, done.stderr
    assert "16 records in 6 shards of 2 splits: no problems" in done.stdout
    assert store.out.is_set()


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "kind", "seconds"), READ_OUTAGES)
def test_a_training_survives(uploaded, built, command_here, tmp_path, scheme, kind, seconds):
    url, store = uploaded
    options = ["--epochs", 2, "--batch-size", 4, "--image-size", 16, "--devices", "cpu"]
    options += [
        "--cache-dir",
        tmp_path / "cache",
        "--cache",
        "none",
        "--deterministic",
        "--seed",
        1,
    ]

    def trained(data, run):
        done = command_here(
            "trainer", "train", "--data", data, "--output", tmp_path / run, *options
        )
        assert done.returncode == 0, done.stderr
        return done

    here = trained(built, "here")
    store.outage(kind, seconds, operation="get", after=3)
    there = trained(url.replace("s3", scheme), "there")

    assert json.loads(there.stdout) == json.loads(here.stdout)
    assert store.out.is_set()


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 3])
def test_after_the_limit_verify_finds_no_damage(uploaded, monkeypatch, capsys, after):
    """Of what could not be read nothing is said but that."""
    url, store = uploaded
    monkeypatch.setattr(clients, "LIMIT_S", 1)
    store.outage("503", 600, operation="get", after=after)

    assert commands.main(["verify", url]) == 1

    told = capsys.readouterr()
    assert re.search(
        r"^error: 503 Service Unavailable, also after \d+ tries", told.err, re.MULTILINE
    )
    assert "sha256" not in told.out + told.err


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 4])
def test_after_the_limit_a_training_says_how_long_it_tried(
    uploaded, monkeypatch, capsys, tmp_path, after
):
    url, store = uploaded
    monkeypatch.setattr(clients, "LIMIT_S", 1)
    arguments = ["train", "--data", url, "--output", str(tmp_path / "run"), "--epochs", "1"]
    arguments += ["--batch-size", "4", "--image-size", "16", "--devices", "cpu"]
    arguments += ["--cache-dir", str(tmp_path / "cache")]
    store.outage("503", 600, operation="get", after=after)

    assert trainer_main.main(arguments) == 1

    error = capsys.readouterr().err
    assert re.search(
        r"^error: .*503 Service Unavailable, also after \d+ tries", error, re.MULTILINE
    )
    assert "Traceback" not in error


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
