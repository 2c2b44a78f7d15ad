"""Tars and arrays go in, and come out of the trainer as they were written."""

import io
import json
import shutil
import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from apache_beam.options.pipeline_options import PipelineOptions
from PIL import Image

import beam_pipeline
import trainer
from beam_pipeline import commands, write
from beam_pipeline.verification import verify

TWO_PROCESSES = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]
COLORS = ("red", "green", "blue")


def build(path: Path, output: Path, beam_options=(), **options: Any) -> beam_pipeline.DatasetInfo:
    """The data set of one input, verified; nothing of the work is left."""
    config = beam_pipeline.BuildConfig(input=str(path), output=str(output), name="made", **options)
    info = beam_pipeline.build(config, PipelineOptions(list(beam_options)))
    assert verify(info) == []
    assert [path.name for path in Path(info.directory).glob(".*")] == []
    return info


def read(info: beam_pipeline.DatasetInfo, split: str, key: str = "id") -> dict[Any, dict[str, Any]]:
    """What the trainer reads, by the feature `key`."""
    records = trainer.open(info.directory).numpy(split, image_dtype="uint8")
    return {record[key].item(): record for record in records}


def kinds(info: beam_pipeline.DatasetInfo) -> dict[str, str]:
    return {
        feature.name: f"{feature.kind} {feature.dtype} {[*feature.shape]}"
        for feature in info.features
    }


