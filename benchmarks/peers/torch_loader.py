"""PyTorch's `DataLoader` on torchvision's `ImageFolder`.

As https://docs.pytorch.org/vision/stable/transforms.html recommends.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2


def batches(folder: Path) -> Iterable[Any]:
    """One pass over the class folders: float32 [64, 3, 224, 224], antialiased."""
    transform = v2.Compose(
        [
            v2.ToImage(),
            v2.Resize((224, 224), antialias=True),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    return DataLoader(
        ImageFolder(str(folder / "photographs"), transform),
        batch_size=64,
        shuffle=True,
        num_workers=os.cpu_count() or 1,
        persistent_workers=True,
    )
