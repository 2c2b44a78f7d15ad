"""Manifests and folders of every kind go in, and come out of the trainer as they were written."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import yaml
from PIL import Image

import beam_pipeline
import trainer
from beam_pipeline import commands
from beam_pipeline.verification import verify

NUMBERS = np.random.default_rng(0)
NUM_ROWS = 7


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A row a record, lists as JSON, missing values empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, dict.fromkeys(name for row in rows for name in row))
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {
                    name: json.dumps(value) if isinstance(value, list) else value
                    for name, value in row.items()
                }
            )
    return path


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


WRITERS = [pytest.param(write_csv, id="csv"), pytest.param(write_jsonl, id="jsonl")]


def build(path: Path, output: Path, **options: Any) -> beam_pipeline.DatasetInfo:
    """The data set of one input, verified."""
    config = beam_pipeline.BuildConfig(input=str(path), output=str(output), name="made", **options)
    info = beam_pipeline.build(config)
    assert verify(info) == []
    return info


def read(info: beam_pipeline.DatasetInfo, split: str = "train") -> dict[int, dict[str, Any]]:
    """What the trainer reads, by the column "id"."""
    records = trainer.open(info.directory).numpy(split, image_dtype="uint8")
    return {int(record.pop("id")): record for record in records}


def kinds(info: beam_pipeline.DatasetInfo) -> dict[str, str]:
    return {
        feature.name: f"{feature.kind} {feature.dtype} {[*feature.shape]}"
        for feature in info.features
    }


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB"))


@pytest.fixture(scope="module")
def media(tmp_path_factory, write_picture):
    """Pictures, masks, sounds, arrays and other files, NUM_ROWS of each."""
    folder = tmp_path_factory.mktemp("media")
    (folder / "sounds").mkdir()
    (folder / "arrays").mkdir()
    (folder / "blobs").mkdir()
    for number in range(NUM_ROWS):
        write_picture(folder / f"pictures/{number}.png", seed=number)
        write_picture(folder / f"masks/{number}.png", seed=100 + number)
        sound = NUMBERS.integers(-3000, 3000, (50 + number, 1 + number % 2), dtype=np.int16)
        soundfile.write(folder / f"sounds/{number}.wav", sound, 8000)
        np.save(folder / f"arrays/{number}.npy", NUMBERS.random((2, 3), dtype=np.float32))
        (folder / f"blobs/{number}.bin").write_bytes(NUMBERS.bytes(number))
    return folder


@pytest.mark.parametrize("write", WRITERS)
def test_pictures_with_vectors_and_captions(media, tmp_path, write):
    rows = [
        {
            "id": number,
            "image": f"pictures/{number}.png",
            "metadata": [number, 0.5, -1e-3, 1e6, number / 7],
            "caption": f'„Bild“ {number},\n"zwei" Zeilen',
            "label": ["cat", "dog"][number % 2],
            "weight": number / 4,
        }
        for number in range(NUM_ROWS)
    ]
    path = write(tmp_path / "m.txt", rows)
    name = "csv" if write is write_csv else "jsonl"
    info = build(path, tmp_path / "out", layout=name, image_root=str(media))

    assert kinds(info) == {
        "image": "image uint8 [9, 12, 3]",
        "label": "class_label int64 []",
        "caption": "text string []",
        "id": "scalar int64 []",
        "metadata": "tensor float32 [5]",
        "weight": "scalar float32 []",
    }
    records = read(info)
    assert len(records) == NUM_ROWS
    for row in rows:
        record = records[row["id"]]
        np.testing.assert_array_equal(record["image"], pixels(media / row["image"]))
        np.testing.assert_array_equal(record["metadata"], np.float32(row["metadata"]))
        assert record["caption"].decode() == row["caption"]
        assert info.classes[record["label"]] == row["label"]
        assert record["weight"] == np.float32(row["weight"])


@pytest.mark.parametrize("write", WRITERS)
def test_token_sequences(tmp_path, write):
    rows = [
        {
            "id": number,
            "tokens": list(range(100, 100 + number)),
            "scores": [0.5] * number,
            "words": ["ä"] * (number % 3),
            "label": number % 2,
        }
        for number in range(NUM_ROWS)
    ]
    info = build(write(tmp_path / f"m.{write.__name__[6:]}", rows), tmp_path / "out")

    assert kinds(info) == {
        "label": "class_label int64 []",
        "id": "scalar int64 []",
        "scores": "sequence float32 [None]",
        "tokens": "sequence int64 [None]",
        "words": "sequence string [None]",
    }
    records = read(info)
    assert len(records) == NUM_ROWS
    for row in rows:
        record = records[row["id"]]
        assert record["tokens"].tolist() == row["tokens"]
        assert record["scores"].tolist() == row["scores"]
        assert [word.decode() for word in record["words"]] == row["words"]
        assert record["label"] == row["label"]


def test_points_of_any_number_and_matrices(tmp_path):
    rows = [
        {
            "id": number,
            "points": [[number, i] for i in range(number % 3)],
            "matrix": [[number, 1.5], [2, 3]],
        }
        for number in range(NUM_ROWS)
    ]
    records = read(build(write_jsonl(tmp_path / "m.jsonl", rows), tmp_path / "out"))
    assert len(records) == NUM_ROWS
    for row in rows:
        record = records[row["id"]]
        assert record["points"].tolist() == row["points"]
        assert record["matrix"].tolist() == row["matrix"]


def test_a_table_without_labels(tmp_path):
    rows = [{"id": number, "x": number - 3, "y": number / 8} for number in range(NUM_ROWS)]
    path = write_csv(tmp_path / "m.csv", rows)
    (tmp_path / "m.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    infos = [
        build(tmp_path / name, tmp_path / name.replace(".", "_")) for name in ("m.csv", "m.csv.gz")
    ]
    for info in infos:
        assert kinds(info) == {
            "id": "scalar int64 []",
            "x": "scalar int64 []",
            "y": "scalar float32 []",
        }
        assert {id_: (record["x"], record["y"]) for id_, record in read(info).items()} == {
            row["id"]: (row["x"], row["y"]) for row in rows
        }


def test_several_of_one_kind(media, tmp_path):
    rows = [
        {
            "id": number,
            "picture": str(media / f"pictures/{number}.png"),
            "mask": f"../media/masks/{number}.png",
            "left": f"../media/sounds/{number}.wav",
            "right": str(media / f"sounds/{NUM_ROWS - 1 - number}.wav"),
            "color": ["red", "blue"][number % 2],
            "shape": number % 3,
        }
        for number in range(NUM_ROWS)
    ]
    (tmp_path / "media").symlink_to(media)
    path = write_csv(tmp_path / "in/m.csv", rows)
    info = build(path, tmp_path / "out", label_column="color,shape", image_column="picture")

    assert [feature.name for feature in info.features] == [
        *("image", "color", "id", "left", "mask", "right", "shape"),
    ]
    classes = {feature.name: feature.classes for feature in info.features if feature.classes}
    assert classes == {"color": ("blue", "red"), "shape": ("0", "1", "2")}
    records = read(info)
    assert len(records) == NUM_ROWS
    for row in rows:
        number = row["id"]
        record = records[number]
        np.testing.assert_array_equal(record["image"], pixels(media / f"pictures/{number}.png"))
        np.testing.assert_array_equal(record["mask"], pixels(media / f"masks/{number}.png"))
        for side, source in (("left", number), ("right", NUM_ROWS - 1 - number)):
            sound, _ = soundfile.read(
                media / f"sounds/{source}.wav", dtype="float32", always_2d=True
            )
            np.testing.assert_array_equal(record[side], sound)
        assert classes["color"][record["color"]] == row["color"]
        assert record["shape"] == row["shape"]


@pytest.mark.parametrize("write", WRITERS)
def test_several_labels_a_record(tmp_path, write):
    names = [["b", "a"], [], ["c"], ["a", "b", "c"]]
    rows = [{"id": number, "labels": each} for number, each in enumerate(names)]
    info = build(write(tmp_path / f"m.{write.__name__[6:]}", rows), tmp_path / "out")

    assert info.classes == ("a", "b", "c")
    labels = {id_: record["label"].tolist() for id_, record in read(info).items()}
    assert labels == {0: [1, 0], 1: [], 2: [2], 3: [0, 1, 2]}


def test_a_folder_of_sounds_with_metadata(media, tmp_path):
    for split, numbers in (("train", range(5)), ("test", range(5, NUM_ROWS))):
        rows = [
            {"id": number, "file_name": f"a/{number}.wav", "text": f"number {number}"}
            for number in numbers
        ]
        write_csv(tmp_path / f"in/{split}/metadata.csv", rows)
        (tmp_path / f"in/{split}/a").symlink_to(media / "sounds")
    info = build(tmp_path / "in", tmp_path / "out")

    assert kinds(info) == {
        "audio": "audio float32 [None, None]",
        "id": "scalar int64 []",
        "text": "text string []",
    }
    for split, numbers in (("train", range(5)), ("test", range(5, NUM_ROWS))):
        records = read(info, split)
        assert sorted(records) == [*numbers]
        for number, record in records.items():
            path = media / f"sounds/{number}.wav"
            sound, _ = soundfile.read(path, dtype="float32", always_2d=True)
            np.testing.assert_array_equal(record["audio"], sound)
            assert record["text"].decode() == f"number {number}"


def test_a_pattern_of_paths(media, tmp_path):
    """As the Free Spoken Digit Dataset names its recordings."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    for number in range(NUM_ROWS):
        speaker = ["theo", "lucas"][number % 2]
        (folder / f"{number % 3}_{speaker}_{number}.wav").symlink_to(media / f"sounds/{number}.wav")
    (folder / "README.md").write_text("recordings")
    info = build(folder, tmp_path / "out", path_pattern="{label}_{speaker}_{id}")

    assert info.classes == ("0", "1", "2")
    assert info.metadata["rejected"] == {"not an audio file": 1}
    records = read(info)
    assert {
        id_: (int(record["label"]), record["speaker"].decode(), len(record["audio"]))
        for id_, record in records.items()
    } == {
        number: (number % 3, ["theo", "lucas"][number % 2], 50 + number)
        for number in range(NUM_ROWS)
    }


