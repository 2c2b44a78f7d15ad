"""Builds from a store to a store whose answers fail, come late or break off."""

import pytest

import beam_pipeline
from beam_pipeline.files import storage
from tfrecord_dataset.store import clients

# Status 0 closes the connection without an answer, 1 in the midst of one.
PASSING = [
    *(("in/cat", 503, "get"), ("in/dog", 0, "get"), ("in/cat/004.jpg", 1, "get")),
    *(("in", 500, "list"), ("out", 503, "list")),
    *(("out", 503, "put"), ("out", 429, "put")),
    *(("out", 503, "delete"), ("", 500, "delete_many")),
    *(("out", 0, "get"), ("out", 503, "head")),
]


@pytest.fixture
def stored(bucket, class_folders, tmp_path):
    """A bucket's URL with class folders in it, what they are here, and the store."""
    url, store = bucket
    url = url.replace("s3://", "gs://")
    local = class_folders(tmp_path / "pets")
    store.put_folder(f"{url}/in", local)
    return url, local, store


def configuration(url, **options):
    return beam_pipeline.BuildConfig(
        input=f"{url}/in", output=f"{url}/out", name="pets", num_shards=2, threads=2, **options
    )


def hashes(info):
    return [shard.sha256 for shards in info.splits.values() for shard in shards]


@pytest.fixture
def expected(stored, tmp_path):
    """The hashes of the shards of a local build."""
    config = beam_pipeline.BuildConfig(
        input=str(stored[1]), output=str(tmp_path / "out"), name="pets", num_shards=2, threads=1
    )
    return hashes(beam_pipeline.build(config))


@pytest.mark.slow
def test_passing_faults_pass(stored, expected):
    url, _, store = stored
    for below, status, operation in PASSING:
        store.fail(f"{url}/{below}".rstrip("/"), status, times=2, operation=operation)
    assert hashes(beam_pipeline.build(configuration(url))) == expected
    assert not [key for key in store.keys(f"{url}/out") if "/." in key]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("below", "operation"),
    [("in/dog", "get"), ("out", "put"), ("out/pets/1.0.0/README.md", "put")],
)
def test_a_lasting_fault_ends_the_build_which_goes_on_later(
    stored, expected, monkeypatch, below, operation
):
    url, _, store = stored
    monkeypatch.setattr(clients, "LIMIT_S", 1)
    store.fail(f"{url}/{below}", 503, operation=operation)
    with pytest.raises(
        Exception, match=f"503 Service Unavailable, also after .*{url}/{below.partition('/')[0]}"
    ):
        beam_pipeline.build(configuration(url))
    assert not storage.exists(f"{url}/out/pets/1.0.0/metadata.json")
    finished = [key for key in store.keys(f"{url}/out") if "/receipts/" in key]
    assert len(finished) == (2 if "README" in below else 0)

    store.mend()
    store.forget()
    assert hashes(beam_pipeline.build(configuration(url))) == expected
    written = [place for operation, place in store.requests if operation == "put"]
    shards = [place for place in written if place.endswith("-of-00002")]
    assert len(shards) == 2 - len(finished)
