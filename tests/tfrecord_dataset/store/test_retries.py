"""Every request is sent again while its store is out, whatever way it is out, and is counted."""

import itertools
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import ANY

import obstore
import pytest
from fake_store import OUTAGES, Handler
from obstore.exceptions import GenericError

from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.store import clients, requests, retries, waiting
from tfrecord_dataset.store.clients import client_and_key
from tfrecord_dataset.store.faults import Fault, passing_fault
from tfrecord_dataset.store.tally import TALLY

SLOW = pytest.mark.slow


@pytest.fixture(params=["s3", pytest.param("gs", marks=SLOW), pytest.param("az", marks=SLOW)])
def place(request, bucket):
    """A bucket's URL of each scheme, and the store."""
    url, store = bucket
    return url.replace("s3", request.param), store


OPERATIONS = {
    "get": (lambda url: requests.get(f"{url}/x"), b"0123456789"),
    "get range": (lambda url: requests.get_range(f"{url}/x", 1, 3), b"123"),
    "head": (lambda url: requests.head(f"{url}/x")["size"], 10),
    "list": (lambda url: [each["path"] for each in requests.list_below(f"{url}/in")], ["in/z"]),
    "level": (lambda url: requests.list_level(f"{url}/in")["objects"][0]["path"], "in/z"),
    "any": (lambda url: requests.is_any_below(f"{url}/in"), True),
    "put": (lambda url: bool(requests.put(f"{url}/put", b"1")), True),
    "put if": (lambda url: bool(requests.put_if(f"{url}/put if", b"1", None)), True),
    "copy": (lambda url: requests.copy(f"{url}/x", "copy"), None),
    "delete": (lambda url: requests.delete(client_and_key(url)[0], ["y"]), None),
}


@pytest.fixture
def objects(place):
    """A bucket of three objects, to which a connection is open, and the store."""
    url, store = place
    for name in ("x", "y", "in/z"):
        store.put(f"{url}/{name}", b"0123456789")
    requests.head(f"{url}/x")
    return url, store


def each_at_once(url):
    with ThreadPoolExecutor(len(OPERATIONS)) as pool:
        calls = {name: pool.submit(call, url) for name, (call, _) in OPERATIONS.items()}
    return {name: call.result() for name, call in calls.items()}


EXPECTED = {name: result for name, (_, result) in OPERATIONS.items()}
AFTERWARDS = ["copy", "in/z", "put", "put if", "x"]


@pytest.mark.parametrize("kind", OUTAGES)
def test_an_outage_of_any_kind_is_survived_by_every_request(objects, kind):
    url, store = objects
    store.outage(kind, 0.3)
    assert each_at_once(url) == EXPECTED
    assert store.keys(url) == AFTERWARDS
    assert store.out.is_set()


def test_an_answer_that_does_not_come_is_asked_for_again(place, monkeypatch):
    url, store = place
    for prefix in ("AWS", "GOOGLE", "AZURE"):
        monkeypatch.setenv(f"{prefix}_READ_TIMEOUT", "200ms")
    for name in ("x", "y", "in/z"):
        store.put(f"{url}/{name}", b"0123456789")
    store.outage("stalled", 1)
    assert each_at_once(url) == EXPECTED
    assert store.keys(url) == AFTERWARDS
    assert store.turned_away > len(OPERATIONS)


@pytest.mark.parametrize("operation", ["put", "copy", "delete", "delete_many"])
def test_what_was_done_without_an_answer_is_done_again(objects, operation):
    url, store = objects
    store.fail_after(url, 1, operation)
    assert each_at_once(url) == {**EXPECTED, "put if": ANY}
    assert store.keys(url) == AFTERWARDS


@pytest.mark.parametrize("times", [1, 2])
def test_a_body_that_breaks_off_is_read_anew(place, times):
    url, store = place
    store.put(f"{url}/x", bytes(range(250)))
    for call in (lambda: requests.get(f"{url}/x"), lambda: requests.get_range(f"{url}/x", 0, 250)):
        store.fail(f"{url}/x", 1, times, "get")
        assert call() == bytes(range(250))


