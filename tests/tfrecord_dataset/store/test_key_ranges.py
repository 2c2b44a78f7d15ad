"""Many keys of a store are listed in parallel, each once, with few requests for nothing."""

import bisect
import itertools
import random

import pytest
from fake_store import Handler
from tiers import first_in_ci

from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.store import key_ranges, objects
from tfrecord_dataset.store.listing import KeyRange, paths_in

COMPUTED = {
    "flat": lambda number: f"in/IMG_{number:08}.jpg",
    "class folders": lambda number: f"in/{number // 10:06}/{number % 10}.jpg",
    "hexadecimal": lambda number: f"in/{number * 4294:08x}-photo.jpg",
}


@pytest.fixture
def computed(bucket):
    """Fill the bucket with computed keys below in/; return its URL and the store."""
    url, store = bucket

    def fill(name, number):
        store.computed[url.partition("://")[2]] = number, COMPUTED[name]
        return f"{url}/in", store

    return fill


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *first_in_ci([(name, 50_000) for name in COMPUTED]),
        *(pytest.param(name, 1_000_000, marks=pytest.mark.nightly) for name in COMPUTED),
    ],
)
def test_a_listing_takes_hardly_more_requests_than_answers_and_makes_many_at_once(
    computed, name, number
):
    url, store = computed(name, number)
    store.latency_s = 0.15
    assert sum(len(each.names) for each in objects.list_names(url)) == number
    assert store.calls["list"] <= 1.25 * number / 1000 + 100  # parts without keys
    assert store.most_at_once > 4  # even on busy CPUs


@pytest.mark.parametrize(
    ("name", "requests"), [("flat", 20), ("hexadecimal", 64), ("class folders", 102)]
)
def test_a_layout_is_detected_without_most_of_a_million_keys(computed, name, requests):
    url, store = computed(name, 1_000_000)
    for other in ("labels.csv", "zebra/1.jpg", "IMG_00700000.json"):
        store.put(f"{url}/{other}", b"1")
    entries = set(objects.scan_folder(url))
    assert entries >= {("labels.csv", False), ("zebra", True)}
    assert (("", False) in entries) == (name != "class folders")
    assert store.calls["list"] <= requests


def test_a_folder_of_some_thousand_keys_is_looked_at_whole(computed):
    url, store = computed("flat", 4500)
    entries = list(objects.scan_folder(url))
    assert len(entries) == 4500
    assert ("", False) not in entries
    assert store.calls["list"] == 5


def names(draw):
    """Draw keys that share long beginnings, with characters next to "/" and beyond ASCII."""
    name = ("".join(draw.choices("aab-.0~é漢", k=draw.randint(1, 4))) for _ in itertools.count())
    folders = ["", *(f"{each}/" for each in itertools.islice(name, 4))]
    keys = {draw.choice(folders) + draw.choice(("IMG_00", "")) + next(name) for _ in range(60)}
    return sorted(key for key in keys if not {".", "..", ""}.intersection(key.split("/")))


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_each_key_is_listed_once(bucket, monkeypatch, scheme):
    monkeypatch.setattr(key_ranges, "KEYS_A_REQUEST", 3)
    monkeypatch.setattr(key_ranges, "_REQUESTS_AT_ONCE", 4)
    _, store = bucket
    draw = random.Random(0)
    for _ in range(10):
        url, keys = f"{scheme}://{store.new_bucket()}", names(draw)
        for key in keys:
            store.put(f"{url}/in/{key}", b"1")
        for folder in {key.rpartition("/")[0] for key in keys if "/" in key}:
            store.put(f"{url}/in/{folder}/")  # the marker of a console
        kept = sorted(key for key in keys if not key.startswith(".") and "/." not in key)
        assert sorted(paths_in(objects.list_names(f"{url}/in"))) == kept
        parts = list(objects.list_parts(f"{url}/in"))
        files = [part for part in parts if not isinstance(part, KeyRange)]
        ranges = [part for part in parts if isinstance(part, KeyRange)]
        rest = list(objects.list_names(f"{url}/in", ranges))
        assert sorted(paths_in([*files, *rest])) == kept


def test_a_store_that_begins_each_listing_at_its_first_key_is_refused(computed, monkeypatch):
    url, _ = computed("flat", 5000)
    page = Handler._page
    monkeypatch.setattr(Handler, "_page", lambda self, store, after: page(self, store, ""))
    with pytest.raises(ConfigError, match=r"lacks start-after.*copy the data"):
        list(objects.list_names(url))


def test_the_ranges_of_workers_are_even(computed):
    url, _ = computed("class folders", 1_000_000)
    ranges = [part for part in objects.list_parts(url) if isinstance(part, KeyRange)]
    ends = [
        bisect.bisect_right(range(1_000_000), each.end or "z", key=COMPUTED["class folders"])
        - bisect.bisect_right(range(1_000_000), each.after, key=COMPUTED["class folders"])
        for each in ranges
    ]
    assert len(ranges) >= 64
    assert sum(ends) > 850_000
    assert max(ends) < 100_000