def test_folders_of_arrays_and_flat_folders(media, tmp_path):
    for number in range(4):
        (tmp_path / f"in/{'ab'[number % 2]}").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"in/{'ab'[number % 2]}/{number}.npy").symlink_to(
            media / f"arrays/{number}.npy"
        )
    info = build(tmp_path / "in", tmp_path / "arrays")
    assert kinds(info) == {"label": "class_label int64 []", "array": "tensor float32 [2, 3]"}
    sums = sorted(float(record["array"].sum()) for record in trainer.open(info.directory).numpy())
    expected = sorted(float(np.load(media / f"arrays/{number}.npy").sum()) for number in range(4))
    np.testing.assert_allclose(sums, expected)

    info = build(media / "pictures", tmp_path / "pictures")
    assert kinds(info) == {"image": "image uint8 [9, 12, 3]"}
    assert info.num_records("train") == NUM_ROWS


SCHEMA: dict[str, Any] = {
    "id": {"kind": "scalar", "dtype": "int64"},
    "image": "image",
    "array": {"kind": "tensor", "dtype": "float32", "shape": [2, 3]},
    "pixels": {"kind": "tensor", "dtype": "uint8", "shape": [2, 2], "encoding": "bytes"},
    "tokens": {"kind": "sequence", "dtype": "int64"},
    "age": {"kind": "scalar", "dtype": "float32", "minimum": 0, "maximum": 120},
    "blob": "bytes",
    "plate": {"kind": "scalar", "dtype": "string"},
    "code": {"kind": "scalar", "dtype": "bytes"},
    "note": "text",
    "label": {"kind": "class_label", "classes": ["cat", "dog", "owl"]},
    "tags": {"kind": "class_label", "shape": [None], "classes": ["x", "y"]},
}


