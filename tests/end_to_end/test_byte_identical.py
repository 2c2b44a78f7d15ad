"""The same input gives the same bytes: on any runner, in any order, at any path, in any version."""

import json
import random
from pathlib import Path

import apache_beam as beam
import pyarrow.parquet
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from cases.inputs import make
from cases.reading import AllElements, source_at
from testdata.make_golden import GOLDEN
from testdata.make_golden import build as build_golden

import beam_pipeline
from beam_pipeline.running.batches import MAX_ELEMENTS

# Beam's options for a job whose stages exchange all elements as bytes.
JOB_SERVICE = ("--runner=PortableRunner", "--job_endpoint=embed")
CASES = Path(__file__).parents[1] / "cases"
OPTIONS = {
    "num_shards": {"train": 3, "test": 2},
    "split": {"train": 0.7, "test": 0.3},
    "max_bad_fraction": 0.5,
    "duplicates": "drop",
    "name": "cells",
}


@pytest.fixture(scope="module")
def build(tmp_path_factory, digests):
    """Builds to a new path; returns the digests of all files."""

    def run(source, *, beam_options=(), transform=None, **options):
        config = beam_pipeline.BuildConfig(
            input=str(source) if source else "",
            output=str(tmp_path_factory.mktemp("output")),
            **{**OPTIONS, **options},
        )
        info = beam_pipeline.build(config, PipelineOptions(list(beam_options)), transform)
        return digests(info.path)

    return run


@pytest.fixture(scope="module")
def expected(build, voc_input):
    found = build(voc_input)
    assert len([name for name in found if name.startswith("cells-")]) == 5
    assert {"metadata.json", "rejects.jsonl", "dataset_info.json", "features.json"} <= set(found)
    return found


@pytest.mark.nightly
def test_listed_in_another_order(build, voc_input, expected, run_transform):
    elements = run_transform(AllElements(source_at(voc_input)[1]))
    random.Random(1).shuffle(elements)
    stated = {"layout": "voc"}  # as stated in the dataset's recipe
    assert build("", transform=beam.Create(elements), **stated) == expected


@pytest.mark.slow
def test_on_a_job_service(build, voc_input, expected):
    assert build(voc_input, beam_options=JOB_SERVICE) == expected


@pytest.mark.nightly
@pytest.mark.parametrize("where", [CASES / "arrays/as-keras-has-mnist/input", GOLDEN])
def test_arrays_and_examples_on_a_job_service(build, tmp_path, where):
    if where.is_file():
        make(where, tmp_path / "in")
    source = tmp_path / "in" if where.is_file() else where
    options = {"num_shards": None, "max_bad_fraction": 1}
    assert build(source, beam_options=JOB_SERVICE, **options) == build(source, **options)


@pytest.mark.nightly
def test_compressed(build, voc_input, expected):
    one = build(voc_input, compression="gzip")
    assert build(voc_input, compression="gzip", threads=1) == one
    assert not set(one.values()) & {
        digest for name, digest in expected.items() if name.startswith("cells-")
    }


@pytest.mark.slow
def test_of_many_batches(build, class_folders, tmp_path):
    """More records than one batch, on all paths through the code."""
    root = class_folders(tmp_path / "many", each=2 * MAX_ELEMENTS)
    found = [build(root), build(root, threads=3), build(root, beam_options=JOB_SERVICE)]
    assert found[0] == found[1] == found[2]


def test_a_build_gives_these_bytes(tmp_path, digests):
    built = build_golden(tmp_path)
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
    """Return metadata.json without the Parquet files, which state the version of pyarrow."""
    facts = json.loads((directory / "metadata.json").read_text())
    files = {path: facts["files"][path] for path in facts["files"] if "parquet" not in path}
    return {**facts, "files": files, "checksum": ""}


def test_it_verifies():
    assert beam_pipeline.verify(str(GOLDEN)) == []
