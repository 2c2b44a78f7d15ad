"""An interrupted build reuses shards that are finished and intact, and writes the others."""

import dataclasses
import hashlib
import json
import os
from pathlib import Path

import pytest

import beam_pipeline
from beam_pipeline import errors
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.write import commit
from beam_pipeline.write.claim import exclusive
from beam_pipeline.write.receipts import (
    Receipt,
    drop_unfinished,
    finished_part,
    receipt_path,
    write_receipt,
)
from beam_pipeline.write.working_directory import shards_dir, working_dir
from tfrecord_dataset.json_file import sealed

FILES = {
    "pets-train": "train/00000-a",
    "index/pets-train.parquet": "index/a.parquet",
    "idx/pets-train.idx": "index/a.idx",
}


@pytest.fixture(params=["local", "store"])
def config(request, tmp_path):
    output = tmp_path if request.param == "local" else request.getfixturevalue("bucket")[0]
    return beam_pipeline.BuildConfig(output=str(output), name="pets")


@pytest.fixture
def receipt(config):
    """The receipt of a finished part, with its files."""
    files = {}
    for number, (final, inner) in enumerate(FILES.items()):
        inner = final if storage.is_remote(config.output) else inner
        path, data = storage.join(shards_dir(config), inner), b"%d2345" % number
        storage.write_bytes(path, data)
        files[final] = TemporaryFile(path, len(data), hashlib.sha256(data).hexdigest())
    receipt = Receipt(digest="same", num_bytes=5, files=files)
    write_receipt(config, "train-00000", receipt)
    return receipt


@pytest.fixture
def warned(caplog):
    """warned() -> warnings about receipts since the last call."""

    def warned():
        names = [record.getMessage() for record in caplog.records if "receipts" in record.name]
        caplog.clear()
        return names

    return warned


def finished(config, digest="same"):
    return finished_part(config, "train-00000", digest, list(FILES))


def read(path):
    return storage.read_bytes(FileRef(path=path))


@pytest.fixture
def edit(config, receipt):
    """Change a receipt's content with a function, and update its checksum."""

    def edit(change):
        path = receipt_path(config, "train-00000")
        value = json.loads(read(path))
        del value["checksum"]
        change(value)
        storage.write_bytes(path, sealed(value).encode())

    return edit


def test_a_finished_part(config, receipt, edit, warned):
    edit(lambda value: None)
    assert finished(config) == receipt
    assert finished(config, "other") is None
    assert finished_part(config, "train-00001", "same", list(FILES)) is None
    assert not warned()


@pytest.mark.parametrize("final", FILES)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(None, id="missing"),
        pytest.param(b"", id="empty"),
        pytest.param(bytes(5), id="zeros"),
        pytest.param(b"1234", id="cut"),
        pytest.param(b"02345\0", id="longer"),
        pytest.param(b"02344", id="a bit"),
    ],
)
def test_a_file_that_is_not_what_was_written(config, receipt, final, data, warned):
    path = receipt.files[final].path
    storage.delete([path]) if data is None else storage.write_bytes(path, data)
    assert finished(config) is None
    [message] = warned()
    assert message.startswith("train-00000 of an interrupted build is incomplete")
    assert os.path.basename(path) in message


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"\0" * 100, b"\xff", "cut", "flipped", "longer", "doubled"]
)
def test_a_receipt_that_is_damaged(config, receipt, data, warned):
    path = receipt_path(config, "train-00000")
    whole = read(path)
    damages = {
        "cut": whole[:-20],
        "flipped": whole.replace(b'"num_bytes": 5', b'"num_bytes": 4', 1),
        "longer": whole + b"\n",
        "doubled": whole + whole,
    }
    storage.write_bytes(path, damages.get(data, data))
    assert finished(config) is None
    assert len(warned()) == 1
    drop_unfinished(config)
    left = ["pets"] if storage.is_remote(config.output) else []  # shards stay on a store
    assert storage.list_dir(config.output) == left


