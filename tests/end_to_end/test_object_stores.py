"""A build on a store makes few requests, many at once, and survives outages of every kind."""

import gzip
import json
import re
import signal
import subprocess
import sys
import threading

import pytest
from end_to_end.building import build
from file_bytes import tar_bytes
from tiers import first_in_ci

from beam_pipeline.files import storage
from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.store import clients

OPTIONS = {
    "threads": 2,
    "num_shards": {"train": 3, "test": 3},
    "split": {"train": 0.6, "test": 0.4},
}
TRAIN = [
    *("train", "--epochs", 1, "--batch-size", 4, "--image-size", 16, "--devices", "cpu"),
    "--data",
]
LIMIT = re.compile(r"^error: .*503 Service Unavailable, also after \d+ tries", re.MULTILINE)

RECORDS = 120


@pytest.fixture
def images(tmp_path, write_image):
    """Small JPEGs, all different."""
    paths = (write_image(tmp_path / f"{number}.jpg", seed=number) for number in range(RECORDS))
    return [path.read_bytes() for path in paths]


def folders(images):
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "a_record"),
    first_in_ci(
        [
            pytest.param(folders, 1, id="folders"),
            # Inspected in ranges of many records.
            pytest.param(tar, 0, id="tar"),
            pytest.param(lambda images: {"a.tfrecord": records(images)}, 0, id="TFRecords"),
            # Unpacked once, then like the others.
            pytest.param(
                lambda images: {"a.tfrecord.gz": gzip.compress(records(images))}, 0, id="gz"
            ),
        ]
    ),
)
def test_requests_a_record(bucket, images, layout, a_record):
    """What was inspected waits on this machine until it is written."""
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


@pytest.mark.nightly
def test_each_byte_is_sent_once(bucket, images, tmp_path):
    """Objects are uploaded to their final keys, not copied there."""
    for name, data in folders(images).items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    url, store = bucket
    info = build(tmp_path / "in", f"{url}/out", num_shards=4)
    kept = sum(len(data) for place, data in store.objects.items() if "/out/" in place)
    assert kept < store.received_bytes < 1.2 * kept  # includes the claim and the receipts
    assert len(info.splits["train"]) == 4


def test_shards_of_a_build_that_lost_the_folder_are_deleted(bucket, write_image, tmp_path):
    """It was suspended while it put them; a user's own objects stay."""
    for name in ("cat/1.jpg", "dog/2.jpg"):
        write_image(tmp_path / "in" / name)
    url, store = bucket
    folder = f"{url}/out/in/1.0.0"
    strays = "in-train.tfrecord-00004-of-00009", "index/in-train.tfrecord-00004-of-00009.parquet"
    for name in (*strays, "notes.txt"):
        store.put(f"{folder}/{name}", b"stray")
    build(tmp_path / "in", f"{url}/out", name="in", threads=1, num_shards=1)
    names = {place.partition("/1.0.0/")[2] for place in store.objects if "/1.0.0/" in place}
    assert not names.intersection(strays)
    assert {"notes.txt", "metadata.json", "in-train.tfrecord-00000-of-00001"} <= names


@pytest.mark.nightly
def test_the_waits_of_reads_overlap(bucket, images):
    """So do most of the 64 that a process has in flight."""
    url, store = bucket
    for name, data in folders(images).items():
        store.put(f"{url}/in/{name}", data)
    store.latency_s = 0.05
    busy = []
    count = store.counted

    def counted(operation):
        if operation == "get":
            busy.append(store._at_once)
        return count(operation)

    store.counted = counted
    build(f"{url}/in", f"{url}/out", name="x", num_shards=2)
    assert sum(busy) / len(busy) >= 20


@pytest.fixture
def pets(bucket, tmp_path, class_folders):
    """The URL of class folders on a store, the same folders locally, and the store."""
    url, store = bucket
    local = class_folders(tmp_path / "pets")
    store.put_folder(f"{url}/pets", local)
    return f"{url}/pets", local, store


@pytest.fixture
def built(pets, tmp_path):
    """The local folder of a dataset of these pets."""
    build(pets[1], tmp_path / "data", **OPTIONS)
    return tmp_path / "data/pets/1.0.0"


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "build.json"
    }


def check_equal(store, output, built):
    """Check that the store has the local dataset, and nothing next to it."""
    prefix = "data/pets/1.0.0/"
    there = {
        place.partition(prefix)[2]: data
        for place, data in store.objects.items()
        if prefix in place and not place.endswith("build.json")
    }
    assert there == files(built)
    assert not [key for key in store.keys(output) if "/." in key]


def out(kind, seconds, operation):
    return lambda store, _: store.outage(kind, seconds, operation=operation)


