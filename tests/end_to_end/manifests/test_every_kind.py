"""Manifests and folders of every kind go in, and come out of the trainer as they were written."""

import gzip

import numpy as np
import pytest
import soundfile

import trainer
from beam_pipeline.cli import commands

NUM_ROWS = 7  # as many as there are files of a kind in `media`


@pytest.mark.parametrize("layout", ["csv", pytest.param("jsonl", marks=pytest.mark.slow)])
def test_images_with_vectors_and_captions(
    media, tmp_path, write_manifest, build_verified, read_by_id, kinds, pixels, layout
):
    rows = [
        {
            "id": number,
            "image": f"images/{number}.png",
            "metadata": [number, 0.5, -1e-3, 1e6, number / 7],
            "caption": f'„Bild“ {number},\n"zwei" Zeilen',
            "label": ["cat", "dog"][number % 2],
            "weight": number / 4,
        }
        for number in range(NUM_ROWS)
    ]
    path = write_manifest(tmp_path / "m.txt", rows, layout)
    info = build_verified(path, tmp_path / "out", layout=layout, image_root=str(media))

    assert kinds(info) == {
        "image": "image uint8 [9, 12, 3]",
        "label": "class_label int64 []",
        "caption": "text string []",
        "id": "scalar int64 []",
        "metadata": "tensor float32 [5]",
        "weight": "scalar float32 []",
    }
    records = read_by_id(info)
    assert len(records) == NUM_ROWS
    for row in rows:
        record = records[row["id"]]
        np.testing.assert_array_equal(record["image"], pixels(media / row["image"]))
        np.testing.assert_array_equal(record["metadata"], np.float32(row["metadata"]))
        assert record["caption"].decode() == row["caption"]
        assert info.classes[record["label"]] == row["label"]
        assert record["weight"] == np.float32(row["weight"])


@pytest.mark.parametrize("layout", ["jsonl", pytest.param("csv", marks=pytest.mark.slow)])
def test_token_sequences(tmp_path, write_manifest, build_verified, read_by_id, kinds, layout):
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
    info = build_verified(write_manifest(tmp_path / f"m.{layout}", rows), tmp_path / "out")

    assert kinds(info) == {
        "label": "class_label int64 []",
        "id": "scalar int64 []",
        "scores": "sequence float32 [None]",
        "tokens": "sequence int64 [None]",
        "words": "sequence string [None]",
    }
    records = read_by_id(info)
    assert len(records) == NUM_ROWS
    for row in rows:
        record = records[row["id"]]
        assert record["tokens"].tolist() == row["tokens"]
        assert record["scores"].tolist() == row["scores"]
        assert [word.decode() for word in record["words"]] == row["words"]
        assert record["label"] == row["label"]


@pytest.mark.slow
def test_points_of_any_number_and_matrices(tmp_path, write_manifest, build_verified, read_by_id):
    rows = [
        {
            "id": number,
            "points": [[number, i] for i in range(number % 3)],
            "matrix": [[number, 1.5], [2, 3]],
        }
        for number in range(NUM_ROWS)
    ]
    records = read_by_id(
        build_verified(write_manifest(tmp_path / "m.jsonl", rows), tmp_path / "out")
    )
    assert len(records) == NUM_ROWS
    for row in rows:
        record = records[row["id"]]
        assert record["points"].tolist() == row["points"]
        assert record["matrix"].tolist() == row["matrix"]


def test_a_table_without_labels(tmp_path, write_manifest, build_verified, read_by_id, kinds):
    rows = [{"id": number, "x": number - 3, "y": number / 8} for number in range(NUM_ROWS)]
    path = write_manifest(tmp_path / "m.csv", rows)
    (tmp_path / "m.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    infos = [
        build_verified(tmp_path / name, tmp_path / name.replace(".", "_"))
        for name in ("m.csv", "m.csv.gz")
    ]
    for info in infos:
        assert kinds(info) == {
            "id": "scalar int64 []",
            "x": "scalar int64 []",
            "y": "scalar float32 []",
        }
        assert {id_: (record["x"], record["y"]) for id_, record in read_by_id(info).items()} == {
            row["id"]: (row["x"], row["y"]) for row in rows
        }


@pytest.mark.slow
def test_several_of_one_kind(media, tmp_path, write_manifest, build_verified, read_by_id, pixels):
    rows = [
        {
            "id": number,
            "image": str(media / f"images/{number}.png"),
            "mask": f"../media/masks/{number}.png",
            "left": f"../media/sounds/{number}.wav",
            "right": str(media / f"sounds/{NUM_ROWS - 1 - number}.wav"),
            "color": ["red", "blue"][number % 2],
            "shape": number % 3,
        }
        for number in range(NUM_ROWS)
    ]
    (tmp_path / "media").symlink_to(media)
    path = write_manifest(tmp_path / "in/m.csv", rows)
    info = build_verified(
        path,
        tmp_path / "out",
        label_column="color,shape",
        image_column="image",
        allow_outside=[media, tmp_path / "media"],
    )

    assert [feature.name for feature in info.features] == [
        *("image", "color", "id", "left", "mask", "right", "shape"),
    ]
    classes = {feature.name: feature.classes for feature in info.features if feature.classes}
    assert classes == {"color": ("blue", "red"), "shape": ("0", "1", "2")}
    records = read_by_id(info)
    assert len(records) == NUM_ROWS
    for row in rows:
        number = row["id"]
        record = records[number]
        np.testing.assert_array_equal(record["image"], pixels(media / f"images/{number}.png"))
        np.testing.assert_array_equal(record["mask"], pixels(media / f"masks/{number}.png"))
        for side, source in (("left", number), ("right", NUM_ROWS - 1 - number)):
            sound, _ = soundfile.read(
                media / f"sounds/{source}.wav", dtype="float32", always_2d=True
            )
            np.testing.assert_array_equal(record[side], sound)
        assert classes["color"][record["color"]] == row["color"]
        assert record["shape"] == row["shape"]


