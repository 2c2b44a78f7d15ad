"""The commit on an object store: few requests, many at once; cut off, it goes on."""

import contextlib
import dataclasses
import datetime
import hashlib
import itertools
import json
import threading

import pytest

from beam_pipeline import BuildConfig
from beam_pipeline.assign.placement import SplitPlan
from beam_pipeline.assign.plan import Plan
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.describe import index
from beam_pipeline.describe.shard_info import ShardInfo, TemporaryFile
from beam_pipeline.errors import ConfigError, DatasetExistsError
from beam_pipeline.files import storage
from beam_pipeline.write.commit import commit
from beam_pipeline.write.receipts import Receipt, drop_unfinished, finished_part, write_receipt
from beam_pipeline.write.sink import split_sink
from beam_pipeline.write.working_directory import working_dir, working_root

NUM_SHARDS = 40
NUM_FILES = 3 * NUM_SHARDS
PLAN = Plan(
    splits={
        "train": SplitPlan(
            num_records=NUM_SHARDS,
            num_bytes=NUM_SHARDS,
            first_bins=tuple(range(NUM_SHARDS)),
            first_records=tuple(range(NUM_SHARDS)),
        )
    },
    schema=(),
    numbers_ids=True,
    problem=None,
)


@pytest.fixture
def store(bucket):
    _, store = bucket
    return store


@pytest.fixture
def wait_for(store, monkeypatch):
    """Makes the first requests of an operation wait until so many are under way at once."""

    def wait(operation, count):
        barrier = threading.Barrier(count, timeout=60)
        numbers = itertools.count()
        count_request = store.counted

        @contextlib.contextmanager
        def counted(name):
            with count_request(name):
                if name == operation and next(numbers) < count:
                    barrier.wait()
                yield

        monkeypatch.setattr(store, "counted", counted)

    return wait


@pytest.fixture
def config(bucket):
    url, _ = bucket
    return BuildConfig(output=f"{url}/out", name="pets", overwrite=True)


@pytest.fixture
def shards(store, config):
    """Finished shards, each with its index and receipt, beside something unfinished."""
    infos = [shard_info(config, number) for number in range(NUM_SHARDS)]
    for info in infos:
        for file in info.temporary.values():
            store.put(file.path, bytes(file.num_bytes))
        receipt = Receipt(digest=f"digest {info.shard}", num_bytes=1, files=info.temporary)
        write_receipt(config, f"train-{info.shard:05d}", receipt)
    store.put(f"{working_dir(config)}/train/unfinished.tfrecord", b"...")
    store.forget()
    return infos


def shard_info(config, number):
    file = split_sink(config, "train").final_name(number, NUM_SHARDS)
    folder = working_dir(config)
    paths = {
        file: f"{folder}/train/{number:05d}-a.tfrecord",
        f"index/{file}.parquet": f"{folder}/index/{number}.parquet",
        f"idx/{file}.idx": f"{folder}/index/{number}.idx",
    }
    sha256 = hashlib.sha256(bytes(number + 1)).hexdigest()
    return ShardInfo(
        split="train",
        shard=number,
        file=file,
        num_records=1,
        num_bytes=1,
        sha256=sha256,
        temporary={final: TemporaryFile(path, number + 1, sha256) for final, path in paths.items()},
    )


def sizes_below(store, url):
    """The sizes of all objects below a URL, by the rest of their key."""
    place = url.partition("://")[2] + "/"
    return {
        name.removeprefix(place): len(data)
        for name, data in store.objects.items()
        if name.startswith(place)
    }


def check_whole(store, config, shards):
    """That the dataset's directory holds its shards and what describes them, and nothing else."""
    files = sizes_below(store, config.dataset_dir)
    final = {path: file.num_bytes for info in shards for path, file in info.temporary.items()}
    assert final.items() <= files.items()
    assert files.keys() - final.keys() == {
        *("metadata.json", "build.json", "rejects.jsonl"),
        *("dataset_info.json", "features.json", "schema.pbtxt", "statistics.json", "README.md"),
        "croissant.json",
    }
    metadata = json.loads(storage.read_text(f"{config.dataset_dir}/metadata.json"))
    assert metadata["splits"]["train"]["num_records"] == NUM_SHARDS


def test_few_requests_and_many_at_once(store, config, shards, wait_for):
    wait_for("copy", 64)
    commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)

    calls = store.calls
    assert calls["copy"] == NUM_FILES + 1  # rejects.jsonl
    assert calls.total() - NUM_FILES < 30, "the others do not grow with every shard"
    check_whole(store, config, shards)


def test_an_older_build_goes(store, config, shards):
    root = config.dataset_dir
    for number in range(NUM_SHARDS + 20):
        name = f"pets-train.tfrecord-{number:05d}-of-{NUM_SHARDS + 20:05d}"
        for path in (name, *index.files(name)):
            store.put(f"{root}/{path}", b"older")
    for path in ("metadata.json", "failed-rejects.jsonl"):
        store.put(f"{root}/{path}", b"older")
    store.put(f"{root}/{shards[0].file}", b"of the same name")
    commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)

    check_whole(store, config, shards)


