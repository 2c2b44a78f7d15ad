"""Datasets on a store, read through local copies."""

import dataclasses
import itertools
import json
import os
from collections import Counter

import numpy as np
import pytest
from tiers import first_in_ci

import trainer
from tfrecord_dataset.format.metadata import FileEntry, index_file
from tfrecord_dataset.json_file import sealed
from trainer.commands import main
from trainer.errors import ConfigError, DatasetDamagedError, NotADatasetError
from trainer.input_pipeline.tensorflow_errors import readable_errors
from trainer.order import Order


@pytest.fixture
def stored(bucket, colors):
    """URL of `colors` on a store, and the store."""
    url, store = bucket
    store.put_folder(f"{url}/data/tiny/1.0.0", colors)
    return f"{url}/data/tiny/1.0.0", store


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The user's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def numbers(dataset, **options):
    found = dataset.batches("train", batch_size=8, features="number", **options)
    return np.concatenate([batch["number"] for batch in found.as_numpy_iterator()]).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme",
    first_in_ci(["s3", "gs", "az"]),
)
def test_remote_records_come_in_the_order_of_local_ones(stored, colors, scheme):
    url, store = stored
    remote = trainer.open(url.replace("s3://", f"{scheme}://"))
    local = trainer.open(colors)
    assert dict(remote.features) == dict(local.features)
    for options in ({}, {"shuffle": True, "seed": 5, "repeat": 2}):
        assert numbers(remote, **options) == numbers(local, **options)
    gets = [place for operation, place in store.requests if operation == "get"]
    shards = [place for place in gets if "tiny-train" in place]
    assert len(set(shards)) == 3
    assert len(shards) <= 4  # one is opened to detect compression


def test_shards_are_copied_once_or_read_by_ranges(stored, colors, tmp_path):
    url, store = stored
    order = {"shuffle": True, "seed": 3, "repeat": 2}
    expected = numbers(trainer.open(colors), **order)
    assert numbers(trainer.open(url, cache_dir=str(tmp_path / "cache")), **order) == expected
    store.forget()
    assert numbers(trainer.open(url, cache_dir=str(tmp_path / "cache")), **order) == expected
    assert not [place for operation, place in store.requests if "tiny-train" in place][3:]

    small = trainer.open(url, cache_dir=str(tmp_path / "small"), cache_bytes=1000)
    assert numbers(small, **order) == expected
    assert not list((tmp_path / "small").glob("*tiny-train*"))


GROUP, NUM_SHARDS = 16, 40


@pytest.fixture
def many_shards(bucket, tmp_path, write_dataset, schema):
    """URL of a dataset of 40 shards, a local copy, and the store."""
    url, store = bucket
    records = [{"number": number} for number in range(8 * NUM_SHARDS)]
    local = write_dataset(
        tmp_path / "many" / "1.0.0", [schema["number"]], {"train": records}, num_shards=NUM_SHARDS
    )
    (local / "idx").mkdir()
    files = {}
    index = trainer.open(local).index("train")
    for shard, name in enumerate(index.shards.files.names):
        rows = itertools.pairwise(index.bounds_of(shard).tolist())
        lines = [f"{start} {end - start}\n" for start, end in rows]
        file = local / index_file(os.path.basename(name))
        file.write_text("".join(lines))
        entry = FileEntry.of(file.read_bytes())
        files[str(file.relative_to(local))] = dataclasses.asdict(entry)
    facts = json.loads((local / "metadata.json").read_text())
    del facts["checksum"]
    (local / "metadata.json").write_text(sealed({**facts, "files": files}))
    store.put_folder(f"{url}/many/1.0.0", local)
    return f"{url}/many/1.0.0", local, store