def stated_path(path):
    def change(value):
        value["files"]["pets-train"]["path"] = path

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda value: value.update(digest=7), id="digest"),
        pytest.param(lambda value: value.update(num_bytes="5"), id="num_bytes"),
        pytest.param(lambda value: value.update(num_bytes=1 << 70), id="a huge number"),
        pytest.param(lambda value: value.update(files=[]), id="files"),
        pytest.param(lambda value: value.update(files={}), id="no files"),
        pytest.param(lambda value: value.update(more=1), id="a field more"),
        pytest.param(lambda value: value.pop("digest"), id="a field less"),
        pytest.param(lambda value: value["files"].pop("idx/pets-train.idx"), id="a file less"),
        pytest.param(
            lambda value: value["files"].update(x=value["files"]["pets-train"]), id="more"
        ),
        pytest.param(lambda value: value["files"]["pets-train"].update(sha256=None), id="sha256"),
        pytest.param(lambda value: value["files"]["pets-train"].pop("path"), id="no path"),
        pytest.param(stated_path("../../../other/pets-train"), id="a path up"),
        pytest.param(stated_path("train/../train/00000-a"), id="a path with dots"),
        pytest.param(stated_path("/etc/passwd"), id="an absolute path"),
        pytest.param(stated_path("s3://elsewhere/pets-train"), id="another scheme"),
        pytest.param(stated_path("file:///etc/passwd"), id="a local URL"),
        pytest.param(stated_path("train/00000-a\0"), id="NUL"),
        pytest.param(stated_path(""), id="an empty path"),
    ],
)
def test_a_receipt_that_somebody_edited(config, edit, change, warned, bucket):
    edit(change)
    _, store = bucket
    before = len(store.requests)
    assert finished(config) is None
    assert len(warned()) == 1
    assert not any("elsewhere" in place for _, place in store.requests[before:])
    drop_unfinished(config)


def test_a_path_that_leads_out_by_a_link(tmp_path):
    config = beam_pipeline.BuildConfig(output=str(tmp_path / "out"), name="pets")
    folder = Path(working_dir(config))
    data = b"12345"
    (tmp_path / "mine").write_bytes(data)
    (folder / "train").mkdir(parents=True)
    (folder / "train/00000-a").symlink_to(tmp_path / "mine")
    file = TemporaryFile(str(folder / "train/00000-a"), 5, hashlib.sha256(data).hexdigest())
    receipt = Receipt(digest="same", num_bytes=5, files={"pets-train": file})
    write_receipt(config, "train-00000", receipt)
    assert finished_part(config, "train-00000", "same", ["pets-train"]) is None


def test_an_output_that_was_moved_or_is_a_link(tmp_path):
    """Paths in receipts are relative, and links above the working directory are the user's."""
    config = beam_pipeline.BuildConfig(output=str(tmp_path / "out"), name="pets")
    path = storage.join(working_dir(config), "train/a")
    storage.write_bytes(path, b"1")
    file = TemporaryFile(path, 1, hashlib.sha256(b"1").hexdigest())
    write_receipt(config, "a", Receipt(digest="same", num_bytes=1, files={"pets-train": file}))
    (tmp_path / "out").rename(tmp_path / "moved")
    (tmp_path / "out").symlink_to("moved")
    assert finished_part(config, "a", "same", ["pets-train"]).files["pets-train"] == file


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_a_receipt_that_is_not_a_file(tmp_path, kind, warned):
    config = beam_pipeline.BuildConfig(output=str(tmp_path), name="pets")
    path = Path(receipt_path(config, "train-00000"))
    path.parent.mkdir(parents=True)
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    assert finished(config) is None
    assert len(warned()) == 1


def test_a_failure_keeps_finished_parts(config, receipt):
    folder = working_dir(config)
    for name in ("train/00001-b", "index/b.idx", "unpacked/big", "receipts/x.json.partial"):
        storage.write_bytes(storage.join(folder, name), b"unfinished")
    drop_unfinished(config)
    left = {file.relative for file in storage.list_files(folder)}
    shards = set() if storage.is_remote(folder) else {*FILES.values()}
    assert left == {*shards, "receipts/train-00000.json"}
    assert finished(config) == receipt


