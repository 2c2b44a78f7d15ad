"""Whatever is broken in a data set is found, and named by file and record."""

import json
import shutil
from pathlib import Path

import pytest

import beam_pipeline
from beam_pipeline import commands


@pytest.fixture(scope="module")
def whole(tmp_path_factory, class_folders):
    folder = tmp_path_factory.mktemp("whole")
    config = beam_pipeline.BuildConfig(
        input=str(class_folders(folder / "pets")), output=str(folder), num_shards=2
    )
    return Path(beam_pipeline.build(config).directory)


@pytest.fixture(scope="module")
def compressed(tmp_path_factory, class_folders):
    folder = tmp_path_factory.mktemp("compressed")
    config = beam_pipeline.BuildConfig(
        input=str(class_folders(folder / "pets")), output=str(folder), compression="gzip"
    )
    return Path(beam_pipeline.build(config).directory)


@pytest.fixture
def dataset(whole, tmp_path):
    """A copy that may be broken."""
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def verify(directory):
    return beam_pipeline.verify(beam_pipeline.open_dataset(str(directory)))


def shard(dataset, number=0):
    return sorted(dataset.glob("*.tfrecord-*"))[number]


def spans(dataset, number=0):
    index = dataset / "index" / f"{shard(dataset, number).name}.idx"
    return [tuple(map(int, line.split())) for line in index.read_text().splitlines()]


def edit_metadata(dataset, change):
    path = dataset / "metadata.json"
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))


def test_all_is_well(whole, compressed, capsys):
    assert verify(whole) == verify(compressed) == []
    assert commands.main(["verify", str(whole)]) == 0
    assert "16 records in 2 shards of 1 split: all well" in capsys.readouterr().out


def test_a_flipped_byte(dataset):
    offset, length = spans(dataset)[3]
    data = bytearray(shard(dataset).read_bytes())
    data[offset + length // 2] ^= 1
    shard(dataset).write_bytes(data)

    problems = verify(dataset)
    name = shard(dataset).name
    assert any(f"{name}: sha256 is " in problem for problem in problems)
    assert any(f"{name}: record 3, at byte {offset}, is damaged" in each for each in problems)


def test_a_truncated_shard(dataset):
    offset, _ = spans(dataset)[-1]
    data = shard(dataset).read_bytes()
    shard(dataset).write_bytes(data[:-10])
    number = len(spans(dataset)) - 1
    assert any(f"record {number}, at byte {offset}, is damaged" in each for each in verify(dataset))


def test_a_shard_that_lost_its_last_record(dataset):
    offset, _ = spans(dataset)[-1]
    shard(dataset).write_bytes(shard(dataset).read_bytes()[:offset])
    records = len(spans(dataset))
    assert any(f"holds {records - 1} records" in problem for problem in verify(dataset))


def test_a_missing_shard(dataset):
    name = shard(dataset).name
    shard(dataset).unlink()
    assert any(f"{name}: missing file" in problem for problem in verify(dataset))


@pytest.mark.parametrize("suffix", [".parquet", ".idx"])
def test_swapped_indices(dataset, suffix):
    one, other = (dataset / "index" / f"{shard(dataset, i).name}{suffix}" for i in (0, 1))
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)
    problems = verify(dataset)
    assert any(one.name in problem for problem in problems)
    assert any(other.name in problem for problem in problems)


@pytest.mark.parametrize("suffix", [".parquet", ".idx"])
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_damaged_indices(dataset, suffix, damage):
    path = dataset / "index" / f"{shard(dataset).name}{suffix}"
    data = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    assert any(f"index/{path.name}" in problem for problem in verify(dataset))


def test_a_wrong_count_of_a_shard(dataset):
    edit_metadata(dataset, lambda m: m["splits"]["train"]["shards"][1].update(num_records=99))
    assert any(f"{shard(dataset, 1).name}: holds" in problem for problem in verify(dataset))


@pytest.mark.parametrize("count", ["num_records", "num_bytes"])
def test_a_wrong_count_of_a_split(dataset, count):
    edit_metadata(dataset, lambda m: m["splits"]["train"].update({count: 99}))
    assert any("metadata.json: split train states 99" in problem for problem in verify(dataset))


def test_a_wrong_count_in_what_tfds_reads(dataset):
    path = dataset / "dataset_info.json"
    info = json.loads(path.read_text())
    info["splits"][0]["shardLengths"][0] = "99"
    path.write_text(json.dumps(info))
    assert any("dataset_info.json" in problem for problem in verify(dataset))


def test_damaged_gzip(compressed, tmp_path):
    dataset = Path(shutil.copytree(compressed, tmp_path / "copy"))
    data = bytearray(shard(dataset).read_bytes())
    data[len(data) // 2] ^= 0xFF
    shard(dataset).write_bytes(data)
    assert any(" is damaged: " in problem for problem in verify(dataset))


def test_the_command_names_problems_and_fails(dataset, capsys):
    shard(dataset).unlink()
    assert commands.main(["verify", str(dataset)]) == 3
    told = capsys.readouterr()
    assert f"{shard(dataset).name}" not in told.out
    assert "missing file" in told.err
    assert "does not verify" in told.err


@pytest.mark.parametrize(
    ("text", "message", "code"),
    [
        (None, "is no finished dataset", 2),
        ("{", "cannot be understood", 3),
        ("{}", "cannot be understood", 3),
        ('{"format_version": 99}', "format_version 99", 3),
    ],
)
def test_what_cannot_be_opened(dataset, capsys, text, message, code):
    (dataset / "metadata.json").unlink()
    if text is not None:
        (dataset / "metadata.json").write_text(text)
    for command in ("verify", "show"):
        assert commands.main([command, str(dataset)]) == code
        assert message in capsys.readouterr().err
