"""Grain's `MapDataset`, as https://google-grain.readthedocs.io/en/latest/tutorials/data_loader_tutorial.html."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cv2
import grain.python as grain
import numpy as np


class Photographs:
    """A random-access source: the files of class folders."""

    def __init__(self, folder: Path) -> None:
        self._files = sorted(folder.rglob("*.jpg"))
        classes = sorted({file.parent.name for file in self._files})
        self._labels = [classes.index(file.parent.name) for file in self._files]

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> Any:
        return self._files[index].read_bytes(), self._labels[index]


def batches(folder: Path) -> Iterable[Any]:
    """One pass over the class folders: float32 [64, 224, 224, 3], by areas."""
    return (
        grain.MapDataset.source(Photographs(folder / "photographs"))
        .shuffle(seed=0)
        .map(_read)
        .batch(64)
        .to_iter_dataset()
        .mp_prefetch(grain.MultiprocessingOptions(num_workers=os.cpu_count() or 1))
    )


def _read(element: Any) -> Any:
    data, label = element
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
    image = cv2.resize(image, (224, 224), interpolation=cv2.INTER_AREA)
    return image.astype(np.float32) / 255, label
