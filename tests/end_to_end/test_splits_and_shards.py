"""Which record goes to which split and shard, as the options say."""

import pytest
from tiers import first_quick

import beam_pipeline
from beam_pipeline.cli import commands
from beam_pipeline.dataset.reading import read_examples


@pytest.fixture
def build(tmp_path, capsys):
    def run(source, *options):
        arguments = ["build", str(source), "--output", str(tmp_path / "out"), "--threads", "1"]
        code = commands.main([*arguments, *options])
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return beam_pipeline.open(shown.out.splitlines()[-1])

    return run


def names(info, split):
    return {each["image/filename"][0].decode() for each in read_examples(info, split)}


def shards(info):
    return {split: len(found) for split, found in info.splits.items()}


@pytest.mark.slow
def test_the_layouts_splits_are_kept_and_share_nothing(class_folders, build, tmp_path, capsys):
    for split in ("train", "val"):
        class_folders(tmp_path / "pets" / split, each=3)
    pets = tmp_path / "pets"
    assert commands.main(["build", str(pets), "--output", str(tmp_path / "out")]) == 3
    assert "train/cat/000.jpg (train) and val/cat/000.jpg (val)" in capsys.readouterr().err
    assert list((tmp_path / "out").rglob("*.*rec*")) == []

    info = build(pets, "--num-shards", "train=2,val=1", "--leaks", "warn")
    assert {split: info.num_records(split) for split in info.splits} == {"train": 6, "val": 6}
    assert shards(info) == {"train": 2, "val": 1}


@pytest.mark.slow
def test_groups_by_level(write_image, build, tmp_path):
    for number in range(40):
        write_image(
            tmp_path / f"pets/{'cat' if number % 2 else 'dog'}/patient{number % 10}/{number}.jpg",
            seed=number,
        )
    by_patient = ["--path-pattern", "{label}/**/{_}", "--group-by", "2"]
    info = build(tmp_path / "pets", "--split", "train=0.5,test=0.5", *by_patient)
    patients = [{name.split("/")[1] for name in names(info, split)} for split in info.splits]
    assert len(patients) == 2
    assert not patients[0] & patients[1]
    assert sum(map(len, patients)) == 10


@pytest.mark.parametrize(
    ("options", "expected"),
    first_quick(
        [
            pytest.param(["--num-shards", "16"], {"train": 16}, id="at most one a record"),
            pytest.param(["--target-shard-bytes", "3KiB"], {"train": 6}, id="by size"),
            pytest.param([], {"train": 1}, id="at least one"),
        ]
    ),
)
def test_shards(class_folders, build, tmp_path, options, expected):
    info = build(class_folders(tmp_path / "pets"), *options)
    assert shards(info) == expected
    assert all(shard.num_records for found in info.splits.values() for shard in found)
    if "--target-shard-bytes" in options:
        assert all(1500 < shard.num_bytes < 5000 for shard in info.splits["train"])
