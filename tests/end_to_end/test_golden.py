"""The golden dataset holds both packages to one format."""

import json

import numpy as np
import pyarrow.parquet
import pytest
from testdata.make_golden import GOLDEN, TESTDATA, build

import beam_pipeline
import trainer


@pytest.fixture(scope="module")
def rows():
    """What the input says, by file name."""
    lines = (TESTDATA / "golden_input/metadata.jsonl").read_text("utf-8").splitlines()
    return {row["file_name"]: row for row in map(json.loads, lines)}


def test_a_build_gives_these_bytes(tmp_path, digests):
    built = build(tmp_path)
    found, expected = digests(built), digests(GOLDEN)

    assert found.keys() == expected.keys()
    assert metadata(built) == metadata(GOLDEN)
    for name in expected:
        if name.endswith(".parquet"):
            one, other = (
                pyarrow.parquet.read_table(folder / name, use_threads=False)
                for folder in (built, GOLDEN)
            )
            assert one.equals(other)
        elif name != "metadata.json":
            assert found[name] == expected[name], name


def metadata(directory):
    """All of metadata.json but for the Parquet files, which name the pyarrow that wrote them."""
    facts = json.loads((directory / "metadata.json").read_text())
    files = {path: facts["files"][path] for path in facts["files"] if "parquet" not in path}
    return {**facts, "files": files, "checksum": ""}


def test_it_verifies():
    assert beam_pipeline.verify(str(GOLDEN)) == []


def test_the_trainer_reads_the_same_values(rows):
    dataset = trainer.open(GOLDEN)
    assert {name: dataset.num_records(name) for name in dataset.splits} == {"test": 3, "train": 7}
    assert tuple(dataset.classes) == ("cat", "dog")

    seen = set()
    for split in dataset.splits:
        for record in dataset.numpy(split, image_dtype="uint8"):
            name = next(
                name for name in rows if rows[name]["caption"].encode() == record["caption"]
            )
            row = rows[name]
            seen.add(name)
            assert row["split"] == split
            assert dataset.classes[record["label"]] == row["label"]
            assert record["age"] == row["age"]
            assert record["weight"] == np.float32(row["weight"])
            assert record["image"].shape == (18, 24, 3)
            assert record["image"].dtype == np.uint8
            assert record["boxes"].shape == (len(row["objects"]["bbox"]), 4)
            for box, (x, y, width, height) in zip(
                record["boxes"], row["objects"]["bbox"], strict=True
            ):
                expected = [x / 24, y / 18, (x + width) / 24, (y + height) / 18]
                np.testing.assert_allclose(box, np.clip(expected, 0, 1), rtol=1e-6)
            names = [["red", "white"][number] for number in record["box_labels"]]
            assert names == row["objects"]["category"]
    assert seen == set(rows)
