"""What differs between two datasets: records by key or content, features, classes, options."""

import contextlib
import dataclasses
import json
import shutil

import pytest
from sealing import edit
from testdata.make_golden import GOLDEN

import beam_pipeline
from beam_pipeline.cli import commands
from beam_pipeline.dataset.difference.datasets import class_changes, option_changes
from beam_pipeline.dataset.difference.pairing import ID, RowTable, pair
from beam_pipeline.dataset.difference.rows import _MOST_KEYS, _PART, KeyNumbers, Row
from beam_pipeline.errors import ConfigError
from tfrecord_dataset.example import encode
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.frames import framed


def rows(*texts):
    """Rows of texts such as "train key content" or "train key content id"."""
    for number, text in enumerate(texts):
        split, key, whole, *more = text.split()
        part = _PART.pack(7, whole.encode())
        yield Row(key.encode(), split, number, whole.encode(), "".join(more).encode(), part)


def paired(old, new, *, with_ids=True):
    with contextlib.closing(RowTable()) as table:
        table.add(rows(*old), 0)
        table.add(rows(*new), 1)
        found = pair(table, with_ids)
    return {
        **{"added": dict(found.added), "removed": dict(found.removed)},
        **{"changed": dict(found.changed_keys), "renamed": found.renamed},
        "moved": {"-".join(splits): count for splits, count in found.moved.items()},
    }, {kind: [row.key.decode() for row in kept] for kind, kept in found.examples.items()}


NOTHING = {"added": {}, "removed": {}, "changed": {}, "renamed": 0, "moved": {}}


@pytest.mark.parametrize(
    ("old", "new", "counts", "examples"),
    [
        pytest.param(["a 1 x", "b 2 y"], ["b 2 y", "a 1 x"], {}, {}, id="the same in any order"),
        pytest.param(
            [], ["a 1 x", "a 2 x"], {"added": {"a": 2}}, {"added": ["1", "1"]}, id="added"
        ),
        pytest.param(["a 1 x"], [], {"removed": {"a": 1}}, {"removed": ["1"]}, id="removed"),
        pytest.param(["a 1 x"], ["a 1 y"], {"changed": {7: 1}}, {"changed": ["1"]}, id="changed"),
        pytest.param(["a 1 x"], ["b 1 x"], {"moved": {"a-b": 1}}, {"moved": ["1"]}, id="moved"),
        pytest.param(
            ["a 1 x"],
            ["b 1 y"],
            {"changed": {7: 1}, "moved": {"a-b": 1}},
            {"changed": ["1"], "moved": ["1"]},
            id="changed and moved",
        ),
        pytest.param(["a 1 x"], ["a 2 x"], {"renamed": 1}, {"renamed": ["2"]}, id="renamed"),
        pytest.param(
            ["a a/1 x"], ["b b/1 x"], {"moved": {"a-b": 1}}, {"moved": ["b/1"]}, id="renamed, moved"
        ),
        pytest.param(
            ["a 1 x", "b 1 y"],
            ["b 1 y", "a 1 z"],
            {"changed": {7: 1}},
            {"changed": ["1"]},
            id="equal ones of a key go first",
        ),
        pytest.param(
            ["b 1 y", "a 1 x"],
            ["a 1 z"],
            {"changed": {7: 1}, "removed": {"b": 1}},
            {"changed": ["1"], "removed": ["1"]},
            id="then those of the same split",
        ),
        pytest.param(
            ["a 1 x"] * 9, ["a 1 x"] * 2, {"removed": {"a": 7}}, {"removed": ["1"] * 5}, id="many"
        ),
        pytest.param(
            ["a 1 x 10"], ["a 1 x 11"], {"changed": {ID: 1}}, {"changed": ["1"]}, id="another id"
        ),
    ],
)
def test_pairs(old, new, counts, examples):
    assert paired(old, new) == (NOTHING | counts, examples)


def test_ids_that_count_are_not_compared():
    assert paired(["a 1 x 10"], ["a 1 x 11"], with_ids=False) == (NOTHING, {})


def test_a_key_that_tells_nothing_apart():
    with pytest.raises(ConfigError, match="have the key 'same'; give a --key"):
        paired([f"a same {number}" for number in range(101)], [])


def test_classes():
    label = Feature(name="label", kind="class_label", dtype="int64", key="label")
    old = {"label": dataclasses.replace(label, classes=("cat", "dog"))}
    new = {"label": dataclasses.replace(label, classes=("ant", "dog", "emu", "cat"))}
    assert class_changes(old, old) == {}
    assert class_changes(old, new) == {
        "label": {"added": ["ant", "emu"], "removed": [], "renumbered": {"cat": [0, 3]}}
    }


def test_options():
    old = {"name": "a", "seed": 0, "image": {"format": None, "max_side": 9}, "ignore": []}
    new = {"name": "b", "seed": 1, "image": {"format": None, "max_side": 8}}
    assert option_changes(old, new) == {"image.max_side": [9, 8], "seed": [0, 1]}


