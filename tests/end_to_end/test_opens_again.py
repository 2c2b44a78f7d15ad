"""Committed datasets open in all three packages, whatever their keys and values."""

import json
import math

import hypothesis
import pytest
from end_to_end.building import build
from hypothesis import strategies as st

import beam_pipeline
import tfrecord_dataset
import trainer
from beam_pipeline.dataset.opening import check_readable
from beam_pipeline.errors import DataError
from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.json_file import sealed

KEYS = st.text(max_size=6) | st.sampled_from(
    ["", " ", "/", "a/b", "x/label", "label", "image/encoded", ".", "..", "a\0b", "\n", "é", "é"]
)
VALUES = st.one_of(
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=3),
    st.lists(st.floats(width=32), max_size=3),
    st.lists(st.binary(max_size=9), max_size=3),
    st.lists(st.text(max_size=4).map(lambda text: text.encode()), max_size=2),
)


def write_file(folder, examples):
    folder.mkdir(parents=True, exist_ok=True)
    data = b"".join(framed(encode(example)) for example in examples)
    (folder / "a.tfrecord").write_bytes(data)


def check_opens(path, num_records):
    assert beam_pipeline.open(path).num_records("train") == num_records
    assert len(list(tfrecord_dataset.open(path).records("train"))) == num_records
    dataset = trainer.open(path)
    assert dataset.num_records("train") == num_records
    statistics = path / "statistics.json"
    if statistics.exists():
        json.loads(statistics.read_text(), parse_constant=pytest.fail)


@hypothesis.given(examples=st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=3))
def test_files_that_are_adopted_open_again(tmp_path_factory, examples):
    folder = tmp_path_factory.mktemp("others")
    write_file(folder, examples)
    try:
        beam_pipeline.adopt(folder)
    except beam_pipeline.BeamTFRecordsError:
        assert [path.name for path in folder.iterdir()] == ["a.tfrecord"]
        return
    check_opens(folder, len(examples))


@pytest.mark.parametrize("values", [[math.nan, 1.0, -math.inf], [math.inf]])
def test_numbers_that_are_not_finite_are_counted_and_open_again(tmp_path, values):
    write_file(tmp_path / "input", [{"x": values}, {"x": [2.0] * len(values)}])
    path = tmp_path / "out" / "d" / "1.0.0"
    build(tmp_path / "input", tmp_path / "out", name="d")
    check_opens(path, 2)
    facts = json.loads((path / "statistics.json").read_text())["splits"]["train"]["features"]["x"]
    not_finite = sum(not math.isfinite(value) for value in values)
    assert facts.get("not_finite", facts.get("missing")) == not_finite
    assert facts["maximum"] == 2.0


def test_a_key_without_a_name_is_a_reject_and_a_good_dataset_stays(tmp_path):
    write_file(tmp_path / "good", [{"x": [1]}])
    write_file(tmp_path / "bad", [{"x": [1]}, {"x": [2], "": [3]}])
    path = tmp_path / "out" / "d" / "1.0.0"
    build(tmp_path / "good", tmp_path / "out", name="d")
    before = (path / "metadata.json").read_bytes()
    with pytest.raises(DataError, match="key without a name"):
        build(tmp_path / "bad", tmp_path / "out", name="d", overwrite=True)
    assert (path / "metadata.json").read_bytes() == before
    build(tmp_path / "bad", tmp_path / "out", name="d", overwrite=True, max_bad_fraction=0.5)
    check_opens(path, 1)


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """Path of a dataset of one record, and its texts by file name."""
    tmp_path = tmp_path_factory.mktemp("described")
    write_file(tmp_path / "input", [{"x": [1]}])
    path = tmp_path / "d" / "1.0.0"
    build(tmp_path / "input", tmp_path, name="d")
    return path, {file.name: file.read_text() for file in path.glob("*.json")}


def test_what_was_written_is_read_back(described):
    path, texts = described
    check_readable(str(path), texts)


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        pytest.param("metadata.json", '"name": "x"', '"name": ""', "has no name", id="no name"),
        pytest.param("metadata.json", '"num_records": 1', '"num_records": 2', "states", id="sums"),
        pytest.param("statistics.json", '"count": 1', '"count": "1"', "count", id="a text"),
        pytest.param("statistics.json", '"mean": 1.0', '"mean": Infinity', "Inf", id="infinity"),
    ],
)
def test_descriptions_that_cannot_be_read_back_are_refused(described, name, old, new, problem):
    path, texts = described
    assert old in texts[name]
    changed = texts[name].replace(old, new, 1)
    if name == "metadata.json":
        facts = json.loads(changed)
        del facts["checksum"]
        changed = sealed(facts)
    with pytest.raises(DataError, match=f"nothing was committed.*{problem}"):
        check_readable(str(path), {**texts, name: changed})
