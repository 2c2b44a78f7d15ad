"""NVIDIA DALI without a GPU.

As https://docs.nvidia.com/deeplearning/dali/user-guide/docs/examples/getting_started.html.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nvidia.dali import fn, pipeline_def, types


class Pass:
    """One pass over the class folders for each iteration."""

    def __init__(self, pipeline: Any, num_batches: int) -> None:
        self._pipeline, self._num_batches = pipeline, num_batches

    def __iter__(self) -> Iterator[Any]:
        for _ in range(self._num_batches):
            images, labels = self._pipeline.run()
            yield images.as_array(), labels.as_array()


def batches(folder: Path) -> Pass:
    """One pass over the class folders: float32 [64, 3, 224, 224], antialiased."""

    @pipeline_def(batch_size=64, num_threads=os.cpu_count(), device_id=None)
    def photographs() -> Any:
        data, labels = fn.readers.file(
            file_root=str(folder / "photographs"), random_shuffle=True, name="files"
        )
        images = fn.decoders.image(data, output_type=types.RGB)
        images = fn.resize(images, resize_x=224, resize_y=224)
        return fn.crop_mirror_normalize(images, dtype=types.FLOAT, std=[255.0]), labels

    pipeline = photographs()
    pipeline.build()
    return Pass(pipeline, pipeline.epoch_size("files") // 64)
