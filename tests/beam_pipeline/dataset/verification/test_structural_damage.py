"""Missing, truncated, swapped or foreign files, and paths that are not files, are reported."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

OPENING = "metadata.json"


def cut(path, rng, other):
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def extend(path, rng, other):
    path.write_bytes(path.read_bytes() + rng.choice([b"\n", b"\0", b"x" * 100]))


def empty(path, rng, other):
    path.write_bytes(b"")


def flip(path, rng, other):
    """Flip one bit."""
    data = bytearray(path.read_bytes())
    bit = rng.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def zero(path, rng, other):
    path.write_bytes(bytes(path.stat().st_size))


def delete(path, rng, other):
    path.unlink()


def fold(path, rng, other):
    path.unlink()
    path.mkdir()


def pipe(path, rng, other):
    path.unlink()
    os.mkfifo(path)


def loop(path, rng, other):
    path.unlink()
    path.symlink_to(path)


def dangle(path, rng, other):
    path.unlink()
    path.symlink_to("nowhere")


def replace(path, rng, other):
    """Replace a file by that of another build."""
    shutil.copy(other, path)


def swap(path, rng, other):
    """Swap a file with another file of the dataset."""
    folder = path.parent
    others = sorted(each for each in folder.iterdir() if each.is_file() and each != path)
    partner = rng.choice([each for each in others if each.read_bytes() != path.read_bytes()])
    data = path.read_bytes()
    path.write_bytes(partner.read_bytes())
    partner.write_bytes(data)


DAMAGES = (*[flip] * 8, cut, extend, empty, zero, delete, fold, pipe, loop, dangle, replace, swap)
NEEDS_BYTES = (flip, cut, empty, zero)


def damages(whole: Path, other: Path, paths: list[str]) -> Iterator[tuple[str, object]]:
    for path in paths:
        data = (whole / path).read_bytes()
        for damage in DAMAGES:
            same = (other / path).exists() and (other / path).read_bytes() == data
            if not (damage in NEEDS_BYTES and not data) and not (damage is replace and same):
                yield path, damage


def check(whole, other, found, copy, path, damage, rng):
    """Damage a file of a copy; every reported line names it, or its partner in a swap."""
    dataset = shutil.copytree(whole, copy)
    damage(dataset / path, rng, other / path)
    said = found(dataset)
    changed = {
        each
        for each in (str(file.relative_to(whole)) for file in whole.rglob("*") if file.is_file())
        if not (dataset / each).is_file()
        or (dataset / each).read_bytes() != (whole / each).read_bytes()
    }
    shutil.rmtree(dataset)
    assert path in changed
    assert said, (path, damage.__name__)
    if OPENING not in changed or damage is not replace:  # otherwise all other files differ from it
        assert all(any(each in line for each in changed) for line in said), said
        named = {each for each in changed if any(each in line for line in said)}
        assert named == changed or OPENING in named


@pytest.mark.slow
def test_every_file_in_every_way(whole, other, found, files, tmp_path):
    rng = random.Random(1)
    cases = list(damages(whole, other, files(whole)))
    assert len(cases) > 200
    for path, damage in cases:
        check(whole, other, found, tmp_path / "copy", path, damage, rng)


SHARD = "zoo-train.tfrecord-00000-of-00002"


@pytest.mark.parametrize(
    ("source", "name", "is_extra"),
    [
        pytest.param(SHARD, "zoo-train.tfrecord-00002-of-00002", True, id="a copied shard"),
        pytest.param(SHARD, "zoo-train.tfrecord-00000-of-00003", True, id="of more shards"),
        pytest.param(SHARD, f"{SHARD}.bak", True, id="which patterns take"),
        pytest.param(SHARD, f"{SHARD}.gz", True, id="as if compressed"),
        pytest.param(SHARD, "zoo-val.tfrecord-00000-of-00001", True, id="of another split"),
        pytest.param(SHARD, "pets-train.tfrecord-00000-of-00002", True, id="of another dataset"),
        pytest.param(SHARD, "part-00000-of-00002", True, id="called otherwise"),
        pytest.param("README.md", "model.data-00000-of-00001", False, id="a checkpoint's"),
        pytest.param(f"index/{SHARD}.parquet", "index/pets.parquet", True, id="an index"),
        pytest.param(f"idx/{SHARD}.idx", f"idx/{SHARD}.gz.idx", True, id="spans"),
        pytest.param(
            f"index/{SHARD}.parquet", f"index/{SHARD}.parquet.{'0a' * 16}.partial", True, id="part"
        ),
        pytest.param("features.json", "label_map.csv", False, id="there already"),
        pytest.param("topics.label.labels.txt", "size.labels.txt", True, id="class names"),
        pytest.param("README.md", "notes.md", False, id="notes"),
        pytest.param(SHARD, f"mine/{SHARD}", False, id="in a folder of the user's"),
        pytest.param("rejects.jsonl", "failed-rejects.jsonl", False, id="of a failed build"),
        pytest.param("README.md", "index/README.md", False, id="notes in the index"),
        pytest.param("README.md", ".hidden.tfrecord-00000-of-00001", False, id="hidden"),
    ],
)
def test_extra_files(whole, found, tmp_path, source, name, is_extra):
    dataset = Path(shutil.copytree(whole, tmp_path / "copy"))
    if not (dataset / name).exists():
        (dataset / name).parent.mkdir(exist_ok=True)
        shutil.copy(dataset / source, dataset / name)
    said = found(dataset)
    expected = f"{name}: metadata.json does not list it; move it elsewhere, or delete it"
    assert said == ([expected] if is_extra else [])


@pytest.mark.slow
def test_damage_on_a_store(whole, other, found, files, bucket):
    """Applies every possible kind of damage, to one file after the other."""
    url, store = bucket
    paths = files(whole)
    for path in paths:
        store.put(f"{url}/zoo/{path}", (whole / path).read_bytes())
    assert found(f"{url}/zoo") == []
    rng = random.Random(2)
    key = f"{url}/zoo/".removeprefix("s3://")
    for number, path in enumerate(paths):
        data = store.objects[key + path]
        changed = {
            0: None,
            1: data + b"x",
            2: bytes([*data[:-1], data[-1] ^ 1]) if data else b"\n",
            3: (other / path).read_bytes() if path != "metadata.json" else b"{}",
        }[number % 4]
        if changed == data:
            continue
        if changed is None:
            del store.objects[key + path]
        else:
            store.objects[key + path] = changed
        said = found(f"{url}/zoo")
        assert said, path
        assert all(path in line for line in said), said
        store.objects[key + path] = data
    store.objects[f"{key}zoo-train.tfrecord-{rng.randrange(9):05d}-of-00009"] = b""
    assert ["does not list it" in line for line in found(f"{url}/zoo")] == [True]
