"""Leases on a store: one holder at a time, whatever becomes of the others."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fresh_python import printed

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import lease, storage
from tfrecord_dataset.store import waiting


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

    with ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(hold) for _ in range(4)]:
            each.result(timeout=60)
    assert most == [1, 1, 1, 1]
    assert store.keys(url) == []


def other(url, store, process):
    """Lays the lease of another process into the store."""
    holder = {"owner": "x", "process": process, "renewed": 1}
    store.put(url, json.dumps(holder).encode())


def test_a_dead_process_of_this_machine_holds_nothing(place):
    url, store = place
    program = "import os, sys; from beam_pipeline.files import lease; print(lease._process()[2])"
    other(url, store, [*lease._process()[:2], printed(program).strip()])
    start = time.monotonic()
    with storage.leased(url, "pets"):
        assert time.monotonic() - start < lease.EXPIRES_S / 2


def test_a_lease_that_nobody_renews_expires(place, monkeypatch, capsys):
    url, store = place
    other(url, store, [])
    monkeypatch.setattr(lease, "EXPIRES_S", 0.3)
    with storage.leased(url, "pets"):
        waiting.check_request()
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
    with storage.leased(url, "pets"):
        waiting.check_request()
        other(url, store, [])
        time.sleep(0.5)
        with pytest.raises(BeamTFRecordsError, match="another build writes pets since"):
            waiting.check_request()
    assert store.keys(url) != []  # the other's


def test_who_lost_it_to_a_build_that_has_ended_is_told(place):
    url, store = place
    with storage.leased(url, "pets"):
        del store.objects[url.partition("://")[2]]
        time.sleep(0.5)
        with pytest.raises(BeamTFRecordsError, match="another build writes pets since"):
            waiting.check_request()


def test_an_answer_that_was_lost_is_no_other_holder(place):
    """The store made the object, but the connection broke, and the request was repeated."""
    url, store = place
    store.fail_after(url, times=1)
    with storage.leased(url, "pets"):
        store.fail_after(url, times=1)
        time.sleep(0.3)
        waiting.check_request()


@pytest.mark.slow
def test_an_outage_longer_than_a_lease_does_not_end_it(place, monkeypatch):
    url, store = place
    monkeypatch.setattr(lease, "EXPIRES_S", 1.2)
    monkeypatch.setattr(lease, "RENEWED_S", 0.2)
    monkeypatch.setattr(lease, "_STALE_S", 0.4)
    monkeypatch.setattr(waiting, "_LONGEST_PAUSE_S", 0.2)
    entered = threading.Event()
    both = []

    def wait():
        with storage.leased(url, "pets"):
            both.append("waiting")
            entered.set()

    with storage.leased(url, "pets"):
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.3)
        store.outage("503", 2)
        time.sleep(2.5)
        waiting.check_request()
        both.append("holding")
    thread.join(timeout=60)
    assert both == ["holding", "waiting"]
    assert store.keys(url) == []


@pytest.mark.slow
def test_who_waits_counts_anew_after_an_outage(place, monkeypatch):
    url, store = place
    monkeypatch.setattr(lease, "EXPIRES_S", 1.0)
    monkeypatch.setattr(lease, "RENEWED_S", 0.5)
    monkeypatch.setattr(waiting, "_LONGEST_PAUSE_S", 0.1)
    other(url, store, [])
    store.outage("503", 1.5, after=6)  # it has looked before
    with storage.leased(url, "pets"):
        assert time.monotonic() >= store.outage_end + lease.EXPIRES_S


@pytest.mark.slow
def test_who_alone_was_cut_off_has_lost_it_and_sends_nothing_again(place, monkeypatch):
    url, store = place
    monkeypatch.setattr(lease, "EXPIRES_S", 0.6)
    monkeypatch.setattr(lease, "_STALE_S", 0.2)

    def overwrite_much_later():
        with storage.leased(url, "pets"):
            store.outage("503", 2.5)
            threading.Timer(1, other, (url, store, [])).start()
            storage.write_bytes(f"{url}-metadata", b"mine")

    with pytest.raises(BeamTFRecordsError, match="another build writes pets since"):
        overwrite_much_later()
    assert store.keys(f"{url}-metadata") == []
    assert b'"owner": "x"' in store.objects[url.partition("://")[2]]


def test_a_build_that_fails_in_an_outage_does_not_wait_to_give_back(place):
    url, store = place

    def fail():
        with storage.leased(url, "pets"):
            store.outage("503", 600)
            raise ValueError("another fault")

    with pytest.raises(ValueError, match="another fault"):
        fail()
    assert store.turned_away <= 2  # one to give it back, and maybe one to renew it


def test_processes_of_a_job_share_one(place, monkeypatch):
    """While any of them renews it, others wait; who takes it over knows that nobody else had it."""
    url, store = place
    monkeypatch.setattr(lease, "EXPIRES_S", 0.5)
    entered = threading.Event()

    def wait():
        with storage.leased(url, "pets"):
            entered.set()

    with storage.lease_shared(url, "pets", "job 1", joins=False):
        thread = threading.Thread(target=wait)
        thread.start()
    with (
        storage.lease_shared(url, "pets", "job 1", joins=True) as one,
        storage.lease_shared(url, "pets", "job 1", joins=True) as other,
    ):
        assert one
        assert other
        time.sleep(1.5)
        waiting.check_request()
    with storage.leased(url, "pets", after="job 1") as continues:
        assert continues
        time.sleep(1)
        assert not entered.is_set()
        with storage.lease_shared(url, "pets", "job 1", joins=True) as late:
            assert not late
    thread.join(timeout=60)
    assert entered.is_set()
    assert store.keys(url) == []


def test_who_shares_it_and_is_cut_off_renews_it_first(place, monkeypatch):
    """That another one has renewed it does not say how long ago."""
    url, store = place
    monkeypatch.setattr(lease, "RENEWED_S", 3600)
    with (
        storage.lease_shared(url, "pets", "job 1", joins=False),
        storage.lease_shared(url, "pets", "job 1", joins=True),
    ):
        waiting.check_request()
        [text] = [store.objects[url.partition("://")[2]]]
        waiting.check_request()
        assert store.objects[url.partition("://")[2]] == text
        with storage.lease_shared(url, "pets", "job 1", joins=True):
            waiting.check_request()
        monkeypatch.setattr(lease, "_STALE_S", 0.2)
        time.sleep(0.3)
        store.calls.clear()
        waiting.check_request()
        assert store.calls["put"] == 2, "the other's is told from its own, and renewed"


def test_a_shared_one_that_expired_is_lost(place, monkeypatch):
    url, store = place
    with storage.lease_shared(url, "pets", "job 1", joins=False):
        pass
    other(url, store, [])
    with storage.lease_shared(url, "pets", "job 1", joins=True) as is_held:
        assert not is_held
    monkeypatch.setattr(lease, "EXPIRES_S", 0.3)
    with storage.leased(url, "pets", after="job 1") as continues:
        assert not continues


def test_a_shared_one_stays_where_its_last_holder_fails(place):
    """Others of the job may believe that they hold it still; it expires."""
    url, store = place
    with storage.lease_shared(url, "pets", "job 1", joins=False):
        pass

    def fail():
        with storage.leased(url, "pets", after="job 1"):
            raise ValueError("a fault")

    with pytest.raises(ValueError, match="a fault"):
        fail()
    [text] = [store.objects[url.partition("://")[2]]]
    assert not lease._is_dead(text)


def test_local_files_have_none(tmp_path):
    with storage.leased(str(tmp_path / "x"), "pets"):
        waiting.check_request()
        assert list(tmp_path.iterdir()) == []
