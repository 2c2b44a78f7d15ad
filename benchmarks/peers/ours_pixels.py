"""`trainer.open(…).batches(…)` on small images that `build` has stored as pixels."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import trainer


def batches(folder: Path) -> Iterable[Any]:
    """One pass over a dataset of `build --image-format bmp`: float32 [64, 224, 224, 3]."""
    dataset = trainer.open(folder / "pixels")
    return dataset.batches(
        "train", batch_size=64, image_size=224, image_dtype="float32", target="label", shuffle=True
    )
