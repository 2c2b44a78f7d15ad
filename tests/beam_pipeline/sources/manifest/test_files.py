"""Which files of a folder are manifests, and what stops before a job."""

import gzip
from pathlib import Path

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.manifest.read import ReadCsv, ReadJsonl


def write(path: Path, text: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize(
    ("files", "splits"),
    [
        pytest.param(["metadata.csv", "other.csv"], {"a.jpg": None}, id="metadata first"),
        pytest.param(["one.csv", "x/y/deep.csv"], {"a.jpg": None}, id="the only one"),
        pytest.param(
            ["data/train/metadata.csv", "data/dev/metadata.csv", "x.csv"],
            {"data/train/a.jpg": "train", "data/dev/a.jpg": "dev"},
            id="below data",
        ),
        pytest.param(["train.csv", "notes.csv"], {"a.jpg": "train"}, id="named after a split"),
    ],
)
def test_which_files_of_a_folder_are_read(tmp_path, run_transform, files, splits):
    for file in files:
        write(tmp_path / file, "file_name\na.jpg\n")
    records = run_transform(ReadCsv(str(tmp_path)))
    assert {record.key: record.split for record in records} == splits
    assert len(records) == len(splits)


def test_compressed_manifests_of_splits(tmp_path, run_transform):
    for split in ("train", "test"):
        write(tmp_path / f"{split}.csv.gz", gzip.compress(b"x\n1\n"))
    records = run_transform(ReadCsv(str(tmp_path)))
    assert {record.key: record.split for record in records} == {
        "train.csv.gz:2": "train",
        "test.csv.gz:2": "test",
    }


def test_a_manifest_that_cannot_be_read_stops_before_the_job(tmp_path, run_transform):
    for source, message in [
        (ReadCsv(str(tmp_path / "absent.csv")), "absent.csv does not exist"),
        (ReadCsv(write(tmp_path / "d/empty.csv", "")), "empty.csv is empty"),
        (ReadCsv(write(tmp_path / "d/twice.csv", "image,a,a\n")), "column 'a' twice"),
        (ReadCsv(write(tmp_path / "d/wide.csv", "image\n".encode("utf-16"))), "is UTF-16"),
        (ReadCsv(str(tmp_path / "d")), "empty.csv, twice.csv, wide.csv: give one file"),
        (ReadJsonl(write(tmp_path / "d/x.jsonl", "image,label\n")), "no line with a JSON object"),
    ]:
        with pytest.raises(ConfigError, match=message):
            run_transform(source)
