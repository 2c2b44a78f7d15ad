"""A TensorFlow Datasets builder for a CSV; the first row determines the columns.

python benchmarks/peers/tfds_rows.py FILE OUTPUT
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds


def dtype_of(cell: str) -> Any:
    """The dtype of a column, from one of its cells."""
    for number, dtype in ((int, np.int64), (float, np.float32)):
        try:
            number(cell)
        except ValueError:
            continue
        return dtype
    return np.str_


class Rows(tfds.core.GeneratorBasedBuilder):
    """Rows of a CSV as a dataset."""

    VERSION = tfds.core.Version("1.0.0")
    file: Path

    def _info(self) -> tfds.core.DatasetInfo:
        with self.file.open(newline="", encoding="utf-8") as file:
            first = next(csv.DictReader(file))
        features = {
            name: tfds.features.Tensor(shape=(), dtype=dtype_of(cell))
            for name, cell in first.items()
        }
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager: Any) -> Any:
        return {"train": self._generate_examples(self.file)}

    def _generate_examples(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        dtypes = {name: feature.np_dtype for name, feature in self.info.features.items()}
        numbers = {
            name: np.dtype(dtype).type for name, dtype in dtypes.items() if dtype != np.object_
        }
        with path.open(newline="", encoding="utf-8") as file:
            for key, row in enumerate(csv.DictReader(file)):
                yield key, {**row, **{name: make(row[name]) for name, make in numbers.items()}}


def main() -> None:
    Rows.file = Path(sys.argv[1])
    Rows(data_dir=sys.argv[2]).download_and_prepare()


if __name__ == "__main__":
    main()
