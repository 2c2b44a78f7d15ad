"""Keras's `image_dataset_from_directory`, as https://www.tensorflow.org/tutorials/load_data/images."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf


def batches(folder: Path) -> Iterable[Any]:
    """One pass over the class folders: float32 [64, 224, 224, 3], bilinear without antialiasing."""
    photographs = keras.utils.image_dataset_from_directory(
        folder / "photographs", image_size=(224, 224), batch_size=64, verbose=False
    )
    return photographs.prefetch(tf.data.AUTOTUNE)
