"""The commit on an object store makes few requests, many at once, and resumes if interrupted."""

import contextlib
import dataclasses
import hashlib
import itertools
import json
import threading

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

import beam_pipeline
from beam_pipeline import BuildConfig
from beam_pipeline.assign.dataset_plan import Plan
from beam_pipeline.assign.placement import SplitPlan
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.describe.shard_info import ShardInfo, TemporaryFile
from beam_pipeline.errors import (
    BeamTFRecordsError,
    ConfigError,
    CountMismatchError,
)
from beam_pipeline.files import storage
from beam_pipeline.pipeline import WriteDataset
from beam_pipeline.records import Record, Rejected
from beam_pipeline.running.runner import local_runner
from beam_pipeline.write import commit as commit_module
from beam_pipeline.write import rejects_file
from beam_pipeline.write.commit import check_counts, commit, is_build_file
from beam_pipeline.write.directories import working_dir, working_root
from beam_pipeline.write.receipts import Receipt, drop_unfinished, finished_part, write_receipt
from beam_pipeline.write.rejects_file import SortedRejects
from beam_pipeline.write.write_shards import split_sink

NUM_SHARDS = 24
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
    """Block the first requests of an operation until this many are in progress."""

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
    return BuildConfig(output=f"{url}/out", name="pets")


@pytest.fixture
def shards(store, config):
    """Finished shards with index and receipt, and an unpacked file."""
    infos = [shard_info(config, number) for number in range(NUM_SHARDS)]
    for info in infos:
        for file in info.temporary.values():
            store.put(file.path, bytes(file.num_bytes))
        receipt = Receipt(digest=f"digest {info.shard}", num_bytes=1, files=info.temporary)
        write_receipt(config, f"train-{info.shard:05d}", receipt)
    store.put(f"{working_dir(config)}/unpacked/a.tar", b"...")
    store.forget()
    return infos


def shard_info(config, number):
    file = split_sink(config, "train").final_name(number, NUM_SHARDS)
    paths = (file, f"index/{file}.parquet", f"idx/{file}.idx")
    content = bytes(number + 1)
    sha256, version = hashlib.sha256(content).hexdigest(), hashlib.md5(content).hexdigest()
    return ShardInfo(
        split="train",
        shard=number,
        file=file,
        num_records=1,
        num_bytes=1,
        sha256=sha256,
        temporary={
            path: TemporaryFile(f"{config.dataset_dir}/{path}", len(content), sha256, version)
            for path in paths
        },
    )


def sizes_below(store, url):
    """Return the sizes of all objects below a URL, by relative key."""
    place = url.partition("://")[2] + "/"
    return {
        name.removeprefix(place): len(data)
        for name, data in store.objects.items()
        if name.startswith(place)
    }


def check_whole(store, config, shards):
    """Assert that the dataset's directory contains only its shards and descriptions."""
    files = sizes_below(store, config.dataset_dir)
    final = {path: file.num_bytes for info in shards for path, file in info.temporary.items()}
    assert final.items() <= files.items()
    assert files.keys() - final.keys() == {
        *("metadata.json", "build.json", "rejects.jsonl"),
        *("dataset_info.json", "features.json", "schema.pbtxt", "statistics.json", "README.md"),
        *("croissant.json", "recipe.yaml"),
    }
    metadata = json.loads(storage.read_text(f"{config.dataset_dir}/metadata.json"))
    assert metadata["splits"]["train"]["num_records"] == NUM_SHARDS


def test_in_a_job_of_many_workers(bucket, store, tmp_path, monkeypatch, digests):
    """Rejects and statistics are distributed; the bytes equal those of a local build."""
    url, _ = bucket
    monkeypatch.setattr(rejects_file, "_RUN_REJECTS", 20)
    records = [Record(key=str(n), features={"n": n, "name": f"{n % 3}"}) for n in range(100)]
    bad = [Rejected(source=f"{n}.jpg", reason="r", detail="d", bad=False) for n in range(60)]
    options = {"name": "t", "num_shards": NUM_SHARDS}
    here = BuildConfig(output=str(tmp_path / "here"), **options)
    beam_pipeline.build(here, source=beam.Create(records + bad))
    there = BuildConfig(output=f"{url}/out", **options)
    written = []
    write_rejects = commit_module.write_rejects
    monkeypatch.setattr(
        commit_module,
        "write_rejects",
        lambda config, found: written.append(found) or write_rejects(config, found),
    )
    with beam.Pipeline(local_runner(), PipelineOptions([])) as pipeline:
        _ = pipeline | beam.Create(records + bad) | WriteDataset(there)

    [found] = written
    assert len(found.runs) > 2
    assert found.count == len(bad)
    assert not store.calls["copy"]
    for path, data in store.objects.items():
        file = tmp_path / "there" / path.partition("/out/")[2]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    found = digests(tmp_path / "there/t/1.0.0")
    expected = digests(tmp_path / "here/t/1.0.0")
    assert found == {path: each for path, each in expected.items() if "report" not in path}


def test_few_requests(store, config, shards):
    commit(config, PLAN, Statistics(), shards, SortedRejects(), num_read=NUM_SHARDS)

    calls = store.calls
    assert not calls["copy"]
    assert calls.total() - calls["put"] < 20, "whatever the number of shards"
    check_whole(store, config, shards)


