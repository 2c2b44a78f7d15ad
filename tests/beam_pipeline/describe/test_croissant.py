"""croissant.json names every file with its hash, and every column of the index."""

import hashlib
import json
import logging
import shutil

import pyarrow.parquet
import pytest
from testdata.make_golden import GOLDEN

from beam_pipeline.dataset.adoption import adopt

INDEX = sorted((GOLDEN / "index").glob("*.parquet"))


def test_the_golden_dataset():
    facts = json.loads((GOLDEN / "croissant.json").read_text())
    files = [each for each in facts["distribution"] if each["@type"] == "cr:FileObject"]
    for file in files:
        data = (GOLDEN / file["contentUrl"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(data).hexdigest()
    assert {each["@id"] for each in files} == {
        *(path.name for path in GOLDEN.glob("*.tfrecord-*")),
        *(f"index/{each.name}" for each in INDEX),
    }
    for split in facts["recordSet"]:
        columns = [field["source"]["extract"]["column"] for field in split["field"]]
        assert columns == pyarrow.parquet.read_schema(INDEX[0]).names


def read_by_mlcroissant(directory, caplog):
    import mlcroissant

    with caplog.at_level(logging.ERROR):
        described = mlcroissant.Dataset(jsonld=str(directory / "croissant.json"))
    assert not described.metadata.ctx.issues.errors
    return described


@pytest.mark.readers
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib's own
def test_mlcroissant_reads_the_index(tmp_path, caplog):
    copy = shutil.copytree(GOLDEN, tmp_path / "golden")
    described = read_by_mlcroissant(copy, caplog)
    for split, count in (("train", 7), ("test", 3)):
        rows = list(described.records(split))
        assert len(rows) == count
        assert all(row[f"{split}/key"].startswith(b"images/") for row in rows)
    assert rows[0]["test/labels"] == [b"dog", b"red"]


@pytest.mark.readers
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["t-train-00000-of-00002", "t-train-00001-of-00002", "t-test"], id="TFDS's"),
        pytest.param(["train/a.tfrecord", "train/b.tfrecord", "test/a.tfrecord"], id="folders"),
    ],
)
def test_mlcroissant_reads_what_was_adopted(tmp_path, caplog, names):
    shards = [path for path in sorted(GOLDEN.glob("*.tfrecord-*")) if "train" in path.name]
    shards += sorted(GOLDEN.glob("golden-test*"))
    for path, name in zip(shards, names, strict=True):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / "in" / name)
    info = adopt(str(tmp_path / "in"))
    described = read_by_mlcroissant(tmp_path / "in", caplog)
    assert info.splits.keys() == {"train", "test"}
    for split in info.splits:
        assert len(list(described.records(split))) == info.num_records(split)