def example(number, text="", **more):
    return encode({"id": [number], "text": [f"{text or number}".encode()], **more})


def write(path, examples):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(map(framed, examples)))
    return str(path)


def diffed(capsys, *arguments):
    code = commands.main(["diff", *map(str, arguments)])
    return code, capsys.readouterr()


def test_files_of_others_and_adopted_ones(tmp_path, capsys):
    old = write(tmp_path / "old" / "train-00000-of-00001", map(example, range(20)))
    records = [example(number) for number in range(1, 20)]
    records[3] = example(4, "other")
    new = write(tmp_path / "new" / "train-00000-of-00001", [*records[::-1], example(99)])

    code, told = diffed(capsys, old, new)
    assert code == 1
    assert "added: 2 records (2 in train)\n" in told.out
    assert "removed: 2 records (2 in train)\n  train 0, train 4\n" in told.out
    assert "note: these records have no keys" in told.out

    beam_pipeline.adopt(str(tmp_path / "old"))
    beam_pipeline.adopt(str(tmp_path / "new"))
    code, told = diffed(capsys, tmp_path / "old", tmp_path / "new", "--key", "id", "--json")
    facts = json.loads(told.out)
    assert code == 1
    assert facts["added"] == {"train": 1}
    assert facts["removed"] == {"train": 1}
    assert facts["changed_keys"] == {"text": 1}
    assert facts["examples"] == {"added": ["99"], "removed": ["0"], "changed": ["4"]}
    assert facts["num_records"] == {"train": [20, 20]}

    assert diffed(capsys, tmp_path / "old", tmp_path / "old") == (0, ("", ""))
    code, told = diffed(capsys, old, new, "--key", "image/filename")
    assert code == 2
    assert "record 0 of split train" in told.err
    assert diffed(capsys, old, tmp_path / "nowhere")[0] == 2


@pytest.mark.slow
def test_builds_of_an_input_that_changed(tmp_path, capsys, write_image):
    for seed, name in enumerate(["train/cat/1", "train/cat/2", "train/dog/1", "test/dog/1"]):
        write_image(tmp_path / "pets" / f"{name}.png", seed=seed)

    def build(version):
        config = beam_pipeline.BuildConfig(
            input=str(tmp_path / "pets"), output=str(tmp_path / "data"), version=version
        )
        return beam_pipeline.build(config).path

    old = build("1.0.0")
    write_image(tmp_path / "pets/train/ant/0.png", seed=9)  # all later ids and classes count on
    shutil.move(tmp_path / "pets/train/cat/1.png", tmp_path / "pets/test/dog/2.png")
    new = build("1.1.0")

    found = beam_pipeline.diff(old, new)
    assert found
    assert found.added == {"test": 1, "train": 1}, "the moved image has another class"
    assert found.removed == {"train": 1}
    assert found.changed_keys == {"image/class/label": 3}
    assert found.examples["changed"] == ("test/dog/1.png", "train/cat/2.png", "train/dog/1.png")
    assert found.classes["label"]["renumbered"] == {"cat": [0, 1], "dog": [1, 2]}
    assert (found.features, found.options) == ({}, {})


def test_records_are_found_by_the_index(tmp_path, capsys):
    new = shutil.copytree(GOLDEN, tmp_path / "golden")

    def forget_hashes(facts):
        for split in facts["splits"].values():
            for shard in split["shards"]:
                shard["sha256"] = ""

    edit(new / "metadata.json", forget_hashes)
    assert diffed(capsys, GOLDEN, new) == (0, ("", ""))
    (new / "index" / "golden-test.tfrecord-00000-of-00001.parquet").write_bytes(b"")
    code, told = diffed(capsys, GOLDEN, new)
    assert code == 2
    assert "index/golden-test.tfrecord-00000-of-00001.parquet: it has 0 bytes" in told.err


def test_shards_of_the_same_hash_are_not_read(tmp_path, capsys):
    new = shutil.copytree(GOLDEN, tmp_path / "golden")
    assert diffed(capsys, GOLDEN, new)[0] == 0
    for path in new.glob("*train*"):
        path.write_bytes(bytes(path.stat().st_size))
    assert diffed(capsys, GOLDEN, new) == (0, ("", ""))
    edit(new / "metadata.json", lambda facts: facts["config"].update(seed=5))
    code, told = diffed(capsys, GOLDEN, new)
    assert (code, told.out) == (1, "option seed: 0 → 5\n")


def test_of_very_many_keys_the_last_share_a_number():
    numbers = KeyNumbers()
    assert [numbers.of(f"key{each}") for each in (0, 1, 0)] == [0, 1, 0]
    assert numbers.names() == {0: "key0", 1: "key1"}
    assert {numbers.of(f"key{each}") for each in range(_MOST_KEYS + 3)} == {*range(_MOST_KEYS + 1)}
    assert numbers.names()[_MOST_KEYS] == "(others)"
    assert numbers.names()[_MOST_KEYS - 1] == f"key{_MOST_KEYS - 1}"