def declared_rows() -> list[dict[str, Any]]:
    return [
        {
            "unused": {"an": "object"},
            "id": str(number),
            "image": f"pictures/{number}.png",
            "array": f"arrays/{number}.npy" if number % 2 else "0.5 1 2; 3 4 5",
            "pixels": f"{number} 80 82 72",
            "tokens": "[]" if number == 3 else " ".join(map(str, range(number + 1))),
            "age": f"{number}.5",
            "blob": f"blobs/{number}.bin",
            "plate": "007",
            "code": "ß",
            "note": 12 if number else "",
            "label": ["dog", "0", "owl"][number % 3],
            "tags": ["x|y", "", "y", '["x"]'][number % 4],
        }
        for number in range(NUM_ROWS)
    ]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_declared_schema(media, tmp_path, capsys, write, suffix):
    schema = tmp_path / f"schema.{suffix}"
    listed = [
        {"name": name, **({"kind": each} if isinstance(each, str) else each)}
        for name, each in SCHEMA.items()
    ]
    schema.write_text(
        json.dumps(listed) if suffix == "json" else yaml.safe_dump(SCHEMA, sort_keys=False)
    )
    path = write(tmp_path / f"m.{write.__name__[6:]}", declared_rows())

    code = commands.main(
        [
            *("build", str(path), "--output", str(tmp_path / "out"), "--threads", "1"),
            *("--schema", str(schema), "--image-root", str(media)),
        ]
    )
    shown = capsys.readouterr()
    assert code == 0, shown.err
    info = beam_pipeline.open_dataset(shown.out.strip())

    assert verify(info) == []
    assert [feature.name for feature in info.features] == [*SCHEMA]
    dataset = trainer.open(info.directory)
    records = {int(record["id"]): record for record in dataset.numpy("train", image_dtype="uint8")}
    assert len(records) == NUM_ROWS
    for number, record in records.items():
        array = np.load(media / f"arrays/{number}.npy") if number % 2 else [[0.5, 1, 2], [3, 4, 5]]
        np.testing.assert_array_equal(record["image"], pixels(media / f"pictures/{number}.png"))
        np.testing.assert_array_equal(record["array"], array)
        np.testing.assert_array_equal(record["pixels"], np.uint8([[number, 80], [82, 72]]))
        assert record["tokens"].tolist() == ([] if number == 3 else [*range(number + 1)])
        assert record["age"] == number + 0.5
        assert record["blob"] == (media / f"blobs/{number}.bin").read_bytes()
        assert record["plate"] == b"007"
        assert record["code"] == "ß".encode()
        assert record["note"] == (b"12" if number else b"")
        assert record["label"] == [1, 0, 2][number % 3]
        assert record["tags"].tolist() == [[0, 1], [], [1], [0]][number % 4]


