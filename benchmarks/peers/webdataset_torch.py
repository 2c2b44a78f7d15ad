"""WebDataset's tars, as in https://github.com/webdataset/webdataset#readme."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import webdataset
from torchvision.transforms import v2


def batches(folder: Path) -> Iterable[Any]:
    """One pass over the tars: float32 [64, 3, 224, 224], antialiased."""
    transform = v2.Compose(
        [
            v2.ToImage(),
            v2.Resize((224, 224), antialias=True),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    tars = [str(path) for path in sorted((folder / "tars").glob("*.tar"))]
    photographs = (
        webdataset.WebDataset(tars, shardshuffle=len(tars))
        .shuffle(1000)
        .decode("pil")
        .to_tuple("jpg", "cls")
        .map_tuple(transform, int)
        .batched(64)
    )
    return webdataset.WebLoader(photographs, batch_size=None, num_workers=os.cpu_count() or 1)
