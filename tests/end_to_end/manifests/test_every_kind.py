"""Manifests and folders of every kind go in, and come out of the trainer as they were written."""

import numpy as np
import pytest
import soundfile
from tiers import first_quick

NUM_ROWS = 7  # as many as there are files of a kind in `media`


@pytest.mark.parametrize("layout", first_quick(["csv", "jsonl"]))
def test_every_kind_in_one_manifest(
    media, tmp_path, write_manifest, build_verified, read_by_id, kinds, pixels, layout
):
    rows = [
        {
            "id": number,
            "image": f"images/{number}.png",
            "mask": f"masks/{number}.png",
            "left": f"sounds/{number}.wav",
            "right": str(media / f"sounds/{NUM_ROWS - 1 - number}.wav"),
            "metadata": [number, 0.5, -1e-3, 1e6, number / 7],
            "matrix": [[number, 1.5], [2, 3]],
            "points": [[number, i] for i in range(number % 3)],
            "tokens": list(range(100, 100 + number)),
            "scores": [0.5] * number,
            "words": ["ä"] * (number % 3),
            "caption": f'„Bild“ {number},\n"zwei" Zeilen',
            "weight": number / 4,
            "color": ["red", "blue"][number % 2],
            "shape": number % 3,
            "tags": [["b", "a"], [], ["c"], ["a", "b", "c"]][number % 4],
        }
        for number in range(NUM_ROWS)
    ]
    path = write_manifest(tmp_path / "in/m.txt", rows, layout)
    info = build_verified(
        path,
        tmp_path / "out",
        layout=layout,
        image_root=str(media),
        image_column="image",
        label_column="color,shape,tags",
    )

    assert kinds(info) == {
        "image": "image uint8 [9, 12, 3]",
        "color": "class_label int64 []",
        "shape": "class_label int64 []",
        "tags": "class_label int64 [None]",
        "caption": "text string []",
        "id": "scalar int64 []",
        "left": "audio float32 [None, None]",
        "mask": "image uint8 [9, 12, 3]",
        "matrix": "tensor float32 [2, 2]",
        "metadata": "tensor float32 [5]",
        "points": "sequence int64 [None, 2]",
        "right": "audio float32 [None, None]",
        "scores": "sequence float32 [None]",
        "tokens": "sequence int64 [None]",
        "weight": "scalar float32 []",
        "words": "sequence string [None]",
    }
    classes = {feature.name: feature.classes for feature in info.schema if feature.classes}
    assert classes == {"color": ("blue", "red"), "shape": ("0", "1", "2"), "tags": ("a", "b", "c")}
    records = read_by_id(info)
    assert len(records) == NUM_ROWS
    for row in rows:
        record = records[row["id"]]
        for name in ("image", "mask"):
            np.testing.assert_array_equal(record[name], pixels(media / row[name]))
        for name in ("left", "right"):
            sound, _ = soundfile.read(media / row[name], dtype="float32", always_2d=True)
            np.testing.assert_array_equal(record[name], sound)
        for name in ("metadata", "matrix"):
            np.testing.assert_array_equal(record[name], np.float32(row[name]))
        for name in ("points", "tokens", "scores"):
            assert record[name].tolist() == row[name]
        assert [word.decode() for word in record["words"]] == row["words"]
        assert record["caption"].decode() == row["caption"]
        assert record["weight"] == row["weight"]
        assert classes["color"][record["color"]] == row["color"]
        assert record["shape"] == row["shape"]
        assert [classes["tags"][number] for number in record["tags"]] == row["tags"]