BAD = [
    ("id", "1.0", "column 'id' is '1.0', where one int64 number was expected"),
    ("id", "", "column 'id' is empty, where one int64 number was expected"),
    ("image", "", "column 'image' is empty, where the path of a file was expected"),
    ("array", "1 2 3 4 5", "a list of 2×3 float32 numbers was expected (its shape is [5])"),
    ("array", "wide.npy", "'array' is float32 [3, 2]"),
    ("pixels", "1 2 3 256", "a list of 2×2 uint8 numbers was expected"),
    ("tokens", "1 2.5", "column 'tokens' is '1 2.5', where a list of int64 numbers was expected"),
    ("age", "130", "'age' is 130.0, where float32 from 0 to 120 was expected"),
    ("age", "old", "column 'age' is 'old', where one float32 number was expected"),
    ("blob", " ", "column 'blob' is empty, where the path of a file was expected"),
    ("label", "cow", "column 'label' is 'cow', where a class of cat, dog, owl was expected"),
    ("label", "3", "column 'label' is '3', where a class of cat, dog, owl was expected"),
    ("tags", "x|z", "column 'tags' is 'x|z', where a list of classes of x, y was expected"),
]


def test_rows_that_do_not_fit_a_schema_are_rejected(media, tmp_path, capsys):
    good = {**declared_rows()[1], "unused": ""}
    np.save(tmp_path / "wide.npy", np.zeros((3, 2), np.float32))
    rows = [good, *({**good, column: value} for column, value, _ in BAD)]
    rows = [
        {
            **row,
            "array": str(tmp_path / row["array"] if row["array"] == "wide.npy" else row["array"]),
        }
        for row in rows
    ]
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    arguments = [
        *("build", str(write_csv(tmp_path / "m.csv", rows)), "--output", str(tmp_path / "out")),
        *("--schema", str(schema), "--image-root", str(media), "--threads", "1"),
    ]

    assert commands.main(arguments) == 3
    assert commands.main([*arguments, "--max-bad-fraction", "0.95"]) == 0
    shown = capsys.readouterr()

    info = beam_pipeline.open_dataset(shown.out.strip())
    lines = (Path(info.directory) / "rejects.jsonl").read_text().splitlines()
    found = {each["source"]: each for each in map(json.loads, lines)}
    assert info.num_records("train") == 1
    assert len(found) == len(BAD)
    for line, (column, _, detail) in enumerate(BAD, start=3):
        told = found[f"m.csv:{line}"]
        assert told["reason"] == "does not fit the schema"
        assert column in told["detail"]
        assert detail in told["detail"]