@pytest.mark.parametrize("name", ["%03d", "a b%03d", "ä#?%%20+[1]%03d", "%%41/%03d"])
def test_a_listing_that_breaks_off_goes_on_where_it_was(place, name):
    url, store = place
    names = sorted(f"in/{name % number}" for number in range(2500))
    for each in names:
        store.put(f"{url}/{each}")
    listing = requests.list_below(f"{url}/in")
    found = [each["path"] for each in itertools.islice(listing, 1000)]
    store.outage("503", 0.15)
    assert [*found, *(each["path"] for each in listing)] == names


def test_a_listing_goes_on_where_a_store_begins_at_the_top(place, monkeypatch):
    """Emulators of Azure do."""
    url, store = place
    for number in range(2500):
        store.put(f"{url}/{number:04d}")
    page = Handler._page

    def is_next(handler):
        return {"marker", "continuation-token"} & handler.query.keys()

    monkeypatch.setattr(
        Handler,
        "_page",
        lambda self, store, after: page(self, store, after if is_next(self) else ""),
    )
    listing = requests.list_below(url)
    found = [each["path"] for each in itertools.islice(listing, 1000)]
    store.outage("503", 0.15)
    assert [*found, *(each["path"] for each in listing)] == store.keys(url)


def test_a_listing_in_no_order_is_whole_or_an_error(bucket, monkeypatch):
    url, store = bucket
    for number in range(1500):
        store.put(f"{url}/{number:04d}")
    shuffled = random.Random(1).sample(store.keys(url), 1500)
    pages = {"": ([], shuffled[:1000], "2"), "2": ([], shuffled[1000:], "")}
    monkeypatch.setattr(Handler, "_page", lambda self, store, after: pages[after])
    assert [each["path"] for each in requests.list_below(url)] == shuffled
    listing = requests.list_below(url)
    next(listing)
    store.outage("503", 30)
    with pytest.raises(OSError, match="broke off, and the store does not list by name"):
        list(listing)


def test_after_the_limit_the_error_says_how_long_it_was_tried(place, monkeypatch):
    url, store = place
    monkeypatch.setattr(clients, "LIMIT_S", 0.2)
    store.outage("503", 60)
    message = r"503 Service Unavailable, also after \d+ tries in \d"
    for call, _ in OPERATIONS.values():
        with pytest.raises(OSError, match=message) as told:
            call(url)
        assert told.value.filename.startswith(url)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, (OSError, ConfigError)),
        (403, PermissionError),
        (404, FileNotFoundError),
        (501, OSError),
    ],
)
def test_what_no_other_try_changes_is_tried_once(place, status, error):
    url, store = place
    store.put(f"{url}/x", b"1")
    store.fail(f"{url}/x", status)
    with pytest.raises(error):
        requests.get(f"{url}/x")
    assert store.calls == {"get": 1}


def test_a_signature_is_in_no_message(bucket, monkeypatch):
    url, store = bucket
    monkeypatch.setattr(clients, "LIMIT_S", 0.1)
    for status in (400, 503):
        store.fail("", status)
        with pytest.raises(OSError, match=str(status)) as told:
            requests.get(f"{store.endpoint}/{url.removeprefix('s3://')}/x?sig=secret")
        assert "secret" not in told.value.strerror
        store.mend()


def test_requests_are_counted(bucket):
    url, store = bucket
    store.put(f"{url}/x", b"0123456789")
    TALLY.take()
    store.fail(f"{url}/x", 503, 2, "get")
    store.fail(f"{url}/x", 500, 1, "get")
    requests.get(f"{url}/x")
    requests.put(f"{url}/y", b"123")
    with pytest.raises(FileNotFoundError):
        requests.head(f"{url}/z")

    counts = TALLY.take()

    get = counts["get"]
    assert (get.sent, get.again, get.throttled, get.num_bytes, get.timed) == (4, 3, 2, 10, 4)
    assert 0 <= 4 * get.least_ms <= get.total_ms <= 4 * get.most_ms
    assert (counts["put"].sent, counts["put"].num_bytes) == (1, 3)
    assert (counts["head"].sent, counts["head"].again) == (1, 0)
    assert {name: each.sent for name, each in counts.items()} == dict(store.calls)
    assert TALLY.take() == {}


