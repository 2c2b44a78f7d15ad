"""Diff: records by key, features and options of two datasets."""

import json
import shutil

import pyarrow.parquet as pq
import pytest
from damages import edit
from testdata.make_golden import GOLDEN

import beam_pipeline
from beam_pipeline.cli import commands
from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed

SHARD = "golden-test.tfrecord-00000-of-00001"


def forget_hashes(facts):
    for shard in facts["splits"]["test"]["shards"]:
        shard["sha256"] = ""


def diffed(capsys, *arguments):
    code = commands.main(["diff", *map(str, arguments)])
    return code, capsys.readouterr()


def adopted(folder, *examples):
    folder.mkdir()
    data = b"".join(framed(encode({"id": [number], **more})) for number, more in examples)
    (folder / "train-00000-of-00001").write_bytes(data)
    return beam_pipeline.adopt(folder).path


def test_builds_of_an_input_that_changed(tmp_path, capsys, write_image):
    pets = tmp_path / "pets"
    for seed, name in enumerate(["train/cat/1", "train/cat/2", "train/dog/1", "test/dog/1"]):
        write_image(pets / f"{name}.png", seed=seed)

    def build(version, **options):
        return beam_pipeline.build(
            input=str(pets), output=str(tmp_path / "data"), version=version, **options
        ).path

    old = build("1.0.0")
    write_image(pets / "train/cat/2.png", seed=8)
    write_image(pets / "train/cat/3.png", seed=9)
    (pets / "test/cat").mkdir()
    shutil.move(pets / "train/cat/1.png", pets / "test/cat/1.png")
    new = build("1.1.0", seed=1)

    found = beam_pipeline.diff(old, new)
    assert found.num_records == {"test": (1, 2), "train": (3, 3)}
    assert found.records == {
        "added": {"test": 1, "train": 1},
        "removed": {"train": 1},
        "changed": {"train": 1},
    }
    assert found.features == {}
    assert found.options == {"seed": (None, 1)}
    code, shown = diffed(capsys, old, new)
    assert code == 1
    assert shown.out == (
        "added: 2 records (1 test, 1 train)\n  test/cat/1.png, train/cat/3.png\n"
        "removed: 1 record (1 train)\n  train/cat/1.png\n"
        "changed: 1 record (1 train)\n  train/cat/2.png\n"
        "option seed: none → 1\n"
    )


def test_splits_by_option_and_classes(tmp_path, capsys, write_image):
    for seed in range(12):
        write_image(tmp_path / "pets" / ("cat", "dog")[seed % 2] / f"{seed}.png", seed=seed)

    def build(version, **options):
        return beam_pipeline.build(
            input=str(tmp_path / "pets"), output=str(tmp_path / "data"), version=version, **options
        ).path

    old, new = (
        build("1.0.0", split={"train": 0.5, "test": 0.5}),
        build("1.1.0", classes=("dog", "cat")),
    )
    code, shown = diffed(capsys, old, new, "--json")
    facts = json.loads(shown.out)
    counts = {split: both[0] for split, both in facts["num_records"].items()}
    moved = {f"{split} to train": count for split, count in counts.items() if split != "train"}
    assert code == 1
    changed = {"train": 12}
    assert facts["records"] == {"changed": changed, "moved": moved}, "each class has another number"
    assert facts["features"]["label.classes"] == [["cat", "dog"], ["dog", "cat"]]


def test_adopted_files_are_compared_by_position(tmp_path, capsys):
    old = adopted(tmp_path / "old", *((number, {}) for number in range(7)))
    new = adopted(tmp_path / "new", (0, {}), (5, {"text": [b"more"]}))
    code, shown = diffed(capsys, old, new)
    assert code == 1
    assert "removed: 5 records (5 train)" in shown.out
    assert "changed: 1 record (1 train)\n  train-00000-of-00001:1\n" in shown.out


def test_shards_with_equal_hashes_are_not_read(tmp_path, capsys):
    new = shutil.copytree(GOLDEN, tmp_path / "golden")
    for path in new.glob("*train*"):
        path.write_bytes(bytes(path.stat().st_size))
    assert diffed(capsys, GOLDEN, new) == (0, ("", ""))
    edit(new / "metadata.json", forget_hashes)
    assert diffed(capsys, GOLDEN, new) == (0, ("", ""))


def test_an_index_of_another_shard_is_named(tmp_path, capsys):
    new = shutil.copytree(GOLDEN, tmp_path / "golden")
    path = new / f"index/{SHARD}.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)

    def spoil(facts):
        forget_hashes(facts)
        del facts["files"][f"index/{SHARD}.parquet"]

    edit(new / "metadata.json", spoil)
    code, (_, error) = diffed(capsys, GOLDEN, new)
    assert code == 2
    assert f"index/{SHARD}.parquet: it does not fit its shard" in error


@pytest.mark.parametrize(
    ("spoil", "shown"),
    [
        pytest.param(
            lambda path: (path / "index/golden-test.tfrecord-00000-of-00001.parquet").write_bytes(
                b""
            ),
            f"index/{SHARD}.parquet: it does not fit its shard (it has 0 bytes",
            id="an index",
        ),
        pytest.param(
            lambda path: (path / SHARD).write_bytes(b"damaged"),
            "record 0, at byte 0, is damaged",
            id="a shard",
        ),
        pytest.param(lambda path: shutil.rmtree(path), "is not a finished dataset", id="a dataset"),
    ],
)
def test_what_cannot_be_read(tmp_path, capsys, spoil, shown):
    new = shutil.copytree(GOLDEN, tmp_path / "golden")
    edit(new / "metadata.json", forget_hashes)
    spoil(new)
    code, (_, error) = diffed(capsys, GOLDEN, new)
    assert code == 2
    assert shown in error