@pytest.mark.parametrize("layout", ["csv", pytest.param("jsonl", marks=pytest.mark.slow)])
def test_several_labels_a_record(tmp_path, write_manifest, build_verified, read_by_id, layout):
    names = [["b", "a"], [], ["c"], ["a", "b", "c"]]
    rows = [{"id": number, "labels": each} for number, each in enumerate(names)]
    info = build_verified(write_manifest(tmp_path / f"m.{layout}", rows), tmp_path / "out")

    assert info.classes == ("a", "b", "c")
    labels = {id_: record["label"].tolist() for id_, record in read_by_id(info).items()}
    assert labels == {0: [1, 0], 1: [], 2: [2], 3: [0, 1, 2]}


@pytest.mark.slow
def test_a_folder_of_sounds_with_metadata(
    media, tmp_path, write_manifest, build_verified, read_by_id, kinds
):
    for split, numbers in (("train", range(5)), ("test", range(5, NUM_ROWS))):
        rows = [
            {"id": number, "file_name": f"a/{number}.wav", "text": f"number {number}"}
            for number in numbers
        ]
        write_manifest(tmp_path / f"in/{split}/metadata.csv", rows)
        (tmp_path / f"in/{split}/a").symlink_to(media / "sounds")
    info = build_verified(tmp_path / "in", tmp_path / "out")

    assert kinds(info) == {
        "audio": "audio float32 [None, None]",
        "id": "scalar int64 []",
        "text": "text string []",
    }
    for split, numbers in (("train", range(5)), ("test", range(5, NUM_ROWS))):
        records = read_by_id(info, split)
        assert sorted(records) == [*numbers]
        for number, record in records.items():
            path = media / f"sounds/{number}.wav"
            sound, _ = soundfile.read(path, dtype="float32", always_2d=True)
            np.testing.assert_array_equal(record["audio"], sound)
            assert record["text"].decode() == f"number {number}"


@pytest.mark.slow
def test_a_pattern_of_paths(media, tmp_path, build_verified, read_by_id):
    """As the Free Spoken Digit Dataset names its recordings."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    for number in range(NUM_ROWS):
        speaker = ["theo", "lucas"][number % 2]
        (folder / f"{number % 3}_{speaker}_{number}.wav").symlink_to(media / f"sounds/{number}.wav")
    (folder / "README.md").write_text("recordings")
    info = build_verified(folder, tmp_path / "out", path_pattern="{label}_{speaker}_{id}")

    assert info.classes == ("0", "1", "2")
    assert info.metadata["rejected"] == {"not an audio file": 1}
    records = read_by_id(info)
    assert {
        id_: (int(record["label"]), record["speaker"].decode(), len(record["audio"]))
        for id_, record in records.items()
    } == {
        number: (number % 3, ["theo", "lucas"][number % 2], 50 + number)
        for number in range(NUM_ROWS)
    }


def test_folders_of_arrays_and_flat_folders(media, tmp_path, build_verified, kinds):
    for number in range(4):
        (tmp_path / f"in/{'ab'[number % 2]}").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"in/{'ab'[number % 2]}/{number}.npy").symlink_to(
            media / f"arrays/{number}.npy"
        )
    info = build_verified(tmp_path / "in", tmp_path / "arrays")
    assert kinds(info) == {"label": "class_label int64 []", "array": "tensor float32 [2, 3]"}
    sums = sorted(float(record["array"].sum()) for record in trainer.open(info.directory).numpy())
    expected = sorted(float(np.load(media / f"arrays/{number}.npy").sum()) for number in range(4))
    np.testing.assert_allclose(sums, expected)

    info = build_verified(media / "images", tmp_path / "images")
    assert kinds(info) == {"image": "image uint8 [9, 12, 3]"}
    assert info.num_records("train") == NUM_ROWS


def test_plan_tells_the_schema_that_it_inferred(media, tmp_path, capsys, write_manifest):
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
    manifest = str(write_manifest(tmp_path / "m.csv", rows))
    assert commands.main(["plan", manifest, "--allow-outside", str(media)]) == 0
    output = capsys.readouterr().out.splitlines()
    assert {
        "feature audio: audio wav, 8,000 Hz, 50 to 56 samples",
        "feature label: class_label, 2 classes",
        "feature age: scalar int64, 17 to 23",
        "feature caption: text, 5 to 11 characters",
        "feature tokens: sequence int64, 3 to 9 values, 0 to 8",
    } <= set(output)
