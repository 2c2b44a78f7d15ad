"""Records of a store: by ranges at first, in the order of local ones, while copies are made."""

import time

import numpy as np
import pytest
import tensorflow as tf

import trainer
from tfrecord_dataset.store.fetching import Fetcher

RECORDS, SHARDS = 400, 8
FRAME_BYTES = 16


@pytest.fixture(scope="module")
def local(tmp_path_factory, write_dataset, schema):
    """400 records of 20 KB in 8 shards, with their index."""
    filling = {**schema["number"], "name": "filling", "key": "filling", "kind": "bytes"}
    directory = write_dataset(
        tmp_path_factory.mktemp("data") / "tiny" / "1.0.0",
        [schema["number"], {**filling, "dtype": "bytes"}],
        {"train": [{"number": each, "filling": bytes(20_000)} for each in range(RECORDS)]},
        num_shards=SHARDS,
    )
    (directory / "idx").mkdir()
    for shard in directory.glob("*.tfrecord-*"):
        offset, lines = 0, []
        for record in tf.data.TFRecordDataset(str(shard)).as_numpy_iterator():
            lines.append(f"{offset} {len(record) + FRAME_BYTES}\n")
            offset += len(record) + FRAME_BYTES
        (directory / "idx" / f"{shard.name}.idx").write_text("".join(lines))
    return directory


@pytest.fixture
def stored(bucket, local):
    """The URL of the dataset on a store, and the store."""
    url, store = bucket
    store.put_folder(f"{url}/tiny/1.0.0", local)
    return f"{url}/tiny/1.0.0", store


def numbers(dataset, **options):
    found = dataset.batches(
        "train", batch_size=8, features="number", shuffle=True, seed=3, shuffle_buffer=32, **options
    )
    return np.concatenate([batch["number"] for batch in found.as_numpy_iterator()]).tolist()


@pytest.mark.slow
def test_training_needs_no_whole_shard_to_start(stored, local, tmp_path, monkeypatch):
    """Nothing is copied here: windows of 32 records fetch their ranges, many at once."""
    monkeypatch.setattr(Fetcher, "expect", lambda *_: None)
    url, store = stored
    remote = trainer.open(url, cache_dir=str(tmp_path))
    remote.split("train").index()
    store.forget()
    store.latency_s = 0.01
    assert numbers(remote) == numbers(trainer.open(local))
    shards = SHARDS * 50 * 20_060
    assert store.fetched_bytes < 6 * shards  # a gap of up to 256 KiB is read through
    assert store.calls["get"] <= RECORDS
    assert store.most_at_once >= 7
    assert not list(tmp_path.glob("*tfrecord*"))


@pytest.mark.slow
def test_what_is_copied_is_not_read_again(stored, local, tmp_path):
    url, store = stored
    remote = trainer.open(url, cache_dir=str(tmp_path))
    expected = numbers(trainer.open(local), repeat=2)
    assert numbers(remote, repeat=2) == expected
    wait_for_copies(tmp_path)
    store.forget()
    assert numbers(remote, repeat=2) == expected
    assert store.calls["get"] == 0


def wait_for_copies(folder):
    end = time.monotonic() + 60
    while len(list(folder.glob("*-of-00008"))) < SHARDS:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_a_cache_that_is_too_small_holds_what_it_may(stored, local, tmp_path):
    url, store = stored
    remote = trainer.open(url, cache_dir=str(tmp_path), cache_bytes=2_100_000)
    assert numbers(remote) == numbers(trainer.open(local))
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 2_100_000
    in_order = remote.batches("train", batch_size=8, features="number")
    assert sum(len(batch["number"]) for batch in in_order.as_numpy_iterator()) == RECORDS
    del store
