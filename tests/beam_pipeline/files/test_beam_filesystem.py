"""Beam's own transforms on the stores that this package opens."""

import apache_beam as beam
import pytest
from apache_beam.io import fileio
from apache_beam.io.filesystem import FileSystem
from apache_beam.io.filesystems import FileSystems

from beam_pipeline.files import beam_filesystem, storage
from beam_pipeline.running.local_runner import local_runner
from tfrecord_dataset.store.urls import OBJECT_SCHEMES


@pytest.fixture
def google(bucket):
    """A gs:// URL, which Beam itself knows by an extra alone, and the store."""
    url, store = bucket
    return url.replace("s3://", "gs://"), store


def test_every_scheme_has_one_file_system():
    schemes = [each.scheme() for each in FileSystem.get_all_subclasses()]
    assert {scheme: schemes.count(scheme) for scheme in OBJECT_SCHEMES} == dict.fromkeys(
        OBJECT_SCHEMES, 1
    )
    assert beam_filesystem.FILE_SYSTEMS


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_text_is_written_and_read(google, run_transform, suffix):
    url, store = google
    lines = [f"line {number}" for number in range(100)]
    with beam.Pipeline(local_runner()) as pipeline:
        pipeline | beam.Create(lines) | beam.io.WriteToText(f"{url}/out/x", suffix, num_shards=2)
    assert [name.partition("-")[0] for name in store.keys(url)] == ["out/x", "out/x"]
    assert sorted(run_transform(beam.io.ReadFromText(f"{url}/out/*"))) == sorted(lines)


def test_matching(google, run_transform):
    url, store = google
    for name in ("a/1.jpg", "a/b/2.jpg", "c.jpg"):
        store.put(f"{url}/{name}", b"123")
    found = run_transform(fileio.MatchFiles(f"{url}/a/**"))
    assert sorted((each.path, each.size_in_bytes) for each in found) == [
        (f"{url}/a/1.jpg", 3),
        (f"{url}/a/b/2.jpg", 3),
    ]


def test_files_are_copied_renamed_and_deleted(google):
    url, store = google
    storage.write_bytes(f"{url}/a/1", b"one")
    FileSystems.copy([f"{url}/a/1"], [f"{url}/b/1"])
    FileSystems.rename([f"{url}/a/1"], [f"{url}/c"])
    assert store.keys(url) == ["b/1", "c"]
    assert FileSystems.exists(f"{url}/c")
    assert FileSystems.get_filesystem(url).size(f"{url}/c") == 3
    assert FileSystems.split(f"{url}/b/1") == (f"{url}/b", "1")
    assert FileSystems.join(url, "b", "1") == f"{url}/b/1"
    FileSystems.delete([f"{url}/b", f"{url}/c"])
    assert store.keys(url) == []