def faults(store, url):
    """Status 0 closes the connection without a response, 1 during one."""
    for below, status, operation in (
        *(("pets/cat", 503, "get"), ("pets/dog", 0, "get"), ("pets/cat/004.jpg", 1, "get")),
        *(("pets", 500, "list"), ("data", 503, "list")),
        *(("data", 503, "put"), ("data", 429, "put")),
        *(("data", 503, "delete"), ("", 500, "delete_many")),
        *(("data", 0, "get"), ("data", 503, "head")),
    ):
        store.fail(f"{url}/{below}".rstrip("/"), status, times=2, operation=operation)
    store.out.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "begin"),
    [
        # tests/tfrecord_dataset/store/test_requests.py covers each kind and each request.
        ("gs", faults),
        pytest.param("s3", out("reset", 5, "put"), marks=pytest.mark.nightly),
        pytest.param("az", out("500", 5, "list"), marks=pytest.mark.nightly),
        pytest.param("gs", out("silent", 30, "put"), marks=pytest.mark.nightly),
        pytest.param("az", out("refused", 90, "get"), marks=pytest.mark.nightly),
    ],
)
def test_a_build_survives(pets, built, scheme, begin):
    url, _, store = pets
    url = url.replace("s3", scheme)
    output = url.replace("/pets", "/data")
    begin(store, url.removesuffix("/pets"))

    build(url, output, **OPTIONS)

    assert store.out.is_set()
    check_equal(store, output, built)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("below", "operation"),
    first_in_ci([("pets/dog", "get"), ("data", "put"), ("data/pets/1.0.0/README.md", "put")]),
)
def test_a_lasting_fault_ends_the_build_which_goes_on_later(
    pets, built, monkeypatch, below, operation
):
    url, _, store = pets
    url = url.replace("s3", "gs")
    bucket, output = url.removesuffix("/pets"), url.replace("/pets", "/data")
    monkeypatch.setattr(clients, "LIMIT_S", 1)
    store.fail(f"{bucket}/{below}", 503, operation=operation)
    named = f"503 Service Unavailable, also after .*{bucket}/{below.partition('/')[0]}"
    with pytest.raises(Exception, match=named):
        build(url, output, **OPTIONS)
    assert not storage.exists(f"{output}/pets/1.0.0/metadata.json")
    finished = [key for key in store.keys(output) if "/receipts/" in key]
    assert len(finished) == (6 if "README" in below else 0)

    store.mend()
    store.forget()
    build(url, output, **OPTIONS)
    check_equal(store, output, built)
    written = [place for operation, place in store.requests if operation == "put"]
    shards = [place for place in written if place.endswith("-of-00003")]
    assert len(shards) == 6 - len(finished)


@pytest.fixture
def uploaded(built, pets):
    """The dataset on the store, and the store."""
    url, _, store = pets
    url = url.replace("/pets", "/uploaded/pets/1.0.0")
    store.put_folder(url, built)
    return url, store


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "kind", "seconds"),
    [
        ("s3", "503", 5),
        pytest.param("gs", "reset", 30, marks=pytest.mark.nightly),
        pytest.param("az", "refused", 90, marks=pytest.mark.nightly),
    ],
)
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
@pytest.mark.parametrize("after", first_in_ci([0, 3]))
def test_after_the_limit_the_error_says_how_long_it_was_tried(
    uploaded, monkeypatch, command_here, tmp_path, after
):
    """And verify does not report unreadable files as damaged."""
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


@pytest.mark.slow
def test_a_suspended_build_notices_that_its_folder_was_deleted(pets, command_here):
    """The folder is deleted, and another build has put its shards when the first one wakes up."""
    _, local, store = pets
    output = pets[0].replace("/pets", "/data")
    waking = "build.json", "README.md"  # the last description before the commit, and the first
    builds, stopped = [], threading.Semaphore(0)
    fault = store.fault

    def suspending(path, operation, signed):
        number = len(builds) - 1
        if operation == "put" and path.endswith(f"1.0.0/{waking[number]}"):
            builds[number].send_signal(signal.SIGSTOP)
            stopped.release()
        return fault(path, operation, signed)

    store.fault = suspending
    for seed in (0, 1):
        words = ["build", local, "--output", output, "--threads", 1, "--seed", seed]
        builds.append(
            subprocess.Popen(
                [sys.executable, "-m", "beam_pipeline", *map(str, words)],
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        assert stopped.acquire(timeout=120)
        if seed == 0:
            store.objects.clear()
    codes = []
    for each in builds:
        each.send_signal(signal.SIGCONT)
        codes.append((each.communicate(timeout=120)[1], each.returncode))
    [(lost, failed), (_, succeeded)] = codes
    assert (failed, succeeded) == (1, 0), codes
    assert "was deleted while this build ran, and a build started 20" in lost
    assert "wait for that one, or build another --version" in lost
    done = command_here("beam_pipeline", "verify", f"{output}/pets")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        pytest.param("get", 0, id="get"),
        pytest.param("put", 0, id="put", marks=pytest.mark.nightly),
        pytest.param("get", 2000, id="worker processes inspect", marks=pytest.mark.nightly),
        # What was inspected is on this machine's disk; the first put is the claim.
        pytest.param("put", 1, id="worker processes encode", marks=pytest.mark.nightly),
    ],
)
def test_ctrl_c_ends_a_build_that_waits(pets, operation, after):
    url, local, store = pets
    image = next(local.rglob("*.jpg")).read_bytes()
    for number in range(3000 if after else 0):  # as many as worker processes have
        store.put(f"{url}/cat/{number}.jpg", image)
    store.outage("503", 3600, operation=operation, after=after)
    waiting = subprocess.Popen(
        [sys.executable, "-m", "beam_pipeline", "build", url, "--output", f"{url}-out"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert store.out.wait(60)
    waiting.send_signal(signal.SIGINT)
    _, printed = waiting.communicate(timeout=120)
    assert waiting.returncode == 130, printed
    assert "interrupted; run" in printed
