"""What a training's input would reach if its images were stored at the size that it sees.

A sample of the dataset's records is encoded again, as `beam_pipeline build` would store them, and
read as the training reads the dataset.
"""

import dataclasses
import io
import itertools
import math
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tfrecord_dataset import example
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.frames import framed
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.records.reader import RecordReader
from trainer import parsing
from trainer.dataset.opening import open_data
from trainer.image_cache import stored_size
from trainer.tuner.ladder import Remedy
from trainer.tuner.measuring import Measurement

_LEAST_RECORDS = 128
# A longer side is a multiple of it.
_STEP = 16
_QUALITY = 90
_LOSSY = {"JPEG", "MPO"}
# The options of `build`, and the formats, by Pillow's names, that images have in turn.
_JPEG = (f"--image-format jpeg --jpeg-quality {_QUALITY}", "JPEG")
_MIX = (f"--image-format mix=0.5 --jpeg-quality {_QUALITY}", "JPEG", "BMP")
_BMP = ("--image-format bmp", "BMP")


def images_to_store(measurement: Measurement) -> list[Feature]:
    """The images that the training reads, which could be stored in another way."""
    features = measurement.dataset.features
    return parsing.images_of([features[each.name] for each in measurement.task.inputs.values()])


def try_sizes(measurement: Measurement) -> Iterator[Remedy]:
    """The rate for each way to store the images, at no larger a size than the training sees.

    Lossless images are not made JPEGs, and those of 16 bits are left alone.
    """
    features = images_to_store(measurement)
    task = measurement.task
    if not features or task.decoding.image_size is None:
        return
    seen = stored_size(task.augmentation.views, task.decoding.image_size)
    records = _sample(measurement)
    keys = [feature.key for feature in features]
    sizes, forms = [], set()
    for record in records:
        for encoded in _images(record, keys):
            with Image.open(io.BytesIO(encoded)) as image:
                if image.mode[0] in "IF":
                    return
                sizes.append(ImageSize(image.height, image.width))
                forms.add(image.format)
    max_side = longest_side(sizes, seen)
    shrunk = max_side < max(map(max, sizes))
    for options, *forms_in_turn in [_JPEG, _MIX, _BMP] if shrunk and forms <= _LOSSY else [_BMP]:
        in_turn = zip(records, itertools.cycle(forms_in_turn))
        changed = [_encoded_again(record, keys, max_side, form) for record, form in in_turn]
        sized = f"--image-max-side {max_side} " if shrunk else ""
        yield Remedy(
            text=f"build {sized}{options}",
            records_per_s=round(_rate(measurement, changed), 1),
            record_bytes=round(statistics.mean(map(len, changed))),
        )


def longest_side(sizes: Sequence[ImageSize], seen: ImageSize) -> int:
    """The longer side that leaves half of the images at least as many pixels as are seen, each way.

    Args:
        sizes: Of images.
        seen: (height, width) of what a training sees of them.
    """
    needed = [
        max(size) * max(part / side for part, side in zip(seen, size, strict=True))
        for size in sizes
    ]
    return math.ceil(statistics.median(needed) / _STEP) * _STEP


def _sample(measurement: Measurement) -> list[bytes]:
    index = measurement.dataset.index(measurement.split)
    count = min(index.num_records, max(_LEAST_RECORDS, measurement.batch_size))
    numbers = np.linspace(0, index.num_records - 1, count).astype(np.int64)
    return list(RecordReader(index).read(numbers))


def _images(record: bytes, keys: Sequence[str]) -> Iterator[bytes]:
    for _, values in example.lists(record, keys).values():
        yield from values


def _encoded_again(record: bytes, keys: Sequence[str], max_side: int, form: str) -> bytes:
    """The Example with other images."""
    lists = example.lists(record)
    values = {key: list(each) for key, (_, each) in lists.items()}
    for key in keys:
        values[key] = [_shrunk(each, max_side, form) for each in values[key]]
    return example.encode(values, {key: kind for key, (kind, _) in lists.items() if kind})


def _shrunk(encoded: bytes, max_side: int, form: str) -> bytes:
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(encoded)) as image:
        pixels = image.convert("RGB")
    pixels.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    pixels.save(buffer, form, quality=_QUALITY)
    return buffer.getvalue()


def _of_any_size(measurement: Measurement) -> dict[str, Feature]:
    changed = {
        each.name: dataclasses.replace(each, shape=(None, None, each.shape[2]), format="mixed")
        for each in images_to_store(measurement)
    }
    return {**measurement.dataset.features, **changed}


def _rate(measurement: Measurement, records: Sequence[bytes]) -> float:
    """Records a second of a training on these records, which are in the memory of the system."""
    # A batch is full.
    times = math.ceil(measurement.batch_size / len(records))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"sample-{measurement.split}.tfrecord")
        file.write_bytes(b"".join(map(framed, records)) * times)
        dataset = open_data(str(file), training_features=_of_any_size(measurement))
        split = next(iter(dataset.splits))
        # The sample is not that of a class.
        config = dataclasses.replace(measurement.config, sampling="uniform")
        changed = dataclasses.replace(measurement, dataset=dataset, split=split, config=config)
        return changed.rate(changed.batches())