def test_pauses_double_and_are_drawn_anew():
    drawn = [list(itertools.islice(waiting.pauses(), 12)) for _ in range(50)]
    for each in drawn:
        for number, pause in enumerate(each):
            longest = min(0.1 * 2**number, 10)
            assert longest / 2 <= pause <= longest
    assert len({each[0] for each in drawn}) == 50


def test_requests_draw_none_of_the_random_numbers_of_a_training(bucket):
    url, store = bucket
    store.put(f"{url}/x", b"1")
    before = random.getstate()
    store.outage("503", 0.3)
    requests.get(f"{url}/x")
    assert store.out.is_set()
    assert random.getstate() == before


def test_who_may_no_longer_act_does_not_send_again(bucket):
    """What allowed a request may have ended while the store was out."""
    url, store = bucket
    store.outage("503", 30)

    def check():
        if store.calls["put"]:
            raise ConfigError("it is another's by now")

    with waiting.checked(check), pytest.raises(ConfigError, match="another's"):
        requests.put(f"{url}/x", b"1")
    assert store.calls == {"put": 1}


def test_ctrl_c_ends_the_waiting_of_all_threads(bucket, monkeypatch):
    monkeypatch.setattr(waiting, "_interrupted", threading.Event())
    url, store = bucket
    store.outage("503", 600)
    ended = []

    def wait():
        try:
            requests.get(f"{url}/x")
        except InterruptedError:
            ended.append(1)

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    store.out.wait(30)

    def interrupt():
        with waiting.ended_by_interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    for thread in threads:
        thread.join(60)
    assert ended == [1, 1, 1, 1]


def test_the_upload_store_is_that_of_the_bucket(place, monkeypatch):
    url, store = place
    upload_store = clients.upload_store(url)
    obstore.put(upload_store, "x", b"1")
    assert store.keys(url) == ["x"]
    assert upload_store.retry_config["retry_timeout"].total_seconds() == clients.LIMIT_S


_NO_HOST = """Generic S3 error: Error performing HEAD http://h/b/x in 1ms - HTTP error: error

Debug source: ... inner: Http(
    HttpError {
        kind: Connect,
        source: ... ConnectError("dns error", Custom {
            kind: Uncategorized,
            error: "failed to lookup address information: %s",
"""


_LOOKUP = "no connection: failed to lookup address information: "
_CERTIFICATE = "HttpError {\n kind: Connect,\n source: InvalidCertificate(UnknownIssuer)"
_STATUS_200 = "Generic S3 error: Server returned error response: <Error><Code>SlowDown</Code>"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            _NO_HOST % "Temporary failure in name resolution",
            Fault(f"{_LOOKUP}Temporary failure in name resolution"),
        ),
        (
            _NO_HOST % "Name or service not known",
            Fault(f"{_LOOKUP}Name or service not known", is_lasting=True),
        ),
        (f"HTTP error: error sending request\n {_CERTIFICATE}", None),
        (_STATUS_200, Fault("SlowDown", throttled=True)),
        ("Generic S3 error: Header x-ms-y is missing", None),
    ],
)
def test_faults_that_pass(message, expected):
    assert passing_fault(GenericError(message)) == expected


def test_a_host_that_nobody_knows_is_told_of_soon(monkeypatch):
    monkeypatch.setattr(clients, "LIMIT_S", 0.2)
    monkeypatch.setattr(retries, "_SHORT_LIMIT_S", 0.1)
    with pytest.raises(OSError, match=r"no connection: .*, also after \d+ tries"):
        requests.get("http://no-such-host.invalid/x")