def in_groups(path, folder, **options):
    """Open a dataset with a cache that has space for two groups; return its numbers in order."""
    sizes = [split.num_bytes for split in trainer.open(path).splits.values()]
    space = -(-sum(sizes) * 2 * GROUP // NUM_SHARDS)
    dataset = trainer.open(path, cache_dir=str(folder), cache_bytes=space)
    order = {"shuffle": True, "seed": 3, "shuffle_shards": GROUP, "shuffle_buffer": 30}
    return numbers(dataset, **order, **options)


def gets_of_shards(store):
    """Return the number of reads by shard."""
    gets = [place for operation, place in store.requests if operation == "get"]
    return dict(Counter(place for place in gets if place.endswith(f"-of-{NUM_SHARDS:05}")))


def test_each_byte_of_a_split_larger_than_the_cache_is_fetched_once_a_pass(many_shards, tmp_path):
    url, local, store = many_shards
    expected = in_groups(local, tmp_path / "unused", repeat=2)
    trainer.open(url).index("train")
    store.forget()

    assert in_groups(url, tmp_path / "cache") == expected[: 8 * NUM_SHARDS]

    fetched = gets_of_shards(store)
    assert fetched.pop(min(fetched)) == 2  # also when the dataset was opened to see its size
    assert fetched == dict.fromkeys(fetched, 1)
    assert len(fetched) == NUM_SHARDS - 1
    store.forget()
    assert in_groups(url, tmp_path / "other", repeat=2) == expected
    fetched = gets_of_shards(store)
    assert fetched.pop(min(fetched)) <= 3
    assert {*fetched.values()} == {1, 2}  # the last group may still be there


def test_the_first_batch_of_a_run_needs_the_shards_of_one_group(many_shards, tmp_path):
    url, local, store = many_shards
    lengths = trainer.open(local).index("train").shard_lengths
    order = Order(lengths, seed=3, window=30, group=GROUP)
    first_record = 150
    needed = order.shards(0, order.find(0, first_record))
    assert len(needed) <= GROUP
    for number in {*range(NUM_SHARDS)} - {*needed.tolist(), 0}:  # 0 shows the compression
        name = f"{url}/tiny-train.tfrecord-{number:05}-of-{NUM_SHARDS:05}"
        store.fail(name, 403, operation="get")
    dataset = trainer.open(url, cache_dir=str(tmp_path / "cache"))
    options = {"shuffle": True, "seed": 3, "shuffle_shards": GROUP, "shuffle_buffer": 30}
    batches = dataset.batches("train", batch_size=8, first_record=first_record, **options)

    batch = next(iter(batches))["number"].numpy().tolist()

    assert batch == in_groups(local, tmp_path / "unused")[first_record : first_record + 8]


@pytest.mark.parametrize("above", ["", "/..", "/../.."])
def test_the_newest_version_is_found(stored, above):
    url, store = stored
    directory = url.removesuffix("/1.0.0")
    for key in store.keys(url):
        data = store.objects[f"{url.removeprefix('s3://').partition('/')[0]}/{key}"]
        store.put(f"{directory}/0.9.0/{key.rpartition('/')[2]}", data)
    store.put(f"{directory}/2.0.0/unfinished")
    path = {"": url, "/..": directory, "/../..": directory.rpartition("/")[0]}[above]
    assert trainer.open(path).path == url


def test_a_web_servers_dataset_is_opened_by_its_own_directory(stored):
    url, store = stored
    web = url.replace("s3://", f"{store.endpoint}/")
    assert len(numbers(trainer.open(web))) == 50
    with pytest.raises(ConfigError, match="cannot list files; name a file"):
        trainer.open(web.removesuffix("/1.0.0") + "/*")


def test_bare_files(stored, colors):
    url, _ = stored
    remote = trainer.open(f"{url}/tiny-*.tfrecord-*")
    local = trainer.open(str(colors / "tiny-*.tfrecord-*"))
    assert list(remote.splits) == list(local.splits) == ["test", "train", "validation"]
    assert remote.num_records("train") == 50
    assert sorted(numbers(remote, shuffle=True)) == list(range(50))


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("{bucket}/nowhere", NotADatasetError, "no file or directory s3://.*/nowhere"),
        ("{bucket}/data/other*", NotADatasetError, "no file or directory s3://.*other"),
        ("s3://no-such-bucket-of-mine/data", ConfigError, "there is no bucket s3://no-such-buc"),
        ("s3://bucket*/data", ConfigError, "cannot have a wildcard"),
        ("{bucket}/half", NotADatasetError, "s3://.*/half is not a finished dataset"),
    ],
)
def test_what_is_not_there(stored, path, error, message):
    url, store = stored
    bucket = url.removesuffix("/data/tiny/1.0.0")
    store.put(f"{bucket}/half/1.0.0/tiny-train.tfrecord-00000-of-00001")
    with pytest.raises(error, match=message):
        trainer.open(path.format(bucket=bucket))


def test_a_shard_that_is_not_there(stored):
    url, store = stored
    bucket = url.removeprefix("s3://").partition("/")[0]
    del store.objects[f"{bucket}/data/tiny/1.0.0/tiny-train.tfrecord-00001-of-00003"]
    with pytest.raises(DatasetDamagedError, match="lacks 1 of 3 shards of split 'train'"):
        trainer.open(url)


def test_a_shard_that_changed_or_cannot_be_read(stored):
    url, store = stored
    shard = f"{url}/tiny-train.tfrecord-00001-of-00003"
    store.fail(shard, 403, operation="get")
    with pytest.raises(ConfigError, match=f"{shard} cannot be read"), readable_errors():
        numbers(trainer.open(url))
    store.mend()
    store.put(shard, store.objects[shard.removeprefix("s3://")].replace(b"number", b"Number"))
    with pytest.raises(DatasetDamagedError, match=f"{shard} has sha256"), readable_errors():
        numbers(trainer.open(url))


@pytest.mark.slow
def test_the_commands_train_and_evaluate(stored, tmp_path, capsys, home):
    url, _ = stored
    run, cache = str(tmp_path / "run"), tmp_path / "cache"
    data = ["--data", url.removesuffix("/1.0.0"), "--cache-dir", str(cache)]
    data += ["--cache-bytes", "1GB", "--devices", "cpu", "--quiet"]
    options = ["--epochs", "1", "--batch-size", "16", "--image-size", "16"]
    assert main(["train", *data, "--output", run, *options]) == 0
    assert main(["evaluate", *data, "--run", run]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["num_records"] == 7
    predictions = [*("--run", run), "--split", "test", "--quiet"]
    assert main(["predict", data[1], *data[2:6], *predictions]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert main(["predict", f"{url}/tiny.jpg", *predictions[:2]]) == 2
    assert "build a dataset of them" in capsys.readouterr().err
    assert len([name for name in os.listdir(cache) if ".tfrecord-" in name]) == 9
    assert not home.exists()
