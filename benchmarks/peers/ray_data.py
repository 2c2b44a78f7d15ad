"""Ray Data, as https://docs.ray.io/en/latest/data/working-with-images.html.

python benchmarks/peers/ray_data.py FOLDER OUTPUT
"""

import sys
from pathlib import Path
from typing import Any

import ray


def with_label(row: dict[str, Any]) -> dict[str, Any]:
    """Adds the folder's name as the class."""
    return {"image": row["bytes"], "label": Path(row["path"]).parent.name}


if __name__ == "__main__":
    files = ray.data.read_binary_files(sys.argv[1], include_paths=True)
    files.map(with_label).random_shuffle(seed=0).write_tfrecords(sys.argv[2])