def picture_of(number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(0, 256, (9, 12, 3), dtype=np.uint8)


def write_tar(path: Path, samples: dict[str, dict[str, bytes]], form=tarfile.PAX_FORMAT) -> Path:
    """Samples are contents by extension, by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=form) as archive:
        for name, members in samples.items():
            for extension, content in members.items():
                info = tarfile.TarInfo(f"{name}.{extension}")
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def sample_of(number: int) -> dict[str, bytes]:
    """A picture, its mask, class, texts and numbers."""
    picture = picture_of(number)
    facts = {
        "id": number,
        "score": number / 4,
        "tags": ["a", "ä"][: number % 3],
        "vector": [number, 0.5, -1],
        "license": None if number % 2 else "free",
    }
    return {
        "png": png(picture),
        "seg.png": png(picture[:, :, 0] // 2),
        "cls": b"%d\n" % (number % 3),
        "txt": f"Bild „{number}“".encode(),
        "emb.npy": npy(picture[:2, :3, 0] / 7),
        "bin": bytes(range(number)),
        "json": json.dumps(facts).encode(),
    }


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=array.dtype.hasobject)
    return buffer.getvalue()


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> Path:
    """Three tars of pictures: 20 records to train with in two of them, 5 to test with."""
    root = tmp_path_factory.mktemp("tars") / "shards"
    for name, numbers, form in (
        ("train-000000", range(10), tarfile.PAX_FORMAT),
        ("train-000001", range(10, 20), tarfile.USTAR_FORMAT),
        ("test-000000", range(20, 25), tarfile.GNU_FORMAT),
    ):
        samples = {f"{number:06d}": sample_of(number) for number in numbers}
        write_tar(root / f"{name}.tar", samples, form)
    return root


def test_a_tar_of_pictures(shards, tmp_path):
    info = build(shards, tmp_path, classes=COLORS)
    assert kinds(info) == {
        "image": "image uint8 [9, 12, 3]",
        "label": "class_label int64 []",
        "bin": "bytes string []",
        "emb": "tensor float64 [2, 3]",
        "id": "scalar int64 []",
        "license": "text string []",
        "score": "scalar float32 []",
        "seg": "image uint8 [9, 12, 3]",
        "tags": "sequence string [None]",
        "txt": "text string []",
        "vector": "tensor float32 [3]",
    }
    assert info.classes == COLORS
    for split, numbers in (("train", range(20)), ("test", range(20, 25))):
        records = read(info, split)
        assert records.keys() == {*numbers}
        for number, record in records.items():
            picture = picture_of(number)
            np.testing.assert_array_equal(record["image"], picture)
            np.testing.assert_array_equal(record["seg"][:, :, 0], picture[:, :, 0] // 2)
            np.testing.assert_array_equal(record["emb"], picture[:2, :3, 0] / 7)
            np.testing.assert_array_equal(record["vector"], np.float32([number, 0.5, -1]))
            assert record["label"] == number % 3
            assert record["txt"].decode() == f"Bild „{number}“"
            assert record["bin"] == bytes(range(number))
            assert record["score"] == number / 4
            assert [tag.decode() for tag in record["tags"]] == ["a", "ä"][: number % 3]
            assert record["license"] == (b"" if number % 2 else b"free")


def test_the_same_bytes_from_another_place_and_in_worker_processes(shards, tmp_path, digests):
    expected = digests(build(shards, tmp_path / "1", num_shards={"train": 3}).directory)
    shutil.copytree(shards, tmp_path / "elsewhere/shards")
    for number, (path, options) in enumerate(
        [(tmp_path / "elsewhere/shards", ()), (shards, TWO_PROCESSES)], start=2
    ):
        info = build(path, tmp_path / str(number), options, num_shards={"train": 3})
        assert digests(info.directory) == expected


def test_a_pattern_names_some_of_the_tars(shards, tmp_path):
    info = build(shards / "train-*.tar", tmp_path)
    assert {split: info.num_records(split) for split in info.splits} == {"train": 20}


@pytest.mark.parametrize("suffix", ["wav", "flac"])
def test_a_tar_of_sounds(tmp_path, suffix):
    sounds = {
        number: np.random.default_rng(number).integers(-9000, 9000, (80 + number, 1 + number % 2))
        for number in range(6)
    }
    samples = {
        f"speaker {number % 2}/{number}": {
            suffix: encoded(sound.astype(np.int16), suffix),
            "json": json.dumps({"id": number, "digit": number % 3}).encode(),
        }
        for number, sound in sounds.items()
    }
    write_tar(tmp_path / "digits.tar", samples)
    info = build(tmp_path / "digits.tar", tmp_path / "out", label_column="digit")
    records = read(info, "train")
    assert records.keys() == sounds.keys()
    for number, record in records.items():
        np.testing.assert_array_equal(record["audio"], np.float32(sounds[number]) / 32768)
        assert info.classes[record["label"]] == str(number % 3)


def encoded(sound: np.ndarray, suffix: str) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, sound, 8000, format=suffix)
    return buffer.getvalue()


def test_bad_members_cost_their_record_and_are_counted(shards, tmp_path):
    """What goes in is what comes out and what is rejected, by name."""
    root = shutil.copytree(shards, tmp_path / "shards")
    data = (root / "train-000001.tar").read_bytes()
    (root / "train-000001.tar").write_bytes(data[: len(data) // 2])
    extra = {
        "a": sample_of(30) | {"png": b"\x89PNG\r\n\x1a\nbroken"},
        "b": sample_of(31) | {"emb.npy": npy(np.array([{}]))},
        "c": sample_of(32) | {"pyd": b""},
        "../d": sample_of(33),
        "e": sample_of(34),
    }
    write_tar(root / "train-000002.tar", extra)
    info = build(root, tmp_path / "out", max_bad_fraction=0.9)
    rejects = [
        json.loads(line)
        for line in (Path(info.directory) / "rejects.jsonl").read_text().splitlines()
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
    assert set(read(info, "train")) >= {*range(10), 34}
    assert not set(read(info, "train")) & {30, 31, 32, 33}
    assert read(info, "test").keys() == {*range(20, 25)}


@pytest.mark.parametrize("change", ["rewritten", "cut"])
def test_a_tar_that_changes_under_the_job(shards, tmp_path, monkeypatch, capsys, change):
    root = shutil.copytree(shards, tmp_path / "shards")
    victim = root / "train-000000.tar"
    data = victim.read_bytes()
    original = write.in_order

    def change_then_order(*arguments):
        half = data[: len(data) // 2]
        victim.write_bytes(half if change == "cut" else half + bytes(len(data) - len(half)))
        return original(*arguments)

    monkeypatch.setattr(write, "in_order", change_then_order)
    code = commands.main(["build", str(root), "--output", str(tmp_path / "out"), "--threads", "1"])
    told = capsys.readouterr().err
    assert code == 1
    assert str(victim) in told
    assert "run the build again when nothing writes to its input" in told
    assert not list((tmp_path / "out").rglob("metadata.json"))


X = np.random.default_rng(0).integers(0, 256, (70, 28, 28), dtype=np.uint8)
Y = np.arange(70) % 10


def splits_of(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    return {"x_train": x[:50], "y_train": y[:50], "x_test": x[50:], "y_test": y[50:]}


def check_digits(info: beam_pipeline.DatasetInfo) -> None:
    """Each record is one row, in whatever order."""
    expected = {"train": Counter(), "test": Counter()}
    for number in range(70):
        expected["train" if number < 50 else "test"][X[number].tobytes(), Y[number].item()] += 1
    found = {
        split: Counter(
            (record["x"].tobytes(), record["label"].item())
            for record in trainer.open(info.directory).numpy(split)
        )
        for split in info.splits
    }
    assert found == expected


def test_an_npz_as_keras_has_mnist(tmp_path, digests):
    """Compressed, stored, in another order or on more processes: the same data set."""
    saved = {
        "compressed": (np.savez_compressed, X, Y),
        "stored": (np.savez, X, Y),
        "fortran": (np.savez_compressed, np.asfortranarray(X), Y.astype(">i8")),
    }
    found = []
    for name, (save, x, y) in saved.items():
        (tmp_path / name).mkdir()
        save(tmp_path / name / "mnist.npz", **splits_of(x, y))
        info = build(tmp_path / name / "mnist.npz", tmp_path / name / "out")
        found.append(digests(info.directory))
    assert kinds(info) == {"label": "class_label int64 []", "x": "tensor uint8 [28, 28]"}
    check_digits(info)
    path = tmp_path / "compressed/mnist.npz"
    found.append(digests(build(path, tmp_path / "more", TWO_PROCESSES).directory))
    assert found[1:] == found[:1] * 3


def test_several_npz_and_several_npy_are_one_data_set(tmp_path):
    for name, rows in (("train-0", slice(20)), ("train-1", slice(20, 50)), ("test", slice(50, 70))):
        np.savez(tmp_path / f"{name}.npz", x=X[rows], y=Y[rows])
    check_digits(build(tmp_path, tmp_path / "out/npz", layout="arrays"))

    columns = tmp_path / "columns"
    columns.mkdir()
    for name, values in splits_of(X, Y).items():
        np.save(columns / f"{name}.npy", values)
    check_digits(build(columns, tmp_path / "out/npy"))


def test_columns_of_every_type(tmp_path):
    numbers = np.arange(40)
    columns = {
        "id": numbers,
        "wide": np.random.default_rng(0).normal(size=(40, 100)),
        "half": (numbers[:, None] / [3, 4]).astype(np.float16),
        "steps": np.tile(numbers, (3, 1)).T.astype(">u2"),
        "flags": (numbers[:, None] % [2, 3]) == 0,
        "target": numbers / 7,
        "unsigned": numbers.astype(np.uint64),
        "name": np.array([f"Zeile {number}" for number in numbers]),
    }
    np.savez_compressed(tmp_path / "table.npz", **columns)
    info = build(tmp_path / "table.npz", tmp_path / "out")
    assert kinds(info) == {
        "flags": "tensor int64 [2]",
        "half": "tensor float16 [2]",
        "id": "scalar int64 []",
        "name": "text string []",
        "steps": "tensor int64 [3]",
        "target": "scalar float32 []",
        "unsigned": "scalar int64 []",
        "wide": "tensor float64 [100]",
    }
    records = read(info, "train")
    assert len(records) == 40
    for number, record in records.items():
        for name in ("wide", "half", "steps", "flags"):
            np.testing.assert_array_equal(record[name], columns[name][number])
        assert record["target"] == np.float32(number / 7)
        assert record["unsigned"] == number
        assert record["name"].decode() == f"Zeile {number}"


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_unpacked_goes_with_the_build(tmp_path, monkeypatch, fails):
    """Until then it lies beside the shards, where other workers find it."""
    np.savez_compressed(tmp_path / "mnist.npz", **splits_of(X, Y))
    seen = []
    original = write.in_order

    def look_then_order(*arguments):
        seen.extend((tmp_path / "out/mnist/1.0.0").glob(".building-*/unpacked/*"))
        if fails:
            raise KeyError("cut off")
        return original(*arguments)

    monkeypatch.setattr(write, "in_order", look_then_order)
    arguments = ["build", str(tmp_path / "mnist.npz"), "--output", str(tmp_path / "out")]
    if fails:
        with pytest.raises(Exception, match="cut off"):
            commands.main(arguments)
    else:
        assert commands.main(arguments) == 0
    sizes = Counter(len(array.tobytes()) for array in splits_of(X, Y).values())
    assert len({*seen}) == sizes.total()
    assert not [path for path in seen if path.exists()]


@pytest.mark.parametrize(
    ("files", "arguments", "code", "told"),
    [
        pytest.param(
            {"a.tar.gz": b"\x1f\x8b"}, ["a.tar.gz"], 2, "decompress it (gunzip", id="tar.gz"
        ),
        pytest.param({"a.tar": b"\x1f\x8b" * 600}, ["a.tar"], 3, "1 of 1", id="a tar that is gzip"),
        pytest.param({"a.npz": {"x": np.array([{}])}}, ["a.npz"], 3, "1 of 1", id="pickled array"),
        pytest.param({"a.npz": {"x": X, "y": Y[:9]}}, ["a.npz"], 2, "(x 70, y 9)", id="first axes"),
        pytest.param({}, ["*.tar"], 2, "does not exist", id="a pattern of nothing"),
    ],
)
def test_what_the_commands_say(tmp_path, capsys, files, arguments, code, told):
    for name, content in files.items():
        if isinstance(content, bytes):
            (tmp_path / name).write_bytes(content)
        else:
            np.savez(tmp_path / name, **content)
    paths = [str(tmp_path / each) for each in arguments]
    assert commands.main(["plan", *paths]) == code
    assert told in capsys.readouterr().err


def test_plan_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    np.savez_compressed(tmp_path / "mnist.npz", **splits_of(X, Y))
    assert commands.main(["plan", str(tmp_path / "mnist.npz")]) == 0
    said = capsys.readouterr()
    assert "found arrays: mnist.npz" in said.err
    assert "feature x: tensor uint8 [28, 28] as bytes, 0 to 255" in said.out
    assert list((tmp_path / "temporary").iterdir()) == []
