"""A build makes few requests per record, many at once, with one client."""

import gzip

import pytest
from end_to_end.building import build
from file_bytes import tar_bytes

from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.store import clients

RECORDS = 120

pytestmark = pytest.mark.slow


@pytest.fixture
def images(tmp_path, write_image):
    """Small JPEGs, all different."""
    paths = (write_image(tmp_path / f"{number}.jpg", seed=number) for number in range(RECORDS))
    return [path.read_bytes() for path in paths]


def class_folders(images):
    return {f"{number % 2}/{number}.jpg": data for number, data in enumerate(images)}


def tar(images):
    members = [
        (f"{number:04d}.{suffix}", part)
        for number, data in enumerate(images)
        for suffix, part in (("jpg", data), ("cls", str(number % 2).encode()))
    ]
    return {"a.tar": tar_bytes(members)}


def records(images):
    return b"".join(
        framed(encode({"image/encoded": [data], "label": [number % 2]}))
        for number, data in enumerate(images)
    )


@pytest.mark.parametrize(
    ("layout", "a_record"),
    [
        # Each image is read twice, to inspect and to write it.
        pytest.param(class_folders, 2, id="folders"),
        # Inspected in ranges of many records; written in random order.
        pytest.param(tar, 1, id="tar"),
        pytest.param(lambda images: {"a.tfrecord": records(images)}, 1, id="TFRecords"),
        # Unpacked once, then like the others.
        pytest.param(lambda images: {"a.tfrecord.gz": gzip.compress(records(images))}, 1, id="gz"),
    ],
)
def test_requests_a_record(bucket, images, layout, a_record):
    url, store = bucket
    for name, data in layout(images).items():
        store.put(f"{url}/in/{name}", data)
    store.latency_s = 0.005
    before = clients._made.cache_info().misses

    info = build(f"{url}/in", f"{url}/out", name="x", num_shards=2)

    assert sum(map(info.num_records, info.splits)) == RECORDS
    assert store.calls["get"] <= a_record * RECORDS + 12
    fixed = sum(store.calls.values()) - store.calls["get"]
    assert fixed <= 70  # listings, receipts, descriptions and the commit, for any number of records
    assert clients._made.cache_info().misses - before == 1


def test_each_byte_is_sent_once(bucket, images, tmp_path):
    """Objects are uploaded to their final keys, not copied there."""
    for name, data in class_folders(images).items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    url, store = bucket
    info = build(tmp_path / "in", f"{url}/out", num_shards=4)
    kept = sum(len(data) for place, data in store.objects.items() if "/out/" in place)
    assert kept < store.received_bytes < 1.2 * kept  # includes the claim and the receipts
    assert len(info.splits["train"]) == 4


def test_the_waits_of_reads_overlap(bucket, images):
    """At least seven reads are in flight on average."""
    url, store = bucket
    for name, data in class_folders(images).items():
        store.put(f"{url}/in/{name}", data)
    store.latency_s = 0.05
    busy = []
    count = store.counted

    def counted(operation):
        if operation == "get":
            busy.append(store._at_once)
        return count(operation)

    store.counted = counted
    build(f"{url}/in", f"{url}/out", name="x", num_shards=2, threads=16)
    assert sum(busy) / len(busy) >= 7
