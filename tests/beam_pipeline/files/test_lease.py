"""Leases on a store: one holder at a time, whatever becomes of the others."""

import json
import subprocess
import sys
import threading
import time

import pytest

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import lease, storage


@pytest.fixture(
    params=[
        "s3",
        pytest.param("gs", marks=pytest.mark.slow),
        pytest.param("az", marks=pytest.mark.slow),
    ]
)
def place(request, bucket, monkeypatch):
    """The URL of a lease's object, and the store."""
    monkeypatch.setattr(lease, "_LOOK_S", 0.02)
    monkeypatch.setattr(lease, "RENEWED_S", 0.05)
    url, store = bucket
    return f"{url.replace('s3', request.param)}/pets/.commit-1.0.0", store


def test_one_holder_at_a_time(place):
    url, store = place
    held, most = [], []

    def hold():
        with storage.leased(url, "pets"):
            held.append(1)
            most.append(len(held))
            time.sleep(0.05)
            held.pop()

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert most == [1, 1, 1, 1]
    assert store.keys(url) == []


def other(url, store, process):
    """Lays the lease of another process into the store."""
    holder = {"owner": "x", "process": process, "renewed": 1}
    store.put(url, json.dumps(holder).encode())


def test_a_dead_process_of_this_machine_holds_nothing(place):
    url, store = place
    program = "import os, sys; from beam_pipeline.files import lease; print(lease._process()[2])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    other(url, store, [*lease._process()[:2], done.stdout.decode().strip()])
    start = time.monotonic()
    with storage.leased(url, "pets"):
        assert time.monotonic() - start < lease.EXPIRES_S / 2


def test_a_lease_that_nobody_renews_expires(place, monkeypatch, capsys):
    url, store = place
    other(url, store, [])
    monkeypatch.setattr(lease, "EXPIRES_S", 0.3)
    with storage.leased(url, "pets") as check:
        check()
    assert "waiting for another build that writes pets" in capsys.readouterr().err


def test_a_renewed_lease_is_waited_for(place, monkeypatch):
    url, store = place
    monkeypatch.setattr(lease, "EXPIRES_S", 0.5)
    entered = threading.Event()

    def hold():
        with storage.leased(url, "pets"):
            entered.set()
            time.sleep(1.5)

    thread = threading.Thread(target=hold)
    thread.start()
    assert entered.wait(timeout=30)
    start = time.monotonic()
    with storage.leased(url, "pets"):
        assert time.monotonic() - start > 1
    thread.join()
    del store


def test_who_lost_the_lease_is_told(place):
    url, store = place
    with storage.leased(url, "pets") as check:
        check()
        other(url, store, [])
        time.sleep(0.5)
        with pytest.raises(BeamTFRecordsError, match="another build writes pets since"):
            check()
    assert store.keys(url) != []  # the other's


def test_an_answer_that_was_lost_is_no_other_holder(place):
    """The store made the object, but the connection broke, and the request was repeated."""
    url, store = place
    store.fail_after(url, times=1)
    with storage.leased(url, "pets") as check:
        store.fail_after(url, times=1)
        time.sleep(0.3)
        check()


def test_local_files_have_none(tmp_path):
    with storage.leased(str(tmp_path / "x"), "pets") as check:
        check()
        assert list(tmp_path.iterdir()) == []
