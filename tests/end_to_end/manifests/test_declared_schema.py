"""A manifest is read, stored and rejected as a declared schema says."""

import json
from typing import Any

import numpy as np
import pytest
import yaml

import beam_pipeline
import trainer
from beam_pipeline.cli import commands

NUM_ROWS = 7  # as many as there are files of a kind in `media`

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
            "image": f"images/{number}.png",
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


@pytest.mark.parametrize(
    ("layout", "suffix"), [pytest.param("csv", "yaml", marks=pytest.mark.slow), ("jsonl", "json")]
)
def test_a_declared_schema(media, tmp_path, capsys, write_manifest, pixels, layout, suffix):
    schema = tmp_path / f"schema.{suffix}"
    listed = [
        {"name": name, **({"kind": each} if isinstance(each, str) else each)}
        for name, each in SCHEMA.items()
    ]
    schema.write_text(
        json.dumps(listed) if suffix == "json" else yaml.safe_dump(SCHEMA, sort_keys=False)
    )
    path = write_manifest(tmp_path / f"m.{layout}", declared_rows())

    code = commands.main(
        [
            *("build", str(path), "--output", str(tmp_path / "out"), "--threads", "1"),
            *("--schema", str(schema), "--image-root", str(media)),
        ]
    )
    shown = capsys.readouterr()
    assert code == 0, shown.err
    info = beam_pipeline.open(shown.out.strip())

    assert beam_pipeline.verify(info) == []
    assert [feature.name for feature in info.schema] == [*SCHEMA]
    dataset = trainer.open(info.path)
    records = {int(record["id"]): record for record in dataset.numpy("train", image_dtype="uint8")}
    assert len(records) == NUM_ROWS
    for number, record in records.items():
        array = np.load(media / f"arrays/{number}.npy") if number % 2 else [[0.5, 1, 2], [3, 4, 5]]
        np.testing.assert_array_equal(record["image"], pixels(media / f"images/{number}.png"))
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
