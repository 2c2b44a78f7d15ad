"""`trainer.open(…).batches(…)` on images that `build` has resized for training."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import trainer


def batches(folder: Path) -> Iterable[Any]:
    """One pass over a dataset of `build --image-max-side 256`: float32 [64, 224, 224, 3]."""
    dataset = trainer.open(folder / "sized")
    return dataset.batches(
        "train", batch_size=64, image_size=224, image_dtype="float32", target="label", shuffle=True
    )