def test_a_failure_without_finished_parts_leaves_nothing(config):
    with exclusive(config):
        storage.write_bytes(receipt_path(config, "train-00000"), b"")
        drop_unfinished(config)
    assert storage.list_dir(config.output) == []


def test_a_claim_stays_with_shards_that_have_no_receipt(bucket):
    """On a store they have final names, at which a build with other options would find them."""
    config = beam_pipeline.BuildConfig(output=bucket[0], name="pets")
    with exclusive(config):
        storage.write_bytes(f"{config.dataset_dir}/pets-train.tfrecord-00000-of-00002", b"1")
        drop_unfinished(config)
    other = exclusive(dataclasses.replace(config, seed=1))
    with pytest.raises(errors.ConfigError, match="a build with other options"), other:
        pass


def cut_off(*_):
    raise KeyError("cut off")


@pytest.fixture
def finish_shards(class_folders, tmp_path, monkeypatch):
    """Run a build until its four shards are finished; returns its configuration."""
    source = class_folders(tmp_path / "pets")

    def finish(output):
        config = beam_pipeline.BuildConfig(
            input=str(source), output=str(output), layout="folders", num_shards=4, threads=1
        )
        with monkeypatch.context() as patch:
            patch.setattr(commit, "check_counts", cut_off)
            with pytest.raises(Exception, match="cut off"):
                beam_pipeline.build(config)
        return config

    return finish


def damage(config, number, suffix, data=None):
    """Flip a bit in the middle of a shard's file with this suffix, or replace its bytes."""
    folder = shards_dir(config)
    below = f"{number:05d}"
    [path] = [
        file.path
        for file in storage.list_files(folder)
        if below in file.relative and file.relative.endswith(suffix)
    ]
    whole = bytearray(read(path))
    whole[len(whole) // 2] ^= 1
    storage.write_bytes(path, whole if data is None else data(whole))


def all_digests(directory):
    """Return the sha256 of every file of a local or remote dataset, except build.json."""
    return {
        file.relative: hashlib.sha256(read(file.path)).hexdigest()
        for file in storage.list_files(directory)
        if file.relative != "build.json"
    }


def test_a_shard_on_a_store_that_is_not_what_was_written_is_named(finish_shards, bucket):
    config = finish_shards(f"{bucket[0]}/out")
    damage(config, 1, ".parquet")
    with pytest.raises(
        errors.BeamTFRecordsError, match=r"00001.*parquet is from another .* delete s3:"
    ):
        beam_pipeline.build(config)
    storage.delete([config.dataset_dir])
    assert beam_pipeline.verify(beam_pipeline.build(config)) == []


def test_damaged_shards_are_written_anew(finish_shards, tmp_path, warned):
    config = finish_shards(tmp_path / "out")
    damage(config, 0, ".tfrecord", lambda whole: bytes(len(whole)))
    damage(config, 1, ".parquet")
    damage(config, 2, ".json")
    info = beam_pipeline.build(config)
    assert len(warned()) == 3
    assert beam_pipeline.verify(info) == []
    undisturbed = dataclasses.replace(config, output=str(tmp_path / "undisturbed"))
    assert all_digests(info.path) == all_digests(beam_pipeline.build(undisturbed).path)


def test_whole_shards_are_taken(finish_shards, tmp_path, warned):
    config = finish_shards(tmp_path / "out")
    damage(config, 3, ".tfrecord")
    shards = {
        path.name.partition("-")[0]: path.stat().st_ino
        for path in Path(working_dir(config), "train").iterdir()
    }
    info = beam_pipeline.build(config)
    taken = [path.stat().st_ino for path in sorted(Path(info.path).glob("pets-*"))]
    assert taken[:3] == [shards[f"{number:05d}"] for number in range(3)]
    assert taken[3] != shards["00003"]
    assert len(warned()) == 1
