"""Manifests in both forms, and the files that they name."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from PIL import Image


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """A row a record, lists as JSON, missing values empty."""
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


def _write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="session")
def write_manifest() -> Callable[..., Path]:
    """write_manifest(path, rows, layout=) -> the path; the layout is that of its suffix."""

    def write(path: Path, rows: list[dict[str, Any]], layout: str = "") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        {"csv": _write_csv, "jsonl": _write_jsonl}[layout or path.suffix[1:]](path, rows)
        return path

    return write


@pytest.fixture(scope="session")
def pixels() -> Callable[[Path], np.ndarray]:
    """The pixels of an image's file: uint8 [height, width, 3]."""

    def of(path: Path) -> np.ndarray:
        return np.asarray(Image.open(path).convert("RGB"))

    return of


@pytest.fixture(scope="session")
def media(tmp_path_factory: pytest.TempPathFactory, write_image: Callable[..., Path]) -> Path:
    """Images, masks, sounds, arrays and other files in a folder each, numbered 0 to 6."""
    random = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("media")
    (folder / "sounds").mkdir()
    (folder / "arrays").mkdir()
    (folder / "blobs").mkdir()
    for number in range(7):
        write_image(folder / f"images/{number}.png", seed=number)
        write_image(folder / f"masks/{number}.png", seed=100 + number)
        sound = random.integers(-3000, 3000, (50 + number, 1 + number % 2), dtype=np.int16)
        soundfile.write(folder / f"sounds/{number}.wav", sound, 8000)
        np.save(folder / f"arrays/{number}.npy", random.random((2, 3), dtype=np.float32))
        (folder / f"blobs/{number}.bin").write_bytes(random.bytes(number))
    return folder