@pytest.mark.parametrize(("idle", "goes"), [({"hours": 1}, False), ({"days": 2}, True)])
def test_other_builds_go_once_they_are_abandoned(store, config, shards, idle, goes):
    """No lock tells on a store whether another one, with other options, still runs."""
    store.date = datetime.datetime.now(datetime.UTC) - datetime.timedelta(**idle)
    store.put(f"{working_root(config)}/other/train/x.tfrecord", b"...")
    commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)
    assert bool(storage.list_dir(working_root(config))) != goes


def test_the_older_dataset_stays_until_its_files_are_copied_over(store, config, shards):
    """Shards of other names come first, while a reader finds the older dataset whole."""
    root = config.dataset_dir
    for path in ("metadata.json", shards[3].file, "dataset_info.json"):
        store.put(f"{root}/{path}", b"older")
    store.fail(f"{root}/{shards[7].file}", 403, operation="copy")
    with pytest.raises(PermissionError):
        commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)
    files = sizes_below(store, root)
    assert [files[path] for path in ("metadata.json", shards[3].file, "dataset_info.json")] == [
        5
    ] * 3
    assert shards[5].file in files

    store.mend()
    commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)
    check_whole(store, config, shards)


@pytest.mark.slow
@pytest.mark.parametrize("operation", ["copy", "put", "list"])
def test_cut_off_and_run_again(store, config, shards, operation):
    """As a runner does after a worker is lost; also when all was done but for the last step."""
    place = {
        "copy": f"{config.dataset_dir}/{shards[7].file}",
        "put": f"{config.dataset_dir}/metadata.json",
        "list": working_root(config),
    }
    store.fail(place[operation], 403, times=1, operation=operation)
    with pytest.raises((OSError, ConfigError)):
        commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)
    is_committed = storage.exists(f"{config.dataset_dir}/metadata.json")
    assert is_committed == (operation == "list")

    for _ in range(2):
        commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)
        check_whole(store, config, shards)


def test_a_dataset_that_appeared_meanwhile_stays(store, config, shards):
    """Another build has committed since this one began; without --overwrite it wins."""
    config = dataclasses.replace(config, overwrite=False)
    store.put(f"{config.dataset_dir}/metadata.json", b"another's")
    with pytest.raises(DatasetExistsError, match="meanwhile; pass --overwrite"):
        commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)
    assert storage.read_text(f"{config.dataset_dir}/metadata.json") == "another's"
    assert storage.list_dir(working_root(config)), "finished shards stay for the next build"


def test_an_equal_dataset_that_appeared_meanwhile_is_the_result(store, config, shards):
    config = dataclasses.replace(config, overwrite=False)
    commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)
    store.calls.clear()
    commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)
    assert not store.calls["copy"]
    check_whole(store, config, shards)


def test_a_lost_file_fails_the_commit(store, config, shards):
    store.objects.pop(shards[7].temporary[shards[7].file].path.partition("://")[2])
    with pytest.raises(FileNotFoundError):
        commit(config, PLAN, Statistics(), shards, [], num_read=NUM_SHARDS)
    assert not storage.exists(f"{config.dataset_dir}/metadata.json")


@pytest.mark.parametrize(
    ("trusted", "requests"), [(False, {"get": 4, "head": 3}), (True, {"get": 1, "head": 3})]
)
def test_what_a_resumed_shard_costs(store, config, shards, wait_for, trusted, requests):
    wait_for("head", 3)
    config = dataclasses.replace(config, trust_receipts=trusted)
    files = shards[7].temporary
    assert finished_part(config, "train-00007", "digest 7", files).files == files
    assert store.calls == requests


def test_what_a_failure_leaves_is_deleted_many_at_once(store, config, shards, wait_for):
    wait_for("get", NUM_SHARDS)
    before = sizes_below(store, working_dir(config))
    for number in range(1500):
        store.put(f"{working_dir(config)}/unpacked/{number}", b"unfinished")
    drop_unfinished(config, OSError())

    del before["train/unfinished.tfrecord"]
    assert sizes_below(store, working_dir(config)) == before
    assert store.calls["get"] == NUM_SHARDS
    assert store.calls.total() - NUM_SHARDS < 100, "1,500 files"


@pytest.mark.parametrize("operation", ["list", "get", "delete_many"])
def test_what_cannot_be_deleted_hides_no_error(store, config, shards, operation):
    store.fail(f"{config.output}", 403, operation=operation)
    store.fail(config.output.rpartition("/")[0], 403, operation=operation)
    drop_unfinished(config, OSError())
    assert store.calls[operation]