@pytest.mark.parametrize(("place", "operation"), [("metadata.json", "put"), ("", "list")])
def test_cut_off_and_run_again(store, config, shards, place, operation):
    """A runner does this after losing a worker, even if only the last step was left."""
    place = f"{config.dataset_dir}/{place}" if place else working_root(config)
    store.fail(place, 403, times=1, operation=operation)
    with pytest.raises((OSError, ConfigError)):
        commit(config, PLAN, Statistics(), shards, SortedRejects(), num_read=NUM_SHARDS)
    is_committed = storage.exists(f"{config.dataset_dir}/metadata.json")
    assert is_committed == (operation == "list")

    for _ in range(2):
        commit(config, PLAN, Statistics(), shards, SortedRejects(), num_read=NUM_SHARDS)
        check_whole(store, config, shards)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        (
            "metadata.json",
            BeamTFRecordsError,
            "another build has written .* in the meantime; choose",
        ),
        ("features.json", BeamTFRecordsError, "features.json is from another build.* delete"),
        ("rejects.jsonl", BeamTFRecordsError, "rejects.jsonl is from another build.* delete"),
    ],
)
def test_what_appeared_meanwhile_stays(store, config, shards, path, error, message):
    """Another build has written since this one began."""
    store.put(f"{config.dataset_dir}/{path}", b"another's")
    with pytest.raises(error, match=message):
        commit(config, PLAN, Statistics(), shards, SortedRejects(), num_read=NUM_SHARDS)
    assert storage.read_text(f"{config.dataset_dir}/{path}") == "another's"
    assert storage.list_dir(working_root(config)), "receipts stay for the next build"


def test_a_lost_file_fails_the_commit(store, config, shards):
    store.objects.pop(shards[7].temporary[shards[7].file].path.partition("://")[2])
    with pytest.raises(FileNotFoundError):
        commit(config, PLAN, Statistics(), shards, SortedRejects(), num_read=NUM_SHARDS)
    assert not storage.exists(f"{config.dataset_dir}/metadata.json")


def test_what_a_resumed_shard_costs(store, config, shards, wait_for):
    wait_for("head", 3)
    files = shards[7].temporary
    assert finished_part(config, "train-00007", "digest 7", files).files == files
    assert store.calls == {"get": 4, "head": 3}


def test_what_a_failure_leaves_is_deleted_many_at_once(store, config, shards, wait_for):
    wait_for("get", NUM_SHARDS)
    store.objects.pop(f"{working_dir(config)}/unpacked/a.tar".partition("://")[2])
    before = sizes_below(store, config.dataset_dir)
    for number in range(1500):
        store.put(f"{working_dir(config)}/unpacked/{number}", b"unfinished")
    drop_unfinished(config)

    assert sizes_below(store, config.dataset_dir) == before
    assert store.calls["get"] == NUM_SHARDS
    assert store.calls.total() - NUM_SHARDS < 100, "1,500 files"


@pytest.mark.parametrize("operation", ["list", "get", "delete_many"])
def test_what_cannot_be_deleted_hides_no_error(store, config, shards, operation):
    store.fail(f"{config.output}", 403, operation=operation)
    store.fail(config.output.rpartition("/")[0], 403, operation=operation)
    drop_unfinished(config)
    assert store.calls[operation]


COUNTED = dataclasses.replace(
    PLAN,
    splits={
        "train": SplitPlan(num_records=10, num_bytes=9, first_bins=(0, 5), first_records=(0, 6)),
        "test": SplitPlan(num_records=2, num_bytes=20, first_bins=(0,), first_records=(0,)),
    },
)


def written(split, number, num_records):
    return ShardInfo(
        split=split,
        shard=number,
        file=f"{split}{number}",
        num_records=num_records,
        num_bytes=10,
        sha256="",
        temporary={},
    )


ALL = (written("train", 0, 6), written("train", 1, 4), written("test", 0, 2))


@pytest.mark.parametrize(
    ("shards", "num_rejected", "num_read"),
    [
        pytest.param(ALL, 3, 16, id="a record was lost before the shards"),
        pytest.param(ALL, 2, 15, id="a reject was lost"),
        pytest.param((*ALL[:2], written("test", 0, 1)), 3, 15, id="a record was lost on its way"),
        pytest.param((*ALL[:2], written("test", 0, 3)), 3, 15, id="a record came twice"),
        pytest.param(ALL[:2], 5, 15, id="a shard was lost"),
        pytest.param((*ALL, ALL[2]), 1, 15, id="a shard came twice"),
        pytest.param(
            (written("train", 0, 5), ALL[1], written("test", 0, 3)),
            3,
            15,
            id="one lost, another twice",
        ),
    ],
)
def test_what_does_not_add_up(shards, num_rejected, num_read):
    check_counts(COUNTED, ALL, num_rejected=3, num_read=15)
    with pytest.raises(
        CountMismatchError, match=f"{num_read} records were read, but .*nothing was"
    ):
        check_counts(COUNTED, shards, num_rejected, num_read)


SHARD = "pets-train.tfrecord-00000-of-00005"


def test_only_files_of_builds_are_replaced():
    theirs = [
        *("metadata.json", SHARD, f"index/{SHARD}.parquet", f"index/{SHARD}.idx"),
        *(f"idx/{SHARD}.idx", f"{SHARD}.gz", f"index/{SHARD}.gz.parquet"),
        *("image.class.label.labels.txt", "label_map.pbtxt", "label_map.csv", "features.json"),
        *("report.html", "report.json", "statistics.json", "croissant.json", "build.json"),
        *("rejects.jsonl", "failed-rejects.jsonl"),
        f"features.json.{'0a' * 16}.partial",
    ]
    users = [
        *("notes.txt", f"{SHARD}.bak", f"idx/old-{SHARD}.idx", SHARD.replace("pets", "cats")),
        *(f"mine/{SHARD}", "download.partial"),
    ]
    config = BuildConfig(output="/out", name="pets")
    assert [path for path in theirs + users if is_build_file(config, path)] == theirs
