"""FFCV's `Loader` on images that its `DatasetWriter` has resized for training.

As https://docs.ffcv.io/writing_datasets.html and https://docs.ffcv.io/making_dataloaders.html.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import CenterCropRGBImageDecoder, IntDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from torchvision.datasets import ImageFolder


def batches(folder: Path) -> Iterable[Any]:
    """One pass over JPEGs of at most 256 pixels, quality 90: float32 [64, 3, 224, 224]."""
    file = folder / "photographs.beton"
    if not file.exists():
        fields = {"image": RGBImageField(max_resolution=256, jpeg_quality=90), "label": IntField()}
        partial = file.with_suffix(".partial")
        writer = DatasetWriter(str(partial), fields, num_workers=os.cpu_count() or 1)
        writer.from_indexed_dataset(ImageFolder(str(folder / "photographs")))
        partial.rename(file)
    decoder = CenterCropRGBImageDecoder((224, 224), ratio=1)
    scale = NormalizeImage(np.zeros(3), np.full(3, 255.0), np.float32)
    return Loader(
        str(file),
        batch_size=64,
        num_workers=os.cpu_count() or 1,
        order=OrderOption.RANDOM,
        pipelines={
            "image": [decoder, scale, ToTensor(), ToTorchImage()],
            "label": [IntDecoder(), ToTensor()],
        },
    )
