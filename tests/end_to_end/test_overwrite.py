"""A finished dataset is replaced completely and only on request."""

import pytest

import beam_pipeline
from beam_pipeline.cli import commands


@pytest.fixture
def build(tmp_path, capsys):
    def run(source, *options):
        arguments = ["build", str(source), "--output", str(tmp_path / "out"), "--name", "pets"]
        code = commands.main([*arguments, "--threads", "1", *options])
        return code, capsys.readouterr()

    return run


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "out/pets/1.0.0"


def test_a_finished_dataset_is_not_changed(class_folders, build, directory, tmp_path, digests):
    root = class_folders(tmp_path / "pets", each=2)
    assert build(root)[0] == 0
    before = digests(directory)
    class_folders(root, each=3)

    code, shown = build(root)
    assert code == 2
    assert f"{directory} holds a finished dataset; pass --overwrite" in shown.err
    assert shown.out == ""
    assert digests(directory) == before


@pytest.mark.slow
def test_other_shard_counts_leave_no_stale_file(class_folders, build, directory, tmp_path, digests):
    root = class_folders(tmp_path / "pets")
    assert build(root, "--num-shards", "4", "--split", "train=0.5,test=0.5")[0] == 0
    (directory / "notes.txt").write_text("mine")
    assert build(root, "--overwrite", "--num-shards", "2", "--compression", "gzip")[0] == 0

    names = {path.name for path in directory.iterdir()}
    assert {name for name in names if ".tfrecord" in name} == {
        "pets-train.tfrecord-00000-of-00002.gz",
        "pets-train.tfrecord-00001-of-00002.gz",
    }
    assert "notes.txt" in names
    assert not names & {"dataset_info.json", "features.json"}  # TFDS cannot read gzip
    assert {path.name for path in (directory / "index").iterdir()} == {
        "pets-train.tfrecord-00000-of-00002.gz.parquet",
        "pets-train.tfrecord-00001-of-00002.gz.parquet",
    }
    assert beam_pipeline.verify(beam_pipeline.open(str(directory))) == []


def test_an_overwrite_that_fails_leaves_the_old_one(
    class_folders, build, directory, tmp_path, digests
):
    root = class_folders(tmp_path / "pets", each=3)
    assert build(root)[0] == 0
    before = digests(directory)
    (root / "cat/000.jpg").write_bytes(b"broken")

    code, shown = build(root, "--overwrite", "--num-shards", "2")
    assert code == 3
    assert "failed-rejects.jsonl" in shown.err
    after = digests(directory)
    assert after.pop("failed-rejects.jsonl")
    assert after == before
    assert beam_pipeline.verify(beam_pipeline.open(str(directory))) == []

    assert build(root, "--overwrite", "--max-bad-fraction", "0.5")[0] == 0
    assert not (directory / "failed-rejects.jsonl").exists()


@pytest.mark.slow
def test_other_contents_of_the_same_size_change_the_shards(build, directory, tmp_path):
    """Beam's sink assumes that files of equal size are equal."""
    root = tmp_path / "pets"
    for name in ("a", "b"):
        (root / "cat").mkdir(parents=True, exist_ok=True)
        header = b"P6 2 1 255\n"
        (root / f"cat/{name}.ppm").write_bytes(header + b"abcdef")
    csv = root / "labels.csv"
    csv.write_text("file_name,label,note\ncat/a.ppm,x,1st\ncat/b.ppm,y,2nd\n")
    assert build(csv)[0] == 0
    old = {path.name: path.read_bytes() for path in directory.glob("pets-*")}

    csv.write_text("file_name,label,note\ncat/a.ppm,y,2nd\ncat/b.ppm,x,1st\n")
    assert build(csv, "--overwrite")[0] == 0
    new = {path.name: path.read_bytes() for path in directory.glob("pets-*")}
    assert {name: len(data) for name, data in new.items()} == {
        name: len(data) for name, data in old.items()
    }
    assert new != old
    assert beam_pipeline.verify(beam_pipeline.open(str(directory))) == []
