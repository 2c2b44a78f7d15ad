"""Bad members of tars cost their record; a tree in an archive becomes the same shards."""

import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from file_bytes import array_bytes, image_bytes, tar_bytes
from tiers import first_quick

import tfrecord_dataset
from beam_pipeline import BuildConfig, build
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef

COLORS = ("red", "green", "blue")


def image_of(number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(0, 256, (9, 12, 3), dtype=np.uint8)


def sample_of(number: int) -> dict[str, bytes]:
    """An image, its mask, class, texts and numbers."""
    image = image_of(number)
    facts = {
        "id": number,
        "score": number / 4,
        "tags": ["a", "ä"][: number % 3],
        "vector": [number, 0.5, -1],
        "license": None if number % 2 else "free",
    }
    return {
        "png": image_bytes(image),
        "seg.png": image_bytes(image[:, :, 0] // 2),
        "cls": b"%d\n" % (number % 3),
        "txt": f"Bild „{number}“".encode(),
        "emb.npy": array_bytes(image[:2, :3, 0] / 7),
        "bin": bytes(range(number)),
        "json": json.dumps(facts).encode(),
    }


def write_tar(path: Path, samples: dict[str, dict[str, bytes]], form=tarfile.PAX_FORMAT) -> Path:
    """Samples are contents by extension, by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    members = {
        f"{name}.{extension}": content
        for name, sample in samples.items()
        for extension, content in sample.items()
    }
    path.write_bytes(tar_bytes(members, form))
    return path


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> Path:
    """Three tars of images: 20 records to train with in two of them, 5 to test with."""
    root = tmp_path_factory.mktemp("tars") / "shards"
    for name, numbers, form in (
        ("train-000000", range(10), tarfile.PAX_FORMAT),
        ("train-000001", range(10, 20), tarfile.USTAR_FORMAT),
        ("test-000000", range(20, 25), tarfile.GNU_FORMAT),
    ):
        samples = {f"{number:06d}": sample_of(number) for number in numbers}
        write_tar(root / f"{name}.tar", samples, form)
    return root


def test_bad_members_cost_their_record_and_are_counted(shards, tmp_path, build_verified):
    """What goes in is what comes out and what is rejected, by name."""
    root = shutil.copytree(shards, tmp_path / "shards")
    data = (root / "train-000001.tar").read_bytes()
    (root / "train-000001.tar").write_bytes(data[: len(data) // 2])
    extra = {
        "a": sample_of(30) | {"png": b"\x89PNG\r\n\x1a\nbroken"},
        "b": sample_of(31) | {"emb.npy": array_bytes(np.array([{}]))},
        "c": sample_of(32) | {"pyd": b""},
        "../d": sample_of(33),
        "e": sample_of(34),
    }
    write_tar(root / "train-000002.tar", extra)
    info = build_verified(root, tmp_path / "out", max_bad_fraction=0.9)
    rejects = [
        json.loads(line) for line in (Path(info.path) / "rejects.jsonl").read_text().splitlines()
    ]
    reasons = {reject["source"]: reject["reason"] for reject in rejects}
    assert reasons["train-000001.tar"] == "truncated file"
    assert {reasons[f"train-000002.tar/{name}"] for name in "abc"} == {
        "truncated image",
        "pickled array",
        "pickled member",
    }
    outside = [reject for reject in rejects if "/../d." in reject["source"]]
    assert len(outside) == len(sample_of(33))
    train, test = (
        {int(record["id"]) for record in tfrecord_dataset.open(info.path)[split]}
        for split in ("train", "test")
    )
    assert train >= {*range(10), 34}
    assert not train & {30, 31, 32, 33}
    assert test == {*range(20, 25)}


@pytest.mark.parametrize(
    "how", first_quick(["deflated.zip", "stored.zip", "tree.tar", "tree.tar.gz"])
)
def test_a_tree_in_an_archive_becomes_the_same_shards(tmp_path, how):
    for number in range(12):
        path = tmp_path / "in" / "dogs" / COLORS[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image_bytes(image_of(number)))
    (tmp_path / "in" / "README.md").write_text("Dogs.")
    archive = tmp_path / how
    files = [path for path in (tmp_path / "in").rglob("*") if path.is_file()]
    if ".tar" in how:
        with tarfile.open(archive, "w:gz" if how.endswith("gz") else "w") as tar:
            tar.add(tmp_path / "in", arcname=".")
    else:
        method = zipfile.ZIP_STORED if how.startswith("stored") else zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(archive, "w", method) as packed:
            for path in files:
                packed.write(path, path.relative_to(tmp_path / "in"))
    shards = [built(path, tmp_path / f"out-{path.name}") for path in (tmp_path / "in", archive)]
    assert shards[0] == shards[1] != {}
    assert [path.name for path in (tmp_path / f"out-{how}" / "x").iterdir()] == ["1.0.0"]
    stated = json.loads((tmp_path / f"out-{how}" / "x" / "1.0.0" / "build.json").read_text())
    assert stated["input"] == str(archive)


def built(source: Path, output: Path) -> dict[str, bytes]:
    """The shards that a build makes, by name."""
    config = BuildConfig(input=str(source), output=str(output), name="x", threads=1)
    folder = Path(build(config).path)
    return {path.name: path.read_bytes() for path in folder.glob("*.tfrecord*")}


@pytest.mark.parametrize("name", first_quick(["in.zip", "in.tar.gz"]))
def test_an_archive_in_a_store_becomes_the_same_shards(tmp_path, bucket, name):
    url, store = bucket
    for number in range(12):
        path = tmp_path / "in" / COLORS[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image_bytes(image_of(number)))
    kind = "zip" if name.endswith("zip") else "gztar"
    packed = Path(shutil.make_archive(str(tmp_path / "in"), kind, tmp_path / "in"))
    store.put(f"{url}/{name}", packed.read_bytes())
    of_files = built(tmp_path / "in", tmp_path / "out")
    config = BuildConfig(input=f"{url}/{name}", output=f"{url}/out", name="x", threads=1)
    folder = build(config).path
    shards = {
        each.relative: storage.read_bytes(FileRef(path=each.path))
        for each in storage.list_files(folder)
        if ".tfrecord" in each.relative and "/" not in each.relative
    }
    assert shards == of_files != {}
    assert [each for each in store.objects if ".building" in each] == []