def test_a_schema_without_its_column_stops_before_the_job(tmp_path, capsys):
    schema = tmp_path / "schema.yaml"
    schema.write_text("agee: {kind: scalar, dtype: int64}")
    path = write_csv(tmp_path / "m.csv", [{"age": 1}])
    assert commands.main(["plan", str(path), "--schema", str(schema)]) == 2
    assert "feature 'agee'" in (told := capsys.readouterr().err)
    assert "did you mean 'age'" in told


def test_two_features_of_one_key_stop_before_the_job(media, tmp_path, capsys):
    schema = tmp_path / "schema.yaml"
    schema.write_text("mask: image\nmask/height: {kind: scalar, dtype: int64}")
    rows = [{"mask": str(media / "pictures/0.png"), "mask/height": 1}]
    path = write_csv(tmp_path / "m.csv", rows)
    assert commands.main(["plan", str(path), "--schema", str(schema)]) == 2
    assert "'mask' and 'mask/height' are both stored as 'mask/height'" in capsys.readouterr().err


def test_plan_tells_the_schema_that_it_inferred(media, tmp_path, capsys):
    rows = [
        {
            "wav": str(media / f"sounds/{number}.wav"),
            "tokens": [*range(3 + number)],
            "age": 17 + number,
            "caption": "x" * (5 + number),
            "target": ["a", "b"][number % 2],
        }
        for number in range(NUM_ROWS)
    ]
    assert commands.main(["plan", str(write_csv(tmp_path / "m.csv", rows))]) == 0
    told = capsys.readouterr().out.splitlines()
    assert {
        "feature audio: audio wav, 8,000 Hz, 50 to 56 samples",
        "feature label: class_label, 2 classes",
        "feature age: scalar int64, 17 to 23",
        "feature caption: text, 5 to 11 characters",
        "feature tokens: sequence int64, 3 to 9 values, 0 to 8",
    } <= set(told)
