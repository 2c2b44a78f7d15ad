"""Measures the input of a training on this machine, stage by stage."""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from trainer import parsing
from trainer.image_cache import ImageCache
from trainer.input_pipeline.arguments import select
from trainer.input_pipeline.record_source import Reading, Records
from trainer.runs.batches import TrainingInput
from trainer.tasks.reading import augmentation_of

_SEED = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement(TrainingInput):
    """What is measured.

    Attributes:
        seconds: That each stage is measured.
    """

    seconds: float

    @property
    def batch_size(self) -> int:
        """Records a batch."""
        return self.config.batch_size

    def ladder(self) -> dict[str, float]:
        """Records a second by stage, each on top of those before."""
        return {stage: self.rate(batches) for stage, batches in self._stages()}

    def rate(self, batches: tf.data.Dataset) -> float:
        """Records a second of an endless dataset."""
        iterator = iter(batches)
        next(iterator)
        _take(iterator, self.seconds / 3)  # what waited from its start
        count, taken_s = _take(iterator, self.seconds)
        return count * self.batch_size / taken_s

    def cached_rate(self, cache: ImageCache) -> float:
        """Records a second of the whole pipeline once its images are kept."""
        batches = self.batches(cache=cache)
        filled = 0
        began = time.monotonic()
        for _ in batches:
            filled += 1
            if time.monotonic() - began >= self.seconds:
                break
        # An endless dataset begins anew with the same records.
        count, seconds = 0, 0.0
        while seconds < self.seconds:
            again = iter(batches.take(filled))
            next(again)
            began = time.monotonic()
            count += sum(1 for _ in again) or 1
            seconds += time.monotonic() - began
        return count * self.batch_size / seconds

    def _stages(self) -> Iterator[tuple[str, tf.data.Dataset]]:
        names = self.task.training_features
        features = select(self.dataset.features, names, self.dataset.path)
        records = self._records()
        yield (
            "read",
            records.map(lambda record, _: tf.strings.length(record)).batch(self.batch_size),
        )

        spec = parsing.parse_specs(features)
        if parsing.reads_batches(features):
            parse = functools.partial(tf.io.parse_example, features=spec)
            yield (
                "parse",
                records.map_batches(
                    lambda batch: _little(parse(batch)), self.batch_size, drop_remainder=True
                ),
            )
        else:
            yield "parse", self._mapped(lambda record, _: tf.io.parse_example(record, spec))
            plain = dataclasses.replace(self.task.decoding, seed=_SEED)
            yield "decode", self._mapped(parsing.parser(features, plain, "a misfit"))
            views = self.task.augmentation.views
            augment = augmentation_of(self.task, self.augment)
            if views is not None or augment is not None:
                changed = dataclasses.replace(plain, views=views, augment=augment)
                yield "augment", self._mapped(parsing.parser(features, changed, "a misfit"))
        yield "batch", self.batches()

    def _records(self) -> Records:
        split = self.dataset.split(self.split)
        index = functools.partial(self.dataset.index, self.split)
        reading = Reading(shuffle=True, seed=_SEED, passes=None)
        return Records(split.shards, split.num_records, index, reading)

    def _mapped(self, function: Callable[[Any, Any], parsing.Tensors]) -> tf.data.Dataset:
        """A value of each result: so all of it is computed, and hardly anything is copied."""
        return (
            self._records().map(lambda *record: _little(function(*record))).batch(self.batch_size)
        )


def _take(iterator: tf.data.Iterator, seconds: float) -> tuple[int, float]:
    """How many batches come in so many seconds, and in how many exactly."""
    began, count = time.monotonic(), 0
    while True:
        next(iterator)
        count += 1
        taken_s = time.monotonic() - began
        if taken_s >= seconds:
            return count, taken_s


def _little(tensors: parsing.Tensors) -> Any:
    flat = tf.nest.flatten(tensors, expand_composites=True)
    sizes = [tf.size(each) for each in flat if each.dtype == tf.string]
    firsts = [
        tf.reduce_sum(tf.cast(tf.reshape(each, [-1])[:1], tf.float32))
        for each in flat
        if each.dtype != tf.string
    ]
    return tf.add_n([tf.cast(size, tf.float32) for size in sizes] + firsts)
